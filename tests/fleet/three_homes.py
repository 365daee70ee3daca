"""Three workers in three homes on one PostgreSQL and one Valkey; what they do beside what one process does."""

from __future__ import annotations

import io
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from valkeys import Valkey

from jobs_world import ENDED, Machine, children_of, end
from proctor.findings import Score
from proctor.service.context import Context
from proctor.service.datasets import kept
from proctor.service.opening.simulate import known_answers
from proctor.service.results.results import shown
from proctor.service.runs import queue
from proctor.service.runs.queue import Ticket
from proctor.settings import read_settings
from proctor.simulator import spawn
from proctor.store import Store
from proctor.store.core.tables import ATTEMPT
from proctor.store.queue import shards
from proctor.types import Cell, Limits, Model, Plan, Run
from programs import environment, started

HOMES = ("one", "two", "three")


@dataclass(frozen=True)
class Compared:
    """Items of a run beside those of one that a single process did."""

    items: int
    lost: int  # without an outcome
    doubled: int  # with more than one
    different: int  # in outcome, answer, score, prompt or place
    scores_differ: bool

    @property
    def same(self) -> bool:
        return not (self.lost or self.doubled or self.different or self.scores_differ)


@dataclass
class ThreeHomes:
    """One database, one Valkey, one model server, and the workers that are started here."""

    folder: Path
    database_url: str
    valkey: Valkey
    n: int
    lease_s: float = 3.0
    machines: dict[str, Machine] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        self.file = self.folder / "sums.jsonl"
        with self.file.open("w") as lines:
            for i in range(self.n):
                row = {
                    "question": f"What is {i} plus {i}?",
                    "choices": [2 * i, 2 * i + 1, 2 * i + 2],
                    "answer": "A",
                }
                lines.write(json.dumps(row) + "\n")
        self.store = self.stack.enter_context(closing(Store.open(self.database_url)))
        self.context = Context(read_settings(self.environ("server")), self.store)
        with self.file.open("rb") as body:
            bytes_ = io.BytesIO(body.read())
        self.dataset = kept.upload(self.context, [kept.Uploaded("sums.jsonl", bytes_)], kept.Wish())

    def environ(self, home: str, **more: str) -> dict[str, str]:
        place = self.folder / home
        place.mkdir(exist_ok=True)
        return environment(place, PROCTOR_DATABASE_URL=self.database_url, PROCTOR_MOST_RUNNING="2", **more)

    def simulate(self, *options: str) -> None:
        answers = known_answers(self.context.settings, [self.file])
        self.server = self.stack.enter_context(spawn(options, answers))

    def start(self, home: str, *, redis: bool = True) -> Machine:
        more = {"PROCTOR_REDIS_URL": self.valkey.url} if redis else {}
        given = self.environ(home, OLLAMA_HOST=self.server.url, **more)
        place = Path(given.pop("PROCTOR_HOME"))
        machine = Machine(place, started(place, ["worker", "--lease", f"{self.lease_s:g}"], **given))
        self.stack.callback(end, machine.process)
        self.machines[home] = machine
        return machine

    def stop(self, home: str) -> None:
        end(self.machines.pop(home).process)

    def submit(self, parallel: int | None) -> Run:
        cell = Cell(Model("ollama", "sim"), self.dataset.ref, limits=Limits(parallel=parallel))
        return queue.submit(self.context, Plan((cell,)), Ticket("ann"))

    def until(self, there: Callable[[], object], what: str, longest_s: float) -> None:
        deadline = time.monotonic() + longest_s
        while not there():
            said = {home: "".join(machine.said[-12:]) for home, machine in self.machines.items()}
            assert time.monotonic() < deadline, f"it hangs: {what}\n{said}"
            time.sleep(0.05)

    def settled(self, run: Run) -> int:
        return self.store.run(run.id).settled

    def ended(self, run: Run) -> bool:
        return self.store.run(run.id).status in ENDED

    def owner(self, run: Run) -> str:
        """The home whose worker owns the run."""
        owner = self.store.owner_of(run.id) or ""
        return next((home for home, machine in self.machines.items() if self._name(machine) in owner), "")

    def helpers(self, run: Run) -> set[str]:
        """The homes that are at work on the run's shards, but for its owner's."""
        standing = shards.standing(self.store, run.id, now=time.time())
        owners = standing.owners if standing else ()
        names = {home: self._name(machine) for home, machine in self.machines.items()}
        found = {home for home, name in names.items() if any(name in owner for owner in owners)}
        return found - {self.owner(run)}

    def _name(self, machine: Machine) -> str:
        first = machine.said[0] if machine.said else " nobody,"
        return first.split(" ", 1)[1].partition(",")[0]

    def compared(self, run: Run, alone: Run) -> Compared:
        """Item by item: outcome, answer, score, what was asked, and where in the run."""

        def rows(of: Run) -> dict[tuple[str, int], tuple[object, ...]]:
            return {
                (row.item_id, row.repeat): (row.outcome, row.answer, row.score, row.item_hash, row.position)
                for row in self.store.latest(of.id)
            }

        here, there = rows(run), rows(alone)
        with self.store.reading() as connection:
            query = ATTEMPT.select().with_only_columns(ATTEMPT.c.item_id, ATTEMPT.c.repeat)
            all_of_them = connection.execute(query.where(ATTEMPT.c.run_num == self.store.number(run.id)))
            times = Counter((row.item_id, row.repeat) for row in all_of_them)
        return Compared(
            items=len(here),
            lost=len(there.keys() - here.keys()),
            doubled=sum(count > 1 for count in times.values()) + len(here.keys() - there.keys()),
            different=sum(here[key] != there[key] for key in here.keys() & there.keys()),
            scores_differ=self.scores(run) != self.scores(alone),
        )

    def scores(self, run: Run) -> tuple[Score, ...]:
        return shown(self.store, self.store.run(run.id)).scores


