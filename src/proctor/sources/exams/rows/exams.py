"""Exam questions as rows: MMLU, MedQA, MedMCQA and PubMedQA, from files and from the hub's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from proctor.errors import DataError
from proctor.sources.exams.rows.labels import Record, hidden, letter, text, texts, whole
from proctor.sources.exams.rows.normal_form import Row

DECISIONS = frozenset({"yes", "no", "maybe"})
ENDINGS = tuple(f"ending{n}" for n in range(5))
OPTIONS = ("opa", "opb", "opc", "opd")


def mmlu_rows(subject: str, records: Sequence[Record]) -> list[Row]:
    """The hub's rows of one subject: `answer` is the number of the right choice."""
    rows = []
    for index, (where, record) in enumerate(records):
        choices = texts(record.get("choices"), where, "choices", least=4)
        answer = whole(record.get("answer"), "answer", where)
        if len(choices) != 4 or answer > 3:
            raise DataError(f"{where}: answer {answer} of {len(choices)} choices; it has to be 0 to 3 of 4")
        fields = {"subject": subject, "question": text(record, ("question",), where), "choices": choices}
        rows.append(Row(f"{subject}/{index}", subject, letter(answer), fields))
    return rows


def medqa_rows(records: Sequence[Record], places: Sequence[int]) -> list[Row]:
    """The authors' lines (options by letter), or the GBaker copy's (sent1, ending0 to 3, label)."""
    rows = []
    for (where, record), index in zip(records, places, strict=True):
        read = _medqa_endings if "ending0" in record else _medqa_options
        choices, target = read(record, where)
        rows.append(
            Row(
                f"medqa/{index}",
                "medqa",
                target,
                {"question": _medqa_question(record, where), "choices": choices},
            )
        )
    return rows


def _medqa_question(record: Mapping[str, Any], where: str) -> str:
    question = text(record, ("question", "sent1"), where)
    more = record.get("sent2")
    return f"{question} {more}" if isinstance(more, str) and more.strip() else question


def _medqa_options(record: Mapping[str, Any], where: str) -> tuple[list[str], str]:
    options = record.get("options")
    if not isinstance(options, dict) or len(options) not in (4, 5):
        raise DataError(f"{where}: 'options' does not hold 4 or 5 choices by letter")
    letters = [letter(place) for place in range(len(options))]
    if sorted(options) != letters:
        raise DataError(f"{where}: the options are {', '.join(sorted(options))}, not {', '.join(letters)}")
    choices = [text(options, (each,), where) for each in letters]
    target = record.get("answer_idx")
    if target not in letters:
        raise DataError(f"{where}: answer_idx is {target!r}; it has to be one of {', '.join(letters)}")
    answer = record.get("answer")
    if answer is not None and answer != options[target]:
        raise DataError(f"{where}: the answer is {answer!r}, but option {target} is {options[target]!r}")
    return choices, str(target)


def _medqa_endings(record: Mapping[str, Any], where: str) -> tuple[list[str], str]:
    choices = [text(record, (name,), where) for name in ENDINGS if name in record]
    place = whole(record.get("label"), "label", where)
    if len(choices) not in (4, 5) or place >= len(choices):
        raise DataError(f"{where}: label {place} of {len(choices)} endings")
    return choices, letter(place)


def medmcqa_rows(records: Sequence[Record], counts_from: Literal[0, 1]) -> list[Row]:
    """Rows under their own ids; `cop` counts the choices from 0 in the hub's copy, from 1 in the authors'."""
    rows: list[Row] = []
    seen: dict[str, str] = {}
    for where, record in records:
        own = text(record, ("id",), where)
        if own in seen:
            raise DataError(f"{where}: the id {own} stands in {seen[own]} too")
        seen[own] = where
        cop = record.get("cop")
        target = None
        if not hidden(cop):
            place = whole(cop, "cop", where) - counts_from
            if not 0 <= place < len(OPTIONS):
                raise DataError(f"{where}: cop is {cop}; it has to be {counts_from} to {counts_from + 3}")
            target = letter(place)
        fields = {
            "question": text(record, ("question",), where),
            "choices": [text(record, (name,), where) for name in OPTIONS],
        }
        rows.append(Row(f"medmcqa/{own}", "medmcqa", target, fields))
    return rows


def pubmedqa_row(pmid: str, question: object, contexts: object, decision: object, where: str) -> Row:
    """A labelled article; its conclusion is never shown."""
    if not isinstance(question, str) or not isinstance(contexts, list) or not contexts:
        raise DataError(f"{where}: QUESTION or CONTEXTS is missing")
    if not all(isinstance(part, str) for part in contexts):
        raise DataError(f"{where}: CONTEXTS holds something that is not text")
    if decision not in DECISIONS:
        raise DataError(f"{where}: final_decision is {decision!r}; it has to be yes, no or maybe")
    return Row(f"pubmedqa/{pmid}", "pubmedqa", str(decision), {"question": question, "contexts": contexts})


def pubmedqa_rows(records: Sequence[Record]) -> list[Row]:
    """The hub's labelled articles, all of them."""
    rows = []
    for where, record in records:
        context = record.get("context")
        contexts = context.get("contexts") if isinstance(context, dict) else None
        rows.append(
            pubmedqa_row(
                str(record.get("pubid")),
                record.get("question"),
                contexts,
                record.get("final_decision"),
                where,
            )
        )
    return rows
