"""What a run's numbers rest on: its manifest, a record that is written once, kept, and read for years.

    Manifest      what the source knew, and how the model was asked      one of each run
    ExamFacts     of rows that proctor asked itself                      what `Source.facts` is
    BatchFacts    of requests that are sent as they stand
    RolloutFacts  of tasks that agents work on
    JudgingFacts  of replies that a judge grades
    LogFacts      of a run that another tool made
    TaskSpec      of one task: its title, kind of answers, metrics, sizes, hashes

`manifest_json.py` reads and writes them; nothing else knows the keys of the JSON. None is "not told": older
versions told less. A new kind of source adds its own facts to `Facts`, and mypy names every place that must know it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from proctor.types import Sampling

Origin = Literal[
    "sample", "imported", "hub", "file", "batch", "rollouts", "log", "judging"
]  # where rows come from
Aggregate = Literal["micro", "macro"]
ALL_WORDINGS = "all"


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """What is known of a task. `kind` is the form of its answers (grading/formats.py), None where it was not told.

    `official` are the metrics of its score, `also` those shown beside them. `extra` tasks are no part of the
    headline. `full_size` counts the rows of the whole set, `asked` those that the run asks.
    """

    title: str
    kind: str | None = None
    official: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    positive: str | None = None
    labels: tuple[str, ...] = ()
    extra: bool = False
    full_size: int | None = None
    asked: int | None = None
    data_sha256: str | None = None
    revision: str | None = None  # the hub's commit of its rows
    grader: str | None = None  # as `parse_grader` takes it; None: the exam's own, which the extractor names

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.official, *self.also)))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows that a lenient run does without: how many of how many, and the faults as one error would list them."""

    rows: int
    of: int
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """Questions that stand in a file more than once, and the rows that hold them."""

    questions: int
    rows: int


@dataclass(frozen=True, slots=True)
class TaskFacts:
    """What every source with tasks and scores knows. `n` counts the items; a log tells nothing of styles and shots.

    `aggregate` is how tasks become one score, "micro" or "macro"; `scored_tasks` counts those of the whole suite.
    `prompts` and `metric_versions` are versions by name.
    """

    suite: str | None = None
    rows: Origin | None = None
    tasks: Mapping[str, TaskSpec] = field(default_factory=dict)
    n: int | None = None
    item_set_sha256: str | None = None
    metric_versions: Mapping[str, str] | None = None
    aggregate: Aggregate | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    prompts: Mapping[str, str] | None = None
    style: str | None = None
    wording: int | str | None = None  # 1, 2, 3 or "all"
    shots: int | None = None
    shuffle: bool | None = None
    stop: tuple[str, ...] = ()
    extractor: str | None = None
    seed: int | None = None  # of the order
    scored_tasks: int | None = None
    left_out: LeftOut | None = None
    copies: CopiedRows | None = None

    @property
    def sample(self) -> bool:
        """Whether the rows are sample rows, which measure nothing real."""
        return self.rows == "sample"

    @property
    def worded(self) -> bool:
        """Whether every item is asked in all three wordings."""
        return self.wording == ALL_WORDINGS

    @property
    def asked(self) -> dict[str, int]:
        """Task -> how many of its items are asked, as far as that is known."""
        return {key: task.asked for key, task in self.tasks.items() if task.asked is not None}

    @property
    def graders(self) -> dict[str, str]:
        """By task; none for those that the exam's own grader graded."""
        return {key: spec.grader for key, spec in self.tasks.items() if spec.grader is not None}

    @property
    def full_sizes(self) -> dict[str, int]:
        return {key: task.full_size for key, task in self.tasks.items() if task.full_size is not None}

    @property
    def data_sha256(self) -> dict[str, str]:
        return {key: task.data_sha256 for key, task in self.tasks.items() if task.data_sha256 is not None}

    @property
    def revisions(self) -> dict[str, str]:
        return {key: task.revision for key, task in self.tasks.items() if task.revision is not None}


@dataclass(frozen=True, slots=True)
class ExamFacts(TaskFacts):
    """What an exam's source knows: a suite, or a user's file."""

    answer_type: str | None = None  # of a file of questions
    toml_sha256: str | None = None  # of a suite of one's own
    preset: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class LogFacts(TaskFacts):
    """What the log of another tool tells. `settings` are that tool's own, in its own words."""

    rows: Origin | None = "log"
    tool: str | None = None
    tool_version: str | None = None
    log: str | None = None  # the path of the file
    log_sha256: str | None = None
    log_content_sha256: str | None = None
    log_settings: Mapping[str, Any] = field(default_factory=dict)
    log_notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchFacts(TaskFacts):
    """What a file of requests tells. `models` counts the models that its lines name, which the run's own replaced.

    Its one task has a form of answers (`TaskSpec.kind`) where right answers are known, and is not scored elsewhere.
    """

    file: str | None = None  # its name, without folders
    file_sha256: str | None = None
    endpoint: str | None = None  # of its lines; None where they differ
    models: Mapping[str, int] = field(default_factory=dict)
    order: str | None = None
    stream: bool | None = None


