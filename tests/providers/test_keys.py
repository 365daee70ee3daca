"""Names, keys and addresses: which provider a bare name means, what is secret, and what is never cut out of replies."""

from __future__ import annotations

import pytest
from recording import Script, recording

from proctor import settings
from proctor.errors import ConfigError, NetworkError, ServerError
from proctor.plan import parse_model
from proctor.providers import PROVIDERS
from proctor.service.opening.offers import offers
from proctor.settings import read_settings
from proctor.types import Model
from simulators import ask, questions

ITEM = questions(1)[0]
KEYS = {
    "OPENAI_API_KEY": "openai-secret",
    "GOOGLE_API_KEY": "google-secret",
    "XAI_API_KEY": "xai-secret-1",
    "ANTHROPIC_API_KEY": "anthropic-secret",
}


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("gpt-4o-mini", "openai"),
        ("o3-mini", "openai"),
        ("claude-sonnet-4-5", "anthropic"),
        ("gemini-2.5-flash", "gemini"),
        ("grok-4", "grok"),
    ],
)
def test_a_bare_name_tells_its_provider(name, owner):
    assert parse_model(name, tuple(PROVIDERS)) == Model(owner, name)
    assert parse_model(f"ollama/{name}", tuple(PROVIDERS)) == Model("ollama", name)


@pytest.mark.parametrize("name", ["my-claude-3", "geminis", "groks", "llama3"])
def test_a_name_that_only_looks_alike_tells_nothing(name):
    assert parse_model(name, tuple(PROVIDERS)) is None


def test_every_key_is_a_secret_and_in_no_repr():
    known = read_settings(KEYS)
    assert set(known.secrets) == set(KEYS.values())
    assert not any(key in repr(known) for key in KEYS.values())


@pytest.mark.parametrize("variable", settings.KEYS)
def test_whatever_a_file_of_keys_may_hold_is_a_secret(variable):
    assert read_settings({variable: "hunter2-hunter2"}).secrets == ("hunter2-hunter2",)


@pytest.mark.parametrize("name", [name for name, entry in PROVIDERS.items() if entry.key])
def test_a_provider_is_asked_with_the_key_that_its_entry_names(name, tmp_path):
    entry = PROVIDERS[name]
    for variable in (entry.key_variables or "").split(" or "):
        assert getattr(read_settings({variable: "hunter2-hunter2"}), entry.key or "") == "hunter2-hunter2"
    (offer,) = offers(read_settings({"PROCTOR_HOME": str(tmp_path)}), (name,))
    assert f"Set {entry.key_variables};" in str(offer.problem)  # said before anything is sent


@pytest.mark.parametrize("variable", ["GEMINI_BASE_URL", "XAI_BASE_URL", "ANTHROPIC_BASE_URL"])
def test_addresses_hold_no_password_and_no_slash_at_their_end(variable):
    with pytest.raises(ConfigError, match=variable):
        read_settings({variable: "https://ada:hunter2@example.org"})
    known = read_settings({variable: "http://127.0.0.1:8000/"})
    addresses = (known.gemini_base_url, known.grok_base_url, known.anthropic_base_url)
    assert "http://127.0.0.1:8000" in addresses


def completion(text: str) -> Script:
    return Script({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})


def test_a_placeholder_for_a_key_is_no_secret_and_a_key_is(tmp_path):
    """vLLM takes any key, and people write EMPTY: replies with that word must stay as they are."""
    for key, text in (("EMPTY", "The set is EMPTY."), ("sk-long-enough", "The set is [key].")):
        with recording([completion(f"The set is {key}.")]) as server:
            reply = ask(Model("openai", "m", server.url), tmp_path, ITEM, OPENAI_API_KEY=key)
        assert reply.text == text


def test_an_ollama_behind_a_proxy_that_streams_tells_its_error(tmp_path):
    lines = b'{"message":{"content":"An"},"done":false}\n{"error":"the runner has ended"}\n'
    with recording([Script(lines)]) as server, pytest.raises(ServerError, match="the runner has ended"):
        ask(Model("ollama", "m", server.url), tmp_path, ITEM)


@pytest.mark.parametrize("provider", ["openai", "ollama", "gemini", "grok", "anthropic"])
def test_a_connection_that_cannot_be_made_may_be_tried_again(tmp_path, provider):
    with pytest.raises(NetworkError, match=r"127\.0\.0\.1:9"):
        ask(Model(provider, "m", "http://127.0.0.1:9"), tmp_path, ITEM)
