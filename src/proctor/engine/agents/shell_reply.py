"""What a reply of the shell agent's model means: a command, that it is done, or neither, with words on what was wrong.

Made for models that keep a format badly: of several blocks the first counts, a block that is never closed counts where
the reply was not cut, and fences inside a here-document are part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

SHELLS = ("", "sh", "bash", "shell", "zsh")
MOST_COMMAND_BYTES = 100_000  # what one word of a command line may have is little more
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[ \t]*([\w+-]*)[^`\n]*$")
_HERE = re.compile(r"<<-?[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|\\?([A-Za-z_]\w*))")
# Of one line: blank ones before it, of which a reply may have thousands, are passed over once.
_DONE = re.compile(r"^[ \t\r\f\v\xa0>*_`#]*DONE[ \t\r\f\v\xa0.!*_`]*$", re.M)
_THOUGHTS = re.compile(r"\A\s*<think>.*?(</think>|\Z)", re.S)


@dataclass(frozen=True, slots=True)
class Block:
    """What stands between two fences, and what the first of them calls it. `closed` False: the reply ends in it."""

    language: str
    text: str
    closed: bool = True


@dataclass(frozen=True, slots=True)
class ReadReply:
    """A reply, read: `command` is run; `done` ends the work; `fault` says why it is neither. `note` goes with it."""

    command: str | None = None
    done: bool = False
    fault: str | None = None
    note: str = ""


def read_reply(text: str, *, cut: bool = False) -> ReadReply:
    """`cut`: the reply ends because it was as long as it may be.

    >>> read_reply("I look.\\n```sh\\nls\\n```").command
    'ls'
    >>> read_reply("All is well.\\n\\nDONE").done
    True
    """
    text = _THOUGHTS.sub("", text)
    blocks = list(_blocks(text.splitlines()))
    commands = [block for block in blocks if block.language.lower() in SHELLS and block.text.strip()]
    if commands and _DONE.fullmatch(commands[0].text.strip()):
        return ReadReply(done=True)
    if commands:
        return _command(commands, finished=_DONE.search(_outside(text)) is not None, cut=cut)
    if _DONE.search(_outside(text)):
        return ReadReply(done=True)
    return ReadReply(fault=_nothing_to_run(text, blocks, cut))


def _command(commands: Sequence[Block], *, finished: bool, cut: bool) -> ReadReply:
    first = commands[0]
    if cut and not first.closed:
        return ReadReply(fault="Your reply was cut before its command ended. Write less at a time.")
    if "\0" in first.text or len(first.text.encode("utf-8", "replace")) > MOST_COMMAND_BYTES:
        return ReadReply(fault="That command is too long, or holds a character that no command may hold.")
    notes = []
    if len(commands) > 1:
        notes.append("Only your first block was run: one command in each reply.")
    if finished:
        notes.append("DONE counts only in a reply without a command.")
    return ReadReply(command=first.text, note=" ".join(notes))


def _nothing_to_run(text: str, blocks: Sequence[Block], cut: bool) -> str:
    if cut:
        return "Your reply was cut before there was a command. Write less at a time."
    if others := [block.language for block in blocks if block.text.strip()]:
        return (
            f"A block marked {others[0]} is not run. Write a shell command, for Python `python3 - <<'EOF'` and so on, "
            "in a block marked sh."
        )
    return "Your reply holds no command." if text.strip() else "Your reply was empty."


def _blocks(lines: Sequence[str]) -> Iterator[Block]:
    place, last = 0, _last(lines)
    while place < len(lines):
        opening = _FENCE.match(lines[place])
        place += 1
        if opening is None:
            continue
        end = _end(lines, place, opening[1], last)
        yield Block(opening[2], "\n".join(lines[place : end or len(lines)]), end is not None)
        place = len(lines) if end is None else end + 1


def _last(lines: Sequence[str]) -> Mapping[str, int]:
    """Where each line stands for the last time."""
    return {line.strip(): place for place, line in enumerate(lines)}


def _end(lines: Sequence[str], start: int, fence: str, last: Mapping[str, int]) -> int | None:
    """The line that closes a block: the first fence that stands in no here-document, else the first at all."""
    first: int | None = None
    inside: str | None = None
    for place in range(start, len(lines)):
        closes = _closes(lines[place], fence)
        first = place if closes and first is None else first
        if inside is not None:
            inside = None if lines[place].strip() == inside else inside
        elif closes:
            return place
        elif opened := _HERE.search(lines[place]):
            inside = next(filter(None, opened.groups()))
        if inside is not None and first is not None and last.get(inside, -1) <= place:
            return first  # a here-document that never ends
    return first


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence) and set(bare) == {fence[0]}


def _outside(text: str) -> str:
    """The text without its blocks."""
    lines, kept, place = text.splitlines(), [], 0
    last = _last(lines)
    while place < len(lines):
        opening = _FENCE.match(lines[place])
        if opening is None:
            kept.append(lines[place])
            place += 1
            continue
        end = _end(lines, place + 1, opening[1], last)
        place = len(lines) if end is None else end + 1
    return "\n".join(kept)
