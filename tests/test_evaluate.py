"""`proctor.evaluate`: the Python door."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys

import pytest

import proctor
from proctor.errors import ConfigError, EndpointNotFound
from proctor.service.opening.simulate import known_answers
from proctor.simulator import spawn
from programs import csv_of_sums
from simulators import settings

pytestmark = pytest.mark.slow


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return csv_of_sums(tmp_path / "sums.csv", 40)


def test_one_model_has_a_score(file):
    result = proctor.evaluate(file, "baseline/majority")
    assert (result.score.value, result.score.scored) == (1.0, 40)
    assert result.verdict == "" and result.error is None


def test_a_baseline_sits_beside_the_models_of_an_address(file):
    with spawn([], known_answers(settings(file.parent), [file])) as server:
        names = ["openai/sim-perfect", "baseline/random"]
        result = proctor.evaluate(file, names, base_url=f"{server.url}/v1", limit=5)
    assert [run.scores[0].estimate.scored for run in result.runs] == [5, 5]
    with pytest.raises(ConfigError, match="--base-url does not go with baseline/random"):
        proctor.evaluate(file, "baseline/random", base_url=f"{server.url}/v1")


def test_two_models_are_compared(file):
    with spawn([], known_answers(settings(file.parent), [file])) as server:
        names = ["openai/sim-perfect", "openai/sim-wrong"]
        result = proctor.evaluate(file, names, base_url=f"{server.url}/v1", limit=20, temperature=0.5)
    assert [r.scores[0].estimate.value for r in result.runs] == [1.0, 0.0]
    assert result.comparisons[0].verdict == "first better"
    assert result.verdict.startswith(
        "openai/sim-perfect is better than openai/sim-wrong on rows like these 20"
    )
    with pytest.raises(ValueError, match="2 models"):
        _ = result.score


def test_items_become_a_data_frame(file):
    result = proctor.evaluate(file, ["baseline/majority", "baseline/random"], limit=10)
    frame = result.to_pandas()
    assert len(frame) == 20
    assert str(result).splitlines()[0].startswith("baseline/majority  accuracy 1.000 [")
    assert str(result).endswith(result.verdict) and len(str(result)) < 600
    assert set(frame["model"]) == {"baseline/majority", "baseline/random"}
    assert {"item_id", "outcome", "score", "answer", "target", "reply"} <= set(frame.columns)


def test_a_suites_sample_rows_can_be_asked(file):
    result = proctor.evaluate("superglue", "baseline/majority", rows="sample")
    assert result.runs[0].run.manifest.facts.sample


def test_a_suite_is_asked_at_the_size_that_the_command_line_asks(file):
    (run,) = proctor.evaluate("superglue", "baseline/majority", rows="sample", tasks=["boolq"]).runs
    assert run.run.cell.source.preset == "quick"
    (whole,) = proctor.evaluate(
        "superglue", "baseline/majority", rows="sample", tasks="boolq", preset="full"
    ).runs
    assert whole.run.cell.source.preset == "full"
    assert (run.run.cell.source.tasks, run.run.cell.source.limit) == (whole.run.cell.source.tasks, None)


def test_a_model_that_thinks_has_room_for_it(file):
    (thinks,) = proctor.evaluate(file, "baseline/majority", limit=1, think=True).runs
    (told,) = proctor.evaluate(file, "baseline/majority", limit=1, think="low", max_tokens=700).runs
    assert [run.run.cell.sampling.max_tokens for run in (thinks, told)] == [8192, 700]


def test_what_is_none_is_left_to_the_provider(file):
    (run,) = proctor.evaluate(
        file, "baseline/majority", limit=1, temperature=None, seed=None, top_p=None
    ).runs
    assert (run.run.cell.sampling.temperature, run.run.cell.sampling.seed) == (None, None)


def test_models_share_the_tokens_that_they_may_use_together(file):
    names = ["simulator/sim", "simulator/sim-small"]
    result = proctor.evaluate(file, names, max_total_tokens=600, parallel=1)
    first, second = (run.run for run in result.runs)
    assert first.stopped == "the tokens allowed by --max-total-tokens (300 for this run) were used up"
    left = re.fullmatch(
        r"the tokens allowed by --max-total-tokens \((\d+) for this run\) were used up", second.stopped
    )
    assert left and 200 < int(left[1]) <= 300, "what the first one left"
    assert 0 < first.settled < first.planned and 0 < second.settled < second.planned


def test_it_works_inside_a_running_event_loop(file):
    """A notebook has one."""

    async def cell():
        return proctor.evaluate(file, "baseline/majority", limit=5)

    assert asyncio.run(cell()).score.value == 1.0


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"model": "baseline/majority", "temprature": 1}, ConfigError, "'temprature'"),
        ({"model": "baseline/majority", "temperature": 3}, ConfigError, "between 0 and 2"),
        ({"model": "baseline/majority", "rows": 20}, ConfigError, "limit= says how many"),
        ({"model": "baseline/majority", "think": "hard"}, ConfigError, "think='hard'"),
        ({"model": []}, ConfigError, "No model given"),
        ({"model": "ollama/a", "base_url": "http://127.0.0.1:9"}, EndpointNotFound, "127.0.0.1:9"),
    ],
)
def test_a_wrong_request_is_an_error_of_its_kind(file, given, error, said):
    with pytest.raises(error, match=said):
        proctor.evaluate(file, **given)


def test_importing_proctor_imports_nothing_heavy():
    code = (
        "import sys, proctor; "
        "assert not {'aiohttp', 'sqlalchemy', 'pandas', 'numpy', 'click', 'rich'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)


def test_replies_are_judged_and_labelled_from_python(file):
    result = proctor.evaluate(file, "baseline/majority", limit=6)
    judged = proctor.judge(result, "simulator/judge-95")
    assert [len(judged.grades()), judged.error] == [6, None]
    (found,) = judged.results
    assert found.whole.judge.scored == 6 and found.sentence in str(judged)
    items = [{"item_id": each["item_id"], "grade": "pass", "drawn": "random"} for each in judged.grades()]
    assert proctor.label(result.runs[0].run.id, items, labeller="ann") == 6
    (again,) = proctor.judge(result, "simulator/judge-95").results
    assert again.whole.labels == 6 and again.labels.labellers == ("ann",)
    with pytest.raises(ConfigError, match="judge: unknown option 'prset'"):
        proctor.judge(result, "simulator/judge-95", prset="quick")
