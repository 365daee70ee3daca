"""Whether a model's vendor would be asked without the key that it wants."""

from __future__ import annotations

from proctor.providers import entry
from proctor.providers.passthrough.doors import DOORS
from proctor.settings import Settings
from proctor.settings.variables import SETTINGS
from proctor.types import Model


def missing_key(model: Model, settings: Settings) -> str | None:
    """The variables one of which is to hold the key; None where it is there, or the server is no vendor's own.

    Raises: ConfigError for an unknown provider.
    """
    listed, door = entry(model.provider), DOORS.get(model.provider)
    if listed.key is None or getattr(settings, listed.key) or door is None or door.setting is None:
        return None
    address = (model.base_url or getattr(settings, door.setting)).rstrip("/")
    vendors = next(each.default for each in SETTINGS if each.name == door.variable)
    return listed.key_variables if address == vendors else None
