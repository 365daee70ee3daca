"""Ways of asking and grading in which compared models have complete runs: each is a comparison that could be picked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import replace

from proctor.findings.looks import Alternatives, Chosen
from proctor.grading.extractors import EXTRACTORS
from proctor.manifest import Manifest
from proctor.plan import cell_from_json
from proctor.service.grades.named import first_grader_of
from proctor.store import Store
from proctor.store.read.keyed import KeyedRun
from proctor.store.write.grades import graders
from proctor.types import Cell, Run

# A smaller run than this, of what the compared ones were asked, was a trial before them and no choice.
TRIAL = 0.5

ASPECTS: Mapping[Chosen, Callable[[Manifest], Hashable]] = {
    "wordings": lambda m: m.facts.wording,
    "styles": lambda m: (m.facts.style, m.facts.shots, m.facts.shuffle),
    "modes": lambda m: m.mode or "generate",
}


def alternatives(
    store: Store, runs: Sequence[Run], lines: Sequence[KeyedRun], elsewhere: int = 0
) -> tuple[Alternatives, ...]:
    """In how many ways all these models have complete runs, or kept grades, where it is more than one.

    `lines` are the runs of the compared runs' sources, `elsewhere` counts selections of these items in others.
    """
    models = {str(run.cell.model) for run in runs}
    mine = [line for line in lines if line.complete and line.full_model in models]
    ids = {run.id for run in runs}
    asked = min((line.planned for line in mine if line.id in ids), default=0)
    large = [line for line in mine if line.planned >= TRIAL * asked]
    here = runs[0].manifest
    ways = [here, *_manifests(store, _common(large, models))]
    alike = [way for way in ways if way.facts.tasks.keys() == here.facts.tasks.keys()]
    counts: dict[Chosen, int] = {what: len({of(way) for way in alike}) for what, of in ASPECTS.items()}
    by = _kept_by(store, runs) | set(filter(_gives_scores, map(first_grader_of, alike)))
    counts["extractors" if by <= EXTRACTORS.keys() else "graders"] = len(by)
    counts["tasks"] = len(_task_sets(here, _manifests(store, _common(mine, models))))
    counts["selections"] = _selections(runs, large, models) + elsewhere
    counts["settings"] = max(_settings(run, mine) for run in runs)
    return tuple(Alternatives(what, of) for what, of in counts.items() if of > 1)


def _common(lines: Iterable[KeyedRun], models: Set[str]) -> list[str]:
    """The id of a run of each key of comparability that all the models have runs of."""
    by_key: dict[str, dict[str, str]] = {}
    for line in lines:
        by_key.setdefault(line.comparability, {})[line.full_model] = line.id
    return [next(iter(of.values())) for of in by_key.values() if models <= of.keys()]


def _manifests(store: Store, ids: Iterable[str]) -> list[Manifest]:
    return [store.run(each).manifest for each in ids]


def _gives_scores(grader: str) -> bool:
    """Who asks for no grades has chosen among none."""
    return grader.partition("/")[0] not in ("", "none")


def _kept_by(store: Store, runs: Sequence[Run]) -> set[str]:
    """The graders whose grades of all these runs are kept beside the first ones."""
    kept = ({each.grader for each in graders(store, run.id)} for run in runs)
    return set.intersection(*kept)


def _task_sets(here: Manifest, ways: Sequence[Manifest]) -> set[frozenset[str]]:
    """Those that are no part of what was compared: who asks a whole suite may have tried a task of it first."""
    mine = frozenset(here.facts.tasks)
    return {mine, *(of for way in ways if not (of := frozenset(way.facts.tasks)) < mine)}


def _selections(runs: Sequence[Run], lines: Sequence[KeyedRun], models: Set[str]) -> int:
    exams = [
        {
            line.exam
            for line in lines
            if line.full_model == model and line.comparability == runs[0].comparability
        }
        for model in models
    ]
    common = set.intersection(*exams)
    return len(common) + (not common.issuperset(run.exam for run in runs))


def _settings(run: Run, lines: Sequence[KeyedRun]) -> int:
    mine = (line for line in lines if line.full_model == str(run.cell.model) and line.exam == run.exam)
    return len({asked_with(run.cell), *(asked_with(cell_from_json(line.cell)) for line in mine)})


def asked_with(cell: Cell) -> Hashable:
    """How a model's replies are drawn, but for the seed: runs that differ in nothing else are reruns."""
    return replace(cell.sampling, seed=None), cell.agent
