"""The gateway as agents see it: both shapes, whole and as streams, and what it keeps from them and from their model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import openai
import orjson
import pytest
from aiohttp import web
from gateways import KEY, Served, Upstreams, gateway_to, trial_of, upstream

from odd_servers import odd_server, said
from proctor.engine.gateway import Gateway
from proctor.errors import AuthError
from proctor.references import TrialLimits
from proctor.types import Usage
from simulators import nearby

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
HELLO: Any = [{"role": "user", "content": "hello"}]
Asked = Callable[[Gateway, Served], Coroutine[Any, Any, Any]]


def client(served: Served) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{served.url}/v1", api_key="agents-own-key", max_retries=0)


def tried(url: str, home: Path, work: Asked, limits: TrialLimits | None = None) -> Any:
    async def done() -> Any:
        async with gateway_to(url, home) as gateway, trial_of(gateway, *([limits] if limits else [])) as one:
            return await work(gateway, one)

    return asyncio.run(done())


async def post(served: Served, path: str, body: Any) -> tuple[int, Any]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(served.url + path, data=orjson.dumps(body)) as got,
    ):
        return got.status, orjson.loads(await got.read())


def test_agents_of_both_shapes_are_answered_whole_and_as_streams(tmp_path: Path) -> None:
    async def work(_: Gateway, served: Served) -> Served:
        async with client(served) as agent:
            whole = await agent.chat.completions.create(model="mine", messages=HELLO)
            assert whole.choices[0].message.content == "I do not know."
            stream = await agent.chat.completions.create(model="mine", messages=HELLO, stream=True)
            chunks = [chunk async for chunk in stream]
            assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "I do not know."
            assert all(chunk.usage is None for chunk in chunks)  # nobody asked for it
            response = await agent.responses.create(model="mine", input="hello")
            assert response.output_text == "I do not know."
            events = [
                each async for each in await agent.responses.create(model="x", input="hello", stream=True)
            ]
            assert (events[0].type, events[-1].type) == ("response.created", "response.completed")
            assert [each.id for each in (await agent.models.list()).data] == ["sim"]
            with pytest.raises(openai.NotFoundError, match="There is no POST /v1/embeddings here"):
                await agent.embeddings.create(model="mine", input="hello")
        return served

    with nearby([]) as url:
        served = tried(f"{url}/v1", tmp_path, work)
    assert served.trial.spending.usage == Usage(4, 16)
    assert [(call.path, call.ended, call.usage) for call in served.calls] == [
        (path, "answered", Usage(1, 4)) for path in (CHAT, CHAT, RESPONSES, RESPONSES)
    ]
    assert [call.first_token_s is not None for call in served.calls] == [False, True, False, True]
    assert all(b"I do not know." in call.response and b'"hello"' in call.request for call in served.calls)


def test_no_key_goes_where_it_does_not_belong(tmp_path: Path) -> None:
    """The agent's stays here, and the model's server quotes its own to nobody."""

    async def work(_: Gateway, served: Served) -> Mapping[str, str]:
        async with aiohttp.ClientSession(headers={"Authorization": "Bearer agents-own-key"}) as session:
            for stream in (False, True):
                body = orjson.dumps({"model": "mine", "messages": HELLO, "stream": stream})
                async with session.post(served.url + CHAT, data=body) as got:
                    text = await got.text()
                    assert "Bearer [key]" in text and KEY not in text
                    assert "X-Quota" not in got.headers
        assert all(KEY.encode() not in call.response for call in served.calls)
        return served.trial.gateway.model.name and {}

    async def quoting(request: web.Request, asked: Any) -> web.Response:
        words = said(f"You are {request.headers['Authorization']}", asked["model"])
        return web.json_response(words, headers={"X-Quota": "7"})

    async def run() -> Upstreams:
        async with (
            upstream(quoting) as up,
            gateway_to(up.url, tmp_path) as gateway,
            trial_of(gateway) as served,
        ):
            await work(gateway, served)
            return up

    up = asyncio.run(run())
    assert [each["Authorization"] for each in up.headers] == [f"Bearer {KEY}"] * 2
    assert [each["model"] for each in up.asked] == ["sim", "sim"]


def test_a_stream_is_handed_on_event_by_event_and_its_tokens_are_asked_for(tmp_path: Path) -> None:
    async def run() -> None:
        seen = asyncio.Event()

        async def slow(request: web.Request, asked: Any) -> web.StreamResponse:
            assert asked["stream_options"] == {"include_usage": True}
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            await response.prepare(request)
            for word in ("first", "second"):
                chunk = {"choices": [{"index": 0, "delta": {"content": word}}], "usage": None}
                await response.write(b"data: %b\n\n" % orjson.dumps(chunk))
                await seen.wait()
            await response.write(
                b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
            )
            await response.write(
                b'data: {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}\n\n'
            )
            await response.write(b"data: [DONE]\n\n")
            return response

        async with upstream(slow) as up, gateway_to(up.url, tmp_path) as gateway, trial_of(gateway) as served:
            body = orjson.dumps({"model": "mine", "messages": HELLO, "stream": True})
            async with aiohttp.ClientSession() as session, session.post(served.url + CHAT, data=body) as got:
                first = await got.content.readany()
                assert b"first" in first and b"second" not in first
                seen.set()
                rest = await got.read()
        assert rest.endswith(b"data: [DONE]\n\n") and b"usage" not in first + rest
        assert served.trial.spending.usage == Usage(7, 2)

    asyncio.run(run())


@pytest.mark.parametrize(
    ("path", "given", "told"),
    [
        (CHAT, {"n": 2}, "n: one reply a call"),
        (CHAT, {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://a/b"}}]}]},
         "this sandbox has no network"),
        (RESPONSES, {"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f-1"}]}]}, "no network"),
        (RESPONSES, {"previous_response_id": "resp_of_another"}, "of no response of this trial"),
        (RESPONSES, {"background": True}, "background is not available"),
        (RESPONSES, {"max_output_tokens": -5}, "give a whole number from 1"),
    ],
)  # fmt: skip
def test_what_leads_out_of_the_box_or_into_another_trial_is_refused(
    tmp_path: Path, path: str, given: Any, told: str
) -> None:
    async def work(_: Gateway, served: Served) -> Any:
        return await post(served, path, {"model": "m", "messages": HELLO, "input": "hello", **given})

    with nearby([]) as url:
        status, body = tried(f"{url}/v1", tmp_path, work)
    assert (status, told in body["error"]["message"]) == (400, True)


def test_tools_that_a_provider_runs_are_left_out_and_that_is_told(tmp_path: Path) -> None:
    own = {"type": "function", "name": "run", "parameters": {}}

    async def work(_: Gateway, served: Served) -> Served:
        tools = [own, {"type": "web_search"}, {"type": "mcp", "server_url": "http://elsewhere"}]
        await post(
            served, RESPONSES, {"model": "m", "input": "hello", "tools": tools, "service_tier": "priority"}
        )
        return served

    async def run() -> tuple[Upstreams, Served]:
        async def answer(_request: web.Request, _asked: Any) -> web.Response:
            return web.json_response({"id": "resp_1", "status": "completed", "output": []})

        async with (
            upstream(answer) as up,
            gateway_to(up.url, tmp_path) as gateway,
            trial_of(gateway) as served,
        ):
            return up, await work(gateway, served)

    up, served = asyncio.run(run())
    assert (up.asked[0]["tools"], "service_tier" in up.asked[0]) == ([own], False)
    left = "tools that the provider runs were left out: mcp, web_search"
    assert left in served.calls[0].note and left in served.trial.notes


def test_a_server_that_lacks_the_agents_shape_is_asked_in_its_own(tmp_path: Path) -> None:
    """Once it has said so; afterwards at once."""

    async def work(_: Gateway, served: Served) -> Served:
        async with client(served) as agent:
            for stream in (False, True):
                got: Any = await agent.responses.create(model="x", input="hello", stream=stream)
                if stream:
                    events = [each async for each in got]
                    assert events[-1].response.output_text == "Answer: A"
                else:
                    assert got.output_text == "Answer: A"
        return served

    listed = {"/v1/models": (200, {"object": "list", "data": [{"id": "sim", "object": "model"}]})}
    with odd_server(listed) as odd:
        served = tried(odd.url, tmp_path, work)
    assert [each["messages"][-1]["content"] for each in odd.asked] == ["hello", "hello"]
    assert served.trial.spending.usage == Usage(18, 6)
    assert all(b'"object":"response"' in call.response for call in served.calls)


def test_what_the_models_server_finds_wrong_is_told_by_whose_fault_it_is(tmp_path: Path) -> None:
    async def answer(_request: web.Request, asked: Any) -> web.Response:
        status, error = ANSWERS[asked["messages"][-1]["content"]]
        return web.json_response({"error": error}, status=status)

    async def run() -> None:
        async with (
            upstream(answer) as up,
            gateway_to(up.url, tmp_path) as gateway,
            trial_of(gateway) as served,
        ):
            gateway.asked.retry = type(gateway.asked.retry)(most=1, first_s=0.001)

            async def told(word: str) -> tuple[int, str]:
                status, body = await post(served, CHAT, {"messages": [{"role": "user", "content": word}]})
                return status, body["error"]["message"]

            trial = served.trial
            assert await told("odd") == (400, "tools[0] is odd")
            assert (trial.fault, trial.stop, trial.limits_met) == (None, None, ())
            assert (await told("long"))[0] == 400
            assert "its model's context was full" in trial.limits_met[0]
            assert await told("broken") == (502, "The model's server did not answer.")
            assert trial.fault is not None and "the disk is on fire" in str(trial.fault)
            assert await told("key") == (502, "The model's server did not answer.")
            assert isinstance(trial.stop, AuthError)

    ANSWERS = {
        "odd": (400, {"message": "tools[0] is odd", "param": "tools"}),
        "long": (400, {"message": "This model's maximum context length is 9 tokens."}),
        "broken": (500, {"message": "the disk is on fire"}),
        "key": (401, {"message": "wrong key"}),
    }
    asyncio.run(run())
