"""The server as a whole: faults on the wire, slots, counters, determinism, and many requests at once."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest

from proctor.simulator import Behaviour, prompt_key
from proctor.simulator.app import make_app

PATHS = ["/v1/chat/completions", "/api/chat"]
MIXED = {"sim": Behaviour(), "endless": Behaviour(endless_rate=1.0)}


def body(model: str = "sim", prompt: str = "Well?", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": prompt}], **more}


def asking(scene: Callable[[aiohttp.ClientSession], Awaitable[None]], url: str) -> None:
    """Run a scene with a client session of the server's own kind."""

    async def play() -> None:
        # Not a measurement: a server that never lets go must fail the test, not hang it.
        async with asyncio.timeout(60), aiohttp.ClientSession(url) as session:
            await scene(session)

    asyncio.run(play())


async def until(session: aiohttp.ClientSession, **wanted: int) -> dict[str, Any]:
    """Ask for the counters until they say so."""
    while True:
        async with session.get("/__stats") as response:
            stats = await response.json()
        if wanted.items() <= stats.items():
            return stats


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
def test_a_crash_closes_the_connection_without_a_word(start: Any, path: str, stream: bool) -> None:
    server = start()
    connection = server.connect()
    try:
        connection.request("POST", path, json.dumps(body("sim-crashing", stream=stream)))
        with pytest.raises(http.client.RemoteDisconnected):
            connection.getresponse()
    finally:
        connection.close()
    assert server.stats()["in_flight"] == 0


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
def test_garbage_is_a_200_that_is_not_json(start: Any, path: str, stream: bool) -> None:
    got = start().send("POST", path, body("sim-garbage", stream=stream))
    assert got.status == 200
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(got.body)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False])
def test_an_endless_reply_goes_on_until_the_client_leaves(start: Any, path: str, stream: bool) -> None:
    async def scene(session: aiohttp.ClientSession) -> None:
        async with session.post(path, json=body("sim-endless", stream=stream)) as response:
            assert response.status == 200
            assert response.headers["Transfer-Encoding"] == "chunked"
            for _ in range(3):
                assert await response.content.readany()
            await until(session, in_flight=1, serving=1)
            response.close()
        await until(session, in_flight=0, serving=0)

    asking(scene, start().url)


@pytest.mark.parametrize("path", PATHS)
def test_a_flaky_model_may_answer_when_asked_again(start: Any, path: str) -> None:
    server = start({}, {"sim": Behaviour(error_rate=0.5)}, seed=1)
    statuses = [server.send("POST", path, body()).status for _ in range(20)]
    assert set(statuses) == {200, 500}
    assert server.stats()["by_key"] == {prompt_key([("user", "Well?")]): 20}


def test_the_same_seed_is_the_same_server(start: Any) -> None:
    """Replies, faults and their order; only the clock's fields differ."""
    models = {"sim": Behaviour(0.5, error_rate=0.2, rate_limit_rate=0.2, refuse_rate=0.1)}

    def transcript(seed: int) -> list[Any]:
        server = start({}, models, seed=seed)
        prompts = [f"Which of the two, number {n % 15}?\nA. x\nB. y" for n in range(30)]
        replies = [server.openai(prompt) for prompt in prompts]
        return [(got.status, [got.json.get(name) for name in ("id", "choices", "usage")]) for got in replies]

    assert transcript(1) == transcript(1)
    assert transcript(1) != transcript(2)


def test_both_shapes_say_the_same(start: Any, known: Any) -> None:
    prompts = [f"Well, {n}?" for n in range(20)]
    server = start(known(*prompts))
    one = [server.openai(prompt).json["choices"][0]["message"]["content"] for prompt in prompts]
    assert one == [server.ollama(prompt).json["message"]["content"] for prompt in prompts]
    assert {text[-1] for text in one} == {"A", "B", "C"}


def test_the_sum_of_latencies_is_that_of_the_arrivals(start: Any) -> None:
    """Two servers, asked in another order and about other things, take the same times."""
    models = {"sim": Behaviour(latency_s=0.002, latency_sigma=0.5), "other": Behaviour(0.1, latency_s=0.002,
              latency_sigma=0.5)}  # fmt: skip
    sums = []
    for names in (["sim", "other"] * 5, ["other", "sim"] * 5):
        server = start({}, models, seed=3)
        for number, name in enumerate(names):
            server.openai(f"{name} {number}", model=name)
        sums.append(server.stats()["sum_latency_s"])
    assert sums[0] == sums[1] > 0


def test_beyond_the_slots_requests_are_refused_at_once(start: Any) -> None:
    server = start({}, MIXED, slots=1, slots_policy="refuse")

    async def scene(session: aiohttp.ClientSession) -> None:
        async with session.post(PATHS[0], json=body("endless")) as holder:
            await holder.content.readany()
            for path, status in zip(PATHS, (429, 503), strict=True):
                async with session.post(path, json=body(stream=False)) as refused:
                    assert refused.status == status
            assert (await until(session, serving=1))["max_serving"] == 1
            holder.close()
        await until(session, serving=0)
        async with session.post(PATHS[0], json=body()) as served:
            assert served.status == 200

    asking(scene, server.url)


