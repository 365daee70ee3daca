"""From an instance and its repository to the files of a prepared task, so that it is run like any other.

overlay_repo_files/           the files of the base commit
overlay_files/diff.patch      the patch that solves it, which the agent never sees
evaluation/fail_to_pass.json  the tests that give points; pass_to_pass.json those that must stay as they are
evaluation/patched/           the files of the test patch as it leaves them: put over the work in the verifier's box
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from proctor.errors import DataError
from proctor.sources.rollouts.meta import META, RepoOrigin
from proctor.sources.rollouts.overrides import INSTRUCTIONS
from proctor.sources.rollouts.paths import outside
from proctor.sources.rollouts.place import REPO_IN_BOX
from proctor.sources.rollouts.repository import GIT, GIT_ENV, repository_files
from proctor.sources.rollouts.swebench.imports import imported
from proctor.sources.rollouts.swebench.instance import Instance
from proctor.sources.rollouts.task import EVALUATION, OVERLAY, REFERENCE, REPO
from proctor.sources.rollouts.tree import TaskFile

FAILS, PASSES, PATCHED = "fail_to_pass", "pass_to_pass", "patched"
# What pytest reads its settings from: the task's own, whatever a patch makes of them.
SETTINGS = ("setup.cfg", "tox.ini", "pyproject.toml", "pytest.ini")
ARCHIVES = ("*.tar", "*.tar.*", "*.tgz", "*.bundle")
_TOUCHED = re.compile(r"^(?:--- a/|\+\+\+ b/|rename from |rename to )(.+?)\t?$", re.MULTILINE)
_FULL = re.compile(r"[0-9a-f]{40}")


def prepared_files(instance: Instance, source: str) -> tuple[dict[str, Any], dict[str, TaskFile]]:
    """tb_meta.json's document, and the other files. Raises: DataError."""
    files, commit = repository_files(source, RepoOrigin(start=instance.base))
    patched = _patched(instance, files)
    gone = [path for path, body in patched.items() if body is None]
    there = {path: file for path, file in patched.items() if file is not None}
    tree = {f"{REPO}/{path}": file for path, file in files.items()}
    tree |= {f"{EVALUATION}/{PATCHED}/{path}": file for path, file in there.items()}
    for name, ids in ((FAILS, instance.fails), (PASSES, instance.passes)):
        if ids:
            told = {"tests": ids, "files": _test_files(ids, list(there)), "deleted": gone}
            tree[f"{EVALUATION}/{name}.json"] = _text(json.dumps(told, indent=1))
    tree[f"{OVERLAY}/{INSTRUCTIONS}"] = _text(instance.problem)
    if instance.patch.strip():
        tree[f"{OVERLAY}/{REFERENCE}"] = _text(instance.patch)
    tree["Dockerfile"] = _text(f"FROM proctor-base\nWORKDIR {REPO_IN_BOX}\n")
    document = _document(instance, commit, files, patched)
    tree[META] = _text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return document, tree


def _text(text: str) -> TaskFile:
    return TaskFile(body=text.encode("utf-8", "surrogatepass" if text.isascii() else "replace"))


def _document(
    instance: Instance, commit: str, files: Mapping[str, TaskFile], patched: Mapping[str, TaskFile | None]
) -> dict[str, Any]:
    ids = {FAILS: instance.fails, PASSES: instance.passes}
    rubrics = [
        {"id": FAILS, "criterion": "The tests that the fix is about pass", "weight": 1.0},
        {"id": PASSES, "criterion": "What passed before still passes", "weight": 0.0, "gate": True},
    ]
    tests = [{"path": f"{name}.json", "rubric_id": name, "runner": "instance"} for name in ids if ids[name]]
    return {
        "task_id": instance.name,
        "metadata": {"title": instance.id, "tags": [instance.repo]},
        "repo": {"start_commit_sha": instance.base},
        "lm": {"instructions": instance.problem},
        "evaluation": {"rubrics": rubrics if ids[PASSES] else rubrics[:1], "test_scripts": tests},
        "proctor": {
            "protect": sorted({*SETTINGS, *patched}),
            "requires": ["python:pytest", *(f"python:{name}" for name in _requires(files, patched))],
            "environment_variables": {"PYTHONPATH": ":".join(_paths(files))},
            "baseline": commit,
            "sandbox": "any",
        },
    }


