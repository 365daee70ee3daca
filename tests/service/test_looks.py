"""What was tried beside a comparison is counted, allowed for and said."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from bundles import answers, replayed, rows
from opened import compare_named, look, start
from proctor.findings import Evaluation
from proctor.findings.looks import Alternatives, Looks, Rerun
from proctor.references import ExamRef
from proctor.service.context import open_context, open_store
from proctor.service.evidence.compare import compared
from proctor.service.looks.words import looks_said
from proctor.service.rows.marks import brief_marks, marks
from proctor.store.admin.pruning import remove
from proctor.store.core.look_tables import LOOK
from proctor.store.core.tables import RUN
from proctor.store.core.walls import Reach
from proctor.types import Cell, Model, Plan, Sampling
from simulators import settings

N = 60
PLAIN = Sampling()
NAMES = ("alpha", "beta", "gamma", "delta", "epsilon")


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five models with one complete run each; alpha has everything right, and each further one two items less."""
    home = tmp_path_factory.mktemp("five")
    rows(home, N)
    for place, name in enumerate(NAMES):
        asked(home, name, 2 * place)
    return home


@pytest.fixture
def home(five: Path, tmp_path: Path) -> Path:
    """A copy of it for tests that ask more."""
    return Path(shutil.copytree(five, tmp_path / "home"))


def asked(home: Path, name: str, wrong: int, *, sampling: Sampling = PLAIN, **how: Any) -> str:
    ref = ExamRef("file", str(home / "ways.jsonl"), **how)
    return replayed(home, ref, answers(N, wrong=range(wrong)), name, sampling=sampling)


def side_by_side(home: Path, *names: str, **how: Any) -> Evaluation:
    found: Evaluation = compare_named(list(names), settings(home), **how).evaluation
    return found


def looks(of: Evaluation) -> Looks:
    assert of.looks is not None
    return of.looks


# Models ------------------------------------------------------------------------------------------


@pytest.mark.promise("X-07")
def test_a_pair_is_one_of_all_pairs_of_models_with_runs_on_these_items(five: Path) -> None:
    """8 items alone on one side: p = .0078 as the only pair, ten times that as the last of ten."""
    found = side_by_side(five, "alpha", "epsilon")
    (pair,) = found.comparisons
    assert looks(found) == Looks(models=5, pairs=10)
    assert pair.whole.p_value == pytest.approx(2**-7)
    assert pair.whole.adjusted_p == pytest.approx(10 * 2**-7) and pair.verdict == "no difference shown"
    said = "This is one of 10 pairs of the 5 models with complete runs on these items."
    assert found.verdict.endswith(said) and looks_said(found) == said


@pytest.mark.promise("X-07")
def test_models_that_were_named_beforehand_count_alone_and_that_is_said(five: Path) -> None:
    found = side_by_side(five, "alpha", "epsilon", only=True)
    (pair,) = found.comparisons
    assert looks(found) == Looks(models=5, pairs=1, fixed=True) and pair.verdict == "first better"
    assert found.verdict.endswith(
        "Only this pair counts, named beforehand, though 5 models have complete runs on these items."
    )
    every = side_by_side(five, *NAMES, only=True)
    assert looks(every) == Looks(models=5, pairs=10) and looks_said(every) == "", "there is nobody else"


def test_a_plan_keeps_that_its_models_alone_were_to_be_compared(home: Path) -> None:
    """Its runs together are what was named beforehand; two of three of them were picked afterwards."""
    file = home / "alpha.jsonl"
    cells = [
        Cell(Model("replay", name), ExamRef("file", str(home / "ways.jsonl"))) for name in ("x", "y", "z")
    ]
    found = start(Plan(tuple(cells), replies=str(file), only=True), settings(home)).evaluation
    ids = [result.run.id for result in found.results]
    assert looks(found) == Looks(models=8, pairs=3, fixed=True)
    assert "Only 3 pairs count, named beforehand, though 8 models" in found.verdict
    again = look([found.plan_id], settings(home))
    assert again.verdict == found.verdict == side_by_side(home, *ids).verdict
    assert looks(side_by_side(home, *ids[:2])) == Looks(models=8, pairs=28)


def test_what_all_say_together_is_what_each_pair_says_alone(five: Path) -> None:
    together = side_by_side(five, *NAMES).comparisons
    for pair in (together[0], together[3], together[9]):
        (alone,) = side_by_side(five, pair.first.id, pair.second.id).comparisons
        assert alone.whole.adjusted_p == pair.whole.adjusted_p and alone.verdict == pair.verdict


def test_rows_that_are_read_briefly_are_the_same_rows(home: Path) -> None:
    lost = replayed(home, home / "ways.jsonl", [*answers(N)[1:], None], "lost")
    with open_store(settings(home)) as store:
        for run in (store.run(lost), store.runs(model="alpha")[0]):
            assert sorted(map(repr, brief_marks(store, run))) == sorted(map(repr, marks(store, run)))


