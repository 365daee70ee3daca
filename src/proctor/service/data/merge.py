"""`proctor merge`: parts of a run that were asked apart become one run; or it is said why they are not one."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from proctor.errors import Conflict, DataError, OutputError
from proctor.figures import duration
from proctor.findings import RunResult
from proctor.manifest import Manifest, RolloutFacts, ServerClock
from proctor.references import BatchRef, RolloutsRef, SourceRef
from proctor.service.context import LEASE_S, Context, dead_owner
from proctor.service.data.merge_checks import MOST_TOLD, WholeRun, picked, wholes
from proctor.service.data.merge_files import bring_files, write_files
from proctor.service.data.parts import found_in
from proctor.service.data.said import CARRIED
from proctor.service.evidence.evaluation import of_plan
from proctor.service.kinds import kind_of
from proctor.service.looks.beforehand import ledger_of
from proctor.service.results.comparable import comparability, exam
from proctor.service.results.outcome import PlanOutcome
from proctor.service.results.results import close, shown
from proctor.store import Store
from proctor.store.core.runs import Ending
from proctor.store.write import further
from proctor.store.write.copied import Claimed
from proctor.types import Cell, Plan, Run, Status


@dataclass(frozen=True, slots=True)
class Merged:
    """What the parts became: a run for each model or agent, and in sentences what of it was done before."""

    outcome: PlanOutcome
    told: tuple[str, ...]


def merge(
    context: Context, sources: Sequence[str], *, partial: bool = False, chosen: Sequence[str] = ()
) -> Merged:
    """One run of the parts that the sources hold: folders of PROCTOR_HOMEs, bundles, ids of runs of this store.

    Of a part that is there twice, `chosen` (beginnings of ids of runs) says which counts. The same parts again are the
    same run. With `partial` parts may be missing; a part that comes later is added to the
    run that was made without it. Raises: ConfigError for parts that were not asked the same, are missing, or are there
    twice and differ; DataError, NotFound, StoreError; Conflict for a run that went on by itself since.
    """
    with found_in(context, sources) as parts:
        found = list(wholes(picked(parts, chosen), partial=partial))
        earlier = [_earlier(context.store, whole) for whole in found]
        runs = _runs(context, found, earlier)
        results, told = [], []
        for whole, run, before in zip(found, runs, earlier, strict=True):
            done = before is not None and before.status is Status.COMPLETED and _has(before, whole)
            results.append(shown(context.store, run) if done else _fill(context, run, whole))
            _bring_said(context.store, run, whole)
            told.append(_said(whole, run, before, done))
    unfinished = tuple(result.run.id for result in results if result.run.partial)
    troubles = (write_files(context, result.run) for result in results)
    error = next((trouble for trouble in troubles if trouble is not None), None)
    return Merged(
        PlanOutcome(
            of_plan(context.store, results, ledger_of(context.store, [result.run for result in results])),
            unfinished,
            error,
        ),
        tuple(told),
    )


def _said(whole: WholeRun, run: Run, before: Run | None, done: bool) -> str:
    parts = f"{len(whole.parts)} of {whole.of} shards"
    if done:
        return f"Run {run.id[:8]} was merged of these {parts} before."
    return f"Run {run.id[:8]} is merged of {parts}{'; it goes on where a merge broke off' if before else ''}."


# The run -----------------------------------------------------------------------------------------


def _earlier(store: Store, whole: WholeRun) -> Run | None:
    """The run that these parts became before, all of them or some. Raises: Conflict."""
    ids = _ids(whole)
    for run in store.runs(limit=None, source=whole.first.cell.source.listed):
        parts = run.manifest.parts
        if not parts or not parts.items() <= ids.items():
            continue
        own = sum(part.run.settled for part in whole.parts if part.run.id in parts)
        if len(parts) < len(ids) and run.settled > own:
            raise Conflict(
                f"Run {run.id[:8]} was merged of some of these parts and has gone on by itself since: `proctor resume "
                f"{run.id[:8]}` asks what it lacks"
            )
        return run
    return None


def _ids(whole: WholeRun) -> dict[str, str]:
    return {part.run.id: str(part.shard) for part in whole.parts}


def _has(run: Run, whole: WholeRun) -> bool:
    return run.manifest.parts.items() == _ids(whole).items()


def _runs(context: Context, found: Sequence[WholeRun], earlier: Sequence[Run | None]) -> list[Run]:
    """A run for each whole, all of them before the first is filled, so that they are of one plan."""
    store = context.store
    cells = _cells(context, found, earlier)
    known = next((run.plan_id for run in earlier if run is not None), None)
    plan_id = known or store.add_plan(Plan(tuple(cells), name="merged"), now=time.time())
    return [
        run or _added(store, plan_id, whole, cell)
        for whole, cell, run in zip(found, cells, earlier, strict=True)
    ]


def _cells(context: Context, found: Sequence[WholeRun], earlier: Sequence[Run | None]) -> list[Cell]:
    """What is asked by the wholes, their files written by nobody else."""
    cells = []
    for whole, run in zip(found, earlier, strict=True):
        cell, source = whole.first.cell, whole.first.cell.source
        if isinstance(source, BatchRef):
            source = replace(source, out=None)
        cells.append(
            run.cell if run else replace(cell, source=source, limits=replace(cell.limits, shard=None))
        )
    fresh = [cell.source for cell, run in zip(cells, earlier, strict=True) if run is None]
    if stamped := [ref for ref in dict.fromkeys(fresh) if isinstance(ref, RolloutsRef)]:
        # Parts of one whole have stamps of their own, and the rows of one benchmark share theirs.
        alike = [replace(ref, stamp=stamped[0].stamp) for ref in stamped]
        anew: dict[SourceRef, RolloutsRef] = dict(
            zip(stamped, kind_of(stamped[0]).afresh(alike, context), strict=True)
        )
        cells = [
            replace(cell, source=anew.get(cell.source, cell.source)) if run is None else cell
            for cell, run in zip(cells, earlier, strict=True)
        ]
    return cells


def _added(store: Store, plan_id: str, whole: WholeRun, cell: Cell) -> Run:
    manifest = _manifest(whole)
    return store.add_run(
        plan_id,
        cell,
        source_title=whole.first.source_title,
        planned=whole.planned,
        manifest=manifest,
        comparability=comparability(manifest),
        exam=exam(manifest),
        sample=whole.first.sample,
        now=min(part.run.created_at for part in whole.parts),
    )


def _fill(context: Context, run: Run, whole: WholeRun) -> RunResult:
    """Have the attempts of all parts in the run, and count what it shows."""
    store, runs = context.store, [part.run for part in whole.parts]
    owner = f"{socket.gethostname()}:{os.getpid()}"
    began = min(each.started_at or each.created_at for each in runs)
    # It began when the first part did, and the lease counts from now.
    lease_s = time.time() - began + LEASE_S
    store.claim(run.id, owner=owner, now=began, lease_s=lease_s, dead_owner=dead_owner(store, run.id))
    manifest = _manifest(whole)
    store.set_manifest(run.id, manifest, keys=(comparability(manifest), exam(manifest)))
    try:
        for part in whole.parts:
            part.kept.give(part.run, Claimed(store, run.id, owner, LEASE_S))
            bring_files(context, part, run)
    except (DataError, OutputError) as error:
        ending = Ending(owner=owner, now=time.time(), elapsed_s=0.0, error=str(error), error_slug=error.slug)
        store.finish(run.id, Status.FAILED, **ending)
        raise
    return close(
        store,
        run.id,
        Status.COMPLETED,
        owner=owner,
        now=max(each.finished_at or each.created_at for each in runs),
        elapsed_s=max(0.0, _longest_s(whole) - run.elapsed_s),
        stopped="; ".join(_why_partial(whole)) or None,
    )


def _bring_said(store: Store, run: Run, whole: WholeRun) -> None:
    """Further grades, labels and notes of all parts, whoever gave them; later ones come with the next merge."""
    for part in whole.parts:
        for which in CARRIED:
            further.add(store, run.id, which, part.kept.tell(part.run, which))


def _longest_s(whole: WholeRun) -> float:
    return max(part.run.elapsed_s for part in whole.parts)


def _why_partial(whole: WholeRun) -> Iterator[str]:
    """Why fewer than planned were asked, in words."""
    if whole.missing:
        yield f"shards {', '.join(map(str, whole.missing))} of {whole.of} are missing"
    for part in whole.parts:
        if part.run.partial and (
            why := part.run.error or (part.run.stopped or "").partition("this is shard")[0]
        ):
            yield f"shard {part.shard}: {why.rstrip('; ')}"


# The manifest ------------------------------------------------------------------------------------


def _manifest(whole: WholeRun) -> Manifest:
    """That of the first part, with what differs between parts said."""
    parts = whole.parts
    manifests = [part.run.manifest for part in parts]
    first = manifests[0]
    remarks = dict.fromkeys(remark for each in manifests for remark in each.remarks)
    adjusted = dict.fromkeys(words for each in manifests for words in each.adjustments or ())
    same_address = len({each.model.address for each in manifests}) == 1
    return replace(
        first,
        model=first.model if same_address else replace(first.model, address=None),
        remarks=(*remarks, *_remarks(whole)),
        adjustments=tuple(adjusted) if any(each.adjustments is not None for each in manifests) else None,
        server_clock=_clock(manifests),
        schema=None,
        parts=_ids(whole),
    )


def _remarks(whole: WholeRun) -> Iterator[str]:
    seconds = [part.run.elapsed_s for part in whole.parts]
    yield (
        f"merged of {len(seconds)} shards that were asked apart: its time is that of the longest, "
        f"{duration(max(seconds))} of {duration(sum(seconds))} in all, and requests in flight were counted by shard"
    )
    for what, of in _differing(whole).items():
        more = f" and {len(of) - MOST_TOLD:,} more" if len(of) > MOST_TOLD else ""
        yield f"the shards differ in their {what}: {', '.join(of[:MOST_TOLD])}{more}"


def _differing(whole: WholeRun) -> Mapping[str, Sequence[str]]:
    """What need not be the same, where it is not."""
    looks: dict[str, list[Any]] = {
        "version of proctor": [part.run.manifest.proctor for part in whole.parts],
        "model server": [part.run.manifest.model.server for part in whole.parts],
        "address": [part.run.manifest.model.address for part in whole.parts],
    }
    facts = [part.run.manifest.facts for part in whole.parts]
    if all(isinstance(each, RolloutFacts) for each in facts):
        looks["sandbox"] = [getattr(each, "sandbox", None) for each in facts]
        looks["image"] = [getattr(each, "image_sha256", None) for each in facts]
    told = {what: list(dict.fromkeys(str(each) for each in of)) for what, of in looks.items()}
    return {what: of for what, of in told.items() if len(of) > 1}


def _clock(manifests: Sequence[Manifest]) -> ServerClock | None:
    """Added up where every part could trust its server's clock."""
    clocks = [each.server_clock for each in manifests]
    known = [clock for clock in clocks if clock is not None]
    if not known:
        return None
    if len(known) < len(clocks):
        return ServerClock(why_not="not every shard read the server's metrics")
    if untrusted := [clock.why_not for clock in known if clock.why_not]:
        return ServerClock(why_not=untrusted[0])
    return ServerClock(sum(clock.requests for clock in known), sum(clock.seconds for clock in known))
