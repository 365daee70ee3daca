"""What keeps the walls between projects: no view has a way to a store that shows more than the caller reaches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from house import File, functions, imports, python_files, read

# Statements and stores over all projects: each is named with its reason where it stands.
OVER_ALL = {
    "src/proctor/store/admin/access.py": "the audit trail is written whoever reads it",
    "src/proctor/store/read/counts.py": "the room that the whole database takes",
    "src/proctor/store/queue/entries.py": "limits and places in a queue that all projects share",
    "src/proctor/service/admin/prune.py": "what no run of any project needs is deleted, after a run within the reach",
}
WHOLE_DESK = {"src/proctor/api/app.py", "src/proctor/api/dependencies.py", "src/proctor/web/dependencies.py"}
BEFORE_ANY_REACH = {*WHOLE_DESK, "src/proctor/web/access.py"}  # logging in and out


def files(*folders: str) -> list[File]:
    return [read(path) for path in python_files(*(f"src/proctor/{folder}" for folder in folders))]


def test_only_doors_hold_the_context_that_shows_everything() -> None:
    views = files("api", "web")
    assert {file.where for file in views if re.search(r"state\.context\b", file.text)} == WHOLE_DESK
    assert {file.where for file in views if "whole_context" in file.text} <= BEFORE_ANY_REACH
    over_all = re.compile(r"store\.whole\b|\*\*WHOLE\b")
    assert {file.where for file in files("") if over_all.search(file.text)} == OVER_ALL.keys()


def test_no_view_of_the_server_opens_a_store_of_its_own() -> None:
    """Use cases of the command line open the store of their settings; the server's take the caller's."""
    opening = {("proctor.service.context", "open_store")}
    while found := set(_callers(opening)) - opening:
        opening |= found
    assert {
        ("proctor.service.data.transfer", "report"),
        ("proctor.service.forecast.forecast", "forecast"),
    } <= opening
    opening -= {("proctor.service.context", "open_context")}  # the application's own, for the doors
    faults = []
    for file in files("api", "web"):
        modules = {module for module, _ in opening}
        for _, name in imports(file, ast.walk(file.tree)):
            if tuple(name.rsplit(".", 1)) in opening:
                faults.append(f"{file.where} imports {name}")
            if name in modules:
                used = {of for module, of in opening if module == name}
                called = re.compile(rf"\b{name.rpartition('.')[2]}\.({'|'.join(used)})\(")
                faults += [f"{file.where} calls {each}" for each in called.findall(file.text)]
    assert not faults, faults


def _callers(opening: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for file in files("service"):
        named = (tuple(name.rsplit(".", 1)) for _, name in imports(file, ast.walk(file.tree)))
        known = {pair[1] for pair in named if pair in opening}
        known |= {name for module, name in opening if module == file.module}
        for function in functions(file.tree):
            calls = {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
            if calls & known:
                yield file.module, function.name
