"""How much context an Ollama model has: its own maximum, and what the loaded one was given. More is cut unsaid."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from proctor.errors import ProviderError
from proctor.providers.wire.http import Http, HttpResponse
from proctor.providers.wire.refusals import Place
from proctor.providers.wire.wire_types import JsonTable, table_of

LOOK_S = 10.0


async def own_context(http: Http, place: Place) -> int | None:
    """The longest context, in tokens, that the model can have; None where the server does not tell."""
    body = orjson.dumps({"model": place.model})
    try:
        answer = await http.post(f"{place.address}/api/show", {"Content-Type": "application/json"}, body)
        return _told(answer, place, _own)
    except ProviderError:
        return None


async def loaded_context(http: Http, place: Place, is_ours: Callable[[str], bool]) -> int | None:
    """The context, in tokens, with which the model is in memory now; None where the server does not tell."""
    try:
        answer = await http.get(f"{place.address}/api/ps", {}, timeout_s=LOOK_S)
        return _told(answer, place, lambda record: _loaded(record, is_ours))
    except ProviderError:
        return None


def _told(answer: HttpResponse, place: Place, find: Callable[[JsonTable], int | None]) -> int | None:
    return find(table_of(answer, place, "description of models")) if answer.status == 200 else None


def _own(record: JsonTable) -> int | None:
    facts = record.told(record.table, "model_info") or JsonTable({}, "", record.where)
    family = facts.told(facts.text, "general.architecture")
    return facts.told(facts.count, f"{family}.context_length") or None


def _loaded(record: JsonTable, is_ours: Callable[[str], bool]) -> int | None:
    rows = record.told(record.tables, "models") or ()
    ours = (row for row in rows if is_ours(row.text("name") or ""))
    return next((row.told(row.count, "context_length") or None for row in ours), None)
