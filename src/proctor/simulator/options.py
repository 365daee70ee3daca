"""The simulator's options: one table for its own command line and for proctor's."""

from __future__ import annotations

import argparse
import ipaddress
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, cast

from proctor.simulator.behaviour import FAULTS, FAVOURING, NAMED, Behaviour, favouring
from proctor.simulator.hard_quota import QuotaTerms
from proctor.simulator.protocols.memory import FOR_EVER, Room
from proctor.simulator.protocols.quirks import QUIRKS, combine
from proctor.simulator.protocols.ranks import STYLES
from proctor.simulator.protocols.scripts import read_script
from proctor.simulator.protocols.wire import ServerTerms

_USUAL = Behaviour()


@dataclass(frozen=True, slots=True)
class Option:
    """One option. `kind` turns the text into a value; a `bool` option is a flag and takes none."""

    flag: str
    kind: type
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    repeatable: bool = False

    @property
    def name(self) -> str:
        """The key of its value in what `read_options` takes."""
        return self.flag.removeprefix("--").replace("-", "_")


_RATES_OF = {
    "error": "answered with 500",
    "rate_limit": "turned away with 429 (Ollama: 503)",
    "overload": "turned away with 503 (Anthropic: 529)",
    "forbid": "turned away with 403",
    "block": "whose prompt is blocked (Gemini; elsewhere refused)",
    "break": "whose stream ends in an error (without a stream: 500)",
    "crash": "whose connection is closed without an answer",
    "truncate": "cut by the length limit before the answer",
    "garbage": "answered with 200 and something that is not JSON",
    "silent": "answered with an empty text",
    "refuse": "that the model refuses",
    "unclear": "answered without naming an answer",
    "endless": "answered with bytes that never end",
    "odd": "answered with 200 and one field of the wrong type",
    "cut": "whose stream just ends in the middle (without a stream: as crash)",
}

OPTIONS: tuple[Option, ...] = (
    Option("--host", str, "127.0.0.1", "address to listen on; only this machine's own are taken"),
    Option("--port", int, 0, "port to listen on; 0 takes a free one"),
    Option("--answers", Path, None, "JSON lines with the right and wrong answers by prompt"),
    Option("--seed", int, 0, "what all luck, faults and waiting times are drawn from"),
    Option("--latency", float, _USUAL.latency_s, "mean seconds that a reply takes"),
    Option("--sigma", float, _USUAL.latency_sigma, "spread of the latency (lognormal); 0 is none"),
    Option(
        "--first-token", float, 0.0, "seconds until the first token of a reply; each word is then a token"
    ),
    Option("--per-token", float, 0.0, "seconds between two tokens of a reply"),
    Option("--slots", int, None, "requests served at once; without it any number"),
    Option("--overload", str, "queue", "what becomes of requests beyond the slots", ("queue", "refuse")),
    Option("--tokens", int, None, "output tokens to report; without it counted from the text"),
    Option("--accuracy", float, _USUAL.accuracy, "share of prompts that a model answers rightly"),
    Option("--correlation", float, _USUAL.correlation, "share of prompts whose luck all models share"),
    Option("--wordy", int, 0, "most sentences that a reply has beyond one or two, in front of its answer"),
    Option(
        "--leans-to", str, None, "bias of judges: longer, first, kind or model=NAME (favours its replies)"
    ),
    Option("--lean-rate", float, 0.0, "share of verdicts that are as the bias says, whatever is right"),
    Option(
        "--wavers", float, 0.0, "share of prompts whose luck is anew when asked again above temperature 0"
    ),
    Option("--model", str, (), "one more model, as NAME=ACCURACY", repeatable=True),
    Option(
        "--favours",
        str,
        (),
        f"one more judge, {FAVOURING}NAME: favours this model's replies",
        repeatable=True,
    ),
    Option("--key", str, None, "the key that requests must carry; without it none is needed"),
    Option(
        "--context", int, ServerTerms().context_tokens, "longest prompt in tokens, of four characters each"
    ),
    Option("--reject", str, "", "parameters to refuse, with commas between: seed,max_tokens"),
    *(
        Option(f"--{fault.replace('_', '-')}-rate", float, 0.0, f"share of requests {_RATES_OF[fault]}")
        for fault in FAULTS
    ),
    Option("--quota-day", int, None, "requests after which the day's quota is used up; without it never"),
    Option(
        "--per-second", float, None, "requests a second beyond which one is refused; without it any number"
    ),
    Option("--rpm", float, None, "requests a minute, a hard quota told in headers; without it any number"),
    Option("--tpm", float, None, "tokens a minute, of prompts and of what replies may have; as --rpm"),
    Option("--quota-burst", float, 60.0, "seconds of --rpm and --tpm that may be used at once"),
    Option(
        "--quota-window", float, None, "count --rpm and --tpm in windows of so many seconds, not by a bucket"
    ),
    Option("--quirks", str, "", f"speak as another server does, with commas between: {', '.join(QUIRKS)}"),
    Option(
        "--loading", float, 0.0, "seconds after the start in which the model is loaded and nobody answered"
    ),
    Option("--decline", str, None, "refuse prompts that hold this text with 400 (OpenAI's endpoints)"),
    Option("--queue", int, None, "requests that may wait for a slot; more are turned away (Ollama: 512)"),
    Option(
        "--trained-context", int, None, "longest context of the models; Ollama cuts --context-tokens to it"
    ),
    Option("--models-in-memory", int, None, "models loaded at once (Ollama: 3); without it any number"),
    Option(
        "--keep-alive", float, None, "seconds an idle model stays loaded (Ollama: 300); without it for ever"
    ),
    Option("--load", float, 0.0, "seconds that loading a model takes"),
    Option("--first-token-style", str, "plain", "how ranked first tokens look", STYLES),
    Option("--retry-after", float, _USUAL.retry_after_s, "seconds to wait that a 429 names"),
    Option(
        "--script",
        Path,
        None,
        "JSON lines that answer, turn by turn, in place of a model: for dry runs of agents",
    ),
    Option("--until-stdin-closes", bool, False, "end when standard input does"),
)


