"""`proctor models`: what there is to be asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import click

from proctor.cli.options import json_option
from proctor.offered import ListedModel
from proctor.settings import read_settings


@click.command("models")
@click.argument("provider", required=False)
@json_option
def models_command(provider: str | None, as_json: bool) -> int:
    """List the models that PROVIDER (or every provider) offers now."""
    from proctor.service.opening.offers import offers
    from proctor.service.results import documents

    found = offers(read_settings(os.environ), (provider,) if provider else ())
    if as_json:
        document = [
            {
                "provider": o.provider,
                "title": o.title,
                "models": [_record(m) for m in o.models],
                "problem": str(o.problem) if o.problem else None,
            }
            for o in found
        ]
        click.echo(documents.to_json({"providers": document}))
    else:
        for offer in found:
            click.echo(f"{offer.provider}: {offer.title}{_served_by(offer.models)}")
            for model in offer.models:
                click.echo(f"  {_line(model)}")
            if not offer.models and not offer.problem and offer.provider == "openai":
                click.echo("  It lists none; a model that answers there can be run by its name all the same")
            if offer.problem and not provider:
                click.echo(f"  - {offer.problem}")
    if provider and found[0].problem:
        raise found[0].problem
    return 0


def _record(m: ListedModel) -> dict[str, Any]:
    return {**asdict(m), "model": str(m.model)}


def _served_by(models: Sequence[ListedModel]) -> str:
    servers = {str(m.server) for m in models if m.server}
    return f", here {', '.join(sorted(servers))}" if servers else ""


def _line(m: ListedModel) -> str:
    size = f"{m.size_bytes / 1e9:.1f} GB" if m.size_bytes else None
    facts = ", ".join(fact for fact in (m.parameters, m.quantization, size, m.note) if fact)
    return f"{m.model}  ({facts})" if facts else str(m.model)
