"""What is said to Modal in one place: its client, found where it is used, and its faults as ours."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from proctor.errors import SandboxError, SandboxMissing
from proctor.settings import read_settings

HELLO_S = 15.0  # its client tries for a minute where nobody answers
APP = "proctor"


def library() -> Any:
    """Raises: SandboxMissing."""
    try:
        import modal
    except ImportError:
        raise SandboxMissing("Modal's client is missing: pip install 'proctor[modal]'") from None
    return modal


def tokens(home: Path) -> tuple[str, str]:
    """The id and the secret: of the environment or keys.env, or as `modal token set` wrote them.

    Raises: SandboxMissing.
    """
    known = read_settings({**os.environ, "PROCTOR_HOME": str(home)})
    own = library().config.config
    found = (known.modal_token_id or own.get("token_id"), known.modal_token_secret or own.get("token_secret"))
    if not all(found):
        raise SandboxMissing(
            "Modal is not told who asks: set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET (in the environment or in keys.env "
            "of PROCTOR_HOME), or run `modal token set`"
        )
    return str(found[0]), str(found[1])


async def connected(home: Path) -> Any:
    """A client that Modal has answered. Raises: SandboxMissing, at once where no token is there."""
    credentials, server = tokens(home), library().config.config.get("server_url")
    try:
        with told("Modal does not let us in"):
            async with asyncio.timeout(HELLO_S):
                client = await library().Client.from_credentials.aio(*credentials)
                await client.hello.aio()
    except SandboxError as error:
        raise SandboxMissing(
            f"{error} ({server}, within {HELLO_S:g} s). Look at MODAL_TOKEN_ID, MODAL_TOKEN_SECRET and the network"
        ) from None
    return client


@contextmanager
def told(what: str) -> Iterator[None]:
    """Raises: SandboxError for what Modal's client raises."""
    error_of = library().exception.Error
    try:
        yield
    except (error_of, OSError, TimeoutError) as error:
        raise SandboxError(f"{what}: {type(error).__name__}: {error}") from None