def killed_early(here: ThreeHomes, run: Run, *, longest_s: float) -> None:
    """However slow or quick the machine: hold the owner until another helps; kill its machine, then Valkey.

    Valkey is started again when the run has a new owner.
    """
    here.until(
        lambda: shards.standing(here.store, run.id, now=time.time()), "the owner has divided it", longest_s
    )
    dead = here.owner(run)
    for process in children_of(run):
        os.kill(process, signal.SIGSTOP)
    here.until(lambda: here.helpers(run), "another helps", longest_s)
    here.machines.pop(dead).kill()
    here.valkey.kill()
    assert not here.ended(run)
    here.until(lambda: here.owner(run) or here.ended(run), "another owns it", longest_s)
    here.valkey.start()


def killed_on_the_way(here: ThreeHomes, run: Run, *, longest_s: float) -> str:
    """At a tenth kill the owner's machine; when another has gone on with it, Valkey; start that again soon.

    Tells when.
    """
    here.until(
        lambda: here.helpers(run) and here.settled(run) > here.n // 10, "helpers are at work", longest_s
    )
    told, before = [f"its owner's machine at {here.settled(run):,} items"], here.settled(run)
    here.machines.pop(here.owner(run)).kill()
    here.until(lambda: here.owner(run), "another owns the run", longest_s)
    here.until(lambda: here.settled(run) > before + here.n // 10, "it gets on", longest_s)
    told.append(f"Valkey at {here.settled(run):,}")
    here.valkey.kill()
    before = here.settled(run)
    here.until(lambda: here.settled(run) > before + here.n // 20 or here.ended(run), "it goes on", longest_s)
    here.valkey.start()
    told.append(f"started again at {here.settled(run):,}")
    return "; ".join(told)


@contextmanager
def three_homes(folder: Path, database_url: str, valkey: Valkey, n: int) -> Iterator[ThreeHomes]:
    made = ThreeHomes(folder, database_url, valkey, n)
    with made.stack:
        yield made
