"""A user's own file: what is understood of it, and what is asked."""

from __future__ import annotations

import hashlib
import json

import pytest
from question_files import REVIEWS, answered, by_id, numbered, source

from proctor.errors import DataError
from proctor.manifest_json import facts_document
from proctor.types import Outcome, Reply


def test_a_csv_of_labels_is_understood_and_said(file):
    found = source(file("my_reviews.csv", REVIEWS))
    assert found.understood == (
        "20 rows from my_reviews.csv (CSV): question from column 'question', answer from 'label'",
        "answers: 2 labels (negative 10, positive 10)",
        "ignored columns: notes",
    )
    item = by_id(found)["my_reviews/1"]
    assert (item.group, item.target, item.choices) == ("my_reviews", "positive", ())
    assert "Review, number 1" in item.ask.messages[0].content
    assert item.ask.messages[0].content.endswith("Answer: <negative|positive>")
    assert found.grader.grade(item, Reply("Answer: Positive")).outcome is Outcome.CORRECT
    assert found.grader.grade(item, Reply("Answer: negative")).outcome is Outcome.WRONG
    assert found.grader.grade(item, Reply("Answer: neutral")).outcome is Outcome.NO_ANSWER


def test_the_manifest(file):
    path = file("my_reviews.csv", REVIEWS)
    found = source(path, limit=7)
    manifest = facts_document(found.facts)
    assert len(manifest.pop("item_set_sha256")) == 64
    assert manifest == {
        "suite": "my_reviews",
        "rows": "file",
        "data_sha256": {"my_reviews": hashlib.sha256(path.read_bytes()).hexdigest()},
        "answer_type": "labels",
        "tasks": {"my_reviews": "my_reviews.csv"},
        "n": 7,
        "asked": {"my_reviews": 7},
        "full_sizes": {"my_reviews": 20},
        "prompts": {"labels": "labels/1"},
        "extractor": "proctor/2",
        "aggregate": "micro",
        "style": "proctor",
        "wording": 1,
        "shots": 0,
        "shuffle": False,
        "metrics": {
            "my_reviews": {
                "official": ["accuracy"],
                "also": [],
                "positive": None,
                "kind": "labels",
                "labels": ["negative", "positive"],
                "extra": False,
            }
        },
        "metric_versions": {"accuracy": "accuracy/1"},
        "seed": 0,
        "preset": None,
        "limit": 7,
    }
    assert found.title == "my_reviews.csv"
    whole = [item.id for item in source(path).items()]
    assert [item.id for item in found.items()] == whole[:7]


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("q.csv", "\ufeffquestion,answer\nWho?,Ann\n", "CSV"),
        ("q.csv", "question;answer\nWho, then?;Ann\n", "CSV with semicolons"),
        ("q.tsv", "Question\tAnswer\nWho, then; say?\tAnn", "CSV with tabs"),
        ("q.txt", "id,question,answer\n7,Who?,Ann\n", "CSV"),
        ("q.csv", 'question,answer\r\n"Who\r\nwas it?",Ann\r\n\r\n', "CSV"),
        ("q.csv", "question,answer\nWho?,Ann\n".encode("utf-16"), "CSV"),
        ("q.csv", "comment;more;question;answer\n1,2,3,4,5;x;Who?;Ann\n", "CSV with semicolons"),
        ("q.jsonl", '{"prompt": "Who?", "target": "Ann"}\n\n', "JSON lines"),
        ("q.jsonl", '\ufeff{"input": "Who?\u2028", "expected": "Ann"}', "JSON lines"),
        ("q.json", '[{"question": "Who?", "answer": ["Ann", "Anne"]}]', "JSON array"),
        ("q.json", '{"question": "Who?", "answer": "Ann"}', "JSON lines"),
    ],
)
def test_forms_of_files(file, name, content, form):
    found = source(file(name, content))
    (item,) = found.items()
    assert "Who" in item.ask.messages[0].content
    assert item.target == "Ann"
    assert f"1 rows from {name} ({form}): " in found.understood[0]
    assert found.grader.grade(item, Reply("ann.")).outcome is Outcome.CORRECT


def test_several_right_answers(file):
    found = source(
        file("q.jsonl", [{"question": "Who?", "answer": ["Ann", "Anne"]}, {"question": "?", "answer": 5}])
    )
    item = by_id(found)["q/0"]
    assert item.accepted == ("Ann", "Anne")
    assert found.grader.grade(item, Reply("Answer: Anne")).outcome is Outcome.CORRECT
    assert found.grader.grade(by_id(found)["q/1"], Reply("Answer: 5.0")).outcome is Outcome.CORRECT
    assert found.understood[1] == "answers: free text, 2 different; 1 rows accept several"


