"""The files of one commit of a repository on this machine, without its history: of a clone, a bundle, an archive."""

from __future__ import annotations

import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from proctor.errors import DataError
from proctor.sources.rollouts.meta import RepoOrigin
from proctor.sources.rollouts.paths import outside
from proctor.sources.rollouts.tree import TaskFile

GIT = ("git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "safe.directory=*")
GIT_ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
LINK, PROGRAM, SUBMODULE = b"120000", b"100755", b"160000"


def is_remote(url: str) -> bool:
    """Whether a repository is named that is on another machine."""
    return not url.startswith("file://") and ("://" in url or ("@" in url and ":" in url))


def repository_files(source: str, origin: RepoOrigin) -> tuple[dict[str, TaskFile], str]:
    """The files of the commit that `origin` names, by their path, and the commit; of an archive, its name.

    Raises: DataError.
    """
    if is_remote(source):
        raise DataError(
            f"{source} is on another machine, and nothing is downloaded for a task: clone it "
            "(`git clone --bare URL FOLDER`), and name the clone with --repo"
        )
    place = Path(source.removeprefix("file://")).expanduser()
    if place.is_dir():
        return _of_clone(place, origin)
    if not place.is_file():
        raise DataError(f"{source}: there is no such repository, bundle or archive")
    if tarfile.is_tarfile(place):
        return _chosen(_of_archive(place), origin), place.name
    return _of_bundle(place, origin)


def _of_bundle(bundle: Path, origin: RepoOrigin) -> tuple[dict[str, TaskFile], str]:
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder)
        _git(clone, "init", "--quiet", "--bare")
        _git(
            clone,
            "fetch",
            "--quiet",
            str(bundle.absolute()),
            "+refs/*:refs/bundle/*",
            "+HEAD:refs/bundle/first",
        )
        return _of_clone(clone, origin)


def _of_clone(clone: Path, origin: RepoOrigin) -> tuple[dict[str, TaskFile], str]:
    commit = _commit(clone, origin)
    found: dict[str, TaskFile] = {}
    listed: list[tuple[str, bytes, bytes]] = []
    for line in _git(clone, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")[:-1]:
        about, _, name = line.partition(b"\t")
        mode, _, blob = about.split(b" ")[:3]
        path = name.decode("utf-8", "surrogateescape")
        if mode != SUBMODULE and _taken(path, origin):
            listed.append((path, mode, blob))
    bodies = _blobs(clone, [blob for _, _, blob in listed])
    for (path, mode, _), body in zip(listed, bodies, strict=True):
        link = body.decode("utf-8", "surrogateescape") if mode == LINK else None
        found[path] = TaskFile(body=body, link=link, runs=mode == PROGRAM)
    if not found:
        raise DataError(f"{clone}: commit {commit} holds no file that subdir and sparse_checkout leave")
    return found, commit


def _commit(clone: Path, origin: RepoOrigin) -> str:
    branch = origin.branch or "HEAD"
    wanted = [origin.start] if origin.start else [
        branch, f"refs/remotes/origin/{branch}", f"refs/bundle/heads/{branch}", "refs/bundle/first"
    ]  # fmt: skip
    for each in wanted:
        try:
            told = _git(clone, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{each}^{{commit}}")
        except DataError:
            continue
        return told.decode().strip()
    raise DataError(f"{clone}: there is no commit {wanted[0]} in it")


def _blobs(clone: Path, blobs: Sequence[bytes]) -> Iterator[bytes]:
    told = _git(clone, "cat-file", "--batch", stdin=b"\n".join(blobs) + b"\n")
    start = 0
    for _ in blobs:
        end = told.index(b"\n", start)
        size = int(told[start:end].split(b" ")[2])
        yield told[end + 1 : end + 1 + size]
        start = end + size + 2


def _of_archive(archive: Path) -> dict[str, TaskFile]:
    """Its files and links; the one folder that holds everything, which archives of commits have, is left away."""
    found: dict[str, TaskFile] = {}
    with tarfile.open(archive) as file:
        for member in file:
            why = outside(member.name.removeprefix("./").rstrip("/") or "top")
            if why is not None:
                raise DataError(f"{archive}: {member.name} {why}")
            body = file.extractfile(member) if member.isfile() else None
            if body is not None:
                found[member.name] = TaskFile(body=body.read(), runs=bool(member.mode & 0o100))
            elif member.issym():
                found[member.name] = TaskFile(link=member.linkname)
    names = {str(PurePosixPath(path)): piece for path, piece in found.items()}
    tops = {path.partition("/")[0] for path in names}
    if len(tops) == 1 and all("/" in path for path in names):
        return {path.partition("/")[2]: piece for path, piece in names.items()}
    return names


def _chosen(found: dict[str, TaskFile], origin: RepoOrigin) -> dict[str, TaskFile]:
    return {path: piece for path, piece in found.items() if _taken(path, origin)}


def _taken(path: str, origin: RepoOrigin) -> bool:
    """Whether subdir and sparse_checkout leave a file in; files of the top folder are in every sparse checkout."""
    if origin.subdir and not path.startswith(f"{origin.subdir}/"):
        return False
    sparse = [each.strip("/") for each in origin.sparse]
    return (
        not sparse or "/" not in path or any(path == each or path.startswith(f"{each}/") for each in sparse)
    )


def _git(folder: Path, *words: str, stdin: bytes = b"") -> bytes:
    try:
        done = subprocess.run(
            [*GIT, *words], cwd=folder, env=GIT_ENV, input=stdin, capture_output=True, check=False
        )
    except FileNotFoundError:
        raise DataError("There is no git on this machine: apt-get install git") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise DataError(f"{folder}: git {words[0]}: {said or 'failed'}")
    return done.stdout
