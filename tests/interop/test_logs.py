"""Logs of other tools in the store: shown, compared and exported like runs of our own, and not asked again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from logs_made import DATE, inspect, line, lm_eval, members, quiz, sample, written, zipped
from opened import compare_named, import_logs, item_records, look, rerun, rescore, resume
from proctor.errors import ConfigError, DataError
from proctor.interop.lm_eval import read_lm_eval
from proctor.manifest_json import manifest_document
from proctor.service.context import open_store
from proctor.types import Outcome, Plan, Status
from simulators import settings


def test_the_real_lm_eval_log(shared: Path, tmp_path: Path) -> None:
    found = import_logs([shared / "data/predictions/lm_eval"], settings(tmp_path))
    (log,) = found.imported
    e = log.result.scores[0].estimate
    assert (e.value, e.stderr, e.scored) == (pytest.approx(0.7), pytest.approx(0.152753, abs=5e-7), 10)
    assert log.notes == () and log.result.run.cell.model.provider == "lm-eval" and not log.result.run.partial
    assert log.result.run.elapsed_s == pytest.approx(30.2586, abs=1e-3)
    assert log.result.tally.outcomes == {"correct": 7, "wrong": 3}


def test_the_real_inspect_logs(shared: Path, tmp_path: Path) -> None:
    """One evaluation is there as .eval and as .json: that is one run."""
    found = import_logs([shared / "data/predictions/inspect_logs"], settings(tmp_path))
    assert [(log.path.name, log.before) for log in found.imported] == [
        ("log_formats.eval", False),
        ("log_formats.json", True),
        ("mmlu-summary-choices.eval", False),
    ]
    assert found.failed == () and found.pair is None
    assert found.imported[2].result.tally.input_tokens_per_item == 153


def test_two_models_of_another_tool_are_compared_like_ours(tmp_path: Path) -> None:
    home = settings(tmp_path / "home")
    a = quiz(tmp_path / "a", "org/good", [1.0] * 45 + [0.0] * 5)
    b = quiz(tmp_path / "b", "org/poor", [1.0] * 25 + [0.0] * 25)
    found = import_logs([a.parent, b.parent], home)
    assert found.pair == tuple(log.result.run for log in found.imported)
    pair = compare_named(["lm-eval/org/good", "lm-eval/org/poor"], home).evaluation.comparisons[0]
    assert (pair.whole.test, pair.whole.shared, pair.whole.only_first, pair.whole.only_second) == (
        "exact McNemar",
        50,
        20,
        0,
    )
    assert pair.verdict == "first better"


@pytest.mark.parametrize("turned", [False, True])
def test_a_grade_in_between_does_not_part_two_runs_of_one_scorer(tmp_path: Path, turned: bool) -> None:
    home = settings(tmp_path / "home")
    for model, values in (("m", "CCCCCCCCCI"), ("n", "CIPCIIIIII")):
        samples = [sample(i, value) for i, value in enumerate(values)]
        import_logs([written(tmp_path / f"{model}.json", inspect(samples, of={"model": model}))], home)
    models = ["inspect/m", "inspect/n"][:: -1 if turned else 1]
    whole = compare_named(models, home).evaluation.comparisons[0].whole
    assert sorted((whole.first or 0, whole.second or 0)) == [0.25, 0.9] and whole.discordant == 7
    assert whole.test == "sign-flip permutation"


def test_a_log_of_another_task_is_not_compared(tmp_path: Path) -> None:
    home = settings(tmp_path / "home")
    quiz(tmp_path / "a", "org/good", [1.0] * 10)
    written(tmp_path / "b.json", inspect([sample(i, "C") for i in range(10)]))
    assert import_logs([tmp_path], home).pair is None
    with pytest.raises(ConfigError, match="cannot be compared: they differ in their prompts"):
        compare_named(["lm-eval/org/good", "inspect/lab/m"], home)


def test_the_same_log_is_not_imported_twice(tmp_path: Path) -> None:
    home = settings(tmp_path / "home")
    a = quiz(tmp_path / "a", "org/good", [1.0, 0.0])
    first, again = import_logs([a], home).imported[0], import_logs([a.parent], home).imported[0]
    assert not first.before and again.before and first.result == again.result
    log = inspect([sample(1, "C"), sample(2, "I")])
    zipped(tmp_path / "log.eval", members(log))
    plain = written(tmp_path / "log.json", log)
    assert [each.before for each in import_logs([tmp_path / "log.eval", plain], home).imported] == [
        False,
        True,
    ]
    log["samples"][0]["scores"]["match"]["value"] = "I"  # scored anew: another log
    assert not import_logs([written(plain, log)], home).imported[0].before


def test_an_import_that_broke_off_is_taken_up_again(tmp_path: Path) -> None:
    """The first import dies before its rows are complete: the second fills that run and makes no other."""
    home, path = settings(tmp_path / "home"), quiz(tmp_path / "a", "org/m", [1.0, 0.0, 1.0])
    whole = import_logs([path], settings(tmp_path / "other")).imported[0].result.run
    with open_store(home) as store:
        plan = store.add_plan(Plan((whole.cell,)), now=1.0)
        run = store.add_run(
            plan,
            whole.cell,
            source_title=whole.source_title,
            planned=3,
            manifest=whole.manifest,
            comparability=whole.comparability,
            sample=False,
            now=1.0,
        )
        store.claim(run.id, owner="gone", now=1.0, lease_s=1.0)
    (again,) = import_logs([path], home).imported
    assert again.result.run.id == run.id and not again.before
    assert (again.result.run.status, again.result.run.settled) == (Status.COMPLETED, 3)


def test_graded_scores_keep_their_range(tmp_path: Path) -> None:
    lines = [line(i, rouge=value) for i, value in enumerate((0.25, 0.5, 1.0, 0.75))]
    path = lm_eval(tmp_path / "a", "org/m", {"quiz": lines}, {"quiz": {"rouge,none": 0.625}})
    result = import_logs([path], settings(tmp_path / "home")).imported[0].result
    assert (result.scores[0].metric, result.scores[0].title) == ("mean", "quiz rouge")
    assert result.scores[0].estimate.value == 0.625 and result.scores[0].estimate.scored == 4
    assert result.tally.outcomes == {"correct": 1, "answered": 3}


def test_a_scale_of_its_own_has_no_right_and_wrong(tmp_path: Path) -> None:
    path = written(
        tmp_path / "log.json", inspect([sample(i, value) for i, value in enumerate((1, 5, 9, 10))])
    )
    result = import_logs([path], settings(tmp_path / "home")).imported[0].result
    of = result.scores[0].estimate
    assert of.value == 6.25 and of.method.startswith("Student's t") and of.low < 1 and of.high > 10
    assert result.tally.outcomes == {"answered": 4}


def test_an_item_without_a_target_is_scored_all_the_same(tmp_path: Path) -> None:
    path = written(tmp_path / "log.json", inspect([sample(1, "C", target=None), sample(2, "I", target="")]))
    estimate = import_logs([path], settings(tmp_path / "home")).imported[0].result.scores[0].estimate
    assert (estimate.value, estimate.scored) == (0.5, 2)


def test_figures_that_the_items_do_not_give_are_told(tmp_path: Path) -> None:
    home = settings(tmp_path / "home")
    off = quiz(tmp_path / "a", "org/m", [1.0, 0.0], told=0.9)
    said = ("quiz acc: the log says 0.90000, its items give 0.50000",)
    assert [import_logs([off], home).imported[0].notes for _ in range(2)] == [said, said]
    rounded = quiz(tmp_path / "b", "org/m", [1.0, 0.0, 0.0], told=0.3333)
    assert import_logs([rounded], home).imported[0].notes == ()


@pytest.mark.parametrize(("told", "metric", "value"), [(0.4, "accuracy", 0.4), (0.5, "score", 0.5)])
def test_a_group_is_scored_as_its_tool_does(tmp_path: Path, told: float, metric: str, value: float) -> None:
    """Tasks of 4 items and of 1: the group's figure tells whether items or tasks count the same."""
    rights = (
        {"a": (1.0, 0.0, 0.0, 0.0), "b": (1.0,)} if metric == "accuracy" else {"a": (0.0,) * 4, "b": (1.0,)}
    )
    tasks = {name: [line(i, acc=right) for i, right in enumerate(each)] for name, each in rights.items()}
    means = {name: {"acc,none": sum(each) / len(each)} for name, each in rights.items()}
    path = lm_eval(
        tmp_path / "a",
        "org/m",
        tasks,
        {"both": {"acc,none": told}, **means},
        group_subtasks={"both": ["a", "b"], "a": [], "b": []},
    )
    (log,) = import_logs([path], settings(tmp_path / "home")).imported
    first = log.result.scores[0]
    assert (log.result.run.source_title, first.metric, first.estimate.value) == (
        "lm-eval both",
        metric,
        value,
    )
    assert log.notes == ()


