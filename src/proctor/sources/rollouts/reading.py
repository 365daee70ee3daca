"""From a prepared folder, and a file of overrides, to the task that is run: everything is checked, then copied.

folder -> files in hand -> overrides -> checked -> hashed -> private copy -> PreparedTask
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from proctor.errors import DataError, DataMissing
from proctor.sources.rollouts.copies import copy_here, kept
from proctor.sources.rollouts.dockerfile import Copied, DockerRecipe, recipe_of
from proctor.sources.rollouts.faults import JsonTold, TaskFaults
from proctor.sources.rollouts.harbor.reading import read_harbor
from proctor.sources.rollouts.harbor.spec import TASK
from proctor.sources.rollouts.meta import META, Meta, parsed, read_meta
from proctor.sources.rollouts.overrides import INSTRUCTIONS, Draft, apply_overrides, remove
from proctor.sources.rollouts.swebench.instance import find_instance, named_instance
from proctor.sources.rollouts.swebench.preparing import prepared_files, repository_for
from proctor.sources.rollouts.task import EVALUATION, OVERLAY, REFERENCE, REPO, PreparedTask, gives_away
from proctor.sources.rollouts.tree import TaskFile, Tree, digest, links_out, tree_of

DOCKERFILE = "Dockerfile"
REMOVED = f"{OVERLAY}/remove_repo_paths.txt"
SCRIPT_BYTES = 1_000_000  # beyond which a file of evaluation/ is not looked into
OTHER_FORMATS = {
    "task.yaml": "a task of Terminal-Bench's first format",
}


def read_task(folder: Path, home: Path, overrides: Path | None = None) -> PreparedTask:
    """The task of a prepared folder. `home` is PROCTOR_HOME, where its private copy is kept.

    Raises: DataError with every fault of the folder and of the overrides.
    """
    if (folder / TASK).is_file() and not (folder / META).is_file():
        if overrides is not None:
            raise DataError(
                f"{folder} is a task of Harbor's format, and overrides are of prepared tasks alone"
            )
        return read_harbor(folder, home)
    instance = None if (folder / META).is_file() else named_instance(folder)
    if instance is None:
        _need_prepared(folder)
    faults = TaskFaults(folder)
    try:
        draft, recipe = _instance_draft(*instance, faults) if instance else _draft(folder, faults)
        if overrides is not None:
            apply_overrides(draft, overrides)
        if not draft.document:
            faults.settle()
        meta = _told(draft, faults)
        instruction = _instruction(draft, meta)
        links_out(draft.tree, faults)
        faults.settle()
        sha256 = digest(draft.tree)
        shown, build = _shown(draft.tree)
        place = kept(draft.tree, build, sha256, home)
    except (OSError, UnicodeError) as error:
        raise DataError(f"{folder}: {error}") from None
    return PreparedTask(
        place / "task",
        folder,
        meta.id,
        meta.title,
        instruction,
        meta.rubrics,
        meta.tests,
        sha256,
        meta.own,
        recipe,
        shown,
        meta.tags,
        meta.sensitivity,
        tuple(draft.changes),
        tuple(_remarks(draft, meta, recipe)),
    )


def read_copy(sha256: str, origin: Path, home: Path) -> PreparedTask:
    """The task of a private copy that is here, as one of the folder `origin`. Raises: DataMissing, DataError."""
    copy = copy_here(sha256, home)
    if copy is None:
        raise DataMissing(
            f"{origin}: the task as it was handed in (SHA-256 {sha256[:12]}) is not on this machine"
        )
    task = read_task(copy, home)
    if task.sha256 != sha256:
        raise DataError(f"{copy} was changed: delete {copy.parent}, and it is fetched again")
    return replace(task, origin=origin)


def _need_prepared(folder: Path) -> None:
    if not folder.is_dir():
        raise DataError(f"{folder} is no folder: prepared_dir names the folder of a prepared task")
    if (folder / META).is_file():
        return
    for name, what in OTHER_FORMATS.items():
        if (folder / name).is_file():
            raise DataError(
                f"{folder} is {what} ({name}), which proctor does not run: it runs prepared tasks (with {META}, "
                f"{DOCKERFILE}, {REPO}/ and {EVALUATION}/), Harbor's (with {TASK}) and SWE-bench's instances "
                "(FILE.jsonl#ID). Harbor's own tools make such a task one of theirs: docs/tasks-of-others.md"
            )
    raise DataError(
        f"{folder} is no prepared task: it has no {META} (`proctor task new NAME` makes a folder with one)"
    )


def _instance_draft(file: Path, ident: str | None, faults: TaskFaults) -> tuple[Draft, DockerRecipe]:
    """An instance of SWE-bench's kind, as a prepared task: its repository lies beside the file."""
    instance = find_instance(file, ident)
    document, tree = prepared_files(instance, repository_for(instance, file, None, None))
    return Draft(document, tree, faults), recipe_of(tree[DOCKERFILE].content.decode())


