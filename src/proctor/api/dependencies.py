"""What routes ask of the application: the context as far as the caller reaches, and who calls with which scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError

from proctor.service.admin.access import User
from proctor.service.context import Context

PREFIX = "/api/v1"


def _context(request: Request) -> Context:
    """As far as the caller reaches: no route gets a store that shows more."""
    context: Context = request.app.state.context
    user: User = request.scope["state"]["user"]
    return context.within(user.reach)


OpenContext = Annotated[Context, Depends(_context)]


def only_known_query(request: Request) -> None:
    """A query parameter that the OpenAPI document does not have is an error, as an unknown field of a body is.

    Raises RequestValidationError.
    """
    if not request.query_params:
        return
    route, method = request.scope["route"], request.method.lower()
    paths = request.app.openapi()["paths"]
    operation = paths.get(PREFIX + route.path_format, paths.get(route.path_format))[method]
    known = {each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"}
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        choices = f"known: {', '.join(sorted(known))}" if known else "there are none"
        raise RequestValidationError(
            [
                {"type": "extra_forbidden", "loc": ("query", name), "msg": f"No such parameter; {choices}"}
                for name in unknown
            ]
        )


def _with_scope(scope: str) -> Callable[[Request], User]:
    def who(request: Request) -> User:
        """Raises Forbidden."""
        user: User = request.scope["state"]["user"]
        user.check(scope)
        return user

    return who


Reader = Annotated[User, Depends(_with_scope("read"))]
Labeller = Annotated[User, Depends(_with_scope("label"))]
Runner = Annotated[User, Depends(_with_scope("run"))]
Admin = Annotated[User, Depends(_with_scope("admin"))]
