"""Patches: whatever an agent leaves, its patch is text and gives the very same files in another place."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from trials import task_folder

from proctor.engine.trials.baseline import TaskBaseline, linked, made_baseline
from proctor.engine.trials.clean import clean_files
from proctor.engine.trials.collecting import Taken, collect
from proctor.engine.trials.patch import apply_patch
from proctor.engine.trials.tree import digest, tree_of
from proctor.errors import SandboxError, VerifierError
from proctor.references import RolloutsRef, TaskEntry
from proctor.sources.rollouts.source import open_rollouts
from proctor.sources.rollouts.task import PreparedTask

FILES: dict[str, str | bytes] = {
    "plain.txt": "one\ntwo\nthree\n",
    "folder/inner.txt": "inner\n",
    "latin.txt": b"caf\xe9\n",
    "binary": bytes(range(256)),
    "windows.txt": b"one\r\ntwo\r\n",
    ".gitignore": "*.log\nbuild/\n",
    ".gitattributes": "* text=auto eol=lf\n*.txt ident\n",
    "tests/test_own.py": "assert True\n",
    "kept.log": "ignored, and in the baseline\n",
}


def prepared(tmp_path: Path, **told: object) -> PreparedTask:
    folder = task_folder(tmp_path / "task", repository=FILES, told=told)
    ref = RolloutsRef("tests", tasks=(TaskEntry(str(folder)),))
    return open_rollouts(ref, tmp_path / "home").tasks[0]


@pytest.fixture
def baseline(tmp_path: Path) -> TaskBaseline:
    return made_baseline(prepared(tmp_path), tmp_path / "baselines")


def worked(baseline: TaskBaseline, tmp_path: Path, work: Callable[[Path], object]) -> tuple[Path, Taken]:
    """What is collected of a copy of the baseline in which `work` was done."""
    root = tmp_path / "box/app/repo"
    linked(baseline.tree, baseline.files, root)
    for path in root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            body = path.read_bytes()
            path.unlink()
            path.write_bytes(body)
    work(root)
    (tmp_path / "private").mkdir()
    return root, collect(root, baseline, tmp_path / "private", time.monotonic() + 60)


def swapped(root: Path) -> None:
    (root / "plain.txt").unlink()
    (root / "plain.txt").mkdir()
    (root / "plain.txt/now a folder").write_text("x")
    (root / "folder/inner.txt").unlink()
    (root / "folder").rmdir()
    (root / "folder").write_text("now a file")


def linked_up(root: Path) -> None:
    (root / "folder/inner.txt").unlink()
    (root / "folder").rmdir()
    (root / "folder").symlink_to("/etc")
    (root / "plain.txt").unlink()
    (root / "plain.txt").symlink_to("no such file")
    (root / "dots").symlink_to("../../..")


def attributed(root: Path) -> None:
    (root / ".gitattributes").write_text(
        "* text eol=crlf ident filter=evil working-tree-encoding=UTF-16\n*.txt -diff merge=x\n"
    )
    (root / "plain.txt").write_bytes(b"$Id$\none\r\ntwo\n")
    (root / "windows.txt").write_bytes(b"one\ntwo\r\n$Id: 1$\r\n")


def oddly_named(root: Path) -> None:
    for name in (
        b"caf\xe9",
        b"a\nb",
        b'quo"te',
        b"tab\t",
        b"back\\slash",
        b"star*[x]?",
        b"#hash",
        b"!not",
        b" space ",
    ):
        Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_bytes(b"\xff\x00" + name)
    (root / "a b").mkdir()
    (root / "a b" / "\u00fcml\u00e4ut").write_text("text\n")
    for name in ("con", "aux.c", "git~1", "a.", ".gitmodules", "x:y"):
        (root / name).write_text(name)


def changed_in_all_ways(root: Path) -> None:
    (root / "plain.txt").write_text("one\n2\nthree")
    (root / "latin.txt").write_bytes(b"th\xe9\n")
    (root / "binary").write_bytes(bytes(reversed(range(256))))
    (root / "windows.txt").chmod(0o755)
    (root / "folder/inner.txt").unlink()
    (root / "empty").write_text("")
    (root / "nul").write_bytes(b"a" * 9_000 + b"\0")
    # The heading of a hunk quotes this line, and cuts it inside a character.
    (root / "long.py").write_text("def f" + "\u00e9" * 200 + "():\n" + "    x\n" * 20)


@pytest.mark.parametrize("work", [swapped, linked_up, attributed, oddly_named, changed_in_all_ways])
def test_a_patch_gives_the_very_files_that_were_left(
    work: Callable[[Path], object], baseline: TaskBaseline, tmp_path: Path
) -> None:
    _, taken = worked(baseline, tmp_path, work)
    assert taken.patch.decode()
    assert b"\0" not in taken.patch
    again = tmp_path / "again"
    linked(baseline.tree, baseline.files, again)
    apply_patch(taken.patch, again, tmp_path / "applying")
    assert digest(tree_of(again)) == taken.tree
    assert tree_of(baseline.files) == baseline.tree


def test_patches_of_random_work_give_the_files_that_were_left(baseline: TaskBaseline, tmp_path: Path) -> None:
    draw = random.Random(17)

    def work(root: Path) -> None:
        for number in range(120):
            path = root / "/".join(draw.choice("abc") for _ in range(draw.randint(1, 4)))
            if path.exists() or any(each.is_file() for each in path.parents):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(draw.choice([b"", b"x\n" * number, draw.randbytes(number), b"\r\n", b"no end"]))
            path.chmod(draw.choice([0o644, 0o755, 0o600]))

    _, taken = worked(baseline, tmp_path, work)
    again = tmp_path / "again"
    linked(baseline.tree, baseline.files, again)
    apply_patch(taken.patch, again, tmp_path / "applying")
    assert digest(tree_of(again)) == taken.tree
    assert taken.patch.count(b"diff --git") > 15


def test_what_the_baseline_ignores_is_no_work_and_what_the_agent_ignores_is(
    baseline: TaskBaseline, tmp_path: Path
) -> None:
    def work(root: Path) -> None:
        (root / "noise.log").write_text("left out")
        (root / "kept.log").write_text("changed, and in the baseline")
        (root / "build").mkdir()
        (root / "build/out").write_text("left out")
        (root / ".gitignore").write_text("*\n")
        (root / "hidden.txt").write_text("taken all the same")
        (root / "__pycache__").mkdir()
        (root / "__pycache__/plain.cpython-311.pyc").write_bytes(b"x")

    _, taken = worked(baseline, tmp_path, work)
    assert taken.touched == (".gitignore", "hidden.txt", "kept.log")
    assert taken.notes == ("left out, ignored by the task's .gitignore: build/out, noise.log",)


def test_no_change_is_no_patch(baseline: TaskBaseline, tmp_path: Path) -> None:
    _, taken = worked(baseline, tmp_path, lambda root: None)
    assert (taken.patch, taken.touched, taken.notes) == (b"", (), ())
    assert taken.tree == digest(baseline.tree)


def test_work_that_is_read_too_late_is_the_sandbox_s_failure(baseline: TaskBaseline, tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    with pytest.raises(SandboxError, match="in time"):
        collect(baseline.files, baseline, tmp_path / "private", time.monotonic() - 1)


def test_what_a_task_protects_and_what_steers_verifiers_is_put_back(tmp_path: Path) -> None:
    task = prepared(tmp_path, proctor={"protect": ["tests/**", "binary"]})
    baseline = made_baseline(task, tmp_path / "baselines")

    def work(root: Path) -> None:
        (root / "tests/test_own.py").unlink()
        (root / "tests").rmdir()
        (root / "tests").symlink_to("folder")
        (root / "folder/test_own.py").write_text("planted")
        (root / "binary").unlink()
        (root / "binary").mkdir()
        (root / "binary/x").write_text("planted")
        (root / "folder/conftest.py").write_text("planted")
        (root / "sitecustomize.py").write_text("planted")
        (root / "plain.txt").write_text("mended")

    _, taken = worked(baseline, tmp_path, work)
    clean = clean_files(task, baseline, taken.patch, tmp_path / "private", taken.tree)
    assert (clean.folder / "tests/test_own.py").read_text() == "assert True\n"
    assert (clean.folder / "binary").read_bytes() == FILES["binary"]
    assert (clean.folder / "plain.txt").read_text() == "mended"
    assert (clean.folder / "folder/test_own.py").exists()
    assert not (clean.folder / "sitecustomize.py").exists()
    assert not (clean.folder / "folder/conftest.py").exists()
    assert "put back for the verifier" in clean.notes[0]
    assert tree_of(baseline.files) == baseline.tree


def test_a_patch_that_gives_other_files_is_not_verified(baseline: TaskBaseline, tmp_path: Path) -> None:
    task = prepared(tmp_path)
    with pytest.raises(VerifierError, match="does not apply"):
        clean_files(task, baseline, b"--- a/none\n+++ b/none\n@@ -1 +1 @@\n-a\n+b\n", tmp_path / "one")
    _, taken = worked(baseline, tmp_path, lambda root: (root / "plain.txt").write_text("x"))
    with pytest.raises(VerifierError, match="does not give the files"):
        clean_files(task, baseline, taken.patch, tmp_path / "two", "another digest")


def test_a_baseline_that_somebody_changed_is_made_anew(tmp_path: Path) -> None:
    task = prepared(tmp_path)
    made = made_baseline(task, tmp_path / "baselines")
    assert made_baseline(task, tmp_path / "baselines") == made
    (made.files / "plain.txt").write_text("changed")
    assert tree_of(made_baseline(task, tmp_path / "baselines").files) == made.tree
    assert [each.name for each in (tmp_path / "baselines").glob("[!.]*")] == [made.place.name]


@pytest.mark.parametrize("place", ["none", "link"])
def test_a_repository_that_is_gone_or_a_link_is_a_patch_that_removes_all(
    place: str, baseline: TaskBaseline, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to("/")
    (tmp_path / "private").mkdir()
    taken = collect(tmp_path / place, baseline, tmp_path / "private", time.monotonic() + 60)
    assert taken.notes == ("the repository was removed or replaced",)
    assert taken.patch.count(b"deleted file mode") == len(baseline.tree)
