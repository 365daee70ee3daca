"""What tests of the dashboard look at: a server and the seeded store behind it."""

from __future__ import annotations

from dataclasses import dataclass

from demo_store import Demo


@dataclass(frozen=True)
class Site:
    """A server on a seeded store; nothing works in its queue, so that its pages stand still."""

    url: str
    demo: Demo
