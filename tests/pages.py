"""A browser as far as pages without scripts need one, for tests of pages over HTTP."""

from __future__ import annotations

import html
import re
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode


class _Stays(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: object) -> None:
        return None


@dataclass(frozen=True)
class Page:
    status: int
    text: str
    headers: Mapping[str, str]
    cookies: Sequence[str]

    @property
    def markup(self) -> str:
        """The text on one line, however its template is indented."""
        return " ".join(self.text.split())

    @property
    def words(self) -> str:
        """The text as a reader sees it."""
        return " ".join(html.unescape(re.sub(r"<[^>]+>", "", self.text)).split())


@dataclass
class Browser:
    """Keeps cookies, and follows nothing by itself."""

    url: str
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str) -> Page:
        return self._ask(urllib.request.Request(self.url + path))

    def post(self, path: str, headers: Mapping[str, str] | None = None, /, **form: Any) -> Page:
        body = urlencode(form, doseq=True).encode()
        return self._ask(urllib.request.Request(self.url + path, body, dict(headers or {})))

    def _ask(self, request: urllib.request.Request) -> Page:
        request.add_header("Accept", "text/html")
        if self.cookies:
            request.add_header("Cookie", "; ".join(f"{name}={value}" for name, value in self.cookies.items()))
        try:
            with urllib.request.build_opener(_Stays).open(request, timeout=60) as answer:
                return self._read(answer.status, answer)
        except urllib.error.HTTPError as error:
            with closing(error):
                return self._read(error.code, error)

    def _read(self, status: int, answer: Any) -> Page:
        headers = answer.headers
        sent = headers.get_all("Set-Cookie") or []
        for each in sent:
            name, _, value = each.partition(";")[0].partition("=")
            self.cookies[name] = value
        return Page(status, answer.read().decode(), headers, sent)
