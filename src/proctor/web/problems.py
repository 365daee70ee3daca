"""Errors in the words of a browser: what happened, what to do about it, and what to press."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.errors import ProctorError, errors
from proctor.web.words import ERROR_TITLES


@dataclass(frozen=True, slots=True)
class Action:
    """Something to press: a page of ours."""

    label: str
    href: str


@dataclass(frozen=True, slots=True)
class Mend:
    """What to do about a kind of error, where no run is meant: runs have cures of their own."""

    words: str
    actions: tuple[Action, ...] = ()


_HISTORY = Action("History", "/runs")
_MODELS = Action("Test the connection", "/models")
_QUEUE = Action("Queue & workers", "/system")
_SERVER = "See that the model's server runs and that its address is right, then try again."
_OPERATOR = "Whoever runs the server finds the reason in its log. What was measured so far is safe."

# By slug; what is not here keeps the cure that every other place tells.
MENDS: Mapping[str, Mend] = {
    "internal": Mend(
        "Going back and trying again may help. If it does not, report it with the number of the request: it is a "
        "defect of proctor."
    ),
    "not-found": Mend("It may have been deleted, or the address was cut short on its way here.", (_HISTORY,)),
    "method-not-allowed": Mend(
        "This address belongs to a button and cannot be opened by itself: go back to its page."
    ),
    "config": Mend("Go back, change what the message names, and send it again."),
    "metric-missing": Mend("Choose one of the metrics that the message names."),
    "data": Mend(
        "Correct the file where the message says, and upload it again: nothing of it was kept.",
        (Action("Data sets", "/datasets"),),
    ),
    "bad-lines": Mend(
        "Correct the lines that the message names, or upload the file so that they are left out."
    ),
    "too-large": Mend("Split the file. Whoever runs the server can raise the limit, which Settings shows."),
    "data-missing": Mend(
        "Import the official files, or take the sample rows to try things out.",
        (Action("Suites", "/suites"),),
    ),
    "conflict": Mend("The page may be older than what it shows: load it again and see how things stand now."),
    "forbidden": Mend(
        "Log in with a key that may do this. Whoever administers the server makes keys under Settings.",
        (Action("Log in with another key", "/login"),),
    ),
    "unauthorized": Mend("Log in with your key.", (Action("Log in", "/login"),)),
    "queue-full": Mend("Wait until one of your runs has begun, or stop one.", (_QUEUE,)),
    "too-many-requests": Mend("Wait a minute, then load the page again."),
    "store": Mend(f"Try again in a moment. {_OPERATOR}", (_QUEUE,)),
    "disk-full": Mend(
        "Whoever runs the server makes room on its disk; jobs go on by themselves then.", (_QUEUE,)
    ),
    "shared": Mend(f"{_OPERATOR} Jobs are tried again by themselves.", (_QUEUE,)),
    "network": Mend(_SERVER, (_MODELS,)),
    "endpoint-not-found": Mend(_SERVER, (_MODELS,)),
    "auth": Mend("Set a valid key where the server runs; the message names it.", (_MODELS,)),
    "quota": Mend("Raise the account's limit, or wait until it renews.", (_MODELS,)),
    "model-not-found": Mend("Choose a model that the server offers, or have it load this one.", (_MODELS,)),
    "rate-limited": Mend("Wait a minute, then try again.", (_MODELS,)),
    "overloaded": Mend("The model's server is busy: wait a minute, then try again.", (_MODELS,)),
    "server-error": Mend("The log of the model's server says why.", (_MODELS,)),
    "bad-reply": Mend(
        "The address may be another kind of server's: the message shows what came.", (_MODELS,)
    ),
    "provider": Mend("The message quotes the model's server.", (_MODELS,)),
    "request-timeout": Mend(
        "The model's server took too long: try again, or see whether it is busy.", (_MODELS,)
    ),
}


def problem_facts(problem: ProctorError | None) -> dict[str, Any] | None:
    """What a page says of an error that it shows above its own form."""
    return None if problem is None else told(problem.slug, str(problem), problem.cure)


def told(slug: str, detail: str, cure: str | None = None, request_id: str = "") -> dict[str, Any]:
    """What `_problem.html` says. `cure` is what an error's own maker says; None is what its kind says everywhere.

    >>> told("too-many-requests", "More than 5 requests")["cure"]
    'Wait a minute, then load the page again.'
    """
    kind = errors().get(slug)
    usual = kind.cure if kind else ""
    mend = MENDS.get(slug)
    own = cure if cure is not None and cure != usual else None
    return {
        "title": ERROR_TITLES.get(slug, ERROR_TITLES[""]),
        "detail": detail,
        "cure": own or (mend.words if mend else usual),
        "slug": slug,
        "request_id": request_id,
    }


def actions_of(slug: str) -> tuple[Action, ...]:
    """What may be pressed about a kind of error."""
    return MENDS[slug].actions if slug in MENDS else ()
