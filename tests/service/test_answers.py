"""Answers in a list: the first words of what was asked and said, places of pages, and replies beside each other."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from opened import over
from proctor.errors import ConfigError
from proctor.manifest import UNOPENED
from proctor.references import ExamRef
from proctor.service.context import Context
from proctor.service.watch.answers import AnswersQuery, answers, first_words
from proctor.service.watch.item import AnswerAsked, answer
from proctor.store import AttemptWriter, Store
from proctor.store.read.pages import Filter
from proctor.types import (
    Attempt,
    Cell,
    Chat,
    Failure,
    Gold,
    Grade,
    Item,
    Message,
    Model,
    Outcome,
    Plan,
    Reply,
    Run,
    Status,
)

WORDS = "One option is right.\n\nWhat is the capital of {}?\n\nA. x\nB. y"


@pytest.fixture
def context(tmp_path: Path) -> Iterator[Context]:
    store = Store.open(f"sqlite:///{tmp_path}/proctor.db")
    try:
        yield over(store)
    finally:
        store.close()


def item(place: int) -> Item:
    turns = (Message("user", "An example"), Message("assistant", "A"), Message("user", WORDS.format(place)))
    return Item(f"q/{place}", "q", Chat(turns), Gold("A"), hash=f"h{place}")


def kept(context: Context, model: str, *said: str | None, repeats: int = 1) -> Run:
    """A complete run that said these; None is a failure."""
    store = context.store
    cell = Cell(Model("p", model), ExamRef("suite", "s"), repeats=repeats)
    run = store.add_run(
        store.add_plan(Plan((cell,)), now=1.0), cell, source_title="S", planned=len(said), manifest=UNOPENED,
        comparability="c", sample=False, now=time.time(), exam="e",
    )  # fmt: skip
    store.claim(run.id, owner="me", now=time.time(), lease_s=600)
    with AttemptWriter(store, run.id, owner="me") as writer:
        for n, text in enumerate(said):
            place, repeat = divmod(n, repeats)
            if text is None:
                lost = Failure("network", "the network\ngave way")
                writer.keep(
                    Attempt(item(place), place, repeat, 0, 1.0, Grade(Outcome.ERROR, None), failure=lost)
                )
            else:
                right = text.endswith("A")
                read = Grade(Outcome.CORRECT if right else Outcome.WRONG, float(right), text[-1:], 2)
                writer.keep(
                    Attempt(item(place), place, repeat, 0, 1.0, read, Reply(text, latency_s=float(n)))
                )
    return store.finish(run.id, Status.COMPLETED, owner="me", now=time.time(), elapsed_s=1.0)


def test_a_row_has_the_last_question_and_the_beginning_of_the_reply(context: Context) -> None:
    run = kept(context, "m", "Let me see.\n\n Answer: A", "x" * 500, None)
    lines = answers(context, run, AnswersQuery(Filter())).lines
    assert lines[0].question == "What is the capital of 0? A. x B. y"
    assert lines[0].reply == "Let me see. Answer: A"
    assert len(lines[1].reply) == 140 and lines[1].reply.endswith("x…")
    assert (lines[2].reply, lines[2].error) == ("", "the network gave way")
    bare = answers(context, run, AnswersQuery(Filter(), reads=())).lines
    assert {(line.question, line.reply, line.differ) for line in bare} == {("", "", None)}


def test_a_question_that_stands_alone_keeps_its_first_line() -> None:
    """What every question begins with says nothing of one; a question itself is never left out."""
    assert first_words(["What is two plus two?\n\nA. 4"]) == ["What is two plus two? A. 4"]
    alike = [f"What is the sum of {n} and {n}?\n\nA. 1" for n in range(4)]
    assert first_words(alike)[2] == "What is the sum of 2 and 2? A. 1"
    assert first_words(["Say it.\nOne", "Say it.\nTwo", ""]) == ["One", "Two", ""]


def test_other_complete_runs_of_the_exam_disagree(context: Context) -> None:
    here = kept(context, "m", "A", "A")
    kept(context, "other", "A", "B")
    kept(context, "third", "B", "B")
    kept(context, "partial", "B", None)  # not complete: it is asked nothing
    found = answers(context, here, AnswersQuery(Filter(descending=True), sort="differ"))
    assert [(line.row.item_id, line.differ) for line in found.lines] == [("q/1", (2, 2)), ("q/0", (1, 2))]
    assert found.others == 2


def test_pages_lead_forth_and_back(context: Context) -> None:
    run = kept(context, "m", *["A"] * 5)
    for sort in (None, "latency"):
        first = answers(context, run, AnswersQuery(Filter(), sort, limit=2))  # type: ignore[arg-type]  # both are sorts
        assert first.before is None and first.after
        second = answers(context, run, AnswersQuery(Filter(), sort, after=first.after, limit=2))  # type: ignore[arg-type]  # the same
        assert second.before and second.after
        back = answers(context, run, AnswersQuery(Filter(), sort, before=second.before, limit=2))  # type: ignore[arg-type]  # the same
        assert [line.row.item_id for line in back.lines] == [line.row.item_id for line in first.lines]
        assert back.before is None


@pytest.mark.parametrize("place", ["x", "1", "nan~1.0", "1e999~1.0", "--1~1.0", "~1.0"])
def test_what_is_no_place_is_told(context: Context, place: str) -> None:
    run = kept(context, "m", "A")
    with pytest.raises(ConfigError, match="after="):
        answers(context, run, AnswersQuery(Filter(), "latency", after=place))


def test_replies_of_other_runs_and_repeats_are_set_beside(context: Context) -> None:
    here = kept(context, "m", '{"a": 1, "b": 2}', "It is A", repeats=2)
    there = kept(context, "other", '{"a": 1, "b": 3}')
    found = answer(context, here, AnswerAsked("q/0", beside=there.id))
    assert found.beside and found.beside.difference
    assert [key.path for key in found.beside.difference.keys if not key.alike] == ["$.b"]
    assert [each.text for each in found.elsewhere] == ['{"a": 1, "b": 3}']
    own = answer(context, here, AnswerAsked("q/0", beside="1.0"))
    assert own.beside and own.beside.whose is None and own.beside.text == "It is A"
    with pytest.raises(ConfigError, match="name a run that was asked this item too"):
        answer(context, here, AnswerAsked("q/0", beside="7.0"))