CHOICE_ROWS = [
    {"question": "Colour?", "choices": ["red", "green", "blue"], "answer": "B"},
    {"question": "Size?", "choices": ["small", "large"], "answer": "large"},
]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.jsonl", CHOICE_ROWS),
        (
            "q.jsonl",
            [{**row, "choices": dict(zip("ABC", row["choices"], strict=False))} for row in CHOICE_ROWS],
        ),
        ("q.csv", "question,A,B,C,answer\nColour?,red,green,blue,b\nSize?,small,large,,Large\n"),
        (
            "q.csv",
            "question,choice1,choice2,choice3,answer\nColour?,red,green,blue,B\nSize?,small,large,,B\n",
        ),
        ("q.csv", "question,options,answer\nColour?,red|green|blue,green\nSize?,small | large,B\n"),
        (
            "q.csv",
            'question,options,answer\nColour?,"[""red"", ""green"", ""blue""]",B\nSize?,small|large,B\n',
        ),
    ],
)
def test_choices_in_every_form(file, name, content):
    found = source(file(name, content))
    items = by_id(found)
    assert items["q/0"].choices == ("red", "green", "blue")
    assert items["q/1"].choices == ("small", "large")
    assert [item.target for item in items.values()] == ["B", "B"]
    assert "A. red\nB. green\nC. blue" in items["q/0"].ask.messages[0].content
    assert found.grader.grade(items["q/1"], Reply("Answer: C")).outcome is Outcome.NO_ANSWER
    assert found.understood[1].startswith("answers: one of 2 to 3 choices from column")


def targets(found):
    return "".join(item.target for _, item in sorted(by_id(found).items()))


def test_numbers_count_when_the_file_makes_their_start_certain(file):
    assert targets(source(file("q.jsonl", numbered(0, 3, 1)))) == "ADB"
    assert targets(source(file("q.jsonl", numbered(1, 4, 2)))) == "ADB"
    assert targets(source(file("q.jsonl", numbered("0", "3")))) == "AD"
    assert targets(source(file("q.jsonl", numbered(0, "B", "z")))) == "ABD"
    # Texts that are numbers: taken as texts where they cannot be places.
    assert targets(source(file("q.jsonl", numbered(20, 30, options=("10", "20", "30", "40"))))) == "BC"
    assert targets(source(file("q.jsonl", numbered(0, 1, options=("5", "6", "7", "8"))))) == "AB"


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        (["spam", "ham"] * 3, "labels"),
        (["spam", "ham", "spam", "ham", "spam"], "text"),  # fewer than three rows a label
        (["spam"] * 5 + ["ham"], "text"),  # a label that comes once
        (["spam"] * 6, "text"),
        ([1, 2] * 3, "text"),
        (["1", "2"] * 3, "text"),
        ([True, False], "labels"),
        ([True, True], "labels"),
        (["a b c", "d"] * 3, "labels"),
        (["a b c d", "e"] * 3, "text"),
        ([str(n) + "x" for n in range(11)] * 3, "text"),
        ([str(n) + "x" for n in range(10)] * 3, "labels"),
        (["Spam", "spam", "ham", "Ham", "ham", "spam"], "labels"),
        ([["spam", "bulk"], "ham"] * 3, "text"),  # an alias that is no label
        ([["spam", "ham"], "ham", "spam"] * 3, "labels"),
    ],
)
def test_the_kind_of_answers_is_seen_in_the_rows(file, answers, kind):
    assert source(file("q.jsonl", answered(*answers))).facts.answer_type == kind


def test_the_kind_can_be_forced(file):
    path = file("q.jsonl", answered("spam", "ham"))
    assert source(path, answer_type="labels").facts.answer_type == "labels"
    assert source(file("r.jsonl", CHOICE_ROWS), answer_type="text").facts.answer_type == "text"
    numbers = source(file("n.jsonl", answered(0, 1)), answer_type="labels")
    assert next(numbers.items()).ask.messages[0].content.endswith("Answer: <0|1>")
    with pytest.raises(DataError, match=r"no column with choices\. Recognised: choices, options; A, B, C"):
        source(path, answer_type="choices")
    with pytest.raises(DataError, match="every row has the answer 'x'; labels need two"):
        source(file("q.jsonl", answered("x", "x")), answer_type="labels")


