"""Suites as sources: rows drawn in the sampling order, put into words, and replies read against them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from proctor.errors import ConfigError, DataError, DataMissing
from proctor.grading.exam import ExamGrader, Reads
from proctor.grading.extractors import check_labels, extractor
from proctor.grading.vocabulary import Vocabulary, vocabulary
from proctor.manifest import ExamFacts, TaskSpec
from proctor.protocols import Grader
from proctor.references import ExamRef, Rows
from proctor.sources.exams.asking import (
    LETTERED,
    SEED,
    Presentation,
    asking_of,
    how_asked,
    in_words,
    worked_examples,
)
from proctor.sources.exams.copied import copies_told, with_copies
from proctor.sources.exams.graded import (
    GraderChoosing,
    choosing_of,
    graded_by,
    graders_in,
    said_of,
    with_graders,
)
from proctor.sources.exams.items import other_answers, to_item, written
from proctor.sources.exams.prompts.form import Writer
from proctor.sources.exams.rows.normal_form import Row, RowSet, item_set_sha256, read_tasks
from proctor.sources.exams.sampling import PRESETS, spread, take
from proctor.sources.exams.shuffle import shuffled
from proctor.sources.exams.tables.shapes import Suite, Task
from proctor.sources.exams.tables.tasks import suite_named
from proctor.types import Item


@dataclass(frozen=True, slots=True)
class SuiteSource:
    """The items of a run, in order. Items are made when they are drawn; the rows are in memory."""

    title: str
    facts: ExamFacts
    tasks: Mapping[str, Task]
    rows: tuple[Row, ...]
    asking: Presentation = field(repr=False)
    grader: ExamGrader = field(repr=False)
    choosing: GraderChoosing = field(repr=False)
    row_ids: tuple[str, ...] = field(repr=False)  # of all items, in the order of their files
    understood: tuple[str, ...] = ()
    teaching: Callable[[str], Sequence[Row]] = field(default=lambda task: (), repr=False)  # a task's dev rows

    @property
    def stop(self) -> tuple[str, ...]:
        """Where the style has the model stop; to be sent with each request."""
        return self.asking.style.stop

    def labels(self) -> tuple[Mapping[str, Mapping[str, int]], str]:
        """How often each target stands in each task's dev rows; in the evaluated rows where there are none."""
        counts: dict[str, Mapping[str, int]] = {}
        without = []
        for key, task in self.tasks.items():
            rows: Sequence[Row] = self.teaching(key)
            if not rows:
                without.append(key)
                rows = [row for row in self.rows if row.task == key]
            named = {label.name: 0 for label in task.labels}
            counts[key] = {**named, **Counter(row.target for row in rows if row.target is not None)}
        if not without:
            return counts, "the dev rows"
        if len(without) == len(self.tasks):
            return counts, "the evaluated rows"
        return counts, f"the dev rows (for {', '.join(without)}: the evaluated rows)"

    def __len__(self) -> int:
        return sum(len(self.asking.writers[row.task]) for row in self.rows)

    def items(self) -> Iterator[Item]:
        for row in self.rows:
            yield from self.items_of(row)

    def items_of(self, row: Row) -> Iterator[Item]:
        """The row's item, or one for each wording, which hang together."""
        task, asking = self.tasks[row.task], self.asking
        if asking.shuffle and task.kind in LETTERED:
            row = shuffled(row, seed=SEED)
        writers, shots = asking.writers[row.task], asking.shots.get(row.task, ())
        for number, writer in enumerate(writers, 1):
            item = to_item(row, task, writer, shots)
            if len(writers) > 1:
                item = replace(item, id=f"{row.id}@{number}", cluster=item.cluster or row.id)
            yield item

    def replayed(self) -> SuiteSource:
        """The same, its replies made elsewhere: nothing tells them to end in a line with the answer alone."""
        chosen = self.choosing.chosen(replayed=True)
        return self._graded_by(graders_in(chosen), said_of(chosen))

    def graded_as(self, graders: Mapping[str, str]) -> SuiteSource:
        """The same by the graders that a run began with, by task; by the extractor where none is named."""
        return self._graded_by({task: self.choosing.began(task, words) for task, words in graders.items()})

    def graded_with(self, grader: Grader) -> SuiteSource:
        """The same with one grader for all tasks."""
        return self._graded_by(dict.fromkeys(self.tasks, grader), (f"Grader {grader.name}: it was named.",))

    def _graded_by(self, graders: Mapping[str, Grader], said: Sequence[str] = ()) -> SuiteSource:
        before = said_of(self.choosing.chosen())
        return replace(
            self,
            grader=graded_by(self.grader, graders),
            facts=with_graders(self.facts, tuple(self.tasks.values()), graders),
            understood=(*(line for line in self.understood if line not in before), *said),
        )

    @property
    def vocabularies(self) -> Mapping[str, Vocabulary]:
        """The labels of each task that has some, ready for reading."""
        return {task: each.vocabulary for task, each in self.grader.forms.items() if each.vocabulary}

    def spoken(self, item: Item) -> str:
        """How a model writes the right answer: "yes" where the target is called "entailment"."""
        return written(self.tasks[item.group], item.target or "")

    def wrong(self, item: Item) -> tuple[str, ...]:
        """Other answers, as a model writes them; empty where the item does not tell any."""
        return other_answers(self.tasks[item.group], item)


