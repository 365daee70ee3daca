"""Servers that others wrote: which program answers, what a list of models decides, and how settings are spelled."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from asking import checked, listed
from recording import Script, recording

from odd_servers import models, odd_server, said
from proctor.errors import AuthError, EndpointNotFound, ModelNotFound, ServerError
from proctor.offered import Server
from proctor.providers.contract import Provider
from proctor.types import Model, Sampling
from simulators import provider, questions

NOT_FOUND = (404, {"detail": "Not Found"})
PROPS = {"/props": (200, {"build_info": "b1-abc"})}
FASTAPI = {"openapi": "3.1.0", "info": {"title": "FastAPI", "version": "0.1.0"}}
TRANSFORMERS = (200, {**FASTAPI, "paths": {"/v1/chat/completions": {}, "/load_model": {}}})
CHOSEN = Sampling(top_k=3, min_p=0.1, repeat_penalty=1.2, repeat_last_n=8, temperature=0.5)


def check(url: str, home, name: str = "mine"):
    return checked(Model("openai", name, url), home)


# The list of models ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at_models", "words"),
    [
        ((500, b"Internal Server Error"), "has no list of models (GET /models answered 500)"),
        (NOT_FOUND, "has no list of models (GET /models answered 404)"),
        ((200, b"<html>hello</html>"), "has no list of models (GET /models gives something else)"),
        ((503, {"error": "scanning"}), "has no list of models (GET /models answered 503)"),
        (models(), "lists no models"),
        (models("other", "another"), "lists other, another"),
    ],
)
def test_a_list_that_does_not_name_the_model_leaves_the_word_to_a_first_question(tmp_path, at_models, words):
    with odd_server({"/v1/models": at_models}) as server:
        found = check(server.url, tmp_path)
    (remark,) = found.remarks
    assert words in remark
    assert "answered all the same" in remark
    (question,) = server.asked
    assert question["max_tokens"] == 1


def test_a_model_that_is_listed_is_asked_nothing_beforehand(tmp_path):
    with odd_server({"/v1/models": models("mine")}) as server:
        assert check(server.url, tmp_path).remarks == ()
    assert server.asked == []


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"error": {"message": "The model `mine` does not exist.", "code": 404}}),
        (400, {"detail": "Server is pinned to '/models/theirs'; requested 'mine'."}),
        (400, {"error": {"message": "Invalid model name passed in. Call /v1/models"}}),
    ],
)
def test_a_first_question_whose_model_is_refused_is_a_wrong_name_with_the_list_beside_it(
    tmp_path, status, body
):
    with (
        odd_server({"/v1/models": models("theirs")}, lambda _: (status, body)) as server,
        pytest.raises(
            ModelNotFound, match=r"does not offer the model 'mine'. It lists theirs. It refuses the name"
        ),
    ):
        check(server.url, tmp_path)


def test_a_server_that_answers_any_name_as_the_model_it_lists_is_a_wrong_name(tmp_path):
    with (
        odd_server({"/v1/models": models("theirs")}, lambda _: said("Hello", "theirs")) as server,
        pytest.raises(
            ModelNotFound, match=r"It lists theirs. It answers to any name, and answered as 'theirs'"
        ),
    ):
        check(server.url, tmp_path)


def test_a_refusal_of_the_small_limit_is_no_wrong_name(tmp_path):
    words = "Unsupported parameter: 'max_tokens' is not supported with this model."
    refusal = (400, {"error": {"message": words, "param": "max_tokens"}})
    with odd_server({"/v1/models": models()}, lambda _: refusal) as server:
        (remark,) = check(server.url, tmp_path).remarks
    assert "refused a first question of 1 token: Unsupported parameter" in remark


@pytest.mark.parametrize(("status", "error"), [(401, AuthError), (404, EndpointNotFound), (500, ServerError)])
def test_a_wrong_key_a_wrong_path_and_a_broken_server_stay_what_they_are(tmp_path, status, error):
    with (
        odd_server({"/v1/models": models()}, lambda _: (status, {"detail": "no"})) as server,
        pytest.raises(error),
    ):
        check(server.url, tmp_path)


def test_a_list_that_wants_a_key_is_believed(tmp_path):
    with (
        odd_server({"/v1/models": (401, {"error": {"message": "no key"}})}) as server,
        pytest.raises(AuthError),
    ):
        check(server.url, tmp_path)
    assert server.asked == []


# Which program answers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("says", "software", "known"),
    [
        ({"/v1/models": models("mine", owner="llamacpp"), **PROPS}, "x", Server("llama.cpp", "b1-abc")),
        ({"/v1/models": (500, b"no"), "/openapi.json": TRANSFORMERS}, "uvicorn", Server("transformers")),
        ({"/v1/models": models("mine"), **PROPS}, "llama.cpp", Server("llama.cpp", "b1-abc")),
        (
            {"/v1/models": models("mine", owner="vllm"), "/version": (200, {"version": "0.32.0"})},
            "uvicorn",
            Server("vllm", "0.32.0"),
        ),
        ({"/v1/models": models("mine", owner="sglang")}, "uvicorn", Server("sglang")),
        (
            {"/v1/models": models("mine", owner="library"), "/api/version": (200, {"version": "0.40.12"})},
            "",
            Server("ollama", "0.40.12"),
        ),
        ({"/v1/models": models("mine", owner="organization_owner")}, "", Server("lmstudio")),
        (
            {
                "/v1/models": models("mine", owner="openai"),
                "/health/readiness": (200, {"litellm_version": "1.80.0"}),
            },
            "uvicorn",
            Server("litellm", "1.80.0"),
        ),
        ({"/v1/models": models("mine", owner="openai")}, "uvicorn", None),
        (
            {
                "/v1/models": models("mine", owner="llm-katan"),
                "/openapi.json": (200, {"info": {"title": "LLM Katan", "version": "0.22.0"}}),
            },
            "uvicorn",
            Server("llm-katan", "0.22.0"),
        ),
        (
            {"/openapi.json": (200, {"info": {"title": "Mock LLM Server", "version": "0.1.0"}})},
            "uvicorn",
            Server("mockllm"),
        ),
        ({"/v1/models": models("mine"), "/openapi.json": (200, [1])}, "uvicorn", None),
        ({"/v1/models": models("mine"), "/openapi.json": (200, {"info": 7})}, "uvicorn", None),
    ],
)
def test_servers_are_told_apart_by_what_they_say_of_themselves(tmp_path, says, software, known):
    with odd_server(says, software=software) as server:
        assert check(server.url, tmp_path).server == known
    assert len(server.looked) <= 3, "the list, and two more at most"


def test_the_list_of_models_names_the_program_too(tmp_path):
    with odd_server({"/v1/models": models("mine", owner="llamacpp"), **PROPS}) as server:
        (found,) = listed("openai", tmp_path, OPENAI_BASE_URL=server.url)
    assert found.server == Server("llama.cpp", "b1-abc")


# How settings are spelled ---------------------------------------------------------------------------------------


def asked_with(url: str, home, sampling: Sampling = CHOSEN) -> tuple[Provider, tuple[str, ...]]:
    """One item asked of the server after the look at it; the provider, and the remarks of the look."""

    async def work() -> tuple[Provider, tuple[str, ...]]:
        async with provider(Model("openai", "mine", url), home, sampling=sampling) as opened:
            found = await opened.check()
            await opened(questions(1)[0], 0)
            return opened, found.remarks

    return asyncio.run(work())


EXTRAS = ("top_k", "min_p", "repetition_penalty", "repeat_penalty", "repeat_last_n")


@pytest.mark.parametrize(
    ("owner", "sent", "unsent"),
    [
        (
            "llamacpp",
            {"top_k": 3, "min_p": 0.1, "repeat_penalty": 1.2, "repeat_last_n": 8},
            {"context_tokens"},
        ),
        ("vllm", {"top_k": 3, "min_p": 0.1, "repetition_penalty": 1.2}, {"context_tokens", "repeat_last_n"}),
        (
            "organization_owner",
            {"top_k": 3, "repeat_penalty": 1.2},
            {"context_tokens", "repeat_last_n", "min_p"},
        ),
        ("library", {}, {"context_tokens", "repeat_last_n", "min_p", "top_k", "repeat_penalty"}),
    ],
)
def test_each_server_gets_a_setting_under_its_own_name_or_not_at_all(tmp_path, owner, sent, unsent):
    with odd_server({"/v1/models": models("mine", owner=owner)}) as server:
        opened, remarks = asked_with(server.url, tmp_path)
    (request,) = server.asked
    assert {name: request[name] for name in EXTRAS if name in request} == sent
    assert request["temperature"] == 0.5
    assert set(opened.unsent) == unsent
    assert remarks == ()


def test_an_unknown_server_gets_the_usual_names_and_nothing_is_claimed_of_them(tmp_path):
    with odd_server({"/v1/models": models("mine")}) as server:
        opened, remarks = asked_with(server.url, tmp_path)
    (request,) = server.asked
    assert {name: request[name] for name in EXTRAS if name in request} == {
        "top_k": 3,
        "min_p": 0.1,
        "repetition_penalty": 1.2,
    }
    assert remarks == (
        "sent top_k, min_p, repeat_penalty as repetition_penalty: whether this server, which does not say what "
        "program it is, applies them is not known",
    )
    assert "repeat_last_n" in opened.unsent


def test_settings_that_nobody_chose_need_no_remark(tmp_path):
    with odd_server({"/v1/models": models("mine")}) as server:
        assert asked_with(server.url, tmp_path, Sampling())[1] == ()


def test_thinking_reaches_llama_cpp_by_its_template(tmp_path):
    with odd_server({"/v1/models": models("mine", owner="llamacpp")}) as server:
        asked_with(server.url, tmp_path, replace(CHOSEN, think="low"))
    assert server.asked[0]["chat_template_kwargs"] == {"reasoning_effort": "low"}
    assert "reasoning_effort" not in server.asked[0]


# Other protocols ------------------------------------------------------------------------------------------------


def test_an_ollama_without_its_list_is_asked_to_load_the_model(tmp_path):
    loaded = Script({"model": "mine", "message": {"role": "assistant", "content": ""}, "done": True})
    with recording([Script(b"no", 500), loaded]) as server:
        (remark,) = checked(Model("ollama", "mine", server.url), tmp_path).remarks
    assert remark.endswith("(GET /api/tags answered 500); it loaded mine all the same")
    missing = Script({"error": "model 'mine' not found"}, 404)
    with recording([Script(b"no", 500), missing]) as server, pytest.raises(ModelNotFound):
        checked(Model("ollama", "mine", server.url), tmp_path)


@pytest.mark.parametrize("shape", ["anthropic", "gemini"])
def test_a_gateway_that_cannot_describe_a_model_keeps_nobody_from_asking_it(tmp_path, shape):
    with recording([Script(b"no", 500)]) as server:
        found = checked(Model(shape, "mine", server.url), tmp_path)
    assert found.remarks == ("the server does not describe mine: it answered 500",)
