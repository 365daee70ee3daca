"""Runs of the same words that were asked a different number of items: compared and ranked on those that they share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bundles import answers, replayed, rows
from opened import compare_named, history, leaderboard, list_runs, start
from proctor.errors import ConfigError
from proctor.findings import RunResult, Score, Sharing
from proctor.references import ExamRef
from proctor.service.context import open_context, open_store
from proctor.service.evidence.leaderboard import default_suite
from proctor.service.evidence.standing import standing
from proctor.service.results import headline
from proctor.service.results.results import shape
from proctor.service.watch.overview import overview
from proctor.types import Cell, Model, Plan
from simulators import settings

pytestmark = pytest.mark.slow

N = 40


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """40 rows of the user's own."""
    rows(tmp_path, N)
    return tmp_path


def asked(home: Path, name: str, wrong: int = 0, limit: int | None = None, lost: int = 0) -> str:
    """A run of a model that is wrong on its first `wrong` items and has no reply to the last `lost`."""
    said: list[str | None] = list(answers(N, wrong=range(wrong)))
    source = ExamRef("file", str(home / "ways.jsonl"), limit=limit)
    if lost:
        said[-lost:] = [None] * lost
    return replayed(home, source, said, name)


def sampled(home: Path, *models: str, suite: str = "medical") -> None:
    """Runs on sample rows, as the demo makes them."""
    ref = ExamRef("suite", suite, tasks=("medqa",), preset="full", rows="sample")
    start(Plan(tuple(Cell(Model("baseline", name), ref) for name in models)), settings(home))


def test_a_small_and_a_large_run_are_compared_on_the_small_ones_items(home: Path) -> None:
    large, small = asked(home, "large", wrong=10), asked(home, "small", wrong=2, limit=12)
    found = compare_named([large, small], settings(home)).evaluation
    (pair,) = found.comparisons
    assert pair.sharing == Sharing(N, 12, 12)
    assert pair.whole.shared == 12
    first, second = found.compared
    assert (first.estimate.scored, second.estimate.scored) == (12, 12)
    assert (first.estimate.value, second.estimate.value) == (pair.whole.first, pair.whole.second)
    assert second.estimate == found.results[1].scores[0].estimate, "of the small run that is its whole score"
    assert first.estimate != found.results[0].scores[0].estimate


def test_the_gap_is_the_difference_that_is_tested(home: Path) -> None:
    for name, wrong, limit in (("a", 3, None), ("b", 9, None), ("c", 12, 20)):
        asked(home, name, wrong, limit)
    found = compare_named(["replay/a", "replay/b", "replay/c"], settings(home)).evaluation
    at = standing(found, "score")
    by_pair = {
        (str(c.first.cell.model), str(c.second.cell.model)): c.whole.estimate.value for c in found.comparisons
    }
    assert at.gap_to_runner_up == by_pair["replay/a", "replay/b"]
    assert at.gap == by_pair["replay/a", "replay/c"]
    assert at.names[at.best] == "a"


def test_without_a_shared_item_there_is_no_comparison(home: Path) -> None:
    one = asked(home, "one")
    text = (home / "ways.jsonl").read_text()
    (home / "ways.jsonl").write_text(text.replace("hill", "valley"))
    other = asked(home, "other")
    with pytest.raises(ConfigError, match=f"they share no item of the {N} and {N} that they were asked"):
        compare_named([one, other], settings(home))
    assert leaderboard(settings(home), suite="ways.jsonl").left_out == (
        "1 run with no item that the others were asked (replay/one)",
    )


def test_tasks_that_only_one_run_has_are_no_part_of_the_comparison(tmp_path: Path) -> None:
    whole = ExamRef("suite", "medical", tasks=("medqa", "medmcqa"), preset="full", rows="sample")
    ids = []
    for model, ref in (("majority", whole), ("random", replace(whole, tasks=("medqa",)))):
        ended = start(Plan((Cell(Model("baseline", model), ref),)), settings(tmp_path))
        assert ended.evaluation is not None
        ids.append(ended.evaluation.results[0].run.id)
    for names in (ids, ids[::-1]):
        (pair,) = compare_named(names, settings(tmp_path)).evaluation.comparisons
        assert pair.sharing is not None
        assert pair.sharing.both == pair.whole.shared == min(pair.sharing.first, pair.sharing.second)
        assert pair.whole.title == "MedQA-USMLE, 4 options"


def test_no_model_is_left_off_a_board_for_the_size_of_its_run(home: Path) -> None:
    asked(home, "a", wrong=10)
    asked(home, "b", wrong=4)
    asked(home, "c", wrong=2, limit=12)
    board = leaderboard(settings(home))
    assert board.models == 3
    assert board.left_out == ()
    assert board.shared == 12
    assert {place.score.scored for place in board.places} == {12}
    assert board.note == (
        "Scores are on the 12 items that all 3 models were asked, of 12 to 40 each; pairs are tested on all items that "
        "both were asked. Without replay/c, which was asked 12, they would be on 40."
    )
    full = next(
        c for c in board.comparisons if {c.first.cell.model.name, c.second.cell.model.name} == {"a", "b"}
    )
    assert full.whole.shared == N, "a pair is tested on all that it shares"


