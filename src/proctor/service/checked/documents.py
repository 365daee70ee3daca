"""What is found of a checked judge as JSON documents: one shape for the command line, the API and exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from proctor.findings import Estimate
from proctor.service.checked.found import (
    CheckedAgreement,
    JudgedComparison,
    JudgedDifference,
    JudgedResult,
    JudgedScore,
    JudgedSideBySide,
)


def judged_document(found: JudgedResult) -> dict[str, Any]:
    """`quote` says which of the three to quote; without labels that is the judge, whom nobody has checked then."""
    return {
        "run_id": found.run.id,
        "model": str(found.run.cell.model),
        "grader": found.grader,
        "judge": found.judge,
        "rubric": found.rubric,
        "against": found.against,
        "checked": bool(found.whole.labels),
        **_score(found.whole),
        "criteria": [_score(each) for each in found.criteria],
        "labels_used": asdict(found.labels),
        "sentence": found.sentence,
        "remarks": list(found.remarks),
    }


def compared_document(found: JudgedComparison) -> dict[str, Any]:
    """First minus second; of preferences the share of pairs that the first wins, which is 0.5 of equal runs."""
    return {
        "first": found.first.id,
        "second": found.second.id,
        "first_model": str(found.first.cell.model),
        "second_model": str(found.second.cell.model),
        "grader": found.grader,
        "judge": found.judge,
        "rubric": found.rubric,
        "pairwise": found.pairwise,
        "checked": bool(found.whole.labels),
        **_difference(found.whole),
        "criteria": [_difference(each) for each in found.criteria],
        "labels_used": asdict(found.labels),
        "adjustment": "Holm over the comparisons",
        "sentence": found.sentence,
        "remarks": list(found.remarks),
    }


def side_by_side_document(found: JudgedSideBySide, leanings: Sequence[str] = ()) -> dict[str, Any]:
    """Runs by one judge with all their pairs; `leanings` are sentences about what the judge leans to."""
    return {
        "runs": [judged_document(each) for each in found.results],
        "comparisons": [compared_document(each) for each in found.comparisons],
        "verdict": found.verdict,
        "leanings": list(leanings),
    }


def _score(of: JudgedScore) -> dict[str, Any]:
    return {
        **_three(of),
        "weight": of.weight,
        "agreement": None if of.agreement is None else _agreement(of.agreement),
    }


def _difference(of: JudgedDifference) -> dict[str, Any]:
    return {
        **_three(of),
        "equal": of.equal,
        "p_value": of.p_value,
        "adjusted_p": of.adjusted_p,
        "judge_p_value": of.judge_p_value,
        "verdict": of.verdict,
        "judge_verdict": of.judge_verdict,
        "comparisons": of.comparisons,
    }


def _three(of: JudgedScore | JudgedDifference) -> dict[str, Any]:
    return {
        "criterion": of.criterion,
        "judge_alone": asdict(of.judge),
        "people": _told(of.people),
        "corrected": _told(of.corrected),
        "quote": of.quote,
        "quoted": asdict(of.quoted),
        "why": of.why,
        "labels": of.labels,
        "correlation": of.correlation,
    }


def _told(of: Estimate | None) -> dict[str, Any] | None:
    return None if of is None else asdict(of)


def _agreement(of: CheckedAgreement) -> dict[str, Any]:
    """`table` has a row for each grade that the judge gave and a column for each that people gave."""
    found = of.found
    return {
        "share": asdict(found.share),
        "kappa": asdict(found.kappa),
        "grades": list(found.grades),
        "table": [list(row) for row in found.table],
        "judge_right": [asdict(each) for each in found.judge_right],
        "people_met": [asdict(each) for each in found.people_met],
        "random": of.random,
        "chosen": of.chosen,
        "chosen_share": _told(of.of_chosen),
    }
