"""Overrides of a prepared task: what a file of them changes, applied to the files in hand and never to the folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proctor.errors import DataError
from proctor.sources.rollouts.faults import JsonTold, TaskFaults
from proctor.sources.rollouts.meta import RepoOrigin, parsed, repo_origin, variables
from proctor.sources.rollouts.paths import is_glob, matches, outside
from proctor.sources.rollouts.repository import is_remote, repository_files
from proctor.sources.rollouts.tree import TaskFile, through_link

REPO, OVERLAY = "overlay_repo_files", "overlay_files"
INSTRUCTIONS = "LM_INSTRUCTIONS.md"
KNOWN = (
    "remove_repo_paths, inject_files, repo, lm_instructions, prompt, environment_variables, overlay_files, "
    "overlay_repo_files, evaluation, rubrics, test_scripts"
)
REPO_KEYS = "git_url, branch, start_commit_sha, end_commit_sha, subdir, sparse_checkout"


@dataclass(slots=True)
class Draft:
    """A task before it is kept: what its tb_meta.json tells, and its files. `changes` are sentences."""

    document: dict[str, Any]
    tree: dict[str, TaskFile]
    faults: TaskFaults
    changes: list[str] = field(default_factory=list)

    def put(self, path: str, body: str, told: JsonTold, key: str) -> None:
        """A file of the task anew; a path that goes through a link, or where a folder is, is a fault."""
        link = through_link(self.tree, path)
        if link is not None:
            told.fault(key, f"{path} would go through the link {link}")
        elif any(name.startswith(f"{path}/") for name in self.tree):
            told.fault(key, f"{path} is a folder of the task")
        else:
            old = self.tree.get(path)
            self.tree[path] = TaskFile(body=body.encode(), runs=old is not None and old.runs)


def apply_overrides(draft: Draft, file: Path) -> None:
    """Change the draft as the file says; what is wrong with it is added to the draft's faults."""
    name = file.name
    try:
        text = file.read_bytes()
    except OSError as error:
        draft.faults.add(str(file), f"these overrides cannot be read: {error.strerror}")
        return
    told = JsonTold(parsed(text, name, draft.faults), name, draft.faults)
    _repository(draft, told)
    remove(draft, told.texts("remove_repo_paths"), told, "remove_repo_paths")
    _files(draft, told)
    _instruction(draft, told)
    _variables(draft, told)
    _evaluation(draft, told)
    told.nothing_else(KNOWN)


def remove(draft: Draft, patterns: Iterable[str], told: JsonTold, key: str, *, strict: bool = True) -> None:
    """Take what the globs name out of the repository. Where `strict`, one that names nothing is a fault."""
    gone: set[str] = set()
    inside = [name.removeprefix(f"{REPO}/") for name in draft.tree if name.startswith(f"{REPO}/")]
    for pattern in patterns:
        why = outside(pattern.rstrip("/"))
        if why is not None:
            told.fault(key, f"{pattern!r} {why}")
            continue
        found = [path for path in inside if matches(path, [pattern])]
        if not found and strict:
            what = "fits no file" if is_glob(pattern) else "is no file or folder"
            told.fault(key, f"{pattern!r} {what} of the repository")
        gone.update(found)
    for path in gone:
        del draft.tree[f"{REPO}/{path}"]
    if gone and strict:
        draft.changes.append(f"{_counted(len(gone), 'file')} of the repository removed")


def _repository(draft: Draft, told: JsonTold) -> None:
    if "repo" not in told.left:
        return
    asked = told.object("repo")
    words = dict(asked.left)
    of = draft.document.get("repo")
    before = dict(of) if isinstance(of, dict) else {}
    origin = repo_origin(JsonTold({**before, **words}, told.file, draft.faults, "repo"))
    for key in words.keys() - set(REPO_KEYS.split(", ")):
        asked.fault(key, f"unknown key; there are {REPO_KEYS}")
    if draft.faults.found or all(before.get(key) == value for key, value in words.items()):
        return
    _other_commit(draft, asked, {**before, **words}, origin)


