"""The servers of a run's models that proctor.toml names: started, waited for, and ended with the run."""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from proctor.errors import ConfigError, Conflict, EndpointNotFound
from proctor.providers.served import PORT, ServeCommand, command_named
from proctor.service.serving.asked import asked_of, asking
from proctor.service.serving.keeper import END_S
from proctor.service.serving.orphans import end_group, end_orphans, noted
from proctor.settings import Settings
from proctor.settings.variables import KEYS
from proctor.types import Cell, Model

LOG = logging.getLogger(__name__)
PROVIDER = "serve"
LOOK_S = 0.2  # between two looks at the server
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # it is near
QUOTED_LINES = 5  # of the log, where the command ended


@contextmanager
def with_served(cells: Sequence[Cell], settings: Settings) -> Iterator[list[Cell]]:
    """The cells, with the server running behind those whose model proctor.toml serves; it ends with the block.

    What an earlier proctor left running when it was killed is ended first. Raises: ModelNotFound, ConfigError, Conflict
    where its address is taken, EndpointNotFound where the command ends or does not get ready in its time.
    """
    asked = [asked_of(cell) for cell in cells]
    names = dict.fromkeys(model.name for model in asked if model.provider == PROVIDER)
    if not names:
        yield list(cells)
        return
    folder = settings.home / "serving"
    folder.mkdir(parents=True, exist_ok=True)
    end_orphans(folder)
    with ExitStack() as stack:
        models = {
            name: stack.enter_context(served(command_named(settings.home, name), folder)) for name in names
        }
        yield [
            asking(cell, models[model.name]) if model.provider == PROVIDER else cell
            for cell, model in zip(cells, asked, strict=True)
        ]


@contextmanager
def served(named: ServeCommand, folder: Path) -> Iterator[Model]:
    """The model behind a command, started now. FOLDER/NAME.log has its words, .log.1 those of the start before."""
    command = named.at(_free_port()) if PORT in named.address else named
    with _alone(named, folder):
        _need_free(command)
        log = folder / f"{named.name}.log"
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        keeper = _started(command, log)
        with noted(folder, named.name, keeper.pid):
            try:
                _wait_until_ready(command, keeper, log)
                yield Model(PROVIDER, command.model or _only_model(command) or command.name, command.address)
            finally:
                _end(keeper)


def _started(command: ServeCommand, log: Path) -> subprocess.Popen[bytes]:
    if shutil.which(command.command[0]) is None:
        raise ConfigError(f"[serve.{command.name}]: there is no program {command.command[0]!r}")
    LOG.info("serve/%s: starting %s, log in %s", command.name, command.command[0], log)
    with log.open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "proctor.service.serving.keeper", *command.command],
            stdin=subprocess.PIPE,  # the keeper ends with whoever holds the other end
            stdout=said,
            stderr=subprocess.STDOUT,
            env=_environment(os.environ, command.env),
            start_new_session=True,
        )


def _environment(ours: Mapping[str, str], wanted: Sequence[str]) -> dict[str, str]:
    """This process's own, without keys and the database's address unless they are asked for by name."""
    withheld = {*KEYS, "PROCTOR_DATABASE_URL", "PROCTOR_KEYS_FILE"} - set(wanted)
    return {name: value for name, value in ours.items() if name not in withheld}


def _wait_until_ready(command: ServeCommand, keeper: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + command.wait_s
    while not _is_there(command):
        if keeper.poll() is not None:
            raise EndpointNotFound(
                f"serve/{command.name}: the command ended before it served. {_last_words(log)}"
            )
        if time.monotonic() > until:
            raise EndpointNotFound(
                f"serve/{command.name}: not ready after {command.wait_s:g} s (wait in proctor.toml). {_last_words(log)}"
            )
        time.sleep(LOOK_S)


def _is_there(command: ServeCommand) -> bool:
    parts = urlsplit(command.address)
    health = (
        f"{parts.scheme}://{parts.netloc}{command.health}" if command.health else f"{command.address}/models"
    )
    try:
        with _OPENER.open(health, timeout=5.0) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError, urllib.error.URLError):
        return False


def _only_model(command: ServeCommand) -> str | None:
    """What the server calls its model, where its list has just one."""
    url = f"{command.address}/models"
    with suppress(OSError, ValueError, TypeError, KeyError), _OPENER.open(url, timeout=5.0) as answer:
        (row,) = orjson.loads(answer.read())["data"]
        return str(row["id"])
    return None


def _last_words(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-QUOTED_LINES:]
    return f"Its last words in {log}: {' | '.join(lines)}" if lines else f"It wrote nothing ({log})"


def _need_free(command: ServeCommand) -> None:
    """Raises: Conflict. Another server at the address would be asked in its place."""
    parts = urlsplit(command.address)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 80), timeout=2.0).close()
    except OSError:
        return
    raise Conflict(
        f"serve/{command.name}: something answers at {command.address} already; end it, or put another port into "
        f"proctor.toml ({PORT} takes a free one)"
    )


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextmanager
def _alone(command: ServeCommand, folder: Path) -> Iterator[None]:
    """Hold the name: runs of several processes use an address in turn. With ports of their own they need not."""
    if PORT in command.address:
        yield
        return
    until = time.monotonic() + command.wait_s
    with (folder / f"{command.name}.lock").open("wb") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise Conflict(
                        f"serve/{command.name} serves another run; {PORT} in its address lets both"
                    ) from None
                time.sleep(LOOK_S)
        yield


def _end(keeper: subprocess.Popen[bytes]) -> None:
    assert keeper.stdin is not None
    keeper.stdin.close()
    try:
        keeper.wait(END_S + 5.0)
    except subprocess.TimeoutExpired:
        end_group(keeper.pid)
        keeper.wait()
