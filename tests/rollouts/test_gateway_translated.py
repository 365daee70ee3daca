"""Agents that speak Responses, through the gateway, at providers whose servers speak Chat Completions alone."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from gateways import Served, gateway_to, trial_of
from openai import AsyncOpenAI, BadRequestError
from openai.types.responses import Response

from simulators import nearby

PATCH: Any = {
    "type": "custom",
    "name": "apply_patch",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
}
SHELL: Any = {
    "type": "namespace",
    "name": "shell",
    "tools": [{"type": "function", "name": "run", "parameters": {"properties": {"cmd": {"type": "string"}}}}],
}


HOLOGRAM: Any = {"type": "hologram"}


def counted(url: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{url}/__stats") as answer:
        told: dict[str, int] = json.load(answer)["tokens"]["sim"]["complete"]
    return told


@pytest.mark.promise("X-16")
@pytest.mark.parametrize("provider", ["gemini", "anthropic"])
def test_responses_are_asked_of_servers_of_chats_and_counted_to_the_token(
    provider: str, tmp_path: Path
) -> None:
    async def work(url: str) -> tuple[Served, list[Response]]:
        async with (
            gateway_to(url, tmp_path, provider=provider) as gateway,
            trial_of(gateway) as served,
            AsyncOpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client,
        ):
            return served, await asked(client)

    with nearby([]) as url:
        served, (whole, streamed, patched, ran) = asyncio.run(work(url))
        server = counted(url)
    assert whole.output_text == streamed.output_text != ""
    assert patched.output[0].type == "custom_tool_call"
    call = ran.output[0].to_dict()
    assert (call["type"], call["name"], call["namespace"]) == ("function_call", "run", "shell")
    told = [each.usage for each in (whole, streamed, patched, ran) if each.usage is not None]
    used = served.trial.spending.whole
    assert sum(each.input_tokens for each in told) == used.input_tokens == server["input"] > 0
    assert sum(each.output_tokens for each in told) == used.output_tokens == server["output"] > 0
    assert [each.ended for each in served.calls] == ["answered"] * 4 + ["refused"]
    assert "web_search" in served.calls[2].note
    kept = json.loads(served.calls[1].response)  # put together, as the agent was given it
    assert (kept["id"], kept["output"][0]["content"][0]["text"]) == (streamed.id, streamed.output_text)


async def asked(client: AsyncOpenAI) -> list[Response]:
    """Plain, as a stream, and with tools that no chat server knows; what cannot be told is refused by its name."""
    whole = await client.responses.create(model="any", input="Which?")
    async with client.responses.stream(model="any", input="Which?") as stream:
        kinds = [event.type async for event in stream]
        streamed = await stream.get_final_response()
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    assert kinds.count("response.output_text.delta") > 1
    patched = await client.responses.create(model="any", input="x", tools=[PATCH, {"type": "web_search"}])
    ran = await client.responses.create(model="any", input="x", tools=[SHELL], store=False)
    with pytest.raises(BadRequestError, match="hologram"):
        await client.responses.create(model="any", input=[HOLOGRAM])
    return [whole, streamed, patched, ran]