def _paths(files: Mapping[str, TaskFile]) -> Sequence[str]:
    """Where the repository's packages are found without having been installed."""
    layout = any(path.startswith("src/") and path.endswith("/__init__.py") for path in files)
    return [f"{REPO_IN_BOX}/src", REPO_IN_BOX] if layout else [REPO_IN_BOX]


def _requires(files: Mapping[str, TaskFile], patched: Mapping[str, TaskFile | None]) -> list[str]:
    """The modules that the tests of the test patch import, what lies beside them, and conftest.py above them."""
    now = {**files, **{path: file for path, file in patched.items() if file is not None}}
    above = {str(parent / "conftest.py") for path in patched for parent in PurePosixPath(path).parents}
    folders = {str(PurePosixPath(path).parent) for path in patched}
    beside = {
        path
        for path in now
        if str(PurePosixPath(path).parent) in folders and not PurePosixPath(path).name.startswith("test")
    }
    read = {*patched, *above, *beside} & now.keys()
    bodies = {path: now[path].content for path in read if path.endswith(".py") and now[path].link is None}
    return imported(bodies, now)


def _test_files(ids: Sequence[str], patched: Sequence[str]) -> list[str]:
    """The files that hold the tests: those that the ids name; of ids that name none, those of the test patch."""
    named = {each.partition("::")[0] for each in ids if "::" in each}
    if any("::" not in each for each in ids):
        named |= {path for path in patched if path.endswith(".py")}
    return sorted(named)


def _patched(instance: Instance, files: Mapping[str, TaskFile]) -> dict[str, TaskFile | None]:
    """The files that the test patch touches as it leaves them; None: it deletes them. Raises: DataError."""
    touched = dict.fromkeys(path for path in _TOUCHED.findall(instance.test_patch) if path != "/dev/null")
    for path in touched:
        if outside(path) is not None:
            raise DataError(f"{instance.id}: its test patch leads to {path!r}, which {outside(path)}")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for path in touched:
            if path in files and files[path].link is None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(files[path].content)
                (root / path).chmod(0o755 if files[path].runs else 0o644)
        _apply(instance, root)
        return dict(_read(root, touched))


def _read(root: Path, touched: Mapping[str, None]) -> Iterator[tuple[str, TaskFile | None]]:
    for path in touched:
        place = root / path
        if place.is_file() and not place.is_symlink():
            yield path, TaskFile(body=place.read_bytes(), runs=bool(place.stat().st_mode & 0o100))
        else:
            yield path, None


def _apply(instance: Instance, root: Path) -> None:
    text = instance.test_patch if instance.test_patch.endswith("\n") else f"{instance.test_patch}\n"
    words = [*GIT, "apply", "--whitespace=nowarn", "-"]
    environment = {**GIT_ENV, "GIT_CEILING_DIRECTORIES": str(root.parent)}
    done = subprocess.run(
        words, cwd=root, env=environment, input=text.encode(), capture_output=True, check=False
    )
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise DataError(f"{instance.id}: its test patch does not apply to {instance.base[:12]}: {said}")


def repository_for(instance: Instance, file: Path, repo: str | None, repos: Path | None) -> str:
    """Where its repository is on this machine: as it was named, else in the folder of repositories or beside the row.

    Raises: DataError where none is found, or which one it is cannot be told.
    """
    if repo is not None:
        return repo
    for folder in [repos] if repos is not None else [file.parent]:
        found = list(dict.fromkeys(_fitting(instance, folder)))
        if found:
            return str(found[0])
    where = repos or file.parent
    raise DataError(
        f"{instance.id} needs {instance.repo} as of {instance.base[:12]}, and {where} holds neither a clone nor an "
        f"archive of it: nothing is downloaded for a task. Name one with --repo (a clone, a bundle, or what "
        f"`git archive` gives), or a folder of them with --repos"
    )


def _fitting(instance: Instance, folder: Path) -> Iterator[Path]:
    """What is called after its commit first, then what is called after its repository."""
    archives = sorted({each for pattern in ARCHIVES for each in folder.glob(pattern)})
    yield from (each for each in archives if instance.base[:7] in each.name)
    owner, _, name = instance.repo.rpartition("/")
    for form in (f"{owner}__{name}", f"{owner}--{name}", f"{owner}/{name}", name, instance.id):
        yield from (each for end in ("", ".git") if (each := folder / f"{form}{end}").is_dir() and form)
    called = [each for each in archives if each.name.startswith((f"{owner}__{name}", f"{name}.", f"{name}-"))]
    yield from called
    if len(archives) == 1 and archives[0].name.startswith("repo") and not _FULL.search(archives[0].name):
        yield from archives
