"""What the environment says, and what may not be in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.errors import ConfigError
from proctor.settings import ollama_address, read_settings
from proctor.settings.variables import SETTINGS


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = read_settings({})
    assert settings.home == Path.cwd() / "data"
    assert settings.database_url == f"sqlite:///{settings.home / 'proctor.db'}"
    assert settings.ollama_host == "http://127.0.0.1:11434"
    assert settings.openai_base_url == "https://api.openai.com/v1"
    assert (settings.rows, settings.openai_api_key, settings.secrets) == (None, None, ())


def test_an_empty_variable_is_as_good_as_none() -> None:
    assert read_settings({s.name: "" for s in SETTINGS}) == read_settings({})


def test_the_environment_is_read() -> None:
    settings = read_settings(
        {
            "PROCTOR_HOME": "/srv/exams",
            "PROCTOR_DATABASE_URL": "postgresql+psycopg://ada:hunter2@db/exams",
            "PROCTOR_DATA": "sample",
            "OPENAI_BASE_URL": "http://127.0.0.1:8000/v1/",
            "OPENAI_API_KEY": "sk-hunter2",
        }
    )
    assert settings.home == Path("/srv/exams")
    assert settings.rows == "sample"
    assert settings.openai_base_url == "http://127.0.0.1:8000/v1"
    assert "sk-hunter2" in settings.secrets
    assert "hunter2" not in repr(settings)


def test_a_relative_home_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later change of folder must not move the database."""
    monkeypatch.chdir(tmp_path)
    assert read_settings({"PROCTOR_HOME": "exams"}).home == tmp_path / "exams"


def test_unknown_rows_are_refused() -> None:
    with pytest.raises(ConfigError, match="PROCTOR_DATA=samples: choose from imported, hub, sample"):
        read_settings({"PROCTOR_DATA": "samples"})


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("gpu-box", "http://gpu-box:11434"),
        ("gpu-box:8080", "http://gpu-box:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("gpu-box:", "http://gpu-box:11434"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:9000", "http://127.0.0.1:9000"),
        ("http://gpu-box", "http://gpu-box:80"),
        ("https://models.example", "https://models.example:443"),
        ("https://models.example:8443/", "https://models.example:8443"),
        ("https://models.example/ollama", "https://models.example:443/ollama"),
        ("[::1]", "http://[::1]:11434"),
        ("::1", "http://[::1]:11434"),
        ("[::1]:9000", "http://[::1]:9000"),
        ("[::]:9000", "http://127.0.0.1:9000"),
        (" gpu-box ", "http://gpu-box:11434"),
    ],
)
def test_ollama_host_is_read_as_ollama_reads_it(host: str, address: str) -> None:
    assert ollama_address(host) == address


@pytest.mark.parametrize("host", ["ftp://box", "box:port", "box:70000", "box:0", "http://box:1e3"])
def test_an_ollama_host_that_cannot_be_meant_is_refused(host: str) -> None:
    with pytest.raises(ConfigError, match="OLLAMA_HOST="):
        read_settings({"OLLAMA_HOST": host})


@pytest.mark.parametrize("variable", ["OLLAMA_HOST", "OPENAI_BASE_URL"])
def test_a_password_in_an_address_is_refused_and_not_repeated(variable: str) -> None:
    for address in ("http://ada:hunter2@host/v1", "https://hunter2@host", "ada:hunter2@host:80"):
        with pytest.raises(ConfigError, match=f"{variable} holds a user name or password") as caught:
            read_settings({variable: address})
        assert "hunter2" not in str(caught.value)


def test_hosts_are_names_or_addresses_alone() -> None:
    """As a Host header has them before its port; anything else would match no request, silently."""
    read = read_settings({"PROCTOR_HOSTS": "Proctor.example.org, 10.0.0.5 ,[fd00::5],fd00::6"})
    assert read.hosts == ("proctor.example.org", "10.0.0.5", "fd00::5", "fd00::6")
    for wrong in ("https://proctor.example.org", "proctor.example.org:8443", "[fd00::5]:8420", "*"):
        for variable in ("PROCTOR_HOSTS", "PROCTOR_ALLOWED_ADDRESSES"):
            with pytest.raises(ConfigError, match=f"{variable}=.*without a port"):
                read_settings({variable: wrong})


def test_every_setting_is_described() -> None:
    for setting in SETTINGS:
        assert setting.what.endswith(".") and setting.default
        assert setting.secret == (
            setting.name.endswith(("_KEY", "_KEY_ID", "_TOKEN", "_TOKEN_ID", "_TOKEN_SECRET"))
            or setting.name in ("PROCTOR_DATABASE_URL", "PROCTOR_REDIS_URL")  # they may hold a password
        )


def test_settings_can_be_a_key_whatever_is_set() -> None:
    assert {read_settings({"SLURM_ARRAY_TASK_ID": "3"}): 1}