def test_beyond_the_slots_requests_wait_in_line_first_come_first_served(start: Any) -> None:
    server = start({}, MIXED, slots=1)

    async def ask(session: aiohttp.ClientSession) -> int:
        async with session.post(PATHS[0], json=body()) as response:
            return response.status

    async def scene(session: aiohttp.ClientSession) -> None:
        first = await session.post(PATHS[0], json=body("endless"))
        await first.content.readany()
        second = asyncio.create_task(session.post(PATHS[0], json=body("endless")))
        await until(session, in_flight=2)
        third = asyncio.create_task(ask(session))
        stats = await until(session, in_flight=3, serving=1)
        assert not second.done()
        first.close()
        # The second now has the slot and keeps it; a server that served out of turn would be done
        # with the third.
        await (await second).content.readany()
        stats = await until(session, in_flight=2, serving=1)
        assert not third.done()
        second.result().close()
        assert await third == 200
        stats = await until(session, in_flight=0)
        assert (stats["max_serving"], stats["max_in_flight"], stats["served"]) == (1, 3, 3)

    asking(scene, server.url)


def test_who_leaves_the_line_takes_no_slot(start: Any) -> None:
    server = start({}, MIXED, slots=1)

    async def scene(session: aiohttp.ClientSession) -> None:
        holder = await session.post(PATHS[0], json=body("endless"))
        await holder.content.readany()
        waiting = asyncio.create_task(session.post(PATHS[0], json=body("endless")))
        await until(session, in_flight=2)
        waiting.cancel()
        await until(session, in_flight=1, serving=1)
        holder.close()
        await until(session, in_flight=0, serving=0)
        async with session.post(PATHS[0], json=body()) as response:
            assert response.status == 200

    asking(scene, server.url)


def test_a_client_may_leave_in_the_middle_of_a_stream(start: Any) -> None:
    """The latency is longer than any test would wait for: only the leaving ends the request."""
    server = start({}, {"slow": Behaviour(latency_s=3600.0)})

    async def scene(session: aiohttp.ClientSession) -> None:
        response = await session.post(PATHS[1], json=body("slow"))
        await until(session, serving=1)
        response.close()
        await until(session, in_flight=0, serving=0)

    asking(scene, server.url)


def test_a_client_may_leave_before_a_reply(start: Any) -> None:
    server = start({}, {"slow": Behaviour(latency_s=3600.0)})

    async def scene(session: aiohttp.ClientSession) -> None:
        leaving = asyncio.create_task(session.post(PATHS[1], json=body("slow", stream=False)))
        await until(session, serving=1)
        leaving.cancel()
        await until(session, in_flight=0, serving=0)

    asking(scene, server.url)


def test_the_counters_tell_what_was_seen_and_can_be_reset(start: Any) -> None:
    server = start(key=None)
    server.openai("one")
    server.openai("one", model="sim-small")
    server.ollama("two")
    server.openai("three", model="nope")
    server.openai("four", model="sim-ratelimited")
    stats = server.stats()
    assert stats["seen"] == 5
    times = {"one": 2, "two": 1, "four": 1}
    assert stats["by_key"] == {prompt_key([("user", word)]): count for word, count in times.items()}
    assert (stats["in_flight"], stats["max_in_flight"], stats["sum_latency_s"]) == (0, 1, 0.0)
    assert 0 < stats["first_at"] <= stats["last_at"]
    assert stats["connections"] == 5
    assert "by_key" not in server.get("/__stats").json
    assert server.send("POST", "/__reset").status == 200
    stats = server.stats()
    assert (stats["seen"], stats["by_key"], stats["first_at"], stats["last_at"]) == (0, {}, None, None)


def test_a_reset_starts_the_latencies_and_tries_anew(start: Any) -> None:
    models = {"sim": Behaviour(error_rate=0.5, latency_s=0.001, latency_sigma=0.5)}
    server = start({}, models)
    rounds = []
    for _ in range(2):
        statuses = [server.openai().status for _ in range(12)]
        rounds.append((statuses, server.stats()["sum_latency_s"]))
        server.send("POST", "/__reset")
    assert rounds[0] == rounds[1]


def test_the_counters_need_no_key(start: Any) -> None:
    server = start(key="secret")
    assert server.get("/__stats").status == 200
    assert server.send("POST", "/__reset").status == 200
    assert server.get("/").status == 401


def test_many_requests_at_once_are_all_answered(start: Any, known: Any) -> None:
    prompts = [f"Well, {n}?" for n in range(600)]
    server = start(known(*prompts), {"sim": Behaviour(accuracy=0.8)}, slots=16)
    replies: list[str] = []

    async def scene(session: aiohttp.ClientSession) -> None:
        rest = iter(prompts)

        async def work() -> None:
            for prompt in rest:
                async with session.post(PATHS[0], json=body(prompt=prompt)) as response:
                    replies.append((await response.json())["choices"][0]["message"]["content"])

        await asyncio.gather(*(work() for _ in range(64)))

    asking(scene, server.url)
    stats = server.stats()
    assert (stats["seen"], len(stats["by_key"]), stats["in_flight"]) == (600, 600, 0)
    assert set(stats["by_key"].values()) == {1}
    assert stats["max_serving"] <= 16
    # Five standard errors of 600 draws at 0.8.
    assert sum(text.endswith("Answer: B") for text in replies) / 600 == pytest.approx(0.8, abs=0.085)


def test_wrong_settings_are_named() -> None:
    with pytest.raises(ValueError, match="slots is 0"):
        make_app({}, MIXED, slots=0)
    with pytest.raises(ValueError, match="slots_policy is 'drop'"):
        make_app({}, MIXED, slots=1, slots_policy="drop")  # type: ignore[arg-type]  # the wrong value is the point
