"""tb_meta.json: what a prepared task tells of itself. Keys of others are let be; ours are below `proctor`.

The format is that of OneShot Bench's prepared tasks; docs/rollouts.md tells it whole.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from proctor.sources.rollouts.faults import JsonTold, TaskFaults
from proctor.sources.rollouts.paths import outside

META = "tb_meta.json"
# The last two are of tasks of others: a reward that is written to a file, and a JSON that names tests of an instance.
Runner = Literal["python", "unittest", "pytest", "sh", "reward", "instance"]
RUNNERS: tuple[Runner, ...] = ("python", "unittest", "pytest", "sh", "instance")
Sensitivity = Literal["safe", "sensitive", "unknown"]
OWN = "timeout_s, verifier_timeout_s, pass_score, protect, requires, sandbox, environment_variables, baseline"
_ID = re.compile(r"[^\W_][\w.@:+-]{0,119}")
_NEED = re.compile(r"(python:[A-Za-z_][\w.]*|[\w.+-]+)")
_VARIABLE = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Rubric:
    """A criterion of the verdict and its weight; it counts where it has a test script.

    A gate is what must stay as it was: it gives no points, and where one of its tests fails the score is 0.
    """

    id: str
    criterion: str
    weight: float
    gate: bool = False


@dataclass(frozen=True, slots=True)
class TestScript:
    """A file of `evaluation/` that is run against the work: it passes with exit code 0."""

    path: str
    rubric: str | None = None
    runner: Runner = "python"


@dataclass(frozen=True, slots=True)
class RepoOrigin:
    """Where the repository's files come from: `sparse` are the folders that are taken, empty where all are."""

    url: str | None = None
    branch: str | None = None
    start: str | None = None
    end: str | None = None
    subdir: str | None = None
    sparse: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Own:
    """proctor's own keys. `baseline` is the commit whose files overlay_repo_files/ holds.

    Of tasks of others, `memory_mb` and `cpus` are what they say that they need.
    """

    timeout_s: float | None = None
    verifier_timeout_s: float | None = None
    pass_score: float | None = None
    protect: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    sandbox: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    baseline: str | None = None
    memory_mb: int | None = None
    cpus: float | None = None


@dataclass(frozen=True, slots=True)
class Meta:
    """The file, read. `inline` are test scripts whose text stands in it, by path."""

    id: str
    title: str
    tags: tuple[str, ...]
    instruction: str | None
    repo: RepoOrigin
    rubrics: Sequence[Rubric]
    tests: Sequence[TestScript]
    inline: Mapping[str, str]
    sensitivity: Sensitivity
    own: Own


