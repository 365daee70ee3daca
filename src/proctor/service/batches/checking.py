"""Checking a file of requests before anything is sent: every bad line with its number, and what is in the file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from proctor.plan import Wanted, parse_batch
from proctor.service.kinds.batches import path_of
from proctor.settings import Settings
from proctor.sources.batches.check import check
from proctor.sources.batches.checked import CheckedFile, Rules

OPENAI = Rules(one_model=True, complete=True, most=50_000)  # as OpenAI's own batches want a file


def check_wanted(wanted: Wanted, settings: Settings, *, openai: bool, listed: int) -> CheckedFile:
    """What is in the file that was named on this machine, and what is wrong with it.

    Raises: ConfigError, DataError for what is no file of requests at all, DataMissing.
    """
    ref = parse_batch(wanted.source, **wanted.of("source"))
    base = OPENAI if openai else Rules()
    return check(
        path_of(ref, settings), ref, Rules(base.endpoint, base.one_model, base.complete, base.most, listed)
    )


def document(checked: CheckedFile) -> dict[str, Any]:
    """For `--json`."""
    told = {**asdict(checked), "ok": checked.ok, "endpoint": checked.endpoint}
    del told["first_lines"]
    return told


def in_words(checked: CheckedFile) -> Iterator[str]:
    """Faults first, each with its line; then what is in the file."""
    yield from (str(fault) for fault in checked.faults)
    if (rest := checked.bad - len(checked.faults)) > 0:
        yield f"and {rest:,} more lines that cannot be sent"
    yield from (str(note) for note in checked.notes)
    of = f" of {checked.lines:,} lines can be sent" if checked.bad else " requests"
    where = f" for {' and '.join(checked.urls)}" if checked.urls else ""
    yield f"{checked.name} ({checked.form}, {checked.bytes:,} bytes): {checked.count:,}{of}{where}"
    if checked.models:
        yield "  models: " + ", ".join(f"{name} {count:,}" for name, count in checked.models.items())
    yield f"  tokens of a reply: {_caps(checked)}"
    if checked.gold:
        yield f"  right answers: {checked.gold:,}"
    yield f"  sha256 {checked.sha256}"


def _caps(checked: CheckedFile) -> str:
    if checked.most_tokens is None:
        return "no request sets a bound"
    most = f"at most {checked.most_tokens:,}"
    return f"{most}, but {checked.uncapped:,} requests set no bound" if checked.uncapped else most
