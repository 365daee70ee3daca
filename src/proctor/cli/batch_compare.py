"""`proctor batch compare`: outputs to the same requests side by side, disagreements first."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proctor.cli.options import json_option
from proctor.errors import Exit
from proctor.settings import read_settings

if TYPE_CHECKING:
    from proctor.service.batches.compare import BatchComparison, ComparedRequest, OutputPair
    from proctor.service.batches.outputs import GivenReply
    from proctor.service.batches.verdict import SameGate

MOST_TEXT = 60  # characters of a reply in the list of requests
BEFORE = 12  # of them shown before the place where replies part
MOST_FIELDS = 20
MOST_LABELS = 8


@click.command(
    "compare", epilog="Exit codes: 0 compared; 2 wrong request; 4 the gate of --gate-same was not passed."
)
@click.argument("names", nargs=-1, required=True, metavar="A B...")
@click.option(
    "--by",
    "how",
    default="exact",
    show_default=True,
    metavar="COMPARATOR",
    help="When two replies come to the same: exact, normalized, json:ignore=id,near=total~0.01, number:rel=0.01, "
    "label:pattern=REGEX, label:names=A|B, or a grader by name.",
)
@click.option(
    "--candidate",
    metavar="REGEX",
    help="Its group in a custom_id is what requests are about: they hang together.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="Show at most N requests in which outputs differ.",
)
@click.option(
    "--status", metavar="NAME", help="Show requests of this kind alone, such as 'newly failing' or shorter."
)
@click.option(
    "--gate-same",
    type=click.FloatRange(min=0, max=1),
    metavar="SHARE",
    help="Exit with 4 if less of what A answered is the same.",
)
@click.option(
    "--csv",
    "csv_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="All requests, as a table.",
)
@json_option
def compare_command(names: tuple[str, ...], csv_file: Path | None, as_json: bool, **given: Any) -> int:
    """Compare what came back for the same requests.

    A, B and up to six more are runs (the beginning of an id), plans, `last`, or files of output lines; the first is
    the baseline. A file is read without being kept.
    """
    from proctor.cli.finish import say
    from proctor.service.batches.compare import compared
    from proctor.service.batches.compared_documents import comparison_document
    from proctor.service.batches.compared_pages import rows
    from proctor.service.batches.verdict import gate_same
    from proctor.service.context import open_context
    from proctor.service.results.documents import to_json

    least = given["gate_same"]
    with open_context(read_settings(os.environ)) as context, ExitStack() as open_files:
        each = _csv_writer(open_files, csv_file, len(names)) if csv_file else None
        found = compared(context, names, given["how"], candidate=given["candidate"], each=each)
        shown = (
            rows(context, found, status=given["status"], limit=given["limit"]).rows if given["limit"] else ()
        )
        gate = gate_same(found, least) if least is not None else None
        if not given["status"]:
            shown = tuple(row for row in shown if row.status != "same")
        if as_json:
            click.echo(to_json(comparison_document(found, shown, gate)))
        else:
            say(_lines(found, shown, gate))
    return int(Exit.GATE) if gate is not None and not gate.passed else int(Exit.DONE)


def _csv_writer(open_files: ExitStack, path: Path, outputs: int) -> Callable[[ComparedRequest], None]:
    """Writes a line for each request as it is compared. Raises: ProctorError where the file cannot be written."""
    import csv

    from proctor.errors import ConfigError
    from proctor.figures import inert
    from proctor.service.batches.compared_documents import table_heads, table_row

    try:
        file = open_files.enter_context(path.open("w", encoding="utf-8", newline=""))
    except OSError as error:
        raise ConfigError(f"--csv {path}: {error.strerror}") from None
    writer = csv.writer(file)
    written = False

    def write(row: ComparedRequest) -> None:
        nonlocal written
        if not written:
            writer.writerow(table_heads(len(row.replies)))
            written = True
        writer.writerow([inert(value) for value in table_row(row)])

    return write


def _lines(
    found: BatchComparison, shown: tuple[ComparedRequest, ...], gate: SameGate | None
) -> Iterator[str]:
    from proctor.service.batches.verdict import verdict

    yield from _output_lines(found)
    yield from (f"Note: {note}" for note in found.notes)
    several = len(found.pairs) > 1
    for place, pair in enumerate(found.pairs, 1):
        yield ""
        if several:
            yield f"{_letter(place)} beside A:"
        yield from (f"  {line}" for line in _pair_lines(pair, found))
    if several:
        yield ""
        yield from _matrix_lines(found)
    yield from _request_lines(found, shown)
    yield ""
    for place in range(1, len(found.pairs) + 1):
        yield f"{f'{_letter(place)}: ' if several else ''}{verdict(found, place)}"
    if gate is not None:
        yield gate.sentence


def _letter(place: int) -> str:
    return chr(ord("A") + place)


def _output_lines(found: BatchComparison) -> Iterator[str]:
    from proctor.cli.tables import columns
    from proctor.figures import amount

    cells = [
        (
            _letter(place),
            each.name,
            each.model or "-",
            f"{each.total:,}",
            f"{each.failed:,}",
            amount(each.tokens_per_s),
        )
        for place, each in enumerate(found.summaries)
    ]
    yield from columns(cells, ("", "output", "model", "requests", "failed", "tokens/s"))
    for each in found.summaries:
        yield from (f"Bad line: {fault}" for fault in each.faults)
        if each.bad > len(each.faults):
            yield f"and {each.bad - len(each.faults):,} more bad lines in {each.name}"


def _pair_lines(pair: OutputPair, found: BatchComparison) -> Iterator[str]:
    from proctor.figures import estimate
    from proctor.service.batches.verdict import change_words

    counts, words = pair.counts, found.comparator.words
    yield f"in both {pair.both:,} | only A {counts['only A']:,} | only B {counts['only B']:,}"
    if pair.unlike:
        some = ", ".join(pair.unlike_ids[:5])
        yield f"WARNING: {pair.unlike:,} requests with one custom_id have other bodies (or endpoints) in B: {some}"
    elif pair.unknown and pair.both:
        yield f"whether bodies are alike is not known of {pair.unknown:,}"
    told = [
        f"{status} {counts[status]:,}"
        for status in counts
        if counts[status] and not status.startswith("only")
    ]
    yield " | ".join(told) if told else "nothing was asked in both"
    if tags := [f"{tag} {n:,}" for tag, n in pair.tags.items() if tag != "other request"]:
        yield f"of B: {' | '.join(tags)}"
    yield f"agreement by {words}: {estimate(pair.agreement)}  n = {pair.agreement.scored:,}"
    for what, change, unit in (
        ("seconds a request", pair.seconds, " s"),
        ("tokens a second", pair.tokens_per_s, ""),
        ("cost a request", pair.cost, " USD"),
    ):
        if change is not None:
            yield change_words(what, change, unit)
    yield from _beneath(pair)


def _beneath(pair: OutputPair) -> Iterator[str]:
    """Agreement field by field and label by label, and what the comparator could not compare."""
    from proctor.cli.tables import columns
    from proctor.figures import estimate

    if pair.fields:
        worst = sorted(pair.fields, key=lambda each: each.estimate.value or 0.0)
        cells = [
            (each.path, estimate(each.estimate), f"{each.estimate.scored:,}") for each in worst[:MOST_FIELDS]
        ]
        yield from columns(cells, ("field", "agreement", "n"))
        if len(worst) > MOST_FIELDS:
            yield f"and {len(worst) - MOST_FIELDS:,} more fields that agree as often or more often (--json has them)"
    if pair.labels is not None:
        yield f"Cohen's kappa {estimate(pair.labels.kappa)}"
        names = sorted({name for both in pair.labels.table for name in both})
        if len(names) <= MOST_LABELS:
            cells_of = [
                [name, *(f"{pair.labels.table.get((name, other), 0):,}" for other in names)] for name in names
            ]
            yield from columns(cells_of, ("A \\ B", *names))
    yield from (f"{n:,} x {note}" for note, n in sorted(pair.notes.items(), key=lambda told: -told[1])[:5])


def _matrix_lines(found: BatchComparison) -> Iterator[str]:
    from proctor.cli.tables import columns
    from proctor.figures import fraction

    names = [_letter(place) for place in range(len(found.summaries))]
    cells = [
        [name, *(fraction(e.value) if e else "" for e in line)]
        for name, line in zip(names, found.matrix, strict=True)
    ]
    yield "Agreement of every two:"
    yield from (f"  {line}" for line in columns(cells, ("", *names)))


def _request_lines(found: BatchComparison, shown: tuple[ComparedRequest, ...]) -> Iterator[str]:
    from proctor.cli.tables import columns

    if not shown:
        return
    apart = sum(n for status, n in found.counts.items() if status != "same")
    yield ""
    yield f"Requests that differ ({'all' if apart <= len(shown) else f'the first {len(shown):,} of {apart:,}'}):"
    cells = [(row.custom_id, row.status, *_said(row)) for row in shown]
    heads = ("custom_id", "", *(_letter(place) for place in range(len(found.summaries))))
    yield from (f"  {line}" for line in columns(cells, heads))


def _said(row: ComparedRequest) -> list[str]:
    """What each output has for a request, from where their texts part."""
    texts = [given.text for given in row.replies if given is not None and given.text]
    first, last = (min(texts), max(texts)) if texts else ("", "")
    apart = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
    start = max(0, (apart if apart is not None else 0 if first == last else len(first)) - BEFORE)
    return [_reply(given, start) for given in row.replies]


def _reply(given: GivenReply | None, start: int) -> str:
    if given is None:
        return "(not asked)"
    if given.text is None:
        return _short(f"(failed: {given.failure})")
    return _short(f"{'…' if start else ''}{given.text[start : start + 2 * MOST_TEXT]}") or "(empty)"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_TEXT else f"{line[: MOST_TEXT - 1]}…"
