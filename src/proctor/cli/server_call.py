"""One call to a proctor server: JSON there and back, errors as the server words them."""

from __future__ import annotations

import json
import os
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click

from proctor.errors import (
    BadLines,
    ConfigError,
    Conflict,
    DataError,
    DataMissing,
    EndpointNotFound,
    Forbidden,
    NotFound,
    ProctorError,
    QueueFull,
    StoreError,
    TooLarge,
    TooManyRequests,
    Unauthorized,
)
from proctor.settings import read_settings

PREFIX = "/api/v1"
ELSEWHERE = "/admin/"  # addresses that are documented as they stand
PIECE_BYTES = 2**20
TIMEOUT_S = 330.0  # a long poll takes up to 300
PATIENCE_S = 120.0  # a limit of requests is waited for this long
# What the server's slug means here; another one means a request that this server does not take.
ERRORS: Mapping[str, type[ProctorError]] = {
    kind.slug: kind
    for kind in (
        ProctorError,
        DataError,
        BadLines,
        DataMissing,
        TooLarge,
        NotFound,
        Conflict,
        StoreError,
        QueueFull,
        Unauthorized,
        Forbidden,
    )
}


@dataclass(frozen=True, slots=True)
class ServerCall:
    """Where the server is, and the key it is called with."""

    url: str
    key: str | None

    def get(self, path: str, **query: Any) -> Any:
        given = {name: value for name, value in query.items() if value is not None}
        return self._call("GET", f"{path}?{urlencode(given)}" if given else path, None)

    def post(self, path: str, body: object = None) -> Any:
        return self._call("POST", path, {} if body is None else body)

    def patch(self, path: str, body: object) -> Any:
        return self._call("PATCH", path, body)

    def delete(self, path: str) -> Any:
        return self._call("DELETE", path, None)

    def upload(self, path: str, files: Sequence[Path], fields: Mapping[str, object]) -> Any:
        """A form with files, read as they are sent; fields that are no text go as JSON. Raises ProctorError."""
        form = Form(files, fields, secrets.token_hex(16))
        return self._call("POST", path, form, f"multipart/form-data; boundary={form.boundary}")

    def _call(self, method: str, path: str, body: object, kind: str = "application/json") -> Any:
        """Raises ProctorError with the server's own words."""
        give_up = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self._once(method, path, body, kind)
            except TooManyRequests as error:
                if time.monotonic() + error.retry_after_s > give_up:
                    raise
                time.sleep(error.retry_after_s)

    def _once(self, method: str, path: str, body: object, kind: str) -> Any:
        sent = (
            body.pieces() if isinstance(body, Form) else None if body is None else json.dumps(body).encode()
        )
        at = path if path.startswith(ELSEWHERE) else f"{PREFIX}{path}"
        request = urllib.request.Request(f"{self.url}{at}", sent, method=method)
        request.add_header("Content-Type", kind)
        if isinstance(body, Form):
            request.add_header("Content-Length", str(len(body)))
        if self.key:
            request.add_header("Authorization", f"Bearer {self.key}")
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                raise _worded(error.code, error.read()) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise _nobody(f"No proctor server answers at {self.url} ({reason})") from error


@dataclass(frozen=True, slots=True)
class Form:
    """A form with files, as RFC 7578 lays it out, in pieces: no file is in memory."""

    files: Sequence[Path]
    fields: Mapping[str, object]
    boundary: str

    def __len__(self) -> int:
        """Of what is sent, in bytes."""
        around = sum(len(piece) for piece in self._parts(lambda _path: iter(())))
        return around + sum(path.stat().st_size for path in self.files)

    def pieces(self) -> Iterator[bytes]:
        return self._parts(_pieces_of)

    def _parts(self, content: Callable[[Path], Iterator[bytes]]) -> Iterator[bytes]:
        for name, value in self.fields.items():
            text = value if isinstance(value, str) else json.dumps(value)
            yield f'--{self.boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode()
        for path in self.files:
            called = path.name.replace("\\", "\\\\").replace('"', '\\"')
            file = (
                f'--{self.boundary}\r\nContent-Disposition: form-data; name="file"; filename="{called}"\r\n'
            )
            yield file.encode()
            yield b"Content-Type: application/octet-stream\r\n\r\n"
            yield from content(path)
            yield b"\r\n"
        yield f"--{self.boundary}--\r\n".encode()


def _pieces_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def _worded(status: int, text: bytes) -> ProctorError:
    try:
        body = json.loads(text)
        detail, slug = str(body["detail"]), str(body.get("error"))
    except (ValueError, KeyError, TypeError):
        return _nobody(f"The address answers with status {status}, but not as a proctor server")
    if slug == "too-many-requests":
        return TooManyRequests(detail, retry_after_s=int(body.get("retry_after") or 60))
    return ERRORS.get(slug, ConfigError)(detail)


def _nobody(message: str) -> EndpointNotFound:
    error = EndpointNotFound(message)
    error.cure = "Correct --server or PROCTOR_SERVER, or start the server: `proctor serve`."
    return error


def server_of() -> ServerCall:
    """The server that `--server` or PROCTOR_SERVER names. Raises ConfigError where neither does."""
    context = click.get_current_context()
    settings = read_settings(os.environ)
    url = context.find_root().params.get("server") or settings.server
    if not url:
        raise ConfigError(
            f"`proctor {context.info_name}` asks a server: give --server URL or set PROCTOR_SERVER"
        )
    if "://" not in url:
        url = f"http://{url}"
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"--server {url}: give an address such as http://127.0.0.1:8420")
    return ServerCall(url.rstrip("/"), settings.api_key)
