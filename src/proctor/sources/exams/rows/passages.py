"""MultiRC and ReCoRD as rows: questions with several right answers, and blanks that an entity fills."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proctor.errors import DataError
from proctor.sources.exams.rows.labels import Record, hidden, letter, text, whole
from proctor.sources.exams.rows.normal_form import Row

MOST_LETTERS = 26
BLANK = "@placeholder"


def multirc_answers(where: str, nested: Mapping[str, Any]) -> Iterator[Record]:
    """The answers of one official line, which holds a paragraph with all its questions, as the hub lists them."""
    passage = nested.get("passage")
    if not isinstance(passage, dict) or not isinstance(passage.get("questions"), list):
        raise DataError(f"{where}: no passage with questions")
    for question in passage["questions"]:
        if not isinstance(question, dict) or not isinstance(question.get("answers"), list):
            raise DataError(f"{where}: a question without answers")
        for answer in question["answers"]:
            if not isinstance(answer, dict):
                raise DataError(f"{where}: an answer that is not an object")
            idx = {"paragraph": nested.get("idx"), "question": question.get("idx")}
            yield (
                where,
                {
                    "paragraph": passage.get("text"),
                    "question": question.get("question"),
                    "answer": answer.get("text"),
                    "label": answer.get("label"),
                    "idx": {**idx, "answer": answer.get("idx")},
                },
            )


def multirc_rows(records: Sequence[Record]) -> list[Row]:
    """One row a question from records of one answer each. Raises: DataError."""
    questions: dict[tuple[int, int], list[Record]] = {}
    for where, record in records:
        place = _place(record, ("paragraph", "question"), where)
        questions.setdefault(place, []).append((where, record))
    return [_multirc_row(place, answers) for place, answers in questions.items()]


def _multirc_row(place: tuple[int, int], answers: Sequence[Record]) -> Row:
    where, first = answers[0]
    if len(answers) > MOST_LETTERS:
        raise DataError(f"{where}: a question with {len(answers)} answers; {MOST_LETTERS} have letters")
    labels = [record.get("label") for _, record in answers]
    unknown = [hidden(given) for given in labels]
    if any(unknown) != all(unknown):
        raise DataError(f"{where}: some answers of question {place[1]} have a label and some have none")
    target = None
    if not all(unknown):
        right = [letter(i) for i, given in enumerate(labels) if _is_right(given, answers[i][0])]
        target = ",".join(right) or "none"
    fields = {
        "paragraph": text(first, ("paragraph",), where),
        "question": text(first, ("question",), where),
        "choices": [text(record, ("answer",), at) for at, record in answers],
    }
    return Row(f"multirc/{place[0]}-{place[1]}", "multirc", target, fields)


def _is_right(given: object, where: str) -> bool:
    word = str(given).lower()
    if word not in ("0", "1", "true", "false"):
        raise DataError(f"{where}: the label is {given!r}; it has to be 0 or 1")
    return word in ("1", "true")


def record_queries(where: str, nested: Mapping[str, Any]) -> Iterator[Record]:
    """The queries of one official line, which holds a passage with all its queries, as the hub lists them."""
    passage, queries = nested.get("passage"), nested.get("qas")
    if not isinstance(passage, dict) or not isinstance(queries, list):
        raise DataError(f"{where}: no passage with queries")
    body = text(passage, ("text",), where)
    spans = passage.get("entities")
    if not isinstance(spans, list) or not all(isinstance(span, dict) for span in spans):
        raise DataError(f"{where}: the passage has no list of entities")
    named = [{**span, "text": _cut(body, span, where)} for span in spans]
    for query in queries:
        if not isinstance(query, dict):
            raise DataError(f"{where}: a query that is not an object")
        answers = query.get("answers") or []
        if not isinstance(answers, list):
            raise DataError(f"{where}: answers are no list")
        yield (
            where,
            {
                "passage": body,
                "query": query.get("query"),
                "entity_spans": named,
                "answers": [text(answer, ("text",), where) for answer in answers],
                "idx": {"passage": nested.get("idx"), "query": query.get("idx")},
            },
        )


def _cut(body: str, span: object, where: str) -> str:
    """The text of an entity: `end` is the place of its last character."""
    if not isinstance(span, dict):
        raise DataError(f"{where}: an entity that is not an object")
    start, end = whole(span.get("start"), "start", where), whole(span.get("end"), "end", where)
    if not start <= end < len(body):
        raise DataError(f"{where}: an entity from {start} to {end} in a passage of {len(body)} characters")
    return body[start : end + 1]


def record_rows(records: Sequence[Record]) -> list[Row]:
    """One row a query. Raises: DataError."""
    rows = []
    for where, record in records:
        entities = _entities(record, where)
        known = {name: place for place, name in enumerate(entities)}
        golds = list(dict.fromkeys(record.get("answers") or []))
        # The hub's lists come out of sets: the order of the passage makes both copies the same.
        golds.sort(key=lambda gold: known.get(gold, len(known)))
        query = text(record, ("query",), where)
        if BLANK not in query:
            raise DataError(f"{where}: the query has no {BLANK}")
        passage, number = _place(record, ("passage", "query"), where)
        fields = {"passage": text(record, ("passage",), where), "query": query, "entities": entities}
        rows.append(
            Row(
                f"record/{passage}-{number}",
                "record",
                golds[0] if golds else None,
                fields,
                tuple(golds[1:]),
            )
        )
    return rows


def _entities(record: Mapping[str, Any], where: str) -> list[str]:
    """The texts of the entities, each once, in order of appearance."""
    spans = record.get("entity_spans")
    if isinstance(spans, dict):  # the hub's columns: one list for each part of a span
        columns = [spans.get(name) for name in ("text", "start")]
        if not all(isinstance(column, list) for column in columns):
            raise DataError(f"{where}: entity_spans lacks text or start")
        spans = [{"text": t, "start": s} for t, s in zip(*columns, strict=True)]
    if not isinstance(spans, list) or not spans:
        raise DataError(f"{where}: no entity_spans")
    ordered = sorted(spans, key=lambda span: whole(span.get("start"), "start", where))
    return list(dict.fromkeys(text(span, ("text",), where) for span in ordered))


def _place(record: Mapping[str, Any], names: tuple[str, str], where: str) -> tuple[int, int]:
    idx = record.get("idx")
    if not isinstance(idx, dict):
        raise DataError(f"{where}: no idx that says which {names[0]} and {names[1]} this is")
    return whole(idx.get(names[0]), names[0], where), whole(idx.get(names[1]), names[1], where)
