"""A model's endpoint in a box's own loopback: agents of other makers ask it, and what they use is counted here."""

from proctor.engine.gateway.gateway import PORT, Gateway, open_gateway
from proctor.engine.gateway.trial import TrialGateway

__all__ = ["PORT", "Gateway", "TrialGateway", "open_gateway"]
