"""A look at a server before anything is spent: one GET, with errors that say where and what to do."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.errors import (
    AuthError,
    BadReply,
    BadRequest,
    EndpointNotFound,
    ModelNotFound,
    NetworkError,
    Overloaded,
    ProviderError,
    ServerError,
)
from proctor.offered import ListedModel
from proctor.providers.wire.http import Http, HttpResponse
from proctor.providers.wire.refusals import Place, refusal
from proctor.providers.wire.wire_types import JsonTable, table_of
from proctor.types import Model

LOOK_S = 30.0


# What says no more than that a list or a description is not to be had: whether a model answers is another matter.
NO_LIST = (EndpointNotFound, BadRequest, ModelNotFound, ServerError, Overloaded, BadReply)


def unlisted(error: ProviderError) -> str:
    """Why there is no list, in short. Raises the error itself where nobody is there at all."""
    if not isinstance(error, NO_LIST) or (isinstance(error, EndpointNotFound) and error.status is None):
        raise error
    return f"answered {error.status}" if error.status else "gives something else"


def undescribed(model: Model, error: ProviderError) -> ListedModel:
    """A model behind a gateway that does not describe its models. Raises the error where nobody is there at all."""
    return ListedModel(model, remarks=(f"the server does not describe {model.name}: it {unlisted(error)}",))


async def look(http: Http, url: str, headers: Mapping[str, str], place: Place, wanted: str) -> JsonTable:
    """The JSON object at the address. Raises: EndpointNotFound, AuthError, ModelNotFound, BadReply."""
    return table_of(await seen(http, url, headers, place), place, wanted)


async def seen(http: Http, url: str, headers: Mapping[str, str], place: Place) -> HttpResponse:
    """What is at the address. Raises: EndpointNotFound, AuthError, ModelNotFound."""
    try:
        answer = await http.get(url, headers, timeout_s=LOOK_S)
    except NetworkError as error:
        raise EndpointNotFound(
            f"{error}. Is the server running? {place.address_variable or 'The address'} "
            "or --base-url says where it is"
        ) from error
    if answer.status != 200:
        raise refusal(answer, place)
    return answer


def need_rows(record: JsonTable, name: str) -> tuple[JsonTable, ...]:
    """The rows of a list of models. Raises BadReply if there is no such list."""
    if record.fields.get(name) is None:
        raise BadReply(f"{record.where}: no list of models in the reply")
    return record.tables(name)


def need_key(key: str | None, place: Place, official: str) -> None:
    """Raises AuthError where the vendor's own server would be asked without a key."""
    if key is None and place.address == official:
        raise AuthError(
            f"No key for {place.provider} at {place.address}. Set {place.key_variable}; a server of your own "
            f"is named with {place.address_variable} or --base-url"
        )