def task_keys(ref: ExamRef) -> tuple[str, ...]:
    """The tasks of a suite that a reference needs rows of. Raises: ConfigError."""
    return tuple(task.key for task in select(suite_named(ref.name), ref) if not optional(task, ref))


def open_suite(ref: ExamRef, home: Path) -> SuiteSource:
    """The items of a suite. Raises: ConfigError for an unknown suite or task, DataMissing, DataError."""
    suite = suite_named(ref.name)
    wanted = select(suite, ref)
    sets, origin = read_suite(wanted, ref, home)
    tasks = [task for task in wanted if task.key in sets]
    rows, copies = with_copies(
        [with_half(row) for row_set in sets.values() for row in row_set.rows],
        {task.key: task for task in tasks},
    )
    whole = all(task.extra or task in tasks for task in suite.tasks)
    some = "" if whole else f": {', '.join(task.key for task in tasks)}"

    def dev_rows(task: str) -> Sequence[Row]:
        try:
            return read_tasks([task], origin, home, split="dev")[task].rows
        except DataMissing:
            return ()

    plain = make_source(
        ref,
        tasks,
        spread(rows, {task.key: task for task in tasks}, seed=SEED),
        title=f"{suite.title}{some}",
        facts=ExamFacts(
            suite=suite.key,
            rows=origin,
            aggregate=suite.aggregate,
            scored_tasks=sum(not task.extra for task in suite.tasks),
            categories=categories_of(suite, tasks),
            tasks={task: rows_spec(row_set) for task, row_set in sets.items()},
            copies=copies,
        ),
        teaching=dev_rows,
    )
    left_out = [task.key for task in wanted if task.key not in sets]
    said = (f"left out, for want of rows: {', '.join(left_out)}",) if left_out else ()
    said = (*said, *copies_told(copies))
    named = [(row.task, row.id) for row in rows]
    return replace(plain, row_ids=item_ids(plain, named), understood=(*plain.understood, *said))


def select(suite: Suite, ref: ExamRef) -> tuple[Task, ...]:
    """The tasks asked for, in the suite's order; without any, all that are scored, and extras if it is all.

    Raises: ConfigError.
    """
    known = [task.key for task in suite.tasks]
    if unknown := [key for key in ref.tasks if key not in known]:
        raise ConfigError(f"No task {unknown[0]!r} in {suite.key}. Its tasks: {', '.join(known)}")
    if ref.tasks:
        return tuple(task for task in suite.tasks if task.key in ref.tasks)
    return tuple(task for task in suite.tasks if not task.extra or ref.preset == "full")


def optional(task: Task, ref: ExamRef) -> bool:
    """True for an extra that came along with preset full: a run does without it when its rows are not here."""
    return task.extra and task.key not in ref.tasks


def read_suite(tasks: Sequence[Task], ref: ExamRef, home: Path) -> tuple[dict[str, RowSet], Rows]:
    """The rows of the tasks, all of one origin. Raises: DataMissing, DataError."""
    sets = dict(read_tasks([task.key for task in tasks if not optional(task, ref)], ref.rows, home))
    origin = next(iter(sets.values())).origin
    for task in tasks:
        if optional(task, ref):
            try:
                sets |= read_tasks([task.key], origin, home)
            except DataMissing:
                continue  # said in words by whoever opens the suite
    return {task.key: sets[task.key] for task in tasks if task.key in sets}, origin


