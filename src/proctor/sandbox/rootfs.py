"""Roots that others made: a folder or an archive of the user's, or Debian's own packages."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from proctor.errors import SandboxMissing
from proctor.sandbox.copying import inside

FOLDERS = (
    *("tmp", "run", "proc", "dev", "etc", "root", "home/agent", "opt", "usr/local/bin", "var/tmp"),
    *("app/repo", "app/artifacts", "app/evaluation"),
)
PEOPLE = {
    "etc/passwd": ("root:x:0:0::/root:/bin/sh\n", "agent:x:1000:1000::/home/agent:/bin/sh\n"),
    "etc/group": ("root:x:0:\n", "agent:x:1000:\n"),
}
DEBIAN = ("python3-minimal", "python3", "git", "patch")


def complete(root: Path) -> None:
    """Make what every box needs, where it is not there. Raises: SandboxError for a root that no box can begin with."""
    for each in FOLDERS:
        inside(root, each).mkdir(parents=True, exist_ok=True)
    for name, (first, agent) in PEOPLE.items():
        path = inside(root, name)
        told = path.read_text() if path.exists() else first
        path.write_text(told if ":1000:" in told else told + agent)
    shell = root / "bin/sh"
    if not shell.is_symlink() and not shell.exists():
        raise SandboxMissing(
            f"No /bin/sh is in it, but {', '.join(sorted(each.name for each in root.iterdir()))}"
        )


def copied(root: Path, source: Path) -> None:
    """Fill it from a folder, or from an archive that tar reads. Raises: SandboxMissing."""
    if source.is_dir():
        _ran(("cp", "-a", "--no-preserve=ownership", f"{source}/.", str(root)))
    elif source.is_file():
        _ran(
            (
                "tar",
                "-C",
                str(root),
                "--no-same-owner",
                "--exclude=./dev/*",
                "--exclude=dev/*",
                "-xf",
                str(source),
            )
        )
    else:
        raise SandboxMissing(f"No folder and no archive {source} to make an image of")
    _without_devices(root)


def debian(root: Path, release: str) -> None:
    """Fill it with a small Debian that has Python and git, by debootstrap. Raises: SandboxMissing."""
    if shutil.which("debootstrap") is None:
        raise SandboxMissing("There is no debootstrap on this machine: apt-get install debootstrap")
    _ran(("debootstrap", "--variant=minbase", f"--include={','.join(DEBIAN)}", release, str(root)))
    shutil.rmtree(root / "var/cache/apt", ignore_errors=True)
    shutil.rmtree(root / "var/lib/apt/lists", ignore_errors=True)
    _without_devices(root)


def _without_devices(root: Path) -> None:
    """A box makes its own."""
    for name in ("dev", "proc", "sys"):
        shutil.rmtree(root / name, ignore_errors=True)


def _ran(words: Sequence[str]) -> None:
    done = subprocess.run(words, capture_output=True, check=False)
    if done.returncode:
        told = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()[-3:]
        raise SandboxMissing(f"{words[0]} ended with {done.returncode}: {' '.join(told)}")
