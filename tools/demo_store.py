"""A store with a month of history for the dashboard: the same runs each time, all of them on sample rows.

    python tools/demo_store.py FOLDER

FOLDER becomes a PROCTOR_HOME. The models are proctor's own simulator under invented names, asked through
Ollama's protocol by the same code that asks real ones, so everything on the pages was measured by it; only
the days on which it happened are moved into the past. `make screenshots` and the browser tests look at it.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import select, update

from demo_judged import judged_runs
from proctor.engine.retry import Retry
from proctor.plan.build import AS_WRITTEN
from proctor.references import BatchRef, ExamRef
from proctor.service.admin import access
from proctor.service.context import Context, open_store
from proctor.service.datasets.kept import Uploaded, Wish, upload
from proctor.service.kinds.exams import answers_to
from proctor.service.opening.simulate import known_answers
from proctor.service.runs import queue, schedules
from proctor.service.runs.lifecycle import start
from proctor.settings import Settings, read_settings
from proctor.simulator.process import spawn
from proctor.sources.exams.source import open_suite
from proctor.store import Store
from proctor.store.core.tables import ATTEMPT, JOB, PLAN, PULSE, RUN
from proctor.store.queue.entries import Ticket
from proctor.store.queue.schedules import NewSchedule
from proctor.store.write import notes
from proctor.store.write.notes import Note
from proctor.types import Cell, Limits, Model, Plan, Run

QUESTIONS = Path(__file__).parents[1] / "examples" / "questions.csv"
DAY_S = 86400.0
NIGHTS = (29, 23, 17, 11, 5, 0)  # days ago
SUITES = ("glue", "superglue", "mmlu")
LATENCY_S = {"demo-large": 0.04, "demo-medium": 0.02, "demo-small": 0.008}
GUESSER = Model("baseline", "majority")
# Invented, so that the pages have costs to show: US dollars per million tokens, in and out.
PRICES = {"demo-large": (2.5, 10.0), "demo-medium": (0.5, 1.5), "demo-small": (0.1, 0.3)}
# What the models get right, from the first night to the last; `demo-medium` was improved on the way.
ACCURACY = {
    "demo-large": (0.86, 0.87, 0.86, 0.88, 0.87, 0.88),
    "demo-medium": (0.70, 0.71, 0.71, 0.79, 0.80, 0.81),
    "demo-small": (0.60, 0.58, 0.61, 0.60, 0.59, 0.62),
}
FAULTS = ("--truncate-rate", "0.02", "--refuse-rate", "0.01", "--unclear-rate", "0.03")
SEED = 20
BATCH_REQUESTS = 60
SUMS = 600
USUAL_RETRY = Retry()
NO_LIMITS = Limits()
KEPT = "demo.json"
SECOND_PROJECT = "Nightly"
REMARKS = (
    (True, "The reply gives the label twice, once negated. Look at the extractor."),
    (False, "Right for the wrong reason: the explanation contradicts the answer."),
    (True, "Is the target wrong? Two annotators read it the other way."),
    (False, "Same mistake in all models of this family."),
)


@dataclass(frozen=True, slots=True)
class Demo:
    """What was built, by the names that pages are visited by."""

    home: Path
    best: str  # a completed run of the last night, with pulses, notes and flags
    second: str  # comparable with `best`
    failed: str
    cancelled: str
    partial: str
    running: str
    waiting: str
    projects: tuple[int, ...]
    noted: tuple[str, ...]  # items of `best` with a note
    dataset: str  # questions of one's own
    batch: str  # requests of a file, and the same ones sent to another model
    other_batch: str
    judged: str  # open questions, their answers judged and in part labelled; and another model's
    other_judged: str
    decided: str  # two models that were asked side by side until it was decided
    other_decided: str

    @classmethod
    def kept(cls, home: Path) -> Demo:
        """The store that was built in this folder."""
        known: dict[str, Any] = json.loads((home / KEPT).read_text())
        known |= {name: tuple(known[name]) for name in ("projects", "noted")}
        return cls(**known, home=home)

    def keep(self) -> Demo:
        """Write the names down beside the store."""
        known = asdict(self)
        del known["home"]
        (self.home / KEPT).write_text(json.dumps(known, indent=1))
        return self


def build(home: Path) -> Demo:
    """Fill an empty folder. Takes about half a minute on two cores."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "prices.toml").write_text(
        "".join(f'["ollama/{m}"]\ninput = {i}\noutput = {o}\n' for m, (i, o) in PRICES.items())
    )
    now = time.time()
    settings = read_settings({"PROCTOR_HOME": str(home), "PROCTOR_DATA": "sample"})
    with open_store(settings) as store:
        second = access.create_project(Context(settings, store), SECOND_PROJECT, by="ada")
        for place, ago in enumerate(NIGHTS):
            suites = SUITES if place in (2, len(NIGHTS) - 1) else SUITES[:1]
            made = _night(store, settings, place, suites)
            _move(store, made, now - ago * DAY_S - 3 * 3600.0)
            _into_project(store, made if place in (1, 3) else [], second.id)
        with simulator(settings, -1, latency_s=0.3) as there:
            [best] = _move(store, [_slow(store, there)], now - 3600.0)
            [partial] = _move(store, [_partial(store, there)], now - 2 * DAY_S)
            running = _partial(store, there)
            batch, other_batch = _batches(store, there)
        decided = _move(store, _decided(store, settings), now - 3 * DAY_S)
        [failed] = _move(store, [_failed(store, settings)], now - 4 * DAY_S)
        cancelled, waiting = _queued(store, settings, running)
        _schedule(store, second.id)
        noted = _remarks(store, best)
        judged = judged_runs(Context(settings, store), home)
        with QUESTIONS.open("rb") as file:
            dataset = upload(Context(settings, store), [Uploaded("support.csv", file)], Wish(user="ada"))
        demo = Demo(
            home=home,
            best=best.id,
            second=_beside(store, best).id,
            failed=failed.id,
            cancelled=cancelled.id,
            partial=partial.id,
            running=running.id,
            waiting=waiting.id,
            projects=(1, second.id),
            noted=noted,
            dataset=dataset.id,
            batch=batch.id,
            other_batch=other_batch.id,
            judged=judged.first,
            other_judged=judged.second,
            decided=decided[0].id,
            other_decided=decided[1].id,
        )
    return demo.keep()


