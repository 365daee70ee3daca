"""Where keys come from: a terminal, one at a time, or lines of whatever else is given on standard input."""

from __future__ import annotations

import os
import select
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TextIO

import click

END = "q"
ESCAPE = "\x1b"
ENDS = ("", "\x03", "\x04")  # the terminal is gone, Ctrl-C, Ctrl-D
SEQUENCE_S = 0.02  # within which the rest of what one key sends has come


class Keys(Protocol):
    """`live` says whether a person sits at a terminal, for whom the screen is kept clean."""

    live: bool

    def key(self) -> str:
        """The next key; `q` where there are no more."""
        ...

    def line(self, asked: str) -> str:
        """A line of text."""
        ...


class TerminalKeys:
    """The terminal gives every key as it is pressed, from beginning to end: none is lost while another is at work."""

    live = True

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def key(self) -> str:
        try:
            key = self._character()
        except KeyboardInterrupt:
            return END
        if key == ESCAPE:  # what an arrow or Delete sends goes on, and has letters and digits in it
            while select.select([self._fd], [], [], SEQUENCE_S)[0] and os.read(self._fd, 1):
                pass
        return END if key in ENDS else key

    def _character(self) -> str:
        body = os.read(self._fd, 1)
        while body and len(body) < 4 and not _whole(body):
            body += os.read(self._fd, 1)
        return body.decode(errors="replace")

    def line(self, asked: str) -> str:
        with _mode(self._fd, pressed=False):
            try:
                return str(click.prompt(asked, default="", show_default=False))
            except click.Abort:
                return ""


def _whole(body: bytes) -> bool:
    try:
        return bool(body.decode())
    except UnicodeDecodeError:
        return False


@contextmanager
def _mode(fd: int, *, pressed: bool) -> Iterator[None]:
    """Keys one by one and unseen, or whole lines as usual; then what was before. What is typed meanwhile stays."""
    before = termios.tcgetattr(fd)
    mode = list(before)
    flags = termios.ICANON | termios.ECHO
    mode[3] = mode[3] & ~flags if pressed else mode[3] | flags
    termios.tcsetattr(fd, termios.TCSANOW, mode)
    try:
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, before)


class LineKeys:
    """A line is a key, or a key with a text behind it: `n too short`."""

    live = False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._rest = ""

    def key(self) -> str:
        for line in self._stream:
            key, _, self._rest = line.strip().partition(" ")
            if key:
                return key
        return END

    def line(self, asked: str) -> str:
        return self._rest.strip()


@contextmanager
def keys(stream: TextIO) -> Iterator[Keys]:
    if not stream.isatty():
        yield LineKeys(stream)
        return
    with _mode(stream.fileno(), pressed=True):
        yield TerminalKeys(stream.fileno())
