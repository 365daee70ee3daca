"""A run's manifest as it begins: what its numbers will rest on, as far as that is known before the first item."""

from __future__ import annotations

from collections.abc import Collection

from proctor import __version__
from proctor.manifest import Manifest, SentSampling, ServedModel
from proctor.service.runs.asking import Ready
from proctor.types import Sampling


def new_manifest(each: Ready, replies: str | None) -> Manifest:
    """What the run's numbers rest on, as far as it is known before the first item."""
    cell, listed = each.cell, each.listed
    return Manifest(
        facts=each.source.facts,
        proctor=__version__,
        model=ServedModel(
            name=str(cell.model),
            address=each.provider.address or None,
            digest=listed.digest,
            quantization=listed.quantization,
            parameters=listed.parameters,
            note=listed.note,
            server=str(listed.server) if listed.server else None,
        ),
        # Only what reached the model: a manifest must not claim a setting that the protocol has no word for.
        sampling=SentSampling.without(cell.sampling, each.provider.unsent),
        mode=cell.sampling.mode,
        remarks=listed.remarks,
        # Without a server nothing is sent, so nothing is missing from it.
        not_sent=_not_sent(cell.sampling, each.provider.unsent) if each.provider.pacing else (),
        repeats=cell.repeats,
        replies=replies,
    )


def _not_sent(sampling: Sampling, unsent: Collection[str]) -> tuple[str, ...]:
    """What the user asked for although the model's protocol has no word for it; None asks for nothing."""
    usual = Sampling()
    said = ((name, getattr(sampling, name)) for name in unsent)
    return tuple(sorted(name for name, value in said if value not in (None, getattr(usual, name))))
