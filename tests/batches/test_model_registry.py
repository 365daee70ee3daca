"""The models that may be run: lists, edits, measured speed, names, and providers that are away."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from opened import over
from proctor.errors import ConfigError, NotFound
from proctor.plan.build import AS_WRITTEN
from proctor.references import BatchRef
from proctor.service.batches import registry
from proctor.service.batches.registry import KnownModel, ModelFacts
from proctor.service.context import Context
from proctor.settings import read_settings
from proctor.simulator import spawn
from proctor.store import Store
from proctor.store.queue.entries import Ticket, submit
from proctor.types import Cell, Model, Plan

AWAY = ("OPENAI", "XAI", "ANTHROPIC", "GEMINI")
OLMO = "openai/allenai/OLMo-2-1124-7B-Instruct"


def context_of(store: Store, tmp_path: Path, **environ: str) -> Context:
    nobody = {"OLLAMA_HOST": "127.0.0.1:9", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    return over(store, read_settings({"PROCTOR_HOME": str(tmp_path), **nobody, **environ}))


@pytest.fixture
def context(store: Store, tmp_path: Path) -> Context:
    return context_of(store, tmp_path)


def known(context: Context, model_id: str) -> KnownModel:
    return next(each for each in registry.models(context)[0] if each.model_id == model_id)


@contextmanager
def silent() -> Iterator[str]:
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.promise("B-10")
def test_models_have_a_name_a_size_and_the_memory_that_they_need(context: Context) -> None:
    registry.edit(context, OLMO, ModelFacts(name="OLMo 2 7B", parameters="7B", context_tokens=4096))
    registry.edit(context, "ollama/qwen3:8b", ModelFacts(size_bytes=5.2e9, quantization="Q4_K_M"))
    registry.edit(context, "ollama/small", ModelFacts(parameters="3B", quantization="Q4_0"))
    registry.edit(context, "ollama/told", ModelFacts(size_bytes=1e9, memory_bytes=3e9))
    registry.edit(context, "ollama/nothing-known", ModelFacts())
    found = {each.model_id: each for each in registry.models(context)[0]}
    memory = {ident: (each.memory_bytes, each.memory_from) for ident, each in found.items()}
    assert memory[OLMO] == (14e9, "parameters"), "16 bits a parameter where no quantisation is told"
    assert memory["ollama/qwen3:8b"] == (5.2e9, "weights") and memory["ollama/small"] == (1.5e9, "parameters")
    assert memory["ollama/told"] == (3e9, "told") and memory["ollama/nothing-known"] == (None, None)
    assert (found[OLMO].name, found[OLMO].context_tokens) == ("OLMo 2 7B", 4096)


def test_what_a_person_wrote_is_not_changed_by_a_list_and_what_a_list_told_is(
    store: Store, tmp_path: Path
) -> None:
    with spawn([], {}) as simulated:
        context = context_of(store, tmp_path, OPENAI_BASE_URL=f"{simulated.url}/v1", OPENAI_API_KEY="x")
        assert known(context, "openai/sim").offered
        registry.edit(context, "openai/sim", ModelFacts(name="Simulated", note="ours"))
        edited = known(context, "openai/sim")
        assert (edited.name, edited.note, edited.edited, edited.offered) == ("Simulated", "ours", True, True)
        registry.forget(context, "openai/sim")
        assert known(context, "openai/sim").name == "sim", "its provider lists it still"
    away = context_of(store, tmp_path)
    assert not known(away, "openai/sim").offered, "a provider that is away has its models on record"
    registry.forget(away, "openai/sim")
    with pytest.raises(NotFound):
        registry.forget(away, "openai/sim")


@pytest.mark.slow
def test_providers_that_are_away_cost_a_second_together_and_are_named(store: Store, tmp_path: Path) -> None:
    with silent() as one:
        addresses = dict.fromkeys(("OLLAMA_HOST", *(f"{each}_BASE_URL" for each in AWAY)), f"http://{one}")
        context = context_of(store, tmp_path, **addresses, **{f"{each}_API_KEY": "x" for each in AWAY})
        began = time.monotonic()
        found, away = registry.models(context)
        took = time.monotonic() - began
    assert {each.provider for each in away} == {"ollama", "openai", "grok", "anthropic", "gemini"}
    assert any(each.provider == "simulator" for each in found)
    # One second of waiting for all; the rest is room for a busy machine, and less than five waits one after the other.
    assert registry.LIST_S == 1.0 and took < 4.9, f"{took:.2f} s"


def test_the_last_batch_that_ended_tells_how_fast_a_model_is(context: Context) -> None:
    for elapsed, tokens in ((10.0, 100), (20.0, 600), (5.0, None)):
        plan = Plan((Cell(Model("simulator", "sim"), BatchRef("/b.jsonl"), AS_WRITTEN),))
        run = submit(context.store, plan, Ticket("ann"), most_queued=10, now=1.0)
        values = {"s": json.dumps({"profile": {"output_tokens": tokens}}), "e": elapsed, "id": run.id}
        with context.store.writing() as connection:
            connection.execute(
                text("UPDATE run SET finished_at=9.0, elapsed_s=:e, summary=:s WHERE id=:id"), values
            )
    measured = known(context, "simulator/sim")
    assert (measured.tokens_per_s, measured.measured_at) == (30.0, 9.0), "one that counted none says nothing"


@pytest.mark.promise("B-11")
def test_a_bare_name_means_the_model_that_has_it_on_record_or_on_offer(store: Store, tmp_path: Path) -> None:
    with spawn([], {}) as simulated:
        context = context_of(store, tmp_path, OPENAI_BASE_URL=f"{simulated.url}/v1", OPENAI_API_KEY="x")
        assert registry.model_of(context, "ollama/qwen3:8b") == Model("ollama", "qwen3:8b")
        assert registry.model_of(context, "gpt-4o-mini") == Model("openai", "gpt-4o-mini")
        with pytest.raises(NotFound, match="GET /admin/models"):
            registry.model_of(context, "allenai/OLMo-2-1124-7B-Instruct")
        registry.edit(context, OLMO, ModelFacts(name="OLMo 2 7B"))
        for asked in ("allenai/OLMo-2-1124-7B-Instruct", "OLMo 2 7B", OLMO):
            assert str(registry.model_of(context, asked)) == OLMO
        with pytest.raises(ConfigError, match=r"Several models .*openai/sim.*simulator/sim"):
            registry.model_of(context, "sim")


def test_a_model_that_is_run_is_on_record(context: Context) -> None:
    model = Model("openai", "somebody/Tiny-1.5B-Chat")
    registry.remember(context, model)
    found = known(context, str(model))
    assert (found.name, found.parameters, found.edited) == ("Tiny-1.5B-Chat", "1.5B", False)
    assert registry.name_of(context, model) == "Tiny-1.5B-Chat"
    with pytest.raises(ConfigError, match="PROVIDER/NAME"):
        registry.edit(context, "Tiny-1.5B-Chat", ModelFacts())
