"""What a report says of agents on tasks: tables of their trials with every denominator, and how it was done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from proctor.figures import amount, dollars, duration, fraction
from proctor.findings import Evaluation
from proctor.references import RolloutsRef
from proctor.report.blocks import Table
from proctor.report.pairs import NONE, value_and_interval
from proctor.report.words import labels, names_joined, once, state, unique
from proctor.trial_findings import RunTrials, TaskTrials, TrialMatrix
from proctor.types import Run

MOST_TASKS = 200  # in the table of tasks

TASK_WORDS = (
    (r"\bitems\b", "tasks"),
    (r"\bitem\b", "task"),
    (r"\bmodels\b", "agents"),
    (r"\bmodel\b", "agent"),
    (r"\bModel\b", "Agent"),
    (r"\bitem's\b", "task's"),
    (r"\baskings\b", "rollouts"),
    (r"\bwas asked several times\b", "was rolled out several times"),
    (r"\bquestions, prompts or settings\b", "tasks, limits or settings"),
    (r"\bhave given each of the two answers to an task\b", "have done what each of the two did on a task"),
    (r"\ban task\b", "a task"),
)

SCORING = (
    "A trial is one rollout of one task by one agent: the agent works in a sandbox, its patch is taken, and the task's "
    "tests judge the patch in a clean sandbox that the agent never saw. Its score is the share of the rubrics' weights "
    "whose tests passed, and it passes with a score of at least {score}."
)
RATE = (
    "The success rate (success_rate) is the mean over tasks of the share of a task's scored trials that passed, and "
    "the mean score (mean_score) that of their scores: every task weighs alike, however often it was rolled out, and n "
    "counts tasks."
)
UNSCORED = (
    "An agent that failed, or was ended by a limit, is scored by its patch as it stood. A trial whose sandbox, "
    "verifier or model server broke says nothing of the agent: it is counted, left out of every figure, and can be "
    "tried again alone."
)
PASSES = (
    "pass@k is the chance that at least one of k rollouts of a task passes: the share of the choices of k of its "
    "scored trials that hold a passed one, which has no bias (Chen et al. 2021); pass^k is the chance that all k pass "
    "(Yao et al. 2024). Both are means over the tasks that have k scored trials, and say of how many."
)
PRICE = (
    "The price of a success is what all scored trials took together, divided by those that passed; it is left out "
    "where not every scored trial tells its cost."
)
SAME_TASKS = (
    "Beside the test over tasks stands one on these very tasks: of the two agents' trials of a task any may be either "
    "agent's, all ways of it are gone through, and the p-value is the share of ways with a difference at least as "
    "large. It says whether the luck of the rollouts can have made the difference, and nothing of other tasks."
)
LOCAL = "The sandbox of {who} was local: the agents worked on the machine itself and were not contained."


def of_agents(evaluation: Evaluation) -> bool:
    """Whether all that is reported are agents on tasks."""
    return bool(evaluation.results) and all(r.trials is not None for r in evaluation.results)


def in_tasks(text: str) -> str:
    """A sentence on models and items, of agents and tasks.

    >>> in_tasks("Every pair of models, on the items both have scored")
    'Every pair of agents, on the tasks both have scored'
    """
    for pattern, word in TASK_WORDS:
        text = re.sub(pattern, word, text)
    return text


def tables(evaluation: Evaluation) -> Iterator[Table]:
    """Success rates with their denominators, pass@k, what trials took, then agents by tasks."""
    rows = [result.trials for result in evaluation.results if result.trials is not None]
    names = list(labels(evaluation).values())
    yield _headlines(evaluation, rows, names)
    yield _denominators(evaluation, rows, names)
    if any(row.passes for row in rows):
        yield _passes(rows, names)
    yield _by_task(TrialMatrix.of(rows), names)


def _headlines(evaluation: Evaluation, rows: Sequence[RunTrials], names: Sequence[str]) -> Table:
    heads = ("Agent", "Success rate", "95 % interval", "Mean score", "95 % interval", "Tasks", "Run")
    lines = [
        (
            name,
            *value_and_interval(row.success),
            *value_and_interval(row.score),
            _some(row.success.scored, row.success.asked),
            state(result.run),
        )
        for name, row, result in zip(names, rows, evaluation.results, strict=True)
    ]
    return Table(
        "Success rate and mean score of each agent, over tasks", heads, tuple(lines), frozenset(range(1, 6))
    )


def _denominators(evaluation: Evaluation, rows: Sequence[RunTrials], names: Sequence[str]) -> Table:
    """One column an agent: every denominator, then what trials took."""
    slugs = unique(slug for row in rows for slug in sorted(row.counts.unscored))
    lines: list[tuple[str, ...]] = [
        ("Trials planned", *(amount(row.counts.planned) for row in rows)),
        ("Scored", *(amount(row.counts.scored) for row in rows)),
        ("Passed", *(amount(row.counts.passed) for row in rows)),
        ("Scored, ended at a limit", *(amount(row.counts.at_limit) for row in rows)),
        *(
            (f"Not scored: {slug}", *(amount(row.counts.unscored.get(slug, 0)) for row in rows))
            for slug in slugs
        ),
        ("Not run", *(amount(row.counts.not_run) for row in rows)),
        ("Ended, not counted", *(amount(row.counts.set_aside) for row in rows)),
        ("Time of a trial", *(duration(row.spent.per_trial("seconds")) for row in rows)),
        ("Input tokens of a trial", *(amount(row.spent.per_trial("input_tokens")) for row in rows)),
        ("Output tokens of a trial", *(amount(row.spent.per_trial("output_tokens")) for row in rows)),
        ("Cost of the scored trials", *(dollars(row.spent.sums.get("cost_usd")) for row in rows)),
        ("Price of a success", *(_price(row) for row in rows)),
        ("Time for a success", *(duration(row.spent.per_pass("seconds")) for row in rows)),
        ("Time of the run", *(duration(result.run.elapsed_s) for result in evaluation.results)),
    ]
    heads = ("Trials", *names)
    return Table(
        "What became of the trials, and what they took", heads, tuple(lines), frozenset(range(1, len(heads)))
    )


def _price(of: RunTrials) -> str:
    price = of.spent.per_pass("cost_usd")
    return NONE if price is None else dollars(price)


def _passes(rows: Sequence[RunTrials], names: Sequence[str]) -> Table:
    lines = [
        (
            name,
            str(each.k),
            *value_and_interval(each.any),
            *value_and_interval(each.all),
            _some(each.any.scored, each.any.asked),
        )
        for name, row in zip(names, rows, strict=True)
        for each in row.passes
    ]
    heads = ("Agent", "k", "pass@k", "95 % interval", "pass^k", "95 % interval", "Tasks with k scored trials")
    return Table("At least one, and all, of k rollouts", heads, tuple(lines), frozenset(range(1, len(heads))))


def _by_task(of: TrialMatrix, names: Sequence[str]) -> Table:
    cells = [of.cells(row) for row in of.rows]
    lines = [
        (task, *(_cell(column[place]) for column in cells))
        for place, (task, _) in enumerate(of.columns[:MOST_TASKS])
    ]
    left = len(of.columns) - MOST_TASKS
    more = f" (the first {MOST_TASKS:,} tasks of {len(of.columns):,})" if left > 0 else ""
    caption = f"Task by task: passed of scored trials, and their mean score{more}"
    return Table(caption, ("Task", *names), tuple(lines), frozenset(range(1, len(names) + 1)))


def _cell(of: TaskTrials | None) -> str:
    if of is None:
        return NONE
    counts = of.counts
    score = "" if of.score.value is None else f", {fraction(of.score.value)}"
    lacking = [f"{slug} {n:,}" for slug, n in sorted(counts.unscored.items())]
    lacking += [f"{counts.not_run:,} not run"] if counts.not_run else []
    lacking += [f"{counts.at_limit:,} at a limit"] if counts.at_limit else []
    rest = f" ({', '.join(lacking)})" if lacking else ""
    return f"{counts.passed:,}/{counts.scored:,}{score}{rest}"


def _some(scored: int, asked: int) -> str:
    return amount(scored) if scored == asked else f"{amount(scored)} of {amount(asked)}"


# In prose ----------------------------------------------------------------------------------------


def what_was_done(evaluation: Evaluation) -> Iterator[str]:
    """On what the agents worked, and under which conditions."""
    runs = [result.run for result in evaluation.results]
    names = labels(evaluation)
    titles = names_joined(unique(run.source_title for run in runs))
    yield f"{names_joined(list(names.values()))} worked on the tasks of {titles}."
    yield from once(evaluation, {run.id: _tasks(run) for run in runs})
    yield from once(evaluation, {run.id: _conditions(run) for run in runs})
    if local := [names[run.id] for run in runs if _sandbox(run) == "local"]:
        yield LOCAL.format(who=names_joined(local))


def how_it_was_judged(evaluation: Evaluation) -> Iterator[str]:
    yield from once(
        evaluation, {r.run.id: SCORING.format(score=_pass_score(r.run)) for r in evaluation.results}
    )
    yield RATE
    yield UNSCORED
    if any(result.trials is not None and result.trials.passes for result in evaluation.results):
        yield PASSES
    if any(
        result.trials is not None and result.trials.spent.sums.get("cost_usd")
        for result in evaluation.results
    ):
        yield PRICE
    if any(c.whole.same_tasks_p is not None for c in evaluation.comparisons):
        yield SAME_TASKS


def _tasks(run: Run) -> str:
    tasks = run.manifest.facts.n or 0
    return (
        f"The plan held {amount(run.planned)} trials of {amount(tasks)} {'task' if tasks == 1 else 'tasks'}."
    )


def _sandbox(run: Run) -> str:
    return run.cell.source.sandbox if isinstance(run.cell.source, RolloutsRef) else ""


def _pass_score(run: Run) -> str:
    return f"{run.cell.source.pass_score:g}" if isinstance(run.cell.source, RolloutsRef) else "1"


def _conditions(run: Run) -> str:
    ref = run.cell.source
    if not isinstance(ref, RolloutsRef):
        return ""
    limits = ref.limits
    times = sorted({entry.timeout_s or limits.agent_s for entry in ref.tasks})
    tokens = (
        "no limit of tokens" if limits.max_tokens is None else f"at most {amount(limits.max_tokens)} tokens"
    )
    return (
        f"The sandbox was {ref.sandbox} with the image {ref.image}; a trial's agent had "
        f"{names_joined([duration(each) for each in times])}, {tokens}, {amount(limits.memory_mb)} MB of memory, "
        f"{limits.cpus:g} CPU and {amount(limits.disk_mb)} MB of disk."
    )
