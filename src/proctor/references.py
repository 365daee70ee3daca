"""What a run asks, by name and settings: questions, requests, tasks for agents, what the log of another tool has.

What is done with each kind is in service/kinds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import ClassVar, Literal

Rows = Literal["imported", "hub", "sample"]
Numbers = Literal["from-0", "from-1", "texts"]


@dataclass(frozen=True, slots=True)
class ExamRef:
    """Which questions of an exam, and how they are put: a suite by name, a file by path, or a data set."""

    kind: Literal["suite", "file", "dataset"]
    name: str  # suite name, absolute path, or what a data set is called
    tasks: tuple[str, ...] = ()  # empty: all
    preset: Literal["quick", "standard", "full"] | None = None
    limit: int | None = None  # per task
    rows: Rows | None = None  # suites: where rows come from; None: imported, else the hub's
    answer_type: Literal["choices", "labels", "text"] | None = None  # files: None is "see the rows"
    style: str | None = None  # a prompt style by name, such as "simple-evals"; None: proctor's own
    wording: Literal[1, 2, 3, "all"] = 1  # of proctor's own style
    shots: int | None = None  # worked examples from the dev rows; None: as many as the style has
    shuffle: bool = False  # lettered choices in a seeded order of their own for each item
    extractor: str | None = None  # by name and version; None: the style's own
    grader: str | None = None  # of answers in free text, by name and settings; None: chosen by the answers
    numbers: Numbers | None = None  # files: what answers that are numbers mean; None: "see the rows"
    lenient: bool = False  # files: rows that cannot be used are left out, and the run says so
    columns: tuple[str, ...] = ()  # files: which column is what, as "answer=Antwort"; else by their names
    sheet: str | None = None  # workbooks: which sheet; None: the first that is shown and has cells
    content: str | None = None  # data sets: the hash by which the store finds the files
    imported: ClassVar[bool] = False

    @property
    def listed(self) -> str:
        """Its name in lists: a file's without its folder."""
        return PurePath(self.name).name if self.content is None else self.name


