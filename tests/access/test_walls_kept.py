"""What keeps the walls between projects: no view has a way to a store that shows more than the caller reaches."""

from __future__ import annotations

import re

import pytest

from house import File, functions, python_files, read

pytestmark = pytest.mark.slow

# Statements and stores over all projects: each is named with its reason where it stands.
OVER_ALL = {
    "src/proctor/store/admin/access.py": "the audit trail is written whoever reads it",
    "src/proctor/store/admin/registry.py": "what is known of a model is nobody's alone",
    "src/proctor/store/read/counts.py": "the room that the whole database takes",
    "src/proctor/store/datasets/content.py": "bytes that no data set of any project has are deleted",
    "src/proctor/store/datasets/entries.py": "bytes of all projects are held while a data set comes to name them",
    "src/proctor/store/datasets/shelf.py": "a file that no row of any project names is deleted",
    "src/proctor/store/batches/files.py": "a content that files of errors of any project are read off is kept",
    "src/proctor/store/queue/entries.py": "limits and places in a queue that all projects share",
    "src/proctor/store/queue/workers.py": "workers are nobody's, and what they say of a run is told to who sees it",
    "src/proctor/store/read/standing.py": "a place in a queue that all projects share",
    "src/proctor/store/admin/shares.py": "whoever has a link opens it; its user alone lists and ends it",
    "src/proctor/store/admin/saved_views.py": "a user's own filters, found by the user alone",
    "src/proctor/service/admin/prune.py": "what no run of any project needs is deleted, after a run within the reach",
}
WHOLE_CONTEXT = {
    "src/proctor/api/app.py",
    "src/proctor/api/dependencies.py",
    "src/proctor/web/dependencies.py",
}
BEFORE_ANY_REACH = {
    *WHOLE_CONTEXT,
    "src/proctor/web/server/access.py",  # logging in and out
    "src/proctor/web/sharing/shares.py",  # who has the link is nobody that is known
}


def files(*folders: str) -> list[File]:
    return [read(path) for path in python_files(*(f"src/proctor/{folder}" for folder in folders))]


def test_only_doors_hold_the_context_that_shows_everything() -> None:
    views = files("api", "web")
    assert {file.where for file in views if re.search(r"state\.context\b", file.text)} == WHOLE_CONTEXT
    assert {file.where for file in views if "whole_context" in file.text} <= BEFORE_ANY_REACH
    over_all = re.compile(r"store\.whole\b|\*\*WHOLE\b")
    assert {file.where for file in files("") if over_all.search(file.text)} == OVER_ALL.keys()


def test_no_use_case_and_no_view_of_the_server_opens_a_store_of_its_own() -> None:
    """What they show is what the context reaches that they were given."""
    opening = re.compile(r"(?<!def )\bopen_(store|context)\(")
    found = {file.where for file in files("service", "api", "web") if opening.search(file.text)}
    on_the_command_line = {  # what a name means, before there is a context
        "src/proctor/service/datasets/kept.py",
        "src/proctor/service/datasets/requests.py",
    }
    # Sources are opened by settings alone; which run a judge may read was settled with the context that planned it.
    judged = {"src/proctor/service/kinds/judging.py"}
    assert (
        found == {"src/proctor/service/context.py", "src/proctor/api/app.py"} | on_the_command_line | judged
    )


def test_views_hand_the_context_on_whole() -> None:
    views = files("api", "web", "cli")
    assert not [file.where for file in views if re.search(r"\bcontext(\(\))?\.store\b", file.text)]


def test_no_use_case_takes_store_and_settings_apart() -> None:
    faults = [
        file.at(function, f"{function.name} takes a store and settings: they are one context")
        for file in files("service")
        for function in functions(file)
        if {"store", "settings"} <= {each.arg for each in (*function.args.args, *function.args.kwonlyargs)}
    ]
    assert not faults, faults
