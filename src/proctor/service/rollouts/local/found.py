"""Which benchmark a word means: its name, its time, one of its trials, or an id of the store."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from proctor.errors import ConfigError, NotFound
from proctor.references import RolloutsRef
from proctor.service.context import Context, find
from proctor.service.rollouts.benchmark import trials_of
from proctor.service.rollouts.trial import TrialName
from proctor.store.read import rollout_plans
from proctor.store.read.rollout_plans import PlanFilter
from proctor.types import Run

STAMP = re.compile(r"(\d{8}__\d\d-\d\d-\d\d(?:_\d+)?)(-\d+)?")
AT_ONCE = 100


def benchmark_runs(context: Context, word: str, stamp: str | None = None) -> list[Run]:
    """The runs of the benchmark that is meant, in their order.

    `word` is a name (its latest, or with `stamp` the one of that time), NAME@STAMP, a stamp, a trial's STAMP-NUMBER,
    or the id of a plan or a run, of which a unique beginning is enough. Raises: NotFound, ConfigError.
    """
    name, at, behind = word.rpartition("@")
    if at and stamp is None and STAMP.fullmatch(behind):
        word, stamp = name, behind
    if stamp is not None:
        found = _first(context, lambda ref: ref.name == word and ref.stamp == stamp)
        return found or _not_here(context, word, stamp)
    if (told := STAMP.fullmatch(word)) is not None:
        found = _first(context, lambda ref: ref.stamp == told[1])
        return found or _not_here(context, None, told[1])
    if found := _first(context, lambda ref: ref.name == word):
        return found
    try:
        (first, *_) = find(context.store, word)
    except NotFound:
        return _not_here(context, word, None)
    if not isinstance(first.cell.source, RolloutsRef):
        raise ConfigError(f"Run {first.id[:8]} is no benchmark of tasks: it is of {first.cell.source.listed}")
    return context.store.plan_runs(first.plan_id)


def trial_named(context: Context, word: str) -> TrialName:
    """The trial that is meant: by its folder's name, STAMP-NUMBER, or by a benchmark that has no other.

    Raises: NotFound, ConfigError.
    """
    runs = benchmark_runs(context, word)
    told = STAMP.fullmatch(word.rpartition("@")[2])
    trials = [cell for run in runs for cell in trials_of(context, run)]
    if told is not None and told[2]:
        trials = [cell for cell in trials if cell.run_id == f"{told[1]}{told[2]}"]
        if not trials:
            raise NotFound(f"Benchmark {told[1]} has no trial {told[2][1:]}")
    if len(trials) != 1:
        names = ", ".join(cell.run_id for cell in trials[:5])
        raise ConfigError(f"{word} has {len(trials)} trials: name one of them, such as {names}")
    cell = trials[0]
    return TrialName(runs[0].plan_id, cell.run, cell.task, cell.rollout)


def _first(context: Context, meant: Callable[[RolloutsRef], bool]) -> list[Run] | None:
    """The newest benchmark whose reference is meant."""
    for runs in _all(context):
        ref = runs[0].cell.source
        if isinstance(ref, RolloutsRef) and meant(ref):
            return runs
    return None


def _all(context: Context) -> Iterator[list[Run]]:
    """Every benchmark, the newest first."""
    before: str | None = None
    while True:
        ids, _ = rollout_plans.listed(context.store, PlanFilter(), before=before, limit=AT_ONCE)
        runs = rollout_plans.runs_of(context.store, ids)
        yield from ([run for run, _ in runs[plan_id]] for plan_id in ids if runs[plan_id])
        if len(ids) < AT_ONCE:
            return
        before = ids[-1]


def _not_here(context: Context, name: str | None, stamp: str | None) -> list[Run]:
    """Raises: NotFound, with what there is."""
    times = []
    for runs in _all(context):
        ref = runs[0].cell.source
        if isinstance(ref, RolloutsRef) and name in (None, ref.name):
            times.append(f"{ref.name}@{ref.stamp}")
    told = f"; there are {', '.join(times[:5])}" if times else ""
    what = " of ".join(filter(None, [stamp, name]))
    raise NotFound(f"No benchmark {what} in the store{told} (`proctor rollouts list`)")
