"""Servers that others wrote, as the simulator speaks like them."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from proctor.simulator import Behaviour
from proctor.simulator.protocols.quirks import PLAIN, QUIRKS, combine
from proctor.simulator.protocols.wire import ServerTerms

ASKED = {"sim": Behaviour(accuracy=1.0), "thinker": Behaviour(accuracy=1.0, thinks=True)}
OPENAI = "/v1/chat/completions"


def quirky(*names: str, **more: Any) -> ServerTerms:
    return ServerTerms(quirks=combine(names), **more)


def metrics(text: str) -> dict[str, float]:
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def test_every_server_of_the_table_has_something_of_its_own() -> None:
    assert combine([]) == PLAIN
    assert all(combine([name]) == QUIRKS[name] != PLAIN for name in QUIRKS)


def test_quirks_combine_unless_they_contradict() -> None:
    both = combine(["llama.cpp", "empty-list", "no-schemas"])
    assert (both.owner, both.listing, both.ignores) == ("llamacpp", "none", {"response_format"})
    with pytest.raises(ValueError, match=r"--quirks llama\.cpp,vllm: they contradict each other in headers"):
        combine(["llama.cpp", "vllm"])
    with pytest.raises(
        ValueError, match="--quirks no-list,empty-list: they contradict each other in listing"
    ):
        combine(["no-list", "empty-list"])
    with pytest.raises(ValueError, match=r"--quirks ollama: one of llama\.cpp, vllm"):
        combine(["ollama"])


@pytest.mark.parametrize(
    ("quirks", "status", "owner"),
    [
        ("llama.cpp", 200, "llamacpp"), ("vllm", 200, "vllm"), ("litellm", 200, "openai"), ("mockllm", 404, None),
        ("llm-katan", 200, "llm-katan"), ("transformers", 500, None), ("transformers-empty", 200, None),
    ],
)  # fmt: skip
def test_lists_of_models_say_who_serves_them(start: Any, quirks: str, status: int, owner: str | None) -> None:
    got = start({}, ASKED, terms=quirky(quirks)).get("/v1/models", {"Authorization": "Bearer any"})
    assert got.status == status
    if status == 200:
        rows = got.json["data"]
        assert {row["owned_by"] for row in rows} == ({owner} if owner else set())


def test_llama_cpp_tells_itself_and_its_slots(start: Any) -> None:
    server = start({}, ASKED, slots=2, terms=quirky("llama.cpp", context_tokens=2048))
    got = server.get("/props")
    assert got.headers["Server"] == "llama.cpp"
    assert (got.json["total_slots"], got.json["default_generation_settings"]["n_ctx"]) == (2, 2048)
    assert len(server.get("/slots").json) == 2
    assert server.get("/models").json["data"][0]["meta"]["n_ctx"] == 2048
    assert server.get("/api/tags").json["error"]["type"] == "not_found_error"
    assert server.send("POST", OPENAI, b"{no").status == 500


def test_vllm_tells_its_version_and_its_context(start: Any) -> None:
    server = start({}, ASKED, terms=quirky("vllm", context_tokens=2048))
    assert server.get("/version").json == {"version": "0.32.0"}
    assert server.get("/v1/models").json["data"][0]["max_model_len"] == 2048
    assert server.get("/v1/models/sim").json == {"detail": "Not Found"}
    (choice,) = server.openai().json["choices"]
    assert choice["stop_reason"] is None and choice["message"]["reasoning"] is None


def both_at_once(server: Any) -> list[Any]:
    """Two requests to one slot: one of them waits for the other."""
    with ThreadPoolExecutor(2) as pool:
        return [got.json for got in pool.map(lambda prompt: server.openai(prompt), ("Well?", "So?"))]


def test_timings_are_the_work_without_the_wait_for_a_slot(start: Any) -> None:
    server = start({}, {"sim": Behaviour(latency_s=0.1)}, slots=1, terms=quirky("llama.cpp"))
    replies = both_at_once(server)
    for reply in replies:
        told = reply["timings"]
        assert told["prompt_ms"] + told["predicted_ms"] == pytest.approx(100.0)
        assert told["cache_n"] + told["prompt_n"] == reply["usage"]["prompt_tokens"]
        assert told["predicted_n"] == reply["usage"]["completion_tokens"]
    replies += [server.openai("Well?" * 8).json for _ in range(2)]
    assert [reply["timings"]["cache_n"] for reply in replies] == [0, 0, 0, 9]
    written = metrics(server.get("/metrics").body.decode())["llamacpp:tokens_predicted_total"]
    assert written == sum(reply["usage"]["completion_tokens"] for reply in replies)


def test_vllm_s_metrics_tell_waiting_from_work(start: Any) -> None:
    server = start({}, {"sim": Behaviour(latency_s=0.4)}, slots=1, terms=quirky("vllm"))
    replies = both_at_once(server)
    told = metrics(server.get("/metrics").body.decode())
    labels = '{engine="0",model_name="sim"}'
    assert told[f"vllm:request_inference_time_seconds_sum{labels}"] == pytest.approx(0.8)
    assert told[f"vllm:request_queue_time_seconds_sum{labels}"] > 0.05
    assert told[f"vllm:request_queue_time_seconds_count{labels}"] == 2
    assert told['vllm:request_queue_time_seconds_bucket{engine="0",le="+Inf",model_name="sim"}'] == 2
    output = sum(reply["usage"]["completion_tokens"] for reply in replies)
    assert told[f"vllm:generation_tokens_total{labels}"] == output


def test_a_server_loads_before_it_answers(start: Any) -> None:
    server = start({}, ASKED, terms=quirky("llama.cpp", loading_s=1.0))
    got = server.openai()
    assert (got.status, got.json["error"]["message"]) == (503, "Loading model")
    assert server.get("/health").status == 503
    ends = time.monotonic() + 60.0
    while server.get("/health").status == 503:
        assert time.monotonic() < ends
        time.sleep(0.02)
    assert server.openai().status == 200


def test_which_parameters_had_an_effect_is_told_and_shows(start: Any, known: Any) -> None:
    server = start(known("Well?"), ASKED, terms=quirky("llama.cpp"))
    plain = server.openai().json["choices"][0]["message"]["content"]
    assert server.openai(repetition_penalty=1.5, frob=1).json["choices"][0]["message"]["content"] == plain
    assert (server.stats()["applied"], server.stats()["ignored"]) == ({}, ["frob", "repetition_penalty"])
    assert server.openai(repeat_penalty=1.5).json["choices"][0]["message"]["content"] != plain
    assert server.stats()["applied"] == {"repeat_penalty": 1.5}


def test_numbers_out_of_range_meet_every_server_s_own_words(start: Any) -> None:
    vllm, llama = (start({}, ASKED, terms=quirky(name)) for name in ("vllm", "llama.cpp"))
    for value, words in (
        (9, "temperature must be in [0, 2], got 9.0."),
        (-1, "temperature must be non-negative"),
    ):
        error = vllm.openai(temperature=value).json["error"]
        assert words in error["message"] and (error["param"], error["code"]) == ("temperature", 400)
        assert llama.openai(temperature=value).status == 200
    assert "greedy sampling" in vllm.openai(temperature=0, n=2).json["error"]["message"]
    assert "between 1 <= value <= 4, but got 9" in llama.openai(n=9).json["error"]["message"]
    assert llama.openai(temperature="warm").status == 400


def test_the_context_cuts_a_reply_of_llama_cpp(start: Any, known: Any) -> None:
    prompt = "x" * 40
    reply = start(known(prompt), ASKED, terms=quirky("llama.cpp", context_tokens=15)).openai(prompt).json
    assert (reply["usage"]["total_tokens"], reply["choices"][0]["finish_reason"]) == (15, "length")


def test_a_stream_ends_as_the_server_ends_it(start: Any) -> None:
    llama, transformers = (start({}, ASKED, terms=quirky(name)) for name in ("llama.cpp", "transformers"))
    events = llama.openai(stream=True).events
    assert "timings" in events[-1] and "timings" not in events[0]
    assert b"[DONE]" not in transformers.openai(stream=True).body
    assert json.loads(transformers.openai(stream=True).body.split(b"\n\n")[0][6:])["model"] == "sim@main"


def test_transformers_takes_no_field_that_it_does_not_know(start: Any) -> None:
    server = start({}, ASKED, terms=quirky("transformers"))
    got = server.openai(top_k=3, min_p=0.1)
    assert (got.status, got.json) == (422, {"detail": "Unexpected fields in the request: {'min_p', 'top_k'}"})
    got = server.openai(n=2, max_completion_tokens=1, response_format={"type": "json_object"}, temperature=9)
    (choice,) = got.json["choices"]
    assert choice["finish_reason"] == "stop" and "{" not in choice["message"]["content"]


def test_litellm_dresses_its_replies(start: Any) -> None:
    server = start(
        {}, {"sim": Behaviour(error_rate=0.0), "bad": Behaviour(error_rate=1.0)}, terms=quirky("litellm")
    )
    got = server.openai()
    assert (got.headers["x-litellm-version"], got.headers["x-litellm-model-group"]) == ("1.80.0", "sim")
    assert "x-litellm-version" not in server.get("/v1/models").headers
    got = server.openai(model="bad")
    assert (got.status, got.json["error"]["code"]) == (500, "500")


def test_llm_katan_wants_a_key_whichever(start: Any) -> None:
    server = start({}, ASKED, terms=quirky("llm-katan"))
    got = server.openai()
    assert (got.status, got.json["error"]["code"]) == (401, "invalid_api_key")
    assert server.get("/v1/models").status == 401
    body = {"model": "sim", "messages": [{"role": "user", "content": "Well?"}]}
    assert server.send("POST", OPENAI, body, {"Authorization": "Bearer any"}).status == 200
