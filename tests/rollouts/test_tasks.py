"""Prepared tasks: what is read of a folder, what is wrong with it, and what an agent may see of it."""

import json
from pathlib import Path

import pytest
from prepared import FILES, META, content, prepared

from proctor.errors import DataError
from proctor.references import RolloutsRef, TaskEntry
from proctor.sources.rollouts.dockerfile import recipe_of
from proctor.sources.rollouts.meta import runner_of
from proctor.sources.rollouts.reading import read_task
from proctor.sources.rollouts.source import open_rollouts
from proctor.sources.rollouts.task import REPO_IN_BOX


def fault(folder: Path, home: Path, overrides: Path | None = None) -> str:
    with pytest.raises(DataError) as told:
        read_task(folder, home, overrides)
    return str(told.value)


@pytest.mark.promise("C-21")
@pytest.mark.parametrize(
    ("gone", "told"),
    [
        ("", "is no folder"),
        ("tb_meta.json", "it has no tb_meta.json"),
        ("Dockerfile", "Dockerfile: there is none"),
    ],
)
def test_a_task_without_what_it_needs_is_an_error_that_names_it(tmp_path: Path, gone: str, told: str) -> None:
    folder = prepared(tmp_path / "task", {gone: None}) if gone else tmp_path / "task"
    assert told in fault(folder, tmp_path)
    assert str(folder) in fault(folder, tmp_path)


@pytest.mark.promise("C-21")
def test_every_fault_of_a_folder_is_told_at_once_with_its_file_and_key(tmp_path: Path) -> None:
    rubrics = [{"id": "a", "weight": -1}, {"id": "a", "weight": "much"}, {"criterion": "none"}]
    scripts = [{"path": "gone.py", "rubric_id": "b"}, {"path": "../out.py", "content": "1"}]
    folder = prepared(
        tmp_path / "task",
        task_id="a/b",
        lm={"instructions": 3},
        evaluation={"rubrics": rubrics, "test_scripts": scripts},
        proctor={"timeout": 3, "protect": ["/etc/*"], "pass_score": 2},
    )
    told = fault(folder, tmp_path)
    for key in (
        "tb_meta.json: task_id: 'a/b' is no name",
        "tb_meta.json: lm.instructions: a number where a text belongs",
        "tb_meta.json: evaluation.rubrics[0].weight: -1 where a number of at least 0 belongs",
        "tb_meta.json: evaluation.rubrics[1].id: 'a' stands here twice",
        "tb_meta.json: evaluation.rubrics[1].weight: a text where a number belongs",
        "tb_meta.json: evaluation.rubrics[2].id: is missing",
        "tb_meta.json: evaluation.test_scripts[0].path: there is no evaluation/gone.py",
        "tb_meta.json: evaluation.test_scripts[0].rubric_id: 'b' is none of the rubrics",
        "tb_meta.json: evaluation.test_scripts[1].path: '../out.py' leads out of the folder",
        "tb_meta.json: proctor.timeout: unknown key",
        "tb_meta.json: proctor.protect: '/etc/*' is no path relative to the folder",
        "tb_meta.json: proctor.pass_score: 2 where a number of between 0 and 1 belongs",
    ):
        assert key in told


