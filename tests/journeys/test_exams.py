"""Every task of every suite, asked over HTTP: known models must get exactly the figures computed elsewhere."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import scipy.stats
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from opened import item_records, look, start
from proctor.engine.retry import Retry
from proctor.errors import ConfigError
from proctor.references import ExamRef
from proctor.service.data.transfer import import_data
from proctor.service.opening.simulate import known_answers
from proctor.service.opening.sources import open_source
from proctor.simulator import spawn
from proctor.types import Cell, Limits, Model, Plan, Sampling
from programs import NOBODY
from simulators import settings

pytestmark = pytest.mark.slow  # whole suites

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
    ref = ExamRef("suite", suite, preset="full", rows="sample", **source)
    cell = Cell(Model("openai", model, f"{server.url}/v1"), ref, limits=Limits(parallel=32))
    ended = start(Plan((cell,)), settings(home, **NOBODY), retry=Retry(first_s=0.0))
    assert ended.error is None and ended.unfinished == ()
    return ended


@pytest.mark.promise("A-02", "A-07")
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
    ref = ExamRef("suite", suite, preset="full", rows="sample")
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


def test_all_real_rows_end_within_the_interval_they_must(tmp_path, shared):
    """About 35,000 items over HTTP, with a known accuracy: each task ends within its binomial interval."""
    given = settings(tmp_path, **NOBODY)
    import_data(shared / "data", given)
    asked = 0
    with spawn(["--accuracy", "0.7"], known_answers(given, [])) as server:
        for suite, tasks in REAL.items():
            ref = ExamRef("suite", suite, tasks=tasks, preset="full", rows="imported")
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


def rows_of(ended, home, **environ):
    """(task, target, answer, outcome) of every item, from the export and not from the statistics."""
    records = item_records([ended.evaluation.results[0].run.id], settings(home, **environ))
    return [(r["task"], r["target"], r["answer"], r["outcome"]) for r in records]


@pytest.mark.parametrize("suite", ["glue", "superglue", "medical"])
def test_label_metrics_are_those_of_scikit_learn(home, server, suite):
    """A model of middling accuracy: every label metric of every task, computed again from the exported items."""
    ended = ask(home, server, suite, "sim-small")
    result = ended.evaluation.results[0]
    specs = result.run.manifest.facts.tasks
    by_task = defaultdict(list)
    for task, target, answer, outcome in rows_of(ended, home, **NOBODY):
        assert outcome in ("correct", "wrong")
        by_task[task].append((target, answer))
    checked = 0
    for score in result.scores:
        if score.task not in specs or specs[score.task].kind not in ("labels", "choices"):
            continue
        targets, answers = zip(*by_task[score.task], strict=True)
        labels = specs[score.task].labels
        oracle = {
            "accuracy": lambda t, a: accuracy_score(t, a),
            "mcc": lambda t, a: matthews_corrcoef(t, a),
            "macro_f1": lambda t, a, names=labels: f1_score(t, a, labels=names, average="macro"),
            "f1": lambda t, a, name=specs[score.task].positive: f1_score(t, a, pos_label=name),
        }.get(score.metric)
        if oracle:
            assert score.estimate.value == pytest.approx(oracle(targets, answers)), score
            checked += 1
    assert checked >= 8


def test_correlations_are_those_of_scipy(home, server):
    ended = ask(home, server, "glue", "sim-small", tasks=("stsb",))
    pairs = [(float(t), float(a)) for _, t, a, _ in rows_of(ended, home, **NOBODY)]
    targets, answers = zip(*pairs, strict=True)
    values = {s.metric: s.estimate.value for s in ended.evaluation.results[0].scores if s.task == "stsb"}
    assert values["pearson"] == pytest.approx(scipy.stats.pearsonr(targets, answers).statistic)
    assert values["spearman"] == pytest.approx(scipy.stats.spearmanr(targets, answers).statistic)


@pytest.mark.parametrize("suite", SUITES)
def test_all_wordings_ask_every_item_three_times_and_count_it_once(home, server, suite):
    ended = ask(home, server, suite, "sim-perfect", wording="all")
    result = ended.evaluation.results[0]
    plain = ask(home, server, suite, "sim-perfect").evaluation.results[0]
    assert result.run.planned == 3 * plain.run.planned
    assert result.scores[0].estimate.scored == plain.scores[0].estimate.scored
    assert result.scores[0].estimate.value == pytest.approx(1.0)
    assert any("by wording" in note for note in ended.notes[result.run.id])


def test_wordings_of_two_models_are_compared_item_by_item(home, server):
    ref = ExamRef("suite", "superglue", tasks=("boolq", "copa"), preset="full", rows="sample", wording="all")
    cells = tuple(
        Cell(Model("openai", name, f"{server.url}/v1"), ref) for name in ("sim-perfect", "sim-small")
    )
    ended = start(Plan(cells), settings(home, **NOBODY))
    comparison = ended.evaluation.comparisons[0]
    # 40 items, not 120 askings; the suite's score is a mean of two tasks' accuracies.
    assert (comparison.whole.shared, comparison.verdict) == (40, "first better")
    assert [d.test for d in comparison.tasks] == ["sign-flip permutation"] * 2


def test_repeats_are_kept_apart_and_count_once(home, server):
    ref = ExamRef("suite", "medical", tasks=("medqa",), preset="full", rows="sample")
    cell = Cell(Model("openai", "sim", f"{server.url}/v1"), ref, repeats=3)
    ended = start(Plan((cell,)), settings(home, **NOBODY))
    result = ended.evaluation.results[0]
    assert (result.run.planned, result.run.settled) == (60, 60)
    assert result.scores[0].estimate.scored == 20
    records = item_records([result.run.id], settings(home, **NOBODY))
    assert Counter(r["repeat"] for r in records) == {0: 20, 1: 20, 2: 20}


@pytest.mark.parametrize("mode", ["structured", "logprob"])
@pytest.mark.parametrize("shape", ["openai", "ollama"])
def test_the_other_modes_of_answering_are_read_and_scored(home, server, shape, mode):
    url = f"{server.url}/v1" if shape == "openai" else server.url
    for suite, tasks in (("superglue", ("boolq", "copa")), ("medical", ("medqa", "pubmedqa"))):
        ref = ExamRef("suite", suite, tasks=tasks, preset="full", rows="sample")
        cell = Cell(Model(shape, "sim-perfect", url), ref, Sampling(mode=mode))
        ended = start(Plan((cell,)), settings(home, **NOBODY))
        result = ended.evaluation.results[0]
        assert result.tally.outcomes == {"correct": 40}, (suite, result.tally)
        assert result.run.manifest.mode == mode


@pytest.mark.parametrize("style", ["proctor", "original-5shot", "simple-evals", "lm-eval-generative"])
def test_every_style_of_mmlu_is_asked_and_read(home, style):
    shots = 2 if style == "original-5shot" else None  # the sample rows have two examples a subject
    ref = ExamRef(
        "suite", "mmlu", tasks=("anatomy", "virology"), preset="full", rows="sample", style=style, shots=shots
    )
    ended = start(Plan((Cell(Model("simulator", "sim-perfect"), ref),)), settings(home, **NOBODY))
    result = ended.evaluation.results[0]
    assert result.run.manifest.facts.style == style
    assert sum(result.tally.outcomes.values()) == 6
    if style != "lm-eval-generative":  # which takes a letter alone, and the simulator talks
        assert result.tally.outcomes == {"correct": 6}


def test_runs_in_different_modes_styles_or_wordings_are_not_compared(home, server):
    ref = ExamRef("suite", "superglue", tasks=("boolq",), preset="full", rows="sample")
    model = Model("openai", "sim", f"{server.url}/v1")
    given = settings(home, **NOBODY)
    plain = start(Plan((Cell(model, ref),)), given).evaluation.results[0].run.id
    for cell, word in (
        (Cell(model, ref, Sampling(mode="structured")), "mode"),
        (Cell(model, replace(ref, wording=2)), "prompts"),
        (Cell(model, replace(ref, shots=2)), "style"),
    ):
        other = start(Plan((cell,)), given).evaluation.results[0].run.id
        with pytest.raises(ConfigError, match=word):
            look([plain, other], given)


@pytest.mark.promise("A-03")
@pytest.mark.parametrize("provider", ["ollama", "gemini", "grok", "anthropic", "openai"])
def test_every_provider_takes_an_exam(home, server, provider):
    """Each in its own protocol, with its own key, against the simulator's shape of it."""
    environ = {
        "OLLAMA_HOST": server.url,
        "GEMINI_BASE_URL": server.url,
        "XAI_BASE_URL": f"{server.url}/xai/v1",
        "ANTHROPIC_BASE_URL": server.url,
        "OPENAI_BASE_URL": f"{server.url}/v1",
        **dict.fromkeys(
            ("GOOGLE_API_KEY", "XAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"), "key-of-a-test"
        ),
    }
    ref = ExamRef("suite", "medical", tasks=("medqa", "pubmedqa"), preset="full", rows="sample")
    ended = start(Plan((Cell(Model(provider, "sim-perfect"), ref),)), settings(home, **{**NOBODY, **environ}))
    result = ended.evaluation.results[0]
    assert result.tally.outcomes == {"correct": 40}
    assert result.tally.output_tokens_per_item > 0


def test_what_was_asked_differently_has_another_comparability_key(home, server):
    ref = ExamRef("suite", "superglue", tasks=("boolq",), preset="full", rows="sample")
    model = Model("openai", "sim", f"{server.url}/v1")
    given = settings(home, **NOBODY)

    def key(cell):
        run_id = start(Plan((cell,)), given).evaluation.results[0].run.id
        with closing(sqlite3.connect(home / "proctor.db")) as database:
            return database.execute("select comparability from run where id = ?", (run_id,)).fetchone()[0]

    plain = key(Cell(model, ref))
    assert plain == key(Cell(Model("openai", "sim-small", f"{server.url}/v1"), ref)), "models may differ"
    others = [
        key(Cell(model, ref, Sampling(mode="structured"))),
        key(Cell(model, replace(ref, wording=3))),
        key(Cell(model, replace(ref, shots=1))),
        key(Cell(model, replace(ref, extractor="first-line/1"))),
    ]
    assert len({plain, *others}) == 5
    assert key(Cell(model, replace(ref, limit=10))) == plain, "fewer items are shared items"
