"""Runs that are handed to the server: into the queue, out of it again, and what a worker's child does with one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import orjson

from proctor.errors import ConfigError, ProctorError
from proctor.plan import check
from proctor.service.results import comparability
from proctor.service.running import Interrupted, Ready, Sitting, new_manifest, run_cells, same_rows
from proctor.service.runs import open_store
from proctor.service.sources import open_source, resolved_source, with_origin, with_simulators
from proctor.settings import Settings
from proctor.store import Store, queue
from proctor.store.queue import Ticket
from proctor.store.runs import source_name
from proctor.suites.tasks import SUITES
from proctor.types import Plan, Run, Status


def submit(store: Store, plan: Plan, ticket: Ticket, settings: Settings) -> Run:
    """Check a plan of one cell and put it into the queue; nothing is opened or asked yet.

    Raises ConfigError for a plan that cannot be meant, QueueFull, NotFound for an unknown project.
    """
    plan = check(plan)
    if len(plan.cells) != 1:
        raise ConfigError(f"A job asks one model about one source; this plan has {len(plan.cells)} cells")
    store.project(ticket.project_id)
    cell = plan.cells[0]
    cell = replace(cell, source=resolved_source(cell.source, settings))
    return queue.submit(
        store,
        replace(plan, cells=(cell,)),
        ticket,
        title=_title(cell.source.name) if cell.source.kind == "suite" else source_name(cell.source),
        most_queued=settings.most_queued,
        now=time.time(),
    )


def _title(suite: str) -> str:
    if suite not in SUITES:
        raise ConfigError(f"Invalid benchmark suite. Supported: {', '.join(SUITES)}")
    return SUITES[suite].title


def work_on(run_id: str, owner: str, settings: Settings) -> Run:
    """Do the work of a run that a worker took under the name `owner`, or go on with it.

    However it ends, its row says so; the run as it ended is given back.
    """
    with open_store(settings) as store:
        run = store.run(run_id)
        try:
            _ask(store, run, owner, settings)
        except Interrupted:
            pass  # its row says that it was cancelled
        except ProctorError as error:
            _failed(store, run_id, owner, error)
        return store.run(run_id)


def _ask(store: Store, run: Run, owner: str, settings: Settings) -> None:
    source = open_source(run.cell.source, settings)
    began_before = bool(run.manifest)
    if began_before:
        same_rows(run, source)
    cell = replace(run.cell, source=with_origin(run.cell.source, source))

    def submit(ready: Sequence[Ready]) -> Sequence[Run]:
        if began_before:
            return [run]
        manifest = new_manifest(ready[0], None)
        facts = {
            "source_title": source.title,
            "planned": len(source) * cell.repeats,
            "manifest": orjson.dumps(manifest).decode(),
            "comparability": comparability(manifest),
            "sample": manifest.get("rows") == "sample",
        }
        return [queue.prepare(store, run.id, owner=owner, facts=facts)]

    with with_simulators([cell], [source]) as cells:
        run_cells(cells, [source], submit, Sitting(settings, store, owner=owner, strict=True))


def _failed(store: Store, run_id: str, owner: str, error: ProctorError) -> None:
    """Say why the run failed, if that happened before it was begun; later its own row says so already."""
    words = {"stopped": None, "error": str(error), "error_slug": error.slug}
    queue.end(store, run_id, Status.FAILED, owner=owner, now=time.time(), words=words)
