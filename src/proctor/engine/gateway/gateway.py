"""The gateway of a run: one model, asked by many trials, each over a server of its own."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from proctor.engine.asking import AskedModel
from proctor.engine.gateway.upstream import Upstream
from proctor.engine.outage import Outage
from proctor.offered import ListedModel
from proctor.providers.contract import Opening
from proctor.providers.ledger import Ledger
from proctor.providers.passthrough import open_passthrough
from proctor.providers.prices import Price
from proctor.types import Cell, Model

PORT = 8080
MOST_TOLD = 10_000  # requests whose tokens are remembered


@dataclass(slots=True)
class Gateway:
    """Made by `open_gateway`. What a server told of a request holds for the same request of any trial."""

    model: Model
    asked: AskedModel
    upstream: Upstream
    scrub: Callable[[bytes], bytes]
    price: Price | None = None
    budget: Ledger | None = None
    _told: OrderedDict[bytes, int] = field(default_factory=OrderedDict)

    async def check(self) -> ListedModel:
        """Raises: what the provider's own check does."""
        return await self.asked.check()

    async def warm(self) -> None:
        await self.asked.provider.warm()

    def learn(self, key: bytes, input_tokens: int | None) -> None:
        if input_tokens is None:
            return
        self._told[key] = input_tokens
        if len(self._told) > MOST_TOLD:
            self._told.popitem(last=False)

    def told(self, key: bytes) -> int | None:
        """The tokens that the server told of this very request; None where it has not."""
        return self._told.get(key)


def open_gateway(model: Model, cell: Cell, opening: Opening) -> Gateway:
    """Raises: ConfigError for a provider that answers exams alone."""
    provider = open_passthrough(model, opening)
    asked = AskedModel(provider, Outage(cell.limits.wait_for_server_s, lambda: True))
    price = opening.prices.of(model)
    return Gateway(
        model, asked, Upstream(provider, model.provider), opening.http.scrub, price, opening.budget
    )
