"""Calls of an agent of ours, kept as those of others: in the shape of Chat Completions, whatever its provider's is."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson

from proctor.engine.asking import ModelAnswer
from proctor.engine.clock import WorkClock
from proctor.engine.room import room_for
from proctor.errors import AttemptError
from proctor.replies.calls import CallLog
from proctor.trial_record import AgentCall
from proctor.types import NOTHING_USED, Message, Reply, Usage

PATH = "/v1/chat/completions"
CUT_OFF = 499  # as servers log it where the one who asked went away
FINISH = {"refused": "content_filter", "tools": "tool_calls"}


@dataclass(slots=True)
class TalkCalls:
    """The calls of one conversation with the model of this name. `log` None: they are not kept."""

    model: str
    clock: WorkClock
    log: CallLog | None
    number: int = 0

    async def kept(
        self, asking: Awaitable[ModelAnswer], messages: Sequence[Message], most: int | None
    ) -> ModelAnswer:
        """What `asking` gives, kept with what was asked. Raises: what it raises, which is kept too; DiskFull."""
        asked = {"model": self.model, "messages": [asdict(each) for each in messages], "max_tokens": most}
        # Until it has ended otherwise: the agent's time was over while it waited.
        call = AgentCall(self.number, self.clock.elapsed_s, PATH, "cut", CUT_OFF, orjson.dumps(asked))
        self.number += 1
        began = time.monotonic()
        try:
            answer = await asking
            call = _answered(call, answer)
            return answer
        except AttemptError as error:
            call = _failed(call, error)
            raise
        finally:
            if self.log is not None:
                with room_for(self.log.path):
                    self.log.add(replace(call, seconds=time.monotonic() - began))

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self.log is None else self.log.notes

    def close(self) -> None:
        if self.log is not None:
            self.log.close()


def _answered(call: AgentCall, answer: ModelAnswer) -> AgentCall:
    reply = answer.reply
    usage = Usage(reply.input_tokens, reply.output_tokens, reply.cost_usd)
    return replace(
        call,
        ended="answered",
        status=200,
        response=_completion(reply),
        response_id=reply.request_id,
        usage=usage,
        unused=answer.unused,
        retries=answer.retries,
        first_token_s=reply.first_token_s,
        counted=None not in (reply.input_tokens, reply.output_tokens),
    )


def _failed(call: AgentCall, error: AttemptError) -> AgentCall:
    told = orjson.dumps({"error": {"message": str(error), "type": error.slug}})
    status, unused = error.status or error.http_status, error.usage or NOTHING_USED
    return replace(call, ended="failed", status=status, response=told, unused=unused, note=str(error))


def _completion(reply: Reply) -> bytes:
    """The server's own words where they are a completion, else what was read of them as one."""
    try:
        said = orjson.loads(reply.raw)
    except orjson.JSONDecodeError:
        said = None
    if isinstance(said, dict) and "choices" in said:
        return reply.raw
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    finish = FINISH.get(reply.finish, reply.finish)
    told: Mapping[str, Any] = {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    return orjson.dumps({"id": reply.request_id, **told, "usage": _usage(reply), "server": said})


def _usage(reply: Reply) -> Mapping[str, Any]:
    thought = {"reasoning_tokens": reply.reasoning_tokens}
    counts = {"prompt_tokens": reply.input_tokens, "completion_tokens": reply.output_tokens}
    return {**counts, "completion_tokens_details": thought}
