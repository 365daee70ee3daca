"""A bucket of a server that speaks S3, as the place of what machines share."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from proctor.errors import ConfigError, SharedError
from proctor.settings import Settings

PIECE_BYTES = 2**20
SILENT_S = 10.0  # a server that did not answer is not asked again for so long: workers look every second
CONNECT_S, ANSWER_S, RETRY_S = 5.0, 30.0, 20.0


@dataclass(slots=True)
class SharedBucket:
    """Names are keys below the prefix of the address `s3://BUCKET/PREFIX`."""

    address: str
    store: Any = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False, default=())
    most_bytes: int | None = None
    _silent_until: float = 0.0
    _said: str = ""

    @property
    def told(self) -> str:
        return self.address

    def has(self, name: str) -> bool:
        import obstore

        with self._in_words():
            try:
                obstore.head(self.store, name)
            except FileNotFoundError:
                return False
            return True

    def names(self, prefix: str) -> list[str]:
        import obstore

        with self._in_words():
            found = [entry["path"] for page in obstore.list(self.store, prefix) for entry in page]
        return sorted(found)

    def put(self, name: str, path: Path) -> None:
        import obstore

        if not self.has(name):
            with self._in_words():
                obstore.put(self.store, name, path)

    def pieces(self, name: str) -> Iterator[bytes]:
        import obstore

        with self._in_words():
            for piece in obstore.get(self.store, name).stream(min_chunk_size=PIECE_BYTES):
                yield bytes(piece)

    def drop(self, name: str) -> None:
        import obstore

        with self._in_words():
            obstore.delete(self.store, name)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        from obstore.exceptions import BaseError

        if time.monotonic() < self._silent_until:
            raise SharedError(self._said)
        try:
            yield
        except (OSError, BaseError) as error:
            told = " ".join(str(error).split("Debug source:")[0].split())
            for secret in self.secrets:
                told = told.replace(secret, "***")
            self._said = f"{self.address} (PROCTOR_SHARED): {told[:500]}"
            if not isinstance(error, FileNotFoundError):
                self._silent_until = time.monotonic() + SILENT_S
            raise SharedError(self._said) from None  # its own text may quote what is signed


def open_bucket(settings: Settings, bucket: str, prefix: str) -> SharedBucket:
    """Nothing is asked yet. Raises: ConfigError where the library is not installed, or the address cannot be meant."""
    try:
        from obstore.exceptions import BaseError
        from obstore.store import S3Store
    except ImportError:
        raise ConfigError(
            "PROCTOR_SHARED names a bucket, and obstore is not installed: pip install 'proctor[s3]'"
        ) from None
    given: dict[str, Any] = {
        "endpoint": settings.aws_endpoint_url,
        "access_key_id": settings.aws_access_key_id,
        "secret_access_key": settings.aws_secret_access_key,
        "session_token": settings.aws_session_token,
    }
    client: Any = {
        "connect_timeout": timedelta(seconds=CONNECT_S),
        "read_timeout": timedelta(seconds=ANSWER_S),
        "allow_http": (settings.aws_endpoint_url or "").startswith("http://"),
    }
    try:
        store = S3Store(
            bucket,
            prefix=prefix or None,
            region=settings.aws_region,
            client_options=client,
            retry_config={"max_retries": 2, "retry_timeout": timedelta(seconds=RETRY_S)},
            **{name: value for name, value in given.items() if value},
        )
    except BaseError as error:
        raise ConfigError(f"{settings.shared} (PROCTOR_SHARED): {str(error).splitlines()[0]}") from None
    return SharedBucket(str(settings.shared), store, settings.secrets)
