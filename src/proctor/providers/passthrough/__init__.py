"""Requests sent as their users wrote them, to the endpoints that a provider has in OpenAI's shapes."""

from proctor.providers.passthrough.asking import Passthrough, open_passthrough
from proctor.providers.passthrough.doors import DOORS, Door, address_of
from proctor.providers.passthrough.shapes import ENDPOINTS

__all__ = ["DOORS", "ENDPOINTS", "Door", "Passthrough", "address_of", "open_passthrough"]
