"""`proctor batch import`: outputs of batches that other tools ran become runs to compare with, as decision 8 has it."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import orjson

from proctor import __version__
from proctor.findings import RunResult
from proctor.grading.kept import kept
from proctor.manifest import LogFacts, Manifest, ServedModel, TaskSpec
from proctor.references import BatchRef, LogRef
from proctor.replies.files import OutputFile, open_outputs
from proctor.replies.finish import UNSAID
from proctor.replies.lines import Recorded
from proctor.service.context import LEASE_S, Context, dead_owner
from proctor.service.results.comparable import comparability, exam
from proctor.service.results.results import close, shown
from proctor.sources.batches.lines import GROUP
from proctor.sources.batches.source import BatchSource, open_batch
from proctor.store import AttemptWriter, Store
from proctor.types import (
    Attempt,
    Cell,
    Chat,
    Failure,
    Grade,
    Item,
    Model,
    Outcome,
    Plan,
    Reply,
    Run,
    Sampling,
    Status,
)

# The shape of the lines -> what is said to have made them.
TOOLS = {
    "openai": "openai-batch",
    "vllm": "vllm-batch",
    "anthropic": "anthropic-batch",
    "batch": "batch",
    "replies": "replies",
}
UNKNOWN = Sampling(temperature=None, max_tokens=None, context_tokens=None, seed=None)
NO_SLUG = re.compile(r"[^A-Za-z0-9_.-]+")
LONGEST_SLUG = 64
READ_BYTES = 1 << 20
LOOKED_UP = 500  # requests at once
QUEUED = 4_000  # attempts on their way to the disk; more would lie in memory


@dataclass(frozen=True, slots=True)
class ImportedOutput:
    """The run that an output became. `before` says that it had been imported earlier; `faults` are lines left out."""

    result: RunResult
    before: bool
    faults: tuple[str, ...]
    bad: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Output:
    """An output about to be imported: its lines, the requests that they answer where those are given, and its names."""

    file: OutputFile
    requests: BatchSource | None
    model: Model
    name: str
    sha256: str

    @property
    def planned(self) -> int:
        return len(self.file) if self.requests is None else len(self.requests)


def import_outputs(
    context: Context, paths: Sequence[Path], requests: Path | None = None, model: str | None = None
) -> ImportedOutput:
    """One output as a run: its files together (a batch's error file stands beside its output file).

    With the file of its requests its items are those of a run of that file, bodies and all. Bad lines are named and
    left out. Raises: DataError where nothing can be read, StoreError.
    """
    file = open_outputs(paths)
    source = open_batch(BatchRef(str(requests.absolute())), requests) if requests else None
    tool = TOOLS[file.shapes.most_common(1)[0][0]]
    named = model or (file.models.most_common(1)[0][0] if file.models else "unknown")
    given = [*paths, *([requests] if requests else [])]
    output = _Output(file, source, Model(tool, named), (requests or paths[0]).name, _sha256(given, named))
    run = _earlier(context.store, output)
    before = run is not None and run.status is Status.COMPLETED
    if run is None:
        run = _add(context.store, output)
    unasked = tuple(_unasked(output)) if source is not None else ()
    result = shown(context.store, run) if before else _fill(context.store, run, output)
    return ImportedOutput(result, before, tuple(file.faults), file.bad, tuple(_notes(output, unasked)))


def is_output(path: Path) -> bool:
    """Whether a file begins with a line of a batch's output."""
    try:
        with path.open("rb") as file:
            record = orjson.loads(file.readline().removeprefix(b"\xef\xbb\xbf"))
    except (OSError, orjson.JSONDecodeError):
        return False
    return (
        isinstance(record, dict)
        and "custom_id" in record
        and not record.keys().isdisjoint(("response", "result", "error"))
    )


def _sha256(paths: Sequence[Path], model: str) -> str:
    """Of all bytes that are imported: the same again is the same run."""
    whole = hashlib.sha256(model.encode())
    for path in paths:
        one = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(READ_BYTES):
                one.update(piece)
        whole.update(one.digest())
    return whole.hexdigest()


def _earlier(store: Store, output: _Output) -> Run | None:
    """The run that this output became before, or that an import broke off in."""
    for run in store.runs(limit=None, source=output.name):
        facts = run.manifest.facts
        if isinstance(facts, LogFacts) and facts.log_sha256 == output.sha256:
            return run
    return None


def _add(store: Store, output: _Output) -> Run:
    manifest = _manifest(output)
    began = _began(output.file)
    cell = Cell(output.model, LogRef(output.name, "outputs"), UNKNOWN)
    return store.add_run(
        store.add_plan(Plan((cell,), name=output.file.paths[0].name), now=time.time()),
        cell,
        source_title=f"{output.name} (made elsewhere)",
        planned=output.planned,
        manifest=manifest,
        comparability=comparability(manifest),
        exam=exam(manifest),
        sample=False,
        now=began,
    )


def _manifest(output: _Output) -> Manifest:
    source = output.requests
    facts = LogFacts(
        tool=output.model.provider,
        log=", ".join(str(path.absolute()) for path in output.file.paths),
        log_sha256=output.sha256,
        tasks={GROUP: TaskSpec(output.name, asked=output.planned)},
        n=output.planned,
        item_set_sha256=source.facts.item_set_sha256 if source else None,
    )
    return Manifest(facts, proctor=__version__, model=ServedModel(name=str(output.model)))


def _began(file: OutputFile) -> float:
    """When the first of its lines says that it was answered; else when the file was written."""
    for _, recorded in file.in_order():
        if (created := _created(recorded)) is not None:
            return created
        break
    return file.paths[0].stat().st_mtime


def _created(recorded: Recorded) -> float | None:
    body = recorded.body or {}
    value = body.get("created", body.get("created_at"))
    return float(value) if isinstance(value, int | float) and value > 0 else None


def _fill(store: Store, run: Run, output: _Output) -> RunResult:
    """Keep each line as an attempt; those that a broken-off import has kept are not kept again."""
    owner = f"{socket.gethostname()}:{os.getpid()}"
    store.claim(run.id, owner=owner, now=time.time(), lease_s=LEASE_S, dead_owner=dead_owner(store, run.id))
    before = store.next_attempts(run.id)
    writer = AttemptWriter(store, run.id, owner=owner, lease_s=LEASE_S, timed=False)
    answered = 0
    try:
        for attempt in _attempts(output, run.created_at):
            answered += 1
            if (attempt.item.id, attempt.repeat) not in before:
                writer.keep(attempt)
            while writer.backlog > QUEUED:
                time.sleep(0.001)  # until the disk has caught up, so that the lines are never all in memory
    finally:
        writer.close()
    lacking = output.planned - answered
    return close(
        store,
        run.id,
        Status.COMPLETED,
        owner=owner,
        now=time.time(),
        elapsed_s=0.0,
        stopped=f"{lacking:,} requests have no line in the output" if lacking else None,
    )


# Lines as attempts -----------------------------------------------------------------------------------


def _attempts(output: _Output, at: float) -> Iterator[Attempt]:
    if output.requests is None:
        for place, (custom_id, recorded) in enumerate(output.file.in_order()):
            yield _attempt(_unknown_item(custom_id), place, recorded, at)
        return
    items = enumerate(output.requests.items())
    while some := list(islice(items, LOOKED_UP)):
        found = dict(output.file.found([item.id for _, item in some]))
        for place, item in some:
            if item.id in found:
                yield _attempt(item, place, found[item.id], at)


def _unknown_item(custom_id: str) -> Item:
    """A request of which only the name is known."""
    digest = hashlib.sha256(b"request unknown\0" + custom_id.encode("utf-8", "replace")).hexdigest()[:32]
    return Item(custom_id, GROUP, Chat(), hash=digest)


def _attempt(item: Item, place: int, recorded: Recorded, at: float) -> Attempt:
    at = _created(recorded) or at
    if recorded.error is not None:
        failure = _failure(recorded)
        return Attempt(item, place, 0, 0, at, Grade(Outcome.ERROR, None), failure=failure)
    reply = _reply(recorded)
    return Attempt(item, place, 0, 0, at, kept(item, reply), reply=reply)


def _reply(recorded: Recorded) -> Reply:
    said = recorded.replies[0] if recorded.replies else Reply("", finish=UNSAID)
    return replace(said, raw=_raw(recorded.body), request_id=recorded.request_id)


def _failure(recorded: Recorded) -> Failure:
    """Of a refusal over HTTP by its status; of anything else by the batch's own word for it."""
    status = recorded.status if recorded.status is not None and recorded.status >= 400 else None
    slug = _slug_of(status) if status is not None else NO_SLUG.sub("-", recorded.code or "")[:LONGEST_SLUG]
    message = recorded.why or "no reply"
    return Failure(slug or "failed-elsewhere", message, status=status, raw=_raw(recorded.body))


def _slug_of(status: int) -> str:
    known = {401: "auth", 403: "auth", 429: "rate-limited", 503: "overloaded"}
    return known.get(status, "bad-request" if status < 500 else "provider")


def _raw(body: Mapping[str, object] | None) -> bytes:
    return orjson.dumps(body) if body else b""


# Remarks ---------------------------------------------------------------------------------------------


def _unasked(output: _Output) -> Iterator[str]:
    """The ids of lines that answer none of the requests."""
    assert output.requests is not None
    asked = bytearray(len(output.file))
    for item in output.requests.items():
        if (place := output.file.place_of(item.id)) is not None:
            asked[place] = 1
    yield from (custom_id for custom_id, known in zip(output.file.ids, asked, strict=True) if not known)


def _notes(output: _Output, unasked: Sequence[str]) -> Iterator[str]:
    file = output.file
    if output.requests is None:
        yield "the requests are not known: give their file with --requests, and warnings about unlike bodies work"
    if unasked:
        some = ", ".join(unasked[:5])
        yield f"{len(unasked):,} lines answer no request of {output.name} and are left out: {some}"
    if file.twice:
        yield f"{file.twice:,} lines repeat a custom_id; the last answered one counts"
    if len(file.models) > 1:
        several = ", ".join(f"{name} {n:,}" for name, n in file.models.most_common(5))
        yield f"the lines name several models: {several}"
    if not file.answered:
        yield "no request was answered"
