"""Ollama's shape over HTTP: replies, NDJSON streams, loading, the pages about models, errors."""

from __future__ import annotations

import hashlib
import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from proctor.simulator import NAMED, Behaviour
from proctor.simulator.protocols.memory import Room
from proctor.simulator.protocols.quirks import combine
from proctor.simulator.protocols.wire import ServerTerms

ASKED = {"sim": Behaviour(accuracy=1.0), "thinker": Behaviour(accuracy=1.0, thinks=True)}
FIELDS = {
    "model", "created_at", "message", "done", "done_reason", "total_duration", "load_duration",
    "prompt_eval_count", "prompt_eval_duration", "eval_count", "eval_duration",
}  # fmt: skip


def test_a_reply_has_every_part_that_clients_read(start: Any, known: Any) -> None:
    got = start(known("Well?" * 8), ASKED).ollama("Well?" * 8)
    assert (got.status, got.headers["Content-Type"]) == (200, "application/json")
    reply = got.json
    assert reply.keys() == FIELDS
    assert reply["message"].keys() == {"role", "content"}
    assert reply["message"]["content"].endswith("Answer: B")
    assert (reply["done"], reply["done_reason"], reply["prompt_eval_count"]) == (True, "stop", 10)
    assert reply["eval_count"] == len(reply["message"]["content"]) // 4 + 1
    parts = ("load_duration", "prompt_eval_duration", "eval_duration")
    assert reply["total_duration"] == sum(reply[part] for part in parts)
    assert min(reply[part] for part in parts) > 0


def test_the_durations_are_those_of_the_latency(start: Any) -> None:
    reply = start({}, {"sim": Behaviour(latency_s=0.01)}).ollama().json
    assert reply["total_duration"] - reply["load_duration"] == 10_000_000


def test_a_stream_is_what_comes_unless_it_is_declined(start: Any, known: Any) -> None:
    server = start(known("Well?"), ASKED)
    whole = server.ollama(model="thinker").json
    got = server.ollama(model="thinker", stream=None)
    assert got.headers["Content-Type"] == "application/x-ndjson"
    *lines, last = got.lines
    assert len(lines) > 5
    assert [line["done"] for line in lines] == [False] * len(lines)
    for name in ("content", "thinking"):
        assert "".join(line["message"].get(name, "") for line in lines) == whole["message"][name]
    assert last.keys() == FIELDS
    assert (last["done"], last["message"]) == (True, {"role": "assistant", "content": ""})
    assert last["eval_count"] == whole["eval_count"]


def test_thinking_counts_as_output_and_can_be_switched_off(start: Any, known: Any) -> None:
    server = start(known("Well?"), ASKED)
    with_it, without = (server.ollama(model="thinker", think=think).json for think in (True, False))
    thought = with_it["message"]["thinking"]
    assert with_it["eval_count"] == without["eval_count"] + len(thought) // 4 + 1
    assert "thinking" not in without["message"]


def test_thinking_asked_of_a_model_that_cannot_is_refused(start: Any) -> None:
    got = start().ollama(think=True)
    assert (got.status, got.json) == (400, {"error": '"sim" does not support thinking'})
    assert start().ollama(think=False).status == 200


def test_num_predict_cuts_and_minus_one_does_not(start: Any, known: Any) -> None:
    server = start(known("Well?"), ASKED)
    cut, free = (server.ollama(options={"num_predict": count}).json for count in (3, -1))
    assert (cut["done_reason"], cut["eval_count"]) == ("length", 3)
    assert (free["done_reason"], free["message"]["content"][-1]) == ("stop", "B")


def test_no_messages_load_the_model_and_no_clock_runs(start: Any) -> None:
    server = start()
    assert server.get("/api/ps").json == {"models": []}
    reply = server.ollama(messages=[]).json
    assert reply.keys() == {"model", "created_at", "message", "done", "done_reason"}
    assert (reply["done"], reply["done_reason"], reply["message"]["content"]) == (True, "load", "")
    stats = server.stats()
    assert (stats["seen"], stats["loads"], stats["first_at"]) == (0, 1, None)
    (entry,) = server.get("/api/ps").json["models"]
    assert entry["name"] == "sim:latest"
    assert {"size_vram", "expires_at", "context_length", "digest"} <= entry.keys()


def test_a_name_with_latest_is_the_same_model(start: Any, known: Any) -> None:
    server = start(known("Well?"), {"sim": Behaviour(accuracy=0.5)})
    plain, tagged = (server.ollama(model=name).json for name in ("sim", "sim:latest"))
    assert plain["message"] == tagged["message"]
    assert (plain["model"], tagged["model"]) == ("sim", "sim:latest")
    assert list(server.stats()["by_key"].values()) == [2]


