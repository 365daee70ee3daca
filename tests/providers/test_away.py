"""Which failures say that nobody can be answered now: no connection, or a model that is being loaded."""

from __future__ import annotations

import socket

import pytest
from asking import checked
from recording import Script, recording

from ports import nobodys_port
from proctor.errors import EndpointNotFound, NetworkError, Overloaded, ProviderError, RequestTimeout
from proctor.types import Model
from simulators import ask, questions

ITEM = questions(1)[0]
LOADING = {"error": {"message": "Loading model", "type": "unavailable_error", "code": 503}}


def failure(url, home, kind=ProviderError, **given):
    with pytest.raises(kind) as caught:
        ask(Model("openai", "m", url), home, ITEM, **given)
    return caught.value


def test_an_address_where_nobody_listens_is_away_and_named_in_the_systems_words(tmp_path):
    with nobodys_port() as port:
        error = failure(f"http://127.0.0.1:{port}/v1", tmp_path, NetworkError)
    assert error.away
    assert "cannot connect (Connection refused)" in str(error)


def test_an_address_that_lets_nobody_in_is_no_request_that_took_too_long(tmp_path):
    """As where a machine is down: nothing answers, not even with a refusal."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        # Those who wait in line for a server that never lets them in: the next one gets no answer at all.
        line = [socket.socket() for _ in range(8)]
        for each in line:
            each.setblocking(False)
            each.connect_ex(address)
        try:
            error = failure(f"http://127.0.0.1:{address[1]}/v1", tmp_path, timeout_s=0.3)
        finally:
            for each in line:
                each.close()
    assert isinstance(error, NetworkError) and error.away
    assert "no answer" in str(error)


@pytest.mark.parametrize(
    ("script", "kind", "away"),
    [
        (Script(LOADING, 503), Overloaded, True),
        (
            Script({"error": "Model org/name is currently loading", "estimated_time": 20.0}, 503),
            Overloaded,
            True,
        ),
        (Script({"error": "server busy, please try again"}, 503), Overloaded, False),
        (Script({"error": {"message": "Loading model files failed"}}, 500), ProviderError, False),
        (Script("Bad Gateway", 502), ProviderError, False),
    ],
    ids=["llama.cpp", "another's words", "full", "broken", "gateway"],
)
def test_a_server_that_loads_its_model_is_told_from_one_that_is_full(script, kind, away, tmp_path):
    with recording([script]) as server:
        assert failure(f"{server.url}/v1", tmp_path, kind).away is away


@pytest.mark.parametrize(
    ("script", "unreached"),
    [
        (Script(b"<html>502 Bad Gateway</html>", 502), True),
        (
            Script(
                {"error": {"message": "litellm.InternalServerError: OpenAIException - Connection error.."}},
                500,
            ),
            True,
        ),
        (Script(b"no healthy upstream", 503), True),
        (Script({"error": {"message": "out of memory"}}, 500), False),
        (Script({"error": "Connection error in your prompt"}, 400), False),
    ],
    ids=["nginx", "LiteLLM", "Envoy", "another fault", "the request's"],
)
def test_a_gateway_that_does_not_reach_its_server_is_known_by_status_or_words(script, unreached, tmp_path):
    with recording([script]) as server:
        assert failure(f"{server.url}/v1", tmp_path).unreached is unreached


@pytest.mark.parametrize("provider", ["openai", "ollama"])
def test_before_the_first_item_too_a_server_that_loads_is_told_from_one_that_is_not_there(provider, tmp_path):
    path = "/v1" if provider == "openai" else ""
    with recording([Script(LOADING, 503)]) as server, pytest.raises(Overloaded) as loading:
        checked(Model(provider, "m", server.url + path), tmp_path)
    assert loading.value.away
    with pytest.raises(EndpointNotFound) as nobody:
        checked(Model(provider, "m", f"{server.url}{path}"), tmp_path)  # its server has ended
    assert not nobody.value.away


def test_a_connection_that_breaks_and_a_reply_that_does_not_come_say_nothing_of_the_server(tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        assert not failure(url, tmp_path, RequestTimeout, timeout_s=0.3).away
