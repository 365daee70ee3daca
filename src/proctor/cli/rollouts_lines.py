"""What `proctor rollouts run` and `resume` say while trials are under way: the documented lines, and more with -v, -vv.

quiet   the lines, a spinner in a terminal, a line for each trial that has ended
-v      the same without icons, and a count after each trial
-vv     with all that agents and verifiers print, each line behind its trial's name
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from types import TracebackType
from typing import Self

import click

from proctor.cli.finish import finish
from proctor.errors import Exit
from proctor.figures import dollars, duration, fraction
from proctor.references import RolloutsRef
from proctor.service.context import Context
from proctor.service.results.outcome import PlanOutcome
from proctor.service.rollouts.benchmark import TrialCell, trials_of
from proctor.service.rollouts.local.streaming import LogStream
from proctor.service.runs.pace.progress import Progress
from proctor.types import Plan, Run

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PLAIN_EVERY_S = 10.0
MEASURED_NOTHING = ("sandbox", "verifier", "provider")
NOT_LAUNCHED = "sandbox"
DASHBOARD = "proctor serve, then http://127.0.0.1:8420/rollouts"


def launched(cell: TrialCell) -> str:
    """The documented word for how a trial began: its sandbox could not be opened, or it was launched."""
    return "launch_failed" if cell.state == NOT_LAUNCHED else "launched"


@dataclass(slots=True)
class Lines:
    """Prints what happens, to standard output; to standard error where a JSON document goes to the first.

    The spinner goes to standard error, if that is a terminal; elsewhere a plain line is printed now and then.
    """

    context: Context
    plan: Plan
    verbose: int
    to_stderr: bool
    told: set[tuple[str, int]] = field(default_factory=set)  # trials whose end was said, with their try
    seen: dict[str, int] = field(
        default_factory=dict
    )  # run -> what was counted of it when it was last looked at
    completed: int = 0
    stream: LogStream | None = None
    frames: Iterator[str] = field(default_factory=lambda: cycle(FRAMES))
    spinning: bool = False
    last: float = field(default_factory=time.monotonic)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._still()

    @property
    def refs(self) -> list[RolloutsRef]:
        return [cell.source for cell in self.plan.cells if isinstance(cell.source, RolloutsRef)]

    @property
    def trials(self) -> int:
        return sum(entry.rollouts for ref in self.refs for entry in ref.tasks)

    def begin(self, understood: Sequence[str] = ()) -> None:
        """The documented head, with what is to be said of how the tasks were understood."""
        ref, parallel = self.refs[0], self.plan.cells[0].limits.parallel
        tables = sum(len(ref.tasks) for ref in self.refs)
        # As the document has it where every table means one trial; else its count of tables is not that of trials.
        trials = "" if tables == self.trials else f" trials={self.trials}"
        self.say(f"[rollouts] config={ref.config} name={ref.name} tasks={tables} parallel={parallel}{trials}")
        self.say(f"[rollouts] output={shown(home_of(self.context) / 'rollouts' / ref.name / ref.stamp)}")
        if not self.verbose:
            self.say("[rollouts] Running in quiet mode - use -vv for full output")
        if ref.sandbox == "local":
            self.say(
                "[rollouts] sandbox=local: agents run on this machine without any containment, as was asked"
            )
        for remark in understood:
            self.say(f"[rollouts] {remark}")
        self.say(f"[rollouts] Starting {self.trials} tasks with parallel={parallel}")

    def going_on(self, runs: list[Run]) -> None:
        """The head of a resume: what has ended is not said again."""
        ref = self.refs[0]
        for run in runs:
            cells = list(trials_of(self.context, run))
            self.told |= {(cell.run_id, cell.tries) for cell in cells if cell.ended}
            self.completed += sum(has_outcome(cell) for cell in cells)
        self.say(f"[rollouts] output={shown(home_of(self.context) / 'rollouts' / ref.name / ref.stamp)}")
        self.say(f"[rollouts] Going on: {self.completed} of {self.trials} tasks have an outcome")

    def watch(self, run: Run, progress: Progress) -> None:
        """A few times a second: lines of what ended since, what was printed since, and the count."""
        counted = progress.done + progress.errors
        if self.verbose > 1 or progress.ended or self.seen.get(run.id) != counted:
            self.seen[run.id] = counted
            self._look(run, ended=progress.ended)
        if self.verbose:
            return
        if sys.stderr.isatty():
            self._spin()
        elif time.monotonic() - self.last >= PLAIN_EVERY_S:
            self.last = time.monotonic()
            self.say(self._count())

    def _look(self, run: Run, *, ended: bool) -> None:
        cells = list(trials_of(self.context, run))
        fresh = [cell for cell in cells if cell.slug or has_outcome(cell)]
        fresh = [cell for cell in fresh if (cell.run_id, cell.tries) not in self.told and not cell.phase]
        if self.verbose > 1:
            self._stream(
                run, [*(cell.run_id for cell in cells if cell.state == "working"), *(c.run_id for c in fresh)]
            )
        for cell in sorted(fresh, key=lambda cell: cell.at or 0.0):
            self.told.add((cell.run_id, cell.tries))
            self.completed += has_outcome(cell)
            self.say(self._end_of(cell))
            if self.verbose:
                self.say(self._count())

    def _stream(self, run: Run, names: list[str]) -> None:
        self.stream = self.stream or LogStream(home_of(self.context))
        for line in self.stream.fresh(names):
            self.say(f"[{line.run_id} {line.log}] {line.text}")

    def _end_of(self, cell: TrialCell) -> str:
        icon = "" if self.verbose else "✗ " if cell.state in MEASURED_NOTHING else "✓ "
        score = f", score {fraction(cell.score)}" if cell.score is not None else ", no score"
        taken = ", ".join(
            filter(
                None,
                [
                    duration(cell.seconds) if cell.seconds else "",
                    dollars(cell.cost_usd) if cell.cost_usd else "",
                ],
            )
        )
        about = f"{cell.label} on {cell.task}" + (f", {taken}" if taken else "")
        return f"{icon}Task {cell.run_id} completed ({launched(cell)}): {cell.state}{score} - {about}"

    def _count(self) -> str:
        return f"Running tasks... {self.completed}/{self.trials} completed"

    def _spin(self) -> None:
        sys.stderr.write(f"\r\x1b[K{next(self.frames)} {self._count()}")
        sys.stderr.flush()
        self.spinning = True

    def _still(self) -> None:
        if self.spinning:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self.spinning = False

    def say(self, line: str) -> None:
        self._still()
        click.echo(line, err=self.to_stderr)

    def ended(self, outcome: PlanOutcome) -> None:
        """The documented last line: all have an outcome, or how many, and why the others have none."""
        if self.completed >= self.trials:
            self.say(f"{'' if self.verbose else '✓ '}All {self.trials} tasks completed!")
            return
        why: dict[str, int] = {}
        for result in outcome.evaluation.results if outcome.evaluation else ():
            for slug, count in result.tally.errors.items():
                why[slug] = why.get(slug, 0) + count
        rest = self.trials - self.completed - sum(why.values())
        told = [f"{slug} {count}" for slug, count in sorted(why.items())] + (
            [f"not run {rest}"] if rest > 0 else []
        )
        icon = "" if self.verbose else "✗ "
        self.say(
            f"{icon}{self.completed} of {self.trials} tasks completed; without an outcome: {', '.join(told)}"
        )


def has_outcome(cell: TrialCell) -> bool:
    return cell.state in ("passed", "failed", "limit")


def home_of(context: Context) -> Path:
    return context.settings.home.absolute()


def shown(path: Path) -> str:
    """A path as it is typed from here: relative where it lies below the working directory."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def last_words(context: Context, outcome: PlanOutcome, *, as_json: bool) -> Exit:
    """The table, the verdict, and where everything is; the exit code."""
    if not as_json:
        click.echo("")
    code = finish(outcome, as_json=as_json)
    results = outcome.evaluation.results if outcome.evaluation else ()
    refs = [each.run.cell.source for each in results if isinstance(each.run.cell.source, RolloutsRef)]
    for ref in refs[:1]:
        folder, runs = (
            home_of(context) / "rollouts" / ref.name / ref.stamp,
            home_of(context) / "runs",
        )
        click.echo(
            f"Files: {shown(folder)} (summary.md, manifest.json); a folder for each trial in {shown(runs)}",
            err=True,
        )
        click.echo(f"Dashboard: {DASHBOARD}", err=True)
    return code
