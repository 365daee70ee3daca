"""What models are shown for MMLU, for the medical suite and for users' own questions, in three wordings each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor.sources.exams.prompts.form import (
    CLOSE_1,
    CLOSE_2,
    CLOSE_3,
    Fields,
    Prompt,
    Shot,
    Wording,
    Writer,
    three,
    with_options,
)
from proctor.types import Message

LETTER = "<letter>"


def subject_in_words(fields: Fields) -> Fields:
    return {**with_options(fields), "subject": fields["subject"].replace("_", " ")}


MMLU = three(
    "mmlu",
    Wording(
        head="This is a multiple-choice question about {subject}. One option is correct.",
        case="{question}\n\n{options}",
        ask=CLOSE_1 + LETTER,
    ),
    Wording(
        case="{question}\n\n{options}",
        ask="A question from {subject}. Pick the option that an expert would pick.\n\n" + CLOSE_2 + LETTER,
    ),
    Wording(
        head="EXAM SHEET\nSubject: {subject}\nRule: exactly one letter is right; enter that letter.",
        case="QUESTION\n{question}\n\nOPTIONS\n{options}",
        ask=CLOSE_3 + LETTER,
    ),
    ready=subject_in_words,
)

MEDQA = three(
    "medqa",
    Wording(
        head="This question is from a licensing exam for physicians. One option is the best answer.",
        case="{question}\n\n{options}",
        ask=CLOSE_1 + LETTER,
    ),
    Wording(
        case="{question}\n\n{options}",
        ask="You are the physician here: decide on the best of the options.\n\n" + CLOSE_2 + LETTER,
    ),
    Wording(
        head="EXAM SHEET: CLINICAL KNOWLEDGE\nRead the case and enter the letter of the single best option.",
        case="CASE\n{question}\n\nOPTIONS\n{options}",
        ask=CLOSE_3 + LETTER,
    ),
    ready=with_options,
)

MEDMCQA = three(
    "medmcqa",
    Wording(
        head="This question is from an entrance exam for postgraduate medical studies. One option is correct.",
        case="{question}\n\n{options}",
        ask=CLOSE_1 + LETTER,
    ),
    Wording(
        case="{question}\n\n{options}",
        ask="Which letter would a well-prepared young doctor choose?\n\n" + CLOSE_2 + LETTER,
    ),
    Wording(
        head="EXAM SHEET: MEDICINE\nEach question has one right option. Enter its letter.",
        case="QUESTION\n{question}\n\nOPTIONS\n{options}",
        ask=CLOSE_3 + LETTER,
    ),
    ready=with_options,
)


def abstract(fields: Fields) -> Fields:
    return {**fields, "abstract": "\n\n".join(fields["contexts"])}


PUBMEDQA = three(
    "pubmedqa",
    Wording(
        head="This is the abstract of a medical study, without its conclusion.",
        case="{abstract}\n\nQuestion: {question}",
        ask="Judging by this study alone, answer yes, no, or maybe (the findings do not settle it).\n\n"
        + CLOSE_1
        + "<yes|no|maybe>",
    ),
    Wording(
        case="{question}\n\nA study was made of this. Its report, as far as the results:\n\n{abstract}",
        ask="Reply to the question at the top as the authors would on these results: yes, no, or maybe where "
        "the results leave it undecided.\n\n" + CLOSE_2 + "<yes|no|maybe>",
    ),
    Wording(
        head="EXAM SHEET: MEDICAL LITERATURE\nConclude from the findings. Enter yes, no or maybe; maybe means "
        "that they point both ways.",
        case="FINDINGS\n{abstract}\n\nQUESTION\n{question}",
        ask=CLOSE_3 + "<yes|no|maybe>",
    ),
    ready=abstract,
)

CHOICES = three(
    "choices",
    Wording(
        case="{question}\n\n{options}",
        ask="Choose the one option that answers best. " + CLOSE_1 + LETTER,
    ),
    Wording(
        head="A question with several options follows. Exactly one of them is to be picked.",
        case="{question}\n\n{options}",
        ask=CLOSE_2 + LETTER,
    ),
    Wording(
        head="EXAM SHEET\nEnter the letter of the best option.",
        case="QUESTION\n{question}\n\nOPTIONS\n{options}",
        ask=CLOSE_3 + LETTER,
    ),
    ready=with_options,
)


def listed_labels(fields: Fields) -> Fields:
    return {**fields, "list": ", ".join(fields["labels"]), "bars": "|".join(fields["labels"])}


LABELS = three(
    "labels",
    Wording(
        case="{question}",
        ask="The answer is one of: {list}.\n\n" + CLOSE_1 + "<{bars}>",
    ),
    Wording(
        head="Reply to what follows with one of these words and no other: {list}.",
        case="{question}",
        ask=CLOSE_2 + "<{bars}>",
    ),
    Wording(
        head="EXAM SHEET\nPermitted entries: {list}.",
        case="QUESTION\n{question}",
        ask=CLOSE_3 + "<{bars}>",
    ),
    ready=listed_labels,
)

TEXT = three(
    "text",
    Wording(
        case="{question}",
        ask="Give the answer itself in as few words as it needs. " + CLOSE_1 + "<your answer>",
    ),
    Wording(
        head="A question follows. What is wanted is a name, a number or a few words, not a sentence.",
        case="{question}",
        ask=CLOSE_2 + "<your answer>",
    ),
    Wording(
        head="EXAM SHEET\nFill in the shortest entry that answers the question.",
        case="QUESTION\n{question}",
        ask=CLOSE_3 + "<your answer>",
    ),
)


@dataclass(frozen=True, slots=True)
class Verbatim:
    """For a row that brings its own messages: they are sent as they are."""

    version: str = "verbatim/1"

    def render(self, fields: Fields, shots: Sequence[Shot] = ()) -> tuple[Message, ...]:
        return tuple(Message(message["role"], message["content"]) for message in fields["messages"])


EXAM_PROMPTS: Mapping[str, tuple[Prompt, ...]] = {
    "mmlu": MMLU,
    "medqa": MEDQA,
    "medmcqa": MEDMCQA,
    "pubmedqa": PUBMEDQA,
    "choices": CHOICES,
    "labels": LABELS,
    "text": TEXT,
}
VERBATIM: tuple[Writer, ...] = (Verbatim(),)
