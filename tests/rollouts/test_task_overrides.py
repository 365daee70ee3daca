"""Overrides: every documented key, on a private copy, with no way out of the folder."""

import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from prepared import content, prepared
from repositories import commits

from proctor.errors import DataError
from proctor.sources.rollouts.reading import read_task


def file_of(folder: Path, told: Any) -> Path:
    file = folder / "overrides.json"
    file.write_text(told if isinstance(told, str) else json.dumps(told))
    return file


@pytest.mark.promise("C-22")
def test_every_documented_override_is_applied_to_a_private_copy(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "task")
    before = content(folder)
    told = {
        "remove_repo_paths": ["docs/*.md"],
        "inject_files": [{"path": "docs/c.md", "content": "c"}],
        "lm_instructions": "Greet twice.",
        "environment_variables": {"LOUD": "1"},
        "overlay_files": {"hint.md": "Think."},
        "overlay_repo_files": {"greeting.py": "x = 1\n"},
        "rubrics": [{"id": "other", "criterion": "c", "weight": 1}],
        "test_scripts": [{"path": "new.py", "rubric_id": "other", "content": "assert 1\n"}],
    }
    task = read_task(folder, tmp_path / "home", file_of(tmp_path, told))
    assert content(task.repo) == {"docs/c.md": b"c", "greeting.py": b"x = 1\n"}
    assert task.instruction == "Greet twice." and task.environment == {"LOUD": "1"}
    given = {each.target: each.source for each in task.agent_files()}
    assert given["/app/hint.md"].read_text() == "Think."
    assert given["/app/LM_INSTRUCTIONS.md"].read_text() == "Greet twice."
    assert [rubric.id for rubric in task.rubrics] == ["other"]
    assert (task.evaluation / "new.py").read_text() == "assert 1\n"
    assert content(folder) == before
    assert task.sha256 != read_task(folder, tmp_path / "home").sha256
    assert any("2 files of the repository removed" in each for each in task.changes)


@pytest.mark.promise("C-22")
def test_a_whole_evaluation_and_a_prompt_are_overrides_too(tmp_path: Path) -> None:
    script = {"path": "new.sh", "rubric_id": "r", "content": "true"}
    told = {"prompt": "Go.", "evaluation": {"rubrics": [{"id": "r", "weight": 1}], "test_scripts": [script]}}
    task = read_task(prepared(tmp_path / "task"), tmp_path, file_of(tmp_path, told))
    assert task.instruction == "Go." and [test.runner for test in task.tests] == ["sh"]


OUT = [
    "../x",
    "/etc/x",
    "a/../../x",
    "~/x",
    "a\\b",
    ".git/hooks/post-checkout",
    "",
    "x/",
    "a\0b",
    "out/x",
    "docs",
]


@pytest.mark.promise("C-22")
@pytest.mark.parametrize("path", OUT)
def test_no_override_leads_out_of_the_folder(tmp_path: Path, path: str) -> None:
    folder = prepared(tmp_path / "task")
    (folder / "overlay_repo_files/out").symlink_to("docs")
    for told in (
        {"inject_files": [{"path": path, "content": "x"}]},
        {"overlay_repo_files": {path: "x"}},
        *([{"overlay_files": {path: "x"}}] if path not in ("out/x", "docs") else []),
    ):
        before = content(tmp_path)
        with pytest.raises(DataError, match=r"overrides\.json: (inject_files|overlay)"):
            read_task(folder, tmp_path / "home", file_of(tmp_path / "task", told))
        (tmp_path / "task/overrides.json").unlink()
        assert content(tmp_path) == before


@pytest.mark.promise("C-22")
@pytest.mark.parametrize(
    ("told", "fault"),
    [
        ({"remove_paths": []}, "remove_paths: unknown key; there are remove_repo_paths"),
        ({"remove_repo_paths": ["docs/*.rst"]}, "'docs/*.rst' fits no file of the repository"),
        ({"remove_repo_paths": ["gone.py"]}, "'gone.py' is no file or folder of the repository"),
        ({"remove_repo_paths": ["../*"]}, "'../*' leads out of the folder"),
        ({"remove_repo_paths": "docs"}, "remove_repo_paths: a text where a list of texts belongs"),
        ({"inject_files": [{"path": "a.py"}]}, "inject_files[0].content: is missing"),
        ({"inject_files": [{"path": "a.py", "content": "", "mode": 1}]}, "inject_files[0].mode: unknown key"),
        ({"prompt": "a", "lm_instructions": "b"}, "prompt: says something else than lm_instructions"),
        ({"prompt": "  "}, "prompt: is empty"),
        ({"environment_variables": {"A B": "1"}}, "'A B' is no name of a variable"),
        (
            {"environment_variables": {"A": 1}},
            "environment_variables: an object where an object of texts belongs",
        ),
        ({"evaluation": {}, "rubrics": []}, "evaluation: stands beside rubrics"),
        ({"repo": {"commit": "x"}}, "repo.commit: unknown key"),
        (
            {"repo": {"git_url": "https://github.com/a/b"}},
            "is on another machine, and a run downloads nothing",
        ),
        ("{", "overrides.json: no JSON: line 1"),
    ],
)
def test_what_is_wrong_with_overrides_is_told_with_its_key(tmp_path: Path, told: Any, fault: str) -> None:
    with pytest.raises(DataError) as error:
        read_task(prepared(tmp_path / "task"), tmp_path, file_of(tmp_path, told))
    assert fault in str(error.value)


def test_a_file_of_overrides_that_is_named_and_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="these overrides cannot be read: No such file"):
        read_task(prepared(tmp_path / "task"), tmp_path, tmp_path / "gone.json")


def test_another_commit_of_a_clone_on_this_machine_is_an_override(tmp_path: Path) -> None:
    first, second = commits(tmp_path / "clone")
    told = {"repo": {"git_url": str(tmp_path / "clone"), "start_commit_sha": first, "subdir": "src"}}
    folder = prepared(tmp_path / "task")
    task = read_task(folder, tmp_path, file_of(tmp_path, told))
    assert content(task.repo) == {"src/code.py": b"first"}
    told["repo"]["start_commit_sha"] = second
    assert read_task(folder, tmp_path, file_of(tmp_path, told)).sha256 != task.sha256
    told["repo"]["start_commit_sha"] = "0" * 40
    with pytest.raises(DataError, match="there is no commit 0000"):
        read_task(folder, tmp_path, file_of(tmp_path, told))


def read_again(place: tuple[Path, Path, Path]) -> str:
    return str(read_task(*place).folder)


def test_two_processes_that_make_one_copy_agree(tmp_path: Path) -> None:
    files = {f"overlay_repo_files/many/{number}.txt": str(number) for number in range(300)}
    folder = prepared(tmp_path / "task", files)
    place = (folder, tmp_path / "home", file_of(tmp_path, {"prompt": "Go."}))
    with ProcessPoolExecutor(2) as pool:
        found = set(pool.map(read_again, [place] * 4))
    assert len(found) == 1
    assert len(list((tmp_path / "home/cache/tasks").iterdir())) == 1
    assert len(list((Path(found.pop()) / "overlay_repo_files/many").iterdir())) == 300
