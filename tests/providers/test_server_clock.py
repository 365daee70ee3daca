"""How long a server says that it worked on a request: read where it is told, never guessed, never a reason to fail."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from proctor.providers.protocols.server_clock import Clock, clock_in, service_s
from proctor.providers.wire.wire_types import JsonTable
from proctor.types import Model
from simulators import ask, questions
from wire_bodies import BODIES, ODD, PATHS, saying

# As llama-server b10434 sent it on 2026-11-22.
LLAMA = {"cache_n": 24, "prompt_n": 11, "prompt_ms": 108.129, "predicted_n": 3, "predicted_ms": 35.24}
# As the documentation of vLLM's --enable-per-request-metrics has it.
VLLM = {"time_to_first_token_ms": 85.2, "generation_time_ms": 1240.5, "queue_time_ms": 12.3}
# From the reference of Cerebras' chat completions.
CEREBRAS = {"queue_time": 0.000073, "prompt_time": 0.001, "completion_time": 0.005, "total_time": 0.022}
# The fields of Groq's usage; total_time is prompt_time and completion_time together, queue_time is apart.
GROQ = {"queue_time": 0.5, "prompt_time": 0.25, "completion_time": 0.5, "total_time": 0.75}


def told(body: dict[str, Any], elapsed_s: float = 60.0) -> float | None:
    record = JsonTable(body, "", "here")
    return service_s(record, record.table("usage"), elapsed_s)


def test_reading_and_writing_count_and_waiting_does_not():
    assert told({"timings": LLAMA}) == pytest.approx(0.143369)
    assert told({"metrics": VLLM}) == pytest.approx(1.3257)
    assert told({"time_info": CEREBRAS}) == pytest.approx(0.006)
    assert told({"usage": GROQ, "metrics": None}) == 0.75
    assert told({"usage": {"prompt_tokens": 3}}) is None


@pytest.mark.parametrize("name", ["prompt_ms", "predicted_ms"])
@pytest.mark.parametrize("odd", [value for value in ODD if value not in (5, 7.5)], ids=repr)
def test_an_odd_time_is_not_measured_and_loses_no_reply(name: str, odd: object):
    assert told({"timings": {**LLAMA, name: odd}}) is None
    assert told({"timings": odd}) is None


def test_a_server_cannot_have_worked_for_longer_than_we_waited():
    assert told({"timings": LLAMA}, elapsed_s=0.143) is not None
    assert told({"timings": LLAMA}, elapsed_s=0.1) is None


@pytest.mark.parametrize("shape", ["openai", "ollama"])
def test_a_reply_carries_its_service_time(tmp_path, shape):
    more: dict[str, Any] = {"timings": {"prompt_ms": 0.2, "predicted_ms": 0.1}}
    if shape == "ollama":  # in nanoseconds; loading the model is no part of it
        more = {"load_duration": 0, "prompt_eval_duration": 200_000, "eval_duration": 100_000}
    bodies = [orjson.dumps({**BODIES[shape], **more})]
    with saying(bodies) as url:
        reply = ask(Model(shape, "m", url + PATHS.get(shape, "")), tmp_path, questions(1)[0])
    assert reply.service_s == pytest.approx(0.0003)
    assert reply.latency_s is not None and reply.latency_s + 0.001 > reply.service_s


def test_an_ollama_that_kept_the_prompt_leaves_out_the_time_of_reading_it(tmp_path):
    body = {key: value for key, value in BODIES["ollama"].items() if not key.endswith("_duration")}
    with saying([orjson.dumps({**body, "eval_duration": 100_000})]) as url:
        assert ask(Model("ollama", "m", url), tmp_path, questions(1)[0]).service_s == pytest.approx(0.0001)


def test_the_clock_of_vllm_is_summed_over_its_engines():
    name = "vllm:request_inference_time_seconds"
    lines = [
        f"# HELP {name} Histogram of time spent in RUNNING phase for request.",
        f"# TYPE {name} histogram",
        f'{name}_sum{{engine="0",model_name="a {{odd}} name"}} 1.25',
        f'{name}_sum{{engine="1",model_name="m"}} 0.5 1795328367000',
        f'{name}_bucket{{engine="0",le="0.3",model_name="m"}} 7.0',
        f'{name}_count{{engine="0",model_name="m"}} 3.0',
        f'{name}_count{{engine="1",model_name="m"}} 2.0',
        f'{name}_created{{engine="1",model_name="m"}} 1.795e+09',
        "llamacpp:requests_processing 0",
    ]
    assert clock_in("\n".join(lines)) == Clock(5, 1.75)
    assert clock_in("\n".join(lines[:3])) is None
    assert clock_in(f"{name}_sum nothing\n{name}_count 3") is None
    assert clock_in("llamacpp:requests_processing 0") is None