@dataclass(frozen=True, slots=True)
class Setup:
    """A server as the options describe it."""

    host: str
    port: int
    answers: Path | None
    seed: int
    slots: int | None
    overload: Literal["queue", "refuse"]
    key: str | None
    terms: ServerTerms
    behaviours: Mapping[str, Behaviour]
    until_stdin_closes: bool


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m proctor.simulator",
        allow_abbrev=False,  # half an option must not pass for a whole one
        description="A model server for dry runs: the protocols of five vendors, right as often as told.",
    )
    for option in OPTIONS:
        if option.kind is bool:
            parser.add_argument(option.flag, action="store_true", help=option.help)
            continue
        parser.add_argument(
            option.flag,
            type=option.kind,
            default=list(option.default) if option.repeatable else option.default,
            action="append" if option.repeatable else "store",
            choices=option.choices or None,
            help=option.help,
        )
    return parser


def read_options(given: Mapping[str, Any]) -> Setup:
    """The server that these values, by `Option.name`, describe; what is not given takes its default.

    Raises: ValueError that names the option.
    """
    values = {option.name: option.default for option in OPTIONS}
    if unknown := sorted(given.keys() - values.keys()):
        raise ValueError(f"unknown option {unknown[0]!r}; known: {', '.join(values)}")
    values |= given
    _check(values)
    return Setup(
        host=_loopback(values["host"]),
        port=_port(values["port"]),
        answers=values["answers"],
        seed=values["seed"],
        slots=values["slots"],
        overload=cast(Literal["queue", "refuse"], values["overload"]),
        key=values["key"],
        terms=ServerTerms(
            context_tokens=values["context"],
            reject=frozenset(_words(values["reject"])),
            quota_day=values["quota_day"],
            per_second=values["per_second"],
            hard=QuotaTerms(values["rpm"], values["tpm"], values["quota_burst"], values["quota_window"]),
            first_token_style=values["first_token_style"],
            quirks=combine(_words(values["quirks"])),
            loading_s=values["loading"],
            trained_tokens=values["trained_context"],
            room=_room(values),
            queue=values["queue"],
            decline=values["decline"],
            script=() if values["script"] is None else read_script(values["script"]),
        ),
        behaviours=_behaviours(values),
        until_stdin_closes=values["until_stdin_closes"],
    )


