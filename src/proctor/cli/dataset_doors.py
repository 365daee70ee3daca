"""Where `proctor dataset` keeps and finds data sets: in this machine's store, or with --server in that of a server."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from proctor.cli.server_call import ServerCall, server_of
from proctor.errors import ConfigError, NotFound
from proctor.settings import read_settings

BY = "command line"
OF_REQUESTS = "/admin/datasets"
Told = Mapping[str, Any]


@contextmanager
def asked() -> Iterator[_Here | _There]:
    """This machine's data sets, or with --server (or PROCTOR_SERVER) those of that server."""
    from proctor.service.context import open_context

    if click.get_current_context().find_root().params.get("server"):
        yield _There(server_of())
        return
    with open_context(read_settings(os.environ)) as context:
        yield _Here(context)


def reading_of_words(words: Told) -> dict[str, Any]:
    """How a file of requests is read, by the options that were given. Raises ConfigError for one of questions."""
    for option in ("sheet", "answer_type", "numbers"):
        if words[option]:
            raise ConfigError(f"--{option.replace('_', '-')} is of questions, and this is a file of requests")
    return {name: words[name] for name in ("columns", "lenient", "grader", "template", "gold")}


def _one_file(files: Sequence[Path]) -> Path:
    if len(files) != 1:
        raise ConfigError("A data set of requests is one file")
    return files[0]


def _like_questions(of: Told) -> Told:
    """A line of the list of requests with the words of that of questions beside its own."""
    return {**of, "rows": of["count"], "answer_type": None, "error": None}


class _Here:
    """The data sets of this machine's store."""

    def __init__(self, context: Any) -> None:
        self.context = context

    def add(self, files: Sequence[Path], name: str | None, project_id: int, layout: Told) -> Told:
        from proctor.service.datasets.documents import document
        from proctor.service.datasets.kept import Uploaded, Wish, upload
        from proctor.service.datasets.layout import Layout

        with ExitStack() as opened:
            came = [Uploaded(path.name, opened.enter_context(path.open("rb"))) for path in files]
            wish = Wish(name, Layout(**layout), project_id, BY)
            return document(upload(self.context, came, wish))

    def add_requests(self, files: Sequence[Path], name: str | None, project_id: int, reading: Told) -> Told:
        from proctor.service.datasets.arriving import copied
        from proctor.service.datasets.documents import requests_document
        from proctor.service.datasets.reading import Reading
        from proctor.service.datasets.requests import RequestsWish, keep

        wish = RequestsWish(name, Reading(**reading).checked(), project_id, BY)
        with copied(_one_file(files), self.context.settings) as arrived:
            made = keep(self.context, arrived, wish)
        return {**requests_document(made), "made": made.made}

    def listed(self, project_id: int | None) -> Sequence[Told]:
        from proctor.service.datasets import requests
        from proctor.service.datasets.documents import line_document, requests_line
        from proctor.service.datasets.kept import listed

        of_requests, _ = requests.listed(self.context, project_id)
        lines = [line_document(each) for each in listed(self.context, project_id)]
        return lines + [dict(_like_questions(requests_line(each))) for each in of_requests]

    def one(self, name: str, project_id: int) -> Told:
        from proctor.service.datasets import requests
        from proctor.service.datasets.documents import document, requests_document
        from proctor.service.datasets.kept import by_word

        if requests.means_requests(self.context, name, project_id):
            return requests_document(requests.named(self.context, name, project_id))
        return document(by_word(self.context, name, project_id))

    def change(self, name: str, project_id: int, wish: Told) -> Told:
        from proctor.service.datasets import requests
        from proctor.service.datasets.documents import document, requests_document
        from proctor.service.datasets.kept import change
        from proctor.service.datasets.layout import Layout
        from proctor.service.datasets.reading import Reading

        of = self.one(name, project_id)
        if of["holds"] == "requests":
            reading = Reading(**wish["reading"]).checked() if "reading" in wish else None
            return requests_document(
                requests.change(self.context, of["id"], name=wish.get("name"), reading=reading)
            )
        layout = Layout(**wish["layout"]) if "layout" in wish else None
        return document(change(self.context, of["id"], name=wish.get("name"), layout=layout))

    def remove(self, name: str, project_id: int) -> None:
        from proctor.service.datasets import kept, requests

        of = self.one(name, project_id)
        (requests if of["holds"] == "requests" else kept).remove(self.context, of["id"])


class _There:
    """The data sets of a server."""

    def __init__(self, server: ServerCall) -> None:
        self.server = server

    def add(self, files: Sequence[Path], name: str | None, project_id: int, layout: Told) -> Told:
        fields = {"project_id": project_id, "layout": layout, **({"name": name} if name is not None else {})}
        made: Told = self.server.upload("/datasets", files, fields)
        return made

    def add_requests(self, files: Sequence[Path], name: str | None, project_id: int, reading: Told) -> Told:
        said = {**reading, "columns": "\n".join(reading["columns"]), "name": name, "project_id": project_id}
        fields = {key: value for key, value in said.items() if value not in (None, "", False)}
        made: Told = self.server.upload(f"{OF_REQUESTS}/upload", [_one_file(files)], fields)
        return made

    def listed(self, project_id: int | None) -> Sequence[Told]:
        found: list[Told] = self.server.get("/datasets", project_id=project_id)["datasets"]
        of_requests = self.server.get(OF_REQUESTS, project_id=project_id)["datasets"]
        return [*found, *map(_like_questions, of_requests)]

    def one(self, name: str, project_id: int) -> Told:
        found: Told = self.server.get(self._at(name, project_id))
        return found

    def change(self, name: str, project_id: int, wish: Told) -> Told:
        changed: Told = self.server.patch(self._at(name, project_id), wish)
        return changed

    def remove(self, name: str, project_id: int) -> None:
        self.server.delete(self._at(name, project_id))

    def _at(self, name: str, project_id: int) -> str:
        """Raises NotFound."""
        for each in self.listed(project_id):
            if name in (each["name"], each["id"]):
                return f"{OF_REQUESTS if each['holds'] == 'requests' else '/datasets'}/{each['id']}"
        raise NotFound(f"Data set {name!r} not found in project {project_id}")
