"""`mirage/1` and the ladder on the replies that the MIRAGE benchmark recorded."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from proctor.grading.extractors import EXTRACTORS
from proctor.grading.mirage import mirage_letter
from proctor.grading.vocabulary import vocabulary
from proctor.sources.exams.tables.exams import PUBMEDQA
from proctor.types import Chat, Gold, Item, Message, Outcome, Reply


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ('{"step_by_step_thinking": "option D", "answer_choice": "B"}', "B"),
        ('"answer_choice": "A" then "answer_choice": "C. text"', "C"),
        ("B", "B"),
        (" C \n", "C"),
        ("B or C", "B"),
        ("D and A", "D"),
        ("C/D", "C"),
        ("D, see option B", "D"),  # a comma outranks "option X"
        ("I would take option D: A", "D"),
        ("Therefore: C", "C"),
        ("B. option D", "D"),  # "option X" outranks "X."
        ("B. text", "B"),
        ('B"', "B"),
        ("E", "A"),  # nothing found: A
        ("none of these", "A"),
        ("b", "A"),
        ('"answer_choice": ""', "A"),
    ],
)
def test_the_forms_in_their_order(reply, letter):
    assert mirage_letter(reply) == letter


def recorded(shared, name):
    path = shared / f"data/predictions/mirage/{name}__cot__gpt-35-turbo-16k.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def rows(shared, name):
    """Each recorded line with its item, joined as replay does: by row order, or by the row's own id."""
    lines = recorded(shared, name)
    if name == "medqa":
        path = shared / "data/medical/medqa/phrases_no_exclude_test.jsonl"
        questions = [json.loads(line) for line in path.read_text().splitlines()]
        options = [[row["options"][letter] for letter in "ABCD"] for row in questions]
        targets = [row["answer_idx"] for row in questions]
    else:
        path = shared / "data/medical/medmcqa/dev.json"
        by_id = {row["id"]: row for row in map(json.loads, path.read_text().splitlines())}
        found = [by_id[line["id"]] for line in lines]
        options = [[row[field] for field in ("opa", "opb", "opc", "opd")] for row in found]
        targets = ["ABCD"[row["cop"] - 1] for row in found]
    for line, texts, target in zip(lines, options, targets, strict=True):
        assert target == line["gold"]
        text = line["outputs"][0] if line["outputs"] else ""
        yield (
            line,
            Item("t/0", "t", Chat((Message("user", "?"),)), Gold.of(target), choices=tuple(texts)),
            Reply(text),
        )


@pytest.mark.parametrize(
    ("name", "n", "agree", "right", "empty"),
    [("medqa", 1273, 1273, 826, 6), ("medmcqa", 4183, 4182, 2306, 27)],
)
def test_mirage_reads_as_mirage_read(shared, name, n, agree, right, empty):
    outcomes, agreed, by_column = Counter(), 0, 0
    judge = EXTRACTORS["mirage/1"].grade_reply
    for line, item, reply in rows(shared, name):
        reading = judge(item, reply, kind="choices")
        agreed += reading.answer == line["mirage_parsed"]
        by_column += line["mirage_parsed"] == line["gold"]
        outcomes[reading.outcome] += 1
        assert reading.score is not None, "the denominator is all that were asked"
    assert outcomes.total() == n and outcomes[Outcome.NO_ANSWER] == empty
    assert agreed >= agree and by_column == right
    assert abs(outcomes[Outcome.CORRECT] - right) <= n - agree


@pytest.mark.slow
@pytest.mark.parametrize("ladder", ["proctor/1", "proctor/2"])
@pytest.mark.parametrize(("name", "share"), [("medqa", 0.644), ("medmcqa", 0.528)])
def test_the_ladder_differs_only_where_mirage_guessed_or_the_reply_is_open(shared, name, share, ladder):
    """Whatever the ladder reads is what MIRAGE read, but for replies that MIRAGE took by its fallback or first word."""
    right, n, unread, other = 0, 0, 0, []
    judge = EXTRACTORS[ladder].grade_reply
    for line, item, reply in rows(shared, name):
        reading = judge(item, reply, kind="choices")
        n += 1
        right += reading.outcome is Outcome.CORRECT
        unread += reading.answer is None
        if reading.answer not in (None, line["mirage_parsed"]):
            other.append((line["id"], reading.answer, line["mirage_parsed"], reply.text[-160:]))
    assert right / n == pytest.approx(share, abs=0.005), (right, n, unread)
    assert len(other) <= n // 100, other[:20]


def test_an_empty_reply_is_wrong_and_counted(shared):
    item = Item("t/0", "t", Chat((Message("user", "?"),)), Gold("A"), choices=("w", "x", "y", "z"))
    reading = EXTRACTORS["mirage/1"].grade_reply(item, Reply(" \n"), kind="choices")
    assert (reading.outcome, reading.answer, reading.score) == (Outcome.NO_ANSWER, None, 0.0)


@pytest.mark.parametrize("name", ["mirage/1", "proctor/2"])
@pytest.mark.parametrize(
    ("text", "label"),
    [
        ('{"step_by_step_thinking": "two trials agree", "answer_choice": "A"}', "yes"),
        ('{"step_by_step_thinking": "no effect was seen", "answer_choice": "B"}', "no"),
        ('{"answer_choice": "C. maybe"}', "maybe"),
        ("B", "no"),
        ("A. yes", "yes"),
    ],
)
def test_lettered_replies_to_pubmedqa_are_read_as_its_labels(name, text, label):
    item = Item("p/0", "pubmedqa", Chat((Message("user", "?"),)), Gold.of(label))
    reading = EXTRACTORS[name].grade_reply(
        item, Reply(text), kind="labels", vocabulary=vocabulary(PUBMEDQA.labels)
    )
    assert (reading.outcome, reading.answer, reading.score) == (Outcome.CORRECT, label, 1.0)
