"""Logs of other tools as a kind of source: runs are made of them, but only their own tool can ask again."""

from __future__ import annotations

from typing import Never, assert_never

from proctor.errors import ConfigError
from proctor.references import LogRef
from proctor.service.kinds.contract import Method, SourceKind
from proctor.settings import Settings


def not_opened(ref: LogRef, _settings: Settings) -> Never:
    raise ConfigError(
        f"{ref.name} was imported from another tool: proctor has its answers but not its questions as they were "
        "asked. Ask again with that tool and import the new log, or run one of proctor's own suites"
    )


def no_method(source: Never) -> Method:
    assert_never(source)


LOG: SourceKind[LogRef, Never] = SourceKind(open=not_opened, method=no_method)
OUTPUTS: SourceKind[LogRef, Never] = SourceKind(open=not_opened, method=no_method, holds="requests")
