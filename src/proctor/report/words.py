"""Sentences of a report that say what it is and what it lacks: title, marks, banners, remarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from proctor.figures import amount, fraction, shared_items, title_of
from proctor.findings import Evaluation, RunResult
from proctor.types import Run, Status

SAMPLE_MARK = "sample rows: no real score"
COMPLETE = "complete"
LOW_ANSWER_RATE = 0.98  # below it, how answers were read may matter more than the model
MOST_CAUSES = 4
MOST_NAMED = 4  # models in the title; a longer list is in the tables

_STATES: Mapping[Status, str] = {
    Status.PENDING: "not begun",
    Status.RUNNING: "still running",
    Status.FAILED: "failed",
    Status.CANCELLED: "cancelled",
}

_ENDINGS: Mapping[Status, str] = {
    Status.PENDING: "The run had not begun when this report was written",
    Status.RUNNING: "The run was still going on when this report was written",
    Status.FAILED: "The run failed",
    Status.CANCELLED: "The run was cancelled",
    Status.COMPLETED: "The run is partial",
}


def labels(evaluation: Evaluation) -> dict[str, str]:
    """Run id -> the model's name, with the run's id where two runs share the name."""
    runs = [result.run for result in evaluation.results]
    times = Counter(str(run.cell.model) for run in runs)
    return {
        run.id: f"{run.cell.model} ({run.id[:8]})" if times[str(run.cell.model)] > 1 else str(run.cell.model)
        for run in runs
    }


def title(evaluation: Evaluation) -> str:
    if not evaluation.results:
        return "No runs"
    sources = unique(result.run.source_title for result in evaluation.results)
    models = unique(str(result.run.cell.model) for result in evaluation.results)
    who = names_joined(models) if len(models) <= MOST_NAMED else f"{amount(len(models))} models"
    return f"{', '.join(sources)}: {who}"


def subtitle(evaluation: Evaluation, *, now: float) -> str:
    """When the runs were, by their own clocks, and when the report was written."""
    began = [began_at(r.run) for r in evaluation.results]
    written = f"report written {stamp(now)}"
    if not began:
        return capital(written)
    days = unique(day(at) for at in (min(began), max(began)))
    runs = "Run" if len(began) == 1 else "Runs"
    return f"{runs} of {' to '.join(days)}, {written}"


def began_at(run: Run) -> float:
    """When the run began. Another tool's log began when that tool did: `started_at` is the time of the import."""
    return run.created_at if run.cell.source.imported else run.started_at or run.created_at


def sample_notice(evaluation: Evaluation) -> str | None:
    """What to say of sample rows, or None where every run was on real ones."""
    names = labels(evaluation)
    marked = [names[r.run.id] for r in evaluation.results if is_sample(r.run)]
    if not marked:
        return None
    who = "" if len(marked) == len(evaluation.results) else f" This concerns {names_joined(marked)}."
    return (
        "The rows were written for trying out proctor and are not those of the benchmark. "
        f"The figures show that the machinery works, not how good a model is.{who}"
    )


def sharing_notice(evaluation: Evaluation) -> str | None:
    """Which pairs were not asked the same items, and on which they are compared; None where all were."""
    names = labels(evaluation)
    said = [
        f"{names[c.first.id]} and {names[c.second.id]} are compared {apart}."
        for c in evaluation.comparisons
        if (apart := shared_items(c.sharing))
    ]
    return " ".join(said) or None


def is_sample(run: Run) -> bool:
    return run.sample or run.manifest.facts.sample


def state(run: Run) -> str:
    """One or two words for a table: "complete" only if every planned item has an outcome."""
    if run.status in _STATES:
        return _STATES[run.status]
    if run.partial:
        return "partial"
    return "stopped early" if run.stopped or run.error else COMPLETE


def shortfall(result: RunResult, *, of_trials: bool = False) -> str | None:
    """Why the run is not complete and what that means for its score; None for a complete run."""
    run = result.run
    if state(run) == COMPLETE:
        return None
    said = [ended(_how_it_ended(run))]
    many = "trials" if of_trials else "items"
    what = many if of_trials or items_planned(run) == run.planned else "askings of items"
    said.append(f"{amount(run.settled)} of {amount(run.planned)} planned {what} have an outcome.")
    if run.stopped:
        said.append(ended(f"Fewer {many} were {'run' if of_trials else 'asked'} because: {run.stopped}"))
    if result.tally.errors:
        said.append(ended(f"{capital(many)} that ended in an error, by kind: {counted(result.tally.errors)}"))
        told = [cause for cause in result.causes if cause.said][:MOST_CAUSES]
        said += [ended(cause.in_words(run.planned, what)) for cause in told]
    said.append(_what_the_score_covers(result, "tasks" if of_trials else "items"))
    return " ".join(said)


