"""What an agent is told in place of a reply: errors in OpenAI's shape, without a word on where its model is."""

from __future__ import annotations

import orjson

from proctor.errors import AttemptError, BadRequest, ContextOverflow

BUDGET = (
    400  # codex asks again after 402 and 403, and keeps the words of 429 to itself; clients do not repeat it
)
MODEL_SERVER = 502


class Refusal(Exception):
    """An answer that is an error. `code` is OpenAI's word where it has one."""

    def __init__(
        self,
        status: int,
        message: str,
        kind: str = "invalid_request_error",
        *,
        code: str | None = None,
        param: str | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.kind, self.code, self.param = kind, code, param

    @property
    def body(self) -> bytes:
        told = {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}
        return orjson.dumps({"error": told})


def used_up(why: str) -> Refusal:
    return Refusal(BUDGET, f"No further call may be made: {why}.", "budget_exceeded", code="budget_exceeded")


def failed() -> Refusal:
    """The model's server did not answer; what it said is for whoever runs the benchmark."""
    return Refusal(MODEL_SERVER, "The model's server did not answer.", "server_error", code="server_error")


def passed_on(error: AttemptError) -> Refusal | None:
    """What the model's server finds wrong with this very request; None for what is its own trouble."""
    if not isinstance(error, BadRequest | ContextOverflow):
        return None
    said = _told(error.raw)
    code, message, param = (said.get(name) for name in ("code", "message", "param"))
    code = "context_length_exceeded" if isinstance(error, ContextOverflow) else code
    return Refusal(
        error.status if error.status in (400, 413, 422) else 400,
        message if isinstance(message, str) else "The model's server refused this request.",
        code=code if isinstance(code, str) else None,
        param=param if isinstance(param, str) else None,
    )


def _told(raw: bytes) -> dict[str, object]:
    try:
        record = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return {}
    told = record.get("error") if isinstance(record, dict) else None
    if isinstance(told, str):
        return {"message": told}
    return told if isinstance(told, dict) else {}
