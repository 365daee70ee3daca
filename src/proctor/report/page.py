"""The order of a report: what it must say first, then the figures, then what they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from proctor.findings import Evaluation
from proctor.report import pairs, tables, trials, words
from proctor.report.blocks import Block, Dot, Heading, Listing, Notice, Page, Paragraph, Plot, Table
from proctor.report.methods import methods, papers
from proctor.report.record import data_tables, record_tables


def page_of(evaluation: Evaluation, *, now: float, beside: Sequence[Block] = ()) -> Page:
    """The report's contents, the same for every format; `beside` stands before the methods."""
    return Page(
        title=words.title(evaluation),
        subtitle=words.subtitle(evaluation, now=now),
        blocks=tuple(_blocks(evaluation, beside)),
    )


def _blocks(evaluation: Evaluation, beside: Sequence[Block]) -> Iterator[Block]:
    if not evaluation.results:
        yield Paragraph("There are no runs to report.")
        return
    yield from _notices(evaluation)
    yield Heading("Scores")
    yield from _plot(evaluation)
    yield from _agents(evaluation) if trials.of_agents(evaluation) else _models(evaluation)
    yield from beside
    yield Heading("Methods")
    for paragraph in methods(evaluation):
        yield Paragraph(paragraph)
    if cited := papers(evaluation, " ".join(each.text for each in beside if isinstance(each, Paragraph))):
        yield Heading("References")
        yield Listing(cited)
    yield Heading("Record of the runs")
    yield from record_tables(evaluation)
    if sets := data_tables(evaluation):
        yield Heading("Data")
        yield from sets


def _models(evaluation: Evaluation) -> Iterator[Block]:
    yield tables.headlines(evaluation)
    yield from _section("Scores by task", tables.by_task(evaluation))
    yield from _section("Comparisons", *pairs.comparisons(evaluation))
    yield from pairs.walks(evaluation)
    yield Heading("How the models answered")
    yield tables.answering(evaluation)
    for remark in words.remarks(evaluation):
        yield Paragraph(remark)


def _agents(evaluation: Evaluation) -> Iterator[Block]:
    yield from trials.tables(evaluation)
    found = [
        replace(
            each,
            caption=trials.in_tasks(each.caption),
            heads=tuple(trials.in_tasks(head) for head in each.heads),
        )
        for each in pairs.comparisons(evaluation)
    ]
    yield from _section("Comparisons", *found)


def _notices(evaluation: Evaluation) -> Iterator[Block]:
    if sample := words.sample_notice(evaluation):
        yield Notice("warning", f"{words.capital(words.SAMPLE_MARK)}.", sample)
    labels = words.labels(evaluation)
    for result in evaluation.results:
        if gone := result.run.manifest.facts.left_out:
            where = " ".join(map(words.ended, gone.faults))
            lost = f"{gone.rows:,} of {gone.of:,} rows of the file cannot be used. {where}"
            yield Notice("warning", f"Rows left out: {labels[result.run.id]}.", lost)
        of_trials = trials.of_agents(evaluation)
        if text := words.shortfall(result, of_trials=of_trials):
            yield Notice("warning", f"Not complete: {labels[result.run.id]}.", text)
    if sharing := words.sharing_notice(evaluation):
        what = "tasks" if trials.of_agents(evaluation) else "items"
        yield Notice("warning", f"Not the same {what}.", sharing)
    if evaluation.verdict and len(evaluation.results) > 1:
        yield Notice("verdict", "Verdict.", evaluation.verdict)


def _section(heading: str, *found: Table | None) -> Iterator[Block]:
    shown = [table for table in found if table is not None]
    if shown:
        yield Heading(heading)
        yield from shown


def _plot(evaluation: Evaluation) -> Iterator[Plot]:
    labels = words.labels(evaluation)
    dots = []
    for result in evaluation.results:
        if not result.scores:
            continue
        e = result.scores[0].estimate
        if e.value is None or e.low is None or e.high is None:
            continue
        state = words.state(result.run)
        suffix = "" if state == words.COMPLETE else f" ({state})"
        dots.append(Dot(labels[result.run.id] + suffix, e.value, e.low, e.high))
    if dots:
        yield Plot(f"{words.capital(words.metric_name(evaluation))} with 95 % intervals", tuple(dots))
