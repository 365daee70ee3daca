"""Runs of invented models in a real store, written as an engine at work writes them: by claim, writer and close.

What is asked and how comes of a run that proctor made itself (replies read from a file); the others are its
equals with answers of their own. So a thousand runs take a minute, and whatever reads them finds real runs.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from proctor.references import ExamRef
from proctor.service.context import Context, open_context
from proctor.service.deciding import GIVEN_UP, Decider
from proctor.service.results.results import close
from proctor.service.runs.lifecycle import open_sources, start
from proctor.settings import Settings, read_settings
from proctor.store import AttemptWriter
from proctor.store.core.runs import Ending
from proctor.types import (
    Attempt,
    Cell,
    Failure,
    Grade,
    Item,
    Limits,
    Model,
    Outcome,
    Plan,
    Reply,
    Run,
    Status,
)

OWNER = "forks"
CHOICES = ("north", "south", "east", "west")
LETTERS = "ABCD"
LEASE_S = 3600.0


@dataclass(frozen=True, slots=True)
class Asked:
    """An exam as one run was asked it: the run, and its items in their order."""

    run: Run
    items: tuple[Item, ...]


@dataclass(slots=True)
class Hall:
    """A store in which exams are sat; `exams` by the names that they have here."""

    context: Context
    exams: Mapping[str, Asked]

    def begun(self, model: str, exam: str) -> Run:
        """A run at work, with nothing answered yet."""
        return self._begun([model], exam)[0]

    def _begun(self, models: Sequence[str], exam: str, limits: Limits | None = None) -> list[Run]:
        of, store, now = self.exams[exam], self.context.store, time.time()
        usual = of.run.cell
        cells = [replace(usual, model=Model("replay", m), limits=limits or usual.limits) for m in models]
        plan = store.add_plan(Plan(tuple(cells)), now=now)
        found = []
        for cell in cells:
            run = store.add_run(
                plan,
                cell,
                source_title=of.run.source_title,
                planned=of.run.planned,
                manifest=of.run.manifest,
                comparability=of.run.comparability,
                sample=False,
                now=now,
                exam=of.run.exam,
            )
            found.append(store.claim(run.id, owner=OWNER, now=now, lease_s=LEASE_S))
        return found

    def answer(self, run: Run, exam: str, right: Sequence[bool | None], start: int = 0) -> None:
        """Keep a stretch of replies from position `start` on; None is an item whose reply never came."""
        items = self.exams[exam].items[start : start + len(right)]
        with AttemptWriter(self.context.store, run.id, owner=OWNER, linger_s=0.0) as writer:
            for place, (item, ok) in enumerate(zip(items, right, strict=True), start):
                writer.keep(_attempt(item, place, ok))

    def side_by_side(self, exam: str, sides: Mapping[str, Sequence[bool | None]]) -> list[str]:
        """The ids of runs of one plan that were asked in step until it was decided, and stopped there."""
        store, items = self.context.store, self.exams[exam].items
        runs = self._begun(list(sides), exam, Limits(until_decided=True))
        decider, asked = Decider(runs), 0
        for place, item in enumerate(items):
            asked = place + 1
            for run, right in zip(runs, sides.values(), strict=True):
                decider.settled(run.id, _attempt(item, place, right[place], GIVEN_UP - 1))
            if decider.changed and decider.look().over:
                break
        said = f"stopped by --until-decided: {decider.look().said}" if asked < len(items) else None
        for run, right in zip(runs, sides.values(), strict=True):
            with AttemptWriter(store, run.id, owner=OWNER, linger_s=0.0) as writer:
                for place in range(asked):
                    writer.keep(_attempt(items[place], place, right[place], GIVEN_UP - 1))
            self.end(run, said)
        return [run.id for run in runs]

    def end(self, run: Run, stopped: str | None = None) -> str:
        ending = Ending(owner=OWNER, now=time.time(), elapsed_s=1.0, stopped=stopped)
        close(self.context.store, run.id, Status.COMPLETED, **ending)
        return run.id

    def sat(self, model: str, exam: str, right: Sequence[bool | None]) -> str:
        """The id of a run that has ended."""
        run = self.begun(model, exam)
        self.answer(run, exam, right)
        return self.end(run)


def _attempt(item: Item, place: int, right: bool | None, failed_before: int = 0) -> Attempt:
    if right is None:
        failed = Failure("network", "the connection broke", retryable=True)
        grade = Grade(Outcome.ERROR, None)
        return Attempt(item, place, 0, failed_before, time.time(), grade, failure=failed)
    target = item.target or LETTERS[0]
    answer = target if right else LETTERS[(LETTERS.index(target) + 1) % len(LETTERS)]
    outcome = Outcome.CORRECT if right else Outcome.WRONG
    reply = Reply(f"Answer: {answer}", latency_s=0.1)
    return Attempt(item, place, 0, 0, time.time(), Grade(outcome, float(right), answer, 1), reply=reply)


# Exams and their first runs ------------------------------------------------------------------------


def questions(path: Path, n: int, copies: int = 1, about: str = "W") -> Path:
    """A file of `n` rows with four choices; each question stands in it `copies` times, under other ids."""
    lines = []
    for i in range(n):
        which = i % (n // copies)  # the copies of a question stand far apart
        text = f"{about}hich way leads from the well to hill {which}, past {which + 1} houses?"
        row = {"id": f"q{i}", "question": text, "choices": CHOICES, "answer": LETTERS[which % len(LETTERS)]}
        lines.append(json.dumps(row) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


def subjects(folder: Path, tasks: int, n: int) -> Path:
    """A suite of so many tasks with `n` questions each: the file that describes it."""
    lines = ['[suite]\nname = "subjects"\ntitle = "Subjects"\naggregate = "micro"\n']
    for k in range(tasks):
        questions(folder / f"s{k}.jsonl", n, about=f"In town {k}: w")
        lines.append(f'[[tasks]]\nkey = "s{k}"\nfile = "s{k}.jsonl"\n')
    path = folder / "subjects.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def asked(home: Path, ref: ExamRef) -> Asked:
    """An exam as proctor itself asks it: of a model whose replies are read from a file, in a store of its own."""
    replies = home / "replies.jsonl"
    plan = Plan((Cell(Model("replay", "first"), ref),), replies=str(replies))
    with open_context(settings_of(home)) as context:
        source = open_sources(plan, context.settings)[0]
        items = tuple(source.items())
        lines = [json.dumps({"id": item.id, "reply": "Answer: A"}) + "\n" for item in items]
        replies.write_text("".join(lines), encoding="utf-8")
        ended = start(context, plan)
        assert ended.evaluation is not None, ended.error
        return Asked(ended.evaluation.results[0].run, items)


@contextmanager
def hall(exams: Mapping[str, Asked]) -> Iterator[Hall]:
    """A store without any run, in a folder of its own that is taken away at the end."""
    with tempfile.TemporaryDirectory(prefix="forks-", ignore_cleanup_errors=True) as folder:
        shutil.copy(_empty(), Path(folder) / "proctor.db")
        with open_context(settings_of(Path(folder))) as context:
            yield Hall(context, exams)


@cache
def _empty() -> Path:
    """A database with its tables and nothing in them, made once a process: to make them takes longer than to copy."""
    home = Path(tempfile.mkdtemp(prefix="forks-empty-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    with open_context(settings_of(home)):
        pass
    return home / "proctor.db"


def settings_of(home: Path) -> Settings:
    return read_settings({"PROCTOR_HOME": str(home), "PROCTOR_DATA": "sample"})
