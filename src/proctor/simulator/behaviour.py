"""How simulated models behave: how often right, how slow, how faulty; and the models known by name.

Nothing here is random. `draw` turns the seed and what the draw is for into a number, so the same
server gives the same answers, faults and waiting times again.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from statistics import NormalDist

# The faults a request can meet; the field of each in Behaviour is its name and "_rate".
FAULTS = (
    "error", "rate_limit", "crash", "truncate", "garbage", "silent", "refuse", "unclear", "endless",
    "overload", "forbid", "block", "break", "odd", "cut",
)  # fmt: skip

_SHARES = ("accuracy", "correlation", "lean_rate", "wavers", *(f"{fault}_rate" for fault in FAULTS))
_NORMAL = NormalDist()
# A judge's biases beside the one for a model: the longer reply, the reply shown first, mercy.
LEANINGS = ("longer", "first", "kind")
FAVOURING = "judge-for-"  # and the model that such a judge favours


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How one model behaves. A request meets at most one fault, so the rates sum to 1 at most.

    `correlation` is the share of prompts whose luck all models of a server have in common: without
    it, two models would disagree far more often than real ones do. `latency_s` is a mean; with
    `latency_sigma` above 0 the times are lognormal around it. `tokens` is the output token count
    that is reported; None takes it from the length of the text. With `first_token_s` or `per_token_s` each word is
    a token, and a reply takes that long for its first and for each one after it, as a stream shows.

    A judge with a bias answers with probability `lean_rate` what the bias says, whatever is right: `leans_to` is
    "longer", "first", "kind" or "model=NAME". Accuracy is that of all its other verdicts. `wavers` is the share of
    prompts at which its luck is drawn anew when it is asked again at a temperature above 0.

    Raises: ValueError for a value out of range.
    """

    accuracy: float = 0.8
    correlation: float = 0.5
    latency_s: float = 0.0
    latency_sigma: float = 0.0
    first_token_s: float = 0.0
    per_token_s: float = 0.0
    tokens: int | None = None
    verbose: bool = True  # a sentence or two before the line with the answer
    wordy: int = 0  # up to so many more, from prompt to prompt another number
    leans_to: str | None = None
    lean_rate: float = 0.0
    wavers: float = 0.0
    thinks: bool = False  # shows its reasoning beside the reply
    error_rate: float = 0.0
    rate_limit_rate: float = 0.0
    retry_after_s: float = 0.05  # told to those who were turned away
    crash_rate: float = 0.0
    truncate_rate: float = 0.0
    garbage_rate: float = 0.0
    silent_rate: float = 0.0
    refuse_rate: float = 0.0
    unclear_rate: float = 0.0
    endless_rate: float = 0.0
    overload_rate: float = 0.0
    forbid_rate: float = 0.0
    block_rate: float = 0.0
    break_rate: float = 0.0
    odd_rate: float = 0.0
    cut_rate: float = 0.0
    # Upper ends of the faults' stretches of [0, 1), made once because every request looks at them.
    _stretches: tuple[tuple[float, str], ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        for name in _SHARES:
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} is {getattr(self, name)}; it is a share, from 0 to 1")
        for name in ("latency_s", "latency_sigma", "retry_after_s", "first_token_s", "per_token_s"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be 0 or more, and finite")
        if self.tokens is not None and self.tokens < 1:
            raise ValueError(f"tokens is {self.tokens}; a reply has at least 1")
        if self.wordy < 0:
            raise ValueError(f"wordy is {self.wordy}; it is a number of sentences, 0 or more")
        if self.leans_to is not None and not is_leaning(self.leans_to):
            raise ValueError(f"leans_to is {self.leans_to!r}; it is {', '.join(LEANINGS)} or model=NAME")
        end, stretches = 0.0, []
        for fault in FAULTS:
            if rate := getattr(self, f"{fault}_rate"):
                end += rate
                stretches.append((end, fault))
        if end > 1.0 + 1e-9:
            raise ValueError(f"the fault rates sum to {end:g}; at most 1, because a request meets one fault")
        object.__setattr__(self, "_stretches", tuple(stretches))

    @property
    def paced(self) -> bool:
        return self.first_token_s > 0.0 or self.per_token_s > 0.0

    def tokens_s(self, count: int) -> float:
        """How long so many tokens take."""
        return self.first_token_s + self.per_token_s * max(0, count - 1) if self.paced else 0.0

    @property
    def faulty(self) -> bool:
        return bool(self._stretches)

    def fault(self, luck: float) -> str | None:
        """The fault that `luck` in [0, 1) falls on, if any. A rate of 1 is met by every luck."""
        for end, fault in self._stretches:
            if luck < end:
                return fault
        return None


def is_leaning(words: str) -> bool:
    kind, equals, name = words.partition("=")
    return bool(name) if equals and kind == "model" else words in LEANINGS


def draw(*parts: object) -> float:
    """A number in [0, 1) that depends on the parts alone, evenly spread."""
    text = "\x1f".join(map(str, parts))
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return (int.from_bytes(digest, "big") >> 11) * 2.0**-53


def fault_of(behaviour: Behaviour, seed: int, model: str, key: str, tried: int) -> str | None:
    """The fault that this try meets. A prompt asked again is a new try, so a fault may clear."""
    if not behaviour.faulty:
        return None
    return behaviour.fault(draw(seed, "fault", model, key, tried))


def is_right(behaviour: Behaviour, seed: int, model: str, key: str) -> bool:
    """Whether the model knows the answer to this prompt: the same on every try."""
    shared = draw(seed, "shared", key, model) < behaviour.correlation
    luck = draw(seed, "luck", key) if shared else draw(seed, "luck", model, key)
    return luck < behaviour.accuracy


def leans(behaviour: Behaviour, seed: int, model: str, key: str) -> bool:
    """Whether the model answers this prompt as its bias says: the same on every try."""
    return draw(seed, "lean", model, key) < behaviour.lean_rate


def latency_of(behaviour: Behaviour, seed: int, arrival: int) -> float:
    """How long the request that arrived as number `arrival` takes, in seconds.

    It depends on the order of arrival, not on the prompt, so that every client which is measured
    meets the same sequence.
    """
    mean_s, sigma = behaviour.latency_s, behaviour.latency_sigma
    if not (mean_s and sigma):
        return mean_s
    # Half a step up: 0 itself has no quantile.
    quantile = _NORMAL.inv_cdf(draw(seed, "latency", arrival) + 2.0**-54)
    # exp(mu + sigma^2 / 2) is the mean of a lognormal: mu is chosen so that it comes out as asked.
    return math.exp(math.log(mean_s) - sigma * sigma / 2.0 + sigma * quantile)


def _judge(accuracy: float = 0.85, leans_to: str | None = None) -> Behaviour:
    return Behaviour(accuracy, leans_to=leans_to, lean_rate=0.4 if leans_to else 0.0, wavers=0.5)


# In the order in which the server lists them: the first is what people try first.
NAMED: dict[str, Behaviour] = {
    "sim": Behaviour(),
    "sim-small": Behaviour(accuracy=0.6),
    "sim-perfect": Behaviour(accuracy=1.0),
    "sim-wrong": Behaviour(accuracy=0.0),
    "sim-silent": Behaviour(silent_rate=1.0),
    "sim-truncating": Behaviour(truncate_rate=1.0),
    "sim-ratelimited": Behaviour(rate_limit_rate=0.3),
    "sim-flaky": Behaviour(error_rate=0.2),
    "sim-crashing": Behaviour(crash_rate=1.0),
    "sim-garbage": Behaviour(garbage_rate=1.0),
    "sim-endless": Behaviour(endless_rate=1.0),
    "sim-unclear": Behaviour(unclear_rate=1.0),
    "sim-refusing": Behaviour(refuse_rate=1.0),
    "sim-thinking": Behaviour(thinks=True),
    "sim-overloaded": Behaviour(overload_rate=1.0),
    "sim-forbidden": Behaviour(forbid_rate=1.0),
    "sim-blocked": Behaviour(block_rate=1.0),
    "sim-breaking": Behaviour(break_rate=1.0),
    "sim-wordy": Behaviour(wordy=8),
    "judge": _judge(),
    "judge-70": _judge(0.7),
    "judge-95": _judge(0.95),
    "judge-longer": _judge(leans_to="longer"),
    "judge-first": _judge(leans_to="first"),
    "judge-kind": _judge(leans_to="kind"),
}


def favouring(model: str) -> Behaviour:
    """The judge that favours the replies of a model, named with its provider or without."""
    return _judge(leans_to=f"model={model}")
