"""From records as they are published to rows in the normal form: which function reads which task.

A record is a line of an official file or a row of the hub's; the two differ little, and both end here, so
that an imported copy and the hub's give the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proctor.errors import DataError
from proctor.sources.exams.rows.labels import Read, Record, hidden, label, text, whole
from proctor.sources.exams.rows.normal_form import Row

# Our field -> the names it has in published records; the first that is there is taken.
FIELDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "cola": {"sentence": ("sentence",)},
    "sst2": {"sentence": ("sentence",)},
    "mrpc": {"sentence1": ("sentence1",), "sentence2": ("sentence2",)},
    "qqp": {"question1": ("question1",), "question2": ("question2",)},
    "stsb": {"sentence1": ("sentence1",), "sentence2": ("sentence2",)},
    "mnli": {"premise": ("premise", "sentence1"), "hypothesis": ("hypothesis", "sentence2")},
    "ax": {"premise": ("premise", "sentence1"), "hypothesis": ("hypothesis", "sentence2")},
    "qnli": {"question": ("question",), "sentence": ("sentence",)},
    "rte": {"sentence1": ("sentence1", "premise"), "sentence2": ("sentence2", "hypothesis")},
    "wnli": {"sentence1": ("sentence1",), "sentence2": ("sentence2",)},
    "boolq": {"question": ("question",), "passage": ("passage",)},
    "cb": {"premise": ("premise",), "hypothesis": ("hypothesis",)},
    "wic": {"word": ("word",), "sentence1": ("sentence1",), "sentence2": ("sentence2",)},
    "axb": {"sentence1": ("sentence1",), "sentence2": ("sentence2",)},
    "axg": {"premise": ("premise",), "hypothesis": ("hypothesis",)},
}


def fields_of(task: str, where: str, record: Mapping[str, Any]) -> dict[str, Any]:
    return {ours: text(record, theirs, where) for ours, theirs in FIELDS[task].items()}


def plain(task: str, where: str, record: Mapping[str, Any]) -> Read:
    """Texts become fields, the label becomes the target."""
    return label(task, record, where), fields_of(task, where, record)


def stsb(task: str, where: str, record: Mapping[str, Any]) -> Read:
    given = record.get("score", record.get("label"))
    fields = fields_of(task, where, record)
    if hidden(given):
        return None, fields
    try:
        value = float(str(given))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 5:
        raise DataError(f"{where}: the score is {given!r}; it has to be a number from 0 to 5")
    return short_number(value), fields


def short_number(value: float) -> str:
    """At most three decimals and no zeros at the end.

    >>> short_number(3.799999952316284), short_number(5.0), short_number(0.0)
    ('3.8', '5', '0')
    """
    return f"{value:.3f}".rstrip("0").rstrip(".")


def copa(task: str, where: str, record: Mapping[str, Any]) -> Read:
    question = record.get("question")
    if question not in ("cause", "effect"):
        raise DataError(f"{where}: the question is {question!r}; it has to be cause or effect")
    choices = [text(record, (name,), where) for name in ("choice1", "choice2")]
    fields = {"premise": text(record, ("premise",), where), "question": question, "choices": choices}
    return label(task, record, where), fields


SPANS = ("span1_text", "span1_index", "span2_text", "span2_index")


def wsc(task: str, where: str, record: Mapping[str, Any]) -> Read:
    """The spans lie in `target` in the official lines, beside the text in the hub's rows."""
    spans = record.get("target", record)
    if not isinstance(spans, dict):
        raise DataError(f"{where}: the target is not an object with two spans")
    fields: dict[str, Any] = {"text": text(record, ("text",), where)}
    for name in SPANS:
        is_text = name.endswith("_text")
        fields[name] = text(spans, (name,), where) if is_text else whole(spans.get(name), name, where)
    if max(fields["span1_index"], fields["span2_index"]) >= len(fields["text"].split()):
        raise DataError(f"{where}: a span begins after the last word of the text")
    return label(task, record, where), fields


READ: Mapping[str, Callable[[str, str, Mapping[str, Any]], Read]] = {
    **dict.fromkeys(FIELDS, plain),
    "stsb": stsb,
    "copa": copa,
    "wsc": wsc,
}


def to_rows(
    task: str, records: Sequence[Record], places: Sequence[int], *, half: str | None = None
) -> list[Row]:
    """The rows of a task whose records are one row each. Raises: DataError naming the record.

    `half` is that of MNLI, "m" or "mm": it stands in the row, and in its id where the split has both.
    """
    rows = []
    for (where, record), place in zip(records, places, strict=True):
        target, fields = READ[task](task, where, record)
        ident = f"{half}-{place}" if half else str(place)
        if task == "mnli":
            # The train rows are of the matched genres; they are numbered without a half.
            fields["half"] = half or "m"
        rows.append(Row(f"{task}/{ident}", task, target, fields))
    return rows
