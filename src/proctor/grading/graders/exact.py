"""`exact`: the answer is one of the right ones, character by character."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.grading.contract import GraderEntry, Mark, NoSettings, any_answers, marked


def exact(said: str, answers: Sequence[str], options: NoSettings) -> Mark:
    """White space around both does not count.

    >>> exact(" Canberra\\n", ["Canberra"], NoSettings()).score, exact("canberra", ["Canberra"], NoSettings()).score
    (1.0, 0.0)
    """
    ours = said.strip()
    return marked(ours in {text.strip() for text in answers}, ours)


ENTRY = GraderEntry(
    "exact",
    1,
    "the answer is one of the right ones, character by character; only white space around it does not count",
    "texts",
    NoSettings,
    exact,
    any_answers,
    read="announced",
)
