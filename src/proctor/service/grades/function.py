"""A grader that is a Python function of the user's own: `proctor.evaluate(..., grader=function)`."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from proctor.errors import DataError
from proctor.grading.exam import FUNCTION
from proctor.types import Grade, Item, Outcome, Reply

Verdict = Grade | bool | float | None
GradingFunction = Callable[[Item, Reply], Verdict | Awaitable[Verdict]]
# What functions of others raise of themselves. The reply is kept without a score, and the note quotes it.
FORESEEN = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class FunctionGrader:
    """A function of item and reply that gives a Grade, a score from 0 to 1, True or False; None for "not measured".

    It may be asynchronous. What it raises becomes a DataError with its words.
    """

    function: GradingFunction

    @property
    def name(self) -> str:
        named = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return f"{FUNCTION}{named.replace('<locals>.', '')}"

    def grade(self, item: Item, reply: Reply) -> Grade | Awaitable[Grade]:
        try:
            given = self.function(item, reply)
        except FORESEEN as error:
            raise self._failed(error) from error
        return self._ended(given) if inspect.isawaitable(given) else self._grade(given)

    async def _ended(self, given: Awaitable[Verdict]) -> Grade:
        try:
            return self._grade(await given)
        except FORESEEN as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> DataError:
        return DataError(f"the function {self.name.removeprefix(FUNCTION)} raised {error!r}")

    def _grade(self, given: object) -> Grade:
        if isinstance(given, Grade):
            return replace(given, grader=self.name)
        if given is None:
            return Grade(Outcome.ANSWERED, None, grader=self.name, note="the function gave no score")
        if isinstance(given, bool | int | float) and 0 <= given <= 1:
            return Grade(Outcome.CORRECT if given == 1 else Outcome.WRONG, float(given), grader=self.name)
        raise DataError(
            f"the function {self.name.removeprefix(FUNCTION)} gave {given!r}; a grader gives a Grade, a score from 0 "
            "to 1, True or False, or None"
        )