def test_the_tags_list_every_model(start: Any) -> None:
    models = start().get("/api/tags").json["models"]
    assert [entry["name"] for entry in models] == [f"{name}:latest" for name in NAMED]
    first = models[0]
    assert first.keys() == {"name", "model", "modified_at", "size", "digest", "details"}
    assert first["digest"] == hashlib.sha256(b"sim").hexdigest()
    assert {"format", "family", "parameter_size", "quantization_level"} <= first["details"].keys()


def test_a_name_with_a_tag_of_its_own_keeps_it(start: Any) -> None:
    server = start({}, {"mine:8b": Behaviour()})
    assert [entry["model"] for entry in server.get("/api/tags").json["models"]] == ["mine:8b"]
    assert server.ollama(model="mine:8b").status == 200
    assert server.ollama(model="mine").status == 404


def test_show_tells_context_and_capabilities(start: Any) -> None:
    server = start({}, ASKED, terms=ServerTerms(context_tokens=4096))
    shown = [server.send("POST", "/api/show", {"model": name}).json for name in ("sim:latest", "thinker")]
    assert shown[0]["model_info"]["sim.context_length"] == 4096
    assert shown[0]["model_info"]["general.architecture"] == "sim"
    assert [entry["capabilities"] for entry in shown] == [["completion"], ["completion", "thinking"]]
    assert server.send("POST", "/api/show", {"model": "nope"}).status == 404
    assert server.send("POST", "/api/show", b"{").status == 400


def test_the_root_and_the_version_are_ollama_s(start: Any) -> None:
    server = start()
    assert server.get("/").body == b"Ollama is running"
    assert server.get("/api/version").json["version"].count(".") == 2


@pytest.mark.parametrize("messages", [[], [{"role": "user", "content": "x"}]])
def test_an_unknown_model_is_not_found(start: Any, messages: list[Any]) -> None:
    got = start().ollama(model="nope", messages=messages)
    assert (got.status, got.json) == (404, {"error": "model 'nope' not found"})


def test_a_prompt_too_long_is_refused_when_cutting_is(start: Any) -> None:
    got = start().ollama("x" * 404, truncate=False, options={"num_ctx": 100})
    assert (got.status, got.json) == (400, {"error": "the input length exceeds the context length"})
    assert start().ollama("x" * 403, truncate=False, options={"num_ctx": 100}).status == 200
    assert start(terms=ServerTerms(100)).ollama("x" * 404, truncate=False).status == 400


def test_a_prompt_cut_in_silence_loses_the_answer(start: Any, known: Any) -> None:
    """As with the real server: 200, a count at the context's edge, and a model that saw half of it."""
    server = start(known("x" * 404), ASKED)
    reply = server.ollama("x" * 404, options={"num_ctx": 100}).json
    assert (reply["prompt_eval_count"], reply["message"]["content"]) == (100, "I do not know.")
    assert server.ollama("x" * 404).json["message"]["content"].endswith("Answer: B")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"{}", b'{"model": "sim", "messages": 1}', b'{"model": "sim", "options": []}',
        b'{"model": "sim", "options": {"num_ctx": "8k"}}', b'{"model": "sim", "truncate": 0}',
    ],
)  # fmt: skip
def test_a_request_that_makes_no_sense_is_a_400(start: Any, body: bytes) -> None:
    got = start().send("POST", "/api/chat", body)
    assert (got.status, list(got.json)) == (400, ["error"])


def test_a_busy_server_is_a_503(start: Any) -> None:
    got = start({}, {"sim": Behaviour(rate_limit_rate=1.0)}).ollama()
    assert got.status == 503
    assert got.json == {"error": "server busy, please try again. maximum pending requests exceeded"}


def test_a_broken_server_says_500(start: Any) -> None:
    got = start({}, {"sim": Behaviour(error_rate=1.0)}).ollama()
    assert (got.status, list(got.json)) == (500, ["error"])


def test_a_refusal_is_plain_text(start: Any) -> None:
    reply = start().ollama(model="sim-refusing").json
    assert (reply["done_reason"], "Sorry" in reply["message"]["content"]) == ("stop", True)


def in_memory(server: Any) -> dict[str, Any]:
    return {entry["name"].removesuffix(":latest"): entry for entry in server.get("/api/ps").json["models"]}