@pytest.mark.parametrize("text", ["{", "[]", "\udcff", "[" * 99_999, f'{{"a": 1{"0" * 5_000}}}'])
def test_what_is_no_json_object_is_a_fault_and_no_trace(tmp_path: Path, text: str) -> None:
    folder = prepared(tmp_path / "task")
    (folder / "tb_meta.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert "tb_meta.json" in fault(folder, tmp_path)


@pytest.mark.promise("C-21")
def test_folders_of_other_formats_are_told_apart_and_named(shared: Path, tmp_path: Path) -> None:
    tasks = shared / "data/rollouts/tasks"
    legacy = tmp_path / "legacy"
    legacy.mkdir()
    (legacy / "task.yaml").write_text("instruction: Say hello.\nparser_name: pytest\n")
    assert "Terminal-Bench's first format" in fault(legacy, tmp_path)
    made = fault(tasks / "oneshot-made__validate-unknown", tmp_path)
    assert "does not hold the repository's files yet" in made and "proctor task prepare" in made


def test_all_folders_of_a_benchmark_that_cannot_be_run_are_told_at_once(tmp_path: Path) -> None:
    ref = RolloutsRef("b", tasks=(TaskEntry(str(tmp_path / "one")), TaskEntry(str(tmp_path / "two"))))
    with pytest.raises(DataError, match=r"(?s)one is no folder.*two is no folder"):
        open_rollouts(ref, tmp_path)


def test_a_rubric_without_tests_does_not_count_and_the_source_says_so(tmp_path: Path) -> None:
    evaluation = json.loads(json.dumps(META["evaluation"]))
    evaluation["rubrics"].append({"id": "beauty", "criterion": "It is pretty", "weight": 1.0})
    evaluation["test_scripts"].append({"path": "loose.py", "content": "1"})
    folder = prepared(tmp_path / "task", evaluation=evaluation)
    task = read_task(folder, tmp_path)
    assert task.score({"test_greets.py": True, "deep/test_kept.py": True, "loose.py": False}) == 1.0
    assert task.score(
        {"test_greets.py": False, "deep/test_kept.py": True, "loose.py": True}
    ) == pytest.approx(0.3)
    understood = "\n".join(
        open_rollouts(RolloutsRef("b", tasks=(TaskEntry(str(folder), 3),)), tmp_path).understood
    )
    assert "1 task, 3 rollouts in all" in understood
    assert "without weight: beauty" in understood
    assert "of no rubric: loose.py" in understood


def test_where_a_gate_fails_the_score_is_nothing_and_where_it_holds_it_gives_nothing(tmp_path: Path) -> None:
    evaluation = json.loads(json.dumps(META["evaluation"]))
    evaluation["rubrics"][1]["gate"] = True
    task = read_task(prepared(tmp_path / "task", evaluation=evaluation), tmp_path)
    assert task.score({"test_greets.py": False, "deep/test_kept.py": True}) == 0.0
    assert task.score({"test_greets.py": True, "deep/test_kept.py": False}) == 0.0
    assert task.score({"test_greets.py": True, "deep/test_kept.py": True}) == 1.0


def test_nothing_that_an_agent_or_an_image_gets_holds_the_answer_or_a_test(tmp_path: Path) -> None:
    patch = "--- a/greeting.py\n+++ b/greeting.py\n"
    folder = prepared(
        tmp_path / "task",
        {
            "overlay_files/copy-of-it.txt": patch,  # by its content
            "overlay_files/tests/test_greets.py": "assert 1\n",
            "overlay_files/tb_meta.json": json.dumps(META),
            "overlay_files/repo_info.json": '{"end_commit": "1"}',
            "overlay_files/old.DIFF": "x",
            "more/copy.txt": patch,
            "more/rows.csv": "1",
            "Dockerfile": "FROM a\nCOPY more /more\nCOPY overlay_files /all\n",
        },
    )
    task = read_task(folder, tmp_path)
    given = {each.target: each.source for each in task.agent_files()}
    assert list(given) == [REPO_IN_BOX, "/app/LM_INSTRUCTIONS.md", "/app/help.md", "/more", "/all"]
    assert list(content(given["/more"])) == ["rows.csv"]
    assert list(content(given["/all"])) == ["LM_INSTRUCTIONS.md", "help.md"]
    assert given["/app/LM_INSTRUCTIONS.md"].read_text() == "Greet by name."
    built = [path.relative_to(task.build).as_posix() for path in task.build.rglob("*") if path.is_file()]
    assert sorted(built) == [
        "Dockerfile",
        "more/rows.csv",
        "overlay_files/LM_INSTRUCTIONS.md",
        "overlay_files/help.md",
        "overlay_repo_files/docs/a.md",
        "overlay_repo_files/docs/b.md",
        "overlay_repo_files/greeting.py",
    ]
    assert task.reference is not None and task.reference.read_text() == patch


def test_a_task_may_begin_with_an_empty_repository(tmp_path: Path) -> None:
    files = {name: None for name in FILES if name.startswith("overlay_repo_files")}
    task = read_task(prepared(tmp_path / "task", files), tmp_path)
    assert task.repo.is_dir() and list(task.repo.iterdir()) == []


def test_history_secrets_and_what_was_compiled_are_of_no_task(tmp_path: Path) -> None:
    extra = {
        "overlay_repo_files/.git/HEAD": "x",
        ".env": "KEY=secret",
        "overlay_repo_files/__pycache__/a.pyc": "x",
    }
    with_extra = read_task(prepared(tmp_path / "one", extra), tmp_path)
    assert with_extra.sha256 == read_task(prepared(tmp_path / "two"), tmp_path).sha256
    assert not [path for path in with_extra.folder.rglob("*") if path.name in (".git", ".env", "__pycache__")]


@pytest.mark.parametrize(
    "target", ["/etc/passwd", "../../outside", "docs/../../../outside", "../../evaluation"]
)
def test_a_link_that_leads_out_is_a_fault(tmp_path: Path, target: str) -> None:
    folder = prepared(tmp_path / "task")
    (folder / "overlay_repo_files/docs/link").symlink_to(target)
    assert "is a link that leads out" in fault(folder, tmp_path)


def test_a_link_that_stays_inside_is_kept(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "task")
    (folder / "overlay_repo_files/docs/link").symlink_to("../greeting.py")
    assert (read_task(folder, tmp_path).repo / "docs/link").readlink() == Path("../greeting.py")


def test_a_dockerfile_gives_its_variables_and_copies_and_names_what_must_be_built(tmp_path: Path) -> None:
    dockerfile = (
        'FROM ubuntu:24.04\nARG WHO="you"\nENV HELLO=${WHO} PLAIN="a b"\nENV OLD style value\n'
        "ENV PATH=/opt/bin:$PATH\nCOPY overlay_files/ /app/\nCOPY data /data/\n"
    )
    task = read_task(prepared(tmp_path / "one", {"Dockerfile": dockerfile, "data/rows.csv": "1"}), tmp_path)
    assert task.environment["HELLO"] == "you" and task.environment["PLAIN"] == "a b"
    assert task.environment["OLD"] == "style value" and task.environment["PATH"].startswith(
        "/opt/bin:/usr/local"
    )
    assert ("data", "/data") in [(each.source.name, each.target) for each in task.agent_files()]
    assert task.refusal("bubblewrap") is None

    lines = f"{dockerfile}RUN apt-get update \\\n && apt-get install jq\nADD https://a/b /c\n"
    built = prepared(tmp_path / "two", {"Dockerfile": lines, "data/rows.csv": "1"})
    told = read_task(built, tmp_path).refusal("bubblewrap")
    assert told is not None and "line 8: RUN apt-get update" in told and "and 1 more" in told
    assert read_task(built, tmp_path).refusal("docker") is None
    anyhow = prepared(
        tmp_path / "any", {"Dockerfile": lines, "data/rows.csv": "1"}, proctor={"sandbox": "any"}
    )
    assert read_task(anyhow, tmp_path).refusal("bubblewrap") is None


def test_a_dockerfile_may_not_show_the_agent_the_tests(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "task", {"Dockerfile": "FROM a\nCOPY evaluation /app/evaluation\n"})
    assert "line 2: COPY evaluation /app/evaluation would show the agent" in fault(folder, tmp_path)


def test_a_here_document_is_part_of_its_line(shared: Path) -> None:
    text = (shared / "data/rollouts/tasks/oneshot-made__validate-unknown/Dockerfile").read_text()
    recipe = recipe_of(text)
    assert recipe.base == "ubuntu:24.04"
    assert recipe.environment["TASK_ID"].startswith("validate-unknown")
    assert {line.word for line in recipe.steps} == {"RUN", "COPY"}


CASES = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): ...\n"


