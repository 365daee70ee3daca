"""A kept reply as judges and people are shown it: the question, what a good answer says, and the reply alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.references import JudgingRef
from proctor.service.judging.changes import change_text, is_of_trials
from proctor.sources.judging.prompts import ShownReply
from proctor.sources.judging.source import JudgedPlace
from proctor.store import AttemptRow, Store
from proctor.types import Item, Outcome, Run


def shown_of(store: Store, run: Run, row: AttemptRow) -> ShownReply | None:
    """None where there is no reply, or nothing in it. Of an agent's trial it is the diff and the last words."""
    text = reply_text(store, run, row)
    return None if text is None else with_question(run, store.item(row.item_hash), (text,))


def with_question(run: Run, item: Item, texts: Sequence[str]) -> ShownReply:
    """Replies to an item. What the verifier of a task said is not told: the work is to be read, not the result."""
    trials = is_of_trials(run)
    return ShownReply(
        question_of(item), () if trials else item.accepted, texts, "change" if trials else "reply"
    )


def in_time(row: AttemptRow, ref: JudgingRef) -> bool:
    """Whether a reply was there when its judging was planned."""
    return ref.until is None or row.at <= ref.until


def place_of(row: AttemptRow) -> JudgedPlace:
    return JudgedPlace(row.item_id, row.repeat, row.attempt)


def reply_text(store: Store, run: Run, row: AttemptRow) -> str | None:
    """What a reply says; None where there is none, or nothing in it."""
    if row.outcome is Outcome.ERROR:
        return None
    return text_in(run, store.payload(run.id, row.item_id, row.repeat, row.attempt))


def has_words(store: Store, run: Run, row: AttemptRow) -> bool:
    """Whether there is something to judge."""
    return reply_text(store, run, row) is not None


def text_in(run: Run, said: Mapping[str, Any]) -> str | None:
    """The same of what the store keeps of an attempt that has a reply (`Store.payload`)."""
    return change_text(said) if is_of_trials(run) else str(said.get("text") or "").strip() or None


def question_of(item: Item) -> str:
    """What was asked, as the model was shown it."""
    return "\n\n".join(message.content for message in item.ask.messages)
