"""From a created task to a prepared one: the repository's files at its first commit are put into the folder."""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.errors import ConfigError, DataError
from proctor.sources.rollouts.faults import JsonTold, TaskFaults
from proctor.sources.rollouts.meta import META, is_task_id, parsed, repo_origin
from proctor.sources.rollouts.overrides import Draft, remove
from proctor.sources.rollouts.reading import DOCKERFILE, REMOVED, listed_globs, read_task
from proctor.sources.rollouts.repository import repository_files
from proctor.sources.rollouts.swebench.instance import Instance, find_instance, named_instance
from proctor.sources.rollouts.swebench.preparing import prepared_files, repository_for
from proctor.sources.rollouts.task import EVALUATION, OVERLAY, REPO, PreparedTask
from proctor.sources.rollouts.tree import TaskFile, links_out, tree_of, write

PREPARED = Path("tasks", "prepared")
KEPT = (META, DOCKERFILE, OVERLAY, REPO, EVALUATION, "overrides.json")
ARCHIVES = ("repo*.bundle", "repo*.tar", "repo*.tar.*")  # beside tb_meta.json, where nothing else is named
BASE = b"FROM proctor-base\nWORKDIR /app/repo\n"


@dataclass(frozen=True, slots=True)
class PrepareWish:
    """How a task is prepared. `repo` is a clone, bundle or archive; None: what tb_meta.json names or lies beside it.

    `created` may be a file of instances, of which one is meant; their repositories may lie in the folder `repos`.
    """

    created: Path
    name: str | None = None
    repo: str | None = None
    sandbox: str | None = None  # written into tb_meta.json as `proctor.sandbox`
    instance: str | None = None
    repos: Path | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was made. `task` is None where it cannot be run as it is, for the reason in `why`."""

    folder: Path
    baseline: str | None
    files: int
    task: PreparedTask | None
    why: str = ""


def prepare_task(wish: PrepareWish, home: Path) -> Prepared:
    """Make PROCTOR_HOME/tasks/prepared/NAME of a created task. Its rubrics and tests are kept as they are.

    Raises: ConfigError where the name is taken or none, DataError for what cannot be read.
    """
    created = wish.created
    named = None if (created / META).is_file() else named_instance(created)
    if named is not None:
        return _of_instance(find_instance(named[0], wish.instance or named[1]), named[0], wish, home)
    place = _place(wish.name or created.resolve().name, home)
    if not (created / META).is_file():
        raise DataError(f"{created} is no created task: it has no {META}")
    faults = TaskFaults(created)
    draft = Draft(parsed((created / META).read_bytes(), META, faults), tree_of(created, KEPT, faults), faults)
    faults.settle()
    baseline = _furnish(draft, wish)
    links_out(draft.tree, faults)
    faults.settle()
    return _prepared(draft, place, baseline, home)


def _place(name: str, home: Path) -> Path:
    place = home / PREPARED / name
    if not is_task_id(name):
        raise ConfigError(f"{name!r} is no name for a task: letters, digits and . _ @ : + -")
    if place.exists():
        raise ConfigError(f"{place} is there already: delete it, or give the new one another --name")
    return place


def _prepared(draft: Draft, place: Path, baseline: str | None, home: Path) -> Prepared:
    files = sum(path.startswith(f"{REPO}/") for path in draft.tree)
    _written(draft, place)
    try:
        return Prepared(place, baseline, files, read_task(place, home))
    except DataError as error:
        return Prepared(place, baseline, files, None, str(error))


def _of_instance(instance: Instance, file: Path, wish: PrepareWish, home: Path) -> Prepared:
    """A prepared task of an instance of SWE-bench's kind."""
    place = _place(wish.name or instance.name, home)
    faults = TaskFaults(file)
    source = repository_for(instance, file, wish.repo, wish.repos)
    draft = Draft(*prepared_files(instance, source), faults)
    links_out(draft.tree, faults)
    faults.settle()
    return _prepared(draft, place, str(draft.document["proctor"]["baseline"]), home)


def _furnish(draft: Draft, wish: PrepareWish) -> str | None:
    """Put the repository below the created task's own files, and tell tb_meta.json of it."""
    origin = repo_origin(JsonTold(draft.document.get("repo") or {}, META, draft.faults, "repo"))
    draft.faults.settle()
    source = wish.repo or _beside(wish.created) or origin.url
    baseline = None
    if source is not None:
        files, baseline = repository_files(source, origin)
        under = {f"{REPO}/{path}": piece for path, piece in files.items()}
        own = draft.tree
        draft.tree = under
        remove(draft, listed_globs(own), JsonTold({}, REMOVED, draft.faults), "", strict=False)
        draft.tree.update({path: piece for path, piece in own.items() if path != REMOVED})
    document: dict[str, Any] = dict(draft.document)
    told = dict(document.get("proctor") or {})
    told |= {"baseline": baseline} if baseline is not None else {}
    told |= {"sandbox": wish.sandbox} if wish.sandbox is not None else {}
    if told:
        document["proctor"] = told
    draft.tree[META] = TaskFile(body=(json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode())
    draft.tree.setdefault(DOCKERFILE, TaskFile(body=BASE))
    return baseline


def _beside(created: Path) -> str | None:
    """The bundle or archive of the repository that lies in the folder."""
    found = sorted({each for pattern in ARCHIVES for each in created.glob(pattern)})
    if len(found) > 1:
        names = ", ".join(each.name for each in found)
        raise DataError(f"{created} holds {names}: name the one that is the repository with --repo")
    return str(found[0]) if found else None


def _written(draft: Draft, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    room = Path(tempfile.mkdtemp(prefix=".making-", dir=place.parent))
    try:
        write(draft.tree, room / "task")
        (room / "task").rename(place)
    finally:
        shutil.rmtree(room, ignore_errors=True)
