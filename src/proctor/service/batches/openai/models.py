"""The models that OpenAI's API lists, and which model a name in a request means."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from proctor.errors import NotFound
from proctor.offered import ListedModel
from proctor.providers.passthrough import DOORS
from proctor.service.batches import registry
from proctor.service.context import Context
from proctor.service.opening.offers import chat_models
from proctor.settings import Settings
from proctor.types import Model

FRESH_S = 15.0
STARTED_FOR_RUNS = "simulator"  # it is no server that anybody finds


@dataclass(slots=True)
class ModelList:
    """What providers list, asked for all at once and kept for a moment: clients ask for it often."""

    settings: Settings
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _found: tuple[ListedModel, ...] = ()
    _until: float = 0.0

    def now(self) -> tuple[ListedModel, ...]:
        """Models that answer requests of one's own, by their ids."""
        with self._lock:  # who comes second waits for the first one's list
            if time.monotonic() >= self._until:
                self._found = self._listed()
                self._until = time.monotonic() + FRESH_S
            return self._found

    def _listed(self) -> tuple[ListedModel, ...]:
        providers = tuple(name for name in DOORS if name != STARTED_FOR_RUNS)
        found: dict[str, ListedModel] = {}
        for offer in registry.offered(self.settings, providers):
            prompts = set(chat_models(offer))
            found |= {str(each.model): each for each in offer.models if each.model in prompts}
        return tuple(found[ident] for ident in sorted(found))

    def one(self, ident: str) -> ListedModel:
        """Raises: NotFound."""
        for each in self.now():
            if str(each.model) == ident:
                return each
        raise NotFound(f"The model '{ident}' does not exist")


def resolved(context: Context, name: str) -> Model:
    """The model that a request's `body.model` means. Raises: NotFound; ConfigError where several are called so."""
    model = registry.model_of(context, name)
    if model.provider not in DOORS:
        raise NotFound(f"The model '{name}' answers exams alone, no requests of one's own")
    return model


def document(of: ListedModel, now: float) -> dict[str, Any]:
    """As the API tells it. Of a provider that does not say when a model was made it is made now."""
    created = now if of.created is None else of.created
    return {"id": str(of.model), "object": "model", "created": int(created), "owned_by": of.model.provider}
