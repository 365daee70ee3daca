"""Opening what a run needs besides the store: its source, its labels, its provider, its simulator."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from proctor.errors import ConfigError, DataMissing, EndpointNotFound, Forbidden
from proctor.plan import parse_model
from proctor.protocols import Source
from proctor.providers import PROVIDERS
from proctor.references import SourceRef
from proctor.service.kinds import kind_of
from proctor.service.kinds.contract import Tell
from proctor.service.opening.offers import offers
from proctor.service.serving.asked import asked_of, asking
from proctor.settings import Settings
from proctor.sources.exams.tables.tasks import SUITES
from proctor.types import Cell, Model

if TYPE_CHECKING:
    from proctor.simulator import KnownAnswer

WITHOUT_SERVER = ("baseline", "replay", "simulator", "serve")


def open_source(
    ref: SourceRef, settings: Settings, *, tell: Tell | None = None, fetch: bool = True
) -> Source:
    """The items that a reference means; what is not on this machine is fetched from the hub.

    `tell` hears of the download. Raises: ConfigError, DataError, DataMissing; Forbidden where the hub would have to
    be asked and `fetch` is False: whoever may only read sends this machine nowhere.
    """
    kind = kind_of(ref)
    ref = kind.resolved(ref, settings)
    missing = kind.missing(ref)
    try:
        return _opened(ref, settings)
    except DataMissing:
        if missing is None:
            raise
    if not fetch:
        raise Forbidden(missing.refused)
    missing.get(settings, tell)
    return _opened(ref, settings)


def _opened(ref: SourceRef, settings: Settings) -> Source:
    with _without_gc():
        source: Source = kind_of(ref).open(ref, settings)
    return source


@contextmanager
def _without_gc() -> Iterator[None]:
    """Rows are many, live on and hold no cycles: the collector would walk through them again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def models_named(
    names: Sequence[str], settings: Settings, *, base_url: str | None = None
) -> tuple[Model, ...]:
    """The models a user means. A baseline beside others needs no server: the address is the others'.

    Raises ConfigError.
    """
    alone = all(name.startswith("baseline/") for name in names)
    return tuple(
        model_named(name, settings, base_url=None if name.startswith("baseline/") and not alone else base_url)
        for name in names
    )


def model_named(name: str, settings: Settings, *, base_url: str | None = None) -> Model:
    """The model a user means. Raises ConfigError if the name does not tell its provider."""
    model = parse_model(name, tuple(PROVIDERS), base_url=base_url)
    if model is None:
        raise ConfigError(f"--model {name}: which provider? {_who_offers(name, settings)}")
    if base_url and model.provider not in ("ollama", "openai"):
        raise ConfigError(
            f"--base-url does not go with {model}: it names a server for ollama or openai models"
        )
    return model


def _who_offers(name: str, settings: Settings) -> str:
    """Where a bare name is to be had, as advice."""
    meant = {name, name.partition("/")[2]}  # "Ollama/qwen3" and "lama/qwen3" mean a model as well
    known = [
        str(m.model)
        for offer in offers(settings, ("ollama", "openai", "simulator"))
        for m in offer.models
        if meant & {m.model.name, m.model.name.removesuffix(":latest")}
    ]
    if known:
        return f"It is offered as {' and as '.join(known)}"
    providers = ", ".join(PROVIDERS)
    return f"No server that answers offers it. Write PROVIDER/NAME, such as ollama/{name}; providers: {providers}"


def suite_names() -> tuple[str, ...]:
    return tuple(SUITES)


@contextmanager
def with_servers(
    cells: Sequence[Cell], sources: Sequence[Source], settings: Settings
) -> Iterator[list[Cell]]:
    """The cells, with the servers running that come up for a run: simulators, and commands of proctor.toml."""
    asked = {asked_of(cell).provider for cell in cells}
    with ExitStack() as opened:
        if "simulator" in asked:
            cells = opened.enter_context(with_simulators(cells, sources))
        if "serve" in asked:
            from proctor.service.serving.served import with_served

            cells = opened.enter_context(with_served(cells, settings))
        yield list(cells)


@contextmanager
def with_simulators(cells: Sequence[Cell], sources: Sequence[Source]) -> Iterator[list[Cell]]:
    """The cells, with a simulator running behind those that name one; it ends with the block."""
    from proctor.simulator import FAVOURING
    from proctor.simulator.process import SimulatorDied, spawn

    names = {asked_of(cell).name for cell in cells if asked_of(cell).provider == "simulator"}
    favoured = sorted(name.removeprefix(FAVOURING) for name in names if name.startswith(FAVOURING))
    try:
        simulated = spawn([f"--favours={name}" for name in favoured], _known(cells, sources))
    except SimulatorDied as error:
        raise EndpointNotFound(str(error)) from error
    with simulated:
        at = f"{simulated.url}/v1"
        yield [
            asking(cell, replace(asked_of(cell), base_url=at))
            if asked_of(cell).provider == "simulator"
            else cell
            for cell in cells
        ]


def _known(cells: Sequence[Cell], sources: Sequence[Source]) -> dict[str, KnownAnswer]:
    """What a simulator can know of the sources; cells that ask the same share one."""
    known: dict[str, KnownAnswer] = {}
    for cell, source in {
        id(source): (cell, source) for cell, source in zip(cells, sources, strict=True)
    }.values():
        known.update(kind_of(cell.source).answers(source))
    return known
