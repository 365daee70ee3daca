"""Patches between trees, by a git that reads nothing but what it is handed: no configuration, hooks or attributes.

A patch is UTF-8 whatever is in the files: what is no text stands in it as git's binary patch.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.engine.room import room_for
from proctor.engine.trials.tree import LINK, TooMuch, Tree, TreeEntry, read_entry
from proctor.errors import DiskFull, SandboxError, VerifierError

MOST_BYTES = 20_000_000  # of all files that are new or changed
MOST_CHANGED = 5_000
GIT_S = 120.0
GIT = (
    *("git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.protectNTFS=false"),
    *(
        "-c",
        "core.protectHFS=false",
        "-c",
        "core.attributesFile=/dev/null",
        "-c",
        "core.excludesFile=/dev/null",
    ),
)
GIT_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
NO_ROOM_SAID = ("Out of diskspace", "No space left on device", "Disk quota exceeded")
OLD, NEW = "refs/proctor/old", "refs/proctor/new"
# Files are written as the patch tells them, whatever the .gitattributes among them say.
AS_IT_STANDS = "* -text !eol !ident !filter !working-tree-encoding !crlf\n"
_GLOB = re.compile(rb"([\\*?\[\]!#])")
_QUOTED = re.compile(rb"[^ !#-\[\]-~]")


@dataclass(frozen=True, slots=True)
class PrivateGit:
    """A repository of our own at `place`, out of the reach of whoever's files are looked at."""

    place: Path

    @classmethod
    def make(cls, place: Path, attributes: bytes = b"") -> PrivateGit:
        """Raises: DiskFull, SandboxError."""
        with room_for(place):
            for name in ("objects", "refs", "info"):
                (place / name).mkdir(parents=True)
            (place / "HEAD").write_text("ref: refs/heads/none\n")
            (place / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
            (place / "info/attributes").write_bytes(attributes)
        return cls(place)

    def run(
        self, *words: str, stdin: bytes = b"", tree: Path | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        where = [f"--git-dir={self.place}", *([f"--work-tree={tree}"] if tree else [])]
        return run_git(*where, *words, stdin=stdin, cwd=tree or self.place)


def run_git(*words: str, cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Raises: SandboxError where there is no git, or it takes too long."""
    command = [*GIT, *words]
    try:
        return subprocess.run(
            command,
            input=stdin,
            env=GIT_ENVIRONMENT,
            cwd=cwd,
            capture_output=True,
            check=False,
            timeout=GIT_S,
        )
    except FileNotFoundError:
        raise SandboxError("There is no git on this machine: apt-get install git") from None
    except subprocess.TimeoutExpired:
        raise SandboxError(f"git {words[-1]} took longer than {GIT_S:g} s") from None


def changed(old: Tree, new: Tree) -> list[bytes]:
    return sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))


def patch_between(old_root: Path, old: Tree, new_root: Path, new: Tree, private: Path) -> bytes:
    """What makes the old tree the new one; UTF-8. Raises: TooMuch; DiskFull, SandboxError."""
    paths = changed(old, new)
    if not paths:
        return b""
    size = sum(new[path].size for path in paths if path in new)
    if len(paths) > MOST_CHANGED or size > MOST_BYTES:
        told = f"{len(paths):,} files of {size / 1e6:.1f} MB changed"
        raise TooMuch(f"{told}; {MOST_CHANGED:,} of {MOST_BYTES / 1e6:.0f} MB are taken")
    before = [(path, old[path], read_entry(old_root, path, old[path])) for path in paths if path in old]
    after = [(path, new[path], read_entry(new_root, path, new[path])) for path in paths if path in new]
    git = PrivateGit.make(private, _attributes(before + after))
    _need(
        git.run("fast-import", "--quiet", "--force", stdin=b"".join(_history(before, after))), "fast-import"
    )
    patch = git.run(
        *(
            "diff-tree",
            "-r",
            "-p",
            "--binary",
            "--full-index",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
        ),
        *("--no-color", "--src-prefix=a/", "--dst-prefix=b/", OLD, NEW),
    )
    # A hunk's heading quotes a line, cut after some bytes: it may end inside a character.
    return _need(patch, "diff-tree").decode("utf-8", "replace").encode()


Content = tuple[bytes, TreeEntry, bytes]


def _attributes(contents: Iterable[Content]) -> bytes:
    """Lines for git that name every file that is no text."""
    odd = {path for path, entry, body in contents if entry.mode != LINK and not _text(body)}
    return b"".join(b"%s -diff\n" % quoted(b"/" + _GLOB.sub(rb"\\\1", path)) for path in sorted(odd))


def _text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in body


def quoted(path: bytes) -> bytes:
    """A path in git's quotes, with all that is odd in it as octal numbers."""
    return b'"%s"' % _QUOTED.sub(lambda found: b"\\%03o" % found[0][0], path)


def _history(before: Sequence[Content], after: Sequence[Content]) -> Iterator[bytes]:
    """Two commits of nothing but the files that differ, for `git fast-import`."""
    yield _commit(OLD)
    yield from (_written(each) for each in before)
    yield _commit(NEW) + b"from %s\n" % OLD.encode()
    yield from (b"D %s\n" % quoted(path) for path, _, _ in before)
    yield from (_written(each) for each in after)


def _commit(name: str) -> bytes:
    return b"commit %s\ncommitter proctor <proctor> 0 +0000\ndata 0\n" % name.encode()


def _written(content: Content) -> bytes:
    path, entry, body = content
    return b"M %s inline %s\ndata %d\n%s\n" % (entry.mode.encode(), quoted(path), len(body), body)


def apply_patch(patch: bytes, tree: Path, private: Path) -> None:
    """Apply a patch to the files of a folder. Raises: VerifierError where it does not apply."""
    git = PrivateGit.make(private, AS_IT_STANDS.encode())
    done = git.run("apply", "--whitespace=nowarn", "-", stdin=patch, tree=tree)
    if done.returncode:
        raise VerifierError(f"The patch does not apply: {_said(done)}")


def ignored(paths: Sequence[bytes], root: Path, tree: Tree, private: Path) -> frozenset[bytes]:
    """Which of the paths the .gitignore files of our own tree leave out: what others write into one hides nothing."""
    rules = [path for path in tree if path.split(b"/")[-1] == b".gitignore" and tree[path].mode != LINK]
    if not rules or not paths:
        return frozenset()
    git = PrivateGit.make(private / "ignoring")
    alone = private / "rules"
    with room_for(alone):
        for path in rules:
            place = alone / os.fsdecode(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / os.fsdecode(path), place)
    # "./" keeps git from reading a name that begins with a colon as more than a name.
    asked = b"".join(b"./%s\0" % path for path in paths)
    told = git.run("check-ignore", "--no-index", "-z", "--stdin", stdin=asked, tree=alone)
    if told.returncode not in (0, 1):
        raise SandboxError(f"git check-ignore: {_said(told)}")
    return frozenset(path.removeprefix(b"./") for path in told.stdout.split(b"\0") if path)


def baseline_history(tree: Path, target: Path) -> None:
    """A fresh repository of one commit of all files of `tree`, as a `.git` folder at `target`.

    Raises: SandboxError.
    """
    _need(run_git("init", "-q", "-b", "main", "--template=", cwd=tree), "init")
    who = (
        "-c",
        "user.name=proctor",
        "-c",
        "user.email=proctor@localhost",
        "-c",
        "core.logAllRefUpdates=false",
    )
    _need(run_git("add", "-A", "-f", ".", cwd=tree), "add")
    _need(run_git(*who, "commit", "-q", "--allow-empty", "-m", "baseline", cwd=tree), "commit")
    with (tree / ".git/config").open("a") as config:
        config.write("[user]\n\tname = agent\n\temail = agent@localhost\n")
    (tree / ".git").rename(target)


def _need(done: subprocess.CompletedProcess[bytes], what: str) -> bytes:
    if done.returncode:
        said = _said(done)
        raise (DiskFull if any(each in said for each in NO_ROOM_SAID) else SandboxError)(
            f"git {what}: {said}"
        )
    return done.stdout


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode("utf-8", "replace").strip()[-2_000:]
