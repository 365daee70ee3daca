"""Which folders of a box a task's work lies in: where it begins, what is copied, and what its texts name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

# Of the system and of the trial itself: never carried from the agent's box into the verifier's.
SYSTEM = {
    "bin",
    "boot",
    "dev",
    "etc",
    "lib",
    "lib32",
    "lib64",
    "libx32",
    "logs",
    "opt",
    "proc",
    "run",
    "sbin",
}
SYSTEM |= {"solution", "sys", "tests", "usr"}
DEEPER = {"home", "var", "mnt", "media", "srv"}  # of these, the folders in them
NOT_IN_VAR = {"cache", "lib", "run", "lock", "tmp", "log", "mail", "spool", "opt"}
AGENTS_OWN = "home/agent"  # where agents keep what is theirs
TEMPORARY = "tmp"  # carried only where the instruction itself names it
HOME = "/root"
_PATH = re.compile(r"(?<![\w./~$})-])/((?:[A-Za-z0-9_][\w.-]*/)*[A-Za-z0-9_][\w.-]*/?)")


def workdir_of(told: str | None) -> str:
    """Where agents begin; one that is no place to work in becomes root's home."""
    path = PurePosixPath(told or "/")
    parts = path.parts[1:]
    if not parts or (len(parts) == 1 and parts[0] in SYSTEM | DEEPER | {TEMPORARY}):
        return HOME
    return str(path)


def parts_of(
    workdir: str, folders: Iterable[str], instruction: str, others: Sequence[str]
) -> tuple[str, ...]:
    """The folders that are carried, without the leading slash, none inside of another.

    `folders` are those that files are copied into; `others` are texts that name further ones.
    """
    found = {workdir.strip("/"), HOME.strip("/")}
    told = [(path, "." in path) for path in _PATH.findall(instruction)]
    told += [(path, True) for text in others for path in _PATH.findall(text)]
    told += [(path, False) for path in folders]
    found |= {part for path, named in told if (part := part_of(path, named=named))}
    if re.search(r"(?<![\w/])/tmp/\w", instruction):
        found.add(TEMPORARY)
    return tuple(sorted(each for each in found if not any(_inside(each, other) for other in found)))


def part_of(path: str, *, named: bool) -> str | None:
    """The folder to be carried for a path; None for none. Where it is only `named`, it must lead into a folder."""
    parts = [each for each in path.split("/") if each]
    if not parts or parts[0] in SYSTEM or parts[0] == TEMPORARY or ".." in parts:
        return None
    deep = 2 if parts[0] in DEEPER else 1
    if len(parts) < deep or (named and len(parts) == deep and not path.endswith("/")):
        return None
    if parts[0] == "var" and parts[1] in NOT_IN_VAR:
        return None
    found = "/".join(parts[:deep])
    return None if found == AGENTS_OWN else found


def _inside(path: str, other: str) -> bool:
    return path.startswith(f"{other}/")
