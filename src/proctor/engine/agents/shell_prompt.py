"""What the shell agent's model is told: the first message, and what comes back after each command. By version.

Whatever changes a word of it gets a new version: results of two prompts are not results of one agent.
"""

from __future__ import annotations

import hashlib
import re

from proctor.engine.agents.steps import in_bounds
from proctor.sandbox.contract import CommandEnd

VERSION = "shell/1"
SHOWN_CHARACTERS = 10_000  # of a command's output
MOST_FAULTS = 3  # replies in a row without a command
OPENING = """\
You work on a task in the shell of a Linux machine. The shell is all you have: there are no other tools, and there is \
no network.

In each reply say in a sentence or two what you are about to do, then give exactly one command in a block like this:

```sh
ls -la
```

The command is run in {repo}, and you are shown its exit code and what it printed. Then you reply again.

- The working directory and exported variables carry over to the next command. What a command starts in the background \
ends with it.
- Commands get no input, and each is stopped after {command_s:.0f} seconds: use nothing interactive.
- Of long output only the beginning and the end are shown. Look at parts of files: `sed -n 1,80p FILE`, `grep -n`.
- Write a file with a here-document: `cat > FILE <<'EOF'`, its lines, `EOF`.
- Look before you change something, and try what you have changed before you end.
- When the task is finished, reply with the word DONE alone on a line, and with no command. Only the files in {repo} \
count then, as you leave them.

You have {seconds:.0f} seconds{limits}.

Your task:

{instruction}
"""
FAULT = """\
{fault} Nothing was run.

Reply with a sentence, and then one command in a block like this:

```sh
ls -la
```

Or reply with the word DONE alone on a line if the task is finished."""
_UNSHOWN = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")

SHA256 = hashlib.sha256(
    f"{VERSION}\n{OPENING}\n{FAULT}\n{SHOWN_CHARACTERS}\n{MOST_FAULTS}".encode()
).hexdigest()


def opening(
    instruction: str,
    *,
    place: str,
    seconds: float,
    command_s: float,
    tokens: int | None,
    calls: int | None,
) -> str:
    """The first message: how to work, where, what it has, and the task. None: not bounded."""
    limits = [f"{tokens:,} tokens for all that you read and write" if tokens is not None else ""]
    limits.append(f"{calls:,} replies" if calls is not None else "")
    told = "".join(f", {each}" for each in limits if each)
    return OPENING.format(
        repo=place, command_s=command_s, seconds=seconds, limits=told, instruction=instruction.strip()
    )


def shown(said: bytes) -> str:
    """What a command printed, as text: without colours, cursor moves and what is no character."""
    return _UNSHOWN.sub("", said.decode("utf-8", "replace").replace("\r\n", "\n"))


def output_of(ended: CommandEnd, beginning: bytes) -> str:
    """What a command printed, its middle left out where it is long.

    `beginning` is where its output begins; its end stands in `ended`.
    """
    if ended.printed_bytes <= len(ended.said):
        return in_bounds(shown(ended.said), SHOWN_CHARACTERS)
    half = SHOWN_CHARACTERS // 2
    first, last = shown(beginning)[:half], shown(ended.said)[-half:]
    left_out = max(0, ended.printed_bytes - len(first.encode()) - len(last.encode()))
    return f"{first}\n[... {left_out:,} bytes left out ...]\n{last}"


def told(ended: CommandEnd, output: str, note: str, left: str) -> str:
    """The message after a command: how it ended, what it printed, what is left."""
    how = f"exit code {ended.code}"
    if ended.why == "timeout":
        how = f"stopped after {ended.seconds:.0f} s: a command may not take longer. What it changed stands"
    said = output.rstrip() or "(no output)"
    return "\n".join(filter(None, (f"[{how}]", said, note and f"[{note}]", f"[{left}]")))


def left_told(seconds: float, tokens: int | None, calls: int | None) -> str:
    """What is left, in words: "left: 120 s, 3,000 tokens, 4 replies"."""
    words = [f"left: {max(0.0, seconds):.0f} s"]
    words += [f"{tokens:,} tokens"] if tokens is not None else []
    words += [f"{calls:,} replies"] if calls is not None else []
    return ", ".join(words)
