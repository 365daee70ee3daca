"""Workers in homes of their own on one PostgreSQL, on benchmarks of a small task; what they do beside a single process.

What belongs to the first home lies below it alone: the others have the task and the agent's script from the database.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boxed import image_in
from trials import MEND, task_folder

from jobs_world import ENDED, Machine, end
from proctor.references import RolloutsRef
from proctor.sandbox.places import sweep
from proctor.service.context import Context
from proctor.service.output.trial_rows import TrialInFiles, TrialReader
from proctor.service.rollouts.starting import RolloutsRequest, start
from proctor.settings import Settings, read_settings
from proctor.store import Store
from proctor.store.core.tables import ATTEMPT
from proctor.store.queue import shards
from proctor.types import Run
from programs import environment, started

HOSTS = ("one", "two", "three")
TASK, AGENT = "double", "worker"
# Every third rollout mends nothing, and what each leaves is its own; so a trial that stands in for another is seen.
SCRIPT = f"""
if [ $((TASK_ROLLOUT % 3)) != 2 ]; then
{MEND}
fi
echo "rollout $TASK_ROLLOUT" > note.txt
sleep {{seconds}}
"""
LIMITS = {"memory_mb": 256, "disk_mb": 64, "agent_s": 60}


@dataclass
class ThreeHosts:
    """One database, and workers with a home each."""

    folder: Path
    database_url: str
    trials: int
    seconds: str = "0"  # that each agent waits at the end of its work
    environ: Mapping[str, str] = field(default_factory=dict)
    lease_s: float = 3.0
    machines: dict[str, Machine] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        for host in HOSTS:
            image_in(self.home(host))
            self.stack.callback(sweep, self.home(host) / "boxes")
        self.store = self.stack.enter_context(closing(Store.open(self.database_url)))

    def furnish(self) -> None:
        """What a benchmark is of, in the first home."""
        first = self.home(HOSTS[0])
        task_folder(first / "tasks" / "prepared" / TASK, told={"task_id": TASK})
        (first / "agent.sh").write_text(SCRIPT.format(seconds=self.seconds))
        (first / "proctor.toml").write_text(
            f'[agents.{AGENT}]\nkind = "scripted"\nscript = "{first}/agent.sh"\n'
        )

    def lose(self) -> None:
        """From now on nobody sees it there any more."""
        shutil.rmtree(self.home(HOSTS[0]) / "tasks")
        (self.home(HOSTS[0]) / "agent.sh").unlink()

    def home(self, host: str) -> Path:
        return self.folder / host

    def variables(self, host: str) -> dict[str, str]:
        more = {"PROCTOR_DATABASE_URL": self.database_url, "PROCTOR_MOST_RUNNING": "2"}
        return environment(self.home(host)) | more | dict(self.environ)

    def settings(self, host: str) -> Settings:
        return read_settings(self.variables(host))

    def context(self, host: str) -> Context:
        return Context(self.settings(host), self.store)

    def submit(self, name: str, parallel: int) -> Run:
        """As `POST /api/v1/rollouts` of a server in the first home does; what it is of is nowhere else to be seen."""
        self.furnish()
        body = {
            "name": name,
            "tasks": [{"prepared_dir": TASK, "agent": AGENT, "rollouts": self.trials}],
            "parallel": parallel,
            "limits": LIMITS,
        }
        (run,) = start(self.context(HOSTS[0]), RolloutsRequest.model_validate(body), "ann")
        self.lose()
        return run

    def start(self, host: str) -> Machine:
        given = self.variables(host)
        place = Path(given.pop("PROCTOR_HOME"))
        machine = Machine(place, started(place, ["worker", "--lease", f"{self.lease_s:g}"], **given))
        self.stack.callback(end, machine.process)
        self.machines[host] = machine
        return machine

    def stop(self, host: str) -> None:
        end(self.machines.pop(host).process)

    def kill(self, host: str) -> None:
        """The machine loses its power: nothing of its home is ever seen again."""
        self.machines.pop(host).kill()
        sweep(self.home(host) / "boxes")
        shutil.rmtree(self.home(host) / "runs", ignore_errors=True)

    def until(self, there: Callable[[], object], what: str, longest_s: float) -> None:
        deadline = time.monotonic() + longest_s
        while not there():
            said = {host: "".join(machine.said[-12:]) for host, machine in self.machines.items()}
            logs = {
                str(path): path.read_text()[-3000:]
                for host in HOSTS
                for path in self.home(host).glob("logs/*.log")
            }
            assert time.monotonic() < deadline, f"it hangs: {what}\n{said}\n{logs}"
            time.sleep(0.05)

    def ended(self, run: Run) -> bool:
        return self.store.run(run.id).status in ENDED

    def settled(self, run: Run) -> int:
        return self.store.run(run.id).settled

    def owner(self, run: Run) -> str:
        told = self.store.owner_of(run.id) or ""
        return next((host for host, name in self.names().items() if name in told), "")

    def divided(self, run: Run) -> bool:
        return shards.standing(self.store, run.id, now=time.time()) is not None

    def at_work(self, run: Run) -> set[str]:
        standing = shards.standing(self.store, run.id, now=time.time())
        owners = [self.store.owner_of(run.id) or "", *(standing.owners if standing else ())]
        return {host for host, name in self.names().items() if any(name in owner for owner in owners)}

    def names(self) -> dict[str, str]:
        told = {
            host: machine.said[0] if machine.said else " nobody," for host, machine in self.machines.items()
        }
        return {host: first.split(" ", 1)[1].partition(",")[0] for host, first in told.items()}

    def shown(self, run: Run, host: str) -> Sequence[TrialInFiles]:
        return TrialReader(self.store, self.settings(host)).trials([self.store.run(run.id)])


@dataclass(frozen=True)
class TrialsCompared:
    """Trials of a run beside those of one that a single process did."""

    trials: int
    lost: int  # without a verdict
    doubled: int  # with more than one row
    different: int  # in task, rollout, score, state or patch

    @property
    def same(self) -> bool:
        return not (self.lost or self.doubled or self.different)


def compared(here: ThreeHosts, run: Run, alone: Run) -> TrialsCompared:
    def rows(of: Run) -> dict[tuple[str, int], tuple[Any, ...]]:
        return {
            (trial.task, trial.rollout): (
                trial.state,
                None if trial.attempt is None else trial.attempt.score,
                trial.record and trial.record.hashes["patch"],
                trial.run_id.rpartition("-")[2],
            )
            for trial in here.shown(of, HOSTS[0])
        }

    ours, theirs = rows(run), rows(alone)
    with here.store.reading() as connection:
        query = ATTEMPT.select().with_only_columns(ATTEMPT.c.item_id, ATTEMPT.c.repeat)
        found = connection.execute(query.where(ATTEMPT.c.run_num == here.store.number(run.id)))
        times = Counter((row.item_id, row.repeat) for row in found)
    return TrialsCompared(
        trials=len(ours),
        lost=sum(score is None for _, score, _, _ in ours.values()) + len(theirs.keys() - ours.keys()),
        doubled=sum(count > 1 for count in times.values()) + len(ours.keys() - theirs.keys()),
        different=sum(ours[key] != theirs[key] for key in ours.keys() & theirs.keys()),
    )


@contextmanager
def three_hosts(folder: Path, database_url: str, trials: int, **more: Any) -> Iterator[ThreeHosts]:
    made = ThreeHosts(folder, database_url, trials, **more)
    with made.stack:
        yield made


def stamp_of(run: Run) -> str:
    assert isinstance(run.cell.source, RolloutsRef)
    return run.cell.source.stamp
