"""Names at the edge: which model, and which source, a user's words mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from proctor.errors import ConfigError, in_one_line
from proctor.given_files import is_file
from proctor.plan.build import batch_reference, reference
from proctor.references import BatchRef, ExamRef
from proctor.types import Model

# What a bare model name says about its provider.
PREFIXES = (
    (re.compile(r"gpt-|o[0-9]"), "openai"),
    (re.compile(r"claude-"), "anthropic"),
    (re.compile(r"gemini-"), "gemini"),
    (re.compile(r"grok-"), "grok"),
)
_FILE_ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".xlsx", ".toml")


def parse_model(name: str, providers: Sequence[str], *, base_url: str | None = None) -> Model | None:
    """The model that a name means, or None if the name alone does not tell its provider.

    `provider/name` is split at the first `/` if what stands before it is a known provider; the name
    itself may hold further slashes.

    >>> parse_model("ollama/qwen3:8b", ["ollama", "openai"])
    Model(provider='ollama', name='qwen3:8b', base_url=None)
    >>> parse_model("gpt-4o-mini", ["ollama", "openai"]).provider
    'openai'
    """
    provider, slash, rest = name.partition("/")
    need_name("--model", name)
    if slash and provider in providers:
        if not rest:
            raise ConfigError(f"--model {name}: a model name is missing after {provider}/")
        return Model(provider, rest, _checked_url(base_url))
    for pattern, owner in PREFIXES:
        if pattern.match(name) and owner in providers:
            return Model(owner, name, _checked_url(base_url))
    return None


def need_name(what: str, name: str) -> None:
    """Raises ConfigError unless the name is one printable line, as lists, logs and terminals show it."""
    if not name.isprintable():
        raise ConfigError(f"{what} {in_one_line(name)[:80]!r}: give one line of printable characters")


def _checked_url(url: str | None) -> str | None:
    """A base URL that may be stored: http(s), and without a user name or password in it."""
    if url is None:
        return None
    text = url if "://" in url else f"http://{url}"
    if "@" in re.split("[/?#]", text.partition("://")[2])[0]:
        raise ConfigError(
            "--base-url holds a user name or password, and addresses are stored with results; "
            "give the key in the provider's variable (OPENAI_API_KEY) instead"
        )
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bracket that does not close, a port that is no number
        usable = False
    if not usable:
        raise ConfigError(f"--base-url {url}: give an address such as http://127.0.0.1:8000/v1")
    need_name("--base-url", text)
    return parts.geturl().rstrip("/")


Uploaded = Callable[[str], ExamRef | None]


def parse_source(
    text: str, suites: Sequence[str], *, uploaded: Uploaded = lambda name: None, **given: Any
) -> ExamRef:
    """A suite by its name in any case, a file by its path, or a data set; `given` are options of its part.

    `uploaded` finds the data set that a name means. Raises ConfigError if it is none of them.
    """
    path = Path(text)
    # A file called "GLUE" is meant by its name; "glue" is the suite whatever lies in the folder.
    if text in suites or (text.lower() in suites and not is_file(path)):
        return reference("suite", text.lower(), given)
    if is_file(path):
        return reference("file", str(path.resolve()), given)
    if (found := uploaded(text)) is not None:
        return reference("dataset", found.name, given, uploaded=found)
    if path.suffix.lower() in _FILE_ENDINGS or len(path.parts) > 1:
        raise ConfigError(
            f"No file {text}. Give a file of questions (JSONL, CSV, XLSX, ...) or a suite: {', '.join(suites)}"
        )
    raise ConfigError(
        f"Invalid benchmark suite. Supported: {', '.join(suites)}; or the path of a file of questions, or a data "
        "set (`proctor dataset list`)"
    )


def parse_batch(
    text: str, *, uploaded: Callable[[str], BatchRef | None] = lambda name: None, **given: Any
) -> BatchRef:
    """A file of requests by its path, or an uploaded one by its name; `given` are options of its part.

    Paths among them become absolute, so that a run means the same files wherever it is resumed: `gold` is a file
    where there is one of that name, and else a field. Raises ConfigError if the text is neither.
    """
    for name in ("out", "gold"):
        if given.get(name) and (name == "out" or is_file(Path(given[name]))):
            given[name] = str(Path(given[name]).resolve())
    path = Path(text)
    if is_file(path):
        return batch_reference(str(path.resolve()), given)
    if (found := uploaded(text)) is not None:
        return batch_reference(found.name, given, uploaded=found)
    raise ConfigError(
        f"No file {text}. Give a file of requests (JSONL in the format of OpenAI's batches, CSV, Parquet), or the "
        "name of an uploaded one (`proctor dataset list`)"
    )
