"""Settings: what the environment says, read once by whoever starts proctor and handed down."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from proctor.errors import ConfigError
from proctor.given_files import is_file
from proctor.references import Rows
from proctor.settings.variables import ARRAYS, KEYS

ROWS: tuple[Rows, ...] = ("imported", "hub", "sample")
PORTS = {"http": "80", "https": "443"}
MB = 1_000_000
UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


# A name, an IPv4 address, or an IPv6 address with or without brackets.
HOST = re.compile(r"[\w.-]+|\[?[0-9a-f]*(:[0-9a-f]*){2,}[0-9a-f.]*\]?")


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
    auth: bool = False
    hosts: tuple[str, ...] = ()
    allowed_addresses: tuple[str, ...] = ()
    most_running: int = 3
    most_queued: int = 10
    requests_per_minute: int = 100
    job_timeout_s: float = 3 * 3600.0
    most_memory_bytes: int = 2 * 2**30
    least_disk_bytes: int = 500_000_000
    first_retry_s: float = 60.0
    most_upload_bytes: int = 50_000_000
    most_batch_bytes: int = 1_074_000_000
    batch_requests: int = 50_000
    batch_file_bytes: int = 200_000_000
    batch_windows: tuple[tuple[str, float], ...] = (("24h", 86_400.0),)  # as they are called, in seconds
    modal_token_id: str | None = field(default=None, repr=False)
    modal_token_secret: str | None = field(default=None, repr=False)
    sandbox: str | None = None  # of rollouts; None: as the benchmark says
    redis_url: str | None = field(default=None, repr=False)
    shared: str | None = None
    aws_endpoint_url: str | None = None
    aws_region: str = "us-east-1"
    aws_access_key_id: str | None = field(default=None, repr=False)
    aws_secret_access_key: str | None = field(default=None, repr=False)
    aws_session_token: str | None = field(default=None, repr=False)
    step_summary: Path | None = None
    # What is set of ARRAYS, and PROCTOR_SHARDS. Not hashed: settings are the key of what is remembered of them.
    array: Mapping[str, str] = field(default_factory=dict, hash=False)
    keys_file: Path | None = None  # of further keys, where one is named
    server: str | None = None
    api_key: str | None = field(default=None, repr=False)
    public_only: bool = False  # no variable: set for a job that asks an address its user named

    @property
    def several_machines(self) -> bool:
        """Whether other machines can be at work on the same database: one that is a file is one machine's."""
        return not self.database_url.startswith("sqlite")

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that must not reach a row, a log or a message."""
        # By their names, so that a new provider's key is secret from its first day.
        endings = ("api_key", "_token", "access_key", "_key_id", "_token_id", "_token_secret")
        named = (getattr(self, each.name) for each in fields(self) if each.name.endswith(endings))
        return tuple(value for value in named if value)


def read_settings(environ: Mapping[str, str]) -> Settings:
    """Raises ConfigError naming the variable that cannot be meant.

    >>> read_settings({"OLLAMA_HOST": "0.0.0.0"}).ollama_host
    'http://127.0.0.1:11434'
    """
    home = Path(environ.get("PROCTOR_HOME") or "data").absolute()
    environ = {**_keys_file(environ, home), **environ}
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
        auth=_choice(environ, "PROCTOR_AUTH", ("off", "keys"), "off") == "keys",
        hosts=_hosts(environ, "PROCTOR_HOSTS"),
        allowed_addresses=_hosts(environ, "PROCTOR_ALLOWED_ADDRESSES"),
        most_running=_count(environ, "PROCTOR_MOST_RUNNING", 3),
        most_queued=_count(environ, "PROCTOR_MOST_QUEUED", 10),
        requests_per_minute=_count(environ, "PROCTOR_REQUESTS_PER_MINUTE", 100),
        job_timeout_s=_seconds(environ, "PROCTOR_JOB_TIMEOUT", 3 * 3600.0),
        most_memory_bytes=MB * _count(environ, "PROCTOR_JOB_MEMORY_MB", 2147),
        least_disk_bytes=MB * _count(environ, "PROCTOR_DISK_FREE_MB", 500),
        first_retry_s=_seconds(environ, "PROCTOR_FIRST_RETRY", 60.0),
        most_upload_bytes=MB * _count(environ, "PROCTOR_UPLOAD_MB", 50),
        most_batch_bytes=MB * _count(environ, "PROCTOR_BATCH_UPLOAD_MB", 1074, most=2147),
        batch_requests=_count(environ, "PROCTOR_BATCH_REQUESTS", 50_000),
        batch_file_bytes=MB * _count(environ, "PROCTOR_BATCH_MB", 200),
        batch_windows=_windows(environ, "PROCTOR_BATCH_WINDOWS", "24h"),
        sandbox=environ.get("SANDBOX_BACKEND") or None,
        modal_token_id=environ.get("MODAL_TOKEN_ID") or None,
        modal_token_secret=environ.get("MODAL_TOKEN_SECRET") or None,
        **_of_machines(environ),
        keys_file=Path(environ["PROCTOR_KEYS_FILE"]).absolute() if environ.get("PROCTOR_KEYS_FILE") else None,
        server=_base_url(environ, "PROCTOR_SERVER", "") or None,
        api_key=environ.get("PROCTOR_API_KEY") or None,
    )


def _of_machines(environ: Mapping[str, str]) -> dict[str, Any]:
    """What several machines have in common, and what tells one task of an array job from the others."""
    return {
        "redis_url": environ.get("PROCTOR_REDIS_URL") or None,
        "shared": environ.get("PROCTOR_SHARED") or None,
        "aws_endpoint_url": _base_url(environ, "AWS_ENDPOINT_URL", "") or None,
        "aws_region": environ.get("AWS_REGION") or "us-east-1",
        "aws_access_key_id": environ.get("AWS_ACCESS_KEY_ID") or None,
        "aws_secret_access_key": environ.get("AWS_SECRET_ACCESS_KEY") or None,
        "aws_session_token": environ.get("AWS_SESSION_TOKEN") or None,
        "step_summary": Path(told) if (told := environ.get("GITHUB_STEP_SUMMARY")) else None,
        "array": {name: told for name in (*ARRAYS, "PROCTOR_SHARDS") if (told := environ.get(name))},
    }


def _keys_file(environ: Mapping[str, str], home: Path) -> dict[str, str]:
    """The lines of PROCTOR_KEYS_FILE. Raises ConfigError if others may read it, or a line is no NAME=VALUE."""
    named = environ.get("PROCTOR_KEYS_FILE")
    path = Path(named) if named else home / "keys.env"
    if not is_file(path):
        if named:
            raise ConfigError(f"PROCTOR_KEYS_FILE={named}: there is no such file")
        return {}
    if path.stat().st_mode & 0o077:
        raise ConfigError(f"{path} holds keys and others may read it: chmod 600 {path}")
    found = {}
    for number, line in enumerate(_lines(path), 1):
        name, equals, value = line.strip().partition("=")
        if not name or name.startswith("#"):
            continue
        if not equals or name.strip() not in KEYS:
            raise ConfigError(f"{path}, line {number}: write NAME=VALUE; names: {', '.join(KEYS)}")
        found[name.strip()] = value.strip().strip("'\"")
    return found


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: not text in UTF-8; write a line NAME=VALUE for each key") from None


def _hosts(environ: Mapping[str, str], variable: str) -> tuple[str, ...]:
    """Names or addresses, as the Host of a request has them before the port; IPv6 with or without brackets."""
    found = [name.strip().lower() for name in (environ.get(variable) or "").split(",") if name.strip()]
    for name in found:
        if not HOST.fullmatch(name):
            raise ConfigError(
                f"{variable}={name}: give names or addresses alone, such as proctor.example.org, "
                "without https:// and without a port"
            )
    return tuple(name.strip("[]") for name in found)


def _choice(environ: Mapping[str, str], variable: str, choices: tuple[str, ...], default: str) -> str:
    value = environ.get(variable) or default
    if value not in choices:
        raise ConfigError(f"{variable}={value}: choose from {', '.join(choices)}")
    return value


def _count(environ: Mapping[str, str], variable: str, default: int, *, most: int | None = None) -> int:
    text = environ.get(variable) or str(default)
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise ConfigError(f"{variable}={text}: give a whole number above 0")
    if most is not None and int(text) > most:
        raise ConfigError(f"{variable}={text}: give a whole number up to {most}")
    return int(text)


def _seconds(environ: Mapping[str, str], variable: str, default: float) -> float:
    text = environ.get(variable)
    return _length_s(variable, text) if text else default


def _length_s(variable: str, text: str) -> float:
    """A length of time as the options take it: 90s, 10m, 1.5h, or seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text)
    if not found:
        raise ConfigError(f"{variable}={text}: write 90s, 10m or 1.5h")
    return float(found[1]) * UNITS_S[found[2]]


def _windows(environ: Mapping[str, str], variable: str, default: str) -> tuple[tuple[str, float], ...]:
    names = [name.strip() for name in (environ.get(variable) or default).split(",") if name.strip()]
    return tuple((name, _length_s(variable, name)) for name in names)


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
