"""Every task of every suite, asked over HTTP: known models must get exactly the figures computed elsewhere."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest

from proctor.engine.retry import Retry
from proctor.service.runs import start
from proctor.service.simulate import known_answers
from proctor.service.sources import open_source
from proctor.service.transfer import import_data
from proctor.simulator import spawn
from proctor.types import Cell, Limits, Model, Plan, SourceRef
from programs import NOBODY
from simulators import settings

SUITES = ["glue", "superglue", "mmlu", "medical"]


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(home):
    with spawn([], known_answers(settings(home), [])) as running:
        yield running


def ask(home, server, suite, model, **source):
    """One model on a suite's sample rows, extras included."""
    ref = SourceRef("suite", suite, preset="full", rows="sample", **source)
    cell = Cell(Model("openai", model, f"{server.url}/v1"), ref, limits=Limits(parallel=32))
    ended = start(Plan((cell,)), settings(home, **NOBODY), retry=Retry(first_s=0.0))
    assert ended.error is None and ended.unfinished == ()
    return ended


@pytest.mark.parametrize("suite", SUITES)
def test_a_perfect_model_is_perfect_in_every_metric(home, server, suite):
    result = ask(home, server, suite, "sim-perfect").evaluation.results[0]
    values = {(s.task, s.metric): s.estimate.value for s in result.scores}
    assert len(values) > 5
    assert all(v == pytest.approx(1.0) for v in values.values() if v is not None), values
    assert result.tally.answer_rate == 1.0


@pytest.mark.parametrize("suite", SUITES)
def test_a_model_that_is_always_wrong_is_never_right(home, server, suite):
    result = ask(home, server, suite, "sim-wrong").evaluation.results[0]
    assert "correct" not in result.tally.outcomes
    assert result.tally.answer_rate == 1.0, "wrong answers are answers: each must have been read"
    for score in result.scores:
        if score.metric in ("accuracy", "em"):
            assert score.estimate.value == 0.0, score
            assert score.estimate.high > 0.0, "no exam shows a score of exactly nothing"


@pytest.mark.parametrize("suite", SUITES)
def test_a_silent_model_scores_nothing_and_is_told_apart_from_a_wrong_one(home, server, suite):
    ended = ask(home, server, suite, "sim-silent")
    result = ended.evaluation.results[0]
    assert result.tally.outcomes.keys() == {"no_answer"}
    assert result.tally.answer_rate == 0.0
    assert ended.notes[result.run.id], "something is off, and it must be said"
    for score in result.scores:
        if score.metric in ("accuracy", "em"):
            assert score.estimate.value == 0.0


@pytest.mark.parametrize("suite", SUITES)
def test_majority_gets_its_share_of_every_label_task(home, suite):
    """A model of one label: accuracy is the label's share, MCC is 0, whatever the label is."""
    ref = SourceRef("suite", suite, preset="full", rows="sample")
    ended = start(Plan((Cell(Model("baseline", "majority"), ref),)), settings(home, **NOBODY))
    result = ended.evaluation.results[0]
    said, counts = ended.evaluation, defaultdict(Counter)
    assert said.comparisons == ()
    source = open_source(ref, settings(home))
    for item in source.items():
        counts[item.group][item.target] += 1
    labels, _ = source.labels()
    for score in result.scores:
        task = counts.get(score.task)
        if task is None or score.metric != "accuracy" or len(labels[score.task]) > 6:
            continue
        majority = min(labels[score.task], key=lambda name, t=score.task: (-labels[t][name], name))
        if majority in task:
            assert score.estimate.value == pytest.approx(task[majority] / task.total()), score


REAL = {
    "glue": ("mnli", "qnli", "wnli"),
    "superglue": ("boolq", "copa", "wsc"),
    "mmlu": (),
    "medical": ("medqa", "medmcqa", "pubmedqa"),
}


@pytest.mark.slow
def test_all_real_rows_end_within_the_interval_they_must(tmp_path, shared):
    """About 35,000 items over HTTP, with a known accuracy: each task ends within its binomial interval."""
    given = settings(tmp_path, **NOBODY)
    import_data(shared / "data", given)
    asked = 0
    with spawn(["--accuracy", "0.7"], known_answers(given, [])) as server:
        for suite, tasks in REAL.items():
            ref = SourceRef("suite", suite, tasks=tasks, preset="full", rows="imported")
            cell = Cell(Model("openai", "sim", f"{server.url}/v1"), ref, limits=Limits(parallel=64))
            ended = start(Plan((cell,)), given)
            assert ended.error is None and ended.unfinished == ()
            result = ended.evaluation.results[0]
            assert result.tally.answer_rate == 1.0
            asked += result.run.settled
            for score in result.scores:
                if score.metric == "accuracy" and score.task and score.estimate.scored >= 50:
                    n = score.estimate.scored
                    # 4.5 standard errors: with some 70 tasks a false alarm once in two thousand runs.
                    assert abs(score.estimate.value - 0.7) <= 4.5 * (0.7 * 0.3 / n) ** 0.5 + 0.5 / n, score
    assert asked > 35_000
