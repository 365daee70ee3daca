"""A suite as a source: what is asked, in which order, and what the manifest says it rests on."""

from __future__ import annotations

import hashlib
import json

import pytest

from proctor.errors import ConfigError, DataMissing
from proctor.suites.imports import import_path
from proctor.suites.source import open_suite
from proctor.types import Outcome, Reply, SourceRef


def sample(name, home, **more):
    return open_suite(SourceRef("suite", name, rows="sample", **more), home)


@pytest.fixture(scope="module")
def imported(shared, tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    for part in ("superglue", "medical", "mmlu"):
        import_path(shared / "data" / part, home, now=1.0)
    return home


def test_items_are_what_the_rows_say(tmp_path):
    source = sample("medical", tmp_path)
    items = list(source.items())
    assert len(items) == len(source)
    assert {item.group for item in items} == {
        "pubmedqa", "anatomy", "clinical_knowledge", "college_biology", "college_medicine",
        "medical_genetics", "professional_medicine",
    }  # fmt: skip
    for item in items:
        assert item.id.startswith(f"{item.group}/")
        assert len(item.choices) == (0 if item.group == "pubmedqa" else 4)
        assert len(item.hash) == 32
        assert item.cluster is None
    assert len({item.hash for item in items}) == len(items)
    assert list(source.items()) == items


def test_the_hash_is_of_what_is_shown_and_of_what_is_right(tmp_path):
    item = next(iter(sample("mmlu", tmp_path).items()))
    shown = [[[message.role, message.content] for message in item.prompt], item.choices, item.target, []]
    encoded = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()
    assert item.hash == hashlib.sha256(encoded).hexdigest()[:32]


def test_questions_on_one_passage_share_a_cluster(imported):
    items = list(open_suite(SourceRef("suite", "superglue"), imported).items())
    clusters = {item.cluster for item in items}
    assert None not in clusters
    assert 2000 < len(clusters) < len(items) == 3270


def test_right_answers_score_one_and_others_nothing(tmp_path):
    for name in ("superglue", "medical", "mmlu"):
        source = sample(name, tmp_path)
        for item in source.items():
            wrong = next(
                word for word in (*("ABCD" if item.choices else ("yes", "no")),) if word != item.target
            )
            assert source.read(item, Reply(f"Hm.\nAnswer: {item.target}")).score == 1.0
            assert source.read(item, Reply(f"Hm.\nAnswer: {wrong}")).outcome is Outcome.WRONG


def test_the_manifest_names_what_a_number_rests_on(tmp_path):
    source = sample("medical", tmp_path, tasks=("anatomy", "pubmedqa"), preset="quick", limit=3)
    manifest = dict(source.manifest)
    assert manifest.pop("data_sha256").keys() == {"pubmedqa", "anatomy"}
    assert len(manifest.pop("item_set_sha256")) == 64
    sizes = manifest.pop("full_sizes")
    assert sizes["pubmedqa"] == 20
    assert manifest == {
        "suite": "medical",
        "rows": "sample",
        "tasks": {"pubmedqa": "PubMedQA, official 500", "anatomy": "MMLU: Anatomy"},
        "n": min(3, sizes["anatomy"]) + 3,
        "prompts": {"pubmedqa": "pubmedqa/1", "mmlu": "mmlu/1"},
        "extractor": "proctor/1",
        "metrics": {"accuracy": "accuracy/1"},
        "seed": 0,
        "preset": "quick",
        "limit": 3,
    }
    json.dumps(dict(source.manifest))
    assert source.title == "Medical (PubMedQA and six MMLU subjects so far): pubmedqa, anatomy"


def test_imported_suites_have_their_official_sizes_and_nest(imported):
    sizes = {}
    for name in ("superglue", "medical", "mmlu"):
        full = open_suite(SourceRef("suite", name), imported)
        quick = open_suite(SourceRef("suite", name, preset="quick"), imported)
        ids = [item.id for item in full.items()]
        assert [item.id for item in quick.items()] == ids[:200]
        assert quick.manifest["full_sizes"] == full.manifest["full_sizes"]
        assert quick.manifest["item_set_sha256"] != full.manifest["item_set_sha256"]
        sizes[name] = len(full)
    assert sizes == {"superglue": 3270, "medical": 1589, "mmlu": 14_042}


def test_a_quick_mmlu_meets_nearly_every_subject_in_proportion(imported):
    items = list(open_suite(SourceRef("suite", "mmlu", preset="quick"), imported).items())
    law = sum(item.group == "professional_law" for item in items)
    assert 18 <= law <= 26  # 1,534 of 14,042 rows are 21.8 of 200
    assert len({item.group for item in items}) > 40


def test_the_item_set_is_the_same_whatever_the_seeming_of_the_request(tmp_path):
    all_tasks = sample("superglue", tmp_path, tasks=("boolq",), preset="full")
    assert all_tasks.manifest["item_set_sha256"] == sample("superglue", tmp_path).manifest["item_set_sha256"]


def test_labels_are_counted_in_the_dev_rows_where_there_are_any(imported, tmp_path):
    counts, where = open_suite(SourceRef("suite", "medical"), imported).labels()
    assert where == "the dev rows"
    assert sum(counts["pubmedqa"].values()) == 500
    assert counts["anatomy"].keys() <= set("ABCD")
    counts, where = open_suite(SourceRef("suite", "superglue"), imported).labels()
    assert (where, counts) == ("the evaluated rows", {"boolq": {"yes": 2033, "no": 1237}})
    assert sample("superglue", tmp_path).labels()[1] == "the dev rows"


def test_all_row_ids_are_known_even_when_few_are_asked(tmp_path):
    few, full = sample("superglue", tmp_path, limit=2), sample("superglue", tmp_path)
    assert len(few) == 2
    assert few.row_ids == full.row_ids
    assert sorted(few.row_ids) == sorted(item.id for item in full.items())


def test_an_unknown_suite_or_task(tmp_path):
    with pytest.raises(ConfigError, match=r"^Invalid benchmark suite\. Supported: superglue, mmlu, medical$"):
        open_suite(SourceRef("suite", "gleu"), tmp_path)
    with pytest.raises(ConfigError, match=r"No task 'bolq' in superglue\. Its tasks: boolq"):
        sample("superglue", tmp_path, tasks=("bolq",))
    with pytest.raises(ConfigError, match="The limit is 0"):
        sample("superglue", tmp_path, limit=0)


def test_rows_that_are_not_there(tmp_path):
    with pytest.raises(DataMissing, match="No imported rows for boolq"):
        open_suite(SourceRef("suite", "superglue"), tmp_path)
