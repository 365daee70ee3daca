"""The dashboard's fixed words: the menu, the titles of errors, the colours of states."""

from __future__ import annotations

from proctor.service.kinds import kind_of
from proctor.types import Run

# key, address, icon, label; the first five are the documented tabs. Then comes other work than exams, what is asked
# and of whom, and the server itself.
NAV = (
    (
        ("overview", "/", "layout-dashboard", "Overview"),
        ("new", "/runs/new", "player-play", "Run Benchmarks"),
        ("compare", "/compare", "columns", "Model Comparison"),
        ("history", "/runs", "history", "History"),
        ("leaderboard", "/leaderboard", "trophy", "Leaderboard"),
    ),
    (
        ("batches", "/batches", "stack-2", "Batches"),
        ("rollouts", "/rollouts", "terminal-2", "Rollouts"),
    ),
    (
        ("models", "/models", "robot", "Models & providers"),
        ("suites", "/suites", "list-details", "Suites"),
        ("datasets", "/datasets", "database", "Data sets"),
    ),
    (
        ("system", "/system", "server-2", "Queue & workers"),
        ("schedules", "/schedules", "calendar-time", "Schedules"),
        ("projects", "/projects", "folders", "Projects"),
        ("shares", "/settings/shares", "share", "Shared links"),
        ("settings", "/settings", "settings", "Settings"),
        ("audit", "/audit", "shield-check", "Audit"),
    ),
)

NAV_TITLES = ("", "More work", "Catalogue", "Server")

_CONNECTION = "Connection Error"
_API = "Model API Error"
_INVALID = "Invalid Configuration"
_RATE = "Rate Limit Exceeded"
_TIMEOUT = "Timeout Error"
_DATABASE = "Database Error"

# The documented kinds of errors, by slug; "" is any other. An icon of our own stands in the documented glyph's place.
ERROR_TITLES = {
    "": "Something went wrong",
    "not-found": "Not found",
    "method-not-allowed": "Not found",
    "config": _INVALID,
    "metric-missing": _INVALID,
    "data": _INVALID,
    "bad-lines": _INVALID,
    "data-missing": _INVALID,
    "too-large": _INVALID,
    "conflict": _INVALID,
    "bad-request": _INVALID,
    "context-overflow": _INVALID,
    "forbidden": "Not allowed",
    "unauthorized": "Not allowed",
    "queue-full": _RATE,
    "too-many-requests": _RATE,
    "rate-limited": _RATE,
    "quota": _RATE,
    "run-timeout": _TIMEOUT,
    "request-timeout": _TIMEOUT,
    "store": _DATABASE,
    "disk-full": "The disk is full",
    "endpoint-not-found": _CONNECTION,
    "network": _CONNECTION,
    "provider": _API,
    "auth": _API,
    "error-budget": _API,
    "model-not-found": _API,
    "overloaded": _API,
    "server-error": _API,
    "bad-reply": _API,
}

ERROR_ICONS = {
    _CONNECTION: "plug-connected-x",
    _API: "robot",
    _INVALID: "adjustments-alt",
    _RATE: "gauge",
    _TIMEOUT: "clock",
    _DATABASE: "database",
    "Not found": "search",
    "Not allowed": "lock",
}

STATUS_COLOURS = {
    "pending": "secondary",
    "running": "blue",
    "completed": "green",
    "partial": "orange",
    "decided": "green",
    "failed": "red",
    "cancelled": "orange",
}

OUTCOME_WORDS = {
    "correct": ("correct", "green"),
    "wrong": ("wrong", "red"),
    "answered": ("answered", "blue"),
    "no_answer": ("no answer", "orange"),
    "truncated": ("truncated", "orange"),
    "refused": ("refused", "orange"),
    "error": ("error", "secondary"),
}

# What words of the house mean, for whoever meets them first: `term` of _words.html shows it.
TERMS = {
    "could show": "the smallest difference that so many items can tell from chance, at 80 % power",
    "answers read": "the share of replies in which an answer was found, right or wrong",
    "others differ": "in how many other complete runs of the same exam (the newest 8) the item had another outcome",
    "adjusted": "made larger for how many pairs were tested: the chance of a wrong verdict among them stays below 5 %",
    "P(best)": "how often the model is the best of the board where the items are drawn anew",
    "in flight": "requests that were sent and are not answered yet",
    "sent again": "requests that were repeated because the server refused them or failed",
    "kappa": "agreement beyond what chance alone would give; 1 is full agreement",
    "rung": "how the answer was found in the reply: 1 is a reply that is the answer alone, higher ones are looser",
}


def things(run: Run) -> str:
    """What the run's counts are of."""
    asked = "askings" if run.cell.repeats > 1 else "items"
    named = {"requests": "requests", "tasks": "trials", "verdicts": "verdicts"}
    return named.get(kind_of(run.cell.source).holds, asked)
