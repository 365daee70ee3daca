"""The Redis or Valkey of PROCTOR_REDIS_URL: opened when it is used, and said to be away in words."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from proctor.errors import ConfigError

if TYPE_CHECKING:
    from redis import Redis

LONGEST_ANSWER_S = 2.0
QUICK_ANSWER_S = 0.5  # of a look that a page waits for
ASKED_EVERY_S = 2.0


def connect(url: str, *, timeout_s: float | None = LONGEST_ANSWER_S) -> Redis:
    """A client, which connects with its first command. Without `timeout_s` it waits for ever for an answer.

    Raises ConfigError without the libraries, or for an address that cannot be meant.
    """
    try:
        from redis import Redis
    except ImportError as error:
        raise ConfigError(
            "PROCTOR_REDIS_URL is set, and redis and rq are not installed: pip install 'proctor[redis]'"
        ) from error
    try:
        return Redis.from_url(
            url, socket_timeout=timeout_s, socket_connect_timeout=timeout_s or LONGEST_ANSWER_S
        )
    except ValueError as error:
        raise ConfigError(f"PROCTOR_REDIS_URL at {place(url)}: {error}") from error


def place(url: str) -> str:
    """Where it is, without user and password.

    >>> place("redis://:open-sesame@10.0.0.5:6379/0")
    '10.0.0.5:6379/0'
    """
    parts = urlsplit(url)
    return parts.netloc.rpartition("@")[2] + parts.path


def away(url: str) -> str | None:
    """Why it does not answer just now, asked once in two seconds; None if it does. Raises ConfigError as `connect`."""
    return _asked(url, int(time.monotonic() / ASKED_EVERY_S))


@lru_cache(maxsize=4)
def _asked(url: str, _when: int) -> str | None:
    with connect(url, timeout_s=QUICK_ANSWER_S) as client:
        from redis.exceptions import RedisError

        try:
            client.ping()
        except (RedisError, OSError) as error:
            return f"Redis at {place(url)} does not answer: {why(error)}"
    return None


def why(error: Exception) -> str:
    """The first line of what the library says, in which the password never stands."""
    return str(error).partition("\n")[0].rstrip(".") or type(error).__name__
