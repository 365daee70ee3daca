"""Collecting: the patch that an agent's work comes to, taken by the host once nothing of the agent's runs any more.

The work is every file and link below the task's place of work that differs from the baseline, but for what the
.gitignore files of the baseline leave out, histories (`.git`), compiled Python, and what is neither file, folder nor
link.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson

from proctor.engine.agents.contract import AgentWork
from proctor.engine.trials.baseline import TaskBaseline
from proctor.engine.trials.patch import changed, ignored, patch_between
from proctor.engine.trials.tree import NotTaken, TooMuch, Tree, Walk, digest
from proctor.errors import DataError
from proctor.json_object import JsonObject
from proctor.printable import printable
from proctor.trial_record import AgentEnd, Consumed, PhaseTime, TrialStep
from proctor.types import Usage

MOST_TOUCHED = 1_000


@dataclass(frozen=True, slots=True)
class Taken:
    """A patch, the digest of the files that it gives, and what is to be said of it."""

    patch: bytes
    tree: str
    touched: tuple[str, ...]
    notes: tuple[str, ...] = ()
    limits_met: tuple[str, ...] = ()
    void: bool = False  # the work was too large to be taken at all


@dataclass(frozen=True, slots=True)
class Collected:
    """All that is kept of an agent's work beside its patch, so that it can be verified by another process."""

    work: AgentWork
    tree: str
    touched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    used: Consumed = Consumed()
    phases: tuple[PhaseTime, ...] = ()
    deadlines: Mapping[str, float] = field(default_factory=dict)


def collect(
    root: Path | None,
    baseline: TaskBaseline,
    private: Path,
    until: float,
    parts: Sequence[str] = ("",),
) -> Taken:
    """`root` holds the `parts` as the agent left them, None: gone; `until` (monotonic) when it must have been read.

    Raises: SandboxError, DiskFull.
    """
    if root is None or (tuple(parts) == ("",) and not _own_folder(root)):
        return _nothing_left(baseline, private)
    walk = Walk(root, baseline.tree, until, parts)
    try:
        tree = walk.taken()
        added = [path for path in tree if path not in baseline.tree]
        for path in ignored(added, baseline.files, baseline.tree, private):
            walk.left_out.add("ignored by the task's .gitignore", path)
            del tree[path]
        patch = patch_between(baseline.files, baseline.tree, root, tree, private / "patching")
    except TooMuch as much:
        told = f"the work is too large ({much}): it is scored as if nothing had been done"
        return Taken(b"", digest(baseline.tree), (), tuple(walk.left_out), (told,), void=True)
    return Taken(
        patch, digest(tree), _names(baseline.tree, tree), tuple(walk.left_out), _too_large(walk.left_out)
    )


def _nothing_left(baseline: TaskBaseline, private: Path) -> Taken:
    gone: Tree = {}
    patch = patch_between(baseline.files, baseline.tree, baseline.files, gone, private / "patching")
    return Taken(
        patch, digest(gone), _names(baseline.tree, gone), ("the repository was removed or replaced",)
    )


def _own_folder(root: Path) -> bool:
    """Whether it is a folder of the box: an agent may have put a link in its place, or in that of the one above."""
    return root.is_dir() and not any(each.is_symlink() for each in (root, root.parent))


def _names(old: Tree, new: Tree) -> tuple[str, ...]:
    found = changed(old, new)[:MOST_TOUCHED]
    return tuple(printable(path.decode("utf-8", "replace")) for path in found)


def _too_large(left_out: NotTaken) -> tuple[str, ...]:
    return ("files that are too large were left out of the work",) if left_out.too_large else ()


def collected_bytes(collected: Collected) -> bytes:
    return orjson.dumps(asdict(collected), option=orjson.OPT_INDENT_2)


def collected_from(body: bytes) -> Collected | None:
    """None for what is no such document, or one of another version."""
    try:
        told = JsonObject(orjson.loads(body), "work.json")
        return Collected(
            _work(JsonObject(told.need("work", dict), "work.json.work")),
            told.need("tree", str),
            told.texts("touched"),
            told.texts("notes"),
            Consumed(**told.need("used", dict)),
            tuple(PhaseTime(**each) for each in told.need("phases", list)),
            told.need("deadlines", dict),
        )
    except (orjson.JSONDecodeError, DataError, TypeError):
        return None


def _work(told: JsonObject) -> AgentWork:
    return AgentWork(
        told.word("ended", AgentEnd),
        told.take("exit_code", int),
        told.texts("limits_met"),
        Usage(**told.need("usage", dict)),
        told.take("calls", int),
        tuple(TrialStep(**each) for each in told.need("steps", list)),
        told.take("final", str) or "",
        Usage(**told.need("unused", dict)),
        told.take("steps_left_out", int) or 0,
        told.texts("notes"),
    )
