"""A Wanted becomes the cells of a Plan, and a cell becomes the Wanted that would make it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from proctor.errors import ConfigError
from proctor.plan.option import SPOKEN, Given
from proctor.plan.wanted import BY_NAME, OPTIONS, THINKING_TOKENS, Wanted
from proctor.references import ExamRef
from proctor.types import Cell, Limits, Model, Plan, Sampling

Parts = Mapping[str, Any]  # part of a cell or plan -> the record that its options are fields of


def build(wanted: Wanted, source: ExamRef, models: Sequence[Model], *, base: Limits | None = None) -> Plan:
    """The plan: one cell for each model. `base` has the limits that count where none were given."""
    limits = replace(base or Limits(), **wanted.of("limits"))
    sampling = sampling_of(wanted)
    cells = tuple(Cell(model, source, sampling, limits, **wanted.of("cell")) for model in models)
    return Plan(cells, name=wanted.source, **wanted.of("plan"))


def reference(kind: str, name: str, given: Given, *, uploaded: ExamRef | None = None) -> ExamRef:
    """The one place where a source's reference is made. Raises ConfigError for an option of other kinds of source.

    `given` are the options of part "source", by name. A suite is asked at its quick size unless something was said
    of its size. `uploaded` is the reference of a data set before anything was said of it.
    """
    for each, value in given.items():
        option = BY_NAME[each]
        if kind not in option.sources and option.kind.says(value):
            raise ConfigError(
                f"{option.flag_word} is for {' and '.join(SPOKEN[of] for of in option.sources)}"
            )
    fields: dict[str, Any] = {"kind": kind, "name": name, **given}
    for option in OPTIONS:
        unsaid = kind in option.fallback and not any(
            given.get(other) for other in (option.name, *option.instead)
        )
        if unsaid:
            fields[option.name] = option.fallback[kind]
    return ExamRef(**fields) if uploaded is None else replace(uploaded, **given)


def sampling_of(wanted: Wanted) -> Sampling:
    """The defaults of types.Sampling, with what was given; a thinking model gets room to think."""
    given = dict(wanted.of("sampling"))
    if given.get("think"):
        given.setdefault("max_tokens", THINKING_TOKENS)
    return Sampling(**given)


def wanted_of(cell: Cell) -> Wanted:
    """What somebody would have to say to get this cell, of an exam: no more than what differs from the defaults."""
    usual, parts = parts_of(_usual(cell), Plan(())), parts_of(cell, Plan(()))
    given = {}
    for option in OPTIONS:
        value = getattr(parts[option.part], option.name, None)
        said = option.kind.says(value) or option.opens
        if said and value != getattr(usual[option.part], option.name):
            given[option.name] = value
    if usual["source"].preset and not given.get("preset") and not parts["source"].preset:
        given["preset"] = "full"  # of an older version, which asked all where nothing was said
    return Wanted(cell.source.name, (str(cell.model),), given)


def _usual(cell: Cell) -> Cell:
    """The cell that would come of the same words without any option, but for what other defaults hang on."""
    sampling = sampling_of(Wanted("", (), {"think": cell.sampling.think}))
    return Cell(
        Model(cell.model.provider, cell.model.name),
        replace(
            reference(cell.source.kind, cell.source.name, {"limit": getattr(cell.source, "limit", None)}),
            limit=None,
        ),
        replace(sampling, think=None),
    )


def parts_of(cell: Cell, plan: Plan) -> Parts:
    """What the options of each part are fields of."""
    return {
        "model": cell.model,
        "source": cell.source,
        "sampling": cell.sampling,
        "limits": cell.limits,
        "cell": cell,
        "plan": plan,
    }


def share_limits(
    limits: Limits, *, spent_s: float, spent_usd: float, spent_tokens: int, runs_left: int
) -> Limits:
    """What one of `runs_left` runs may use of a budget that the whole command was given.

    >>> share_limits(Limits(for_s=600), spent_s=100, spent_usd=0, spent_tokens=0, runs_left=2).for_s
    250.0
    """

    def left(total: float | None, spent: float) -> float | None:
        return None if total is None else max(0.0, total - spent) / runs_left

    tokens = left(limits.max_total_tokens, spent_tokens)
    return replace(
        limits,
        for_s=left(limits.for_s, spent_s),
        max_cost_usd=left(limits.max_cost_usd, spent_usd),
        max_total_tokens=None if tokens is None else int(tokens),
    )
