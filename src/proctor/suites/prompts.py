"""The words that models are shown: one function a prompt, from a row's fields to messages.

The version of a prompt is part of what makes two scores comparable: change the words, raise it.
Every prompt is one user turn that names the possible answers and asks for a last line to read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from proctor.types import Message

Fields = Mapping[str, Any]

LAST_LINE = "You may reason first, briefly. Finish with one last line in exactly this form:\nAnswer: "


@dataclass(frozen=True, slots=True)
class Prompt:
    version: str
    render: Callable[[Fields], tuple[Message, ...]]


def user(text: str) -> tuple[Message, ...]:
    return (Message("user", text),)


def lettered(choices: Sequence[str]) -> str:
    """The choices, one a line, as "A. text"."""
    return "\n".join(f"{letter}. {text}" for letter, text in zip(ascii_uppercase, choices, strict=False))


def boolq(fields: Fields) -> tuple[Message, ...]:
    question = fields["question"].rstrip(" ?")
    return user(
        f"Read the passage, then answer the question with yes or no.\n\n"
        f"Passage: {fields['passage']}\n\n"
        f"Question: {question}?\n\n"
        f"{LAST_LINE}<yes|no>"
    )


def mmlu(fields: Fields) -> tuple[Message, ...]:
    subject = fields["subject"].replace("_", " ")
    return user(
        f"This is a multiple-choice question about {subject}. One option is correct.\n\n"
        f"{fields['question']}\n\n"
        f"{lettered(fields['choices'])}\n\n"
        f"{LAST_LINE}<letter>"
    )


def pubmedqa(fields: Fields) -> tuple[Message, ...]:
    abstract = "\n\n".join(fields["contexts"])
    return user(
        "This is the abstract of a medical study, without its conclusion.\n\n"
        f"{abstract}\n\n"
        f"Question: {fields['question']}\n\n"
        "Judging by this study alone, answer yes, no, or maybe (the findings do not settle it).\n\n"
        f"{LAST_LINE}<yes|no|maybe>"
    )


def choices(fields: Fields) -> tuple[Message, ...]:
    """For a question of a user's own file with lettered options."""
    return user(
        f"{fields['question']}\n\n"
        f"{lettered(fields['choices'])}\n\n"
        f"Choose the one option that answers best. {LAST_LINE}<letter>"
    )


def labels(fields: Fields) -> tuple[Message, ...]:
    """For a question of a user's own file whose answers are a few labels."""
    names = fields["labels"]
    return user(
        f"{fields['question']}\n\nThe answer is one of: {', '.join(names)}.\n\n{LAST_LINE}<{'|'.join(names)}>"
    )


def text(fields: Fields) -> tuple[Message, ...]:
    """For a question of a user's own file with answers in free words."""
    return user(
        f"{fields['question']}\n\n"
        f"Give the answer itself in as few words as it needs. {LAST_LINE}<your answer>"
    )


def verbatim(fields: Fields) -> tuple[Message, ...]:
    """For a row that brings its own messages: they are sent as they are."""
    return tuple(Message(message["role"], message["content"]) for message in fields["messages"])


PROMPTS: Mapping[str, Prompt] = {
    "boolq": Prompt("boolq/1", boolq),
    "mmlu": Prompt("mmlu/1", mmlu),
    "pubmedqa": Prompt("pubmedqa/1", pubmedqa),
    "choices": Prompt("choices/1", choices),
    "labels": Prompt("labels/1", labels),
    "text": Prompt("text/1", text),
    "verbatim": Prompt("verbatim/1", verbatim),
}