def _check(values: Mapping[str, Any]) -> None:
    """Raises: ValueError that names the option whose value cannot be meant."""
    if values["slots"] is not None and values["slots"] < 1:
        raise ValueError(f"--slots {values['slots']}: at least 1; leave the option out for no limit")
    if values["context"] < 1:
        raise ValueError(f"--context {values['context']}: a prompt has at least 1 token")
    if values["quota_day"] is not None and values["quota_day"] < 0:
        raise ValueError(f"--quota-day {values['quota_day']}: 0 or more; leave the option out for no quota")
    if values["per_second"] is not None and not 0.0 < values["per_second"] < math.inf:
        raise ValueError(f"--per-second {values['per_second']}: above 0; leave the option out for no limit")
    for name in ("rpm", "tpm", "quota_burst", "quota_window"):
        if values[name] is not None and not 0.0 < values[name] < math.inf:
            raise ValueError(f"--{name.replace('_', '-')} {values[name]}: above 0")
    for name in ("loading", "load", "keep_alive"):
        if values[name] is not None and not 0.0 <= values[name] < math.inf:
            raise ValueError(f"--{name.replace('_', '-')} {values[name]}: 0 seconds or more")
    for name, least in (("queue", 0), ("trained_context", 1), ("models_in_memory", 1)):
        if values[name] is not None and values[name] < least:
            raise ValueError(f"--{name.replace('_', '-')} {values[name]}: at least {least}")
    if values["first_token_style"] not in STYLES:
        raise ValueError(f"--first-token-style {values['first_token_style']}: one of {', '.join(STYLES)}")


def _room(values: Mapping[str, Any]) -> Room:
    keep_s = values["keep_alive"]
    return Room(values["models_in_memory"], FOR_EVER if keep_s is None else keep_s, values["load"])


def _port(port: int) -> int:
    if not 0 <= port <= 65535:
        raise ValueError(f"--port {port}: a port is a number from 0 (a free one) to 65535")
    return port


def _loopback(host: str) -> str:
    if host == "localhost":
        return "127.0.0.1"
    try:
        own = ipaddress.ip_address(host).is_loopback
    except ValueError:
        own = False
    if not own:
        # It answers anyone with whatever it is told to: nothing for a network.
        raise ValueError(f"--host {host}: the simulator listens on this machine only; use 127.0.0.1 or ::1")
    return host


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _behaviours(values: Mapping[str, Any]) -> dict[str, Behaviour]:
    asked = Behaviour(
        accuracy=values["accuracy"],
        correlation=values["correlation"],
        latency_s=values["latency"],
        latency_sigma=values["sigma"],
        first_token_s=values["first_token"],
        per_token_s=values["per_token"],
        tokens=values["tokens"],
        wordy=values["wordy"],
        leans_to=values["leans_to"],
        lean_rate=values["lean_rate"],
        wavers=values["wavers"],
        retry_after_s=values["retry_after"],
        **{f"{fault}_rate": values[f"{fault}_rate"] for fault in FAULTS},
    )
    models = {name: _over(named, asked) for name, named in NAMED.items()}
    for text in values["model"]:
        name, accuracy = _named_model(text)
        models[name] = replace(asked, accuracy=accuracy)
    models |= {f"{FAVOURING}{name}": _over(favouring(name), asked) for name in values["favours"]}
    return models


def _over(named: Behaviour, asked: Behaviour) -> Behaviour:
    """The named model with what was asked for wherever it has nothing of its own.

    A model known for its faults keeps exactly those: sim-flaky must not start to crash as well.
    """
    own = {
        field.name: getattr(named, field.name)
        for field in fields(Behaviour)
        if field.init and getattr(named, field.name) != getattr(_USUAL, field.name)
    }
    if named.faulty:
        own |= {f"{fault}_rate": getattr(named, f"{fault}_rate") for fault in FAULTS}
    return replace(asked, **own)


def _named_model(text: str) -> tuple[str, float]:
    name, _, share = text.rpartition("=")
    try:
        accuracy = float(share)
    except ValueError:
        accuracy = -1.0
    if not name or not 0.0 <= accuracy <= 1.0:
        raise ValueError(f"--model {text}: write NAME=ACCURACY, the accuracy from 0 to 1, such as mine=0.9")
    return name, accuracy


def parse(arguments: Sequence[str]) -> Setup:
    """The server that a command line describes. Ends the process with 2 and the usage when it is wrong."""
    parser = make_parser()
    values = vars(parser.parse_args(arguments))
    try:
        return read_options(values)
    except ValueError as error:
        parser.error(str(error))
