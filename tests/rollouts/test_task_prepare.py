"""`proctor task new` and `prepare`: folders of tasks, from nothing or with a repository of this machine."""

import io
import json
import os
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from prepared import content, prepared
from repositories import commits

from forks import run
from proctor.errors import ConfigError, DataError
from proctor.sources.rollouts.preparing import PrepareWish, prepare_task
from proctor.sources.rollouts.skeleton import make_skeleton

NOTHING: Mapping[str, str] = {}
BARE = {f"overlay_repo_files/{name}": None for name in ("greeting.py", "docs/a.md", "docs/b.md")}


def created(folder: Path, files: Mapping[str, str] = NOTHING, **repo: Any) -> Path:
    return prepared(folder, {**BARE, **files}, repo=repo)


def test_the_files_of_the_first_commit_are_prepared_and_nothing_of_the_history(tmp_path: Path) -> None:
    first, _ = commits(tmp_path / "clone")
    folder = created(
        tmp_path / "made",
        {
            "overlay_files/remove_repo_paths.txt": "# what gives it away\nother/*\n",
            "overlay_repo_files/added.txt": "x",
        },
        git_url=str(tmp_path / "clone"),
        start_commit_sha=first,
    )
    made = prepare_task(PrepareWish(folder, "mine"), tmp_path / "home")
    assert made.folder == tmp_path / "home/tasks/prepared/mine" and made.baseline == first
    assert made.task is not None
    files = content(made.task.repo)
    assert files == {"README.md": b"first", "src/code.py": b"first", "added.txt": b"x"}
    assert b"the answer" not in b"".join(content(made.folder / "overlay_repo_files").values())
    assert not list(made.folder.rglob(".git"))
    kept = json.loads((made.folder / "tb_meta.json").read_text())
    assert kept["evaluation"] == json.loads((folder / "tb_meta.json").read_text())["evaluation"]
    assert kept["proctor"] == {"baseline": first}
    with pytest.raises(ConfigError, match="mine is there already"):
        prepare_task(PrepareWish(folder, "mine"), tmp_path / "home")


@pytest.mark.parametrize("kind", ["clone", "bundle", "archive"])
def test_clone_bundle_and_archive_give_the_same_files_but_for_what_is_not_asked_for(
    tmp_path: Path, kind: str
) -> None:
    first, _ = commits(tmp_path / "clone")
    source = {"clone": tmp_path / "clone", "bundle": tmp_path / "b.bundle", "archive": tmp_path / "a.tar.gz"}[
        kind
    ]
    git = ["git", "-C", str(tmp_path / "clone")]
    subprocess.run([*git, "bundle", "create", "-q", str(tmp_path / "b.bundle"), "HEAD"], check=True)
    words = ["archive", "--prefix=top/", "--format=tar.gz", "-o", str(tmp_path / "a.tar.gz"), first]
    subprocess.run([*git, *words], check=True)
    folder = created(
        tmp_path / "made",
        git_url="https://example.com/a.git",
        start_commit_sha=first,
        sparse_checkout=["src"],
    )
    made = prepare_task(PrepareWish(folder, "mine", str(source)), tmp_path / "home")
    assert content(made.folder / "overlay_repo_files") == {"README.md": b"first", "src/code.py": b"first"}


def test_a_repository_on_another_machine_needs_a_clone(tmp_path: Path) -> None:
    folder = created(tmp_path / "made", git_url="git@example.com:a/b.git")
    with pytest.raises(DataError, match=r"git@example\.com:a/b\.git is on another machine.*--repo"):
        prepare_task(PrepareWish(folder), tmp_path / "home")


def test_an_archive_with_a_way_out_is_refused(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as file:
        for name, target in (("top/x", ""), ("top/link", "../../..")):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = (tarfile.SYMTYPE, target) if target else (tarfile.REGTYPE, "")
            file.addfile(member, io.BytesIO())
    folder = created(tmp_path / "made")
    with pytest.raises(DataError, match="is a link that leads out"):
        prepare_task(PrepareWish(folder, "one", str(tmp_path / "a.tar")), tmp_path / "home")
    with tarfile.open(tmp_path / "b.tar", "w") as file:
        file.addfile(tarfile.TarInfo("top/../../x"), io.BytesIO())
    with pytest.raises(DataError, match="leads out of the folder"):
        prepare_task(PrepareWish(folder, "two", str(tmp_path / "b.tar")), tmp_path / "home")
    assert not (tmp_path / "home/tasks/prepared/one").exists()


def test_tasks_that_other_makers_prepared_can_be_read_once_they_have_their_files(
    shared: Path, tmp_path: Path
) -> None:
    folder = shared / "data/rollouts/tasks/oneshot-made__nested-consumes-dict"
    made = prepare_task(PrepareWish(folder, "nested", sandbox="any"), tmp_path)
    assert made.task is not None and made.files == 88
    assert made.task.requires == ("python:pytest",)
    assert {test.runner for test in made.task.tests} == {"pytest"}
    assert made.task.refusal("bubblewrap") is None
    assert not [
        each.target
        for each in made.task.agent_files()
        if each.target.endswith((".patch", ".json", "notes.md"))
    ]


def test_what_is_no_name_or_there_already_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is no name for a task"):
        make_skeleton(tmp_path / "a b")
    make_skeleton(tmp_path / "mine")
    before = content(tmp_path / "mine")
    with pytest.raises(ConfigError, match="mine is there already"):
        make_skeleton(tmp_path / "mine")
    assert content(tmp_path / "mine") == before


@pytest.mark.promise("C-21")
def test_commands_about_folders_that_are_no_tasks_end_with_what_is_wrong(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "PROCTOR_HOME": str(tmp_path / "home")}
    done = run(["task", "check", "gone"], env, tmp_path, timeout_s=60)
    assert done.returncode == 1 and "FAIL  gone is no folder" in done.stdout
    (tmp_path / "b.toml").write_text('[[tasks]]\nprepared_dir = "gone"\nagent = "null"\n')
    done = run(["rollouts", "run", "b.toml"], env, tmp_path, timeout_s=60)
    assert done.returncode == 2 and "gone" in done.stderr and "Traceback" not in done.stderr
