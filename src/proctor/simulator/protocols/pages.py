"""The pages of servers with quirks: lists of models, properties, slots, health, and metrics for Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from proctor.simulator.protocols import openai
from proctor.simulator.protocols.wire import Ask, Denied, Known, ServerTerms, SimulatedReply, Stamp

_TEXT = "text/plain; version=0.0.4"
_JSON = "application/json"
# The ends of vLLM's buckets for seconds.
_ENDS = (
    0.3,
    0.5,
    0.8,
    1.0,
    1.5,
    2.0,
    2.5,
    5.0,
    10.0,
    15.0,
    20.0,
    30.0,
    40.0,
    50.0,
    60.0,
    120.0,
    240.0,
    480.0,
)
_FINISHED = {"length": "length"}


@dataclass(slots=True)
class _Histogram:
    counts: list[int] = field(default_factory=lambda: [0] * (len(_ENDS) + 1))
    total: float = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(_ENDS, value)] += 1
        self.total += value


@dataclass(slots=True)
class Metered:
    """What one model has done since the start."""

    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    finished: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    seconds: Mapping[str, _Histogram] = field(
        default_factory=lambda: {
            name: _Histogram() for name in ("queue", "inference", "prefill", "decode", "e2e")
        }
    )


class ServerMeter:
    """What the metrics tell: counts and seconds by model, for replies that were given."""

    def __init__(self) -> None:
        self.by_model: defaultdict[str, Metered] = defaultdict(Metered)

    def add(self, ask: Ask, said: SimulatedReply, stamp: Stamp) -> None:
        model = self.by_model[ask.name]
        model.requests += 1
        model.prompt_tokens += ask.input_tokens
        model.cached_tokens += stamp.cached_tokens or 0
        model.output_tokens += sum(one.output_tokens for one in said.all)
        model.finished[_FINISHED.get(said.finish, "stop")] += 1
        took = {"queue": stamp.waited_s, "inference": stamp.latency_s, "prefill": stamp.prompt_s}
        took |= {"decode": stamp.latency_s - stamp.prompt_s, "e2e": stamp.waited_s + stamp.latency_s}
        for name, value in took.items():
            model.seconds[name].add(value)


@dataclass(frozen=True, slots=True)
class View:
    """What a page may tell."""

    known: Known
    terms: ServerTerms
    slots: int
    serving: int
    waiting: int
    meter: ServerMeter

    @property
    def first(self) -> str:
        return next(iter(self.known))


def models(known: Known, terms: ServerTerms) -> bytes:
    """What GET /v1/models answers. Raises: Denied where the list is missing or broken."""
    quirks = terms.quirks
    if quirks.listing == "missing":
        raise Denied(404, {"detail": "Not Found"})
    if quirks.listing == "broken":
        raise Denied(500, b"Internal Server Error", {"Content-Type": "text/plain; charset=utf-8"})
    names = () if quirks.listing == "none" else known
    rows = [_entry(name, terms) for name in names]
    if quirks.entry != "llama.cpp":
        return orjson.dumps({"object": "list", "data": rows})
    own = [{"name": name, "model": name, "type": "model", "capabilities": ["completion"]} for name in names]
    return orjson.dumps({"models": own, "object": "list", "data": rows})


def _entry(name: str, terms: ServerTerms) -> dict[str, Any]:
    quirks = terms.quirks
    entry = {**openai.entry(name), **({"owned_by": quirks.owner} if quirks.owner else {})}
    if quirks.entry == "llama.cpp":
        meta = {"n_vocab": 49152, "n_ctx": terms.context_tokens, "n_ctx_train": terms.context_tokens}
        entry |= {"aliases": [name], "tags": [], "meta": {**meta, "n_params": 134515008, "ftype": "Q4_1"}}
    elif quirks.entry == "vllm":
        entry |= {"root": name, "parent": None, "max_model_len": terms.context_tokens, "permission": []}
    return entry


def _props(view: View) -> Any:
    return {
        "default_generation_settings": {
            "params": {"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05, "repeat_penalty": 1.0},
            "n_ctx": view.terms.context_tokens,
        },
        "total_slots": view.slots,
        "model_alias": view.first,
        "model_ftype": "Q4_1",
        "model_path": f"{view.first}.gguf",
        "modalities": {"vision": False, "audio": False},
        "endpoint_slots": True,
        "endpoint_props": False,
        "endpoint_metrics": True,
        "chat_template": "{% for message in messages %}{{ message['content'] }}{% endfor %}",
        "build_info": view.terms.quirks.fingerprint,
        "is_sleeping": False,
    }


def _slots(view: View) -> Any:
    return [
        {"id": i, "n_ctx": view.terms.context_tokens, "is_processing": i < view.serving}
        for i in range(view.slots)
    ]


def _llama_metrics(view: View) -> Iterator[str]:
    done = view.meter.by_model.values()
    read_s = sum(model.seconds["prefill"].total for model in done)
    written_s = sum(model.seconds["decode"].total for model in done)
    read = sum(model.prompt_tokens - model.cached_tokens for model in done)
    written = sum(model.output_tokens for model in done)
    for name, kind, value in (
        ("prompt_tokens_total", "counter", read),
        ("prompt_tokens_cached_total", "counter", sum(model.cached_tokens for model in done)),
        ("prompt_seconds_total", "counter", read_s),
        ("tokens_predicted_total", "counter", written),
        ("tokens_predicted_seconds_total", "counter", written_s),
        ("prompt_tokens_seconds", "gauge", read / read_s if read_s else 0),
        ("predicted_tokens_seconds", "gauge", written / written_s if written_s else 0),
        ("requests_processing", "gauge", view.serving),
        ("requests_deferred", "gauge", view.waiting),
    ):
        yield f"# TYPE llamacpp:{name} {kind}"
        yield f"llamacpp:{name} {value:g}" if isinstance(value, float) else f"llamacpp:{name} {value}"


_VLLM_SECONDS = {
    "request_queue_time_seconds": "queue",
    "request_inference_time_seconds": "inference",
    "request_prefill_time_seconds": "prefill",
    "request_decode_time_seconds": "decode",
    "e2e_request_latency_seconds": "e2e",
    "time_to_first_token_seconds": "prefill",
}


def _vllm_metrics(view: View) -> Iterator[str]:
    models = view.meter.by_model if view.meter.by_model else {view.first: Metered()}
    for name, value in (("num_requests_running", view.serving), ("num_requests_waiting", view.waiting)):
        yield f"# TYPE vllm:{name} gauge"
        yield f'vllm:{name}{{engine="0",model_name="{view.first}"}} {float(value)}'
    for name, attribute in (("prompt_tokens", "prompt_tokens"), ("generation_tokens", "output_tokens")):
        yield f"# TYPE vllm:{name}_total counter"
        for model, done in models.items():
            yield f'vllm:{name}_total{{engine="0",model_name="{model}"}} {float(getattr(done, attribute))}'
    yield "# TYPE vllm:request_success_total counter"
    for model, done in models.items():
        for reason in ("stop", "length"):
            labels = f'{{engine="0",finished_reason="{reason}",model_name="{model}"}}'
            yield f"vllm:request_success_total{labels} {float(done.finished[reason])}"
    for name, key in _VLLM_SECONDS.items():
        yield f"# TYPE vllm:{name} histogram"
        for model, done in models.items():
            yield from _buckets(f"vllm:{name}", f'model_name="{model}"', done.seconds[key])


def _buckets(name: str, label: str, histogram: _Histogram) -> Iterator[str]:
    below = 0
    for end, count in zip((*map(str, _ENDS), "+Inf"), histogram.counts, strict=True):
        below += count
        yield f'{name}_bucket{{engine="0",le="{end}",{label}}} {float(below)}'
    yield f'{name}_count{{engine="0",{label}}} {float(below)}'
    yield f'{name}_sum{{engine="0",{label}}} {histogram.total}'


def _lines(make: Callable[[View], Iterator[str]]) -> Callable[[View], tuple[bytes, str]]:
    return lambda view: (("\n".join(make(view)) + "\n").encode(), _TEXT)


def _told(make: Callable[[View], Any]) -> Callable[[View], tuple[bytes, str]]:
    return lambda view: (orjson.dumps(make(view)), _JSON)


# (body, content type) by the names that quirks use.
MADE: Mapping[str, Callable[[View], tuple[bytes, str]]] = {
    "props": _told(_props),
    "slots": _told(_slots),
    "ok": _told(lambda view: {"status": "ok"}),
    "alive": _told(lambda view: "I'm alive!"),
    "empty": lambda view: (b"", _JSON),
    "llama_metrics": _lines(_llama_metrics),
    "vllm_metrics": _lines(_vllm_metrics),
}
