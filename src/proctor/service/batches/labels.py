"""Labels: what people say of a batch's replies. They are kept beside the replies, and what was said before stays."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.errors import ConfigError
from proctor.service.context import Context
from proctor.store.write import labels
from proctor.store.write.labels import VERDICTS, ReplyLabel, Verdict

__all__ = [
    "VERDICTS",
    "LabelCounts",
    "LabelMark",
    "ReplyLabel",
    "Verdict",
    "best_of",
    "counts",
    "current",
    "of_row",
    "put",
    "standing",
]

LONGEST_NOTE, LONGEST_TEXT = 5_000, 1_000_000
MOST_TAGS, LONGEST_TAG = 20, 50


@dataclass(frozen=True, slots=True)
class LabelMark:
    """What somebody says of a reply; one that says nothing takes back what was said."""

    verdict: Verdict | None = None
    text: str | None = None
    note: str | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """How many rows of a run have each verdict, and each tag."""

    verdicts: dict[str, int]
    tags: dict[str, int]


def put(
    context: Context, run_id: str, item_id: str, said: LabelMark, *, user: str, repeat: int = 0
) -> ReplyLabel:
    """Say this of a reply from now on. Raises ConfigError, NotFound for a run or a request of it that there is not."""
    checked = _checked(said)
    context.store.payload(run_id, item_id, repeat)  # a row that there is not has no label
    new = ReplyLabel(
        0, item_id, repeat, checked.verdict, checked.text, checked.note, checked.tags, user, time.time()
    )
    return labels.add(context.store, run_id, new)


def _checked(said: LabelMark) -> LabelMark:
    text = said.text if said.text else None
    note = (said.note or "").strip() or None
    tags = tuple(dict.fromkeys(tag.strip() for tag in said.tags if tag.strip()))
    if said.verdict is not None and said.verdict not in VERDICTS:
        raise ConfigError(f"A label is one of {', '.join(VERDICTS)}, not {said.verdict!r}")
    if (said.verdict == "edited") != (text is not None):
        raise ConfigError(
            "The label `edited` goes with the text of the reply as it should be, and no other does"
        )
    if text is not None and len(text) > LONGEST_TEXT:
        raise ConfigError(f"A reply has at most {LONGEST_TEXT:,} characters; this one has {len(text):,}")
    if note is not None and len(note) > LONGEST_NOTE:
        raise ConfigError(f"A note has at most {LONGEST_NOTE:,} characters; this one has {len(note):,}")
    if len(tags) > MOST_TAGS or any(len(tag) > LONGEST_TAG for tag in tags):
        raise ConfigError(f"At most {MOST_TAGS} tags of {LONGEST_TAG} characters")
    return LabelMark(said.verdict, text, note, tags)


def best_of(
    context: Context, run_ids: Sequence[str], item_id: str, best: str, *, user: str
) -> list[ReplyLabel]:
    """Say that one run's reply to a request is the best of several; where another's was, that is taken back.

    Raises ConfigError if `best` is none of the runs, NotFound.
    """
    if best not in run_ids:
        raise ConfigError("The best one must be among the runs that are compared")
    added = []
    for run_id in dict.fromkeys(run_ids):
        known = current(context, run_id, [item_id]).get((item_id, 0))
        note, tags = (known.note, known.tags) if known else (None, ())
        if run_id == best:
            added.append(put(context, run_id, item_id, LabelMark("best", None, note, tags), user=user))
        elif known is not None and known.verdict == "best":
            added.append(put(context, run_id, item_id, LabelMark(None, None, note, tags), user=user))
    return added


def of_row(context: Context, run_id: str, item_id: str, repeat: int = 0) -> list[ReplyLabel]:
    """All that was ever said of a reply, the newest first. Raises NotFound for the run."""
    return labels.of_row(context.store, run_id, item_id, repeat)


def current(context: Context, run_id: str, ids: Sequence[str]) -> dict[tuple[str, int], ReplyLabel]:
    """What counts of some requests, by (custom_id, repeat). Raises NotFound for the run."""
    return labels.current(context.store, run_id, ids)


def standing(context: Context, run_id: str) -> list[ReplyLabel]:
    """All that counts of a run's replies, in the order of the file. Raises NotFound."""
    return [each for _, each in labels.all_current(context.store, run_id)]


def counts(context: Context, run_id: str) -> LabelCounts:
    """Raises NotFound."""
    return LabelCounts(*labels.counts(context.store, run_id))
