"""Walls between projects: what a key reaches, and every statement of a store within a reach held to it.

A store within a reach (`Database.within`) sends its statements through `hold`, which adds to each SELECT, UPDATE and
DELETE, and to each SELECT inside them, that rows are of the reach's projects. So a query need not think of
it, and one that cannot be held is refused. Statements that must see all projects say so by WHOLE; a test
lists them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Alias,
    BindParameter,
    ColumnElement,
    CompoundSelect,
    Connection,
    Delete,
    Insert,
    Select,
    Table,
    Update,
    select,
)
from sqlalchemy.sql import operators, visitors
from sqlalchemy.sql.elements import BinaryExpression

from proctor.store.core.batch_tables import BATCH, BATCH_FILE, LABEL, MODEL_REGISTRY
from proctor.store.core.fleet_tables import SHARD
from proctor.store.core.look_tables import GONE, LOOK
from proctor.store.core.share_tables import SAVED_VIEW, SHARE
from proctor.store.core.tables import (
    ATTEMPT,
    AUDIT,
    DATASET,
    DATASET_CHUNK,
    DATASET_FILE,
    GRADE,
    ITEM,
    JOB,
    NOTE,
    PAYLOAD,
    PLAN,
    PROJECT,
    PULSE,
    RUN,
    SCHEDULE,
    SCORE,
)

# Which column says of a row whose it is; a row of OF_RUN is its run's.
PROJECT_OF = {
    RUN: "project_id",
    SCHEDULE: "project_id",
    AUDIT: "project_id",
    DATASET: "project_id",
    BATCH: "project_id",
    BATCH_FILE: "project_id",
    GONE: "project_id",
    PROJECT: "id",
}
OF_RUN = frozenset({ATTEMPT, PAYLOAD, SCORE, JOB, PULSE, NOTE, GRADE, LABEL, LOOK, SHARD})
# An item is found by the hash of its whole words, which only its own attempts tell; the files of a data set and
# their bytes likewise, by the hash that only its row tells. What is known of a model is nobody's alone. All tables
# else stay shut.
OPEN = frozenset({ITEM, DATASET_FILE, DATASET_CHUNK, MODEL_REGISTRY})
# Somebody's own, of no one project: read by the whole store alone, and held to who asks by the service.
OWN = frozenset({SHARE, SAVED_VIEW})

WALL = "wall"
WHOLE: Any = {"whole": True}  # execution options of a statement that counts or cleans over all projects


@dataclass(frozen=True, slots=True)
class Reach:
    """The projects that somebody sees and touches, by their ids; None is all, and those that are yet to come."""

    projects: frozenset[int] | None = None

    def __str__(self) -> str:
        return "all" if self.projects is None else ", ".join(map(str, sorted(self.projects))) or "none"


def hold(
    connection: Connection,
    statement: Any,
    multiparams: Sequence[Mapping[str, Any]],
    params: Mapping[str, Any],
    options: Mapping[str, Any],
) -> tuple[Any, Any, Any]:
    """What SQLAlchemy calls before each statement; raises RuntimeError for one that cannot be held."""
    projects: frozenset[int] | None = options.get(WALL)
    if projects is not None and not options.get("whole"):
        if isinstance(statement, Insert):
            _check_new(connection, statement, multiparams or [params], projects)
        elif isinstance(statement, Select | CompoundSelect | Update | Delete):
            statement = held(statement, projects)
        else:
            raise RuntimeError(f"A store within projects cannot run a {type(statement).__name__}")
    return statement, multiparams, params


def held(statement: Any, projects: frozenset[int]) -> Any:
    """The same statement over rows of these projects alone. Raises RuntimeError if that cannot be said of it."""
    wall = _Wall(projects)
    inner = (
        each for each in visitors.iterate(statement) if isinstance(each, Select) and each is not statement
    )
    if isinstance(statement, CompoundSelect) or any(True for _ in inner):
        clauses = {"select": wall.narrow, "update": wall.narrow, "delete": wall.narrow}
        found = visitors.cloned_traverse(statement, {}, clauses)
    else:  # most are flat, and need no copy of all their parts
        found = statement.where(*wall.conditions(statement))
    if wall.leaning and not wall.anchored:
        tables = ", ".join(sorted(wall.leaning))
        raise RuntimeError(f"A query within projects joins {tables} with one another, and none with a run")
    return found


def _check_new(
    connection: Connection, new: Insert, rows: Sequence[Mapping[str, Any]], projects: frozenset[int]
) -> None:
    table: Any = new.table
    for row in rows:
        if table in OF_RUN:
            run = select(RUN.c.num).where(RUN.c.num == row["run_num"])
            inside = connection.execute(run).first() is not None
        else:
            free = table in (PLAN, DATASET_FILE, DATASET_CHUNK)
            inside = free or (
                table in (RUN, SCHEDULE, DATASET, BATCH, BATCH_FILE) and row.get("project_id") in projects
            )
        if not inside:
            raise RuntimeError(f"A store within projects cannot add this row to {table.name}")


class _Wall:
    """Adds conditions to the clauses of one statement. `leaning`: tables that are held through another one."""

    def __init__(self, projects: frozenset[int]) -> None:
        self.projects = sorted(projects)
        self.leaning: set[str] = set()
        self.anchored = False

    def narrow(self, clause: Any) -> None:
        if conditions := self.conditions(clause):
            # Our own copy, made by the traversal: changed in place, because what holds it holds it already.
            type(clause).where.non_generative(clause, *conditions)

    def conditions(self, clause: Any) -> list[ColumnElement[bool]]:
        parts = list(_parts(clause))
        tables = {named.name: (table, named) for table, named in map(_table, parts) if table is not None}
        return [found for table, named in tables.values() for found in self._conditions(parts, table, named)]

    def _conditions(self, parts: list[Any], table: Table, named: Any) -> Iterator[ColumnElement[bool]]:
        if table in PROJECT_OF:
            self.anchored |= table is RUN
            yield self._inside(named.c[PROJECT_OF[table]])
        elif table is PLAN:
            yield named.c.id.in_(self._runs("plan_id"))
        elif table in OF_RUN:
            yield from self._of_run(parts, named)
        elif table not in OPEN:
            own = ", which is somebody's own" if table in OWN else ""
            raise RuntimeError(f"A store within projects cannot look into {table.name}{own}")

    def _of_run(self, parts: list[Any], named: Any) -> Iterator[ColumnElement[bool]]:
        """Asked once for the run's number, not for each row: a run may have a million."""
        partners = [each for part in parts for each in _partners(part, named.name)]
        if not partners:
            raise RuntimeError(f"A query within projects does not say of which run it wants {named.name}")
        self.leaning.add(named.name)
        for number in {each.value for each in partners if isinstance(each, BindParameter)}:
            self.anchored = True
            yield self._runs("num").where(_THE_RUN.c.num == number).exists()

    def _runs(self, column: str) -> Select[Any]:
        return select(_THE_RUN.c[column]).where(self._inside(_THE_RUN.c.project_id))

    def _inside(self, column: ColumnElement[int]) -> ColumnElement[bool]:
        """A list of one would keep SQLite from reading the runs of a project in the order of its index."""
        return column == self.projects[0] if len(self.projects) == 1 else column.in_(self.projects)


_THE_RUN = RUN.alias("walled")  # by a name of its own: it must not be taken for the query's `run`


def _parts(clause: Any) -> Iterator[Any]:
    """The elements of a clause, without those of the clauses inside it: they have walls of their own."""
    waiting = [clause]
    while waiting:
        each = waiting.pop()
        yield each
        if not isinstance(each, Alias):
            waiting += [part for part in each.get_children() if not isinstance(part, Select)]
    if isinstance(clause, Update | Delete):
        yield clause.table


def _table(part: Any) -> tuple[Table | None, Any]:
    """The table that a part is, with what it is called there."""
    table = part.element if isinstance(part, Alias) else part
    return (table, part) if isinstance(table, Table) else (None, part)


def _partners(part: Any, name: str) -> Iterator[Any]:
    """What a part compares the table's `run_num` with: a number, or the column of another table."""
    if isinstance(part, BinaryExpression) and part.operator is operators.eq:
        for side, other in ((part.left, part.right), (part.right, part.left)):
            column: Any = side
            if getattr(column, "name", "") == "run_num" and column.table.name == name:
                yield other
