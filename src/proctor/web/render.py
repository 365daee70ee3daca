"""Templates and what they may call: every number is written as `figures` writes it."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse

from proctor import __version__, figures
from proctor.findings import Estimate, failed_in_short
from proctor.service.admin import access
from proctor.service.watch.overview import Shown
from proctor.web.addresses import as_parameter, encoded, model_path, query, request_path, trial_path
from proctor.web.dependencies import context_of
from proctor.web.problems import actions_of, problem_facts, told
from proctor.web.rollouts.words import CALL_ENDS, PHASE_COLOURS, PHASE_WORDS, STATES
from proctor.web.untrusted import untrusted
from proctor.web.words import ERROR_ICONS, NAV, NAV_TITLES, OUTCOME_WORDS, STATUS_COLOURS, TERMS, things

__all__ = ["problem_facts", "show", "stamp", "templates"]

TEMPLATES = Path(__file__).parent / "templates"


@cache
def templates() -> Environment:
    """Everything that is not marked safe is escaped; a name that is not there is an error."""
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "fraction": figures.fraction,
        "left_out": figures.left_out,
        "estimate": figures.estimate,
        "interval": interval,
        "least_of": figures.least_of,
        "p": figures.p_value,
        "share": figures.share,
        "duration": figures.duration,
        "amount": figures.amount,
        "speed": figures.speed,
        "rate": figures.rate,
        "timed_by": figures.timed_by,
        "room": figures.room,
        "dollars": figures.dollars,
        "besides": figures.besides,
        "signed": signed,
        "ago": ago,
        "stamp": stamp,
        "item_path": lambda text: quote(text, safe="/"),
        "chance": figures.chance,
        "unmeasured": lambda line: figures.unmeasured(line.unmeasured, line.planned),
        "shared_items": figures.shared_items,
        "failed_in_short": failed_in_short,
        "second": second,
        "instant": instant,
        "short_time": short_time,
        "shortened": figures.shortened,
        "moment": lambda at: stamp(at).removesuffix(" UTC"),
        "pair": lambda text: (text, text),
        "untrusted": untrusted,
        "as_parameter": as_parameter,
        "things": things,
        "size": size,
        "breaks": breaks,
        "steps": figures.steps,
        "first_word": lambda entry: (entry[0], entry[1][0]),
    }
    made.globals |= _known()
    return made


def _known() -> dict[str, Any]:
    """What every template may name."""
    return {
        "NAV": NAV,
        "NAV_TITLES": NAV_TITLES,
        "STATUS_COLOURS": STATUS_COLOURS,
        "OUTCOME_WORDS": OUTCOME_WORDS,
        "TERMS": TERMS,
        "ERROR_ICONS": ERROR_ICONS,
        "actions_of": actions_of,
        "TRIAL_STATES": STATES,
        "PHASE_WORDS": PHASE_WORDS,
        "PHASE_COLOURS": PHASE_COLOURS,
        "CALL_ENDS": CALL_ENDS,
        "trial_path": trial_path,
        "version": __version__,
        "query": query,
        "model_path": model_path,
        "request_path": request_path,
        "encoded": encoded,
    }


def show(request: Request, name: str, status: int = 200, /, **given: Any) -> HTMLResponse:
    """A page, or a piece of one. `here` in the context is the entry of the menu that it belongs to."""
    context = context_of(request)
    user = request.scope["state"].get("user")
    known = {
        "here": "",
        "path": request.url.path,
        "user": user,
        "auth": context.settings.auth,
        "projects": access.projects(context) if user else [],
        **given,
    }
    text = templates().get_template(name).render(known)
    # What a page shows is private and changes; htmx asks the same address for pieces of it.
    return HTMLResponse(text, status, headers={"Cache-Control": "no-store", "Vary": "HX-Request"})


def error_page(request: Request, status: int, detail: str, slug: str) -> HTMLResponse:
    """What went wrong, where, and what to do; as a piece where a piece was asked for."""
    facts = told(slug, detail, request_id=request.scope["state"].get("request_id", ""))
    if request.headers.get("hx-request") == "true":
        return show(request, "_problem.html", 200, **facts)
    return show(request, "error.html", status, **facts)


def interval(e: Estimate | Shown) -> str:
    """`[0.508, 0.595]`, or nothing where there is none."""
    return (
        "" if e.low is None or e.high is None else f"[{figures.fraction(e.low)}, {figures.fraction(e.high)}]"
    )


def signed(value: float | None) -> str:
    """A difference with its sign.

    >>> signed(0.0123), signed(-0.5), signed(0.0), signed(None)
    ('+0.012', '-0.500', '0.000', '-')
    """
    return f"+{figures.fraction(value)}" if value is not None and value > 0 else figures.fraction(value)


def breaks(name: str) -> Markup:
    """A name that may be broken into lines where its parts end, and not within a word.

    >>> str(breaks("a_b/c<"))
    'a_<wbr>b/<wbr>c&lt;'
    """
    return Markup(re.sub(r"([_/.:-]+)", r"\1<wbr>", str(escape(name))))


def size(count: int) -> str:
    """A file's size.

    >>> size(0), size(412), size(20_480), size(93_400_000)
    ('0 bytes', '412 bytes', '20 kB', '93 MB')
    """
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1e3:.0f} kB" if count < 1e6 else figures.room(count)


def ago(at: float | None, *, now: float | None = None) -> str:
    """How long ago a moment was, in words.

    >>> ago(0.0, now=30.0), ago(0.0, now=7300.0), ago(0.0, now=3 * 86400.0), ago(None)
    ('just now', '2 h ago', '3 days ago', '-')
    """
    if at is None:
        return "-"
    gone = (time.time() if now is None else now) - at
    if gone < 60:
        return "just now"
    if gone < 3600:
        return f"{gone // 60:.0f} min ago"
    if gone < 86400:
        return f"{gone // 3600:.0f} h ago"
    days = int(gone // 86400)
    return f"{days} day{'s' if days > 1 else ''} ago"


def stamp(at: float | None) -> str:
    """A moment in UTC, to the minute.

    >>> stamp(0.0), stamp(None)
    ('1970-01-01 00:00 UTC', '-')
    """
    return "-" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def instant(at: float) -> str:
    """A moment for programs.

    >>> instant(61.5)
    '1970-01-01T00:01:01Z'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def short_time(at: float, after: float | None = None, *, now: float | None = None) -> str:
    """A moment in UTC for narrow columns: without the year where it is this one, the hour alone on the day of `after`.

    >>> short_time(0.0, now=60.0), short_time(0.0, now=4e7), short_time(7260.0, 60.0, now=9999.0)
    ('1 Jan 00:00', '1 Jan 1970', '02:01')
    """
    moment = datetime.fromtimestamp(at, UTC)
    if after is not None and moment.date() == datetime.fromtimestamp(after, UTC).date():
        return moment.strftime("%H:%M")
    this_year = moment.year == datetime.fromtimestamp(time.time() if now is None else now, UTC).year
    return moment.strftime("%-d %b %H:%M" if this_year else "%-d %b %Y")


def second(at: float) -> str:
    """A moment in UTC, to the second: for lists of moments that lie close together.

    >>> second(61.5)
    '1970-01-01 00:01:01'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
