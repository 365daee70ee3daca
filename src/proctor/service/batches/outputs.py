"""Outputs to the same requests, each a run or a file: named, and walked in the order of the ids."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from proctor.errors import ConfigError, NotFound
from proctor.manifest import LogFacts, Manifest
from proctor.references import BatchRef
from proctor.replies.bodies import embeddings_in
from proctor.replies.files import OutputFile, open_outputs
from proctor.replies.lines import Recorded
from proctor.service.context import Context, find
from proctor.service.kinds import kind_of
from proctor.sources.batches.lines import GROUP
from proctor.store.read import said
from proctor.types import Run

LAST = "last"
FEWEST, MOST = 2, 8  # outputs that are compared at once
IDS_AT_ONCE = 500


class GivenReply(NamedTuple):
    """What one output has for one request: a text, or why there is none. None is what is not known."""

    custom_id: str
    text: str | None
    failure: str | None = None
    finish: str | None = None
    latency_s: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    asked: str | None = None  # hash of the request without its model
    cluster: str | None = None

    @property
    def failed(self) -> bool:
        return self.text is None


@dataclass(frozen=True, slots=True)
class Output:
    """One output: a run, or a file of output lines. `said` is why it was chosen, where that was not the user."""

    name: str
    run: Run | None = None
    file: OutputFile | None = None
    said: str | None = None

    @property
    def model(self) -> str | None:
        if self.run is not None:
            return str(self.run.cell.model)
        models = self.file.models if self.file else {}
        return ", ".join(list(models)[:3]) or None

    def walk(self, context: Context, after: str = "") -> Iterator[GivenReply]:
        """What it has for each request, in the order of the ids' bytes."""
        if self.run is not None:
            known = knows_requests(self.run.manifest)
            return (_kept(row, known) for row in said.by_id(context.store, self.run.id, after=after))
        assert self.file is not None
        return (_read(custom_id, recorded) for custom_id, recorded in self.file.walk(after))

    def found(self, context: Context, ids: Sequence[str]) -> dict[str, GivenReply]:
        """What it has for these requests."""
        if self.file is not None:
            return {custom_id: _read(custom_id, recorded) for custom_id, recorded in self.file.found(ids)}
        assert self.run is not None
        known, told = knows_requests(self.run.manifest), {}
        for start in range(0, len(ids), IDS_AT_ONCE):
            part = list(ids[start : start + IDS_AT_ONCE])
            rows = said.by_id(context.store, self.run.id, among=part)
            told.update({row.item_id: _kept(row, known) for row in rows})
        return told


def knows_requests(manifest: Manifest) -> bool:
    """Whether the hashes of a run's items are of what was asked: not of output lines that came without requests."""
    return not isinstance(manifest.facts, LogFacts) or manifest.facts.item_set_sha256 is not None


def _kept(row: said.AnsweredItem, known: bool) -> GivenReply:
    record = row.said
    asked = row.item_hash if known else None
    if row.error_slug is not None:
        why = record.get("error") or row.error_slug
        return GivenReply(row.item_id, None, why, asked=asked, cluster=row.cluster)
    text = record.get("text") or _beyond(record.get("raw"))
    return GivenReply(
        row.item_id,
        text,
        None,
        row.finish or record.get("finish"),
        row.latency_s,
        row.input_tokens,
        row.output_tokens,
        row.cost_usd,
        asked,
        row.cluster,
    )


def _beyond(raw: str | None) -> str:
    """What an answer without text has in its place."""
    if not raw:
        return ""
    try:
        body: Any = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return ""
    return embeddings_in(body) if isinstance(body, dict) else ""


def _read(custom_id: str, recorded: Recorded) -> GivenReply:
    if recorded.error is not None:
        return GivenReply(custom_id, None, recorded.why)
    if not recorded.replies:
        return GivenReply(custom_id, "", None, "unknown")
    reply = recorded.replies[0]
    text = reply.text or (embeddings_in(recorded.body) if recorded.body else "")
    return GivenReply(
        custom_id,
        text,
        None,
        reply.finish,
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
    )


