"""What a check of a file of requests tells: faults by line, and what is in the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from proctor.errors import DataError
from proctor.manifest import LeftOut

LISTED = 100  # faults of a check that are listed; all are counted
MOST_TOLD = 20  # of these, those that one error quotes
HOW_TO_GO_ON = "Mend the file, or run it with --lenient (lenient=True in Python), which leaves bad lines out."


class BadRequestLine(ValueError):
    """Why a line cannot be sent, in a sentence; `code` is what OpenAI's batches call it, `param` the field."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code, self.param = code, param


@dataclass(frozen=True, slots=True)
class LineFault:
    """What is wrong with a line, or worth knowing of it. `line` counts from 1; None: the file as a whole."""

    line: int | None
    code: str
    message: str
    param: str | None = None

    def __str__(self) -> str:
        return self.message if self.line is None else f"line {self.line}: {self.message}"

    def openai(self) -> dict[str, Any]:
        """As it stands in `errors.data` of OpenAI's batches."""
        return {"code": self.code, "message": self.message, "param": self.param, "line": self.line}


@dataclass(frozen=True, slots=True)
class Rules:
    """What is asked of a file beyond lines that can be sent.

    `endpoint` is the url that every line has to name. `one_model`: two models are a fault. `complete`: each line has
    custom_id, method, url and body, as OpenAI's format wants it. `most` bounds the requests, `listed` the faults told.
    """

    endpoint: str | None = None
    one_model: bool = False
    complete: bool = False
    most: int | None = None
    listed: int = LISTED


SENDABLE = Rules()  # nothing beyond that


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file of requests that was read from end to end.

    `lines` counts those that are not blank, `count` the requests that can be sent, `bad` the lines that cannot, of
    which `faults` lists the first. `notes` are what is taken as it is. `most_tokens` is the most that a request lets
    the model write, `uncapped` counts the requests that set no bound; `gold` those whose right answer is known.
    """

    name: str
    form: str
    bytes: int
    sha256: str
    lines: int
    count: int
    bad: int
    faults: tuple[LineFault, ...]
    notes: tuple[LineFault, ...]
    models: Mapping[str, int]
    urls: Mapping[str, int]
    first_ids: tuple[str, ...]
    most_tokens: int | None
    uncapped: int
    gold: int = 0
    first_lines: Mapping[str, int] = field(default_factory=dict)  # model -> the line that names it first

    @property
    def ok(self) -> bool:
        return not self.bad and not self.faults

    @property
    def endpoint(self) -> str | None:
        """The endpoint of all requests; None where they have several."""
        return next(iter(self.urls)) if len(self.urls) == 1 else None

    def settle(self, *, lenient: bool) -> LeftOut | None:
        """The lines that a lenient run does without; None where there are none.

        Raises: DataError with the faults, unless they are of single lines and these may be left out.
        """
        whole = [fault for fault in self.faults if fault.line is None]
        if whole or (self.bad and not lenient) or not self.count:
            raise DataError(self.told())
        if not self.bad:
            return None
        return LeftOut(self.bad, self.lines, tuple(self._listed()))

    def told(self) -> str:
        """The faults in words, for one error."""
        go_on = HOW_TO_GO_ON if self.count else "Mend the file."
        if self.bad <= 1 and len(self.faults) == 1:
            said = str(self.faults[0])
            return f"{self.name}: {said}{'' if said.endswith('.') else '.'} {go_on}"
        head = f"{self.name}: {self.bad:,} of {self.lines:,} lines cannot be sent:"
        return "\n".join([head, *(f"  {each}" for each in self._listed()), f"  {go_on}"])

    def _listed(self) -> Iterable[str]:
        yield from (str(fault) for fault in self.faults[:MOST_TOLD])
        if (rest := self.bad - min(self.bad, MOST_TOLD)) > 0:
            yield f"and {rest:,} more"
