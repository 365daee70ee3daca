"""What a run needs on the machine that works on it: brought there, found lacking before it is taken, and shared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proctor.errors import ProctorError, SharedError, StoreError, in_one_line
from proctor.providers.keys import missing_key
from proctor.providers.served import command_named
from proctor.references import Agent, SourceRef
from proctor.service.context import Context
from proctor.service.hosts.agents import bring_agent, lacking_of_agent
from proctor.service.kinds import kind_of
from proctor.service.serving.asked import asked_of
from proctor.types import Cell, Run

SERVED = "serve"


def bring(context: Context, refs: Iterable[SourceRef], agents: Iterable[Agent | None] = ()) -> None:
    """Have what these references and agents mean on this machine. Raises: NotFound, DataMissing, StoreError."""
    for ref in dict.fromkeys(refs):
        kind_of(ref).bring(ref, context)
    for agent in dict.fromkeys(agents):
        if agent is not None:
            bring_agent(agent, context)


def bring_cells(context: Context, cells: Sequence[Cell]) -> None:
    """Have on this machine what these cells ask, and who works on it. Raises as `bring` does."""
    bring(context, [cell.source for cell in cells], [cell.agent for cell in cells])


def lacking(context: Context, run: Run) -> str | None:
    """What this machine lacks to work on a run, in words that follow "lacks": a key, rows, a sandbox. None: nothing.

    Quick, so that a worker can ask it of each run that waits; what only the run itself can find out, such as a key
    that is refused, ends the run as ever. Raises: StoreError of the database.
    """
    try:
        return _lacks(context, run)
    except SharedError as error:
        return f"what it shares with other machines: {in_one_line(str(error))}"
    except StoreError:
        raise
    except ProctorError:
        return None  # the run cannot be meant, wherever it is taken: it ends with these words


def _lacks(context: Context, run: Run) -> str | None:
    asked = asked_of(run.cell)
    if asked.provider == SERVED:
        try:
            command_named(context.settings.home, asked.name)
        except ProctorError as error:
            return in_one_line(str(error))
    told = [missing_key(asked, context.settings), kind_of(run.cell.source).lacking(run.cell.source, context)]
    if run.cell.agent is not None:
        told.append(lacking_of_agent(run.cell.agent, context))
    return " and ".join(filter(None, told)) or None
