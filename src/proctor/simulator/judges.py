"""What a simulated judge knows of an asking: the grade that is right, told by words, and what each bias would say.

A judge whose answers nobody wrote down (a server that was started by hand) reads them off the prompt itself: it knows
the form in which proctor's judges are asked (`sources/judging/prompts.py`), and nothing else of the texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from proctor.simulator.answers import KnownAnswer
from proctor.simulator.behaviour import draw

LONG_CHARS = 300  # a longer reply leans to the best grade, where nobody knows the other replies of its run
NEIGHBOUR = 4  # times as often as any other, a wrong grade of a scale is the one beside the right one

_MARK = re.compile(r"^=== [0-9a-f]{12} ===$", re.MULTILINE)
_ASKED = re.compile(r'"Answer: " and your (grade|choice): ([^\n]+?)\.$', re.MULTILINE)
_NUMBERS = re.compile(r"a number from (\d+) \(worst\) to (\d+) \(best\)")
_GOOD = "What a good answer says"


def asked_to_judge(prompt: str) -> KnownAnswer | None:
    """What a judge knows of this prompt; None for a prompt that asks for no judgement."""
    asked = _ASKED.findall(prompt)
    between = _MARK.split(prompt)
    if not asked or len(between) < 3:
        return None
    shown = {
        _title(before): text.strip("\n") for before, text in zip(between[::2], between[1::2], strict=False)
    }
    good = shown[_GOOD].split("\nor: ") if _GOOD in shown else []
    what, grades = asked[-1]
    replies = list(shown.values())[-2 if what == "choice" else -1 :]
    return judged(_grades(grades), good, replies, long_chars=LONG_CHARS)


def _title(before: str) -> str:
    return before.rstrip().rpartition("\n")[2].rstrip(":")


def _grades(told: str) -> list[str]:
    """The grades that a prompt offers, the best first."""
    if numbers := _NUMBERS.search(told):
        worst, best = map(int, numbers.groups())
        return [str(grade) for grade in range(best, worst - 1, -1)]
    return [grade.strip() for grade in re.split(r" or |, ", told)]


def judged(
    grades: Sequence[str],
    good: Sequence[str],
    replies: Sequence[str],
    *,
    long_chars: float,
    worth: float | None = None,
    models: Sequence[str] = (),
) -> KnownAnswer:
    """What a judge knows of one reply, or of two in the order in which they are shown.

    `grades` are the best first, evenly spaced from worth 1 to 0; of a pair: first, tie, second. `worth` is what the
    replies are worth where no good answer says it. Where neither does, it is drawn by the words of each reply: all
    judges then agree on which replies are good, in both orders, and no person can see why. `models` gave the replies,
    for those who favour one.
    """
    if good or worth is None:
        worth = _worth([_says(good, reply) for reply in replies])
    place = round((1.0 - worth) * (len(grades) - 1))
    leans = _leans_of_pair(grades, replies, models) if len(replies) == 2 else {}
    if len(replies) == 1:
        best, worst = grades[0], grades[-1]
        leans = {"longer": best if len(replies[0]) > long_chars else worst, "kind": best}
        leans |= {f"model={name}": best for model in models for name in _names(model)}
    return KnownAnswer(grades[place], _wrong(grades, place), leans)


def _says(good: Sequence[str], reply: str) -> float:
    if not good:
        return float(draw("good", plain(reply)) < 0.5)
    return float(any(plain(each) in plain(reply) for each in good if plain(each)))


def plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _worth(says: Sequence[float]) -> float:
    return says[0] if len(says) == 1 else (1.0 + says[0] - says[1]) / 2.0


def _wrong(grades: Sequence[str], place: int) -> tuple[str, ...]:
    """The other grades; those beside the right one of a long scale several times, so that they are mostly drawn."""
    long = len(grades) > 3
    return tuple(
        grade
        for index, grade in enumerate(grades)
        if index != place
        for _ in range(NEIGHBOUR if long and abs(index - place) == 1 else 1)
    )


def _leans_of_pair(grades: Sequence[str], replies: Sequence[str], models: Sequence[str]) -> dict[str, str]:
    first, tie, second = grades
    sizes = [len(reply) for reply in replies]
    longer = tie if sizes[0] == sizes[1] else first if sizes[0] > sizes[1] else second
    leans = {"first": first, "longer": longer, "kind": tie}
    if len(set(models)) == 2:
        for model, grade in zip(models, (first, second), strict=True):
            leans |= {f"model={name}": grade for name in _names(model)}
    return leans


def _names(model: str) -> tuple[str, ...]:
    """A model with its provider, and without."""
    return tuple(dict.fromkeys((model, model.partition("/")[2] or model)))
