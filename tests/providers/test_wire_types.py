"""What a server sends becomes a Reply of typed values, or a bad reply that names the field; by made-up JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest
from asking import listed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recording import Script, recording

from proctor.errors import BadReply, BadRequest, ContextOverflow, EndpointNotFound, ProviderError
from proctor.providers.wire.delays import retry_after_s
from proctor.references import ExamRef
from proctor.sources.exams.source import open_suite
from proctor.types import Model, Reply, Sampling
from simulators import provider
from wire_bodies import BODIES, PATHS, SHAPELESS, paths, replaced, saying

pytestmark = pytest.mark.slow

SHAPES = sorted(BODIES)
MODES = [(shape, "generate") for shape in SHAPES]
MODES += [(shape, "logprob") for shape in ("gemini", "ollama", "openai")]
Say = Callable[[bytes], Reply]

scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory):
    return open_suite(ExamRef("suite", "superglue", rows="sample", limit=1), tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def item(source):
    return next(iter(source.items()))


@pytest.fixture
def answering(tmp_path: Path, item) -> Iterator[Callable[[str, str], Say]]:
    """For a shape and a mode: what its provider makes of a body that came over HTTP."""
    told: list[bytes] = []
    with contextlib.ExitStack() as ending:
        url = ending.enter_context(saying(iter(lambda: told[-1], None)))
        runner = ending.enter_context(asyncio.Runner())

        def opened(shape: str, mode: str) -> Say:
            sampling = Sampling(mode=mode)  # type: ignore[arg-type]  # one of MODES
            model = Model(shape, "m", url + PATHS.get(shape, ""))
            manager = provider(model, tmp_path, sampling=sampling)
            asked = runner.run(manager.__aenter__())
            ending.callback(lambda: runner.run(manager.__aexit__(None, None, None)))

            def say(body: bytes) -> Reply:
                told.append(body)
                return runner.run(asked(item, 0))

            return say

        yield opened


def is_typed(reply: Reply) -> bool:
    counts = (reply.input_tokens, reply.output_tokens, reply.reasoning_tokens)
    amounts = (reply.latency_s, reply.cost_usd)
    return (
        isinstance(reply.text, str)
        and (reply.reasoning is None or isinstance(reply.reasoning, str))
        and reply.finish in ("stop", "length", "refused")
        and all(c is None or (type(c) is int and 0 <= c < 2**31) for c in counts)
        and all(a is None or (type(a) is float and math.isfinite(a) and a >= 0) for a in amounts)
        and all(type(token) is str and math.isfinite(logprob) for token, logprob in reply.first_token)
    )


@pytest.mark.parametrize(("shape", "mode"), MODES)
def test_a_whole_reply_is_read(answering, shape, mode):
    reply = answering(shape, mode)(orjson.dumps(BODIES[shape]))
    assert is_typed(reply) and reply.text == "Answer: A" and reply.input_tokens == 12
    assert reply.first_token == ((("A", -0.1), ("B", -2.5)) if mode == "logprob" else ())


@pytest.mark.parametrize(("shape", "mode"), MODES)
def test_whatever_stands_in_a_field_the_outcome_is_a_typed_reply_or_a_bad_reply(
    answering, source, item, shape, mode
):
    say, body = answering(shape, mode), BODIES[shape]

    @settings(
        max_examples=120,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    @given(st.lists(st.tuples(st.sampled_from(list(paths(body))), values), min_size=1, max_size=3))
    def holds(changes):
        changed = body
        for path, value in changes:
            changed = replaced(changed, path, value)
        try:
            sent = orjson.dumps(changed)
        except TypeError:  # numbers beyond 64 bits and half surrogates: orjson writes neither, servers may
            sent = json.dumps(changed).encode()
        try:
            reply = say(sent)
        except (BadReply, ContextOverflow):
            return
        except BadRequest:
            assert mode == "logprob", "only a reply without a ranking cannot be asked for again"
            return
        assert is_typed(reply), reply
        source.grader.grade(item, reply)

    holds()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("body", SHAPELESS, ids=lambda body: repr(body[:12]))
def test_what_is_no_object_is_a_bad_reply(answering, shape, body):
    with pytest.raises(BadReply):
        answering(shape, "generate")(body)


@pytest.mark.parametrize(
    ("shape", "path", "odd", "said"),
    [
        ("openai", ("choices", 0, "message", "content"), 5, r"choices\[0\]\.message\.content is 5 .*not text"),
        ("openai", ("usage", "prompt_tokens"), "12", r'usage\.prompt_tokens is "12" .*whole number'),
        ("openai", ("usage", "prompt_tokens"), 12.0, r"usage\.prompt_tokens is 12\.0 "),
        ("openai", ("choices",), {}, r"choices is {} .*not a list"),
        ("grok", ("usage", "cost_in_usd_ticks"), "7", r'usage\.cost_in_usd_ticks is "7" '),
        ("grok", ("usage", "completion_tokens"), 2**31 - 2, r"usage in the reply adds up to"),
        ("ollama", ("load_duration",), "1ms", r'load_duration is "1ms" '),
        ("ollama", ("total_duration",), [1], r"total_duration is \[1\] "),
        ("ollama", ("eval_count",), -1, r"eval_count is -1 "),
        ("ollama", ("done_reason",), 3, r"done_reason is 3 .*not text"),
        ("gemini", ("candidates", 0, "content", "parts", 1, "text"), {"a": 1}, r"parts\[1\]\.text is {"),
        ("gemini", ("candidates", 0, "finishReason"), 2, r"candidates\[0\]\.finishReason is 2 "),
        ("anthropic", ("usage", "output_tokens"), [7], r"usage\.output_tokens is \[7\] "),
        ("anthropic", ("content",), "Answer: A", r'content is "Answer: A" .*not a list of objects'),
    ],
)  # fmt: skip
def test_the_error_names_the_field_and_what_was_there(answering, shape, path, odd, said):
    with pytest.raises(BadReply, match=said) as caught:
        answering(shape, "generate")(orjson.dumps(replaced(BODIES[shape], path, odd)))
    assert caught.value.retryable and not caught.value.stops_run


LISTS = {
    "ollama": ("OLLAMA_HOST", "models", {"name": "m", "size": 1, "digest": "d", "details": {"family": "f"}}),
    "openai": ("OPENAI_BASE_URL", "data", {"id": "m", "max_model_len": 8192, "aliases": ["n"]}),
    "grok": ("XAI_BASE_URL", "models", {"id": "m", "aliases": ["n"], "prompt_text_token_price": 3}),
    "gemini": ("GEMINI_BASE_URL", "models", {"name": "models/m", "inputTokenLimit": 9, "displayName": "M"}),
    "anthropic": ("ANTHROPIC_BASE_URL", "data", {"id": "m", "display_name": "M", "max_input_tokens": 9}),
}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_of_models_is_read_as_far_as_it_is_one(tmp_path, name):
    """A name is needed; what is only shown of a model is left out where it is odd."""
    variable, field, row = LISTS[name]
    key = {"GEMINI_API_KEY": "k" * 9, "GROK_API_KEY": "k" * 9, "ANTHROPIC_API_KEY": "k" * 9}

    def models(sent: object):
        with recording([Script(sent)]) as server:
            return listed(name, tmp_path, **{variable: server.url, **key})

    for odd in (5, [5], {"a": {}}, "\0", None, True):
        for path in paths(row):
            changed = {field: [replaced(row, path, odd)]}
            try:
                (found,) = models(changed)
            except ProviderError as error:
                assert isinstance(error, BadReply) and path[0] in ("name", "id"), error
                continue
            assert isinstance(found.model.name, str)
            assert all(type(count) in (int, type(None)) for count in (found.size_bytes, found.context_tokens))
            facts = (found.digest, found.parameters, found.quantization, found.note)
            assert all(fact is None or isinstance(fact, str) for fact in facts)
    for shapeless in ({field: 5}, {field: [5]}, {field: {"m": row}}, [], b"\xff"):
        with pytest.raises((BadReply, EndpointNotFound)):
            models(shapeless)


@pytest.mark.parametrize("text", ["9" * 400, "99999999999999h", "nan", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_delay_that_nobody_means_is_none(text):
    assert retry_after_s({"Retry-After": text}, now=0.0) is None
