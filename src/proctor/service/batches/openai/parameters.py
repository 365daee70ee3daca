"""Errors about a parameter of a request, as OpenAI's API tells them."""

from __future__ import annotations

from proctor.errors import ConfigError


def bad_parameter(message: str, param: str, code: str = "") -> ConfigError:
    """An error to be raised. `code` is OpenAI's word for what is wrong, where it has one."""
    error = ConfigError(message)
    error.param, error.code = param, code
    return error
