"""The corpus: replies in many styles, each with the answer that the ladder's words give it.

The expectations were reasoned from the ladder's description, by hand; a difference is looked into,
never copied over from the program's output.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from proctor.grading.extractors import EXTRACTORS
from proctor.grading.formats import AnswerFormat, Label
from proctor.grading.vocabulary import vocabulary
from proctor.types import Chat, Gold, Item, Message, Outcome, Reply

grade = EXTRACTORS["proctor/1"].grade_reply
grade2 = EXTRACTORS["proctor/2"].grade_reply


def load():
    files = sorted((Path(__file__).parent / "corpus").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


CORPUS = load()


def test_the_corpus_covers_styles_kinds_and_outcomes():
    assert len(CORPUS) >= 300
    assert len({row["style"] for row in CORPUS}) >= 6
    assert {row["kind"] for row in CORPUS} == set(get_args(AnswerFormat))
    assert min(Counter(row["kind"] for row in CORPUS).values()) >= 20
    assert {row["outcome"] for row in CORPUS} == set(Outcome) - {Outcome.ERROR, Outcome.ANSWERED}
    assert {row["rung"] for row in CORPUS} == {None, 1, 2, 3, 4, 5, 6}


@pytest.mark.parametrize("row", CORPUS, ids=lambda row: f"{row['style']}-{row['kind']}-{row['reply'][:24]!r}")
def test_a_reply_is_read_as_its_words_say(row):
    labels = [Label(each["name"], tuple(each["synonyms"]), each["shown"]) for each in row.get("labels", ())]
    item = Item(
        "t/0",
        "t",
        Chat((Message("user", "?"),)),
        Gold.of(row["target"]),
        choices=tuple(row.get("choices", ())),
    )
    reading = grade(
        item,
        Reply(row["reply"], finish=row["finish"]),
        kind=row["kind"],
        vocabulary=vocabulary(labels) if labels else None,
    )
    found = {"answer": reading.answer, "outcome": reading.outcome, "rung": reading.rung}
    assert found == {key: row[key] for key in found}, row["reply"]


# What proctor/2 reads differently, because a person does.
READ_DIFFERENTLY = {
    # Cut behind its one letter: a model that was allowed one token.
    "B": "B",
    '{"result": "B"}': "B",
    "Ja": "yes",
    "是的。": "yes",
    "Option A is wrong because of the kidneys. Option C thins the blood.": None,
}


@pytest.mark.parametrize("row", CORPUS, ids=lambda row: f"{row['style']}-{row['kind']}-{row['reply'][:24]!r}")
def test_proctor_2_reads_the_same_answers_but_for_those_named(row):
    labels = [Label(each["name"], tuple(each["synonyms"]), each["shown"]) for each in row.get("labels", ())]
    item = Item(
        "t/0",
        "t",
        Chat((Message("user", "?"),)),
        Gold.of(row["target"]),
        choices=tuple(row.get("choices", ())),
    )
    reading = grade2(
        item,
        Reply(row["reply"], finish=row["finish"]),
        kind=row["kind"],
        vocabulary=vocabulary(labels) if labels else None,
    )
    assert reading.answer == READ_DIFFERENTLY.get(row["reply"], row["answer"])
    if row["reply"] not in READ_DIFFERENTLY:
        assert reading.outcome == row["outcome"]
