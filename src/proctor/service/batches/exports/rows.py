"""What came of batches written out: replies as lines, tables, requests to send again, examples to train on."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, BinaryIO, Literal, get_args

import orjson

from proctor.errors import ConfigError
from proctor.figures import inert
from proctor.interop.batches.written import Shape, written
from proctor.service.batches import labels, results
from proctor.service.batches.exports.examples import TrainingExample, examples
from proctor.service.batches.find.filters import RowFilter
from proctor.service.batches.labels import ReplyLabel
from proctor.service.context import Context
from proctor.service.output.lines import line_of
from proctor.store.read.batches.rows import WholeRow
from proctor.types import Request, Run

Form = Literal["jsonl", "csv", "parquet", "batch", "sft", "dpo", "kto"]
Which = Literal["all", "failures", "golden"]
FORMS: tuple[Form, ...] = get_args(Form)
TRAINING = ("sft", "dpo", "kto")
GOLDEN = ("good", "best", "edited")
AT_ONCE = 500
ROW_GROUP = 10_000


@dataclass(frozen=True, slots=True)
class ExportWish:
    """What is wanted of which rows.

    `which` is all rows, failures alone, or golden ones (labelled good, best or edited); None is what suits the form:
    golden for `sft`, else all. The last three are of examples to train on: without what the model thought, one example
    a prompt, and the share of prompts that is held out.
    """

    form: Form = "jsonl"
    rows: RowFilter = RowFilter()
    which: Which | None = None
    shape: Shape = "openai"
    drop_reasoning: bool = False
    dedupe: bool = False
    hold_out: float = 0.0

    def checked(self) -> ExportWish:
        """Raises ConfigError."""
        if self.form not in FORMS:
            raise ConfigError(f"format {self.form!r}: choose from {', '.join(FORMS)}")
        if self.which is not None and self.which not in get_args(Which):
            raise ConfigError(f"rows {self.which!r}: choose from {', '.join(get_args(Which))}")
        if not 0 <= self.hold_out < 1:
            raise ConfigError("hold-out is a share of the prompts, from 0 to below 1")
        asked = self.drop_reasoning or self.dedupe or self.hold_out
        if asked and self.form not in TRAINING:
            raise ConfigError(
                f"drop-reasoning, dedupe and hold-out are of examples to train on ({', '.join(TRAINING)})"
            )
        if self.form == "dpo" and self.which not in (None, "all"):
            raise ConfigError("dpo takes pairs of labelled replies: leave out which rows")
        self.rows.checked()
        return self

    @property
    def chosen(self) -> Which:
        return self.which or ("golden" if self.form == "sft" else "all")


@dataclass(slots=True)
class ExportCounts:
    """What became of the rows: written, held out, and left out by the reason."""

    written: int = 0
    held_out: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def leave_out(self, why: str) -> None:
        self.left_out[why] = self.left_out.get(why, 0) + 1


@dataclass(frozen=True, slots=True)
class ExportLine:
    """One line of the export, and whether it is of the held-out share."""

    line: bytes
    held_out: bool = False


def pieces(
    context: Context, runs: Sequence[Run], wish: ExportWish, counts: ExportCounts | None = None
) -> Iterator[ExportLine]:
    """The export line by line, in constant memory; a table's first piece is its head. Parquet has no lines.

    Raises ConfigError, NotFound.
    """
    wish, counts = wish.checked(), counts or ExportCounts()
    if wish.form in TRAINING:
        yield from _training(context, runs, wish, counts)
        return
    if wish.form == "csv":
        yield ExportLine(_csv_line(COLUMNS))
    for row in _rows(context, runs, wish):
        line = _line(row, wish)
        if line is None:
            counts.leave_out("no request is kept of it")
            continue
        counts.written += 1
        yield ExportLine(line)


def _training(
    context: Context, runs: Sequence[Run], wish: ExportWish, counts: ExportCounts
) -> Iterator[ExportLine]:
    seen: set[str] = set()
    for example in examples(context, runs, wish, counts.leave_out):
        if wish.dedupe and example.prompt_hash in seen:
            counts.leave_out("the same prompt again")
            continue
        seen.add(example.prompt_hash)
        held_out = example.is_held_out(wish.hold_out)
        counts.held_out += held_out
        counts.written += not held_out
        yield ExportLine(orjson.dumps(example.record) + b"\n", held_out)


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """A row of a run, with what people say of it."""

    run: Run
    whole: WholeRow
    label: ReplyLabel | None


def _rows(context: Context, runs: Sequence[Run], wish: ExportWish) -> Iterator[LabelledRow]:
    asked_before: set[str] = set()
    for run in runs:
        wanted = _wanted(wish)
        whole = results.walk(context, run, wanted, items=wish.form != "jsonl" or not wanted.plain)
        for row in with_labels(context, run, whole, needed=wish.form != "jsonl" or wish.chosen == "golden"):
            if wish.chosen == "golden" and (row.label is None or row.label.verdict not in GOLDEN):
                continue
            if wish.form == "batch" and len(runs) > 1:
                if row.whole.attempt.item_id in asked_before:
                    continue
                asked_before.add(row.whole.attempt.item_id)
            yield row


def _wanted(wish: ExportWish) -> RowFilter:
    """The filter, and which rows at that; what was asked for by hand stays."""
    wanted = wish.rows
    if wish.chosen == "failures" and wanted.status is None:
        wanted = replace(wanted, status="failed")
    if wish.chosen == "golden" and wanted.label is None:
        wanted = replace(wanted, label="any")
    return wanted


def with_labels(
    context: Context, run: Run, rows: Iterable[WholeRow], *, needed: bool = True
) -> Iterator[LabelledRow]:
    listed = iter(rows)
    while some := list(islice(listed, AT_ONCE)):
        ids = list(dict.fromkeys(row.attempt.item_id for row in some))
        said = labels.current(context, run.id, ids) if needed else {}
        for row in some:
            yield LabelledRow(run, row, said.get((row.attempt.item_id, row.attempt.repeat)))


def _line(row: LabelledRow, wish: ExportWish) -> bytes | None:
    if wish.form == "csv":
        return _csv_line([inert(value) for value in table_row(row).values()])
    if wish.form == "jsonl":
        return written(line_of(row.run.id, row.whole.attempt, row.whole.said), wish.shape)
    ask = row.whole.item.ask if row.whole.item is not None else None
    if not isinstance(ask, Request):
        return None
    record = {
        "custom_id": row.whole.attempt.item_id,
        "method": "POST",
        "url": ask.url,
        "body": orjson.Fragment(ask.body),
    }
    return orjson.dumps(record) + b"\n"


def _csv_line(values: Iterable[Any]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(values)
    return out.getvalue().encode("utf-8", "replace")


# The columns of tables, with the type that Parquet gives them.
TYPES: Mapping[str, str] = {
    "run": "text",
    "model": "text",
    "custom_id": "text",
    "candidate": "text",
    "status_code": "whole",
    "outcome": "text",
    "finish_reason": "text",
    "error": "text",
    "prompt": "text",
    "reply": "text",
    "score": "number",
    "label": "text",
    "edited": "text",
    "note": "text",
    "tags": "text",
    "input_tokens": "whole",
    "output_tokens": "whole",
    "reasoning_tokens": "whole",
    "latency_s": "number",
    "first_token_s": "number",
    "cost_usd": "number",
}
COLUMNS = tuple(TYPES)


def table_row(row: LabelledRow) -> dict[str, Any]:
    """One line of a table; the texts whole."""
    attempt, said, item = row.whole
    messages = item.ask.messages if item is not None else ()
    label = row.label
    return {
        "run": row.run.id,
        "model": str(row.run.cell.model),
        "custom_id": attempt.item_id,
        "candidate": attempt.cluster,
        "status_code": 200 if attempt.error_slug is None else attempt.status,
        "outcome": attempt.outcome.value,
        "finish_reason": attempt.finish,
        "error": said.get("error"),
        "prompt": "\n\n".join(each.content for each in messages),
        "reply": said.get("text"),
        "score": attempt.score,
        "label": label.verdict if label else None,
        "edited": label.text if label else None,
        "note": label.note if label else None,
        "tags": ", ".join(label.tags) if label else None,
        "input_tokens": attempt.input_tokens,
        "output_tokens": attempt.output_tokens,
        "reasoning_tokens": attempt.reasoning_tokens,
        "latency_s": attempt.latency_s,
        "first_token_s": attempt.first_token_s,
        "cost_usd": attempt.cost_usd,
    }


def write_parquet(
    context: Context, runs: Sequence[Run], wish: ExportWish, out: BinaryIO, counts: ExportCounts
) -> None:
    """A table in groups of rows, one of which is in memory. Raises ConfigError, NotFound."""
    from arro3.core import Array, DataType, Field, RecordBatch, RecordBatchReader, Schema
    from arro3.io import write_parquet as write

    wish = wish.checked()
    kinds = {"text": DataType.utf8(), "whole": DataType.int64(), "number": DataType.float64()}
    schema = Schema([Field(name, kinds[kind]) for name, kind in TYPES.items()])

    def groups() -> Iterator[RecordBatch]:
        rows = (table_row(row) for row in _rows(context, runs, wish))
        while some := list(islice(rows, ROW_GROUP)):
            counts.written += len(some)
            columns = [
                Array([_fit(row[name]) for row in some], type=kinds[kind]) for name, kind in TYPES.items()
            ]
            yield RecordBatch.from_arrays(columns, schema=schema)

    write(RecordBatchReader.from_batches(schema, groups()), out, max_row_group_size=ROW_GROUP)


def _fit(value: Any) -> Any:
    """Text as Arrow takes it: half surrogates, which models may say, are none."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


__all__ = ["FORMS", "ExportCounts", "ExportLine", "ExportWish", "TrainingExample", "pieces", "write_parquet"]
