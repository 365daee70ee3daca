"""One request that has a place at its model's server: the limiter is told how it went, and the place given back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from proctor.engine.outage import Outage
from proctor.errors import AttemptError, Overloaded, ProctorError, RateLimited
from proctor.providers.pacing.limiter import Limiter
from proctor.types import Reply


async def paced(
    send: Callable[[], Awaitable[Reply]], limiter: Limiter, company: int, outage: Outage
) -> tuple[Reply, float]:
    """The reply, and how many requests were under way: the mean of its beginning (`company`) and its end.

    Raises: what `send` raises.
    """
    try:
        began = limiter.clock()
        reply = await send()
        in_flight = (company + limiter.in_flight) / 2
        tokens = (reply.input_tokens or 0) + (reply.output_tokens or 0)
        limiter.completed(limiter.clock() - began, company, tokens)
        if outage.troubled:
            outage.answered()
        return reply, in_flight
    except (RateLimited, Overloaded) as error:
        # Ollama and others say 503 where OpenAI says 429: the queue is full.
        if error.away:
            limiter.failed()
        else:
            limiter.refused(error.retry_after_s, full=isinstance(error, Overloaded))
        raise
    except ProctorError as error:
        if not (isinstance(error, AttemptError) and error.of_item):
            limiter.failed()
        raise
    finally:
        limiter.release()
