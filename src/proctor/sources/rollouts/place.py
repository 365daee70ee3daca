"""Where a task is worked on, in how many steps, and what has to be done to its files before: beyond one repository."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

REPO_IN_BOX = "/app/repo"
LOGS = ("/logs/agent", "/logs/verifier", "/logs/artifacts")  # folders that scripts of Harbor's tasks find
TESTS, SOLUTION = "/tests", "/solution"


@dataclass(frozen=True, slots=True)
class WorkPlace:
    """The work is every file below `parts`, folders below `base`; a patch has its paths relative to `base`.

    `cwd` is where agents and verifiers begin, `home` their HOME; None: that of every box. Where `histories` count,
    each folder `.git` is carried like any other, by another name.
    """

    base: str = REPO_IN_BOX
    parts: tuple[str, ...] = ("",)
    cwd: str = REPO_IN_BOX
    home: str | None = None
    histories: bool = False

    @property
    def whole(self) -> bool:
        """Whether it is one folder, with a history of its own for the agent."""
        return self.parts == ("",)

    @property
    def folders(self) -> Sequence[str]:
        """The carried folders as a box has them."""
        return [str(PurePosixPath(self.base, part)) for part in self.parts]

    @property
    def writable(self) -> tuple[str, ...]:
        """What programs of its boxes may write into, beyond what they may in every box."""
        return () if self.whole else (*self.folders, *LOGS, SOLUTION)


@dataclass(frozen=True, slots=True)
class BuildStep:
    """One thing that is done to the files before any agent sees them: a command without a network, or a copy.

    Of a copy: `source` is a path of the task's folder, `into` whether it is put into the folder `target` by its name.
    """

    kind: Literal["run", "copy", "folder"]
    line: str  # as messages name it
    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    cwd: str = "/"
    source: str = ""
    target: str = ""
    into: bool = False
    mode: str | None = None  # of what is copied, as chmod takes it


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """A command that has to end with 0 before the agent begins; times in seconds."""

    command: str
    interval_s: float = 5.0
    timeout_s: float = 30.0
    retries: int = 3


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a task: what the agent is told, and what verifies the work as it stands then.

    Paths are relative to the task's folder. `tests` are seen together at /tests, later ones over earlier ones, and
    `script` among them is run. `least` are rewards by key; where one is not reached, no later step is begun.
    """

    name: str
    instruction: str
    tests: tuple[str, ...]
    script: str
    solution: str | None = None
    workdir: str | None = None  # its files are put where the agent begins, and a setup.sh among them is run
    healthcheck: HealthCheck | None = None
    agent_s: float | None = None
    verifier_s: float | None = None
    verifier_env: Mapping[str, str] = field(default_factory=dict)
    solution_env: Mapping[str, str] = field(default_factory=dict)
    least: Mapping[str, float] = field(default_factory=dict)
