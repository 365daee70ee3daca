"""How pages write the states of trials: a letter and a colour for a cell, and words for people."""

from __future__ import annotations

from typing import NamedTuple


class StateWords(NamedTuple):
    """`letter` stands in a cell, so that nobody needs its colour; `about` explains it."""

    letter: str
    colour: str
    title: str
    about: str


STATES = {
    "passed": StateWords("P", "green", "passed", "The work reached the score that counts as a success."),
    "failed": StateWords("F", "red", "failed", "The agent ended its work, and it did not pass."),
    "limit": StateWords(
        "L", "orange", "stopped at a limit", "The agent met a limit; its work, as it stood, did not pass."
    ),
    "provider": StateWords(
        "M", "grey", "model server failed", "The agent's model could not be asked. Not scored."
    ),
    "sandbox": StateWords("S", "grey", "sandbox failed", "The sandbox broke. Not scored."),
    "verifier": StateWords(
        "V", "grey", "verifier failed", "The verifier broke or ran out of time. Not scored."
    ),
    "working": StateWords("\u2026", "blue", "at work", "The trial is at work."),
    "waiting": StateWords("\u00b7", "hollow", "waiting", "The trial has not begun."),
    "cancelled": StateWords("\u2013", "hollow", "cancelled", "The benchmark was stopped before it."),
    "not run": StateWords("\u2013", "hollow", "not run", "Its run ended before it."),
}
UNSCORED = ("provider", "sandbox", "verifier")
PHASE_WORDS = {
    "prepare": "preparing",
    "agent": "agent at work",
    "collect": "collecting the work",
    "verify": "verifying",
    "score": "scoring",
}
# Hues of the phases on a time line; each has its name beside it too.
PHASE_COLOURS = {"prepare": "a", "agent": "b", "collect": "c", "verify": "d", "score": "e"}
ENDS = {
    "done": "The agent ended its work by itself.",
    "failed": "The agent ended with an error of its own; its work was verified as it stood.",
    "limit": "The agent was stopped at a limit; its work was verified as it stood.",
}
# How calls end that were not answered, by CallEnd.
CALL_ENDS = {
    "refused": "refused: a budget or a limit was used up",
    "cut": "cut off: the agent was stopped while it waited",
    "cancelled": "the agent went away before the answer was whole",
    "failed": "the model's server failed",
}
