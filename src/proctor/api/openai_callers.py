"""Who calls OpenAI's API, and in which project: that of the key, or the one that the header OpenAI-Project names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from proctor.api.dependencies import OpenContext
from proctor.errors import Unauthorized
from proctor.service.admin import access
from proctor.service.admin.access import Reach, User
from proctor.service.batches.openai.models import ModelList
from proctor.service.batches.openai.steps import Keeper
from proctor.service.context import Context

HEADER = "openai-project"


@dataclass(frozen=True, slots=True)
class Caller:
    """`context` holds the one project in which files and batches are kept and seen."""

    context: Context
    project_id: int
    user: User
    keeper: Keeper
    models: ModelList

    def note(self, action: str, target: str, about: str) -> None:
        access.note(self.context, self.user.name, action, target, about, project_id=self.project_id)


def _with_scope(scope: str) -> Callable[[Request, Context], Caller]:
    def who(request: Request, context: OpenContext) -> Caller:
        """Raises: Forbidden, Unauthorized for a project that the key does not reach."""
        user: User = request.scope["state"]["user"]
        user.check(scope)
        project_id = _project(context, request.headers.get(HEADER))
        within = context.within(Reach(frozenset({project_id})))
        state = request.app.state
        return Caller(within, project_id, user, state.keeper, state.models)

    return who


def _project(context: Context, named: str | None) -> int:
    if not named:
        return access.first_project(context).id
    for each in access.projects(context):
        if named in (each.name, str(each.id)):
            return each.id
    raise Unauthorized(
        f"OpenAI-Project {named[:100]!r} is no project of this API key: give its name or its id"
    )


Reading = Annotated[Caller, Depends(_with_scope("read"))]
Running = Annotated[Caller, Depends(_with_scope("run"))]
