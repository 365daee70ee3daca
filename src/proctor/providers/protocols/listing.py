"""The models that a server of the OpenAI protocol lists, with prices where it tells them."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.errors import ProviderError
from proctor.offered import ListedModel
from proctor.providers.prices import Price
from proctor.providers.protocols.dialects import Dialect
from proctor.providers.protocols.preflight import need_rows, seen, unlisted
from proctor.providers.wire.http import Http
from proctor.providers.wire.refusals import Place
from proctor.providers.wire.wire_types import JsonTable, table_of
from proctor.types import Model

# xAI's prices are US cents per 100 million tokens.
PRICE_UNIT_USD = 1e-4  # per million tokens
_PRICES = ("prompt_text_token_price", "completion_text_token_price")
# The context of a model, as vLLM, gateways and xAI call it.
_LENGTHS = ("max_model_len", "context_length", "max_prompt_length")

MOST_NAMES = 8  # that a message quotes


@dataclass(frozen=True, slots=True)
class ListedRow:
    """One listed model, the names it answers to, and what it costs if the list says so."""

    model: ListedModel
    names: frozenset[str]
    price: Price | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class ServerListing:
    """What a server lists, and what it calls itself in its Server header. `problem`: there is no list, and why."""

    rows: tuple[ListedRow, ...] = ()
    software: str = ""
    problem: str | None = None

    @property
    def owners(self) -> frozenset[str]:
        return frozenset(row.owner for row in self.rows if row.owner)

    @property
    def words(self) -> str:
        """What the list says, for a sentence that begins with its server."""
        if self.problem:
            return f"has no list of models (GET /models {self.problem})"
        names = [row.model.model.name for row in self.rows]
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        return f"lists {', '.join(names[:MOST_NAMES])}{more}" if names else "lists no models"

    def row(self, name: str) -> ListedRow | None:
        """The row of the model that answers to a name."""
        return next((row for row in self.rows if name in row.names), None)


def authorization(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


async def listing(http: Http, place: Place, key: str | None, dialect: Dialect) -> ServerListing:
    """What the server lists; that it has no list is no error. Raises: EndpointNotFound (nobody there), AuthError."""
    try:
        return await list_rows(http, place, key, dialect)
    except ProviderError as error:
        return ServerListing(problem=unlisted(error))


async def list_rows(http: Http, place: Place, key: str | None, dialect: Dialect) -> ServerListing:
    """The list with prices where there is one, else the plain list. Raises: EndpointNotFound, AuthError, BadReply."""
    if dialect.priced_list:
        try:
            return await _rows(http, place, key, dialect.priced_list, "models")
        except ProviderError as error:
            unlisted(error)  # a gateway before xAI need not have the list of prices
    return await _rows(http, place, key, "models", "data")


async def _rows(http: Http, place: Place, key: str | None, path: str, field: str) -> ServerListing:
    answer = await seen(http, f"{place.address}/{path}", authorization(key), place)
    record = table_of(answer, place, "list of models")
    rows = tuple(_row(row, place.provider) for row in need_rows(record, field))
    return ServerListing(rows, answer.headers.get("Server", ""))


def _row(row: JsonTable, provider: str) -> ListedRow:
    price = _price(row)
    note = None if price is None else f"${price.input:g} in, ${price.output:g} out per million tokens"
    lengths = (row.told(row.count, name) for name in _LENGTHS)
    name = row.needed("id")
    context_tokens = next(filter(None, lengths), None)
    created = row.told(row.amount, "created")
    listed = ListedModel(Model(provider, name), context_tokens=context_tokens, note=note, created=created)
    names = frozenset([name, *(row.told(row.texts, "aliases") or ())])
    return ListedRow(listed, names, price, row.told(row.text, "owned_by"))


def _price(row: JsonTable) -> Price | None:
    prompt, completion = (row.told(row.amount, name) for name in _PRICES)
    if prompt is None or completion is None:
        return None
    return Price(prompt * PRICE_UNIT_USD, completion * PRICE_UNIT_USD)
