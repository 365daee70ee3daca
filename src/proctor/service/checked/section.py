"""The part of a report that says what the judges of its runs are worth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proctor.errors import ConfigError, NotFound
from proctor.figures import listed
from proctor.report.blocks import Block, Heading, Listing, Notice, Paragraph, Table
from proctor.report.papers import CORRECTION
from proctor.service.checked import words
from proctor.service.checked.evaluated import leaning_words
from proctor.service.checked.found import JudgedComparison, JudgedResult, JudgedSideBySide
from proctor.service.checked.worth import judged_side_by_side
from proctor.service.context import Context
from proctor.service.judging.kept_judges import fits, kept_judges
from proctor.types import Run


def judged_blocks(context: Context, runs: Sequence[Run], grader: str | None = None) -> list[Block]:
    """What every judge is worth that graded all of these runs, or that `grader` means; nothing where none did."""
    found = list(judged_of(context, runs, grader))
    if not found:
        return []
    blocks: list[Block] = [Heading("What the judges are worth")]
    for each in found:
        blocks += _of_judge(each, leaning_words(context, each))
    return [*blocks, Paragraph(CORRECTION)]


def judged_of(context: Context, runs: Sequence[Run], grader: str | None = None) -> Iterator[JudgedSideBySide]:
    """The judges that graded all of these runs, or of pairs two of them, one after the other."""
    ids = [run.id for run in runs]
    kept = kept_judges(context.store, ids[0]) if ids else []
    for name in kept:
        if grader is not None and not fits(grader, name):
            continue
        if name.against is not None and name.against not in ids:
            continue
        of = [ids[0], name.against] if name.against else ids
        try:
            yield judged_side_by_side(context, of, name.grader)
        except (NotFound, ConfigError):
            continue  # it graded not all of them: their own reports have it


def _of_judge(found: JudgedSideBySide, leanings: Sequence[str]) -> Iterator[Block]:
    some = found.results or found.comparisons
    yield Notice("verdict", f"{some[0].judge}, rubric {some[0].rubric}.", found.verdict)
    if found.results:
        yield _scores(found.results)
    for result in found.results:
        yield from _agreements(result)
    if found.comparisons:
        yield _differences(found.comparisons)
    told = [line for each in some for line in words.labels_words(each.labels)]
    told += [each for one in some for each in one.remarks]
    if remarks := tuple(dict.fromkeys([*told, *leanings])):
        yield Listing(remarks)


def _scores(results: Sequence[JudgedResult]) -> Table:
    rows = tuple((_called(each.run, results), *row) for each in results for row in words.score_rows(each))
    return Table(
        "Scores by the judge, by people, and corrected", ("Run", *words.SCORE_HEADS), rows, frozenset({5})
    )


def _called(run: Run, results: Sequence[JudgedResult]) -> str:
    same = sum(each.run.cell.model == run.cell.model for each in results) > 1
    return f"{run.cell.model} (run {run.id[:8]})" if same else str(run.cell.model)


def _agreements(result: JudgedResult) -> Iterator[Block]:
    for each in words.agreements(result):
        yield Table(
            f"{result.run.cell.model}, {words.agreement_words(each)}",
            words.agreement_heads(each),
            tuple(words.agreement_rows(each)),
            frozenset(range(1, 1 + len(each.found.grades))),
        )


def _differences(pairs: Sequence[JudgedComparison]) -> Table:
    rows = tuple(
        (" - ".join(words.called(pair)), *row) for pair in pairs for row in words.difference_rows(pair)
    )
    heads = ("Pair", *words.DIFFERENCE_HEADS[:-1], "verdict")
    names = listed(["the judge", "people", "both"])
    return Table(f"Differences by {names}", heads, rows, frozenset({5}))
