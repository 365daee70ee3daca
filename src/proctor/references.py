"""What a run asks, by name and settings: questions, requests, tasks for agents, what the log of another tool has.

What is done with each kind is in service/kinds.
"""

from __future__ import annotations

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
    of `timeout_s` (the agent's time) and `token_limit` is as the benchmark has it: `within` tells both.
    """

    folder: str
    rollouts: int = 1
    overrides: str | None = None  # file that is applied to a private copy; None: none is
    environment: tuple[str, ...] = ()
    timeout_s: float | None = None
    token_limit: int | None = None
    given: str = ""  # the path of the folder as it was given

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
class RolloutsRef:
    """Which tasks an agent is given, how often, in what sandbox, and where the documented files are written.

    `data` is the absolute path of the folder that holds `rollouts/` and `runs/`; `stamp` the time in
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
    never enter a sandbox. Of a scripted agent: `script`, a file that is run in the repository. Of the shell agent:
    `command_s`, how long one of its commands may take.
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


SourceRef = ExamRef | BatchRef | RolloutsRef | LogRef
