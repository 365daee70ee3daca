"""GLUE's tables of tab-separated cells: which task a table is, and its rows.

Columns decide; the names of file and folder decide where columns are the same (RTE, WNLI and AX; CoLA
and the headless part of WNLI). Quotes mean nothing in these files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from proctor.errors import DataError
from proctor.sources.exams.official.archives import ArchiveListing, Member
from proctor.sources.exams.official.text import (
    NO_FORMAT,
    Outcome,
    Parsed,
    decoded,
    folder_words,
    has_gaps,
    indices,
    located,
    split_named,
    tab_lines,
)
from proctor.sources.exams.rows.forms import to_rows
from proctor.sources.exams.rows.labels import given_label, hidden

Lines = list[tuple[int, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class TableShape:
    """A task's table: the columns that tell it, how they are named in records, the column of indices."""

    task: str
    tells: frozenset[str]
    renamed: Mapping[str, str]
    index: str | None = "index"


TABLES: tuple[TableShape, ...] = (
    TableShape(
        "mrpc",
        frozenset({"#1 String", "#2 String"}),
        {"#1 String": "sentence1", "#2 String": "sentence2", "Quality": "label"},
        None,
    ),
    TableShape("qqp", frozenset({"question1", "question2"}), {"is_duplicate": "label"}, None),
    TableShape("stsb", frozenset({"old_index", "sentence1", "sentence2"}), {}),
    # The many annotators' labels are left alone: gold_label is what they agreed on.
    TableShape(
        "mnli",
        frozenset({"index", "promptID", "pairID", "sentence1", "sentence2"}),
        {"sentence1": "premise", "sentence2": "hypothesis", "gold_label": "label"},
    ),
    TableShape("mnli", frozenset({"index", "premise", "hypothesis", "gold_label"}), {"gold_label": "label"}),
    TableShape("qnli", frozenset({"question", "sentence"}), {}),
    TableShape(
        "ax",
        frozenset({"Premise", "Hypothesis"}),
        {"Premise": "premise", "Hypothesis": "hypothesis", "Label": "label"},
        None,
    ),
)
SENTENCE_PAIR = frozenset({"index", "sentence1", "sentence2"})
PAIR_NAMES: Mapping[str, str] = {"rte": "rte", "wnli": "wnli", "ax": "ax", "diagnostic": "ax"}
AX_COLUMNS: Mapping[str, str] = {"sentence1": "premise", "sentence2": "hypothesis"}
WORDS = frozenset({"entailment", "not_entailment"})
PARAPHRASES = "msr_paraphrase_train.txt"
PARAPHRASE_TEST = "msr_paraphrase_test.txt"
DEV_IDS = ("dev_ids.tsv", "mrpc_dev_ids.tsv")
MOST_BROKEN = 10  # lines of QQP's train file that broke in the making; more are a damaged file


def read_table(entry: Member, found: ArchiveListing) -> Outcome:
    """The rows of a table of GLUE, or the reason to skip it. Raises: DataError."""
    base = PurePosixPath(entry.name).name.lower()
    if base in DEV_IDS:
        beside = found.beside(entry, PARAPHRASES)
        return [] if beside else f"the ids of MRPC's dev pairs; {PARAPHRASES} is not beside it"
    if base == PARAPHRASE_TEST:
        return "MRPC's test pairs, which GLUE does not score; its dev.tsv is the evaluation"
    body = entry.read()
    if b"\t" not in body.split(b"\n", 1)[0]:
        return NO_FORMAT
    lines = tab_lines(body, entry.name)
    header = lines[0][1]
    around = folder_words(entry, found)
    if base == PARAPHRASES:
        return paraphrases(entry, found, records(entry, MRPC, lines)[0])
    if headless := headless_task(header, around):
        return headless_rows(entry, headless, lines)
    table = table_of(header, lines, around)
    return table if isinstance(table, str) else rows_of(entry, table, lines)


def table_of(
    header: Sequence[str], lines: Sequence[tuple[int, list[str]]], around: set[str]
) -> TableShape | str:
    """Which table the columns make, or why it is none of ours."""
    columns = set(header)
    for table in TABLES:
        if table.tells <= columns:
            return table
    if {"captionID", "gold_label"} <= columns:
        return "SNLI, which is no task of GLUE's"
    if {"promptID", "pairID"} <= columns:
        return "MultiNLI as its authors publish it; GLUE's dev_matched.tsv and dev_mismatched.tsv are asked"
    if columns >= SENTENCE_PAIR:
        return pair_table(header, lines, around)
    if columns == {"sentence", "label"}:
        return TableShape("cola" if "cola" in around else "sst2", frozenset(), {}, None)
    if columns == {"index", "sentence"}:
        return "sentences without answers (the hidden test split)"
    return f"a table of no known set (columns {', '.join(list(header)[:6])})"


def pair_table(
    header: Sequence[str], lines: Sequence[tuple[int, list[str]]], around: set[str]
) -> TableShape | str:
    """RTE, WNLI and AX have the same columns: their labels tell them, else the names around the file."""
    named = next((task for word, task in PAIR_NAMES.items() if word in around), None)
    if "label" not in header:
        if named == "ax":
            return TableShape("ax", frozenset(), AX_COLUMNS)
        return "sentence pairs without answers (the hidden test split)"
    place = list(header).index("label")
    labels = {cells[place] for _, cells in lines[1:] if len(cells) > place and not hidden(cells[place])}
    told = "wnli" if labels <= {"0", "1"} else "rte" if labels <= WORDS else "ax"
    if not labels:
        told = named or "rte"
    if named is not None and named != told:
        return f"the names say {named}, the labels ({', '.join(sorted(labels)[:4])}) say {told}"
    return TableShape(told, frozenset(), AX_COLUMNS if told == "ax" else {})


