"""What models are shown for SuperGLUE, in three wordings each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from proctor.sources.exams.prompts.form import (
    CLOSE_1,
    CLOSE_2,
    CLOSE_3,
    Fields,
    Prompt,
    Wording,
    three,
    with_options,
)
from proctor.sources.exams.prompts.glue import RTE, YES_NO

CB_LABELS = "<entailment|contradiction|neutral>"
LETTERS = "<letters>"


def asked(fields: Fields) -> Fields:
    """BoolQ's questions come without a question mark, and some with one."""
    return {**fields, "question": fields["question"].rstrip(" ?") + "?"}


BOOLQ = three(
    "boolq",
    Wording(
        head="Read the passage, then answer the question with yes or no.",
        case="Passage: {passage}\n\nQuestion: {question}",
        ask=CLOSE_1 + YES_NO,
    ),
    Wording(
        case="{question}\n\nHere is what an encyclopedia says on the matter:\n{passage}",
        ask="Settle the question at the top by this text: yes or no?\n\n" + CLOSE_2 + YES_NO,
    ),
    Wording(
        head="EXAM SHEET: READING\nThe text decides the question below it. Enter yes or no.",
        case="TEXT\n{passage}\n\nQUESTION\n{question}",
        ask=CLOSE_3 + YES_NO,
    ),
    ready=asked,
)

CB = three(
    "cb",
    Wording(
        head="Read what was said or written. Does its author hold the statement true (entailment), hold it "
        "false (contradiction), or leave it open (neutral)?",
        case="Text: {premise}\nStatement: {hypothesis}",
        ask=CLOSE_1 + CB_LABELS,
    ),
    Wording(
        case="{premise}\n\nStatement: {hypothesis}",
        ask="How does the passage above commit its author to the statement? Choose entailment if to its truth, "
        "contradiction if to its falsehood, neutral if to neither.\n\n" + CLOSE_2 + CB_LABELS,
    ),
    Wording(
        head="EXAM SHEET: COMMITMENT\nEnter entailment where (a) makes (b) true, contradiction where (a) makes "
        "(b) false, neutral where (a) does neither.",
        case="(a) {premise}\n(b) {hypothesis}",
        ask=CLOSE_3 + CB_LABELS,
    ),
)

CAUSAL = {
    "cause": ("What is more plausibly the cause of this?", "brought about the following", "CAUSE"),
    "effect": ("What is more plausibly the effect of this?", "came of the following", "EFFECT"),
}


def causal(fields: Fields) -> Fields:
    plain, tale, heading = CAUSAL[fields["question"]]
    return {**with_options(fields), "plain": plain, "tale": tale, "heading": heading}


COPA = three(
    "copa",
    Wording(
        case="{premise}\n\n{plain}\n\n{options}",
        ask=CLOSE_1 + "<A|B>",
    ),
    Wording(
        case="{options}\n\nOne of these two {tale}:\n{premise}",
        ask="Give the letter of the likelier one.\n\n" + CLOSE_2 + "<A|B>",
    ),
    Wording(
        head="EXAM SHEET: CAUSE AND EFFECT\nEnter the letter of the more likely alternative.",
        case="EVENT\n{premise}\n\n{heading}\n{options}",
        ask=CLOSE_3 + "<A|B>",
    ),
    ready=causal,
)

MULTIRC = three(
    "multirc",
    Wording(
        head="Read the paragraph. Under the question stand possible answers; any number of them may be right.",
        case="Paragraph: {paragraph}\n\nQuestion: {question}\n\n{options}",
        ask="Give the letters of all right ones with commas between them, or none if there is none. "
        + CLOSE_1
        + LETTERS,
    ),
    Wording(
        case="{question}\n\n{options}\n\nThe text to go by:\n{paragraph}",
        ask="Which of the lettered replies does the text bear out? There may be one, several or none: name "
        "every letter, separated by commas, or write none.\n\n" + CLOSE_2 + LETTERS,
    ),
    Wording(
        head="EXAM SHEET: MULTIPLE RESPONSE\nTick every option that the text makes right. List the ticked "
        "letters with commas; list none if no option is right.",
        case="TEXT\n{paragraph}\n\nQUESTION\n{question}\n\n{options}",
        ask=CLOSE_3 + LETTERS,
    ),
    ready=with_options,
)

HIGHLIGHT = re.compile(r"\s*@highlight\s*")


def cloze(fields: Fields) -> Fields:
    """The passage with its highlights as bullets, the query with a blank, the entities as a list."""
    text, *highlights = HIGHLIGHT.split(fields["passage"])
    bullets = [f"- {line.strip()}" for line in highlights if line.strip()]
    return {
        **fields,
        "article": "\n".join([text.strip(), *bullets]),
        "blank": fields["query"].replace("@placeholder", "____"),
        "names": "\n".join(f"- {name}" for name in fields["entities"]),
    }