def _other_commit(draft: Draft, asked: JsonTold, repo: Mapping[str, Any], origin: RepoOrigin) -> None:
    if origin.url is None or is_remote(origin.url):
        what = f"{origin.url} is on another machine" if origin.url else "names no git_url"
        asked.fault(
            "git_url",
            f"{what}, and a run downloads nothing: name a clone or a bundle of this machine, "
            "or make a prepared task of that commit (`proctor task prepare`)",
        )
        return
    try:
        files, commit = repository_files(origin.url, origin)
    except DataError as error:
        asked.fault("git_url", str(error))
        return
    for name in [each for each in draft.tree if each.startswith(f"{REPO}/")]:
        del draft.tree[name]
    draft.tree.update({f"{REPO}/{path}": piece for path, piece in files.items()})
    own = draft.document.get("proctor")
    draft.document["proctor"] = {**(own if isinstance(own, dict) else {}), "baseline": commit}
    draft.document["repo"] = dict(repo)
    draft.changes.append(f"the repository is that of commit {commit[:12]}")


def _files(draft: Draft, told: JsonTold) -> None:
    for each in told.objects("inject_files"):
        path, content = each.text("path") or "", each.text("content")
        if content is None:
            each.fault("content", "is missing")
        each.nothing_else("path, content")
        _put(draft, each, "path", f"{REPO}/", {path: content or ""})
    for key in (OVERLAY, REPO):
        _put(draft, told, key, f"{key}/", told.table(key))


def _put(draft: Draft, told: JsonTold, key: str, root: str, files: Mapping[str, str]) -> None:
    for path, content in files.items():
        why = outside(path)
        if why is not None:
            told.fault(key, f"{path!r} {why}")
            continue
        word = "replaced" if root + path in draft.tree else "added"
        draft.put(root + path, content, told, key)
        draft.changes.append(f"{path if root == f'{REPO}/' else root + path} {word}")


def _instruction(draft: Draft, told: JsonTold) -> None:
    texts = {key: text for key in ("lm_instructions", "prompt") if (text := told.text(key)) is not None}
    if len(set(texts.values())) > 1:
        told.fault("prompt", "says something else than lm_instructions; name one of them")
    for key, text in texts.items():
        if not text.strip():
            told.fault(key, "is empty")
        lm = draft.document.get("lm")
        draft.document["lm"] = {**(lm if isinstance(lm, dict) else {}), "instructions": text}
        draft.tree[f"{OVERLAY}/{INSTRUCTIONS}"] = TaskFile(body=text.encode())
    if texts:
        draft.changes.append("another instruction")


def _variables(draft: Draft, told: JsonTold) -> None:
    found = variables(told, "environment_variables")
    if not found:
        return
    own = draft.document.get("proctor")
    own = dict(own) if isinstance(own, dict) else {}
    before = own.get("environment_variables")
    own["environment_variables"] = {**(before if isinstance(before, dict) else {}), **found}
    draft.document["proctor"] = own
    draft.changes.append(f"variables set: {', '.join(sorted(found))}")


def _evaluation(draft: Draft, told: JsonTold) -> None:
    """Another verdict: `evaluation` whole, or `rubrics` and `test_scripts`, of which each replaces the task's."""
    whole = told.left.pop("evaluation", None)
    parts = {key: told.left.pop(key) for key in ("rubrics", "test_scripts") if key in told.left}
    if whole is not None and parts:
        told.fault("evaluation", f"stands beside {' and '.join(parts)}; name one of them")
    elif whole is not None and not isinstance(whole, dict):
        told.fault("evaluation", "is no object")
    elif whole is not None or parts:
        before = draft.document.get("evaluation")
        draft.document["evaluation"] = {
            **(before if isinstance(before, dict) else {}),
            **(parts if whole is None else whole),
        }
        draft.changes.append(f"another {' and '.join(parts) or 'evaluation'}")


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
