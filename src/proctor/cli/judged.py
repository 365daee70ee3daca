"""What a judge is worth, as `proctor show` and `proctor compare` say it with `--grader judge`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from proctor.cli.tables import columns

if TYPE_CHECKING:
    from proctor.service.checked.found import JudgedComparison, JudgedResult, JudgedSideBySide


def judged_lines(found: JudgedSideBySide, leanings: Sequence[str] = ()) -> Iterator[str]:
    """The three scores of each run, the agreement with people, the three differences of each pair."""
    for result in found.results:
        yield f"{result.run.cell.model} (run {result.run.id[:8]}) by {result.judge}, rubric {result.rubric}:"
        yield from (f"  {line}" for line in _result_lines(result))
    for pair in found.comparisons:
        yield from _pair_lines(pair)
    for each in dict.fromkeys([*_remarks(found), *leanings]):
        yield f"note: {each}"


def _result_lines(found: JudgedResult) -> Iterator[str]:
    from proctor.service.checked import words

    yield from columns(words.score_rows(found), words.SCORE_HEADS)
    yield found.sentence
    for each in words.agreements(found):
        yield words.agreement_words(each)
        yield from (f"  {line}" for line in columns(words.agreement_rows(each), words.agreement_heads(each)))
    yield from words.labels_words(found.labels)


def _pair_lines(pair: JudgedComparison) -> Iterator[str]:
    from proctor.service.checked import words

    first, second = words.called(pair)
    what = f"{first} against {second}, share of pairs won" if pair.pairwise else f"{first} - {second}"
    yield f"{what}, by {pair.judge}, rubric {pair.rubric}:"
    yield from (f"  {line}" for line in columns(words.difference_rows(pair), words.DIFFERENCE_HEADS))
    if pair.pairwise:
        yield from (f"  {line}" for line in words.labels_words(pair.labels))


def _remarks(found: JudgedSideBySide) -> Iterator[str]:
    for result in found.results:
        yield from result.remarks
    for pair in found.comparisons:
        yield from pair.remarks