@pytest.mark.parametrize(
    ("path", "body", "runner"),
    [
        ("a.py", "def test_a():\n    assert 0\n", "pytest"),
        ("a.py", "import sys\nsys.path.insert(0, '.')\nclass TestA:\n    def test_a(self): ...\n", "pytest"),
        ("a.py", CASES, "unittest"),
        ("a.py", "def test_a(): ...\nif __name__ == '__main__':\n    test_a()\n", "python"),
        ("a.py", f"{CASES}if __name__ == '__main__':\n    unittest.main(verbosity=2)\n", "unittest"),
        ("a.py", f"{CASES}if __name__ == '__main__':\n    prepare()\n    unittest.main()\n", "python"),
        ("a.py", "assert 1\n", "python"),
        ("a.sh", "true\n", "sh"),
    ],
)
def test_a_script_that_only_defines_tests_is_not_run_as_a_plain_program(
    path: str, body: str, runner: str
) -> None:
    assert runner_of(path, body.encode()) == runner


def test_tasks_of_one_name_do_not_collide_and_keep_their_ids(tmp_path: Path) -> None:
    one, same = prepared(tmp_path / "a" / "greet"), prepared(tmp_path / "b" / "greet")
    other = prepared(tmp_path / "c" / "greet", lm={"instructions": "Greet in another way."})
    overrides = tmp_path / "o.json"
    overrides.write_text('{"prompt": "Greet loudly."}')
    entries = (
        TaskEntry(str(one), 2),
        TaskEntry(str(other), 1),
        TaskEntry(str(one), 3, str(overrides)),
        TaskEntry(str(same), 1),
    )
    source = open_rollouts(RolloutsRef("b", tasks=entries), tmp_path)
    items = list(source.items())
    ids = [item.id for item in items]
    assert len(set(ids)) == 4 and all(each.startswith("greet-") for each in ids)
    assert open_rollouts(RolloutsRef("b", tasks=entries), tmp_path).facts == source.facts
    assert len({item.hash for item in items}) == 3  # two folders hold the very same task
    assert items[0].cluster == items[3].cluster is not None and items[1].cluster is None
    alone = open_rollouts(RolloutsRef("b", tasks=entries[:1]), tmp_path)
    assert [item.id for item in alone.items()] == ["greet"]


def test_the_hash_tells_what_is_run_and_not_where_it_lies(tmp_path: Path) -> None:
    one = read_task(prepared(tmp_path / "one"), tmp_path)
    two = read_task(prepared(tmp_path / "two", {"README.md": "for people"}), tmp_path)
    assert one.sha256 == two.sha256
    (tmp_path / "two/evaluation/test_greets.py").chmod(0o755)
    assert read_task(tmp_path / "two", tmp_path).sha256 != one.sha256


def test_a_private_copy_is_made_once_shared_and_mended(tmp_path: Path) -> None:
    folder, home = prepared(tmp_path / "task"), tmp_path / "home"
    task = read_task(folder, home)
    assert task.folder == home / "cache/tasks" / task.sha256 / "task" and task.origin == folder
    made = task.folder.stat().st_ino
    assert read_task(folder, home).folder.stat().st_ino == made
    (task.repo / "greeting.py").write_text("changed")
    assert (read_task(folder, home).repo / "greeting.py").read_text() == (
        folder / "overlay_repo_files/greeting.py"
    ).read_text()
    assert [each.name for each in (home / "cache/tasks").iterdir()] == [task.sha256]
