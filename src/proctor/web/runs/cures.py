"""What to do about a run that failed, in the words of a browser: a sentence, and what can be pressed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.findings import Cause
from proctor.service.kinds import kind_of
from proctor.service.results.advice import advice, asks_again
from proctor.types import Run
from proctor.web.addresses import query
from proctor.web.words import things

# An error that also tells how much the reply may take says that a shorter reply would fit too.
_REPLY_COUNTS = re.compile(r"max_tokens|completion|output tokens", re.I)
_LEAST_TOKENS = 16
_OPTION = re.compile(r"`?--([a-z][a-z-]+)")


@dataclass(frozen=True, slots=True)
class Press:
    """A link of a cure."""

    label: str
    href: str


@dataclass(frozen=True, slots=True)
class ToldCause:
    """Something that went wrong, as a page says it. `terminal` is what a terminal would do about it; "" for nothing.

    `again` tells whether the same requests may succeed later, so that going on is part of the cure.
    """

    words: str
    cure: str
    presses: Sequence[Press] = ()
    href: str = ""
    terminal: str = ""
    again: bool = False


def told(cause: Cause, run: Run, askings: str) -> ToldCause:
    """One cause of failures: what it was, what mends it, and where its items are."""
    cure, presses = mended(cause.slug, run, cause.said)
    return ToldCause(
        words=cause.in_words(run.planned, askings),
        cure=cure,
        presses=presses,
        href=items_of(run, cause),
        terminal=advice(cause, run),
        again=asks_again(cause.slug),
    )


def in_browser_words(text: str) -> str:
    """A sentence whose options of a terminal are called as the form calls them.

    >>> in_browser_words("the tokens allowed by --max-total-tokens were used up")
    'the tokens allowed by max total tokens were used up'
    """
    return _OPTION.sub(lambda found: found[1].replace("-", " "), text)


def items_of(run: Run, cause: Cause) -> str:
    """Where the items that failed so are."""
    holds = kind_of(run.cell.source).holds
    if holds == "requests":
        return f"/runs/{run.id}/failures"
    if holds == "tasks":
        return f"/rollouts/{run.plan_id}?state=unscored"
    return f"/runs/{run.id}/results?outcome=error"


def clone(run: Run, **changed: Any) -> str:
    """The form with this run's settings, some of them changed."""
    batch = kind_of(run.cell.source).holds == "requests"
    return ("/batches/new" if batch else "/runs/new") + query({"like": run.id}, **changed)


def clonable(run: Run) -> bool:
    """Whether the form of a new run takes this one's settings."""
    return kind_of(run.cell.source).on_server


def mended(slug: str, run: Run, said: str = "") -> tuple[str, list[Press]]:
    """What mends a kind of error in this run: a sentence ("" where nothing is known), and what can be pressed."""
    sentence, pressed = _CURES.get(slug, ("", ()))
    if slug == "context-overflow":
        sentence, made = _longer(run, said)
        return sentence, made if clonable(run) else []
    return sentence, [press for each in pressed if (press := each(run)) is not None]


def cut_off(run: Run) -> Press | None:
    """The same with twice the room for replies, for runs whose replies were cut off."""
    most = run.cell.sampling.max_tokens
    if most is None or not clonable(run):
        return None
    return Press(f"Clone with {2 * most:,} tokens", clone(run, max_tokens=2 * most))


