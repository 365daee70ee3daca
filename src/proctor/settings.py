"""Settings: what the environment says, read once by whoever starts proctor and handed down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proctor.errors import ConfigError
from proctor.types import Rows

ROWS: tuple[Rows, ...] = ("imported", "hub", "sample")
PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One environment variable: its name, what it does, its default in words."""

    name: str
    what: str
    default: str
    secret: bool = False


SETTINGS: tuple[Setting, ...] = (
    Setting("PROCTOR_HOME", "Folder of the database and of all files.", "./data"),
    Setting(
        "PROCTOR_DATABASE_URL",
        "Database, as a SQLAlchemy URL: `sqlite:///FILE` or `postgresql+psycopg://...`.",
        "`proctor.db` in PROCTOR_HOME",
        secret=True,
    ),
    Setting(
        "PROCTOR_DATA",
        "Where the rows of suites come from: `imported` or `sample`. `--data` wins over it.",
        "imported",
    ),
    Setting("OLLAMA_HOST", "Address of the Ollama server.", "http://127.0.0.1:11434"),
    Setting(
        "OPENAI_BASE_URL",
        "Address of the OpenAI-compatible server, with its `/v1`.",
        "https://api.openai.com/v1",
    ),
    Setting("OPENAI_API_KEY", "Key for OpenAI or the compatible server.", "none", secret=True),
    Setting(
        "GEMINI_BASE_URL",
        "Address of the Gemini server, without `/v1beta`.",
        "https://generativelanguage.googleapis.com",
    ),
    Setting("GOOGLE_API_KEY", "Key for Gemini; it wins over GEMINI_API_KEY.", "none", secret=True),
    Setting("GEMINI_API_KEY", "Key for Gemini.", "none", secret=True),
    Setting("XAI_BASE_URL", "Address of the Grok server, with its `/v1`.", "https://api.x.ai/v1"),
    Setting("GROK_API_KEY", "Key for Grok; it wins over XAI_API_KEY.", "none", secret=True),
    Setting("XAI_API_KEY", "Key for Grok.", "none", secret=True),
    Setting("ANTHROPIC_BASE_URL", "Address of the Anthropic server.", "https://api.anthropic.com"),
    Setting("ANTHROPIC_API_KEY", "Key for Anthropic.", "none", secret=True),
    Setting(
        "HF_ENDPOINT", "Address of the Hugging Face hub, or of a mirror of it.", "https://huggingface.co"
    ),
    Setting("HF_TOKEN", "Token for the hub; public data sets need none.", "none", secret=True),
    Setting(
        "PROCTOR_GITHUB_RAW_URL",
        "Where PubMedQA's official test ids are fetched when they were not imported.",
        "https://raw.githubusercontent.com",
    ),
    Setting("NO_COLOR", "If set, no colours in the terminal.", "not set"),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The environment, parsed. Its repr shows neither keys nor the database's password."""

    home: Path
    database_url: str = field(repr=False)
    rows: Rows | None
    ollama_host: str
    openai_base_url: str
    openai_api_key: str | None = field(repr=False)
    gemini_base_url: str
    gemini_api_key: str | None = field(repr=False)
    grok_base_url: str
    grok_api_key: str | None = field(repr=False)
    anthropic_base_url: str
    anthropic_api_key: str | None = field(repr=False)
    hf_endpoint: str
    hf_token: str | None = field(repr=False)
    github_raw_url: str

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that must not reach a row, a log or a message."""
        keys = (self.openai_api_key, self.gemini_api_key, self.grok_api_key, self.anthropic_api_key)
        return tuple(key for key in (*keys, self.hf_token) if key)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Raises ConfigError naming the variable that cannot be meant.

    >>> read_settings({"OLLAMA_HOST": "0.0.0.0"}).ollama_host
    'http://127.0.0.1:11434'
    """
    home = Path(environ.get("PROCTOR_HOME") or "data").absolute()
    rows = environ.get("PROCTOR_DATA") or None
    if rows is not None and rows not in ROWS:
        raise ConfigError(f"PROCTOR_DATA={rows}: choose from {', '.join(ROWS)}")
    return Settings(
        home=home,
        database_url=environ.get("PROCTOR_DATABASE_URL") or f"sqlite:///{home / 'proctor.db'}",
        rows=rows,
        ollama_host=ollama_address(environ.get("OLLAMA_HOST") or "127.0.0.1:11434"),
        openai_base_url=_base_url(environ, "OPENAI_BASE_URL", "https://api.openai.com/v1"),
        openai_api_key=environ.get("OPENAI_API_KEY") or None,
        gemini_base_url=_base_url(environ, "GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
        gemini_api_key=environ.get("GOOGLE_API_KEY") or environ.get("GEMINI_API_KEY") or None,
        grok_base_url=_base_url(environ, "XAI_BASE_URL", "https://api.x.ai/v1"),
        grok_api_key=environ.get("GROK_API_KEY") or environ.get("XAI_API_KEY") or None,
        anthropic_base_url=_base_url(environ, "ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
        anthropic_api_key=environ.get("ANTHROPIC_API_KEY") or None,
        hf_endpoint=_base_url(environ, "HF_ENDPOINT", "https://huggingface.co"),
        hf_token=environ.get("HF_TOKEN") or None,
        github_raw_url=_base_url(environ, "PROCTOR_GITHUB_RAW_URL", "https://raw.githubusercontent.com"),
    )


def _base_url(environ: Mapping[str, str], variable: str, default: str) -> str:
    return _public(variable, environ.get(variable) or default).rstrip("/")


def _public(variable: str, address: str) -> str:
    """The address, if it may be stored with results and quoted in messages: without a user or password."""
    if "@" in address.rpartition("://")[2].partition("/")[0]:
        raise ConfigError(f"{variable} holds a user name or password, and addresses are stored: leave it out")
    return address


def ollama_address(host: str) -> str:
    """OLLAMA_HOST as Ollama itself reads it: scheme and port optional; 0.0.0.0 is where it listens.

    >>> ollama_address("gpu-box"), ollama_address("https://models.example/ollama/")
    ('http://gpu-box:11434', 'https://models.example:443/ollama')
    """
    scheme, found, rest = host.strip().partition("://")
    if not found:
        scheme, rest = "http", host.strip()
    place, _, path = _public("OLLAMA_HOST", rest).partition("/")
    if place.count(":") > 1 and not place.startswith("["):  # a bare IPv6 address
        place = f"[{place}]"
    name, colon, port = place.rpartition(":")
    if not colon or port.endswith("]"):
        name, port = place, ""
    port = port or (PORTS.get(scheme, "") if found else "11434")
    if scheme not in PORTS or not (port.isascii() and port.isdecimal() and 0 < int(port) < 65536):
        raise ConfigError(f"OLLAMA_HOST={host}: give an address such as http://127.0.0.1:11434")
    if name in ("", "0.0.0.0", "[::]"):  # where it listens, not where to reach it
        name = "127.0.0.1"
    return f"{scheme}://{name}:{port}/{path}".rstrip("/")