# Named ---------------------------------------------------------------------------------------------


def outputs_named(context: Context, names: Sequence[str]) -> tuple[Output, ...]:
    """Two to eight outputs by run, plan, file or "last". Raises: ConfigError, NotFound, DataError."""
    found: list[Output | None] = []
    for name in names:
        found.extend([None] if name == LAST else _named(context, name))
    known = [each for each in found if each is not None]
    if len(known) < len(found) - 1:
        raise ConfigError(f"`{LAST}` stands for one output; name the others by run or file")
    if None in found:
        beside = next((each.run for each in known if each.run is not None), None)
        found[found.index(None)] = last_before(context, beside, [each.run.id for each in known if each.run])
    chosen = tuple(each for each in found if each is not None)
    if not FEWEST <= len(chosen) <= MOST:
        raise ConfigError(f"{len(chosen)} to compare: name {FEWEST} to {MOST}, the first is the baseline")
    return chosen


def _named(context: Context, name: str) -> list[Output]:
    path = Path(name)
    if path.is_file():
        return [Output(path.name, file=open_outputs([path]))]
    try:
        runs = find(context.store, name)
    except (NotFound, ConfigError) as missing:
        if path.suffix or "/" in name:
            raise NotFound(f"{name}: no such file, and no run or plan of this name") from missing
        raise
    for run in runs:
        check_run(run)
    return [Output(run.id[:8], run) for run in runs]


def check_run(run: Run) -> None:
    """Raises: ConfigError for a run that was no batch."""
    if is_batch(run):
        return
    raise ConfigError(
        f"Run {run.id[:8]} ({run.source_title}) asked the questions of an exam: `proctor compare` compares those"
    )


def last_before(context: Context, beside: Run | None, others: Sequence[str] = ()) -> Output:
    """The newest ended run before `beside` on the same requests, else on a file of the same name; else NotFound.

    Without a run beside it, the newest ended batch of all.
    """
    runs = [
        run
        for run in context.store.runs(limit=None, source=beside.cell.source.listed if beside else None)
        if run.finished_at is not None
        and run.id not in others
        and run.settled
        and (beside is None or (run.id != beside.id and run.created_at <= beside.created_at))
        and is_batch(run)
    ]
    if not runs:
        what = f"of {beside.cell.source.listed} before {beside.id[:8]}" if beside else "of a batch"
        raise NotFound(f"`{LAST}`: no ended run {what} is kept here; name a run or a file")
    same = [run for run in runs if beside is not None and asked_the_same(run, beside)]
    chosen = (same or runs)[0]
    why = "the same requests" if same else "a file of the same name" if beside else "the newest batch"
    return Output(chosen.id[:8], chosen, said=f"`{LAST}` is {in_words(chosen)}: {why}")


def last_like(context: Context, ref: BatchRef) -> Run:
    """The newest ended run on a file of requests, by its content or name. Raises: NotFound."""
    runs = [
        run
        for run in context.store.runs(limit=None, source=ref.listed)
        if run.finished_at is not None and run.settled and is_batch(run)
    ]
    if not runs:
        raise NotFound(f"`{LAST}`: no ended run of {ref.listed} is kept here; name a run or a file")
    alike = [run for run in runs if getattr(run.cell.source, "content", None) == ref.content]
    return (alike or runs)[0]


def is_batch(run: Run) -> bool:
    facts = run.manifest.facts
    return kind_of(run.cell.source).holds == "requests" or (
        isinstance(facts, LogFacts) and GROUP in facts.tasks
    )


def asked_the_same(one: Run, two: Run) -> bool:
    ours, theirs = (run.manifest.facts.item_set_sha256 for run in (one, two))
    return ours is not None and ours == theirs


def in_words(run: Run) -> str:
    """A run in a few words: its id, model, file, and when it began."""
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.created_at))
    return f"{run.id[:8]} ({run.cell.model}, {run.cell.source.listed}, {when})"
