"""A row of the table of options: what one option is, and how it is spelled at each door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal

from proctor.errors import ConfigError
from proctor.plan.values import NumberIn, ValueKind, figure
from proctor.references import BatchRef, ExamRef
from proctor.types import Cell, Limits, Model, Plan, Sampling

Part = Literal["model", "source", "sampling", "limits", "cell", "plan"]  # what an option is a field of
Given = Mapping[str, Any]  # values of types.py by the names of options; what is not in it was not said
Told = Mapping[str, Any]  # what a door has, by its own spellings, before it is read
SPOKEN = {
    "suite": "suites",
    "file": "files of questions",
    "dataset": "data sets",
    "batch": "files of requests",
}  # what sources of a kind are called
SUITES = ("suite",)
FILES = ("file", "dataset")  # the user's own questions, uploaded or not
EXAMS = (*SUITES, *FILES)
BATCHES = ("batch",)
EVERY = (*EXAMS, *BATCHES)


@dataclass(frozen=True, slots=True)
class RunOption:
    """One row of the table.

    `flag`, `rest` and `ollama` are the spellings of the command line, of the REST body (and the form) and in
    `ollama_params`; without one, the first two are made of the name, and Ollama has none. `short` is one letter more
    for the command line. `unset` says what
    counts where nothing is given and the field's default does not say it. `fallback` is what sources of a kind are
    given where neither it nor one of `instead` was said.
    """

    name: str
    part: Part
    kind: ValueKind
    help: str
    metavar: str | None = None
    unset: str = ""
    flag: str = ""
    short: str = ""
    rest: str = ""
    ollama: str = ""
    label: str = ""
    sources: tuple[str, ...] = EXAMS
    at_server: bool = True
    resumed: bool = True  # whether a run that goes on may be given another
    fallback: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    instead: tuple[str, ...] = ()

    @property
    def flag_word(self) -> str:
        return self.flag or f"--{self.name.replace('_', '-')}"

    @property
    def whose(self) -> str:
        """What the sources are called that it is for."""
        *first, last = (SPOKEN[kind] for kind in self.sources)
        return f"{', '.join(first)} and {last}" if first else last

    @property
    def key(self) -> str:
        """Its name in the REST body and in the form."""
        return self.rest or self.name

    @property
    def title(self) -> str:
        """What a form calls it."""
        return self.label or self.key.replace("_", " ").capitalize()

    @property
    def default(self) -> Any:
        """The value that counts where nothing is given, before `build` looks at the other options."""
        return DEFAULTS[self.part].get(self.name)

    @property
    def default_told(self) -> str:
        """The default in words; "" where nothing is to be said of it."""
        if not self.kind.says(self.default):
            return self.unset
        return f"{self.kind.word(self.default)}{f'; {self.unset}' if self.unset else ''}"

    @property
    def opens(self) -> bool:
        """True where None is a value of its own: what the provider or server does by itself."""
        return isinstance(self.kind, NumberIn) and self.kind.opens

    def read(self, told: Any, called: str = "") -> Any:
        """The value that the words of a door mean. Raises ConfigError that names the option, or what it is `called`."""
        try:
            return self.kind.read(told)
        except ConfigError as error:
            raise ConfigError(f"{called or f'{self.flag_word} {told}'}: {error}") from None

    def check(self, value: Any) -> None:
        """Raises ConfigError if the value lies outside what the option takes; None never does."""
        if value is not None and (fault := self.kind.fault(value)):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            told = figure(value) if number else value
            raise ConfigError(f"{self.flag_word} {told}: {fault}")


def _defaults(*kinds: type) -> dict[str, Any]:
    return {f.name: f.default for kind in kinds for f in fields(kind)}


DEFAULTS: Mapping[Part, Mapping[str, Any]] = {
    "model": _defaults(Model),
    "source": _defaults(ExamRef, BatchRef),
    "sampling": _defaults(Sampling),
    "limits": _defaults(Limits),
    "cell": _defaults(Cell),
    "plan": _defaults(Plan),
}
