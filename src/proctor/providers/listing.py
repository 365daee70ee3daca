"""The models that a server of the OpenAI protocol lists, with prices where it tells them."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.errors import BadReply, BadRequest, EndpointNotFound, ModelNotFound, ServerError
from proctor.providers.dialects import Dialect
from proctor.providers.http import Http
from proctor.providers.looking import look, need_rows
from proctor.providers.prices import Price
from proctor.providers.refusals import Place
from proctor.providers.wire_types import Table
from proctor.types import ListedModel, Model, Server

# xAI's prices are US cents per 100 million tokens.
PRICE_UNIT_USD = 1e-4  # per million tokens
_PRICES = ("prompt_text_token_price", "completion_text_token_price")
# The context of a model, as vLLM, gateways and xAI call it.
_LENGTHS = ("max_model_len", "context_length", "max_prompt_length")


@dataclass(frozen=True, slots=True)
class Row:
    """One listed model, the names it answers to, and what it costs if the list says so."""

    model: ListedModel
    names: frozenset[str]
    price: Price | None = None


def authorization(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


async def list_rows(http: Http, place: Place, key: str | None, dialect: Dialect) -> list[Row]:
    """The list with prices where there is one, else the plain list. Raises: EndpointNotFound, AuthError, BadReply."""
    if dialect.priced_list:
        try:
            return await _rows(http, place, key, dialect.priced_list, "models")
        except (BadReply, BadRequest, ModelNotFound, ServerError, EndpointNotFound) as error:
            # A gateway before xAI need not have the list of prices; but no status means nobody is there.
            if isinstance(error, EndpointNotFound) and error.status is None:
                raise
    return await _rows(http, place, key, "models", "data")


async def _rows(http: Http, place: Place, key: str | None, path: str, field: str) -> list[Row]:
    url = f"{place.address}/{path}"
    record = await look(http, url, authorization(key), place, "list of models")
    return [_row(row, place.provider) for row in need_rows(record, field)]


def _row(row: Table, provider: str) -> Row:
    price = _price(row)
    note = None if price is None else f"${price.input:g} in, ${price.output:g} out per million tokens"
    lengths = (row.told(row.count, name) for name in _LENGTHS)
    name = row.needed("id")
    vllm = row.told(row.text, "owned_by") == "vllm"  # its metrics tell how long it works on requests
    listed = ListedModel(
        Model(provider, name),
        context_tokens=next(filter(None, lengths), None),
        note=note,
        server=Server("vllm") if vllm else None,
    )
    return Row(listed, frozenset([name, *(row.told(row.texts, "aliases") or ())]), price)


def _price(row: Table) -> Price | None:
    prompt, completion = (row.told(row.amount, name) for name in _PRICES)
    if prompt is None or completion is None:
        return None
    return Price(prompt * PRICE_UNIT_USD, completion * PRICE_UNIT_USD)
