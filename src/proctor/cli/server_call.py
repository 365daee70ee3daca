"""One call to a proctor server: JSON there and back, errors as the server words them."""

from __future__ import annotations

import json
import os
import secrets
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click

from proctor.errors import (
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
TIMEOUT_S = 330.0  # a long poll takes up to 300
PATIENCE_S = 120.0  # a limit of requests is waited for this long
# What the server's slug means here; another one means a request that this server does not take.
ERRORS: Mapping[str, type[ProctorError]] = {
    kind.slug: kind
    for kind in (
        ProctorError,
        DataError,
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
        """A form with files; fields that are no text go as JSON. Raises ProctorError."""
        boundary = secrets.token_hex(16)
        body = b"".join(_form(files, fields, boundary))
        return self._call("POST", path, body, f"multipart/form-data; boundary={boundary}")

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
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{PREFIX}{path}", data, method=method)
        request.add_header("Content-Type", kind)
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


def _form(files: Sequence[Path], fields: Mapping[str, object], boundary: str) -> Iterator[bytes]:
    """The parts of a form with files, as RFC 7578 lays them out."""
    for name, value in fields.items():
        text = value if isinstance(value, str) else json.dumps(value)
        yield f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode()
    for path in files:
        called = path.name.replace("\\", "\\\\").replace('"', '\\"')
        yield f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{called}"\r\n'.encode()
        yield b"Content-Type: application/octet-stream\r\n\r\n"
        yield path.read_bytes()
        yield b"\r\n"
    yield f"--{boundary}--\r\n".encode()


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
