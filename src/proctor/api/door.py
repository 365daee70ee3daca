"""What routes ask of the application: the desk as far as the caller reaches, and who calls with which scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, Request

from proctor.service.access import User
from proctor.service.desk import Desk


def _desk(request: Request) -> Desk:
    """As far as the caller reaches: no route gets a store that shows more."""
    desk: Desk = request.app.state.desk
    user: User = request.scope["state"]["user"]
    return desk.within(user.reach)


OpenDesk = Annotated[Desk, Depends(_desk)]


def _with_scope(scope: str) -> Callable[[Request], User]:
    def who(request: Request) -> User:
        """Raises Forbidden."""
        user: User = request.scope["state"]["user"]
        user.check(scope)
        return user

    return who


Reader = Annotated[User, Depends(_with_scope("read"))]
Runner = Annotated[User, Depends(_with_scope("run"))]
Admin = Annotated[User, Depends(_with_scope("admin"))]
