"""Prompt styles: proctor's own, and those in which published MMLU figures were measured.

A style fixes the words, how the reply is read, how many worked examples are shown and where the model
stops. A figure under one style says nothing about another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from proctor.errors import ConfigError
from proctor.sources.exams.prompts.by_name import PROMPTS
from proctor.sources.exams.prompts.form import Fields, Shot, Writer, fill, lettered
from proctor.sources.exams.tables.shapes import Task
from proctor.types import Message

OWN = "proctor"
Wording = Literal[1, 2, 3, "all"]


@dataclass(frozen=True, slots=True)
class Published:
    """A prompt as others published it: a head, then cases; an answer follows each worked one directly."""

    version: str
    head: str
    case: str
    sign: str = "."  # between an option's letter and its text

    def render(self, fields: Fields, shots: Sequence[Shot] = ()) -> tuple[Message, ...]:
        worked = [f"{self.shown(example)} {said}\n\n" for example, said in shots]
        text = f"{fill(self.head, in_words(fields))}{''.join(worked)}{self.shown(fields)}"
        return (Message("user", text),)

    def shown(self, fields: Fields) -> str:
        return fill(self.case, {**fields, "options": lettered(fields["choices"], self.sign)})


def in_words(fields: Fields) -> Fields:
    return {**fields, "subject": fields["subject"].replace("_", " ")}


@dataclass(frozen=True, slots=True)
class Style:
    """`prompts` are the wordings of each prompt that can be asked in this style.

    `shots` is how many worked examples it shows unless told otherwise; None where it has no place for any.
    """

    name: str
    what: str
    prompts: Mapping[str, tuple[Writer, ...]]
    extractor: str
    shots: int | None = 0
    stop: tuple[str, ...] = ()


HENDRYCKS_HEAD = "The following are multiple choice questions (with answers) about {subject}.\n\n"
HENDRYCKS_CASE = "{question}\n{options}\nAnswer:"
# The template of openai/simple-evals (MIT licence), word for word: the style is this text.
SIMPLE_EVALS = (
    "Answer the following multiple choice question. The last line of your response should be of the following "
    "format: 'Answer: $LETTER' (without quotes) where LETTER is one of ABCD. Think step by step before "
    "answering.\n\n{question}\n\n{options}"
)

STYLES: Mapping[str, Style] = {
    style.name: style
    for style in (
        Style(OWN, "proctor's own prompts, in three wordings", PROMPTS, "proctor/2"),
        Style(
            "original-5shot",
            "the prompt of MMLU's authors: five dev rows in their order, in one user turn",
            {"mmlu": (Published("original-5shot/1", HENDRYCKS_HEAD, HENDRYCKS_CASE),)},
            "proctor/2",
            shots=5,
        ),
        Style(
            "simple-evals",
            "step by step, no worked examples, the first 'Answer: X' counts",
            {"mmlu": (Published("simple-evals/1", "", SIMPLE_EVALS, sign=")"),)},
            "simple-evals/1",
            shots=None,
        ),
        Style(
            "lm-eval-generative",
            "the authors' prompt, stopped at the end of the first line, which has to be the letter",
            {"mmlu": (Published("lm-eval-generative/1", HENDRYCKS_HEAD, HENDRYCKS_CASE),)},
            "first-line/1",
            stop=("\n",),
        ),
    )
}


def style_named(name: str | None) -> Style:
    """The style of this name, proctor's own for None. Raises: ConfigError naming the styles."""
    if (name or OWN) not in STYLES:
        raise ConfigError(f"No style {name!r}. Styles: {', '.join(STYLES)}")
    return STYLES[name or OWN]


def styles_of(task: Task) -> tuple[str, ...]:
    """The styles in which a task can be asked."""
    return tuple(style.name for style in STYLES.values() if task.prompt in style.prompts)


def writers_of(style: Style, task: Task, wording: Wording) -> tuple[Writer, ...]:
    """What puts the task's rows into words: one writer, or three for all wordings. Raises: ConfigError."""
    if task.prompt not in style.prompts and style.name == OWN:
        raise ConfigError(
            f"{task.key}: there is no prompt {task.prompt!r}; sources/exams/prompts/by_name.py has them by name"
        )
    if task.prompt not in style.prompts:
        raise ConfigError(
            f"{task.key} cannot be asked in style {style.name}; its styles: {', '.join(styles_of(task)) or OWN}. "
            "Name the tasks that have the style with --tasks, or leave out --style"
        )
    return pick(style.prompts[task.prompt], wording, f"{task.key} in style {style.name}")


def pick(known: tuple[Writer, ...], wording: Wording, what: str) -> tuple[Writer, ...]:
    """The writers of one wording, or all. Raises: ConfigError when there is no such wording."""
    if wording not in (1, 2, 3, "all"):
        raise ConfigError(f"No wording {wording!r}; choose 1, 2, 3 or all")
    if wording == 1:
        return known[:1]
    if len(known) < 3:
        raise ConfigError(f"{what} has one wording only: leave out --wording {wording}")
    return known if wording == "all" else (known[wording - 1],)


def shots_of(style: Style, wanted: int | None) -> int:
    """How many worked examples are shown. Raises: ConfigError."""
    if wanted is None:
        return style.shots or 0
    if wanted < 0:
        raise ConfigError(f"--shots {wanted}: it counts worked examples, from 0")
    if wanted and style.shots is None:
        raise ConfigError(f"Style {style.name} shows no worked examples: leave out --shots")
    return wanted