@dataclass(frozen=True, slots=True)
class RolloutFacts(TaskFacts):
    """What a benchmark of tasks tells. `folders` are the hashes of the tasks' contents by their ids.

    `sandbox` says how trials were contained, in words; `image_sha256` is the hash of the root that they saw.
    """

    sandbox: str | None = None
    image_sha256: str | None = None
    folders: Mapping[str, str] = field(default_factory=dict)
    rollouts: Mapping[str, int] = field(default_factory=dict)  # by task
    pass_score: float | None = None  # with which share of the rubrics' weights a trial passes


@dataclass(frozen=True, slots=True)
class JudgingFacts(TaskFacts):
    """What a judge's run tells. `judged` are the models whose replies it grades, by the ids of their runs.

    `rubric` is the rubric's name with its hash, `rubric_sha256` the whole of that; each of its criteria is a task.
    """

    rubric: str | None = None
    rubric_sha256: str | None = None
    judge_prompt: str | None = None  # name and version of how a judge is asked
    judged: Mapping[str, str] = field(default_factory=dict)
    pairwise: bool | None = None


Facts = ExamFacts | BatchFacts | RolloutFacts | JudgingFacts | LogFacts


@dataclass(frozen=True, slots=True)
class ServedModel:
    """The model as its server described it when the run began."""

    name: str | None = None
    address: str | None = None
    digest: str | None = None
    quantization: str | None = None
    parameters: str | None = None
    note: str | None = None
    server: str | None = None


@dataclass(frozen=True, slots=True)
class SentSampling:
    """The settings that reached the model. `unsent` are those that its protocol has no word for.

    What was not sent has no value in `values` (None, no stops); None of what was sent was left to the server.
    """

    values: Sampling
    unsent: frozenset[str]

    @classmethod
    def without(cls, sampling: Sampling, unsent: Collection[str]) -> SentSampling:
        silent: dict[str, Any] = dict.fromkeys(unsent)
        silent |= {name: getattr(Sampling(), name) for name in ("stop", "mode") if name in silent}
        return cls(replace(sampling, **silent), frozenset(unsent))

    def sent(self, name: str) -> bool:
        return name not in self.unsent


@dataclass(frozen=True, slots=True)
class ServerClock:
    """What the server's own metrics say of the run's requests: how many, and how long it worked on them.

    `why_not` says why they are not to be trusted, or could not be had.
    """

    requests: int = 0
    seconds: float = 0.0
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class Adherence:
    """How many replies under a schema kept it. Cut, refused and empty ones tell nothing of it and are not counted.

    Decoding under a schema cannot break it, so that a single reply which does shows a server that does not enforce it.
    """

    replies: int
    held: int

    @property
    def enforced(self) -> bool:
        return self.held == self.replies

    @property
    def sentence(self) -> str:
        """
        >>> Adherence(48, 41).sentence
        'The server did not enforce the schema: 41 of 48 replies are JSON of it'
        """
        how = "ignored the schema" if 2 * self.held < self.replies else "did not enforce the schema"
        count = f"{self.held:,} of {self.replies:,} replies"
        if self.enforced:
            return f"The schema held: all {self.replies:,} whole replies are JSON of it"
        return f"The server {how}: {count} are JSON of it"


NOT_ENFORCED = (
    "this run is not compared with runs where the schema held. --mode generate asks the same of every server"
)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a run's numbers rest on: what the source knew, and how the model was asked.

    `not_sent` is what was asked for and the protocol has no word for; `adjustments` are parameters that the server's
    refusals changed, told when the run ends; `replies` is the file that replay models answered from. `parts` are the
    runs that a merged run was made of, by id, each with its shard ("1/3"). `unread` is what a version newer than this
    one wrote: kept, shown and written back, never counted with.
    """

    facts: Facts = field(default_factory=ExamFacts)
    proctor: str | None = None
    model: ServedModel = field(default_factory=ServedModel)
    sampling: SentSampling | None = None
    mode: str | None = None
    remarks: tuple[str, ...] = ()
    not_sent: tuple[str, ...] = ()
    repeats: int | None = None
    replies: str | None = None
    adjustments: tuple[str, ...] | None = None
    server_clock: ServerClock | None = None
    schema: Adherence | None = None
    parts: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, Any] = field(default_factory=dict)

    @property
    def opened(self) -> bool:
        """False for a queued run until a worker has opened its rows: nothing is known of it yet."""
        return self != UNOPENED

    @property
    def unenforced(self) -> Adherence | None:
        """The count of a schema that did not hold; None where it did, or was not counted."""
        return None if self.schema is None or self.schema.enforced else self.schema


UNOPENED = Manifest()
