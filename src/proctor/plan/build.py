"""A Wanted becomes the cells of a Plan, and a cell becomes the Wanted that would make it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from proctor.errors import ConfigError
from proctor.plan.option import SPOKEN, Given
from proctor.plan.wanted import BY_NAME, OPTIONS, THINKING_TOKENS, Wanted
from proctor.references import BatchRef, ExamRef
from proctor.types import Cell, Limits, Model, Plan, Sampling

Parts = Mapping[str, Any]  # part of a cell or plan -> the record that its options are fields of
# What is drawn how stands in each request of a batch.
AS_WRITTEN = Sampling(temperature=None, max_tokens=None, context_tokens=None, seed=None)


def build(
    wanted: Wanted, source: ExamRef | BatchRef, models: Sequence[Model], *, base: Limits | None = None
) -> Plan:
    """The plan: one cell for each model. `base` has the limits that count where none were given.

    Raises: ConfigError for an option of other kinds of source.
    """
    _need_fitting(source.kind, wanted.given)
    limits = replace(base or Limits(), **wanted.of("limits"))
    sampling = AS_WRITTEN if isinstance(source, BatchRef) else sampling_of(wanted)
    cells = tuple(Cell(model, source, sampling, limits, **wanted.of("cell")) for model in models)
    return Plan(cells, name=wanted.source, **wanted.of("plan"))


def reference(kind: str, name: str, given: Given, *, uploaded: ExamRef | None = None) -> ExamRef:
    """The one place where an exam's reference is made. Raises ConfigError for an option of other kinds of source.

    `given` are the options of part "source", by name. A suite is asked at its quick size unless something was said
    of its size. `uploaded` is the reference of a data set before anything was said of it.
    """
    _need_fitting(kind, given)
    fields: dict[str, Any] = {"kind": kind, "name": name, **given}
    for option in OPTIONS:
        unsaid = kind in option.fallback and not any(
            given.get(other) for other in (option.name, *option.instead)
        )
        if unsaid:
            fields[option.name] = option.fallback[kind]
    return ExamRef(**fields) if uploaded is None else replace(uploaded, **given)


def batch_reference(name: str, given: Given, *, uploaded: BatchRef | None = None) -> BatchRef:
    """The one place where a reference to a file of requests is made; as `reference`."""
    _need_fitting("batch", given)
    return replace(uploaded or BatchRef(name), **given)


def _need_fitting(kind: str, given: Given) -> None:
    """Raises: ConfigError for an option of other kinds of source."""
    for each, value in given.items():
        option = BY_NAME[each]
        if kind in SPOKEN and kind not in option.sources and option.kind.says(value):
            raise ConfigError(f"{option.flag_word} is for {option.whose}")


def sampling_of(wanted: Wanted) -> Sampling:
    """The defaults of types.Sampling, with what was given; a thinking model gets room to think."""
    given = dict(wanted.of("sampling"))
    if given.get("think"):
        given.setdefault("max_tokens", THINKING_TOKENS)
    return Sampling(**given)


def wanted_of(cell: Cell) -> Wanted:
    """What somebody would have to say to get this cell, of an exam or a batch: what differs from the defaults."""
    kind, usual, parts = cell.source.kind, parts_of(_usual(cell), Plan(())), parts_of(cell, Plan(()))
    given = {}
    for option in OPTIONS:
        if kind in SPOKEN and kind not in option.sources:
            continue
        value = getattr(parts[option.part], option.name, None)
        said = option.kind.says(value) or option.opens
        if said and value != getattr(usual[option.part], option.name):
            given[option.name] = value
    if getattr(usual["source"], "preset", None) and not given.get("preset") and not parts["source"].preset:
        given["preset"] = "full"  # of an older version, which asked all where nothing was said
    command: Literal["run", "batch run"] = "batch run" if isinstance(cell.source, BatchRef) else "run"
    return Wanted(cell.source.name, (str(cell.model),), given, command)


def _usual(cell: Cell) -> Cell:
    """The cell that would come of the same words without any option, but for what other defaults hang on."""
    model = Model(cell.model.provider, cell.model.name)
    if isinstance(cell.source, BatchRef):
        return Cell(model, BatchRef(cell.source.name), AS_WRITTEN)
    sampling = sampling_of(Wanted("", (), {"think": cell.sampling.think}))
    limit = {"limit": getattr(cell.source, "limit", None)}
    source = replace(reference(cell.source.kind, cell.source.name, limit), limit=None)
    return Cell(model, source, replace(sampling, think=None))


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