def with_half(row: Row) -> Row:
    """The row with its half in its id, where it has one: scores are given by half."""
    half = row.fields.get("half")
    rest = row.id.partition("/")[2]
    if half is None or rest.startswith(f"{half}-"):
        return row
    return replace(row, id=f"{row.task}/{half}-{rest}")


def rows_spec(row_set: RowSet) -> TaskSpec:
    revision = row_set.manifest.revision if row_set.manifest else None
    return TaskSpec(row_set.task, data_sha256=row_set.sha256, revision=revision or None)


def categories_of(suite: Suite, tasks: Sequence[Task]) -> dict[str, tuple[str, ...]]:
    here = {task.key for task in tasks}
    groups = {title: tuple(key for key in keys if key in here) for title, keys in suite.categories.items()}
    return {title: keys for title, keys in groups.items() if keys}


def make_source(
    ref: ExamRef,
    tasks: Sequence[Task],
    ordered: Sequence[Row],
    *,
    title: str,
    facts: ExamFacts,
    teaching: Callable[[str], Sequence[Row]] = lambda task: (),
    own: Mapping[str, tuple[Writer, ...]] | None = None,
) -> SuiteSource:
    """The source of the rows that preset and limit leave, with the facts that it rests on.

    `facts` are those that the caller knows; `own` are writers of tasks whose prompts are not in our table. `row_ids` is
    for the caller to fill, who knows the order of the file. Raises: ConfigError, DataError.
    """
    rows = take_asked(ref, ordered)
    asking = asking_of(ref, tasks, own or {})
    asking = replace(asking, shots=worked_examples(ref, tasks, ordered, asking, teaching))
    reading = extractor(ref.extractor or asking.style.extractor, {task.kind for task in tasks})
    facts = replace(
        how_asked(described(facts, tasks, ordered, rows), ref, tasks, asking),
        extractor=reading.name,
        seed=SEED,
        preset=ref.preset,
        limit=ref.limit,
    )
    vocabularies = {task.key: vocabulary(task.labels) for task in tasks if task.labels}
    for known in vocabularies.values():
        check_labels(reading, known)
    graded = ExamGrader(reading, {task.key: Reads(task.kind, vocabularies.get(task.key)) for task in tasks})
    choosing = choosing_of(ref, tasks, ordered)
    chosen = choosing.chosen()
    return SuiteSource(
        title=title,
        facts=with_graders(facts, tasks, graders_in(chosen)),
        tasks={task.key: task for task in tasks},
        rows=tuple(rows),
        asking=asking,
        grader=graded_by(graded, graders_in(chosen)),
        row_ids=(),
        understood=(*in_words(ref, asking), *said_of(chosen)),
        teaching=teaching,
        choosing=choosing,
    )


def described(
    facts: ExamFacts, tasks: Sequence[Task], ordered: Sequence[Row], rows: Sequence[Row]
) -> ExamFacts:
    """The facts with what is about tasks, sizes and metrics."""
    sizes, asked = (Counter(row.task for row in each) for each in (ordered, rows))
    known = {
        task.key: replace(
            facts.tasks[task.key],
            title=task.title,
            kind=task.kind,
            positive=task.positive,
            labels=tuple(label.name for label in task.labels),
            extra=task.extra,
            full_size=sizes[task.key],
            asked=asked.get(task.key),
        )
        for task in tasks
    }
    return replace(
        facts,
        tasks=known,
        n=len(rows),
        item_set_sha256=item_set_sha256(rows),
    )


def item_ids(source: SuiteSource, rows: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The ids that the items of these rows have, which are given by task and id."""
    wordings = {task: len(writers) for task, writers in source.asking.writers.items()}
    if set(wordings.values()) <= {1}:
        return tuple([ident for _, ident in rows])
    return tuple(
        ident if wordings[task] == 1 else f"{ident}@{number}"
        for task, ident in rows
        for number in range(1, wordings[task] + 1)
    )


def take_asked(ref: ExamRef, ordered: Sequence[Row]) -> list[Row]:
    """The rows that preset and limit leave. Raises: ConfigError, DataError when none is left."""
    if ref.preset is not None and ref.preset not in PRESETS:
        raise ConfigError(f"No preset {ref.preset!r}. Presets: {', '.join(PRESETS)}")
    if ref.limit is not None and ref.limit < 1:
        raise ConfigError(f"The limit is {ref.limit}; it counts rows per task, from 1")
    rows = take(ordered, ref.preset, ref.limit)
    if not rows:
        raise DataError(f"{ref.name}: there are no rows to ask")
    return rows