def _how_it_ended(run: Run) -> str:
    words = _ENDINGS[run.status]
    if run.status is Status.COMPLETED and not run.partial:
        words = "The run stopped early"
    if not run.error:
        return words
    slug = f" ({run.error_slug})" if run.error_slug else ""
    return f"{words}{slug}: {run.error}"


def _what_the_score_covers(result: RunResult, what: str) -> str:
    e = result.scores[0].estimate if result.scores else None
    if e is None or e.value is None:
        return "There is no score."
    if e.scored == e.asked and what == "tasks":
        return f"The success rate rests on the scored trials of {amount(e.scored)} tasks."
    return f"The score rests on {amount(e.scored)} {what} and is not a score of the whole set."


def remarks(evaluation: Evaluation) -> Iterator[str]:
    """Warnings about figures that are easily misread."""
    if evaluation.unlike_times:
        yield evaluation.unlike_times
    names = labels(evaluation)
    for result in evaluation.results:
        rate = result.tally.answer_rate
        if rate is not None and rate < LOW_ANSWER_RATE:
            yield (
                f"Only {fraction(rate)} of the replies of {names[result.run.id]} held an answer that could be "
                "read; the others count as wrong. Read some of them before trusting the score: `proctor export` "
                "writes them out."
            )


def metric_name(evaluation: Evaluation) -> str:
    """The metric of the headlines; "score" if the runs have different ones."""
    metrics = unique(r.scores[0].metric for r in evaluation.results if r.scores)
    return title_of(metrics[0]) if len(metrics) == 1 else "score"


def once(evaluation: Evaluation, sentences: Mapping[str, str]) -> Iterator[str]:
    """Sentences of several runs, by run id: said once where all runs say the same, else for each.

    A run with an empty sentence is passed over.
    """
    names = labels(evaluation)
    said: dict[str, list[str]] = {}
    for run_id, text in sentences.items():
        if text:
            said.setdefault(text, []).append(names[run_id])
    for text, who in said.items():
        yield text if len(who) == len(names) else f"For {names_joined(who)}: {text}"


def items_planned(run: Run) -> int:
    """How many items the plan held; `run.planned` counts an item once for each wording and each repeat."""
    facts = run.manifest.facts
    wordings = 3 if facts.worded else 1
    planned = run.planned // max(1, wordings * run.cell.repeats)
    if not (beside := metrics_beside(run)):
        return planned
    asked = facts.asked
    whole = sum(asked.values())
    return planned * (whole - sum(asked.get(task, 0) for task in beside)) // max(1, whole)


def metrics_beside(run: Run) -> frozenset[str]:
    """Of another tool's log: what its manifest has as tasks of their own, and what are further metrics of one."""
    if not run.cell.source.imported:
        return frozenset()
    return frozenset(key for key, task in run.manifest.facts.tasks.items() if task.extra)


def unique(texts: Iterable[str]) -> list[str]:
    """Each text once, in order of appearance."""
    return list(dict.fromkeys(texts))


def names_joined(names: Sequence[str]) -> str:
    """Names in a sentence.

    >>> names_joined(["a"]), names_joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def capital(text: str) -> str:
    """The text with a capital first letter; the others stay as they are.

    >>> capital("macro F1")
    'Macro F1'
    """
    return text[:1].upper() + text[1:]


def counted(counts: Mapping[str, int]) -> str:
    """Kinds and their numbers, in the order of the alphabet: `network 3, overloaded 1`."""
    return ", ".join(f"{kind} {amount(n)}" for kind, n in sorted(counts.items()))


def ended(sentence: str) -> str:
    """The sentence with a full stop, unless it has its own end.

    >>> ended("no reply"), ended("Is it on?")
    ('no reply.', 'Is it on?')
    """
    text = sentence.rstrip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def stamp(at: float | None) -> str:
    """A moment as `2025-11-21 00:19 UTC`; "-" if there was none."""
    return "-" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
