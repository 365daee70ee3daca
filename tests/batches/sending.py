"""Files of requests, a server that answers them and counts, and a batch sent as the command line does it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from loops import loop_in_thread
from proctor.plan import Wanted
from proctor.service.batches.run import Sending, run_batch
from proctor.service.context import open_context
from proctor.service.results.outcome import PlanOutcome
from proctor.service.runs.planning import plan_of_batch
from simulators import settings


def request_lines(numbers: Sequence[int], *, words: str = "Say", **fields: Any) -> str:
    """Lines that ask for numbers, in OpenAI's format."""
    bodies = (
        {"model": "m", "messages": [{"role": "user", "content": f"{words} {n}"}], **fields} for n in numbers
    )
    lines = (
        {"custom_id": f"r{n}", "method": "POST", "url": "/v1/chat/completions", "body": body}
        for n, body in zip(numbers, bodies, strict=True)
    )
    return "".join(json.dumps(line) + "\n" for line in lines)


@dataclass(slots=True)
class Answering:
    """A server of OpenAI's shape: it says each prompt back. `refused` are prompts that it answers with a 400."""

    url: str = ""
    asked: Counter[str] = field(default_factory=Counter)
    refused: set[str] = field(default_factory=set)
    on_request: Callable[[int], None] = lambda _count: None  # called with how many came, this one among them

    async def chat(self, request: web.Request) -> web.Response:
        prompt = (await request.json())["messages"][-1]["content"]
        self.asked[prompt] += 1
        self.on_request(self.asked.total())
        if prompt in self.refused:
            return web.json_response(
                {"error": {"message": f"not {prompt}", "type": "bad", "code": "no"}}, status=400
            )
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": f"{prompt}!"},
            "finish_reason": "stop",
        }
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        return web.json_response({"object": "chat.completion", "choices": [choice], "usage": usage})

    async def models(self, _request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "m", "object": "model"}]})


@contextmanager
def answering() -> Iterator[Answering]:
    server, app = Answering(), web.Application()
    app.router.add_post("/v1/chat/completions", server.chat)
    app.router.add_get("/v1/models", server.models)
    runner = web.AppRunner(app)

    async def begin() -> int:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port: int = runner.addresses[0][1]
        return port

    with loop_in_thread() as loop:
        server.url = f"http://127.0.0.1:{asyncio.run_coroutine_threadsafe(begin(), loop).result()}/v1"
        yield server
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()


PLAINLY = Sending()


@dataclass(frozen=True, slots=True)
class Desk:
    """A folder with a home and a server: `send` does what `proctor batch run` does."""

    folder: Path
    server: Answering

    def write(self, text: str, name: str = "requests.jsonl") -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def send(
        self,
        file: Path,
        out: Path | None = None,
        *,
        model: str = "openai/m",
        how: Sending = PLAINLY,
        **given: Any,
    ) -> PlanOutcome:
        known = settings(self.folder / "home")
        told = {"base_url": self.server.url, "parallel": 8, **({"out": str(out)} if out else {}), **given}
        plan = plan_of_batch(Wanted(str(file), (model,), told, "batch run"), known)
        with open_context(known) as context:
            return run_batch(context, plan, how)


def answers(out: Path) -> dict[str, str | None]:
    """By custom_id what each line says, None for one without an answer; each custom_id stands once."""
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    ids = [line["custom_id"] for line in lines]
    assert len(ids) == len(set(ids)), [name for name, n in Counter(ids).items() if n > 1][:5]
    return {line["custom_id"]: _said(line) for line in lines}


def _said(line: Mapping[str, Any]) -> str | None:
    response = line["response"]
    if response is None or response["status_code"] != 200:
        return None
    said: str = response["body"]["choices"][0]["message"]["content"]
    return said