RECORD = three(
    "record",
    Wording(
        head="Read the article. In the sentence after it a name is missing (____). Say which of the listed "
        "names belongs there.",
        case="Article: {article}\n\nSentence: {blank}\n\nNames:\n{names}",
        ask=CLOSE_1 + "<name>",
    ),
    Wording(
        case="{blank}\n\nThe gap above is filled by one of\n{names}\n\nas this article shows:\n{article}",
        ask="Write the name that fills the gap, as the list spells it.\n\n" + CLOSE_2 + "<name>",
    ),
    Wording(
        head="EXAM SHEET: MISSING NAMES\nComplete the sentence with one name of the list, going by the text.",
        case="TEXT\n{article}\n\nLIST\n{names}\n\nSENTENCE\n{blank}",
        ask=CLOSE_3 + "<name>",
    ),
    ready=cloze,
)

WIC = three(
    "wic",
    Wording(
        head="Does the word have the same meaning in both sentences? Answer yes or no.",
        case="Word: {word}\nSentence 1: {sentence1}\nSentence 2: {sentence2}",
        ask=CLOSE_1 + YES_NO,
    ),
    Wording(
        case='{sentence1}\n{sentence2}\n\nHow is "{word}" used in these two?',
        ask="Imagine that you look the word up in a dictionary for each of the two sentences. Do both uses "
        "belong under one sense? Say yes or no.\n\n" + CLOSE_2 + YES_NO,
    ),
    Wording(
        head="EXAM SHEET: SENSES OF A WORD\nEnter yes if the word stands for the same thing in (a) and (b), no "
        "if its sense changes.",
        case="WORD\n{word}\n\n(a) {sentence1}\n(b) {sentence2}",
        ask=CLOSE_3 + YES_NO,
    ),
)


def mark(words: Sequence[str], index: int, phrase: str, number: int) -> list[str]:
    """The words with the phrase at that place in brackets; all of the span where it is written otherwise."""
    end = index + max(1, len(phrase.split()))
    span = " ".join(words[index:end])
    plain = " ".join(phrase.split())
    place = max(0, span.lower().find(plain.lower()))
    length = len(plain) if plain.lower() in span.lower() else len(span)
    before, inner, after = span[:place], span[place : place + length], span[place + length :]
    return [*words[:index], f"{before}[{number}: {inner}]{after}", *words[end:]]


def two_spans(fields: Fields) -> Fields:
    """The text with the noun marked 1 and the pronoun marked 2, found by their word indices."""
    spans = [(fields[f"span{number}_index"], fields[f"span{number}_text"], number) for number in (1, 2)]
    words = fields["text"].split()
    for index, phrase, number in sorted(spans, reverse=True):  # the later first: indices stay right
        words = mark(words, index, phrase, number)
    return {**fields, "marked": " ".join(words)}


WSC = three(
    "wsc",
    Wording(
        head="In the text two spans are marked with brackets. Does the pronoun marked 2 stand for what is "
        "marked 1? Answer yes or no.",
        case="Text: {marked}\n\nMarked 1: {span1_text}\nMarked 2: {span2_text}",
        ask=CLOSE_1 + YES_NO,
    ),
    Wording(
        case="{marked}",
        ask='Suppose you replace "{span2_text}" (bracket 2) in the text above by "{span1_text}" (bracket 1). '
        "Is that what the writer meant? Say yes or no.\n\n" + CLOSE_2 + YES_NO,
    ),
    Wording(
        head="EXAM SHEET: REFERENCE\nEnter yes if brackets 1 and 2 refer to the same one, no if they do not.",
        case='TEXT\n{marked}\n\nBRACKETS\n1 "{span1_text}", 2 "{span2_text}"',
        ask=CLOSE_3 + YES_NO,
    ),
    ready=two_spans,
)


def as_sentences(fields: Fields) -> Fields:
    return {**fields, "sentence1": fields["premise"], "sentence2": fields["hypothesis"]}


AXG = three(
    "axg",
    *(Wording(prompt.case, prompt.ask, prompt.head) for prompt in RTE),
    ready=as_sentences,
)

SUPERGLUE_PROMPTS: Mapping[str, tuple[Prompt, ...]] = {
    "boolq": BOOLQ,
    "cb": CB,
    "copa": COPA,
    "multirc": MULTIRC,
    "record": RECORD,
    "wic": WIC,
    "wsc": WSC,
    "axg": AXG,
}
