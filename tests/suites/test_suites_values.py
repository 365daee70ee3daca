"""Numbers, sets of letters and entities: what is read as one, what is not, and what it is worth."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reading import NOTHING, read_answer

from proctor.grading.extractors import EXTRACTORS
from proctor.grading.first_token import by_first_token
from proctor.grading.formats import Label
from proctor.grading.texts import squad, token_f1
from proctor.grading.vocabulary import vocabulary
from proctor.sources.exams.tables.tasks import TASKS
from proctor.types import Chat, Gold, Item, Message, Outcome, Reply

grade = EXTRACTORS["proctor/1"].grade_reply

ANSWERS = ("Paris", "London", "a small town in France", "None of his friends")
ENTITIES = ("Barack Obama", "Obama", "Michelle Obama", "United States", "The New York Times")


def an_item(target, choices=(), aliases=(), options=()):
    return Item(
        "t/0", "t", Chat((Message("user", "?"),)), Gold.of(target, aliases), choices=choices, options=options
    )


def number(text, **more):
    return read_answer(Reply(text, **more), kind="number")


def letters(text, **more):
    return read_answer(Reply(text, **more), kind="letters", choices=ANSWERS)


def entity(text, **more):
    return read_answer(Reply(text, **more), kind="entity", choices=ENTITIES)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"answer": 3.8}', ("3.8", 1)),
        ('{"answer": "4 out of 5"}', ("4", 1)),
        ("They differ in one detail.\nAnswer: 3.80", ("3.8", 2)),
        ("Answer: 4/5", ("4", 2)),
        ("Answer: 4.0 out of 5.0", ("4", 2)),
        ("Answer: 3,5", ("3.5", 2)),
        ("Answer: .5", ("0.5", 2)),
        ("Answer: $\\boxed{2.5}$", ("2.5", 2)),
        ("Answer: 4.2, because sentence 2 says more", ("4.2", 2)),
        ("Answer: 2.3333333", ("2.333", 2)),
        ("0", ("0", 3)),
        ("**5.0**", ("5", 3)),
        ("5/5", ("5", 3)),
        ("So the answer is 2.4. Sentence 2 adds 3 facts.", ("2.4", 4)),
    ],
)
def test_a_stated_number_is_read(text, expected):
    assert number(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Answer: 5.1",
        "Answer: -1",
        "Answer: 80%",
        "Answer: 8/10",
        "Answer: 3-4",
        "Answer: 3 or 4",
        "Answer: not 4",
        "Answer: more than 3",
        "Answer: 1e0",
        "Answer: four",
        "Answer: <number>",
        "About 4 of the words agree.",
        "3 or 4",
        '{"answer": true}',
        '{"answer": [3, 4]}',
        "",
    ],
)
def test_no_number_is_taken_where_none_or_several_are_stated(text):
    assert number(text) == NOTHING


def test_a_number_counts_by_its_distance():
    item = an_item("3.8")
    for said, outcome, score in (
        ("Answer: 3.8", Outcome.CORRECT, 1.0),
        ("Answer: 3.3", Outcome.CORRECT, 0.9),
        ("Answer: 3.2", Outcome.WRONG, 0.88),
        ("Answer: 0", Outcome.WRONG, 0.24),
    ):
        reading = grade(item, Reply(said), kind="number")
        assert (reading.outcome, reading.score) == (outcome, pytest.approx(score)), said


def test_a_number_that_may_go_on_is_no_answer():
    assert number("Answer: 3", finish="length") == NOTHING
    assert number("Answer: 3\nIt", finish="length") == ("3", 2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"answer": ["C", "A"]}', ("A,C", 1)),
        ('{"answer": "A, C"}', ("A,C", 1)),
        ('{"answer": []}', ("none", 1)),
        ("Answer: C, A", ("A,C", 2)),
        ("Answer: A and C.", ("A,C", 2)),
        ("Answer: A/C", ("A,C", 2)),
        ("**Answer:** (A), (C)", ("A,C", 2)),
        ("answer: a, c", ("A,C", 2)),
        ("Answer: A, B, and D", ("A,B,D", 2)),
        ("Answer: AC", ("A,C", 2)),
        ("Answer: B", ("B", 2)),
        ("Answer: none", ("none", 2)),
        ("Answer: None of the above.", ("none", 2)),
        ("Answer: All of the above", ("A,B,C,D", 2)),
        ("Answer: A. Paris, C. a small town in France", ("A,C", 2)),
        ("Answer: Paris and London", ("A,B", 2)),
        ("Answer: A, C (B is wrong)", ("A,C", 2)),
        ("Answer:\n- A. Paris\n- B. London", ("A,B", 2)),
        ("Answer:\nA\nC\n\nThat is all.", ("A,C", 2)),
        ("Correct answers: A and B", ("A,B", 2)),
        ("A, D", ("A,D", 3)),
        ("none", ("none", 3)),
        ("The correct answers are A and C.", ("A,C", 4)),
    ],
)
def test_stated_letters_are_read(text, expected):
    assert letters(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Answer: A, E",
        "Answer: A or C",
        "Answer: A, none",
        "Answer: A man went to Paris",
        "Answer: A and B are wrong",
        "Answer: <letters>",
        "Answers:\nA. Paris\nB. London",
        "A man went to Paris.",
        "I would rule out A and B.",
        '{"answer": ["A", "E"]}',
        "",
    ],
)
def test_no_letters_are_taken_where_none_or_others_are_stated(text):
    assert letters(text) == NOTHING


def test_letters_count_only_as_a_whole_set():
    for target, said, right in (("A,C", "C, A", True), ("A,C", "A", False), ("none", "none", True)):
        reading = grade(an_item(target, ANSWERS), Reply(f"Answer: {said}"), kind="letters")
        assert (reading.outcome is Outcome.CORRECT, reading.score) == (right, float(right))


@given(st.sets(st.sampled_from("ABCD")), st.sampled_from([", ", " and ", "/", ",", " & ", "; "]))
def test_any_set_of_letters_is_read_back(chosen, between):
    said = between.join(sorted(chosen)) or "none"
    assert letters(f"Reasons.\nAnswer: {said}")[0] == (",".join(sorted(chosen)) or "none")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"answer": "barack obama"}', ("Barack Obama", 1)),
        ("Answer: President Barack Obama", ("Barack Obama", 2)),
        ("Answer: obama", ("Obama", 2)),
        ("Answer: Michelle", ("Michelle Obama", 2)),
        ("Answer: the United States.", ("United States", 2)),
        ("Answer: New York Times, as the text says", ("The New York Times", 2)),
        ("Answer: Joe Biden", ("Joe Biden", 2)),
        ("Answer: Michelle Obama or the United States", ("Michelle Obama or the United States", 2)),
        ("Answer: Obama\n(The form was Answer: <entity>)", ("Obama", 2)),
        ("**Barack Obama**", ("Barack Obama", 3)),
        ("x" * 300 + ". The answer is Michelle Obama.", ("Michelle Obama", 4)),
        ("I do not know.", NOTHING),
        ("Answer: <entity>", NOTHING),
        ("", NOTHING),
    ],
)
def test_an_entity_is_mapped_to_the_listed_one(text, expected):
    assert entity(text) == expected


def test_an_entity_scores_by_its_words():
    item = an_item("Barack Obama", ENTITIES, ("Obama",))
    for said, outcome, score in (
        ("barack obama", Outcome.CORRECT, 1.0),
        ("Obama", Outcome.CORRECT, 1.0),
        ("Michelle Obama", Outcome.WRONG, 2 / 3),
        ("Joe Biden", Outcome.WRONG, 0.0),
    ):
        reading = grade(item, Reply(f"Answer: {said}"), kind="entity")
        assert (reading.outcome, reading.score) == (outcome, pytest.approx(score)), said


def test_squads_normal_form():
    assert squad("An Apple-pie, the  U.S.") == "applepie us"
    assert token_f1("a b c", "b c d") == pytest.approx(2 * 2 / 5)  # the article is left out: b c | b c d
    assert token_f1("", "") == 0.0


def test_without_a_target_an_answer_is_read_and_nothing_is_scored():
    item = an_item(None, ("x", "y"))
    reading = grade(item, Reply("Answer: B"), kind="choices")
    assert (reading.outcome, reading.answer, reading.rung, reading.score) == (Outcome.ANSWERED, "B", 2, None)
    silent = grade(item, Reply("Who knows"), kind="choices")
    assert (silent.outcome, silent.answer, silent.score) == (Outcome.NO_ANSWER, None, None)
    refused = grade(item, Reply("", finish="refused"), kind="choices")
    assert (refused.outcome, refused.score) == (Outcome.REFUSED, None)


YES_NO = vocabulary((Label("not_entailment", shown="no"), Label("entailment", ("implied",), shown="yes")))


def test_the_shown_word_the_name_and_synonyms_give_the_name():
    for said in ("yes", "Yes.", "entailment", "implied"):
        assert read_answer(Reply(said), kind="labels", vocabulary=YES_NO) == ("entailment", 3)
    for said in ("no", "not entailment", "Not_Entailment"):
        reply = Reply(f"Answer: {said}")
        assert read_answer(reply, kind="labels", vocabulary=YES_NO) == ("not_entailment", 2)


def test_what_is_shown_outranks_another_labels_name():
    words = vocabulary((Label("low", shown="high"), Label("high", shown="low")))
    assert read_answer(Reply("high"), kind="labels", vocabulary=words) == ("low", 3)


LABELLED = [task for task in TASKS.values() if task.kind == "labels"]


@pytest.mark.parametrize("task", LABELLED, ids=lambda task: task.key)
def test_every_word_of_every_task_is_read_as_its_label(task):
    words = vocabulary(task.labels)
    for each in task.labels:
        for word in (each.name, each.shown, *each.synonyms):
            for said in (
                word,
                f"Reasons.\nAnswer: {word}",
                f"**Answer:** {word.upper()}.",
                f"<think>hm</think>{word}",
            ):
                answer, _ = read_answer(Reply(said), kind="labels", vocabulary=words)
                assert answer == each.name, said


LETTER_ITEM = an_item("B", ("x", "y", "z"))


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ((("A", -2.0), ("B", -0.5)), "B"),
        ((("The", -0.1), (" B", -2.0), ("A", -3.0)), "B"),
        ((("**", -0.1), ("(C", -1.0)), "C"),
        ((("a", -0.1), ("D", -0.2)), None),  # "a" is an article, D is no option
        ((("Answer", -0.1),), None),
        ((("▁B", -0.1),), "B"),
    ],
)
def test_the_likeliest_token_that_is_an_option_decides(tokens, expected):
    assert by_first_token(LETTER_ITEM, tokens, None) == expected


def test_a_token_may_be_the_beginning_of_one_label_only():
    words = vocabulary((Label("acceptable"), Label("unacceptable"), Label("unclear")))
    item = an_item("acceptable")
    assert by_first_token(item, (("un", -0.1), ("Accept", -1.0)), words) == "acceptable"
    assert by_first_token(item, (("unacc", -0.1), ("accept", -1.0)), words) == "unacceptable"
    assert by_first_token(item, (("no", -0.3),), YES_NO) == "not_entailment"


def test_a_ranked_reply_has_rung_0_and_is_never_cut():
    read = grade(LETTER_ITEM, Reply("B", finish="length", first_token=(("B", -0.1),)), kind="choices")
    assert (read.outcome, read.answer, read.rung, read.score) == (Outcome.CORRECT, "B", 0, 1.0)
    other = grade(LETTER_ITEM, Reply("I", finish="length", first_token=(("I", -0.1),)), kind="choices")
    assert (other.outcome, other.answer, other.score) == (Outcome.NO_ANSWER, None, 0.0)


HOSTILE = [
    "A," * 100_000,
    "3 " * 100_000,
    '{"answer": "' + "A, " * 60_000 + '"}',
    "Answer: " + "and " * 50_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12])
def test_hostile_text_comes_back(text):
    for finish in ("stop", "length"):
        number(text, finish=finish)
        letters(text, finish=finish)
        entity(text, finish=finish)
