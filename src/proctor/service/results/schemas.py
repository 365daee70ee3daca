"""Whether the replies of a structured run are what their schema admits: counted when the run ends."""

from __future__ import annotations

from dataclasses import replace

from proctor.manifest import Adherence
from proctor.providers import PROVIDERS
from proctor.providers.modes import keeps
from proctor.service.results.comparable import comparability, exam
from proctor.store import Store
from proctor.store.read import said
from proctor.types import Run


def with_adherence(store: Store, run: Run) -> Run:
    """The run with the count in its manifest, where it was asked under a schema and any reply tells.

    A run whose server did not enforce the schema is comparable with others of its kind only: its keys say so too.
    Raises StoreError.
    """
    counted = _counted(store, run) if _under_schema(run) else None
    if counted is None:
        return run
    manifest = replace(run.manifest, schema=counted)
    alike, same = comparability(manifest), exam(manifest)
    store.set_manifest(run.id, manifest, keys=(alike, same))
    return replace(run, manifest=manifest, comparability=alike, exam=same)


def _under_schema(run: Run) -> bool:
    """Baselines, replays, agents and other tools' logs were never sent a schema."""
    provider = PROVIDERS.get(run.cell.model.provider)
    asked = not run.cell.source.imported and provider is not None and bool(provider.modes)
    return asked and run.manifest.mode == "structured"


def _counted(store: Store, run: Run) -> Adherence | None:
    replies = held = 0
    for each in said.latest(store, run.id):
        if each.finish == "stop" and each.text.strip():
            replies += 1
            held += keeps(each.text, each.options)
    return Adherence(replies, held) if replies else None
