"""MedQA, MedMCQA and PubMedQA as their authors publish them: how each is recognised, and its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Literal

import orjson

from proctor.errors import DataError
from proctor.sources.exams.official.archives import ArchiveListing, Member
from proctor.sources.exams.official.text import (
    BOM,
    Outcome,
    Parsed,
    folder_words,
    json_lines,
    located,
    split_named,
)
from proctor.sources.exams.rows.exams import medmcqa_rows, medqa_rows, pubmedqa_row
from proctor.sources.exams.rows.labels import hidden
from proctor.sources.exams.rows.normal_form import Row

TRUTH = "test_ground_truth.json"
LABELLED = "ori_pqal.json"
# MedQA is scored on its test split, the others of this kind on their dev split.
MEDQA_SPLITS: Mapping[str, str] = {"test": "eval", "dev": "dev", "eval": "val"}
OTHER_LANGUAGES: Mapping[str, str] = {"mainland": "Mainland China's", "taiwan": "Taiwan's"}


def medical_task(first: Mapping[str, Any]) -> str | None:
    """The task that the first row's keys tell."""
    if {"question", "options"} <= first.keys() or {"sent1", "ending0", "ending3"} <= first.keys():
        return "medqa"
    return "medmcqa" if {"opa", "opb", "opc", "opd"} <= first.keys() else None


def read_medqa(entry: Member, body: bytes, task: str, found: ArchiveListing) -> Outcome:
    """The United States' questions with 4 or 5 options. Raises: DataError."""
    around = folder_words(entry, found)
    if language := next((text for word, text in OTHER_LANGUAGES.items() if word in around), None):
        return f"{language} questions of MedQA; the suite asks the United States' ones"
    split = MEDQA_SPLITS.get(split_named(entry.name) or "")
    if split is None:
        return "MedQA, but the name does not say which split: train, dev or test"
    lines = json_lines(entry.name, body)
    rows = medqa_rows(located(entry.name, lines), range(len(lines)))
    widths = {len(row.fields["choices"]) for row in rows}
    if len(widths) > 1:
        raise DataError(f"{entry.name}: questions with 4 options and questions with 5 are two sets")
    return [Parsed("medqa", split, tuple(rows), (entry.name,))]


def read_medmcqa(entry: Member, body: bytes, task: str, found: ArchiveListing) -> Outcome:
    """MedMCQA; `cop` counts from 1 in the authors' files, from 0 in copies of the hub's. Raises: DataError."""
    lines = json_lines(entry.name, body)
    split = split_named(entry.name)
    if split == "test" or all(hidden(row.get("cop")) for _, row in lines):
        return "MedMCQA without answers (the hidden test split)"
    if split is None:
        return "MedMCQA, but the name does not say which split: dev.json or train.json"
    rows = medmcqa_rows(located(entry.name, lines), counts_from(entry.name, lines))
    if silent := next((row for row in rows if row.target is None), None):
        raise DataError(f"{entry.name}: question {silent.id} has no cop, others have one")
    return [Parsed("medmcqa", split, tuple(rows), (entry.name,))]


def counts_from(name: str, lines: Sequence[tuple[int, Mapping[str, Any]]]) -> Literal[0, 1]:
    """Whether `cop` counts the four options from 0 or from 1, told by all rows. Raises: DataError."""
    for _, row in lines:
        cop = row.get("cop")
        counts = isinstance(cop, int) and not isinstance(cop, bool) and 0 <= cop <= 4
        if cop is not None and not counts:  # a row without one is told by its id
            raise DataError(f"{name}: cop is {cop!r}; it has to be a number from 0 to 4")
    given = {row.get("cop") for _, row in lines}
    if {0, 4} <= given:
        raise DataError(f"{name}: cop is 0 in some rows and 4 in others; four options are 0 to 3 or 1 to 4")
    if not given & {0, 4}:
        raise DataError(
            f"{name}: cop is never 0 and never 4, so the rows do not tell whether it counts the options "
            "from 0 or from 1; import the whole official file"
        )
    return 0 if 0 in given else 1


def read_truth(entry: Member, found: ArchiveListing) -> Outcome:
    """The official test ids are read with the articles beside them."""
    beside = found.beside(entry, LABELLED)
    return [] if beside else f"the official test ids of PubMedQA; {LABELLED} is not beside it"


def read_pubmedqa(entry: Member, found: ArchiveListing) -> Outcome:
    """The labelled articles: those of the official test ids are the evaluation, the others dev."""
    beside = found.beside(entry, TRUTH)
    if beside is None:
        return f"{TRUTH} is missing beside it; it says which 500 articles are the official test"
    articles = json_object(entry.name, entry.read())
    truth = json_object(beside.name, beside.read())
    rows = [article_row(pmid, article, entry.name) for pmid, article in articles.items()]
    test, rest = by_truth(rows, truth, entry.name, beside.name)
    source = (entry.name, beside.name)
    return [Parsed("pubmedqa", "eval", test, source), Parsed("pubmedqa", "dev", rest, source)]


def by_truth(
    rows: Sequence[Row], truth: Mapping[str, Any], rows_name: str, truth_name: str
) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """The rows of the official test, and the others. Raises: DataError where ids or answers disagree."""
    known = {row.id.partition("/")[2]: row for row in rows}
    if strangers := sorted(truth.keys() - known.keys()):
        raise DataError(f"{truth_name}: article {strangers[0]} is not in {rows_name}")
    for pmid, decision in truth.items():
        if known[pmid].target != decision:
            raise DataError(
                f"{truth_name}: article {pmid} is {decision!r}, in {rows_name} {known[pmid].target!r}"
            )
    test = tuple(row for pmid, row in known.items() if pmid in truth)
    return test, tuple(row for pmid, row in known.items() if pmid not in truth)


def json_object(name: str, body: bytes) -> dict[str, Any]:
    try:
        parsed = orjson.loads(body.removeprefix(BOM))
    except orjson.JSONDecodeError as error:
        raise DataError(f"{name}, line {error.lineno}: not JSON ({error.msg})") from None
    if not isinstance(parsed, dict) or not parsed:
        raise DataError(f"{name}: not a JSON object by article number")
    return parsed


def article_row(pmid: str, article: Any, name: str) -> Row:
    where = f"{name}: article {pmid}"
    if not isinstance(article, dict):
        raise DataError(f"{where}: not a JSON object")
    question, contexts = article.get("QUESTION"), article.get("CONTEXTS")
    return pubmedqa_row(pmid, question, contexts, article.get("final_decision"), where)


def is_articles(first: Mapping[str, Any]) -> bool:
    return any(isinstance(value, dict) and "CONTEXTS" in value for value in first.values())


def base_name(entry: Member) -> str:
    return PurePosixPath(entry.name).name.lower()
