"""`proctor compare`: runs or models side by side, task by task, down to the items that differ."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from proctor.cli.options import json_option, kept_grader_option
from proctor.errors import ProctorError
from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.findings import Basis, Comparison, RunResult
    from proctor.service.checked.found import JudgedSideBySide
    from proctor.service.evidence.compare import Compared, Differing, Gate

MOST_ANSWER = 40  # characters of an answer in the list of items


@click.command("compare")
@click.argument("names", nargs=-1, required=True, metavar="A B...")
@click.option("--suite", "source", metavar="NAME", help="Models: only their runs of this suite or file.")
@click.option(
    "--margin",
    type=click.FloatRange(min=0),
    metavar="D",
    help="Scores within D of each other, in the metric's units, are practically equal.  [default: 1 % of its range]",
)
@click.option(
    "--metric",
    default="score",
    show_default=True,
    metavar="NAME",
    help="What is compared: score is the headline; f1, ... a metric over the tasks that report it.",
)
@click.option(
    "--items",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="Show at most N items on which a pair differs.",
)
@click.option(
    "--gate",
    type=click.FloatRange(min=0, max=1),
    metavar="D",
    help="Exit with 1 if B lost more than D against A, the whole 95 % interval lying above D; with 2 on errors.",
)
@click.option(
    "--only",
    is_flag=True,
    help="These models were chosen before anything was seen: no others that have runs on the items count.",
)
@kept_grader_option
@json_option
def compare_command(names: tuple[str, ...], as_json: bool, gate: float | None, **given: Any) -> int:
    """Compare runs or models on the items they share.

    A and B are run ids, plan ids or models. A model stands for the mean of its complete runs that are comparable
    with the others, of the items and prompts that have most runs; a run's id for that run.
    """
    from proctor.cli import tell
    from proctor.cli.finish import say
    from proctor.cli.judged import judged_lines
    from proctor.service.checked.evaluated import judged_beside, leaning_words, preferred_beside
    from proctor.service.context import open_context
    from proctor.service.evidence.compare import chosen, compared, gates

    grader = given["grader"]
    try:
        with open_context(read_settings(os.environ)) as context:
            runs = chosen(context, names, source=given["source"]) if grader else []
            if preferred := preferred_beside(context, runs, grader):
                return _say_judged(preferred, leaning_words(context, preferred), as_json)
            found = compared(context, names, **given)
            judged = judged_beside(context, found.evaluation, grader)
            leanings = leaning_words(context, judged) if judged else ()
        checked = gates(found, gate) if gate is not None else []
    except ProctorError as error:
        if gate is None:
            raise
        tell(error)
        return 2
    if as_json:
        click.echo(_json(found, checked, _judged_document(judged, leanings)))
    else:
        say(_lines(found, checked, judged_lines(judged, leanings) if judged else ()))
    return int(any(each.failed for each in checked))


def _say_judged(found: JudgedSideBySide, leanings: Sequence[str], as_json: bool) -> int:
    """Of runs of which a judge preferred one of two replies there is nothing else to compare by it."""
    from proctor.cli.finish import say
    from proctor.cli.judged import judged_lines
    from proctor.service.results import documents

    if as_json:
        click.echo(documents.to_json(_judged_document(found, leanings)))
    else:
        say([*judged_lines(found, leanings), "", found.verdict])
    return 0


def _judged_document(found: JudgedSideBySide | None, leanings: Sequence[str]) -> dict[str, Any]:
    from proctor.service.checked.documents import side_by_side_document

    return {} if found is None else {"judged": side_by_side_document(found, leanings)}


def _json(found: Compared, checked: Sequence[Gate], beside: dict[str, Any]) -> str:
    from proctor.service.results import documents

    document = {**documents.evaluation(found.evaluation), **beside}
    for record, items in zip(document["comparisons"], found.differing, strict=True):
        record["differing"] = [asdict(item) for item in items]
    if checked:
        document["gate"] = [{**asdict(each), "failed": each.failed} for each in checked]
    return documents.to_json(document)


def _lines(found: Compared, checked: Sequence[Gate], judged: Iterable[str]) -> Iterator[str]:
    from proctor.cli.tables import columns, table_lines
    from proctor.figures import fraction
    from proctor.service.rows.trials_words import COMPARED_HEADS, compared_rows

    results = found.evaluation.results
    trials = [result.trials for result in results if result.trials is not None]
    if trials:
        yield from columns(compared_rows(trials), COMPARED_HEADS)
    else:
        yield from columns(
            _run_rows(results, found.evaluation.clock),
            ("run", "model", "n", "score", "per item", "tokens in + out", "tokens/s", "cost"),
        )
    if found.evaluation.unlike_times:
        yield found.evaluation.unlike_times
    for pair, items in zip(found.evaluation.comparisons, found.differing, strict=True):
        yield ""
        yield from _pair_lines(pair, () if trials else items)
    yield ""
    if trials:
        yield from table_lines(trials)
    if told := list(judged):
        yield from (*told, "")
    yield found.evaluation.verdict
    for each in checked:
        interval = f"{fraction(each.loss)} [{fraction(each.low)}, {fraction(each.high)}]"
        how = "lies above" if each.failed else "does not lie wholly above"
        word = "FAILED" if each.failed else "passed"
        yield f"Gate {word}: {each.model} loses {interval}, which {how} {fraction(each.most)}."


def _run_rows(results: Sequence[RunResult], shared: Basis | None) -> list[tuple[str, ...]]:
    from proctor.figures import amount, dollars, estimate, speed, unmeasured
    from proctor.service.judging.kept_judges import by_judge

    rows: list[tuple[str, ...]] = []
    for result in results:
        head, tally = result.scores[0] if result.scores else None, result.tally
        spent = (tally.input_tokens_per_item, tally.output_tokens_per_item)
        tokens = "-" if spent == (None, None) else " + ".join(map(amount, spent))
        clock = tally.speed.told_by(shared) if tally.speed else None
        mark = " (sample rows)" if result.run.sample else ""
        mark += " (judge alone)" if by_judge(result.run) else ""
        if result.run.partial:
            mark += f" (PARTIAL: {unmeasured(result.run.unmeasured, result.run.planned)})"
        rows.append(
            (
                result.run.id[:8],
                str(result.run.cell.model),
                f"{head.estimate.scored:,}" if head else "-",
                f"{head.metric} {estimate(head.estimate)}{mark}" if head else "-",
                speed(tally.speed, basis=clock),
                tokens,
                amount(tally.speed.tokens_per_s(clock) if tally.speed and clock else None),
                dollars(tally.cost_usd),
            )
        )
    return rows


def _pair_lines(pair: Comparison, items: Sequence[Differing]) -> Iterator[str]:
    from proctor.cli.tables import columns
    from proctor.figures import among, fraction, names, shared_items

    first, second = names(pair)
    whole = pair.whole
    apart = shared_items(pair.sharing)
    many = "tasks" if pair.sharing is not None and pair.sharing.what == "tasks" else "items"
    yield f"{first} - {second}, on {whole.shared:,} shared {many}{f' ({apart})' if apart else ''}"
    heads = ("task", "metric", "A", "B", "A - B", "adjusted p", "only A : only B", "")
    yield from (f"  {line}" for line in columns([_difference_row(d) for d in (whole, *pair.tasks)], heads))
    if whole.detectable is not None:
        yield (
            f"  {whole.shared:,} {many} like these show a difference of about {fraction(whole.detectable)} or more "
            f"(80 % power{among(whole.comparisons)})."
        )
    if pair.tasks:
        yield "  p of the tasks adjusted by Benjamini and Hochberg: for exploring, not for a verdict on the models."
    if items:
        more = f"the first {len(items):,} of {whole.discordant:,}; --items {whole.discordant} shows all"
        of = more if whole.discordant > len(items) else "all"
        yield f"  Items that differ ({of}):"
        yield from (
            f"    {line}"
            for line in columns([_item_row(i, pair) for i in items], ("item", "target", "A", "B"))
        )


def _difference_row(d: Any) -> tuple[str, ...]:
    from proctor.figures import estimate, fraction, p_value, title_of

    verdict = {"first better": "A better", "second better": "B better"}.get(d.verdict, d.verdict)
    return (
        d.title,
        title_of(d.metric),
        fraction(d.first),
        fraction(d.second),
        estimate(d.estimate),
        p_value(d.adjusted_p).removeprefix("p = ").removeprefix("p "),
        f"{d.only_first:,} : {d.only_second:,}",
        verdict,
    )


def _item_row(item: Differing, pair: Comparison) -> tuple[str, ...]:
    said = (_said(item, pair.first.id), _said(item, pair.second.id))
    return (item.item_id, _short(item.target or "-"), *said)


def _said(item: Differing, run_id: str) -> str:
    answer = item.answers[run_id]
    return _short(answer) if answer is not None else item.outcomes[run_id].replace("_", " ")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_ANSWER else f"{line[: MOST_ANSWER - 1]}…"
