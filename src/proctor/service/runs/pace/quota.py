"""A run that is asked as part of a fleet: its provider's quota is shared with all processes of one Redis."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from proctor.providers import PROVIDERS
from proctor.providers.contract import Provider
from proctor.providers.pacing.fleet import quota_key, sharing
from proctor.providers.pacing.limiter import Limiter
from proctor.providers.wire.http import Http
from proctor.providers.wire.rates import told_rates
from proctor.settings import Settings
from proctor.types import Model


@asynccontextmanager
async def in_fleet(
    model: Model, provider: Provider, http: Http, limiter: Limiter | None, settings: Settings
) -> AsyncIterator[None]:
    """While it lasts the limiter keeps the fleet's quota of this provider, address, model and key.

    Nothing happens without PROCTOR_REDIS_URL, or where there is no server to be asked.
    """
    if settings.redis_url is None or limiter is None:
        yield
        return
    field = PROVIDERS[model.provider].key if model.provider in PROVIDERS else None
    secret = getattr(settings, field) if field else None
    key = quota_key(model.provider, provider.address, model.name, secret=secret)
    slots = provider.pacing.most if provider.pacing is not None and provider.pacing.fixed else None
    async with sharing(settings.redis_url, limiter, key, slots=slots) as share:

        def hear(headers: Mapping[str, str], elapsed_s: float) -> None:
            if rates := told_rates(headers, now=time.time()):
                share.heard(rates, limiter.clock() - elapsed_s)

        http.heard = hear
        try:
            yield
        finally:
            http.heard = None