def headless_task(first: Sequence[str], around: set[str]) -> str | None:
    """CoLA has no header, and neither has one part of a WNLI that was cut in two."""
    if len(first) != 4:
        return None
    if first[1] in ("0", "1") and first[2] in ("", "*"):
        return "cola"
    if first[0].isdecimal() and first[3] in ("0", "1") and "wnli" in around:
        return "wnli"
    return None


COLUMNS_HEADLESS: Mapping[str, list[str]] = {
    "cola": ["source", "label", "mark", "sentence"],
    "wnli": ["index", "sentence1", "sentence2", "label"],
}
MRPC = TABLES[0]


def headless_rows(entry: Member, task: str, lines: list[tuple[int, list[str]]]) -> Outcome:
    if "domain" in PurePosixPath(entry.name).name.lower():
        return "one half of CoLA as its authors cut it; GLUE's dev.tsv and train.tsv hold both"
    table = TableShape(task, frozenset(), {}, "index" if task == "wnli" else None)
    return rows_of(entry, table, [(0, COLUMNS_HEADLESS[task]), *lines])


def rows_of(entry: Member, table: TableShape, lines: list[tuple[int, list[str]]]) -> Outcome:
    """The rows of a table whose first line names the columns."""
    split, half = split_and_half(entry, table)
    if split == "test":
        return f"the test split of {table.task}; its answers are hidden, and the dev split is the evaluation"
    if split is None:
        return f"{table.task}, but the name does not say which split: dev.tsv or train.tsv"
    named, notes = records(entry, table, lines)
    if table.task != "ax" and all(hidden(answer(row)) for _, row in named):
        return f"{table.task} without answers (the hidden test split)"
    _no_gaps_in_answers(entry, table.task, named)
    places = indices(entry.name, named, table.index) if table.index else list(range(len(named)))
    rows = to_rows(table.task, located(entry.name, named), places, half=half)
    partial = half is not None or has_gaps(places)
    return [Parsed(table.task, split, tuple(rows), (entry.name,), partial, notes)]


def answer(row: Mapping[str, Any]) -> object:
    return row["score"] if "score" in row else given_label(row)


def _no_gaps_in_answers(entry: Member, task: str, named: Lines) -> None:
    if task == "ax":
        return
    for number, row in named:
        if hidden(answer(row)):
            raise DataError(f"{entry.name}, line {number}: the answer is {answer(row)!r}, others have one")


def split_and_half(entry: Member, table: TableShape) -> tuple[str | None, str | None]:
    """Our split, and for the evaluation of MNLI its half."""
    base = PurePosixPath(entry.name).name.lower()
    if table.task == "ax":
        return "eval", None
    if table.task != "mnli":
        return split_named(base), None
    if "development" in base:  # the matched rows as published with how many models had them right
        return "eval", "m"
    split = split_named(base)
    if "test" in base:
        return "test", None
    return split, ("mm" if "mismatched" in base else "m") if split == "eval" else None


def records(
    entry: Member, table: TableShape, lines: list[tuple[int, list[str]]]
) -> tuple[Lines, tuple[str, ...]]:
    """The lines as records by column. Raises: DataError for a line with too few or too many cells."""
    (_, header), *body = lines
    names = [table.renamed.get(column, column) for column in header]
    named: Lines = []
    broken = []
    for number, cells in body:
        if len(cells) == len(names):
            named.append((number, dict(zip(names, cells, strict=True))))
        else:
            broken.append((number, len(cells)))
    if not named and not broken:
        raise DataError(f"{entry.name}: there are no rows below the header")
    if not broken:
        return named, ()
    number, found = broken[0]
    if table.task != "qqp" or len(broken) > MOST_BROKEN:
        raise DataError(f"{entry.name}, line {number}: {found} cells; the header names {len(names)}")
    # The published file has such lines: questions with a line break inside.
    at = ", ".join(str(number) for number, _ in broken)
    return named, (f"{entry.name}: {len(broken)} broken lines were left out ({at}).",)


def paraphrases(entry: Member, found: ArchiveListing, named: Lines) -> Outcome:
    """MRPC from its authors: GLUE's list of ids says which pairs of the train file are its dev split."""
    ids = next((beside for name in DEV_IDS if (beside := found.beside(entry, name))), None)
    if ids is None:
        return f"MRPC's train pairs; {DEV_IDS[0]} of GLUE is missing beside it, which says which are the dev split"
    chosen = {tuple(line.split()) for line in decoded(ids.read(), ids.name).splitlines() if line.strip()}
    parsed = []
    for split, wanted in (("eval", True), ("dev", False)):
        mine = [line for line in named if ((line[1]["#1 ID"], line[1]["#2 ID"]) in chosen) is wanted]
        rows = to_rows("mrpc", located(entry.name, mine), range(len(mine)))
        parsed.append(Parsed("mrpc", split, tuple(rows), (entry.name, ids.name)))
    return parsed
