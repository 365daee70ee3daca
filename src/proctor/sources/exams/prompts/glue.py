"""What models are shown for GLUE, in three wordings each."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.sources.exams.prompts.form import CLOSE_1, CLOSE_2, CLOSE_3, Prompt, Wording, three

YES_NO = "<yes|no>"
NLI = "<entailment|neutral|contradiction>"

COLA = three(
    "cola",
    Wording(
        head="Judge whether this English sentence is acceptable: whether a native speaker would take its "
        "grammar and its choice of words as they stand.",
        case="Sentence: {sentence}",
        ask=CLOSE_1 + "<acceptable|unacceptable>",
    ),
    Wording(
        case='"{sentence}"',
        ask="Is the sentence in quotes well-formed English? Call it acceptable if a careful native speaker "
        "could write it so, and unacceptable if it breaks a rule of the language.\n\n"
        + CLOSE_2
        + "<acceptable|unacceptable>",
    ),
    Wording(
        head="EXAM SHEET: LINGUISTICS\nMark the sentence below as acceptable (good English) or unacceptable "
        "(not good English). Only its form counts, not whether it is true.",
        case="Sentence to mark: {sentence}",
        ask=CLOSE_3 + "<acceptable|unacceptable>",
    ),
)

SST2 = three(
    "sst2",
    Wording(
        head="This is a piece of a film review. Decide whether the feeling in it is positive or negative.",
        case="Review: {sentence}",
        ask=CLOSE_1 + "<positive|negative>",
    ),
    Wording(
        case="A critic wrote about a film:\n{sentence}",
        ask="Did the critic mean this as praise (positive) or as a complaint (negative)?\n\n"
        + CLOSE_2
        + "<positive|negative>",
    ),
    Wording(
        head="EXAM SHEET: FILM REVIEWS\nSort each snippet under one of two headings, positive or negative, by "
        "what its writer thought of the film.",
        case="Snippet: {sentence}",
        ask=CLOSE_3 + "<positive|negative>",
    ),
)

MRPC = three(
    "mrpc",
    Wording(
        head="Do these two sentences mean the same? Answer yes if one is a paraphrase of the other, else no.",
        case="Sentence 1: {sentence1}\nSentence 2: {sentence2}",
        ask=CLOSE_1 + YES_NO,
    ),
    Wording(
        case="First report:\n{sentence1}\n\nSecond report:\n{sentence2}",
        ask="Would a reader of the one learn the same as a reader of the other? Say yes if both reports tell "
        "the same in other words, no if what they tell differs.\n\n" + CLOSE_2 + YES_NO,
    ),
    Wording(
        head="EXAM SHEET: PARAPHRASES\nCompare the two lines of news. Tick yes where they are equivalent in "
        "meaning, no where they are not.",
        case="(a) {sentence1}\n(b) {sentence2}",
        ask=CLOSE_3 + YES_NO,
    ),
)

QQP = three(
    "qqp",
    Wording(
        head="Two people asked these questions on a website. Are they the same question in other words? "
        "Answer yes or no.",
        case="Question 1: {question1}\nQuestion 2: {question2}",
        ask=CLOSE_1 + YES_NO,
    ),
    Wording(
        case="One user asks:\n{question1}\n\nAnother user asks:\n{question2}",
        ask="If a single reply could fully serve both users, say yes; if each needs a reply of its own, say "
        "no.\n\n" + CLOSE_2 + YES_NO,
    ),
    Wording(
        head="EXAM SHEET: DUPLICATES\nA moderator merges questions that ask for the same thing. Write yes if "
        "this pair is to be merged, no if it is not.",
        case="(a) {question1}\n(b) {question2}",
        ask=CLOSE_3 + YES_NO,
    ),
)

STSB = three(
    "stsb",
    Wording(
        head="How alike are two sentences in meaning? Give a number from 0 to 5 with one decimal, where\n"
        "5 = both say exactly the same\n"
        "4 = the same, but for small details\n"
        "3 = about the same, but something that matters differs or is missing\n"
        "2 = not the same, though they share some details\n"
        "1 = not the same, only about the same topic\n"
        "0 = about different things",
        case="Sentence 1: {sentence1}\nSentence 2: {sentence2}",
        ask=CLOSE_1 + "<number>",
    ),
    Wording(
        case="{sentence1}\n{sentence2}",
        ask="Rate how close the two sentences above are in what they say, on a scale with one decimal. At 0 "
        "they have nothing to do with each other, at 1 they only touch on the same subject, at 2 a few "
        "details agree, at 3 the main point agrees but something important does not, at 4 only minor "
        "details differ, and at 5 they mean the same thing entirely.\n\n" + CLOSE_2 + "<number>",
    ),
    Wording(
        head="EXAM SHEET: LIKENESS OF MEANING\nAward each pair between 0 and 5 points, in tenths of a point. "
        "Full points: one could replace the other anywhere. Four: nothing of weight differs. Three: alike "
        "in the main, with a difference that counts. Two: some common details. One: a common subject and no "
        "more. None: unrelated.",
        case="(a) {sentence1}\n(b) {sentence2}",
        ask=CLOSE_3 + "<number>",
    ),
)

MNLI = three(
    "mnli",
    Wording(
        head="Take the premise as true. Say how the hypothesis stands to it: entailment (it follows), "
        "contradiction (it cannot be true as well), or neutral (neither of these).",
        case="Premise: {premise}\nHypothesis: {hypothesis}",
        ask=CLOSE_1 + NLI,
    ),
    Wording(
        case="Somebody says: {premise}\nA listener concludes: {hypothesis}",
        ask="Choose entailment if the listener must be right, contradiction if the listener must be wrong, and "
        "neutral if what was said leaves it open.\n\n" + CLOSE_2 + NLI,
    ),
    Wording(
        head="EXAM SHEET: INFERENCE\nFor the pair of statements enter one word: entailment where (a) makes (b) "
        "certain, contradiction where (a) rules (b) out, neutral in every other case.",
        case="(a) {premise}\n(b) {hypothesis}",
        ask=CLOSE_3 + NLI,
    ),
)

QNLI = three(
    "qnli",
    Wording(
        head="Does the sentence contain the answer to the question? Answer yes or no.",
        case="Question: {question}\nSentence: {sentence}",
        ask=CLOSE_1 + YES_NO,
    ),
    Wording(
        case="{sentence}\n\nSomebody wants to know: {question}",
        ask="Say yes if a person who reads nothing but the sentence above would know what to reply, and no "
        "otherwise.\n\n" + CLOSE_2 + YES_NO,
    ),
    Wording(
        head="EXAM SHEET: FINDING ANSWERS\nCheck whether line (b) answers what line (a) asks. Enter yes or no.",
        case="(a) {question}\n(b) {sentence}",
        ask=CLOSE_3 + YES_NO,
    ),
)

RTE = three(
    "rte",
    Wording(
        head="If sentence 1 is true, is sentence 2 true as well? Answer yes if it follows, and no if it is "
        "false or cannot be told.",
        case="Sentence 1: {sentence1}\nSentence 2: {sentence2}",
        ask=CLOSE_1 + YES_NO,
    ),
    Wording(
        case="Text:\n{sentence1}\n\nClaim:\n{sentence2}",
        ask="Going by the text alone, is the claim established? Say yes or no; a claim that the text leaves "
        "open is a no.\n\n" + CLOSE_2 + YES_NO,
    ),
    Wording(
        head="EXAM SHEET: WHAT FOLLOWS\nEnter yes if anybody who accepts (a) has to accept (b) too, and no in "
        "all other cases.",
        case="(a) {sentence1}\n(b) {sentence2}",
        ask=CLOSE_3 + YES_NO,
    ),
)

WNLI = three(
    "wnli",
    Wording(
        head="Sentence 2 spells out something in sentence 1, such as whom a pronoun stands for. Does it spell "
        "it out rightly, so that it follows from sentence 1? Answer yes or no.",
        case="Sentence 1: {sentence1}\nSentence 2: {sentence2}",
        ask=CLOSE_1 + YES_NO,
    ),
    Wording(
        case="{sentence1}\n\nA reader took this to say: {sentence2}",
        ask="Did the reader understand the pronoun as the writer meant it? Say yes or no.\n\n"
        + CLOSE_2
        + YES_NO,
    ),
    Wording(
        head="EXAM SHEET: PRONOUNS\nLine (b) puts a name in place of a pronoun of line (a). Enter yes if (b) is "
        "what (a) says, no if the wrong name was put in.",
        case="(a) {sentence1}\n(b) {sentence2}",
        ask=CLOSE_3 + YES_NO,
    ),
)

GLUE_PROMPTS: Mapping[str, tuple[Prompt, ...]] = {
    "cola": COLA,
    "sst2": SST2,
    "mrpc": MRPC,
    "qqp": QQP,
    "stsb": STSB,
    "mnli": MNLI,
    "qnli": QNLI,
    "rte": RTE,
    "wnli": WNLI,
}
