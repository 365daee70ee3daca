"""What is found of a checked judge in sentences and rows, the same for terminals, pages and reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from proctor.figures import estimate, fraction, p_value, share
from proctor.findings import Estimate, Verdict
from proctor.service.checked.found import (
    WHOLE,
    CheckedAgreement,
    JudgedComparison,
    JudgedDifference,
    JudgedResult,
    JudgedScore,
    LabelsUsed,
)
from proctor.types import Run

Rows = list[tuple[str, ...]]
SCORE_HEADS = ("by", "judge alone", "people alone", "corrected", "labels", "quote")
DIFFERENCE_HEADS = (*SCORE_HEADS, "p", "")
UNCHECKED = "nobody has checked this judge"


def result_sentence(found: JudgedResult) -> str:
    """What to quote of a run and why."""
    whole, again = found.whole, f"`proctor label {found.run.id[:8]}`"
    alone = f"{estimate(whole.judge)} is what {found.judge} alone gives{_of_pairs(found.against)}"
    if not whole.labels:
        return (
            f"{alone}, and {UNCHECKED}: its interval knows nothing of its errors. "
            f"{again} lets people grade a random part of the same replies, which corrects it."
        )
    labels = _labels(whole.labels, "reply", "replies")
    if whole.quote == "corrected":
        return (
            f"Quote {estimate(whole.quoted)}: what {found.judge} alone gives, {fraction(whole.judge.value)}, corrected "
            f"by people's labels of {labels}; {whole.why}."
        )
    if whole.quote == "people":
        return (
            f"Quote {estimate(whole.quoted)}, from people's labels of {labels} and not from {found.judge}, which alone "
            f"gives {fraction(whole.judge.value)} ({whole.why})."
        )
    return f"{alone}; people's labels of {labels} are too few to check it. {again} takes more."


def comparison_sentence(found: JudgedComparison) -> str:
    """What is shown of two runs, and what the labels bought."""
    d, names = found.whole, called(found)
    ids = f"{found.first.id[:8]} {found.second.id[:8]}{' --pairwise' * found.pairwise}"
    judge = f"{found.judge} alone"
    said = _claim(d.judge, d.judge_verdict, d, names, d.judge_p_value)
    if not d.labels:
        what = "the same pairs" if found.pairwise else "the same random part of both"
        same = ": one that favours one of two equal models says the same"
        return (
            f"By {judge} {said}. That decides nothing, since {UNCHECKED}{same * _better(d.judge_verdict)}. "
            f"`proctor label {ids}` lets people grade {what}."
        )
    labels = _labels(d.labels, *(("pair", "pairs") if found.pairwise else ("item", "items")))
    if d.quote == "judge":
        few = f"people's labels of {labels} are too few to check it"
        return f"By {judge} {said}; {few}. `proctor label {ids}` takes more."
    claim = _claim(d.quoted, d.verdict, d, names, d.adjusted_p)
    why = f" ({d.why})" if d.quote == "people" else ""
    alone = estimate(_seen(d.judge, d, d.verdict))
    parts = [f"{_begun(d, labels)} {claim}{why}; {judge} said {alone}{_bought(d)}."]
    if d.verdict != d.judge_verdict:
        parts.append(f"The labels change the verdict: by {judge} {_short(d.judge_verdict, names)}.")
    if d.comparisons > 1 and d.adjusted_p is not None:
        parts.append(f"(p adjusted for {d.comparisons} comparisons.)")
    return " ".join(parts)


def _begun(d: JudgedDifference, labels: str) -> str:
    if d.quote == "corrected":
        return f"Corrected by people's labels of {labels}:"
    return f"By people's labels of {labels} alone:"


def _bought(d: JudgedDifference) -> str:
    """What the judge and the labels give together that neither gives alone."""
    wide = None if d.people is None else width(d.people)
    together = None if d.corrected is None else width(d.corrected)
    if d.quote != "corrected" or wide is None or together is None:
        return ""
    return (
        f"; without the judge the same labels would give an interval {fraction(wide)} wide, "
        f"in place of {fraction(together)}"
    )


def _claim(
    of: Estimate, verdict: Verdict, d: JudgedDifference, names: tuple[str, str], p: float | None
) -> str:
    """What an estimate and its verdict say, the better of the two first."""
    if of.value is None:
        return f"{names[0]} and {names[1]} cannot be compared: {of.reason}"
    better, worse = names if verdict != "second better" else (names[1], names[0])
    figures = estimate(_seen(of, d, verdict))
    tested = f" ({p_value(p)})" if p is not None else ""
    if d.equal:
        wins = f"{better} wins {figures} of the pairs against {worse}{tested}"
        if _better(verdict):
            return f"{better} is better than {worse}: it wins {figures} of the pairs{tested}"
        return (
            f"no difference is shown: {wins}"
            if verdict != "practically equal"
            else f"practically equal: {wins}"
        )
    if _better(verdict):
        return f"{better} is better than {worse} by {figures}{tested}"
    if verdict == "practically equal":
        return f"{better} and {worse} are practically equal, {figures} apart{tested}"
    return f"no difference between {better} and {worse} is shown, {figures}{tested}"


def _short(verdict: Verdict, names: tuple[str, str]) -> str:
    better = {"first better": names[0], "second better": names[1]}.get(verdict)
    if better:
        return f"{better} would be better"
    return (
        "no difference would be shown"
        if verdict == "no difference shown"
        else "the two would be practically equal"
    )


def _better(verdict: Verdict) -> bool:
    return verdict in ("first better", "second better")


def _seen(of: Estimate, d: JudgedDifference, verdict: Verdict) -> Estimate:
    """An estimate as the better of the two has it."""
    if verdict != "second better" or of.value is None or of.low is None or of.high is None:
        return of
    whole = 2 * d.equal
    return replace(of, value=whole - of.value, low=whole - of.high, high=whole - of.low)


def width(of: Estimate) -> float | None:
    return None if of.low is None or of.high is None else of.high - of.low


def called(found: JudgedComparison) -> tuple[str, str]:
    """The two runs by their models, or also by their ids where that is one model."""
    first, second = found.first, found.second
    names = str(first.cell.model), str(second.cell.model)
    return names if names[0] != names[1] else (_with_id(first), _with_id(second))


def _with_id(run: Run) -> str:
    return f"{run.cell.model} (run {run.id[:8]})"


def _labels(n: int, one: str, many: str) -> str:
    return f"1 {one}" if n == 1 else f"{n:,} {many}"


def _of_pairs(against: str | None) -> str:
    return "" if against is None else f" as the share of pairs won against run {against[:8]}"


# Rows ---------------------------------------------------------------------------------------------


def score_rows(found: JudgedResult) -> Rows:
    return [_score_row(each) for each in (found.whole, *found.criteria)]


def _score_row(each: JudgedScore) -> tuple[str, ...]:
    return (
        _by(each.criterion),
        *_three(each),
        f"{each.labels:,}",
        _quoted(each),
    )


def difference_rows(found: JudgedComparison) -> Rows:
    return [
        (
            _by(each.criterion),
            *_three(each),
            f"{each.labels:,}",
            _quoted(each),
            p_value(each.adjusted_p if each.adjusted_p is not None else each.p_value)
            .removeprefix("p = ")
            .removeprefix("p "),
            each.verdict if each.criterion == WHOLE else "",
        )
        for each in (found.whole, *found.criteria)
    ]


def _three(each: JudgedScore | JudgedDifference) -> tuple[str, str, str]:
    return (
        estimate(each.judge),
        estimate(each.people) if each.people is not None else "-",
        estimate(each.corrected) if each.corrected is not None else "-",
    )


def _quoted(each: JudgedScore | JudgedDifference) -> str:
    return each.quote if each.labels else "none: not checked"


def _by(criterion: str) -> str:
    return criterion or "all criteria"


def agreements(found: JudgedResult) -> list[CheckedAgreement]:
    return [each.agreement for each in (found.whole, *found.criteria) if each.agreement is not None]


def agreement_words(of: CheckedAgreement) -> str:
    """How often judge and people give one reply the same grade."""
    kind = "labels" if of.random else "labels of chosen items"
    told = (
        f"{_by(of.criterion)}: judge and people agree on {estimate(of.found.share)} of {of.labels:,} {kind}; "
        f"kappa {estimate(of.found.kappa)}"
    )
    if not of.random or of.of_chosen is None:
        return told
    return f"{told}; on {estimate(of.of_chosen)} of {of.chosen:,} labels of chosen items, which are in no estimate"


def agreement_heads(of: CheckedAgreement) -> tuple[str, ...]:
    return (
        "judge says",
        *(f"people say {grade}" for grade in of.found.grades),
        "people agree",
        "judge finds",
    )


def agreement_rows(of: CheckedAgreement) -> Rows:
    """A row a grade: how people graded what the judge graded so, and how often either follows the other."""
    found = of.found
    rows = zip(found.grades, found.table, found.judge_right, found.people_met, strict=True)
    return [
        (grade, *(f"{count:,}" for count in counts), _part(right), _part(met))
        for grade, counts, right, met in rows
    ]


def _part(of: Estimate) -> str:
    return "-" if of.value is None else f"{share(of.value)} [{share(of.low)}, {share(of.high)}]"


def labels_words(used: LabelsUsed) -> Iterator[str]:
    """What became of the labels that are in no estimate."""
    if used.chosen:
        yield f"{used.chosen:,} labels of chosen items, or given after looking, are in no estimate."
    if used.stale:
        yield f"{used.stale:,} labels are of replies that were asked again since: left out."
    if used.other_rubric:
        yield f"{used.other_rubric:,} labels are by another rubric: left out."
    if used.ungraded:
        yield f"To {used.ungraded:,} of the labelled replies the judge gave no grade that can be read."


def together(comparisons: Sequence[JudgedComparison]) -> str:
    return " ".join(each.sentence for each in comparisons)