def is_task_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def parsed(text: bytes, file: str, faults: TaskFaults) -> dict[str, Any]:
    """A JSON object; empty where it is none."""
    try:
        found = json.loads(text.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        faults.add(file, f"no JSON: line {error.lineno}, column {error.colno}: {error.msg}")
        return {}
    except (ValueError, RecursionError) as error:  # no UTF-8, an endless number, endless brackets
        faults.add(file, f"no JSON: {error}")
        return {}
    if not isinstance(found, dict):
        faults.add(file, "holds no JSON object")
        return {}
    return found


def read_meta(document: Mapping[str, Any], files: Mapping[str, bytes], faults: TaskFaults) -> Meta:
    """`files` are the scripts of `evaluation/` by their path in it."""
    told = JsonTold(dict(document), META, faults)
    ident = told.text("task_id")
    if ident is None or not is_task_id(ident):
        what = "is missing" if ident is None else f"{ident!r} is no name of letters, digits and . _ @ : + -"
        told.fault("task_id", what)
    about = told.object("metadata")
    evaluation = told.object("evaluation")
    rubrics = _rubrics(evaluation)
    tests, inline = _tests(evaluation, rubrics, files)
    if not faults.found and not any(script.rubric for script in tests):
        evaluation.fault("test_scripts", "no rubric has a test script, so that nothing could be scored")
    return Meta(
        ident or "",
        about.text("title") or ident or "",
        about.texts("tags"),
        told.object("lm").text("instructions"),
        repo_origin(told.object("repo")),
        rubrics,
        tests,
        inline,
        _sensitivity(told.object("sensitivity")),
        _own(told.object("proctor")),
    )


def repo_origin(told: JsonTold) -> RepoOrigin:
    """The repository that an object `repo` names; empty texts are as missing ones."""
    words = {
        key: told.text(key) or None for key in ("git_url", "branch", "start_commit_sha", "end_commit_sha")
    }
    subdir = (told.text("subdir") or "").strip("/") or None
    sparse = told.texts("sparse_checkout")
    for key, paths in (("subdir", (subdir,) if subdir else ()), ("sparse_checkout", sparse)):
        for path in paths:
            why = outside(path.strip("/"))
            if why is not None:
                told.fault(key, f"{path!r} {why}")
    return RepoOrigin(
        words["git_url"], words["branch"], words["start_commit_sha"], words["end_commit_sha"], subdir, sparse
    )


def _sensitivity(told: JsonTold) -> Sensitivity:
    level = told.text("level")
    return level if level in get_args(Sensitivity) else "unknown"  # type: ignore[return-value]  # one of its words


def _rubrics(evaluation: JsonTold) -> list[Rubric]:
    found: list[Rubric] = []
    for each in evaluation.objects("rubrics"):
        ident, weight = each.text("id"), each.number("weight")
        if not ident:
            each.fault("id", "is missing")
        elif ident in {other.id for other in found}:
            each.fault("id", f"{ident!r} stands here twice")
        if weight is None and f"{each.key('weight')}:" not in "".join(each.faults.found):
            each.fault("weight", "is missing")
        found.append(
            Rubric(ident or "", each.text("criterion") or ident or "", weight or 0.0, each.truth("gate"))
        )
    counted = [rubric for rubric in found if not rubric.gate]
    if found and not sum(rubric.weight for rubric in counted):
        evaluation.fault("rubrics", "no rubric but gates has a weight above 0")
    return found


def _tests(
    evaluation: JsonTold, rubrics: Sequence[Rubric], files: Mapping[str, bytes]
) -> tuple[list[TestScript], dict[str, str]]:
    scripts: list[TestScript] = []
    inline: dict[str, str] = {}
    ids = {rubric.id for rubric in rubrics}
    for each in evaluation.objects("test_scripts"):
        path, rubric, content = each.text("path") or "", each.text("rubric_id"), each.text("content")
        why = outside(path) if path else "is missing"
        if why is not None:
            each.fault("path", f"{path!r} {why}" if path else why)
        elif content is None and path not in files:
            each.fault("path", f"there is no evaluation/{path}, and no `content`")
        elif path in {script.path for script in scripts}:
            each.fault("path", f"{path!r} stands here twice")
        if rubric is not None and rubric not in ids:
            each.fault(
                "rubric_id",
                f"{rubric!r} is none of the rubrics: {', '.join(sorted(ids)) or 'there are none'}",
            )
        if content is not None:
            inline[path] = content
        body = content.encode() if content is not None else files.get(path, b"")
        scripts.append(TestScript(path, rubric, _runner(each) or runner_of(path, body)))
    return scripts, inline


def _runner(told: JsonTold) -> Runner | None:
    word = told.text("runner")
    for runner in RUNNERS:
        if word == runner:
            return runner
    if word is not None:
        told.fault("runner", f"{word!r} is none of {', '.join(RUNNERS)}")
    return None


def runner_of(path: str, body: bytes) -> Runner:
    """How a test script is run. One that only defines tests passes under plain Python without running any."""
    if path.endswith(".sh") or body.startswith((b"#!/bin/sh", b"#!/bin/bash", b"#!/usr/bin/env bash")):
        return "sh"
    try:
        return _python_runner(ast.parse(body))
    except (
        SyntaxError,
        ValueError,
        MemoryError,
        RecursionError,
    ):  # also what is nested too deeply to be a script
        return "python"


def _python_runner(tree: ast.Module) -> Runner:
    mains = [each for each in tree.body if isinstance(each, ast.If) and "__main__" in ast.unparse(each.test)]
    if any(not _only_unittest(each) for each in mains):
        return "python"
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef)]
    if any("TestCase" in ast.unparse(parent) for each in classes for parent in each.bases):
        return "unittest"
    if mains:
        return "python"
    functions = [each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    tests = [name for name in functions if name.startswith("test")]
    return "pytest" if tests or any(each.name.startswith("Test") for each in classes) else "python"


def _only_unittest(main: ast.If) -> bool:
    """Whether it does what the runner `unittest` does, which also sees what was skipped: unittest.main() passes it."""
    words = [ast.unparse(each) for each in (*main.body, *main.orelse)]
    return len(words) == 1 and re.fullmatch(r"unittest\.main\((verbosity=\d)?\)", words[0]) is not None


def _own(told: JsonTold) -> Own:
    own = Own(
        told.number("timeout_s", least=0.001),
        told.number("verifier_timeout_s", least=0.001),
        told.number("pass_score", most=1.0),
        told.texts("protect"),
        told.texts("requires"),
        told.text("sandbox"),
        variables(told, "environment_variables"),
        told.text("baseline"),
    )
    for need in own.requires:
        if not _NEED.fullmatch(need):
            told.fault("requires", f"{need!r} is neither a program nor python:MODULE")
    for glob in own.protect:
        why = outside(glob.rstrip("/"))
        if why is not None:
            told.fault("protect", f"{glob!r} {why}")
    if own.sandbox not in (None, "any", "docker"):
        told.fault("sandbox", f"{own.sandbox!r} is none of any, docker")
    told.nothing_else(OWN)
    return own


def variables(told: JsonTold, name: str) -> Mapping[str, str]:
    found = told.table(name)
    for key, value in found.items():
        if not _VARIABLE.fullmatch(key) or "\0" in value:
            told.fault(name, f"{key!r} is no name of a variable")
    return found
