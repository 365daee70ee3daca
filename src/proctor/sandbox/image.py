"""Roots that boxes begin with: made of this machine's programs, in seconds and without a network; never its own root.

An image is a folder PROCTOR_HOME/images/NAME with `root/` in it and `image.json` beside, which tells its hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import SandboxMissing

PROGRAMS = (
    *(
        "sh",
        "bash",
        "env",
        "true",
        "false",
        "cat",
        "cp",
        "mv",
        "rm",
        "ln",
        "ls",
        "mkdir",
        "rmdir",
        "touch",
        "chmod",
    ),
    *(
        "chown",
        "head",
        "tail",
        "wc",
        "sort",
        "uniq",
        "cut",
        "tr",
        "tee",
        "sed",
        "grep",
        "find",
        "xargs",
        "awk",
        "diff",
    ),
    *(
        "cmp",
        "patch",
        "dirname",
        "basename",
        "readlink",
        "realpath",
        "mktemp",
        "date",
        "sleep",
        "seq",
    ),
    *(
        "test",
        "[",
        "echo",
        "printf",
        "id",
        "whoami",
        "uname",
        "nproc",
        "stat",
        "du",
        "df",
        "dd",
        "kill",
        "ps",
        "timeout",
    ),
    *(
        "nohup",
        "setsid",
        "sha256sum",
        "base64",
        "tar",
        "gzip",
        "git",
    ),
)
FOLDERS = (
    *(
        "tmp",
        "run",
        "proc",
        "dev",
        "etc",
        "root",
        "home/agent",
        "app/repo",
        "app/artifacts",
    ),
    *(
        "app/evaluation",
        "opt",
        "usr/lib",
        "var/tmp",
    ),
)
_LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x")


@dataclass(frozen=True, slots=True)
class Image:
    """A root, and the hash of all that is in it."""

    name: str
    root: Path
    sha256: str


def find_image(name: str, home: Path) -> Image:
    """Raises: SandboxMissing where it was not made yet."""
    folder = home / "images" / name
    told = folder / "image.json"
    if not told.is_file():
        raise SandboxMissing(f"There is no image {name!r} on this machine: `proctor sandbox image` makes it")
    return Image(name, folder / "root", json.loads(told.read_text())["sha256"])


def make_image(name: str, home: Path) -> Image:
    """Make it of this machine's own programs, or find that it is there. Raises: SandboxMissing."""
    folder = home / "images" / name
    if (folder / "image.json").is_file():
        return find_image(name, home)
    root = folder.with_name(f"{name}.{os.getpid()}") / "root"
    shutil.rmtree(root.parent, ignore_errors=True)
    for each in FOLDERS:
        (root / each).mkdir(parents=True)
    for each in ("bin", "lib", "lib64", "sbin"):
        (root / each).symlink_to(f"usr/{each}")
        (root / "usr" / each).mkdir(exist_ok=True)
    _programs(root)
    _python(root)
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home/agent:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\nagent:x:1000:\n")
    digest = _digest(root)
    (root.parent / "image.json").write_text(json.dumps({"sha256": digest}))
    root.parent.rename(folder)
    return find_image(name, home)


def _programs(root: Path) -> None:
    for name in PROGRAMS:
        found = shutil.which(name, path="/usr/bin:/bin:/usr/local/bin")
        if found is not None:
            _copy(Path(found), root / "usr/bin" / name)
            _libraries(Path(found), root)
    core = Path("/usr/lib/git-core")
    if core.is_dir():
        shutil.copytree(core, root / "usr/lib/git-core", symlinks=True, dirs_exist_ok=True)


def _python(root: Path) -> None:
    """The interpreter that runs proctor, as /usr/local/bin/python3, with its standard library and nothing else."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    base = Path(sys.base_prefix)
    away = shutil.ignore_patterns(
        "test", "tests", "site-packages", "__pycache__", "idlelib", "tkinter", "*.a"
    )
    library = root / "usr/local/lib" / version
    shutil.copytree(base / "lib" / version, library, ignore=away)
    (library / "site-packages").mkdir(exist_ok=True)
    interpreter = root / "usr/local/bin" / version
    interpreter.parent.mkdir(parents=True, exist_ok=True)
    _copy(base / "bin" / version, interpreter)
    for name in ("python3", "python"):
        (interpreter.parent / name).symlink_to(version)
    for each in (base / "bin" / version, *library.rglob("*.so")):
        _libraries(each, root)


def _libraries(program: Path, root: Path) -> None:
    told = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout
    for each in _LIBRARY.findall(told):
        place = root / each.lstrip("/")
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            _copy(Path(each), place)


def _copy(source: Path, target: Path) -> None:
    if not target.exists():
        shutil.copy2(source.resolve(), target)


def _digest(root: Path) -> str:
    """SHA-256 over the names and contents of all files, in the order of their names."""
    found = hashlib.sha256()
    for path in sorted(_files(root)):
        found.update(str(path.relative_to(root)).encode() + b"\0")
        found.update(str(path.readlink()).encode() if path.is_symlink() else path.read_bytes())
    return found.hexdigest()


def _files(root: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(root):
        yield from (Path(folder, name) for name in names)
