"""A row as it is asked: its prompt, its options, its hash, and how right and wrong answers are written."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise
from string import ascii_uppercase

import orjson

from proctor.grading.formats import AnswerFormat
from proctor.grading.texts import squad
from proctor.sources.exams.prompts.form import Shot, Writer
from proctor.sources.exams.rows.normal_form import Row
from proctor.sources.exams.tables.shapes import Task
from proctor.types import Chat, Gold, Item, Message

# Where a row holds the choices that its answers are taken from.
CHOICES: Mapping[AnswerFormat, str] = {"choices": "choices", "letters": "choices", "entity": "entities"}
NUMBERED = re.compile(r"(\d+)$")


def to_item(row: Row, task: Task, writer: Writer, shots: Sequence[Shot] = ()) -> Item:
    """The row in the words of this writer."""
    prompt = writer.render(row.fields, shots)
    choices = tuple(row.fields[CHOICES[task.kind]]) if task.kind in CHOICES else ()
    return Item(
        id=row.id,
        group=row.task,
        ask=Chat(prompt),
        gold=Gold.of(row.target, row.aliases),
        choices=choices,
        options=options_of(task, choices),
        cluster=cluster_of(row, task),
        hash=item_hash(prompt, choices, row.target, row.aliases),
    )


def options_of(task: Task, choices: Sequence[str]) -> tuple[str, ...]:
    """Every answer that may be given, as it is to be written; empty where they cannot be listed."""
    if task.kind == "labels":
        return tuple(label.shown for label in task.labels)
    if task.kind == "choices":
        return tuple(ascii_uppercase[: len(choices)])
    return tuple(choices) if task.kind == "entity" else ()


def cluster_of(row: Row, task: Task) -> str | None:
    if row.cluster is not None:
        return row.cluster
    if task.paired:
        number = NUMBERED.search(row.id)
        return f"pair {int(number[1]) // 2}" if number else None
    return short_hash(str(row.fields[task.cluster])) if task.cluster else None


def item_hash(
    prompt: Sequence[Message], choices: Sequence[str], target: str | None, aliases: Sequence[str]
) -> str:
    """32 hex digits of the SHA-256 over what the model is shown and what is right."""
    shown = [[message.role, message.content] for message in prompt]
    return hashlib.sha256(orjson.dumps([shown, choices, target, aliases])).hexdigest()[:32]


def short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def written(task: Task, target: str) -> str:
    """A target as a model is asked to write it.

    A label by its shown word, letters with ", " between them, anything else as it stands.
    """
    if task.kind == "labels":
        return next((label.shown for label in task.labels if label.name == target), target)
    return target.replace(",", ", ") if task.kind == "letters" else target


def other_answers(task: Task, item: Item) -> tuple[str, ...]:
    """Wrong answers as they are written; none for free text, where the row does not tell."""
    return OTHERS[task.kind](task, item) if task.kind in OTHERS else ()


def other_options(task: Task, item: Item) -> tuple[str, ...]:
    right = {written(task, target) for target in item.accepted}
    return tuple(option for option in item.options if option not in right)


def other_sets(task: Task, item: Item) -> tuple[str, ...]:
    """The complement, the sets of one letter, the pairs of neighbours, all, and none, without the right one."""
    letters = ascii_uppercase[: len(item.choices)]
    right = set((item.target or "").split(",")) & set(letters)
    complement = [letter for letter in letters if letter not in right]
    sets = [complement, *combinations(letters, 1), *pairwise(letters), letters]
    said = ["none" if not one else ", ".join(one) for one in sets]
    return tuple(text for text in dict.fromkeys([*said, "none"]) if text != written(task, item.target or ""))


def other_numbers(task: Task, item: Item) -> tuple[str, ...]:
    """Numbers from 0 to 5, each at least 1 away from the right one; the first ones 1.5."""
    right = float(item.target or 0)
    near = [min(5.0, max(0.0, right + step)) for step in (1.5, -1.5)]
    far = [number for number in (*near, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0) if abs(number - right) >= 1]
    return tuple(dict.fromkeys(f"{number:.3f}".rstrip("0").rstrip(".") for number in far))


def other_entities(task: Task, item: Item) -> tuple[str, ...]:
    right = {squad(text) for text in item.accepted}
    return tuple(dict.fromkeys(name for name in item.choices if squad(name) not in right))


OTHERS: Mapping[AnswerFormat, Callable[[Task, Item], tuple[str, ...]]] = {
    "labels": other_options,
    "choices": other_options,
    "letters": other_sets,
    "number": other_numbers,
    "entity": other_entities,
}