def test_a_model_with_few_of_the_items_or_asked_otherwise_does_not_count(home: Path) -> None:
    asked(home, "trial", 0, limit=N // 4)
    asked(home, "shuffled", 0, shuffle=True)
    assert looks(side_by_side(home, "alpha", "epsilon")) == Looks(models=5, pairs=10)
    asked(home, "half", 0, limit=N // 2)
    assert looks(side_by_side(home, "alpha", "epsilon")) == Looks(models=6, pairs=15)


@pytest.mark.promise("X-07")
def test_models_of_another_project_neither_count_nor_are_told_of(home: Path) -> None:
    """Not even their number: p-values are of the projects of the compared runs, whoever asks."""
    with open_context(settings(home)) as context:
        elsewhere = update(RUN).where(RUN.c.model.in_(["gamma", "delta"])).values(project_id=2)
        with context.store.writing() as connection:
            connection.execute(elsewhere)
        every = compared(context, ["alpha", "epsilon"]).evaluation
        inside = context.within(Reach(frozenset({1})))
        mine = compared(inside, ["alpha", "epsilon"]).evaluation
    assert mine.verdict == every.verdict and looks(mine) == Looks(models=3, pairs=3)


# Reruns ------------------------------------------------------------------------------------------


@pytest.mark.promise("X-07")
def test_a_run_by_its_id_says_of_how_many_it_is_one(home: Path) -> None:
    first, last = asked(home, "alpha", 20), asked(home, "alpha", 0)
    other = asked(home, "beta", 8)
    found = side_by_side(home, last, other, only=True)
    assert looks(found).reruns == (Rerun(last, "replay/alpha", of=3), Rerun(other, "replay/beta", of=2))
    assert (
        "replay/alpha is the latest of its 3 runs here; replay/beta is the latest of its 2" in found.verdict
    )
    picked = side_by_side(home, first, other, only=True)
    assert "replay/alpha is one, and not the latest, of its 3 runs here" in picked.verdict
    named = side_by_side(home, "alpha", "beta", only=True)
    assert [each.counted for each in looks(named).reruns] == [3, 2]
    assert "replay/alpha is the mean of all its 3 runs here" in named.verdict
    even = side_by_side(home, last, asked(home, "beta", 9), only=True)
    assert "each of replay/alpha and replay/beta is the latest of its 3 runs here" in even.verdict


@pytest.mark.promise("X-07")
def test_deleted_runs_are_still_told_of(home: Path) -> None:
    gone = [asked(home, "alpha", 20), asked(home, "zeta", 0)]
    with open_store(settings(home)) as store:
        assert len(remove(store, gone)) == 2
    found = side_by_side(home, "alpha", "beta", only=True)
    assert [(each.of, each.deleted) for each in looks(found).reruns] == [(1, 1)] and looks(found).deleted == 1
    assert "replay/alpha has further runs here: 1 deleted" in found.verdict
    assert found.verdict.endswith("the runs of a model on these items were deleted.")


# Choices -----------------------------------------------------------------------------------------


@pytest.mark.promise("X-07")
@pytest.mark.parametrize(
    ("ways", "what", "said"),
    [
        ([{"shuffle": True}], "styles", "2 styles of prompts"),
        ([{"wording": 2}, {"wording": 3}], "wordings", "3 wordings"),
        ([{"limit": N // 2}], "selections", "2 selections of items"),
        ([{"sampling": Sampling(temperature=0.7)}], "settings", "2 settings of sampling"),
        ([{"extractor": "proctor/1"}], "extractors", "2 extractors"),
    ],
)
def test_a_choice_among_ways_in_which_both_were_asked_is_named(
    home: Path, ways: list[dict[str, Any]], what: Any, said: str
) -> None:
    before = looks(side_by_side(home, "alpha", "beta")).alternatives
    for way in ways:
        asked(home, "alpha", 1, **way)
        asked(home, "beta", 1, **way)
    asked(home, "alpha", 1, limit=N - 1)  # in which beta was not asked
    with open_store(settings(home)) as store:
        ids = [run.id for name in ("alpha", "beta") for run in store.runs(limit=None, model=name)[-1:]]
    found = side_by_side(home, *ids)
    assert before == () and looks(found).alternatives == (Alternatives(what, len(ways) + 1),)
    assert f"one choice out of {said}" in found.verdict


def test_a_metric_that_was_asked_for_by_its_name_is_one_of_those_there_are(five: Path) -> None:
    found = side_by_side(five, "alpha", "beta", metric="accuracy")
    assert looks(found).alternatives == (Alternatives("metrics", 2),)


# Looks at runs that are not whole ----------------------------------------------------------------


@pytest.mark.promise("X-07")
def test_looks_at_runs_before_they_were_whole_are_said_and_test_the_whole_path(home: Path) -> None:
    with open_context(settings(home)) as context:
        nums = [context.store.number(run.id) for run in context.store.runs(limit=None, model="epsilon")]
        with context.store.writing() as connection:
            peeks = [{"run_num": nums[0], "settled": settled, "at": 1.0 * settled} for settled in (9, 30)]
            connection.execute(LOOK.insert(), peeks)
    found = side_by_side(home, "alpha", "epsilon", only=True)
    assert looks(found).peeks == 2
    assert found.verdict.endswith("the runs were looked at twice before they were whole.")
    assert found.comparisons[0].whole.path is not None
    assert side_by_side(home, "alpha", "delta", only=True).comparisons[0].whole.path is None


def test_a_whole_run_is_shown_without_a_word(five: Path) -> None:
    ids = [run.id for run in _runs(five)]
    assert looks(look(ids[:2], settings(five))).peeks == 0


def _runs(home: Path) -> list[Any]:
    with open_store(settings(home)) as store:
        return store.runs(limit=None)
