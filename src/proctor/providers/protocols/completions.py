"""What a chat completion says, of whichever server: its text, how it ended, its tokens and its cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from proctor.errors import ProviderError
from proctor.providers.prices import Price
from proctor.providers.protocols.dialects import Dialect
from proctor.providers.protocols.server_clock import service_s
from proctor.providers.wire.http import HttpResponse
from proctor.providers.wire.refusals import Place, bad_reply, refusal
from proctor.providers.wire.wire_types import JsonTable, table_of
from proctor.replies.bodies import with_calls
from proctor.types import Reply, Usage

USD_PER_TICK = 1e-10  # xAI's own unit of cost
MESSAGE = "choices[0].message"
FINISH = {"length": "length", "content_filter": "refused", "tool_calls": "tools", "function_call": "tools"}


@dataclass(frozen=True, slots=True)
class Bill:
    """How a server counts, and what it charges where it does not say that itself."""

    dialect: Dialect
    price: Price | None = None

    def used(self, record: JsonTable) -> Usage:
        """What the body of a completion says was used."""
        return self.of(record.table("usage"))[0]

    def of(self, usage: JsonTable) -> tuple[Usage, int | None]:
        """(what was used, output tokens with the reasoning; reasoning tokens)."""
        received, thought = self._output(usage)
        return Usage(usage.count("prompt_tokens"), received, self.cost_usd(usage, received)), thought

    def _output(self, usage: JsonTable) -> tuple[int | None, int | None]:
        received, whole = usage.count("completion_tokens"), usage.count("total_tokens")
        thought = usage.table("completion_tokens_details").count("reasoning_tokens")
        if self.dialect.reasoning_inside or received is None or not thought:
            return received, thought
        # A gateway before xAI may have added them already; then the total shows it.
        inside = whole == (usage.count("prompt_tokens") or 0) + received
        return (received if inside else usage.sum(received, thought)), thought

    def cost_usd(self, usage: JsonTable, received: int | None) -> float | None:
        """What the server says it charged, else the price table's word."""
        ticks, cost = usage.amount("cost_in_usd_ticks"), usage.amount("cost")
        if ticks is not None:
            return ticks * USD_PER_TICK
        if cost is None and self.price:
            return self.price.cost_usd(usage.count("prompt_tokens"), received)
        return cost


def completion(answer: HttpResponse, place: Place, bill: Bill) -> tuple[Reply, JsonTable]:
    """The first reply of a chat completion, and the whole of it. Raises: ProviderError."""
    record = table_of(answer, place, MESSAGE)
    choice = next(iter(record.tables("choices")), None)
    if choice is None or choice.fields.get("message") is None:
        raise shapeless(answer, place, record, choice)
    message = choice.table("message")
    refused = message.text("refusal")
    finish = FINISH.get(choice.text("finish_reason") or "", "stop")
    usage = record.table("usage")
    used, reasoning_tokens = bill.of(usage)
    reply = Reply(
        text=_text(message) or refused or "",
        reasoning=message.text("reasoning_content") or message.text("reasoning"),
        finish="refused" if refused else finish,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        reasoning_tokens=reasoning_tokens,
        latency_s=answer.elapsed_s,
        cost_usd=used.cost_usd,
        service_s=service_s(record, usage, answer.elapsed_s),
        raw=answer.body,
    )
    return with_calls(reply, calls_of(message)), record


def calls_of(message: JsonTable) -> Iterator[str]:
    """The tools that a message calls, with their arguments as the model wrote them."""
    called = message.told(message.tables, "tool_calls") or ()
    made = [call.table("custom" if "custom" in call.fields else "function") for call in called]
    if message.fields.get("function_call") is not None:
        made.append(message.table("function_call"))
    for call in made:
        yield f"{call.text('name') or ''}({call.text('arguments') or call.text('input') or ''})"


def shapeless(
    answer: HttpResponse, place: Place, record: JsonTable, choice: JsonTable | None, wanted: str = MESSAGE
) -> ProviderError:
    """Gateways send an error in place of the choices, or inside the only one."""
    places = (record,) if choice is None else (record, choice)
    if any(each.fields.get("error") is not None for each in places):
        return refusal(replace(answer, status=500), place)
    return bad_reply(answer, place, wanted)


def _text(message: JsonTable) -> str | None:
    """The text of a message whose content may be a list of parts."""
    if not isinstance(message.fields.get("content"), list):
        return message.text("content")
    return "".join(part.text("text") or "" for part in message.tables("content"))
