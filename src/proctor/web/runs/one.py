"""What pages show of one answer: the same facts beside a list and on the answer's own page."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from proctor.errors import errors
from proctor.manifest_json import sampling_document
from proctor.service.watch.item import Answer, Elsewhere
from proctor.types import Item, Outcome, Run
from proctor.web.markdown import markdown

SHOWN = 60  # characters of an answer in a sentence


@dataclass(frozen=True, slots=True)
class Why:
    """What became of an answer, in a word and a sentence; `colour` is good, bad, info or none. `cures` are links."""

    title: str
    text: str
    colour: str = ""
    what_to_do: str = ""
    cures: tuple[tuple[str, str], ...] = ()


def facts_of(run: Run, found: Answer) -> dict[str, Any]:
    payload = found.payload or {}
    text = payload.get("text") or ""
    raw = payload.get("raw") or ""
    return {
        "found": found,
        "row": found.row,
        "item": found.item,
        "payload": payload,
        "text": text,
        "why": why(run, found),
        "as_markdown": markdown(text) if text else "",
        "as_json": laid_out(text),
        "raw": laid_out(raw) or raw,
        "sent": _sent(run, found.item),
        **elsewhere(run, found),
    }


def elsewhere(run: Run, found: Answer) -> dict[str, list[Elsewhere]]:
    """The newest reply of each other model, and all the others."""
    newest: dict[str, Elsewhere] = {}
    for other in found.elsewhere:
        if other.run.full_model != str(run.cell.model):
            newest.setdefault(other.run.full_model, other)
    first = list(newest.values())
    return {"newest": first, "further": [other for other in found.elsewhere if other not in first]}


def why(run: Run, found: Answer) -> Why:
    """The reason first: what an item was lost by, or that it was not."""
    row, target = found.row, found.item.target
    said = f"“{_short(row.answer)}”" if row.answer is not None else "nothing"
    right = f"“{_short(target)}”" if target is not None else "not known"
    if row.outcome is Outcome.CORRECT:
        return Why("Correct.", f"It answered {said}.", "good")
    if row.outcome is Outcome.WRONG:
        return Why("Wrong.", f"It answered {said}; right is {right}.", "bad")
    if row.outcome is Outcome.ANSWERED:
        known = "its grade lies between right and wrong" if row.score is not None else "nothing graded it"
        return Why("Answered.", f"It answered {said}; {known}.", "info")
    if row.outcome is Outcome.ERROR:
        kind = errors().get(row.error_slug or "")
        error = (found.payload or {}).get("error") or "No words of it are kept."
        return Why(f"No reply: {row.error_slug or 'error'}.", str(error), "bad", kind.cure if kind else "")
    if row.outcome is Outcome.REFUSED:
        return Why("Refused.", f"The model declined to answer; right is {right}.", "")
    if row.outcome is Outcome.TRUNCATED:
        return _cut(run, found, right)
    near = f": nearest was {found.near.what}" if found.near is not None else ""
    value = f" (“{_short(found.near.value)}”)" if found.near is not None and found.near.value else ""
    return Why("No answer.", f"The reply states none that could be read{near}{value}; right is {right}.", "")


def _cut(run: Run, found: Answer, right: str) -> Why:
    limit = run.cell.sampling.max_tokens
    tokens = found.row.output_tokens
    at = f" after {tokens:,} tokens" if tokens else f" at its limit of {limit:,} tokens" if limit else ""
    more = 2 * max(limit or 0, tokens or 0, 512)
    cures = ((f"Clone with {more:,} tokens", f"/runs/new?like={run.id}&max_tokens={more}"),)
    return Why("Cut off.", f"The reply ends{at}, before an answer; right is {right}.", "", "", cures)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"


def laid_out(text: str) -> str | None:
    """The text on lines of its own, if it is a JSON object or list."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return json.dumps(found, indent=2, ensure_ascii=False)


def _sent(run: Run, item: Item) -> str:
    """What the model was asked, laid out as JSON for reading; the template escapes it, once."""
    request = {
        "model": str(run.cell.model),
        "messages": [asdict(message) for message in item.ask.messages],
        "sampling": sampling_document(run.manifest.sampling) if run.manifest.sampling else {},
    }
    return json.dumps(request, indent=2, ensure_ascii=False)
