"""Simulators for tests: real servers in processes of their own, with questions they know."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from loops import loop_in_thread
from proctor.providers import open_provider
from proctor.providers.contract import Opening, Provider
from proctor.providers.prices import read_prices
from proctor.providers.wire.http import Http
from proctor.settings import Settings, read_settings
from proctor.simulator import Answers, KnownAnswer, Simulated, prompt_key, spawn
from proctor.simulator.app import listen, make_app
from proctor.simulator.options import parse
from proctor.types import Chat, Gold, Grade, Item, Message, Model, Outcome, Reply, Sampling


def questions(n: int, *, start: int = 0) -> list[Item]:
    """Sums with four options, as a suite's items would be."""
    items = []
    for i in range(start, start + n):
        text = f"What is {i} + {i}?\nA. {2 * i}\nB. {2 * i + 1}\nC. {2 * i + 2}\nD. {2 * i + 3}\nAnswer: <letter>"
        choices = tuple(str(2 * i + k) for k in range(4))
        items.append(
            Item(
                f"sums/{i}",
                "sums",
                Chat((Message("user", text),)),
                Gold("A"),
                choices=choices,
                hash=f"hash-{i}",
            )
        )
    return items


def known(items: Sequence[Item]) -> dict[str, KnownAnswer]:
    return {
        prompt_key([(m.role, m.content) for m in item.ask.messages]): KnownAnswer(
            item.target or "", ("B", "C", "D")
        )
        for item in items
    }


@contextmanager
def simulator(items: Sequence[Item], *options: str) -> Iterator[Simulated]:
    with spawn(list(options), known(items)) as running:
        yield running


def read(item: Item, reply: Reply) -> Grade:
    """The last letter after `Answer:`; enough for sums."""
    said = reply.text.rpartition("Answer:")[2].strip()[:1]
    if not said:
        truncated = reply.finish == "length"
        return Grade(Outcome.TRUNCATED if truncated else Outcome.NO_ANSWER, 0.0)
    right = said == item.target
    return Grade(Outcome.CORRECT if right else Outcome.WRONG, float(right), said, 2)


def settings(home: Path, **environ: str) -> Settings:
    return read_settings({"PROCTOR_HOME": str(home), **environ})


@asynccontextmanager
async def provider(
    model: Model, home: Path, *, sampling: Sampling | None = None, timeout_s: float = 20.0, **environ: str
) -> AsyncIterator[Provider]:
    """A provider opened as a run opens it."""
    known_settings = settings(home, **environ)
    http = Http(parallel=64, timeout_s=timeout_s, secrets=known_settings.secrets)
    try:
        opening = Opening(known_settings, http, read_prices(home))
        yield open_provider(model, sampling or Sampling(), opening)
    finally:
        await http.close()


def ask(model: Model, home: Path, item: Item, **given: object) -> Reply:
    """One request through a provider, in a loop of its own."""

    async def work() -> Reply:
        async with provider(model, home, **given) as opened:  # type: ignore[arg-type]  # passed on as given
            return await opened(item, 0)

    return asyncio.run(work())


@contextmanager
def nearby(items: Sequence[Item] | Answers, *options: str) -> Iterator[str]:
    """A simulator in a thread of this process, there at once; gives its address."""
    setup = parse(options)
    answers = items if isinstance(items, Mapping) else known(items)
    app = make_app(answers, setup.behaviours, slots=setup.slots, terms=setup.terms, key=setup.key)
    with loop_in_thread() as loop:
        listening = asyncio.run_coroutine_threadsafe(listen(app), loop).result()
        yield listening.url
        asyncio.run_coroutine_threadsafe(listening.close(), loop).result()
