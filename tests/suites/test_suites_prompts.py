"""What models are shown: all of a row, in three different wordings, ending with the form of the answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_examples import EXAMPLES, FIRST_WORDS

from proctor.grading.ladder1.ladder import Asked, climb, spoken
from proctor.grading.vocabulary import vocabulary
from proctor.sources.exams.prompts.by_name import PROMPTS
from proctor.sources.exams.prompts.form import CLOSE_1, Prompt, fill, placeholders
from proctor.sources.exams.prompts.superglue import mark
from proctor.sources.exams.tables.tasks import TASKS
from proctor.types import Message

WORDED = sorted(EXAMPLES.keys() - {"verbatim"})
# Fields that are shown in another form, which tests of their own look at, or not at all.
NOT_SHOWN = {
    ("mnli", "half"),
    ("copa", "question"),
    ("record", "passage"),
    ("record", "query"),
    ("wsc", "text"),
    ("wsc", "span1_index"),
    ("wsc", "span2_index"),
}


def said(name, wording=0, shots=()):
    (message,) = PROMPTS[name][wording].render(EXAMPLES[name], shots)
    assert message.role == "user"
    return message.content


def test_there_is_an_example_of_every_prompt():
    assert EXAMPLES.keys() == PROMPTS.keys()
    assert {task.prompt for task in TASKS.values()} <= PROMPTS.keys()


@pytest.mark.parametrize("name", sorted(FIRST_WORDS))
def test_a_version_keeps_its_words(name):
    before, close, slot = said(name).partition(CLOSE_1)
    assert before == FIRST_WORDS[name]
    assert close
    assert slot.startswith("<")


@pytest.mark.parametrize("name", WORDED)
def test_each_wording_has_a_version_of_its_own(name):
    assert [prompt.version for prompt in PROMPTS[name]] == [f"{name}/1", f"{name}/w2/1", f"{name}/w3/1"]


@pytest.mark.parametrize("wording", range(3))
@pytest.mark.parametrize("name", WORDED)
def test_a_prompt_is_one_user_turn_that_ends_with_the_form_of_the_answer(name, wording):
    text = said(name, wording)
    last = text.splitlines()[-1]
    assert last.startswith("Answer: <")
    assert last.endswith(">")
    assert text.count("Answer:") == 1


@pytest.mark.parametrize("name", WORDED)
def test_the_wordings_ask_for_the_same_in_other_words(name):
    texts = [said(name, wording) for wording in range(3)]
    assert len({text.splitlines()[-1] for text in texts}) == 1
    firsts = {text.splitlines()[0] for text in texts}
    shared = set.intersection(*({*text.splitlines()} for text in texts))
    values = {str(value) for value in EXAMPLES[name].values()}
    assert len(firsts) >= 2
    # What the three have in common is the row itself and the form of the last line, no sentence of ours.
    ours = [line for line in shared if line and not line.startswith("Answer: ") and line not in values]
    assert not [line for line in ours if len(line.split()) > 6], ours


@pytest.mark.parametrize("wording", range(3))
@pytest.mark.parametrize("name", WORDED)
def test_each_wording_shows_all_of_the_row(name, wording):
    text = said(name, wording)
    for field, value in EXAMPLES[name].items():
        if (name, field) in NOT_SHOWN:
            continue
        for part in value if isinstance(value, list) else [value]:
            assert part.replace("_", " ").rstrip("?") in text or part in text


@pytest.mark.parametrize("wording", range(3))
@pytest.mark.parametrize("key", sorted({task.prompt: key for key, task in TASKS.items()}.values()))
def test_a_model_that_repeats_the_prompt_has_not_answered(key, wording):
    task = TASKS[key]
    fields = EXAMPLES[task.prompt]
    words = vocabulary(task.labels) if task.labels else None
    listed = fields.get("choices", fields.get("entities", ()))
    reply = spoken(said(task.prompt, wording))
    assert climb(reply, Asked(task.kind, words, listed, False)) == (None, None)


def test_messages_of_a_row_are_sent_as_they_are():
    (only,) = PROMPTS["verbatim"]
    assert only.render(EXAMPLES["verbatim"]) == (Message("system", "Be brief."), Message("user", "Hi"))


def test_a_question_ends_with_one_question_mark():
    for question in ("is it so", "is it so?", "is it so ?"):
        (message,) = PROMPTS["boolq"][0].render({"question": question, "passage": "p"})
        assert "Question: is it so?\n" in message.content


def test_the_spans_of_wsc_are_marked_by_their_word_index():
    for wording in range(3):
        assert "thanked [1: Maria] because [2: she] had listened." in said("wsc", wording)


def test_the_words_decide_where_a_span_is_marked_and_not_its_first_occurrence():
    words = ["he", "saw", "that", "he,", "the", "cook,", "was", "late"]
    assert " ".join(mark(words, 3, "he", 2)) == "he saw that [2: he], the cook, was late"
    assert " ".join(mark(words, 4, "The cook", 1)) == "he saw that he, [1: the cook], was late"
    # A span that is written otherwise than its text is marked whole.
    assert " ".join(mark(words, 0, "it", 1)) == "[1: he] saw that he, the cook, was late"


def test_a_span_of_several_words_moves_no_other():
    fields = {
        "text": "The old dog barked because it was hungry.",
        "span1_text": "The old dog",
        "span1_index": 0,
        "span2_text": "it",
        "span2_index": 5,
    }
    (message,) = PROMPTS["wsc"][1].render(fields)
    assert message.content.startswith("[1: The old dog] barked because [2: it] was hungry.\n")


def test_record_shows_highlights_as_bullets_and_a_blank():
    for wording in range(3):
        text = said("record", wording)
        assert "Rain fell on Oslo.\n- Oslo floods" in text
        assert "The rain in ____" in text
        assert "- Oslo\n- Bergen" in text
        assert "@" not in text


def test_copa_asks_for_the_cause_or_for_the_effect():
    for wording in range(3):
        texts = [
            PROMPTS["copa"][wording].render({**EXAMPLES["copa"], "question": question})[0].content
            for question in ("cause", "effect")
        ]
        assert texts[0] != texts[1]


def test_stsb_explains_every_point_of_its_scale():
    for point in range(6):
        assert f"{point} = " in said("stsb", 0)
        assert f" {point} " in f"{said('stsb', 1)} "


@pytest.mark.parametrize("name", WORDED)
def test_worked_examples_stand_before_the_question_in_the_same_words(name):
    for wording in range(3):
        text = said(name, wording, [(EXAMPLES[name], "first said"), (EXAMPLES[name], "then said")])
        plain = said(name, wording)
        case = fill(PROMPTS[name][wording].case, PROMPTS[name][wording].ready(EXAMPLES[name]))
        assert text.count(case) == 3
        assert text.index("Answer: first said") < text.index("Answer: then said") < text.rindex(case)
        assert text.splitlines()[-1] == plain.splitlines()[-1]


def test_braces_are_fields_only_in_the_template():
    prompt = Prompt("v/1", 'Is {{x}} {what}? Write {"answer": ...}')
    assert prompt.render({"what": "{what} {{x}}"})[0].content == 'Is {x} {what} {{x}}? Write {"answer": ...}'
    assert placeholders('{a} {b c} {a} {{d}} {"e": 1}') == ("a", "b c")


@given(st.text(), st.text())
def test_no_text_in_a_field_changes_what_stands_around_it(one, two):
    assert fill("<{a}|{b}>", {"a": one, "b": two}) == f"<{one}|{two}>"
