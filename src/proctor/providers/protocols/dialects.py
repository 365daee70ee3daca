"""How vendors of the OpenAI protocol differ, as facts in a table: addresses, keys, token counts, costs."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.offered import Server
from proctor.providers.contract import Pacing
from proctor.providers.protocols.spellings import EFFORTS, OWN, SPELLINGS, Spelling


@dataclass(frozen=True, slots=True)
class Dialect:
    """One vendor's variety. `spelling` is that of the vendor's own models; None: it is the server's that answers."""

    official: str  # the vendor's own address, which needs a key and may not list every model
    key_variable: str | None
    address_variable: str | None
    pacing: Pacing  # at the vendor's own address
    spelling: Spelling | None = None
    reasoning_inside: bool = True  # completion_tokens counts the reasoning too
    priced_list: str | None = None  # a list of models with prices, beside /models


# Most servers at other addresses have few places, some of them one. More than they have only wait there.
ELSEWHERE = Pacing(start=4, most=256)
# These take every request into the batch that they work on.
BATCHING = Pacing(start=16, most=256)
_BATCHES = frozenset({"vllm", "sglang"})


def pacing_of(server: Server | None) -> Pacing:
    """How many requests at once for a server that is no vendor's own; None: it does not say what it is."""
    if server is not None and server.slots:
        return Pacing(start=server.slots, most=server.slots, fixed=True)
    return BATCHING if server is not None and server.name in _BATCHES else ELSEWHERE


OPENAI = Dialect(
    official="https://api.openai.com/v1",
    key_variable="OPENAI_API_KEY",
    address_variable="OPENAI_BASE_URL",
    pacing=Pacing(start=16, most=256),
)

SIMULATOR = Dialect(
    official="",
    key_variable=None,
    address_variable=None,
    pacing=ELSEWHERE,
    spelling=SPELLINGS["vllm"],
)

GROK = Dialect(
    official="https://api.x.ai/v1",
    key_variable="GROK_API_KEY or XAI_API_KEY",
    address_variable="XAI_BASE_URL",
    spelling=Spelling(
        OWN,
        {
            **EFFORTS,
            "max": {"reasoning_effort": "high"},
            True: {},  # its reasoning models always reason
            False: {"reasoning_effort": "none"},
        },
        notes={"max": "think max sent as reasoning_effort high"},
    ),
    # Its limit per second is a sixtieth of that per minute, so bursts are refused.
    pacing=Pacing(start=2, most=128),
    reasoning_inside=False,
    priced_list="language-models",
)
