"""What a helper process does: opens the rows of a run that another owns, and asks shards of it until none is left."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

from proctor.errors import Conflict
from proctor.protocols import Source
from proctor.service.admin.addresses import settings_to_ask_again
from proctor.service.context import LEASE_S, Context
from proctor.service.kinds import kind_of
from proctor.service.opening.reaching import bring
from proctor.service.opening.sources import open_source, with_servers
from proctor.service.runs.asking import RunContext
from proctor.service.runs.lease import Lease
from proctor.service.runs.queue import workers_there
from proctor.service.runs.resuming import as_it_began, graded_as_it_began, same_rows
from proctor.service.runs.running import help_cell
from proctor.store.queue import shards
from proctor.types import Cell, Run


@dataclass(frozen=True, slots=True)
class TermsOfHelp:
    """Under which name and lease a helper works; `parent` is the process that it ends with.

    `cell` is what its parent asks, with the model at the address where it is; None: it is found as the run has it.
    """

    owner: str
    lease_s: float = LEASE_S
    parent: int | None = None
    cell: Cell | None = None


def help_on(
    context: Context, run_id: str, terms: TermsOfHelp, *, say: Callable[[str], None] = lambda _text: None
) -> None:
    """Ask shards of a run until none is free, or its owner asks no more.

    Raises: ProctorError for what this machine lacks, and for what stops the run, which its owner is told.
    """
    store = context.store
    run = store.run(run_id)
    try:
        with Lease(store, run_id, terms.owner, terms.lease_s, helps=True, parent=terms.parent):
            _help(context, run, terms)
    except Conflict as error:  # it has ended, or is too slow for its lease: others have the work
        say(str(error))
    finally:
        shards.put_back(store, owner=terms.owner)
    say(f"helped, {store.run(run_id).settled} of {run.planned} items settled")


def _help(context: Context, run: Run, terms: TermsOfHelp) -> None:
    store, settings = context.store, settings_to_ask_again(context, [run])
    if not shards.look(store, run.id).running:
        raise Conflict(f"Run {run.id} is at work no more: there is nothing to help with")
    bring(replace(context, settings=settings), [run.cell.source])
    source: Source = graded_as_it_began(run, open_source(as_it_began(run), settings))
    same_rows(run, source)
    if run.cell.model.provider == "replay":
        source = kind_of(run.cell.source).replayed(source)
    cell = terms.cell or run.cell
    # Limits of the whole run are its owner's to hold.
    whole = {"for_s": None, "max_cost_usd": None, "max_total_tokens": None}
    cell = replace(cell, limits=replace(cell.limits, **whole))  # type: ignore[arg-type]  # all may be None
    servers = nullcontext([cell]) if terms.cell else with_servers([cell], [source], settings)
    with servers as cells:
        working = RunContext(
            settings,
            store,
            owner=terms.owner,
            lease_s=terms.lease_s,
            helps=True,
            fleet=None if terms.cell else partial(workers_there, context),
        )
        help_cell(run, cells[0], source, working)
