"""Examples to train on, of what people say of replies: which are shown, which are preferred to which."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import orjson

from proctor.interop.batches import training
from proctor.interop.batches.training import ChatMessage
from proctor.service.batches import labels, results
from proctor.service.batches.labels import ReplyLabel
from proctor.service.context import Context
from proctor.store.read.batches import rows as batch_rows
from proctor.store.read.batches.rows import WholeRow
from proctor.types import Request, Run

if TYPE_CHECKING:
    from proctor.service.batches.exports.rows import ExportWish

AT_ONCE = 200
GOOD = ("good", "best")
LeaveOut = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TrainingExample:
    """A line to train on, and the hash of its prompt."""

    record: dict[str, Any]
    prompt_hash: str

    def is_held_out(self, share: float) -> bool:
        return training.is_held_out(self.prompt_hash, share)


@dataclass(frozen=True, slots=True)
class ToldReply:
    """One run's reply to a request: as it was, and as a person says it should be."""

    row: WholeRow
    label: ReplyLabel | None
    original: ChatMessage | None
    edited: ChatMessage | None

    @property
    def verdict(self) -> str | None:
        return self.label.verdict if self.label else None


@dataclass(frozen=True, slots=True)
class AskedPrompt:
    """What was asked, as training takes it."""

    prompt: list[ChatMessage]
    tools: list[Any] | None
    prompt_hash: str

    def example(self, **fields: Any) -> TrainingExample:
        tools = {"tools": self.tools} if self.tools else {}
        return TrainingExample({**fields, **tools}, self.prompt_hash)


def examples(
    context: Context, runs: Sequence[Run], wish: ExportWish, leave_out: LeaveOut
) -> Iterator[TrainingExample]:
    """In the order of the files. What makes no example is told to `leave_out`, with why. Raises NotFound."""
    if wish.form == "dpo":
        yield from _pairs(context, runs, wish, leave_out)
        return
    for run in runs:
        for row, label in _shown(context, run, wish):
            question = _question(row)
            told = _told(row, label, wish)
            if question is None:
                leave_out("its request is no conversation")
            elif told.original is None and told.edited is None:
                leave_out("there is no reply")
            elif wish.form == "sft":
                yield question.example(messages=[*question.prompt, told.edited or told.original])
            else:
                yield from _unpaired(question, told)


def _shown(context: Context, run: Run, wish: ExportWish) -> Iterator[tuple[WholeRow, ReplyLabel | None]]:
    """The rows that examples are made of: labelled ones, but where all are asked for."""
    every = wish.which == "all" and wish.form == "sft"
    wanted = wish.rows if every or wish.rows.label else replace(wish.rows, label="any")
    golden = wish.form == "sft" and not every
    rows = results.walk(context, run, wanted)
    while some := list(islice(rows, AT_ONCE)):
        said = labels.current(context, run.id, [row.attempt.item_id for row in some])
        for row in some:
            label = said.get((row.attempt.item_id, row.attempt.repeat))
            if not golden or (label is not None and label.verdict in (*GOOD, "edited")):
                yield row, label


def _question(row: WholeRow) -> AskedPrompt | None:
    ask = row.item.ask if row.item is not None else None
    body = orjson.loads(ask.body) if isinstance(ask, Request) else {}
    prompt = training.prompt_of(body)
    return None if prompt is None else AskedPrompt(prompt, training.tools_of(body), training.hash_of(prompt))


def _told(row: WholeRow, label: ReplyLabel | None, wish: ExportWish) -> ToldReply:
    original = None
    if row.attempt.error_slug is None:
        original = training.completion_of(_body(row), row.said.get("text"))
        if original is not None and wish.drop_reasoning:
            original = training.without_reasoning(original)
    edited = training.said(label.text) if label is not None and label.text else None
    return ToldReply(row, label, original, edited)


def _body(row: WholeRow) -> dict[str, Any] | None:
    """The server's answer; None where only its text is kept, or it is no JSON object."""
    try:
        found = orjson.loads(row.said.get("raw") or b"null")
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) else None


def _unpaired(question: AskedPrompt, told: ToldReply) -> Iterator[TrainingExample]:
    """What people like and what they do not, each by itself (KTO)."""
    if told.edited is not None:
        yield question.example(prompt=question.prompt, completion=[told.edited], label=True)
    if told.original is not None and told.verdict is not None:
        liked = told.verdict in GOOD
        yield question.example(prompt=question.prompt, completion=[told.original], label=liked)


def _pairs(
    context: Context, runs: Sequence[Run], wish: ExportWish, leave_out: LeaveOut
) -> Iterator[TrainingExample]:
    """Preferred replies with those that they are preferred to, one example a pair (DPO)."""
    ids = iter(_labelled_ids(context, runs, wish))
    while some := list(islice(ids, AT_ONCE)):
        rows = {run.id: batch_rows.whole(context.store, run.id, some) for run in runs}
        said = {run.id: labels.current(context, run.id, some) for run in runs}
        for custom_id in some:
            key = (custom_id, 0)
            told = [
                _told(rows[run.id][key], said[run.id].get(key), wish) for run in runs if key in rows[run.id]
            ]
            yield from _pairs_of(told, leave_out)


def _labelled_ids(context: Context, runs: Sequence[Run], wish: ExportWish) -> list[str]:
    """Requests of which somebody said something in any of the runs; people label thousands, not millions."""
    wanted = wish.rows if wish.rows.label else replace(wish.rows, label="any")
    found: dict[str, int] = {}
    for run in runs:
        for row in results.walk(context, run, wanted, items=False):
            found.setdefault(row.attempt.item_id, row.attempt.position)
    return sorted(found, key=lambda custom_id: found[custom_id])


def _pairs_of(told: Sequence[ToldReply], leave_out: LeaveOut) -> Iterator[TrainingExample]:
    if len({each.row.attempt.item_hash for each in told}) > 1:
        leave_out("the runs were not asked the same under this custom_id")
        return
    question = _question(told[0].row)
    if question is None:
        leave_out("its request is no conversation")
        return
    chosen, rejected = _chosen(told), _rejected(told)
    rejected = [each for each in rejected if chosen is not None and each != chosen]
    if chosen is None or not rejected:
        leave_out("no reply is preferred to another")
        return
    for each in rejected:
        yield question.example(prompt=question.prompt, chosen=[chosen], rejected=[each])


def _chosen(told: Sequence[ToldReply]) -> ChatMessage | None:
    """What a person wrote comes before what is the best, and that before what is good."""
    for verdict in ("edited", "best", "good"):
        for each in told:
            reply = each.edited if verdict == "edited" else each.original
            if each.verdict == verdict and reply is not None:
                return reply
    return None


def _rejected(told: Sequence[ToldReply]) -> list[ChatMessage]:
    """Bad ones, what was written anew, and beside a best one those of which nothing good is said."""
    has_best = any(each.verdict == "best" for each in told)
    lost = [
        each.original
        for each in told
        if each.verdict in ("bad", "edited") or (has_best and each.verdict is None)
    ]
    found: list[ChatMessage] = []
    for reply in lost:
        if reply is not None and reply not in found:
            found.append(reply)
    return found
