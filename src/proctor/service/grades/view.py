"""Runs as another grader than their first sees them: its kept grades in place of the first, all else as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from proctor.findings import METRIC_VERSIONS, RunResult
from proctor.grading.exam import metric_of
from proctor.grading.extractors import EXTRACTORS
from proctor.manifest import Manifest, TaskSpec
from proctor.service.context import Context
from proctor.service.grades.named import kept_name
from proctor.service.judging.kept_judges import judge_told
from proctor.service.results.causes import causes_of
from proctor.service.results.comparable import comparability, exam
from proctor.service.results.profile import tally_of
from proctor.service.results.results import marks, shape, shown
from proctor.stats.estimates import scores
from proctor.store import AttemptRow, Store
from proctor.store.write import grades
from proctor.types import Grade, Item, Outcome, Run


def graders_of(context: Context, run_id: str) -> list[grades.GradedBy]:
    """Whose grades of a run are kept beside the first ones. Raises NotFound."""
    return grades.graders(context.store, run_id)


def graded_result(context: Context, run_id: str, grader: str) -> RunResult:
    """What a run shows by a kept grader. Raises NotFound, ConfigError."""
    return GradedView(context.store, grader).shown(context.store.run(run_id))


@dataclass(frozen=True, slots=True)
class GradedView:
    """Where the attempts of runs are found, graded by `grader`; by their first grader where that is None.

    Every method raises NotFound for a run that has no grades by it, ConfigError where the name fits several graders.
    """

    store: Store
    grader: str | None = None

    def latest(self, run_id: str) -> Iterator[AttemptRow]:
        name = self._kept_name(self.store.run(run_id))
        if name is None:
            return self.store.latest(run_id)
        given = grades.by(self.store, run_id, name)
        return (graded_row(row, given) for row in self.store.latest(run_id))

    def item(self, digest: str) -> Item:
        return self.store.item(digest)

    def shown(self, run: Run) -> RunResult:
        """What the run shows, its scores by this grader."""
        name = self._kept_name(run)
        if name is None:
            return shown(self.store, run)
        run = _marked(regraded(run, name), name)
        rows = list(self.latest(run.id))
        counted = Counter(row.outcome for row in rows)
        settled = [row for row in rows if row.outcome is not Outcome.ERROR]
        tally = replace(
            tally_of(self.store, run),
            outcomes={outcome.value: counted[outcome] for outcome in Outcome if counted[outcome]},
            answer_rate=sum(row.answer is not None for row in settled) / len(settled) if settled else None,
        )
        return RunResult(run, scores(marks(self, run), shape(run)), tally, causes_of(self.store, run, tally))

    def _kept_name(self, run: Run) -> str | None:
        return None if self.grader is None else kept_name(self.store, run, self.grader)


def regraded(run: Run, grader: str | None) -> Run:
    """The run as its kept grades by `grader` show it; None: by its first."""
    if grader is None:
        return run
    manifest = graded_manifest(run.manifest, grader)
    return replace(run, manifest=manifest, comparability=comparability(manifest), exam=exam(manifest))


def _marked(run: Run, grader: str) -> Run:
    """The run as titles name it: by a judge they say so, since a judge's mean is no score that somebody checked."""
    if (judge := judge_told(grader)) is None:
        return run
    facts = run.manifest.facts
    tasks = facts.tasks
    if len(tasks) == 1:  # of several the whole says it
        tasks = {key: replace(spec, title=f"{spec.title}{judge.mark}") for key, spec in tasks.items()}
    manifest = replace(run.manifest, facts=replace(facts, tasks=tasks))
    return replace(run, manifest=manifest, source_title=f"{run.source_title}{judge.mark}")


def graded_row(row: AttemptRow, given: Mapping[grades.Place, Grade]) -> AttemptRow:
    """A row with this grade. One that was asked since, or could not be graded, measures nothing."""
    if row.outcome is Outcome.ERROR:
        return row
    grade = given.get((row.item_id, row.repeat, row.attempt)) or Grade(Outcome.ANSWERED, None)
    return replace(row, outcome=grade.outcome, score=grade.score, answer=grade.answer, rung=None)


def graded_manifest(manifest: Manifest, grader: str) -> Manifest:
    """What a run's numbers rest on where they are of this grader.

    An extractor gives the answers that the tasks' own metrics count; of other graders only the scores are counted.
    """
    facts = manifest.facts
    if grader in EXTRACTORS:
        tasks = {key: replace(spec, grader=None) for key, spec in facts.tasks.items()}
        return replace(manifest, facts=replace(facts, tasks=tasks, extractor=grader))
    metric = metric_of(grader)
    tasks = {key: graded_spec(spec, grader) for key, spec in facts.tasks.items()}
    versions = {metric: METRIC_VERSIONS[metric]}
    return replace(manifest, facts=replace(facts, tasks=tasks, metric_versions=versions))


def graded_spec(spec: TaskSpec, grader: str) -> TaskSpec:
    """A task whose replies have scores by a grader: they are all that is counted, whatever form its answers have."""
    return replace(
        spec, grader=grader, kind="text", official=(metric_of(grader),), also=(), positive=None, labels=()
    )
