"""Files of requests as a kind of source: each line is sent as it stands, to whichever model the run is of."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.engine.attempts import ErrorBudgets
from proctor.errors import ConfigError, DataMissing
from proctor.grading.kept import kept
from proctor.protocols import Grader
from proctor.providers.contract import Opening, Provider
from proctor.providers.passthrough import open_passthrough
from proctor.references import BatchRef
from proctor.service.context import Context
from proctor.service.kinds.contract import Beside, Method, SourceKind, exam_hash
from proctor.service.output.growing import growing
from proctor.settings import Settings
from proctor.sources.batches.lines import request_hash
from proctor.sources.batches.source import BatchSource, open_batch
from proctor.sources.batches.texts import lines_in
from proctor.store.datasets import entries, shelf
from proctor.store.shared import copies
from proctor.types import Cell, Item, Model, Request, Run

if TYPE_CHECKING:
    from proctor.simulator import KnownAnswer

MOST_TOLD = 100_000  # right answers that a simulator is told


def path_of(ref: BatchRef, settings: Settings) -> Path:
    """Where the file of a reference is on this machine: its own place, or that of an upload, by its hash."""
    if ref.content is None:
        return Path(ref.name)
    return shelf.here(settings, ref.content) or shelf.place(settings, ref.content)


def sized(ref: BatchRef, context: Context) -> int:
    """As many as an upload's check counted, or as the file has lines, where it is here: it is not opened for it."""
    kept_here = None if ref.content is None else entries.with_content(context.store, ref.content)
    try:
        count = kept_here.rows if kept_here else lines_in(path_of(ref, context.settings))
    except DataMissing:
        return 0
    return count if ref.limit is None else min(count, ref.limit)


def with_paths(ref: BatchRef, _settings: Settings) -> BatchRef:
    """The reference with the whole path of a file of right answers, so that a resume finds it from anywhere."""
    if ref.gold is None or ref.content is not None or not Path(ref.gold).is_file():
        return ref
    return replace(ref, gold=str(Path(ref.gold).absolute()))


def opened(ref: BatchRef, settings: Settings) -> BatchSource:
    path = path_of(ref, settings)
    if ref.content is not None and not path.is_file():
        raise DataMissing(f"The file of the data set {ref.name!r} is not on this machine")
    return open_batch(ref, path)


def brought(ref: BatchRef, context: Context) -> None:
    if ref.content is not None:
        copies.fetch(context.store, context.settings, ref.name, ref.content)


def lacking(ref: BatchRef, context: Context) -> str | None:
    if ref.content is not None:
        return copies.lacking(context.store, context.settings, ref.name, ref.content)
    return None if Path(ref.name).exists() else f"the file {ref.name} (upload it, and any worker can have it)"


def shared(ref: BatchRef, context: Context) -> BatchRef:
    if ref.content is not None:
        copies.share(context.store, context.settings, ref.content)
    return ref


def method_of(source: BatchSource) -> Method:
    grade = kept if source.grader is None else source.grader.grade
    return Method(grade, opener=partial(passed_through, source), errors=ErrorBudgets(of_items=False))


def passed_through(source: BatchSource, cell: Cell, opening: Opening) -> Provider:
    """Raises: ConfigError, also where lines name other models than the run's and that is not to be overridden."""
    assert isinstance(cell.source, BatchRef)
    if cell.source.on_mismatch == "strict":
        check_models(source, cell.model)
    return open_passthrough(cell.model, opening, stream=cell.source.stream)


def check_models(source: BatchSource, model: Model) -> None:
    """Raises: ConfigError for lines that name another model than the run's."""
    others = {
        name: count for name, count in source.facts.models.items() if name not in (model.name, str(model))
    }
    if others:
        told = ", ".join(
            f"{count:,} {name} (line {source.first_lines.get(name, 0)} first)"
            for name, count in others.items()
        )
        raise ConfigError(
            f"{source.title}: not every request names {model.name}: {told}. Run them with that model, or let the run's "
            "model replace it (--on-mismatch override)"
        )


def requests(ref: BatchRef) -> Hashable:
    return ref.name, ref.content


def graded_as(source: BatchSource, graders: Mapping[str, str]) -> BatchSource:
    return source.graded_as(graders)


def graded_with(source: BatchSource, grader: Grader) -> BatchSource:
    return source.graded_with(grader)


def answers_to(source: BatchSource) -> dict[str, KnownAnswer]:
    """What the simulator is told: the right answer to each prompt, and a wrong one."""
    from proctor.simulator import KnownAnswer, prompt_key

    if not source.answers or len(source) > MOST_TOLD:
        return {}
    others = [answer[0] for answer in source.answers[:10]]
    known = {}
    for item in source.items():
        if item.target is not None:
            wrong = tuple(other for other in others if other not in item.accepted)
            key = prompt_key([(message.role, message.content) for message in item.ask.messages])
            known[key] = KnownAnswer(item.target, wrong or (f"not {item.target}",))
    return known


def called(run: Run) -> str:
    return run.cell.source.listed


def hashed(item: Item) -> str:
    if isinstance(item.ask, Request):
        return request_hash(item.ask, item.gold)
    return exam_hash(item)


@contextmanager
def output_of(ref: BatchRef, _settings: Settings) -> Iterator[Beside | None]:
    """The file that grows with the replies, where one was asked for."""
    if ref.out is None:
        yield None
        return
    with growing(Path(ref.out), ref.shape) as file:
        yield file


def without_output(refs: Sequence[BatchRef], _context: Context) -> Sequence[BatchRef]:
    """The file has the replies of the first run, and keeps them."""
    return [replace(ref, out=None) for ref in refs]


BATCH: SourceKind[BatchRef, BatchSource] = SourceKind(
    short="--limit 20",
    resolved=with_paths,
    sized=sized,
    alike=requests,
    open=opened,
    bring=brought,
    lacking=lacking,
    share=shared,
    method=method_of,
    graded_as=graded_as,
    graded_with=graded_with,
    answers=answers_to,
    beside=output_of,
    afresh=without_output,
    called=called,
    hashed=hashed,
    holds="requests",
    own=True,
    on_server=True,
)
