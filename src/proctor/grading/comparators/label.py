"""`label`: both texts give the same label, found by a regular expression or by name."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.errors import ConfigError
from proctor.grading.comparators.contract import ComparatorEntry, Likeness
from proctor.grading.contract import bounded, setting
from proctor.grading.graders.regex import compiled, found_by
from proctor.grading.texts import key


@dataclass(frozen=True, slots=True)
class LabelsAlike:
    """How a label is found in a text, and which of several counts."""

    names: tuple[str, ...] = setting(
        (), "the labels, as `yes|no|unclear`; the one that stands in the text as words"
    )
    take: str = setting("last", "which of several counts", one_of=("last", "first"))
    pattern: str = setting(
        "",
        "finds the label: its group named `answer`, else its first group, else all of it",
        rest=True,
    )


def label(one: str, two: str, options: LabelsAlike) -> Likeness:
    """
    >>> label("Verdict: GOOD", "I'd say verdict: good", LabelsAlike(pattern="(?i)verdict: (\\\\w+)"))
    Likeness(alike=True, one='good', two='good', fields={}, note=None)
    """
    try:
        first, second = label_in(one, options), label_in(two, options)
    except TimeoutError:
        return Likeness(False, note="not compared: the pattern takes too long on a text")
    if first is None or second is None:
        lacking = "neither gives a label" if first is second else "one gives no label"
        return Likeness(False, first, second, note=lacking)
    return Likeness(first == second, first, second)


def label_in(text: str, options: LabelsAlike) -> str | None:
    """The label in the form in which labels are compared. Raises: TimeoutError."""
    found = found_by(options.pattern or named(options.names), bounded(text))
    taken = found[:1] if options.take == "first" else found[-1:]
    return key(taken[0]).strip() if taken else None


def named(names: tuple[str, ...]) -> str:
    import regex

    longest_first = sorted(names, key=len, reverse=True)
    return rf"(?i)(?<!\w)(?:{'|'.join(map(regex.escape, longest_first))})(?!\w)"


def fault(options: LabelsAlike) -> str | None:
    if bool(options.pattern) == bool(options.names):
        return "give either pattern=REGEX or names=A|B, by which labels are found"
    try:
        compiled(options.pattern or named(options.names))
    except ConfigError as error:
        return str(error)
    return None


ENTRY = ComparatorEntry(
    "label",
    "both give the same label; Cohen's kappa and the table of labels stand beside the agreement",
    LabelsAlike,
    label,
    fault,
    tells="labels",
)