def test_where_all_were_asked_the_same_a_board_shows_the_kept_scores(home: Path) -> None:
    for name in ("a", "b"):
        asked(home, name, wrong=5 if name == "a" else 9)
    board = leaderboard(settings(home))
    assert (board.shared, board.note) == (None, "")
    for place in board.places:
        assert place.score == place.result.scores[0].estimate


def test_a_models_full_run_stands_on_the_board_though_it_tried_a_few_items_since(home: Path) -> None:
    for name in ("a", "b"):
        asked(home, name)
    asked(home, "a", wrong=1, limit=2)
    board = leaderboard(settings(home))
    assert board.shared is None
    assert [place.score.scored for place in board.places] == [N, N]
    assert next(p for p in board.places if p.result.run.cell.model.name == "a").runs == 2


def test_a_trend_goes_from_one_run_to_the_next_of_the_very_same_exam(home: Path) -> None:
    asked(home, "a", wrong=9)
    asked(home, "a", limit=12)
    asked(home, "a", wrong=3)
    changes = [past.change for past in history(settings(home)).runs]
    assert [change is None for change in changes] == [False, True, True]
    assert changes[0] is not None
    assert changes[0].shared == N


def test_a_run_with_errors_stays_off_the_board_which_says_so(home: Path) -> None:
    asked(home, "a")
    asked(home, "b", lost=7)
    board = leaderboard(settings(home))
    assert [str(place.result.run.cell.model) for place in board.places] == ["replay/a"]
    assert board.left_out == ("1 run not complete (replay/b: 7 of 40 not measured)",)


def test_demo_runs_are_on_no_board_of_the_users(home: Path) -> None:
    sampled(home, "majority", "random")
    given = settings(home)
    assert leaderboard(given).places[0].result.run.sample, "their own, where there is nothing else"
    asked(home, "mine")
    board = leaderboard(given)
    assert [str(place.result.run.cell.model) for place in board.places] == ["replay/mine"]
    assert leaderboard(given, suite="medical").places[0].result.run.sample
    with open_store(given) as store:
        assert default_suite(store, None) == "ways.jsonl"


def test_models_are_compared_on_real_rows_before_sample_rows(home: Path) -> None:
    ref = ExamRef("file", str(home / "ways.jsonl"))
    sampled(home, "majority", "random")
    for name, limit in (("majority", None), ("random", 12)):
        start(Plan((Cell(Model("baseline", name), replace(ref, limit=limit)),)), settings(home))
    sampled(home, "majority", "random")
    (pair,) = compare_named(["baseline/majority", "baseline/random"], settings(home)).evaluation.comparisons
    assert not pair.first.sample
    assert pair.sharing == Sharing(N, 12, 12)


def older(tmp_path: Path) -> tuple[RunResult, Score]:
    """A run whose mean over its tasks was not kept, and that mean as it is."""
    ref = ExamRef("suite", "superglue", tasks=("boolq", "rte"), preset="full", rows="sample")
    start(Plan((Cell(Model("baseline", "random"), ref),)), settings(tmp_path))
    (result,) = list_runs(settings(tmp_path))
    kept = next(score for score in result.scores if score.metric == "accuracy, mean of 2 tasks")
    without = tuple(score for score in result.scores if score is not kept)
    with open_store(settings(tmp_path)) as store:
        store.put_scores(result.run.id, without)
    return replace(result, scores=without), kept


def test_scores_that_an_older_version_did_not_keep_are_computed_once(tmp_path: Path) -> None:
    result, kept = older(tmp_path)
    with open_store(settings(tmp_path)) as store:
        assert headline.kept(store, result, "accuracy") == kept
        assert store.scores(result.run.id) == (*result.scores, kept)
        assert headline.picked(store.scores(result.run.id), "accuracy", shape(result.run)) == kept


def test_lists_show_the_mean_that_an_older_version_did_not_keep_with_its_interval(tmp_path: Path) -> None:
    """The Overview's cards and trend, and the rows of every list."""
    result, kept = older(tmp_path)
    of = kept.estimate
    with open_context(settings(tmp_path)) as context:
        found = overview(context, source="superglue", metric="accuracy", days=30)
        assert (found.cards.average, found.cards.low, found.cards.high) == (of.value, of.low, of.high)
        shown = (kept.metric, of.value, of.low, of.high, of.scored, of.asked)
        assert found.trend[0].score == found.figures[result.run.id]["accuracy"] == shown
        assert context.store.scores(result.run.id) == (*result.scores, kept), "computed once"
