"""What a bundle tells of what was tried where its runs were made: who sees two runs must know if they were picked.

The rows of the other runs are not in the bundle. So pairs with them come after all others (p = 1), which is never to
the favour of those that are. Like all that stands beside replies it is told, and figures are recomputed with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, get_args

from proctor.errors import DataError
from proctor.findings import RunResult
from proctor.findings.looks import Alternatives, Chosen, Rerun
from proctor.service.evidence.evaluation import evaluation
from proctor.service.looks.ledger import LookLedger, TriedBeside
from proctor.store import Store

TRIED = "tried"  # its key in results.json


def tried_there(store: Store, results: Sequence[RunResult]) -> TriedBeside | None:
    """Beside runs of this store that are packed together; None for one run. Raises ConfigError as a comparison does."""
    if len(results) < 2:
        return None
    ledger = LookLedger(store)
    looks = evaluation(store, results, ledger=ledger).looks
    tried = ledger.tried([result.run for result in results])
    if looks is None:
        return None
    further = max(0, looks.models - len(results))
    return TriedBeside(
        unseen=0 if looks.fixed else further,
        deleted=looks.deleted,
        left_out=further if looks.fixed else 0,
        watched=tried.watched,
        reruns=looks.reruns,
        alternatives=looks.alternatives,
        peeks=looks.peeks,
    )


def record_of(tried: TriedBeside) -> dict[str, Any]:
    return {
        "unseen": tried.unseen,
        "deleted": tried.deleted,
        "peeks": tried.peeks,
        "left_out": tried.left_out,
        "watched": sorted(tried.watched),
        "reruns": [asdict(each) for each in tried.reruns],
        "alternatives": [asdict(each) for each in tried.alternatives],
    }


def tried_from(told: object) -> TriedBeside | None:
    """What results.json tells; None of a bundle that tells nothing. Raises: DataError."""
    if told is None:
        return None
    try:
        return _read(told)
    except (TypeError, ValueError, KeyError) as error:
        raise DataError(f"results.json: {TRIED} cannot be read ({error!r})") from None


def _read(told: Any) -> TriedBeside:
    """Raises TypeError, ValueError, KeyError."""
    alternatives = tuple(Alternatives(each["what"], _count(each["of"])) for each in told["alternatives"])
    if any(each.what not in get_args(Chosen) for each in alternatives):
        raise ValueError("an unknown choice")
    return TriedBeside(
        unseen=_count(told["unseen"]),
        deleted=_count(told["deleted"]),
        peeks=_count(told["peeks"]),
        left_out=_count(told["left_out"]),
        watched=frozenset(str(each) for each in told["watched"]),
        reruns=tuple(_rerun(each) for each in told["reruns"]),
        alternatives=alternatives,
    )


def _rerun(told: Mapping[str, Any]) -> Rerun:
    known = {field.name: told[field.name] for field in fields(Rerun)}
    numbers = {name: _count(known[name]) for name in ("of", "counted", "stopped", "deleted")}
    return Rerun(str(known["run_id"]), str(known["model"]), latest=known["latest"] is True, **numbers)


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value <= 1_000_000:
        raise ValueError(f"{value!r} is no count")
    return value