def test_errors_and_epochs_of_inspect(tmp_path: Path) -> None:
    samples = [
        *(sample(1, "C", epoch=epoch) for epoch in (1, 2)),
        *(sample(2, "N", epoch=epoch) for epoch in (1, 2)),
        sample(3, "I"),
        sample(3, "I", epoch=2, error={"message": "the tool broke"}),
    ]
    order = {"dataset": {"sample_ids": [1, 2, 3]}, "config": {"epochs": 2}}
    path = written(tmp_path / "log.json", inspect(samples, of=order))
    home = settings(tmp_path / "home")
    result = import_logs([path], home).imported[0].result
    assert result.run.partial and (result.run.planned, result.run.settled) == (6, 5)
    assert result.scores[0].estimate.value == pytest.approx(1 / 3) and result.scores[0].estimate.scored == 3
    assert [score.metric for score in result.scores] == ["accuracy", "pass@2", "pass^2"]
    assert result.tally.outcomes == {"correct": 2, "wrong": 1, "no_answer": 2, "error": 1}
    records = item_records([result.run.id], home)
    assert [(r["item_id"], r["repeat"], r["outcome"]) for r in records][-2:] == [
        ("quiz/3", 0, "wrong"),
        ("quiz/3", 1, "error"),
    ]
    assert records[-1]["error"] == "the tool broke" and records[0]["reply"] == "I say yes"
    assert [message["role"] for message in records[0]["prompt"]] == ["system", "user"]


