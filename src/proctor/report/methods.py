"""The methods in prose, fit for a paper's appendix: it states only what was done to these runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from proctor.findings import Evaluation, Score
from proctor.report import measures
from proctor.report.comparison import how_compared, how_judged
from proctor.report.papers import ALLOWING, INDEPENDENT, INTERVALS, PAPERS, split
from proctor.report.setup import how_it_was_asked, logged, versions, what_was_asked
from proctor.report.trials import how_it_was_judged, in_tasks, of_agents, what_was_done
from proctor.report.words import labels, once, unique
from proctor.types import Run

INDEPENDENCE = (
    "These intervals take the items as independent: if several share one text they are somewhat too narrow."
)
# Where some figures are known to rest on items that hang together.
OTHERS_INDEPENDENT = "All other intervals take their items as independent."
SCOPE = "The intervals speak of items like these, not of other prompts or other tasks."

COUNTING = (
    "A reply from which no answer could be read, a reply cut by the length limit before its answer, and a refusal "
    "count as wrong."
)

ERRORS = (
    "An item that ended in an error got no reply and measured nothing: it is left out of the scores, "
    "and a run that has such items is called partial. The answer rate is the share of the replies from which an "
    "answer could be read."
)

HIDDEN = "Items whose targets are hidden were asked and their answers kept, but nothing was scored."

STOPPED = (
    "A run that did not get to its end is scored on the beginning of its order up to the first gap, since what was "
    "answered beyond a gap was answered because it was quick."
)

EXTRACTORS: Mapping[str, str] = {
    "proctor/2": "it takes what a reply states as its answer and never guesses",
    "proctor/1": "it takes what a reply states as its answer and never guesses",
    "mirage/1": "it takes A where it finds no letter, and an empty reply is not scored at all",
    "simple-evals/1": 'it takes the first "Answer: X"',
    "first-line/1": "it takes the first line if that is an answer and nothing else",
}


def methods(evaluation: Evaluation) -> Iterator[str]:
    """Paragraphs: what was asked, how it was asked and scored, how sure it is, what was compared."""
    if not evaluation.results:
        return
    if of_agents(evaluation):
        yield from _of_trials(evaluation)
        return
    yield " ".join(what_was_asked(evaluation))
    yield " ".join(how_it_was_asked(evaluation))
    if scored := " ".join(_how_it_was_scored(evaluation)):
        yield scored
    yield " ".join(_how_it_was_counted(evaluation))
    if sure := " ".join(_how_sure(evaluation)):
        yield sure
    for written in (how_compared, how_judged):
        if compared := " ".join(written(evaluation)):
            yield compared


def _of_trials(evaluation: Evaluation) -> Iterator[str]:
    """The same of agents on tasks."""
    yield " ".join(what_was_done(evaluation))
    versions_told = once(
        evaluation, {result.run.id: _metric_versions(result.run) for result in evaluation.results}
    )
    yield " ".join([*how_it_was_judged(evaluation), *versions_told])
    told = (_how_sure(evaluation), how_compared(evaluation), how_judged(evaluation))
    for sentences in told:
        if words := in_tasks(" ".join(sentences)):
            yield words


def papers(evaluation: Evaluation, further: str = "") -> tuple[str, ...]:
    """The papers that the methods name, or `further` text."""
    text = " ".join([*methods(evaluation), further])
    return tuple(paper for cited, paper in PAPERS.items() if cited in text)


def _how_it_was_scored(evaluation: Evaluation) -> Iterator[str]:
    runs = [result.run for result in evaluation.results]
    for words in (_reading, measures.scored_by, measures.meanings, measures.headline, _metric_versions):
        yield from once(evaluation, {run.id: words(run) for run in runs})
    shown = {score.metric for result in evaluation.results for score in result.scores}
    yield from (words for sign, words in measures.PASSES.items() if any(sign in metric for metric in shown))


def _how_it_was_counted(evaluation: Evaluation) -> Iterator[str]:
    runs = [result.run for result in evaluation.results]
    if not all(map(logged, runs)):
        yield COUNTING
    yield from once(evaluation, {run.id: measures.unread(run) for run in runs})
    yield ERRORS
    ours = [result for result in evaluation.results if not result.run.cell.source.imported]
    if any(result.tally.outcomes.get("answered") for result in ours):
        yield HIDDEN
    if any(run.partial or run.stopped for run in runs):
        yield STOPPED


def _reading(run: Run) -> str:
    name = run.manifest.facts.extractor
    if not name:
        return ""
    what = f": {EXTRACTORS[name]}" if name in EXTRACTORS else ""
    return f"Answers were read from the replies by the extractor {name}{what}."


def _metric_versions(run: Run) -> str:
    found = run.manifest.facts.metric_versions
    return versions("metrics", found.values()) if found else ""


def _how_sure(evaluation: Evaluation) -> Iterator[str]:
    names = labels(evaluation)
    shown = [(names[r.run.id], s) for r in evaluation.results for s in r.scores if s.estimate.low is not None]
    used = unique(split(score.estimate.method)[0] for _, score in shown)
    for method in used:
        yield INTERVALS.get(method, f"The 95 % intervals of the scores were computed by: {method}.")
    yield from unique(_aside(name, score) for name, score in shown if split(score.estimate.method)[1])
    if INDEPENDENT.intersection(used):
        yield OTHERS_INDEPENDENT if ALLOWING.intersection(used) else INDEPENDENCE
    if used:
        yield SCOPE


def _aside(name: str, score: Score) -> str:
    """What is said behind the method of one score."""
    return f"In {score.title}, {name}: {split(score.estimate.method)[1]}."