def test_true_and_false_are_yes_and_no(file):
    found = source(file("q.jsonl", answered(True, True)))
    item = next(found.items())
    assert item.target == "yes"
    assert item.ask.messages[0].content.endswith("Answer: <no|yes>")
    assert found.grader.grade(item, Reply("Answer: true")).outcome is Outcome.CORRECT
    assert found.grader.grade(item, Reply("Answer: not true")).outcome is Outcome.WRONG


def test_two_spellings_are_one_label(file):
    found = source(
        file("q.jsonl", answered("Spam", "spam", "spam", "ham", "ham", "Not-ham")), answer_type="labels"
    )
    assert found.understood[1] == "answers: 3 labels (spam 3, ham 2, Not-ham 1)"
    assert {item.target for item in found.items()} == {"spam", "ham", "Not-ham"}


def test_free_answers_are_drawn_without_favour_for_those_that_return(file):
    """Forty different answers and ten that come twice: a fifth of the rows holds both sorts."""
    answers = [f"single {n}" for n in range(40)] + [f"double {n}" for n in range(10)] * 2
    found = source(file("q.jsonl", answered(*answers)), limit=20)
    doubles = sum(item.target.startswith("double") for item in found.items())
    assert 2 <= doubles <= 13


def test_messages_are_sent_as_they_are(file):
    talk = [{"role": "system", "content": " Be brief. "}, {"role": "user", "content": "Hi\n"}]
    for path in (
        file("q.jsonl", [{"messages": talk, "answer": "x"}]),
        file("q.csv", 'messages,answer\n"' + json.dumps(talk).replace('"', '""') + '",x\n'),
    ):
        found = source(path)
        (item,) = found.items()
        assert [(message.role, message.content) for message in item.ask.messages] == [
            ("system", " Be brief. "),
            ("user", "Hi\n"),
        ]
        assert found.facts.prompts == {"verbatim": "verbatim/1"}


def test_ids(file):
    rows = [{"id": 7, "question": "?", "answer": "x"}, {"id": "b", "question": "?", "answer": "x"}]
    found = source(file("q.jsonl", rows))
    assert set(by_id(found)) == {"q/7", "q/b"}
    assert "ids from column 'id'" in found.understood


def test_columns_that_were_passed_over_are_named(file):
    rows = [{"question": "?", "prompt": "!", "answer": "x", "topic": "y"}]
    assert source(file("q.jsonl", rows)).understood[-2] == (
        "ignored columns: prompt, topic (among them prompt: another column was taken first)"
    )


def test_long_cells(file):
    text = "x" * 200_000
    (item,) = source(file("q.csv", f"question,answer\n{text},y\n")).items()
    assert text in item.ask.messages[0].content


def test_a_real_set_written_as_a_users_file(shared, file):
    lines = (shared / "data/medical/medqa/phrases_no_exclude_test.jsonl").read_text().splitlines()[:50]
    found = source(file("medqa.jsonl", "\n".join(lines)))
    for item, line in zip(sorted(found.items(), key=lambda item: int(item.id[6:])), lines, strict=True):
        assert item.target == json.loads(line)["answer_idx"]
    assert found.understood[1].startswith("answers: one of 4 choices from column 'options' (")


@pytest.mark.parametrize(
    ("question", "ending"),
    [
        ("Which vitamin does a patient with bleeding gums lack, number {}?", "Answer: <letter>"),
        ("철결핍성 빈혈의 가장 흔한 원인은 무엇입니까, {}?", "정답: <letter>"),
        ("缺铁性贫血最常见的原因是什么,{}?", "答案: <letter>"),
        ("鉄欠乏性貧血の最も多い原因は何ですか、{}?", "答え: <letter>"),
        ("Welche Ursache ist bei der Anämie die häufigste, Frage {}?", "Antwort: <letter>"),
        ("Quelle est la cause la plus fréquente de l'anémie dans les pays, {} ?", "Réponse: <letter>"),
        ("¿Cuál es la causa más frecuente de la anemia en los adultos, {}?", "Respuesta: <letter>"),
        ("Какова самая частая причина анемии, {}?", "Ответ: <letter>"),
        ("42 {}?", "Answer: <letter>"),
    ],
)
def test_questions_in_another_language_ask_for_its_own_cue(file, question, ending):
    rows = [{"question": question.format(n), "A": "eins", "B": "zwei", "answer": "A"} for n in range(4)]
    found = source(file("q.jsonl", "\n".join(json.dumps(row) for row in rows)))
    item = next(iter(found.items()))
    assert item.ask.messages[0].content.endswith(ending)
    assert found.grader.grade(item, Reply(f"So.\n{ending.partition(':')[0]}: A")).outcome is Outcome.CORRECT
    assert any("asked for as" in said for said in found.understood) == (not ending.startswith("Answer"))
