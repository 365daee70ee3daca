"""Which parameter an error complains about, and what becomes of it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from proctor.errors import ConfigError
from proctor.providers.protocols.parameters import Parameters, refused
from proctor.providers.wire.refusals import Place

PLACE = Place("openai", "http://server/v1", "m")


def error(message: str, **more: Any) -> bytes:
    return json.dumps({"error": {"message": message, **more}}).encode()


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (error("No.", param="seed"), "seed"),
        (error("Unsupported parameter: 'top_k' is not supported with this model."), "top_k"),
        (error("`seed` is deprecated for this model."), "seed"),
        (error("Unknown name \"topK\" at 'generation_config': Cannot find field."), "top_k"),
        (error("Unrecognized request argument supplied: seed"), "seed"),
        (
            b'{"code": "invalid", "error": "Model x does not support parameter reasoningEffort."}',
            "reasoning_effort",
        ),
        (b'{"code": "invalid", "error": "Argument not supported on this model: stop"}', "stop"),
        (b"seed is not allowed here; 'seed' that is", "seed"),
        (error("temperature must be between 0 and 2"), None),
        (error("Please stop. Nothing is supported."), None),
        (error("No.", param="messages"), None),
        (b"", None),
        (b"[1]", None),
    ],
)
def test_the_refused_parameter_is_found(body, name):
    assert refused(body, ["temperature", "seed", "top_k", "reasoning_effort", "stop"]) == name


def test_a_hint_recognises_what_is_not_named():
    hints = {"thinkingConfig": re.compile("thinking mode")}
    body = error("This model only works in thinking mode.")
    assert refused(body, ["seed", "thinkingConfig"], hints) == "thinkingConfig"
    assert refused(body, ["seed", "thinkingConfig"]) is None


def parameters(**more: Any) -> Parameters:
    fields = {"seed": 1, "limit": 9, "logprobs": True, "prompt": "p"}
    return Parameters(fields, PLACE, ("seed",), **more)


def test_an_optional_field_is_dropped_once_for_all_requests_under_way():
    ours = parameters()
    sent = ours.fields
    assert ours.adapt(error("'seed'"), sent) and ours.adapt(error("'seed'"), sent)
    assert "seed" not in ours.fields
    assert ours.adjustments == ["seed dropped: the server refuses it"]
    assert not ours.adapt(error("'seed'"), ours.fields), "it is not sent any more, so it cannot be the cause"


def test_a_field_is_replaced_first_and_never_dropped_unless_optional():
    ours = parameters(instead={"limit": {"most": 9}, "seed": {"seed": 2}})
    assert ours.adapt(error("'limit'"), ours.fields)
    assert ours.fields == {"seed": 1, "logprobs": True, "prompt": "p", "most": 9}
    assert ours.adapt(error("'seed'"), ours.fields) and ours.fields["seed"] == 2
    assert ours.adapt(error("'seed'"), ours.fields) and "seed" not in ours.fields
    assert ours.adjustments == ["limit sent as most", "seed sent as 2", "seed dropped: the server refuses it"]
    assert not ours.adapt(error("'prompt'"), ours.fields)


def test_what_the_mode_needs_ends_the_run():
    ours = parameters(needed={"logprobs": "logprob"})
    with pytest.raises(ConfigError, match=r"refuses logprobs, which --mode logprob needs.*generate with m"):
        ours.adapt(error("'logprobs' is not supported"), ours.fields)