def test_what_ended_early_in_a_cancelled_log_is_not_favoured(tmp_path: Path) -> None:
    """As with our own runs: only what has no gap before it is scored."""
    log = inspect(
        [sample(1, "I"), sample(2, "C"), sample(4, "C")],
        of={"dataset": {"sample_ids": [1, 2, 3, 4]}},
        status="cancelled",
    )
    result = (
        import_logs([written(tmp_path / "log.json", log)], settings(tmp_path / "home")).imported[0].result
    )
    assert result.run.stopped == "the log's own status is cancelled" and result.run.planned == 4
    assert (result.scores[0].estimate.value, result.scores[0].estimate.scored) == (0.5, 2)


def test_a_damaged_log_leaves_nothing_behind_and_the_others_are_taken(tmp_path: Path) -> None:
    home = settings(tmp_path / "home")
    quiz(tmp_path / "logs/a", "org/m", [1.0, 0.0])
    with (tmp_path / f"logs/a/samples_quiz_{DATE}.jsonl").open("a") as samples:
        samples.write("{broken")
    quiz(tmp_path / "logs/b", "org/m", [1.0])
    found = import_logs([tmp_path / "logs"], home)
    assert len(found.imported) == 1 and "line 3 is not JSON" in found.failed[0][1]
    with open_store(home) as store:
        assert [run.planned for run in store.runs(limit=None)] == [1]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("results_1.json", "{", "not JSON"),
        ("results_1.json", "{}", "`results` and `config` are missing"),
        ("results_1.json", '{"results": {"x": {}}, "config": {}}', "no items to compare"),
        (
            "notes.txt",
            "hello",
            "no log of a tool that proctor knows. proctor imports lm-eval's results_*.json",
        ),
        ("other.json", '{"a": 1}', "no log of a tool that proctor knows"),
        ("samples_quiz.jsonl", "{}", "give the results_*.json beside them"),
        ("log.eval", "no zip", "not a readable zip archive"),
    ],
)
def test_what_is_no_log_is_told(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    found = import_logs([tmp_path / name], settings(tmp_path / "home"))
    assert found.imported == () and said in found.failed[0][1]


def test_a_path_without_logs_is_told(tmp_path: Path) -> None:
    home = settings(tmp_path / "home")
    written(tmp_path / "other.json", {"a": 1})
    with pytest.raises(DataError, match="no log in this folder"):
        import_logs([tmp_path], home)
    with pytest.raises(DataError, match="there is no such file or folder"):
        import_logs([tmp_path / "nothing"], home)


def test_an_imported_run_cannot_be_asked_or_read_again(tmp_path: Path) -> None:
    home = settings(tmp_path / "home")
    log = inspect([sample(1, "C"), sample(2, "I", error="broke")])
    run = import_logs([written(tmp_path / "log.json", log)], home).imported[0].result.run
    for again in (lambda: rerun(run.id, home), lambda: resume([run.id], home)):
        with pytest.raises(ConfigError, match="was imported from another tool"):
            again()
    with pytest.raises(ConfigError, match="they cannot be read again"):
        rescore(run.id, ["ladder/1"], home)


def test_no_key_of_the_other_tool_is_kept(tmp_path: Path) -> None:
    home = settings(tmp_path / "home")
    config = {"model": "local", "model_args": "model=m,api_key=sk-very-secret"}
    run = import_logs([quiz(tmp_path / "a", "m", [1.0], config=config)], home).imported[0].result.run
    assert "sk-very-secret" not in json.dumps(manifest_document(run.manifest))
    assert run.manifest.facts.log_settings["model_args"] == "model=m,api_key=(removed)"


def test_the_order_of_the_lines_does_not_matter(tmp_path: Path) -> None:
    path = quiz(tmp_path / "a", "org/m", [1.0, 0.0, 1.0, 1.0])
    log = read_lm_eval(path)
    samples = tmp_path / "a" / f"samples_quiz_{DATE}.jsonl"
    samples.write_text("\n".join(reversed(samples.read_text().splitlines())))
    turned = read_lm_eval(path)
    assert turned == replace(log, samples=log.samples[::-1], sha256=turned.sha256)
    results = [
        import_logs([path], settings(tmp_path / name)).imported[0].result for name in ("home", "other")
    ]
    assert results[0].scores == results[1].scores
    assert results[0].run.comparability == results[1].run.comparability


def test_outcomes_are_those_that_the_scores_say(tmp_path: Path) -> None:
    home = settings(tmp_path / "home")
    path = written(tmp_path / "log.json", inspect([sample(i, v) for i, v in enumerate(("C", "P", "I", "N"))]))
    run = import_logs([path], home).imported[0].result.run
    assert [r["outcome"] for r in item_records([run.id], home)] == [
        Outcome.CORRECT,
        Outcome.ANSWERED,
        Outcome.WRONG,
        Outcome.NO_ANSWER,
    ]
    assert look([run.id], home).results[0].scores[0].estimate.value == 0.375
