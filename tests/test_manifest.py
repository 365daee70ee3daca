"""Manifests as every version wrote them are read, compare as they did, and are written back with all that they said."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proctor.errors import DataError
from proctor.manifest import (
    UNOPENED,
    Adherence,
    ExamFacts,
    LeftOut,
    LogFacts,
    Manifest,
    SentSampling,
    TaskSpec,
)
from proctor.manifest_json import manifest_document, manifest_from
from proctor.service.results.comparable import comparability, exam
from proctor.types import Sampling

# Runs of older versions with the keys that those versions gave them: the first three are of the versions before
# anything was published, all but the last two were read from their databases.
KEPT = json.loads((Path(__file__).parent / "manifests.json").read_text(encoding="utf-8"))
EARLY = {each["name"] for each in KEPT[:3]}
BY_NAME = {each["name"]: each["manifest"] for each in KEPT}
TODAY = BY_NAME["a schema that did not hold, a server's clock"]


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept["name"])
def test_a_kept_run_compares_with_the_runs_that_it_compared_with(kept: dict[str, Any]) -> None:
    manifest = manifest_from(kept["manifest"])
    assert (comparability(manifest), exam(manifest)) == (kept["comparability"], kept["exam"])


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept["name"])
def test_a_manifest_is_written_back_with_all_that_it_said(kept: dict[str, Any]) -> None:
    told, written = kept["manifest"], manifest_document(manifest_from(kept["manifest"]))
    if kept["name"] in EARLY:
        assert {key: written[key] for key in told.keys() - {"tasks", "model"}} == {
            key: told[key] for key in told.keys() - {"tasks", "model"}
        }
        assert written["tasks"].keys() == set(told["tasks"])
        assert told.get("model", {}).items() <= written["model"].items()
    else:
        assert json.loads(json.dumps(written)) == told
    assert manifest_from(written) == manifest_from(told)


def test_the_versions_that_told_less_are_read_as_far_as_they_tell() -> None:
    first, second, third = (manifest_from(each["manifest"]).facts for each in KEPT[:3])
    assert first.tasks == {"boolq": TaskSpec("boolq", full_size=20, data_sha256="ab")}
    assert second.tasks["boolq"].title == "BoolQ"
    assert (first.metric_versions, first.wording, first.asked) == (None, None, {})
    assert (third.tasks["boolq"].kind, third.tasks["boolq"].labels) == ("labels", ("yes", "no"))
    assert third.tasks["boolq"].metrics == ("accuracy", "macro_f1")


def test_the_log_of_another_tool_has_facts_of_its_own() -> None:
    facts = manifest_from(BY_NAME["lm-eval rank, lab/ranked"]).facts
    assert isinstance(facts, LogFacts)
    assert facts.tool == "lm-eval" and facts.log_content_sha256 and facts.rows == "log"


def test_what_is_odd_in_a_file_is_typed() -> None:
    facts = manifest_from(BY_NAME["lenient.csv, majority"]).facts
    assert isinstance(facts, ExamFacts) and isinstance(facts.left_out, LeftOut)
    assert 0 < facts.left_out.rows < facts.left_out.of and facts.left_out.faults


def test_a_setting_that_was_not_sent_has_no_value() -> None:
    sampling = manifest_from(TODAY).sampling
    assert sampling is not None
    assert sampling.sent("top_k") and sampling.values.top_k is None, "left to the server"
    assert not sampling.sent("context_tokens") and sampling.values.context_tokens is None
    told = SentSampling.without(Sampling(stop=("END",), seed=3), {"stop", "mode", "max_tokens"})
    assert told.values == Sampling(seed=3, max_tokens=None)


def test_what_a_later_version_wrote_is_kept_and_written_back_through_a_change() -> None:
    later = BY_NAME["the hub's rows, and facts of a later version"]
    manifest = manifest_from(later)
    assert manifest.unread == {"future": {"of": [1, None]}, "metrics": {"pubmedqa": {"later": 7}}}
    changed = manifest_document(replace(manifest, schema=Adherence(2, 2)))
    assert changed["future"] == later["future"] and changed["metrics"]["pubmedqa"]["later"] == 7
    assert changed["schema"] == {"replies": 2, "held": 2}


def test_a_queued_run_has_said_nothing_yet() -> None:
    assert manifest_from({}) is UNOPENED and not UNOPENED.opened and manifest_document(UNOPENED) == {}
    assert Manifest(ExamFacts(suite="glue")).opened


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"n": "4"}, "manifest.n is a text where a whole number belongs"),
        ({"n": True}, "manifest.n is true or false where a whole number belongs"),
        ({"full_sizes": []}, "manifest.full_sizes is a list where an object belongs"),
        ({"full_sizes": {"pubmedqa": "20"}}, "manifest.full_sizes.pubmedqa is a text where a whole number"),
        ({"aggregate": "median"}, "manifest.aggregate is 'median', none of micro, macro"),
        (
            {"rows": "tape"},
            "manifest.rows is 'tape', none of sample, imported, hub, file, batch, rollouts, log",
        ),
        ({"stop": ["a", 1]}, "manifest.stop holds what is no text"),
        ({"metrics": {"pubmedqa": {"official": ["accuracy"]}}}, "manifest.metrics.pubmedqa.kind is missing"),
        ({"metrics": {"pubmedqa": None}}, "manifest.metrics.pubmedqa is missing"),
        ({"schema": {"replies": 8}}, "manifest.schema.held is missing"),
        ({"model": {"name": 7}}, "manifest.model.name is a whole number where a text belongs"),
        ({"sampling": {"temperature": "hot"}}, "manifest.sampling.temperature is a text where a number or a"),
    ],
)
def test_what_is_not_as_it_must_be_is_named(change: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError) as caught:
        manifest_from({**copy.deepcopy(TODAY), **change})
    assert said in str(caught.value)


def test_a_list_is_no_manifest() -> None:
    with pytest.raises(DataError, match="Run 018e: manifest is a list where an object belongs"):
        manifest_from([], "Run 018e: manifest")
