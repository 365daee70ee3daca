"""Replies of no use that were billed all the same: the error carries what the server counted."""

from __future__ import annotations

import copy

import orjson
import pytest

from proctor.errors import BadReply, BadRequest, ContextOverflow, ProviderError, ServerError
from proctor.types import Model, Sampling, Usage
from simulators import ask, questions
from wire_bodies import BODIES, PATHS, saying

ITEM = questions(1)[0]
# Of each protocol the field without which there is no reply.
NEEDED = {
    "openai": "choices",
    "grok": "choices",
    "ollama": "message",
    "gemini": "candidates",
    "anthropic": "content",
}
KEYS = {"gemini": "GOOGLE_API_KEY", "grok": "GROK_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
PRICED = '["{}/m"]\ninput = 100.0\noutput = 1000.0\n'


def failure(shape, body, home, kind=ProviderError, **sampling):
    environ = {KEYS[shape]: "key-for-the-test"} if shape in KEYS else {}
    with saying([orjson.dumps(body)]) as url:
        model = Model(shape, "m", url + PATHS.get(shape, ""))
        with pytest.raises(kind) as caught:
            ask(model, home, ITEM, sampling=Sampling(**sampling), **environ)
    return caught.value


def without(shape):
    body = copy.deepcopy(BODIES[shape])
    body[NEEDED[shape]] = [] if isinstance(body[NEEDED[shape]], list) and shape != "anthropic" else None
    return body


@pytest.mark.parametrize("shape", sorted(NEEDED))
def test_an_empty_reply_that_was_billed_carries_its_tokens(shape, tmp_path):
    error = failure(shape, without(shape), tmp_path, BadReply)
    whole = BODIES[shape]
    assert error.usage and error.usage.input_tokens, (shape, whole)
    assert error.usage.output_tokens


@pytest.mark.parametrize("shape", ["ollama", "gemini", "anthropic"])
def test_what_it_cost_follows_from_the_price_table(shape, tmp_path):
    (tmp_path / "prices.toml").write_text(PRICED.format(shape))
    usage = failure(shape, without(shape), tmp_path).usage
    assert usage.cost_usd == pytest.approx(usage.input_tokens / 1e4 + usage.output_tokens / 1e3)


def test_what_it_cost_is_the_servers_own_word_where_it_says_so(tmp_path):
    assert failure("openai", without("openai"), tmp_path).usage == Usage(12, 7, 0.002)


@pytest.mark.parametrize("shape", ["openai", "ollama"])
def test_an_error_in_place_of_a_reply_carries_its_tokens_too(shape, tmp_path):
    body = without(shape) | {"error": {"message": "the upstream went away"}}
    usage = failure(shape, body, tmp_path, ServerError).usage
    assert (usage.input_tokens, usage.output_tokens) == (12, 7)


def test_a_field_of_another_type_does_not_hide_what_the_reply_cost(tmp_path):
    body = copy.deepcopy(BODIES["openai"])
    body["choices"][0]["message"]["content"] = 7
    assert failure("openai", body, tmp_path, BadReply).usage.output_tokens == 7


def test_counts_that_are_odd_themselves_are_not_known(tmp_path):
    body = without("openai") | {"usage": {"prompt_tokens": "12", "completion_tokens": -3}}
    assert failure("openai", body, tmp_path, BadReply).usage == Usage()
    assert failure("openai", [1, 2], tmp_path, BadReply).usage == Usage()


def test_a_reply_without_the_ranking_that_was_asked_for_was_billed(tmp_path):
    body = copy.deepcopy(BODIES["openai"])
    del body["choices"][0]["logprobs"]
    assert failure("openai", body, tmp_path, BadRequest, mode="logprob").usage.input_tokens == 12


def test_a_prompt_that_ollama_cut_was_billed(tmp_path):
    usage = failure("ollama", BODIES["ollama"], tmp_path, ContextOverflow, context_tokens=12).usage
    assert (usage.input_tokens, usage.output_tokens) == (12, 7)
