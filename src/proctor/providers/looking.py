"""A look at a server before anything is spent: one GET, with errors that say where and what to do."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.errors import AuthError, BadReply, EndpointNotFound, NetworkError
from proctor.providers.http import Http
from proctor.providers.refusals import Place, refusal
from proctor.providers.wire_types import Table, table_of

LOOK_S = 30.0


async def look(http: Http, url: str, headers: Mapping[str, str], place: Place, wanted: str) -> Table:
    """The JSON object at the address. Raises: EndpointNotFound, AuthError, ModelNotFound, BadReply."""
    try:
        answer = await http.get(url, headers, timeout_s=LOOK_S)
    except NetworkError as error:
        raise EndpointNotFound(
            f"{error}. Is the server running? {place.address_variable or 'The address'} "
            "or --base-url says where it is"
        ) from error
    if answer.status != 200:
        raise refusal(answer, place)
    return table_of(answer, place, wanted)


def need_rows(record: Table, name: str) -> tuple[Table, ...]:
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