def _draft(folder: Path, faults: TaskFaults) -> tuple[Draft, DockerRecipe]:
    recipe = DockerRecipe()
    if (folder / DOCKERFILE).is_file():
        recipe = _copying(folder, recipe_of((folder / DOCKERFILE).read_text("utf-8", "replace")), faults)
    else:
        faults.add(DOCKERFILE, "there is none; a prepared task has one (FROM proctor-base is enough)")
    copied = [each.source for each in recipe.copies]
    roots = dict.fromkeys((META, DOCKERFILE, OVERLAY, REPO, EVALUATION, *copied))
    if (folder / REPO).is_file():
        faults.add(REPO, "is a file, and must be a folder")
    # A source inside of a root is there already; what is no folder here is told by whoever misses it.
    tree = tree_of(folder, [root for root in roots if not _inside(root, roots)], faults)
    draft = Draft(parsed((folder / META).read_bytes(), META, faults), tree, faults)
    remove(draft, listed_globs(tree), JsonTold({}, REMOVED, faults), "", strict=False)
    return draft, recipe


def listed_globs(tree: Tree) -> list[str]:
    """The globs of remove_repo_paths.txt, a line each; # begins a remark."""
    file = tree.get(REMOVED)
    lines = [] if file is None else file.content.decode("utf-8", "replace").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]


def _inside(path: str, roots: Mapping[str, None]) -> bool:
    return any(path.startswith(f"{root}/") for root in roots)


def _copying(folder: Path, recipe: DockerRecipe, faults: TaskFaults) -> DockerRecipe:
    """The recipe with the copies that can be made here; those of files that are not there are steps for a builder."""
    here: list[Copied] = []
    steps = list(recipe.steps)
    for each in recipe.copies:
        parts = set(Path(each.source).parts)
        if ".." in parts:
            faults.add(DOCKERFILE, f"{each.line} leads out of the folder")
        elif each.source in (META, EVALUATION) or gives_away(each.source):
            faults.add(DOCKERFILE, f"{each.line} would show the agent what it must not see")
        elif (folder / each.source).exists():
            here.append(each)
        else:
            steps.append(each.line)
    steps.sort(key=lambda line: line.number)
    return replace(recipe, copies=here, steps=steps)


def _told(draft: Draft, faults: TaskFaults) -> Meta:
    """tb_meta.json as the overrides leave it; scripts that stand in it become files."""
    root = f"{EVALUATION}/"
    scripts = {
        name.removeprefix(root): piece.content if _small(piece) else b""
        for name, piece in draft.tree.items()
        if name.startswith(root) and piece.link is None
    }
    meta = read_meta(draft.document, scripts, faults)
    for path, text in meta.inline.items():
        draft.put(root + path, text, JsonTold({}, META, faults), "evaluation.test_scripts")
    if draft.changes:
        body = json.dumps(draft.document, indent=2, sort_keys=True, ensure_ascii=False).encode()
        draft.tree[META] = TaskFile(body=body)
    if meta.repo.url and meta.own.baseline is None:
        faults.add(
            META,
            f"{REPO}/ does not hold the repository's files yet: `proctor task prepare {faults.folder} --repo CLONE` "
            "makes a prepared task of it, offline",
            "repo.git_url",
        )
    return meta


def _small(piece: TaskFile) -> bool:
    return piece.source is None or piece.source.stat().st_size <= SCRIPT_BYTES


def _instruction(draft: Draft, meta: Meta) -> str:
    """What the agent is told; it stands in /app/LM_INSTRUCTIONS.md of every box, too."""
    name = f"{OVERLAY}/{INSTRUCTIONS}"
    file = draft.tree.get(name)
    text = meta.instruction or ""
    if file is not None:
        try:
            text = file.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            draft.faults.add(name, f"is no UTF-8: {error.reason} at byte {error.start}")
            return text
    if not text.strip():
        where = name if file is not None else META
        draft.faults.add(
            where, "there is no instruction for the agent", "" if file is not None else "lm.instructions"
        )
    draft.tree.setdefault(name, TaskFile(body=text.encode()))
    return text


def _shown(tree: Tree) -> tuple[tuple[str, ...], Tree]:
    """The files of overlay_files that the agent sees, and all that a program that builds images may see.

    None of them is the answer or a test, by name or by content. The repository is shown whole.
    """
    root = f"{OVERLAY}/"
    tests = {name for name in tree if name.startswith(f"{EVALUATION}/")}
    secret = {tree[name].sha256 for name in (root + REFERENCE, *tests) if name in tree}
    build = {
        name: file
        for name, file in tree.items()
        if name.startswith(f"{REPO}/")
        or not (name == META or name in tests or gives_away(name) or file.sha256 in secret)
    }
    return tuple(sorted(name.removeprefix(root) for name in build if name.startswith(root))), build


def _remarks(draft: Draft, meta: Meta, recipe: DockerRecipe) -> list[str]:
    told: list[str] = []
    tested = {test.rubric for test in meta.tests}
    if loose := [rubric.id for rubric in meta.rubrics if rubric.id not in tested]:
        told.append(f"without test scripts, and so without weight: {', '.join(loose)}")
    if unscored := [test.path for test in meta.tests if test.rubric is None]:
        told.append(f"run and shown, but of no rubric: {', '.join(unscored)}")
    if f"{OVERLAY}/{REFERENCE}" not in draft.tree:
        told.append(f"there is no reference patch ({OVERLAY}/{REFERENCE})")
    if recipe.steps:
        lines = "line that is" if len(recipe.steps) == 1 else "lines that are"
        told.append(f"its Dockerfile has {len(recipe.steps)} {lines} carried out by docker alone")
    if meta.sensitivity == "sensitive":
        told.append("it is marked as sensitive")
    return told