def test_a_model_is_loaded_anew_for_another_context_or_shift(start: Any) -> None:
    server = start({}, ASKED, terms=ServerTerms(room=Room(load_s=0.05)))
    loads = []
    for more in ({}, {}, {"options": {"num_ctx": 512}}, {"options": {"num_ctx": 512}, "shift": False}):
        reply = server.ollama(**more).json
        loads.append((reply["load_duration"] >= 50_000_000, server.stats()["model_loads"]))
        assert reply["total_duration"] >= reply["load_duration"]
    assert loads == [(True, 1), (False, 1), (True, 2), (True, 3)]
    assert in_memory(server)["sim"]["context_length"] == 512


def test_a_model_makes_room_for_another(start: Any) -> None:
    server = start({}, ASKED, terms=ServerTerms(room=Room(models=1)))
    for name in ("sim", "thinker", "sim"):
        server.ollama(model=name)
        assert list(in_memory(server)) == [name]
    assert server.stats()["model_loads"] == 3


def test_the_one_kept_for_the_shortest_time_goes_first(start: Any) -> None:
    server = start({}, ASKED | {"third": Behaviour()}, terms=ServerTerms(room=Room(models=2)))
    server.ollama(model="thinker", keep_alive="1h")
    server.ollama(keep_alive=60)
    server.ollama(model="third")
    assert set(in_memory(server)) == {"thinker", "third"}


def test_keep_alive_says_when_a_model_goes(start: Any) -> None:
    server = start({}, ASKED)
    server.ollama(keep_alive="10m")
    assert in_memory(server)["sim"]["expires_at"] < "2200"
    server.ollama(keep_alive=-1)
    assert in_memory(server)["sim"]["expires_at"] > "2300"
    server.ollama(keep_alive=0)
    assert in_memory(server) == {}
    server.ollama(keep_alive=0.001)
    ends = time.monotonic() + 60.0
    while in_memory(server):
        assert time.monotonic() < ends
    assert server.ollama(messages=[], keep_alive=0).json["done_reason"] == "unload"
    assert server.ollama(keep_alive="soon").status == 400


def test_a_line_that_is_full_turns_away(start: Any) -> None:
    server = start({}, {"sim": Behaviour(latency_s=0.6)}, slots=1, terms=ServerTerms(queue=1))
    with ThreadPoolExecutor(5) as pool:
        statuses = [got.status for got in pool.map(lambda i: server.ollama(f"Well {i}?"), range(5))]
    assert sorted(statuses) == [200, 200, 503, 503, 503]


def test_the_wait_for_a_slot_stands_in_the_total_alone(start: Any) -> None:
    server = start({}, {"sim": Behaviour(latency_s=0.4)}, slots=1)
    with ThreadPoolExecutor(2) as pool:
        replies = [got.json for got in pool.map(lambda i: server.ollama(f"Well {i}?"), range(2))]
    parts = ("load_duration", "prompt_eval_duration", "eval_duration")
    waits = sorted(reply["total_duration"] - sum(reply[part] for part in parts) for reply in replies)
    assert waits[0] == 0 and waits[1] > 50_000_000


def test_a_context_beyond_the_models_own_is_reduced_in_silence(start: Any, known: Any) -> None:
    server = start(known("x" * 404), ASKED, terms=ServerTerms(trained_tokens=100))
    reply = server.ollama("x" * 404, options={"num_ctx": 4096}).json
    assert (reply["prompt_eval_count"], reply["message"]["content"]) == (100, "I do not know.")
    assert in_memory(server)["sim"]["context_length"] == 100
    assert server.send("POST", "/api/show", {"model": "sim"}).json["model_info"]["sim.context_length"] == 100


def test_versions_differ_in_what_they_do_with_a_prompt_too_long(start: Any) -> None:
    old, new = (start({}, ASKED, terms=ServerTerms(100, quirks=combine([f"ollama-0.{v}"]))) for v in (11, 33))
    assert old.ollama("x" * 404, truncate=False).json["prompt_eval_count"] == 100
    assert new.ollama("x" * 404).json["prompt_eval_count"] == 52, "the beginning, and half of the rest"
    got = new.ollama("x" * 404, truncate=False)
    inside = json.loads(got.json["error"])["error"]
    assert (got.status, inside["n_prompt_tokens"], inside["n_ctx"]) == (400, 101, 100)


def test_cached_tokens_are_told_by_newer_versions(start: Any) -> None:
    server = start({}, ASKED, terms=ServerTerms(quirks=combine(["ollama-0.33"])))
    first, again = (server.ollama("Well?" * 8).json for _ in range(2))
    assert (first["prompt_eval_cached_count"], again["prompt_eval_cached_count"]) == (0, 9)
    assert first["prompt_eval_count"] == again["prompt_eval_count"] == 10
    assert "prompt_eval_cached_count" not in start().ollama().json
