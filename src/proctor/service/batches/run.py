"""A file of requests is sent: by a new run, or by going on with the one that wrote into the same file before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from proctor.errors import ConfigError
from proctor.grading.comparators.spec import parse_comparator
from proctor.protocols import Source
from proctor.references import BatchRef
from proctor.service.batches.verdict import named
from proctor.service.context import Context
from proctor.service.kinds.planned import planned
from proctor.service.output.growing import writer_of
from proctor.service.output.lines import short_of
from proctor.service.results.outcome import PlanOutcome
from proctor.service.runs.lifecycle import After, as_they_are, open_sources, resume, start
from proctor.service.runs.pace.progress import Watch
from proctor.store import Store
from proctor.store.read import outputs
from proctor.store.write.taken_over import take_over, took
from proctor.types import Cell, Plan, Run

AT_ONCE = 500  # requests looked up together
OF_NONE = After()  # a run that comes after no other


@dataclass(frozen=True, slots=True)
class Sending:
    """How the requests are sent: `say` hears in a sentence what is gone on with, before anything is asked."""

    retry_failed: bool = False
    watch: Watch | None = None
    say: Callable[[str], None] = lambda _sentence: None


def run_batch(context: Context, plan: Plan, how: Sending = Sending()) -> PlanOutcome:
    """Send the requests of the plan's one cell that have no reply yet.

    The run that wrote into the same file before goes on, where it was of the same requests. Where they have changed,
    a new run takes over its replies to those that are still the same. Raises: ProctorError while nothing is asked.
    """
    cell = plan.cells[0]
    (source,) = open_sources(plan, context.settings)
    before = earlier(context, cell)
    if before is None:
        return _begun(context, plan, source, how)
    if not _same(before, cell, source):
        return _changed(context, plan, source, before, how)
    tally = context.store.tally(before.id)
    asked, failed = sum(tally.outcomes.values()), sum(tally.errors.values())
    told = f"Run {before.id[:8]}: {before.settled:,} of {before.planned:,} requests are answered"
    if asked >= before.planned and not (failed and how.retry_failed) and before.finished_at is not None:
        return _whole(context, plan, source, before, how, f"{told}, {failed:,} failed" if failed else told)
    how.say(f"{told}; it goes on")
    if before.started_at is None and before.parent_id is not None:
        _take_over(context.store, before.parent_id, before, source)  # it was killed while it did
    return resume(
        context, [before.id], limits=cell.limits, watch=how.watch, at=cell.model, workers=plan.workers
    )


def earlier(context: Context, cell: Cell) -> Run | None:
    """The run to go on with: the last one into the same file; without a file, an unfinished one of the same source.

    Raises: ConfigError for a file that holds something else.
    """
    assert isinstance(cell.source, BatchRef)
    if cell.source.out is None:
        runs = outputs.of_requests(context.store, cell.source.listed, cell.model)
        own = (run for run in runs if isinstance(run.cell.source, BatchRef) and run.cell.source.out is None)
        own = (run for run in own if run.cell.limits.shard == cell.limits.shard)
        last = next(own, None)
        return last if last is not None and (last.partial or last.finished_at is None) else None
    runs = outputs.written_to(context.store, cell.source.out)
    _need_ours(Path(cell.source.out), runs)
    if not runs:
        return None
    last = runs[0]
    if str(last.cell.model) != str(cell.model):
        raise ConfigError(
            f"{cell.source.out} has the replies of {last.cell.model} (run {last.id[:8]}): give another file after -o"
        )
    if last.cell.limits.shard != cell.limits.shard:
        had, asked = (each.limits.shard or "the whole" for each in (last.cell, cell))
        raise ConfigError(
            f"{cell.source.out} has the replies of another part (run {last.id[:8]} is of {had}, and {asked} is asked): "
            "give each part a file of its own after -o"
        )
    return last


def _need_ours(out: Path, runs: list[Run]) -> None:
    made_by = writer_of(out)
    if made_by is None or made_by in {short_of(run.id) for run in runs} or (runs and not made_by):
        return
    raise ConfigError(
        f"{out} is there already, and no run in this PROCTOR_HOME wrote it: it is left as it is. Move it away, or give "
        "another file after -o"
    )


def _same(before: Run, cell: Cell, source: Source) -> bool:
    """Whether a run was of these very requests, asked in this very way."""
    facts, now = before.manifest.facts, source.facts
    alike = facts.item_set_sha256 == now.item_set_sha256 and before.planned == planned(cell, source)
    return alike and _way(before.cell) == _way(cell)


def _way(cell: Cell) -> object:
    """What of a reference says how its lines are understood and written; a file may have been moved."""
    assert isinstance(cell.source, BatchRef)
    return replace(cell.source, name="", content=None)


def _whole(context: Context, plan: Plan, source: Source, before: Run, how: Sending, told: str) -> PlanOutcome:
    """Nothing is left to ask. A file is put right; without one, it is asked anew."""
    shown = as_they_are(context, [before])
    if shown is None:
        return _begun(context, plan, source, how)
    how.say(f"{told}; nothing is asked")
    return shown


def _changed(context: Context, plan: Plan, source: Source, before: Run, how: Sending) -> PlanOutcome:
    asked = plan.cells[0].source
    if not isinstance(asked, BatchRef) or asked.out is None:
        return _begun(context, plan, source, how)
    how.say(
        f"The requests, or how they are sent, are others than those of run {before.id[:8]}: a new run takes over the "
        "replies to those that are the same"
    )
    taking = partial(_take_over, context.store, before.id)
    return _begun(context, plan, source, how, After([before.id], taking))


def _begun(context: Context, plan: Plan, source: Source, how: Sending, after: After = OF_NONE) -> PlanOutcome:
    """A new run. How its file was understood is said before anything is sent."""
    for sentence in source.understood:
        how.say(sentence)
    return start(context, plan, watch=how.watch, sources=[source], after=after)


def compared_with(context: Context, other: str, how: str, plan: Plan) -> str:
    """What `--against` will compare the plan's one run with, in words. Raises: ConfigError, NotFound."""
    source = plan.cells[0].source
    assert isinstance(source, BatchRef)
    if source.out is not None and Path(other).resolve() == Path(source.out):
        raise ConfigError(f"--against {other} is the file that -o writes: give one that stays as it is")
    parse_comparator(how)
    return named(context, other, source)


def _take_over(store: Store, of_id: str, run: Run, source: Source) -> None:
    """Keep the replies of an earlier run to the same requests as this run's own, and say so in its manifest."""
    taken, items = 0, enumerate(source.items())
    while page := list(islice(items, AT_ONCE)):
        taken += take_over(store, run.id, of_id, page)
    if taken:
        old = store.run(of_id)
        took(store, run.id, old.elapsed_s * taken / max(old.settled, taken))
        told = f"{taken:,} replies were taken over from run {of_id[:8]}, which was asked the same requests"
        manifest = replace(run.manifest, remarks=(*run.manifest.remarks, told))
        store.set_manifest(run.id, manifest)
