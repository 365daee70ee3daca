"""/admin/models: the models that may be run, with what is known of each; written over by hand where that is wrong."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path

from proctor.api import answers
from proctor.api.dependencies import Admin, OpenContext, Reader
from proctor.api.schemas import ModelRequest
from proctor.service.admin import access
from proctor.service.batches import registry
from proctor.service.batches.registry import KnownModel, ModelFacts

ROUTER = APIRouter(prefix="/admin/models", tags=["batches"])


@ROUTER.get("", summary="The models that may be run")
def listed(context: OpenContext, user: Reader) -> dict[str, Any]:
    """On record and on offer. All providers are asked at once, for a second at most; `away` says who did not tell."""
    found, away = registry.models(context)
    return {"models": [_document(each) for each in found], "away": away}


@ROUTER.post("", summary="Register a model, or correct what is known of it")
def edit(request: ModelRequest, context: OpenContext, user: Admin) -> dict[str, Any]:
    """What is left out stays as it is known. From then on no list of the provider changes it."""
    facts = ModelFacts(**request.model_dump(exclude={"model_id"}))
    made = registry.edit(context, request.model_id, facts)
    access.note(context, user.name, "edit-model", made.model_id, made.name)
    return _document(made)


@ROUTER.delete("/{model_id:path}", summary="Forget a model")
def forget(
    model_id: Annotated[str, Path(max_length=300, examples=["simulator/sim"])],
    context: OpenContext,
    user: Admin,
) -> dict[str, Any]:
    """Its runs stay. A model that its provider lists is there again with the next list, as the provider tells it."""
    registry.forget(context, model_id)
    access.note(context, user.name, "forget-model", model_id, "")
    return {"message": f"Model {model_id} forgotten"}


def _document(of: KnownModel) -> dict[str, Any]:
    return {**asdict(of), "measured_at": answers.stamp(of.measured_at)}