@dataclass(frozen=True, slots=True)
class LogRef:
    """What the log of another tool is about, or the output of a batch that ran there; only that tool can ask again."""

    name: str
    kind: Literal["log", "outputs"] = "log"
    imported: ClassVar[bool] = True

    @property
    def listed(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class BatchRef:
    """Which requests of a file are sent, and how its lines are understood: a file by path, or a data set.

    `columns` say which column is what ("custom_id=ID") and `template` how a row becomes a prompt, where the file is
    a table; `fields` are fields of the body for lines that have none ("max_tokens=200"). `gold` is where the right
    answers are: a field of the line, or the path of a file. `candidate` tells what a request is about: a regular
    expression with one group over the custom_id, or a path into the body ("$.metadata.name").
    """

    name: str  # absolute path, or what a data set is called
    kind: Literal["batch"] = "batch"
    content: str | None = (
        None  # data sets: SHA-256 of the file's bytes, by which it is found in data/datasets
    )
    limit: int | None = None
    order: Literal["file", "random"] = "file"
    on_mismatch: Literal["override", "strict"] = "override"  # of the model that lines name
    stream: bool = False  # replies come in pieces, so that the time to the first token is known
    lenient: bool = False  # lines that cannot be sent are left out, and the run says so
    endpoint: str | None = None  # of lines that name none; None: told by the body
    columns: tuple[str, ...] = ()
    template: str | None = None
    system: str | None = None  # tables: the template of the system message
    fields: tuple[str, ...] = ()
    gold: str | None = None
    grader: str | None = None  # by name and settings; None: chosen by the right answers
    candidate: str | None = None
    out: str | None = None  # absolute path of the file that grows with the replies
    shape: Literal["openai", "vllm"] = "openai"  # of the lines in `out`
    imported: ClassVar[bool] = False

    @property
    def listed(self) -> str:
        """Its name in lists: a file's without its folder."""
        return PurePath(self.name).name if self.content is None else self.name


@dataclass(frozen=True, slots=True)
class TaskEntry:
    """A prepared task as a benchmark lists it: its folder, how often it is rolled out, and what differs for it.

    Paths are absolute. `environment` are variables as NAME=value, which the agent and the verifier see. What is None
    of `timeout_s` (the agent's time) and `token_limit` is as the benchmark has it: `within` tells both. `content` is
    the hash of the task as it was handed in for other machines, with its overrides: that is run, and nothing else.
    """

    folder: str
    rollouts: int = 1
    overrides: str | None = None  # file that is applied to a private copy; None: none is
    environment: tuple[str, ...] = ()
    timeout_s: float | None = None
    token_limit: int | None = None
    given: str = ""  # the path of the folder as it was given
    content: str | None = None

    def within(self, limits: TrialLimits) -> TrialLimits:
        """The benchmark's limits with this task's own; the whole trial may take as much longer as its agent may."""
        agent_s = self.timeout_s or limits.agent_s
        trial_s = limits.trial_s + max(0.0, agent_s - limits.agent_s)
        return replace(
            limits, agent_s=agent_s, trial_s=trial_s, max_tokens=self.token_limit or limits.max_tokens
        )


@dataclass(frozen=True, slots=True)
class TrialLimits:
    """What one trial may use. None: not bounded. A limit of the agent's is scored; the others are no fault of its.

    `max_tokens` counts in and out over all requests of the agent's model, `disk_mb` what is written in the sandbox.
    """

    agent_s: float = 1800.0
    verifier_s: float = 600.0
    trial_s: float = 3600.0  # all phases together
    memory_mb: int = 2048
    cpus: float = 1.0
    pids: int = 256
    disk_mb: int = 1024
    output_mb: float = 10.0  # of what the agent prints, kept; the rest is counted
    max_tokens: int | None = 100_000
    max_cost_usd: float | None = None
    max_calls: int | None = None


@dataclass(frozen=True, slots=True)
class BenchmarkBudget:
    """What all trials of a benchmark may ask of their models together. None: not bounded. `max_tokens` in and out."""

    max_tokens: int | None = None
    max_cost_usd: float | None = None
    max_calls: int | None = None

    def __bool__(self) -> bool:
        """Whether it bounds anything."""
        return self != BenchmarkBudget()


@dataclass(frozen=True, slots=True)
class RolloutsRef:
    """Which tasks an agent is given, how often, in what sandbox, and where the documented files are written.

    `data` is the absolute path of the folder that holds `rollouts/` and `runs/`, the PROCTOR_HOME of the process that
    works on it or shows it (of a kept reference: where it began, which is nowhere looked at); `stamp` the time in
    `rollouts/NAME/STAMP`, and `first` the number of the first trial in `runs/STAMP-NUMBER`: trials are numbered task
    by task in the order of `tasks`, each task's rollouts one after the other.
    """

    name: str  # the benchmark's
    kind: Literal["rollouts"] = "rollouts"
    tasks: tuple[TaskEntry, ...] = ()
    config: str | None = None  # the path of the TOML, as it was given
    data: str = ""
    stamp: str = ""
    first: int = 0
    sandbox: str = "bubblewrap"
    image: str = "base"
    limits: TrialLimits = TrialLimits()
    pass_score: float = 1.0  # a trial passes with at least this share of the rubrics' weights
    budget: BenchmarkBudget = BenchmarkBudget()
    imported: ClassVar[bool] = False

    @property
    def listed(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Agent:
    """Who works on tasks. Part of what is asked of nobody else: it stands in the cell, beside the source.

    `model` is whom it asks ("ollama/qwen3:8b"), None for agents that ask none. Of a command: `argv` with {instruction}
    and {model} in it, `binary` a file or folder of this machine that is seen read-only at /opt/agent, `log` the reader
    of what it prints, `log_fields` where that finds what ("said=message.text"), `secrets` the names of variables that
    never enter a sandbox, `home_files` what its home holds when it begins ("PATH=CONTENT", below that home, with places
    to fill), `model_name` what it calls its model where that is not the model's name. Of a scripted agent: `script`, a
    file that is run in the repository. Of the shell agent: `command_s`, how long one of its commands may take.
    `contents` are the hashes of its files as PATH=SHA256, where they were handed in for other machines.
    """

    name: str
    kind: Literal["null", "reference", "scripted", "shell", "command"]
    model: str | None = None
    base_url: str | None = None
    argv: tuple[str, ...] = ()
    binary: str | None = None
    script: str | None = None
    environment: tuple[str, ...] = ()
    log: str | None = None
    log_fields: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    command_s: float = 120.0
    home_files: tuple[str, ...] = ()
    model_name: str | None = None
    contents: tuple[str, ...] = ()


Scale = Literal["pass/fail", "yes/no", "1-5"]
# The grades of each scale with what they are worth, the best first. A preference is shown as first and second reply.
WORTH: Mapping[Scale, Mapping[str, float]] = {
    "pass/fail": {"pass": 1.0, "fail": 0.0},
    "yes/no": {"yes": 1.0, "no": 0.0},
    "1-5": {"5": 1.0, "4": 0.75, "3": 0.5, "2": 0.25, "1": 0.0},
}
PREFERENCE: Mapping[str, float] = {"1": 1.0, "tie": 0.5, "2": 0.0}


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing that is asked of a reply, on a scale; `weight` is its part in the score beside the others'."""

    name: str
    asks: str  # a question or a demand, as a judge and a person are shown it
    scale: Scale = "pass/fail"
    weight: float = 1.0
    task: str | None = None  # the id of the one item to whose replies it belongs; None: it is asked of all

    @property
    def worth(self) -> Mapping[str, float]:
        return WORTH[self.scale]


CORRECT = Criterion("correct", "Does the reply say what a good answer says, and nothing that contradicts it?")


@dataclass(frozen=True, slots=True)
class GradingRubric:
    """By what replies are graded: by judges and by people alike. `guidance` is said before the criteria."""

    name: str = "correct"
    criteria: tuple[Criterion, ...] = (CORRECT,)
    guidance: str = ""

    @property
    def sha256(self) -> str:
        """Of all that it says; the first digits stand in graders' names."""
        said = [
            [each.name, each.asks, each.scale, each.weight, *([each.task] if each.task is not None else [])]
            for each in self.criteria
        ]
        return hashlib.sha256(json.dumps([said, self.guidance], ensure_ascii=False).encode()).hexdigest()

    @property
    def words(self) -> str:
        return f"{self.name}#{self.sha256[:8]}"

    def of(self, item_id: str) -> tuple[Criterion, ...]:
        """What is asked of the replies to an item: tasks of a benchmark have criteria of their own."""
        return tuple(each for each in self.criteria if each.task in (None, item_id))


@dataclass(frozen=True, slots=True)
class JudgingRef:
    """Which run's replies a model judges, by what; with `against`, which of two runs' replies it prefers.

    The model of the cell is the judge, its repeats are its votes. Each criterion of each reply is an item; of a pair
    each order of the two replies is one. Replies later than `until` are not judged, so that a judging means the same
    ones when it is resumed, whatever the judged run was asked since; nor are those that had a grade by `without` then.
    """

    name: str  # of what the judged run asked
    run: str  # its id
    kind: Literal["judging"] = "judging"
    against: str | None = None  # id of the other run of pairs
    rubric: GradingRubric = GradingRubric()
    limit: int | None = None  # of the replies of the judged run
    until: float | None = None  # Unix time; None: all that there are
    without: str | None = None  # the name of a grader
    imported: ClassVar[bool] = False

    @property
    def listed(self) -> str:
        return f"judging of {self.name}"

    def seen_from(self, run: str) -> JudgingRef:
        """Of pairs: as the run with this id has it, its own reply the first of the two."""
        turned = self.against is not None and run == self.against
        return replace(self, run=self.against or self.run, against=self.run) if turned else self


SourceRef = ExamRef | BatchRef | RolloutsRef | LogRef | JudgingRef
