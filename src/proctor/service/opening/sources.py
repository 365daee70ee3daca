"""Opening what a run needs besides the store: its source, its labels, its provider, its simulator."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from proctor.errors import ConfigError, DataMissing, EndpointNotFound, Forbidden
from proctor.plan import parse_model
from proctor.protocols import Source
from proctor.providers import PROVIDERS
from proctor.service.opening.offers import offers
from proctor.settings import Settings
from proctor.simulator import KnownAnswer, prompt_key
from proctor.simulator.process import SimulatorDied, spawn
from proctor.sources.exams.files.questions import open_file
from proctor.sources.exams.hub.download import ensure
from proctor.sources.exams.source import open_suite, task_keys
from proctor.sources.exams.tables.tasks import SUITES, TASKS
from proctor.types import Cell, Item, Model, SourceRef

WITHOUT_SERVER = ("baseline", "replay", "simulator")
Tell = Callable[[int, int], None]  # bytes that have come, of how many


def open_source(
    ref: SourceRef, settings: Settings, *, tell: Tell | None = None, fetch: bool = True
) -> Source:
    """The items that a reference means; what is not on this machine is fetched from the hub.

    `tell` hears of the download. Raises: ConfigError, DataError, DataMissing; Forbidden where the hub would have to
    be asked and `fetch` is False: whoever may only read sends this machine nowhere.
    """
    if ref.kind == "log":
        raise ConfigError(
            f"{ref.name} was imported from another tool: proctor has its answers but not its questions as they were "
            "asked. Ask again with that tool and import the new log, or run one of proctor's own suites"
        )
    if ref.kind == "file":
        with _without_gc():
            return open_file(ref)
    ref = resolved_source(ref, settings)
    try:
        with _without_gc():
            return open_suite(ref, settings.home)
    except DataMissing:
        if ref.rows not in (None, "hub"):
            raise
    if not fetch:
        raise Forbidden(
            f"The rows of {ref.name} are not on this server, and to fetch them from the hub takes a key with the "
            "scope 'run'. The sample rows are here: data \"sample\""
        )
    tasks = [TASKS[key] for key in task_keys(ref)]
    splits = ("eval", "dev") if ref.shots or ref.style else ("eval",)
    ensure(tasks, settings.home, settings, on_progress=tell, splits=splits)
    return open_suite(ref, settings.home)


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


def resolved_source(ref: SourceRef, settings: Settings) -> SourceRef:
    """The reference with the environment's choice of rows, where it makes none itself."""
    if ref.kind != "suite" or ref.rows:
        return ref
    return replace(ref, rows=settings.rows)


def with_origin(ref: SourceRef, source: Source) -> SourceRef:
    """The reference with the kind of rows that were found, so that a resume takes the same."""
    return ref if ref.kind != "suite" else replace(ref, rows=source.manifest["rows"])


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
def with_simulators(cells: Sequence[Cell], sources: Sequence[Source]) -> Iterator[list[Cell]]:
    """The cells, with a simulator running behind those that name one; it ends with the block."""
    if not any(cell.model.provider == "simulator" for cell in cells):
        yield list(cells)
        return
    try:
        simulated = spawn([], answers_to(sources))
    except SimulatorDied as error:
        raise EndpointNotFound(str(error)) from error
    with simulated:
        at = f"{simulated.url}/v1"
        yield [
            replace(cell, model=replace(cell.model, base_url=at))
            if cell.model.provider == "simulator"
            else cell
            for cell in cells
        ]


def answers_to(sources: Sequence[Source]) -> dict[str, KnownAnswer]:
    """What the simulator knows: for each prompt, by its hash, the right answer and some wrong ones."""
    known: dict[str, KnownAnswer] = {}
    for source in sources:
        items = [item for item in source.items() if item.target is not None]
        others = _targets(items)
        for item in items:
            right = source.spoken(item)
            wrong = tuple(source.wrong(item)) or tuple(t for t in others[item.group] if t != item.target)
            key = prompt_key([(m.role, m.content) for m in item.ask.messages])
            known[key] = KnownAnswer(right, wrong or (f"not {right}",))
    return known


def _targets(items: Sequence[Item]) -> dict[str, list[str]]:
    """Some targets of each task, in order of appearance: what a wrong answer in free words may look like."""
    seen: dict[str, dict[str, None]] = {}
    for item in items:
        group = seen.setdefault(item.group, {})
        if item.target is not None and len(group) < 10:
            group[item.target] = None
    return {group: list(targets) for group, targets in seen.items()}
