"""Looks at a server through a provider, each in an event loop of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

from proctor.offered import ListedModel
from proctor.providers import list_models
from proctor.providers.contract import Opening
from proctor.providers.prices import read_prices
from proctor.providers.wire.http import Http
from proctor.types import Model
from simulators import provider, settings


def checked(model: Model, home: Path, **environ: str) -> ListedModel:
    async def work() -> ListedModel:
        async with provider(model, home, **environ) as opened:
            return await opened.check()

    return asyncio.run(work())


def listed(name: str, home: Path, **environ: str) -> list[ListedModel]:
    async def work() -> list[ListedModel]:
        known = settings(home, **environ)
        http = Http(parallel=2, timeout_s=10)
        try:
            return await list_models(name, Opening(known, http, read_prices(home)))
        finally:
            await http.close()

    return asyncio.run(work())
