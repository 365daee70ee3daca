"""Examples that the tests of the ladder share: options, labels, and short ways to read a text."""

from __future__ import annotations

from proctor.grading.extractors import EXTRACTORS
from proctor.grading.formats import Label
from proctor.grading.vocabulary import vocabulary
from proctor.sources.exams.tables.exams import PUBMEDQA
from proctor.sources.exams.tables.superglue import BOOLQ
from proctor.types import Chat, Item, Message, Reply

CHOICES = ("Vitamin C", "Iron deficiency anaemia", "Hepatitis B", "Hepatitis B and C")
YES_NO = vocabulary(BOOLQ.labels)
YES_NO_MAYBE = vocabulary(PUBMEDQA.labels)
ACCEPTABLE = vocabulary((Label("acceptable"), Label("unacceptable", ("not acceptable",))))
EQUIVALENT = vocabulary((Label("equivalent"), Label("not_equivalent")))


LADDERS = {name: EXTRACTORS[name].grade_reply for name in ("proctor/1", "proctor/2")}


def read_answer(reply, *, kind, vocabulary=None, choices=(), ladder="proctor/1"):
    """The answer that the ladder reads and the rung that found it, of an item without a target."""
    item = Item("t/0", "t", Chat((Message("user", "?"),)), choices=tuple(choices))
    reading = LADDERS[ladder](item, reply, kind=kind, vocabulary=vocabulary)
    return reading.answer, reading.rung


def choice(text, choices=CHOICES, ladder="proctor/1", **more):
    return read_answer(Reply(text, **more), kind="choices", choices=choices, ladder=ladder)


def label(text, words=YES_NO, ladder="proctor/1", **more):
    return read_answer(Reply(text, **more), kind="labels", vocabulary=words, ladder=ladder)


def free(text, ladder="proctor/1", **more):
    return read_answer(Reply(text, **more), kind="text", ladder=ladder)


NOTHING = (None, None)
