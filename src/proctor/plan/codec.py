"""Plans and cells as the JSON that is kept, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, get_args, get_type_hints

from proctor.errors import ConfigError
from proctor.references import (
    Agent,
    BenchmarkBudget,
    Criterion,
    ExamRef,
    GradingRubric,
    JudgingRef,
    RolloutsRef,
    SourceRef,
    TaskEntry,
    TrialLimits,
)
from proctor.types import Cell, Limits, Model, Plan, Sampling, Shard


def cell_to_json(cell: Cell) -> str:
    """The cell as JSON text; `cell_from_json` gives an equal cell back."""
    return json.dumps(_cell(cell), ensure_ascii=False, sort_keys=True)


# Written where they say something: older versions read the rest.
_LATER = frozenset({"columns", "sheet", "content", "grader", "contents", "home_files", "model_name"})


def _cell(cell: Cell) -> dict[str, Any]:
    record = asdict(cell)
    record["source"] = source = _said(record["source"])
    if not any((source.get("budget") or {}).values()):
        source.pop("budget", None)
    if "tasks" in source and isinstance(cell.source, RolloutsRef):
        source["tasks"] = [_said(task) for task in source["tasks"]]
    if cell.agent is None:
        del record["agent"]
    else:
        record["agent"] = _said(record["agent"])
    if cell.limits.shard is None:
        del record["limits"]["shard"]
    if not cell.limits.until_decided:
        del record["limits"]["until_decided"]
    return record


def _said(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if value or name not in _LATER}


def cell_from_json(text: str) -> Cell:
    """Raises ConfigError on keys that this version does not know."""
    record = json.loads(text)
    return Cell(
        model=_build(Model, record.pop("model")),
        source=_source(record.pop("source")),
        sampling=_build(Sampling, record.pop("sampling")),
        limits=_limits(record.pop("limits")),
        agent=_build(Agent, record.pop("agent")) if "agent" in record else None,
        **_known(Cell, record),
    )


_REFERENCES = {kind: each for each in get_args(SourceRef) for kind in get_args(get_type_hints(each)["kind"])}
_OF_EXAMS = frozenset(field.name for field in fields(ExamRef))


def _source(record: Mapping[str, Any]) -> SourceRef:
    """The reference of the kind that the record names. Older versions gave every kind the fields of an exam."""
    kind = record.get("kind")
    reference = _REFERENCES.get(str(kind))
    if reference is None:
        raise ConfigError(
            f"A stored source is of the kind {kind!r}, which this version does not know: update proctor"
        )
    if reference is RolloutsRef:
        return _rollouts(record)
    if reference is JudgingRef:
        return JudgingRef(**{**_known(JudgingRef, record), "rubric": _rubric(record["rubric"])})
    unused = _OF_EXAMS - {field.name for field in fields(reference)}
    built: SourceRef = _build(
        reference, {name: value for name, value in record.items() if name not in unused}
    )
    return built


def _limits(record: Mapping[str, Any]) -> Limits:
    shard = record.get("shard")
    limits: Limits = _build(Limits, {**record, "shard": shard and _build(Shard, shard)})
    return limits


def _rollouts(record: Mapping[str, Any]) -> RolloutsRef:
    """A reference that has records in it."""
    tasks = tuple(_build(TaskEntry, task) for task in record["tasks"])
    inner = {"tasks": tasks, "limits": _build(TrialLimits, record["limits"])}
    inner["budget"] = _build(BenchmarkBudget, record.get("budget") or {})
    return RolloutsRef(**{**_known(RolloutsRef, record), **inner})


def _rubric(record: Mapping[str, Any]) -> GradingRubric:
    """A rubric of the JSON that `dataclasses.asdict` makes of one. Raises ConfigError."""
    criteria = tuple(_build(Criterion, each) for each in record["criteria"])
    return GradingRubric(**{**_known(GradingRubric, record), "criteria": criteria})


def plan_to_json(plan: Plan) -> str:
    record: dict[str, Any] = {"name": plan.name, "replies": plan.replies}
    record["cells"] = [_cell(c) for c in plan.cells]
    if plan.only:
        record["only"] = True
    return json.dumps(record, ensure_ascii=False, sort_keys=True)


def _build(kind: Any, record: Mapping[str, Any]) -> Any:
    listed = {f.name for f in fields(kind) if "tuple" in str(f.type)}
    return kind(**{k: tuple(v) if k in listed else v for k, v in _known(kind, record).items()})


def _known(kind: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    names = {f.name for f in fields(kind)}
    if unknown := sorted(record.keys() - names):
        raise ConfigError(
            f"A stored {kind.__name__} holds {unknown[0]!r}, which this version does not know: update proctor"
        )
    return dict(record)
