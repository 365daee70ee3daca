"""The models that a server of the OpenAI protocol lists, with prices where it tells them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from proctor.errors import BadReply, BadRequest, EndpointNotFound, ModelNotFound, ServerError
from proctor.providers.dialects import Dialect
from proctor.providers.http import Http
from proctor.providers.looking import look
from proctor.providers.prices import Price
from proctor.providers.refusals import Place
from proctor.types import ListedModel, Model

# xAI's prices are US cents per 100 million tokens.
PRICE_UNIT_USD = 1e-4  # per million tokens


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
    try:
        return [_row(row, place.provider) for row in record[field]]
    except (KeyError, TypeError, AttributeError):
        raise BadReply(f"{place.provider} at {url}: no list of models in the reply") from None


def _row(row: dict[str, Any], provider: str) -> Row:
    price = _price(row)
    note = None if price is None else f"${price.input:g} in, ${price.output:g} out per million tokens"
    context = row.get("max_model_len") or row.get("context_length") or row.get("max_prompt_length")
    listed = ListedModel(Model(provider, row["id"]), context_tokens=context, note=note)
    return Row(listed, frozenset([row["id"], *(row.get("aliases") or ())]), price)


def _price(row: dict[str, Any]) -> Price | None:
    prompt, completion = row.get("prompt_text_token_price"), row.get("completion_text_token_price")
    if not (isinstance(prompt, int | float) and isinstance(completion, int | float)):
        return None
    return Price(prompt * PRICE_UNIT_USD, completion * PRICE_UNIT_USD)
