"""Which program answers at an address, by what it says of itself; never asked of a vendor's own address."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from proctor.errors import BadReply, ProviderError
from proctor.offered import Server
from proctor.providers.wire.http import Http
from proctor.providers.wire.refusals import Place
from proctor.providers.wire.wire_types import JsonTable, table_of

LOOK_S = 3.0
DESCRIPTION = "openapi.json"  # what every server made with FastAPI says of itself
UNVERSIONED = "0.1.0"  # what FastAPI writes there for a program that gives no version


@dataclass(frozen=True, slots=True)
class Sign:
    """How a program is known: by `owned_by` in its list of models, or by its Server header.

    `path` is where it tells its version, under the name `field`. `doubtful`: others write the same owner, so that
    only a version proves it.
    """

    server: str
    owner: str
    path: str | None = None
    field: str = "version"
    header: str | None = None
    doubtful: bool = False


SIGNS = (
    Sign("llama.cpp", "llamacpp", "props", "build_info", header="llama.cpp"),
    Sign("vllm", "vllm", "version"),
    Sign("sglang", "sglang", "get_server_info"),
    Sign("ollama", "library", "api/version"),
    Sign("lmstudio", "organization_owner"),
    Sign("llm-katan", "llm-katan", DESCRIPTION),
    # LiteLLM lists every model as OpenAI's; its /health would ask all of them, this one asks none.
    Sign("litellm", "openai", "health/readiness", "litellm_version", doubtful=True),
)
TITLES: Mapping[str, str] = {"LLM Katan": "llm-katan", "Mock LLM Server": "mockllm", "LiteLLM API": "litellm"}
# A server without a title of its own is known by a path that only it has.
OWN_PATHS: Mapping[str, str] = {"/load_model": "transformers"}


async def identified(
    http: Http, place: Place, headers: Mapping[str, str], owners: Iterable[str], software: str
) -> Server | None:
    """The program at the address; None where it does not say. One or two small requests, and it never fails.

    `headers` are those of every request there, `owners` what its list says the models' owners are, `software`
    its Server header.
    """
    sign = _sign(set(owners), software)
    if sign is not None and sign.path is None:
        return Server(sign.server)
    if sign is not None and sign.path is not None:
        found = await _told(http, place, headers, sign.path)
        # The description of FastAPI has the version under `info`.
        where = found.told(found.table, "info") if sign.path == DESCRIPTION else found
        version = _version(where, sign.field) if where else None
        if version or not sign.doubtful:
            return Server(sign.server, version, found.told(found.count, "total_slots"))
    return _described(await _told(http, place, headers, DESCRIPTION))


def _sign(owners: set[str], software: str) -> Sign | None:
    for sign in SIGNS:
        if sign.owner in owners or (sign.header and software.startswith(sign.header)):
            return sign
    return None


async def _told(http: Http, place: Place, headers: Mapping[str, str], path: str) -> JsonTable:
    """What stands at a path beside the protocol's; nothing where nothing does."""
    url = f"{place.address.removesuffix('/v1')}/{path}"
    with suppress(ProviderError):
        answer = await http.get(url, headers, timeout_s=LOOK_S)
        if answer.status == 200:
            return table_of(answer, place, path)
    return JsonTable({}, "", place.words)


def _version(found: JsonTable, field: str) -> str | None:
    return found.told(found.text, field) or None


def _described(found: JsonTable) -> Server | None:
    with suppress(BadReply):
        info, paths = found.table("info"), found.table("paths").fields
        if name := TITLES.get(info.text("title") or ""):
            version = _version(info, "version")
            return Server(name, None if version == UNVERSIONED else version)
        for path, name in OWN_PATHS.items():
            if path in paths:
                return Server(name)
    return None
