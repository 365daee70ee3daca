"""Addresses of requests: any name that a user gave one can stand in a path, or else in its bytes."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from proctor.errors import ConfigError

IN_BYTES = "id64:"  # what a parameter begins with that has a name in its bytes
# What browsers or proxies take for a way through folders, what no address may hold, and what is too long for one.
ODD = re.compile("(^|/)\\.{1,2}(/|$)|[\x00-\x1f\x7f-\x9f]|^.{1500}", re.DOTALL)


def query(asked: Mapping[str, Any], **changed: Any) -> str:
    """The query of an address with some of its parameters changed; empty ones are left out.

    >>> query({"a": 1, "b": "", "c": None}, a=2)
    '?a=2'
    """
    kept = {name: value for name, value in {**asked, **changed}.items() if value not in ("", None)}
    return "?" + urlencode(kept, doseq=True) if kept else "?"


def request_path(run_id: str, custom_id: str, asked: Mapping[str, Any] | None = None) -> str:
    """The address of a request's page; of one whose name no path can hold, by its bytes.

    >>> request_path("R", "a/b ü?"), request_path("R", "..", {"status": "failed"})
    ('/runs/R/requests/a%2Fb%20%C3%BC%3F', '/runs/R/request?id64=Li4&status=failed')
    """
    if ODD.search(custom_id):
        return f"/runs/{run_id}/request" + query({"id64": encoded(custom_id), **(asked or {})})
    return f"/runs/{run_id}/requests/{quote(custom_id, safe='')}" + query(asked or {}).removesuffix("?")


def trial_path(benchmark: str, run: str, task: str, rollout: int, part: str = "", **asked: Any) -> str:
    """The address of a trial's page, or of a part of it; a task may be called anything, so it is no part of the path.

    >>> trial_path("B", "R", "mend/..", 2)
    '/rollouts/B/trials/R/2?task=mend%2F..'
    """
    return f"/rollouts/{benchmark}/trials/{run}/{rollout}{part}" + query({"task": task}, **asked)


def model_path(full: str) -> str:
    """The address of a model's page, by `provider/name`; of a name that no path can hold, the list that finds it.

    >>> model_path("ollama/qwen3:8b"), model_path("openai/org/big?"), model_path("ollama/../x")
    ('/models/ollama/qwen3%3A8b', '/models/openai/org/big%3F', '/models?q=ollama%2F..%2Fx')
    """
    if ODD.search(full) or "/" not in full or full.endswith("/"):
        return "/models" + query({"q": full})
    return f"/models/{quote(full, safe='/')}"


def as_parameter(custom_id: str) -> str:
    """A name as a parameter of an address holds it; `named_by` takes it back.

    >>> as_parameter("a/b"), as_parameter("tab\\there"), named_by(as_parameter("tab\\there")) == "tab\\there"
    ('a/b', 'id64:dGFiCWhlcmU', True)
    """
    odd = ODD.search(custom_id) or custom_id.startswith(IN_BYTES)
    return IN_BYTES + encoded(custom_id) if odd else custom_id


def named_by(parameter: str) -> str:
    """Raises: ConfigError."""
    return decoded(parameter.removeprefix(IN_BYTES)) if parameter.startswith(IN_BYTES) else parameter


def encoded(custom_id: str) -> str:
    """A name as base64url of its bytes, which any address holds; `decoded` takes it back."""
    return base64.urlsafe_b64encode(custom_id.encode()).decode().rstrip("=")


def decoded(id64: str) -> str:
    """Raises: ConfigError."""
    try:
        return base64.urlsafe_b64decode(id64 + "=" * (-len(id64) % 4)).decode()
    except (binascii.Error, ValueError):
        raise ConfigError(f"id64={id64[:40]!r} is no custom_id in base64url") from None