@contextmanager
def simulator(settings: Settings, night: int, *, latency_s: float) -> Iterator[Settings]:
    """Settings whose Ollama server is a simulator that knows the sample rows and behaves as on that night."""
    exams = [open_suite(ExamRef("suite", s, preset="full", rows="sample"), settings.home) for s in SUITES]
    known = {key: answer for exam in exams for key, answer in answers_to(exam).items()}
    models = [word for name, found in ACCURACY.items() for word in ("--model", f"{name}={found[night]}")]
    pace = ["--latency", str(latency_s), "--sigma", "0.6"]
    with spawn(["--seed", str(SEED), *FAULTS, *models, *pace], known) as running:
        yield replace(settings, ollama_host=running.url.rstrip("/"))


def cell(model: Model, suite: str, limits: Limits = NO_LIMITS) -> Cell:
    return Cell(model, ExamRef("suite", suite, preset="full", rows="sample"), limits=limits)


def _night(store: Store, settings: Settings, night: int, suites: Sequence[str]) -> list[Run]:
    made: list[Run] = []
    for name, latency_s in LATENCY_S.items():
        with simulator(settings, night, latency_s=latency_s) as there:
            made += _each(store, there, Model("ollama", name), suites)
    return made + _each(store, settings, GUESSER, suites)


def _each(store: Store, settings: Settings, model: Model, suites: Sequence[str]) -> list[Run]:
    plans = [Plan((cell(model, suite),), name=f"nightly {suite}") for suite in suites]
    return [run for plan in plans for run in _started(store, plan, settings)]


def _started(store: Store, plan: Plan, settings: Settings, *, retry: Retry = USUAL_RETRY) -> list[Run]:
    outcome = start(Context(settings, store), plan, retry=retry)
    assert outcome.evaluation is not None, outcome.error
    return [store.run(result.run.id) for result in outcome.evaluation.results]


def _slow(store: Store, settings: Settings) -> Run:
    """Slow enough to leave a pulse: about ten seconds."""
    plan = Plan((cell(Model("ollama", "demo-large"), "mmlu", Limits(parallel=6)),), name="mmlu by hand")
    return _started(store, plan, settings)[0]


def _partial(store: Store, settings: Settings) -> Run:
    """Its budget of tokens is used up on the way."""
    limits = Limits(parallel=8, max_total_tokens=8000)
    plan = Plan((cell(Model("ollama", "demo-medium"), "mmlu", limits),), name="mmlu on a budget")
    return _started(store, plan, settings)[0]


def _batches(store: Store, settings: Settings) -> list[Run]:
    """The first questions of a suite as a file of requests, sent to two models."""
    exam = open_suite(ExamRef("suite", "glue", preset="full", rows="sample"), settings.home)
    path = settings.home / "support-requests.jsonl"
    lines = []
    for number, item in enumerate(islice(exam.items(), BATCH_REQUESTS)):
        said = [asdict(message) for message in item.ask.messages]
        name = f"team-{number % 3}/request-{number:03}"
        lines.append({"custom_id": name, "url": "/v1/chat/completions", "body": {"messages": said}})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    source = BatchRef(str(path), candidate="^(team-[0-9])/")
    models = [Model("ollama", name) for name in ("demo-large", "demo-small")]
    plans = [
        Plan((Cell(model, source, AS_WRITTEN, Limits(parallel=16)),), name="support") for model in models
    ]
    return [_started(store, plan, settings)[0] for plan in plans]


