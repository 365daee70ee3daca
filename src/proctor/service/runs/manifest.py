"""A run's manifest as it begins: what its numbers will rest on, as far as that is known before the first item."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Any

from proctor import __version__
from proctor.service.runs.running import Ready
from proctor.types import Sampling


def new_manifest(each: Ready, replies: str | None) -> dict[str, Any]:
    """What the run's numbers rest on, as far as it is known before the first item."""
    cell = each.cell
    return {
        **each.source.manifest,
        "proctor": __version__,
        "model": {
            "name": str(cell.model),
            "address": each.provider.address or None,
            "digest": each.listed.digest,
            "quantization": each.listed.quantization,
            "parameters": each.listed.parameters,
            "note": each.listed.note,
            "server": str(each.listed.server) if each.listed.server else None,
        },
        # Only what reached the model: a manifest must not claim a setting that the protocol has no word for.
        "sampling": {k: v for k, v in asdict(cell.sampling).items() if k not in each.provider.unsent},
        "mode": cell.sampling.mode,
        "remarks": list(each.listed.remarks),
        # Without a server nothing is sent, so nothing is missing from it.
        "not_sent": _not_sent(cell.sampling, each.provider.unsent) if each.provider.pacing else [],
        "repeats": cell.repeats,
        "replies": replies,
    }


def _not_sent(sampling: Sampling, unsent: Collection[str]) -> list[str]:
    """What the user asked for although the model's protocol has no word for it."""
    usual = Sampling()
    return sorted(name for name in unsent if getattr(sampling, name) != getattr(usual, name))
