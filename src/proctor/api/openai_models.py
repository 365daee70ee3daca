"""/v1/models: every model that answers requests of one's own, as OpenAI's API lists models."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Path

from proctor.api.openai_callers import Reading
from proctor.api.openai_errors import RESPONSES
from proctor.service.batches.openai import models as openai_models

ROUTER = APIRouter(prefix="/v1/models", tags=["openai"], responses=RESPONSES)


@ROUTER.get("", summary="List models")
def listed(caller: Reading) -> dict[str, Any]:
    """Of all providers, asked at the same time; one that does not answer within a second is left out."""
    now = time.time()
    found = caller.models.now()
    return {"object": "list", "data": [openai_models.document(each, now) for each in found]}


@ROUTER.get("/{model:path}", summary="One model")
def one(
    model: Annotated[str, Path(max_length=300, examples=["ollama/qwen3:8b"])], caller: Reading
) -> dict[str, Any]:
    return openai_models.document(caller.models.one(model), time.time())