def _decided(store: Store, settings: Settings) -> list[Run]:
    """Two models on sums, of which the better one is known long before the last."""
    file = settings.home / "sums.csv"
    rows = [f"What is {n} plus {n}?,{2 * n},{2 * n + 1},{2 * n + 2},A" for n in range(SUMS)]
    file.write_text("\n".join(["question,A,B,C,answer", *rows]) + "\n")
    shares = {name: ACCURACY[name][-1] for name in ("demo-large", "demo-small")}
    models = [word for name, share in shares.items() for word in ("--model", f"{name}={share}")]
    with spawn(["--seed", str(SEED), *models], known_answers(settings, [file])) as running:
        there = replace(settings, ollama_host=running.url.rstrip("/"))
        limits = Limits(parallel=4, until_decided=True)
        source = ExamRef("file", str(file))
        cells = tuple(Cell(Model("ollama", name), source, limits=limits) for name in shares)
        return _started(store, Plan(cells, name="sums until decided"), there)


def _failed(store: Store, settings: Settings) -> Run:
    """Every connection is closed without an answer."""
    plan = Plan((cell(Model("simulator", "sim-crashing"), "glue"),), name="a server that crashes")
    return _started(store, plan, settings, retry=Retry(most=1))[0]


def _queued(store: Store, settings: Settings, running: Run) -> tuple[Run, Run]:
    """One job cancelled while it waited, one that waits, and `running` as a job at work elsewhere."""
    sim = cell(Model("simulator", "sim"), "superglue")
    context = Context(settings, store)
    cancelled = queue.submit(context, Plan((sim,), name="not needed"), Ticket("ada", 1, "normal"))
    queue.cancel(context, cancelled.id)
    waiting = queue.submit(context, Plan((sim,), name="by and by"), Ticket("ada", 1, "low"))
    now = time.time()
    num = store.number(running.id)
    # Its worker seems to be on another machine, alive for a day: nothing here takes it over.
    at_work = {"status": "running", "owner": "elsewhere", "lease_until": now + DAY_S, "finished_at": None}
    job = {"run_num": num, "user": "ada", "priority": 1, "run_after": now, "tries": 1}
    with store.writing() as connection:
        connection.execute(update(RUN).where(RUN.c.num == num).values(**at_work, stopped=None, summary=None))
        connection.execute(JOB.insert(), job)
        # Nobody is to start it while the pages are looked at.
        away = update(JOB).where(JOB.c.run_num == store.number(waiting.id))
        connection.execute(away.values(run_after=now + DAY_S))
    return cancelled, waiting


def _schedule(store: Store, project_id: int) -> None:
    wanted = NewSchedule(
        "GLUE every night", "0 3 * * *", cell(Model("simulator", "sim"), "glue"), "ada", project_id
    )
    schedules.add(Context(read_settings({}), store), wanted)


def _remarks(store: Store, run: Run) -> tuple[str, ...]:
    """Notes and flags on items that were not answered rightly, always the same."""
    wrong = (
        select(ATTEMPT.c.item_id)
        .where(ATTEMPT.c.run_num == store.number(run.id), ATTEMPT.c.outcome != "correct")
        .order_by(ATTEMPT.c.position)
    )
    with store.reading() as connection:
        items = [row.item_id for row in connection.execute(wrong)]
    chosen = random.Random(SEED).sample(items, min(len(items), len(REMARKS)))
    for item, (flag, text) in zip(chosen, REMARKS, strict=False):
        notes.add(store, run.id, Note(0, item, 0, "ada", time.time() - 600.0, flag, text))
    return tuple(chosen)


def _beside(store: Store, run: Run) -> Run:
    """The newest complete run of another model that was asked the same."""
    others = store.runs(limit=None, source="mmlu", model="ollama/demo-medium")
    return next(o for o in others if o.comparability == run.comparability and not o.partial)


def _move(store: Store, runs: Sequence[Run], to: float) -> Sequence[Run]:
    """Let the first of the runs begin at `to` and the others after it, as far apart as they were; gives the runs."""
    by = to - min(run.created_at for run in runs)
    times = (RUN.c.created_at, RUN.c.started_at, RUN.c.finished_at)
    with store.writing() as connection:
        for run in runs:
            num = store.number(run.id)
            connection.execute(update(RUN).where(RUN.c.num == num).values({c: c + by for c in times}))
            for table in (ATTEMPT, PULSE):
                moved = update(table).where(table.c.run_num == num)
                connection.execute(moved.values(at=table.c.at + by))
        plans = {run.plan_id for run in runs}
        connection.execute(update(PLAN).where(PLAN.c.id.in_(plans)).values(created_at=PLAN.c.created_at + by))
    return runs


def _into_project(store: Store, runs: Sequence[Run], project_id: int) -> None:
    with store.writing() as connection:
        chosen = RUN.c.id.in_([run.id for run in runs])
        connection.execute(update(RUN).where(chosen).values(project_id=project_id))


def main(words: Sequence[str]) -> int:
    if len(words) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    home = Path(words[0])
    if (home / "proctor.db").exists():
        print(f"{home} holds a store already; name a new folder", file=sys.stderr)
        return 2
    print(build(home))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
