"""Gemini over HTTP against the simulator, which refuses fields that Google does not know."""

from __future__ import annotations

from dataclasses import replace

import pytest
from asking import checked, listed
from recording import Script, recording

from proctor.errors import (
    AuthError,
    BadReply,
    ContextOverflow,
    EndpointNotFound,
    ModelNotFound,
    NetworkError,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    ServerError,
)
from proctor.types import Chat, Message, Model, Sampling
from simulators import ask, questions, simulator

ITEM = questions(1)[0]


def model(url: str, name: str = "sim-perfect") -> Model:
    return Model("gemini", name, url)


@pytest.fixture(scope="module")
def server():
    with simulator(questions(30)) as running:
        yield running


def test_the_simulator_answers_in_geminis_shape(server, tmp_path):
    reply = ask(model(server.url), tmp_path, ITEM, sampling=Sampling(top_p=0.9, top_k=3, stop=("END",)))
    assert reply.text.endswith("Answer: A") and reply.finish == "stop"
    assert reply.input_tokens and reply.output_tokens and reply.reasoning_tokens is None


def test_thoughts_are_counted_even_where_they_are_not_shown(server, tmp_path):
    hidden = ask(model(server.url, "sim-thinking"), tmp_path, ITEM)
    shown = ask(model(server.url, "sim-thinking"), tmp_path, ITEM, sampling=Sampling(think=True))
    off = ask(model(server.url, "sim-thinking"), tmp_path, ITEM, sampling=Sampling(think=False))
    assert hidden.reasoning is None and shown.reasoning and off.reasoning is None
    assert hidden.reasoning_tokens == shown.reasoning_tokens and off.reasoning_tokens is None
    assert hidden.output_tokens == off.output_tokens + hidden.reasoning_tokens


@pytest.mark.parametrize(
    ("name", "finish"),
    [("sim-refusing", "refused"), ("sim-blocked", "refused"), ("sim-truncating", "length")],
)
def test_refusals_and_cuts_are_replies(server, tmp_path, name, finish):
    assert ask(model(server.url, name), tmp_path, ITEM).finish == finish


def test_a_limit_below_the_thoughts_gives_no_text(server, tmp_path):
    reply = ask(model(server.url, "sim-thinking"), tmp_path, ITEM, sampling=Sampling(max_tokens=3))
    assert (reply.text, reply.finish, reply.output_tokens) == ("", "length", 3)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nobody", ModelNotFound),
        ("sim-forbidden", AuthError),
        ("sim-overloaded", Overloaded),
        ("sim-crashing", NetworkError),
        ("sim-garbage", BadReply),
        ("sim-breaking", ServerError),
    ],
)
def test_what_is_no_reply_is_an_error_of_its_kind(server, tmp_path, name, kind):
    with pytest.raises(kind):
        ask(model(server.url, name), tmp_path, ITEM)


def test_the_simulated_quotas_are_told_apart(tmp_path):
    with simulator([ITEM], "--rate-limit-rate", "1", "--retry-after", "7") as running:
        with pytest.raises(RateLimited) as caught:
            ask(model(running.url, "sim"), tmp_path, ITEM)
        assert caught.value.retry_after_s == 7
    with simulator([ITEM], "--quota-day", "1") as running:
        assert ask(model(running.url), tmp_path, ITEM).text
        with pytest.raises(QuotaExhausted, match="PerDay"):
            ask(model(running.url), tmp_path, ITEM)


def test_wrong_and_missing_keys_name_the_variables_and_never_the_key(tmp_path):
    with simulator([ITEM], "--key", "right-key-123456") as running:
        for environ in ({}, {"GEMINI_API_KEY": "wrong-key-654321"}):
            with pytest.raises(AuthError, match="GOOGLE_API_KEY or GEMINI_API_KEY") as caught:
                ask(model(running.url), tmp_path, ITEM, **environ)
            assert "wrong-key-654321" not in str(caught.value)
        assert ask(model(running.url), tmp_path, ITEM, GEMINI_API_KEY="right-key-123456").text


def test_too_long_a_prompt_is_refused_not_cut(tmp_path):
    long = replace(ITEM, ask=Chat((Message("user", "word " * 4000),)))
    with simulator([ITEM], "--context", "1000") as running, pytest.raises(ContextOverflow):
        ask(model(running.url), tmp_path, long)


def test_parameters_that_a_model_refuses_are_dropped(tmp_path):
    with simulator([ITEM], "--reject", "seed,topK,thinkingBudget") as running:
        sampling = Sampling(top_k=3, think=False)
        assert ask(model(running.url), tmp_path, ITEM, sampling=sampling).text.endswith("Answer: A")


def test_the_check_describes_the_model(server, tmp_path):
    found = checked(model(server.url, "sim"), tmp_path)
    assert (found.model.name, found.context_tokens, found.note) == ("sim", 8192, "Simulated sim")
    with pytest.raises(ModelNotFound, match="nobody"):
        checked(model(server.url, "nobody"), tmp_path)
    with pytest.raises(ModelNotFound, match="does not answer questions"):
        checked(model(server.url, "sim-embedding"), tmp_path)


def test_an_address_with_the_version_in_it_is_understood(server, tmp_path):
    assert checked(model(f"{server.url}/v1beta", "sim"), tmp_path).context_tokens == 8192


def test_only_models_that_answer_are_listed(server, tmp_path):
    names = [m.model.name for m in listed("gemini", tmp_path, GEMINI_BASE_URL=server.url)]
    assert "sim" in names and "sim-embedding" not in names


def test_the_list_is_read_to_its_last_page(tmp_path):
    row = {"supportedGenerationMethods": ["generateContent"]}
    pages = [
        Script({"models": [{"name": "models/a", **row}], "nextPageToken": "t/1"}),
        Script({"models": [{"name": "models/b", **row}]}),
    ]
    with recording(pages) as server:
        names = [m.model.name for m in listed("gemini", tmp_path, GEMINI_BASE_URL=server.url)]
    assert names == ["a", "b"]
    assert [s.path for s in server.sent] == [
        "/v1beta/models?pageSize=1000",
        "/v1beta/models?pageSize=1000&pageToken=t/1",
    ]


def test_google_itself_without_a_key_is_refused_before_any_request(tmp_path):
    with pytest.raises(AuthError, match="GOOGLE_API_KEY or GEMINI_API_KEY"):
        checked(Model("gemini", "gemini-x"), tmp_path)
    with pytest.raises(AuthError, match="GOOGLE_API_KEY or GEMINI_API_KEY"):
        listed("gemini", tmp_path)


def test_no_server_at_the_address_names_address_and_variable(tmp_path):
    with pytest.raises(EndpointNotFound, match=r"127\.0\.0\.1:9.*GEMINI_BASE_URL"):
        checked(model("http://127.0.0.1:9"), tmp_path)