def _longer(run: Run, said: str) -> tuple[str, list[Press]]:
    """A prompt that does not fit into the model's context."""
    drawn, presses = run.cell.sampling, []
    sets = run.manifest.sampling and run.manifest.sampling.sent("context_tokens")
    if sets and drawn.context_tokens:
        more = 2 * drawn.context_tokens
        presses.append(Press(f"Clone with a context of {more:,}", clone(run, context_tokens=more)))
    if drawn.max_tokens and drawn.max_tokens > _LEAST_TOKENS and _REPLY_COUNTS.search(said):
        less = max(_LEAST_TOKENS, drawn.max_tokens // 2)
        presses.append(Press(f"Clone with {less:,} tokens for replies", clone(run, max_tokens=less)))
    presses.append(Press("Choose another model", clone(run)))
    who = "" if sets else " The server sets the context: whoever runs it can start it with a longer one."
    return (
        f"These {things(run)} are longer than the model's context.{who} Asking the same again would fail again.",
        presses,
    )


def _test(run: Run) -> Press | None:
    return Press("Test the connection", "/models")


def _other_model(run: Run) -> Press | None:
    return Press("Choose another model", clone(run)) if clonable(run) else None


def _fewer(run: Run) -> Press | None:
    at_once = run.cell.limits.parallel
    if at_once is None or at_once < 2 or not clonable(run):
        return None
    return Press(f"Clone with {at_once // 2:,} at once", clone(run, parallel=at_once // 2))


def _shorter(run: Run) -> Press | None:
    most = run.cell.sampling.max_tokens
    if most is None or most <= _LEAST_TOKENS or not clonable(run):
        return None
    less = max(_LEAST_TOKENS, most // 2)
    return Press(f"Clone with {less:,} tokens", clone(run, max_tokens=less))


def _on_sample(run: Run) -> Press | None:
    return Press("Clone on sample rows", clone(run, data="sample")) if _of_suite(run) else None


def _of_suite(run: Run) -> bool:
    kind = kind_of(run.cell.source)
    return kind.holds == "questions" and kind.on_server and not kind.own


def _import(run: Run) -> Press | None:
    if not _of_suite(run):
        return Press("Data sets", "/datasets")
    name = run.cell.source.listed
    return Press("Import the rows", f"/suites{query({}, open=name)}#{name}")


def _change(run: Run) -> Press | None:
    return Press("Clone and change", clone(run)) if clonable(run) else None


def _log(run: Run) -> Press | None:
    return Press("Read the log", f"/runs/{run.id}?tab=log")


_DISK = "Make room on that disk. A job goes on by itself; what was answered is safe."
_SERVER = "See that the model's server runs and can be reached; then go on."
_SLOWER = "Requests are slowed down by themselves; if it lasts, ask fewer at once."
_CURES: Mapping[str, tuple[str, Sequence[Callable[[Run], Press | None]]]] = {
    "auth": ("Set a valid key where the server runs, as the message names it; then go on.", (_test,)),
    "quota": ("Raise the account's limit or wait until it renews; then go on.", (_test,)),
    "model-not-found": (
        "Choose a model that the server offers, or have it load this one.",
        (_other_model, _test),
    ),
    "endpoint-not-found": ("Start the model's server, or correct its address; then go on.", (_test, _change)),
    "network": (_SERVER, (_test,)),
    "server-error": ("The server's own log says why; going on asks again what failed.", (_test,)),
    "provider": ("The message quotes the server; going on asks again what failed.", (_test,)),
    "bad-reply": (
        "The address may be another kind of server's: the message shows what came.",
        (_test, _change),
    ),
    "bad-request": ("The server refuses these requests: change what its message names.", (_change,)),
    "rate-limited": (_SLOWER, (_fewer,)),
    "overloaded": (_SLOWER, (_fewer,)),
    "request-timeout": (
        "Replies take longer than is waited for: make them shorter, or ask fewer at once.",
        (_shorter, _fewer),
    ),
    "error-budget": ("Mend what the message names, usually the model's server; then go on.", (_test,)),
    "run-timeout": ("Its time was over. Going on takes up where it stopped.", ()),
    "worker-died": ("The log says how far it came; going on takes up where it stopped.", (_log,)),
    "resource-limit": ("Free what the message names; then go on from there.", (_log,)),
    "data-missing": ("The rows are not on the server.", (_import, _on_sample)),
    "data": ("The rows cannot be used as they are; the message names the place.", (_import, _change)),
    "config": ("Change what the message names, in a copy of this run.", (_change,)),
    "disk-full": (_DISK, ()),
    "store": ("Put right what the message says of the database; what was committed is safe.", ()),
    "shared": ("Put right what the message says of the shared place; a job is tried again by itself.", ()),
    "sandbox": ("Install or allow what the message names; then go on.", (_log,)),
    "sandbox-missing": ("Install or allow what the message names, or choose another sandbox.", (_log,)),
    "verifier": ("Going on verifies what the agents made.", (_log,)),
    "agent-model": ("The message quotes the server; going on begins those trials again.", (_test,)),
}
