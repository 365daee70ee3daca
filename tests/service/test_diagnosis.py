"""What is off with a run, and the cure: on literal replies, and on runs of the simulator's misbehaving models."""

from __future__ import annotations

import json

import pytest

from opened import start
from proctor.grading.formats import Label
from proctor.grading.nearest import nearest
from proctor.grading.vocabulary import vocabulary
from proctor.references import ExamRef
from proctor.service.opening.simulate import known_answers
from proctor.service.results.answer_kinds import Reads
from proctor.service.results.diagnosis import (
    Counts,
    answer_rate,
    counted,
    cures,
    examples,
    in_short,
    much_reasoning,
    one_answer,
    unread,
)
from proctor.simulator import spawn
from proctor.store import AnswerGroup, AttemptRow
from proctor.types import Cell, Chat, Gold, Item, Message, Model, Outcome, Plan, Reply, Sampling
from simulators import settings

pytestmark = pytest.mark.slow

ITEM = Item("t/0", "t", Chat((Message("user", "?"),)), Gold("B"), choices=("north", "south", "east", "west"))
LETTERS = Reads("choices", None)
YES_NO = Reads("labels", vocabulary((Label("yes"), Label("no"))))


def lost(text, *, finish="stop", outcome=None, name="t/0", how=LETTERS, **more):
    outcome = outcome or (Outcome.TRUNCATED if finish == "length" else Outcome.NO_ANSWER)
    return unread(name, outcome, ITEM, Reply(text, finish=finish, **more), how)


def a_row(place, outcome=Outcome.CORRECT, answer="B", target="B", task="t", **more):
    tokens = {"input_tokens": None, "output_tokens": None, "reasoning_tokens": None, **more}
    score = None if outcome in (Outcome.ERROR, Outcome.ANSWERED) else float(outcome is Outcome.CORRECT)
    return AttemptRow(
        item_id=f"{task}/{place}", repeat=0, attempt=0, position=place, task=task, item_hash="h", target=target,
        cluster=None, outcome=outcome, score=score, answer=answer, rung=2, latency_s=None, cost_usd=None,
        retries=0, error_slug=None, at=0.0, **tokens,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "rung", "what"),
    [
        ('{"answer": "E"}', 1, "JSON whose answer names an option outside the four"),
        ('{"answer": "A or B"}', 1, "JSON whose answer names several options"),
        ('{"answer": ["A", "C"]}', 1, "JSON whose answer names several options"),
        ('{"answer": ""}', 1, "JSON whose answer is empty"),
        ('{"other": "B"}', 1, "JSON without an answer key"),
        ('{"why": "because', 1, "broken JSON"),
        ("Answer: E", 2, "an answer line that names an option outside the four"),
        ("Answer: A or B", 2, "an answer line that names several options"),
        ("Answer: who knows", 2, "an answer line that names no option"),
        ("Answer: <letter>", 2, "an answer line that repeats the instruction"),
        ("E", 3, "a whole reply that names an option outside the four"),
        ("In the end, the answer is open to debate.", 4, '"the answer is", which names no option'),
        (
            "There is much to weigh.\nIt is (A) or (C), I think.",
            5,
            "a last sentence that names several options",
        ),
        (
            "Both north and south have been proposed here.",
            6,
            "a last sentence with the texts of several options",
        ),
        ("There is a lot to be said about maps.", None, "no answer line"),
        ("I'm sorry, but I cannot help with this request.", None, "words of refusal"),
        ("<think>north or", None, "reasoning that never ended"),
        ("", None, "an empty reply"),
    ],
)
def test_the_rung_that_came_nearest(text, rung, what):
    near = nearest(ITEM, Reply(text), kind="choices")
    assert near.rung == rung and near.what.startswith(what)


@pytest.mark.parametrize(
    ("text", "kind", "what"),
    [
        ("Answer: yes or no", "labels", "an answer line that names several labels"),
        ("Answer: unclear", "labels", "an answer line that names no label"),
        ("Answer: 7", "number", "an answer line that holds a number outside 0 to 5"),
        ("Answer: 3 or 4", "number", "an answer line that holds several numbers"),
        ("Answer: high", "number", "an answer line that holds no number"),
        ("Answer: A, F", "letters", "an answer line that names an option outside the four"),
        ('{"answer": ""}', "entity", "JSON whose answer is empty"),
        ("x" * 300, "text", "no answer line"),
    ],
)
def test_the_rung_that_came_nearest_for_other_kinds(text, kind, what):
    words = YES_NO.vocabulary if kind == "labels" else None
    assert nearest(ITEM, Reply(text), kind=kind, vocabulary=words).what == what


def test_replies_cut_inside_the_reasoning_have_the_cure_of_the_issue():
    inside = [lost("", finish="length", reasoning="Let me see", reasoning_tokens=512) for _ in range(9)]
    inside += [lost("<think>Let me", finish="length") for _ in range(5)]
    outside = [lost("The map shows", finish="length") for _ in range(6)]
    said = list(cures([*inside, *outside], Sampling(max_tokens=512)))
    assert said == [
        "14 of 20 were cut inside the reasoning at 512 tokens: raise --max-tokens to 8192, or --think off",
        "6 of 20 were cut at 512 tokens before an answer: raise --max-tokens to 2048",
    ]


def test_the_cure_fits_what_was_asked():
    inside = [lost("<think>Let me", finish="length")]
    (large,) = cures(inside, Sampling(max_tokens=8192, think=False))
    assert large == "1 of 1 were cut inside the reasoning at 8192 tokens: raise --max-tokens to 16384"
    (unlimited,) = cures(inside, Sampling(max_tokens=None))
    assert "at the length limit: raise --max-tokens to 8192" in unlimited
    (replayed,) = cures(inside, None)
    assert "where these replies were made" in replayed and "--max-tokens" not in replayed


def test_a_mode_that_is_on_already_is_no_cure():
    assert "--mode" in next(cures([lost("Answer: E")], Sampling()))
    assert "--mode" not in next(cures([lost("Answer: E")], Sampling(mode="structured")))


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([lost("")] * 2, ["2 of 2 were empty", "chat template"]),
        ([lost("", reasoning="hm")], ["said nothing", "--think off"]),
        ([lost("no", outcome=Outcome.REFUSED, name=f"t/{i}") for i in range(7)], ["t/0, t/1", "and 2 more"]),
        ([lost("Sorry, I can't help with that.", name="t/5")], ["declined in words (t/5)"]),
        ([lost('{"why": "because')], ["broken JSON", "--mode structured"]),
        ([lost("Answer: E"), lost("Answer: E"), lost("Hm")], ["outside the four (2); no answer line (1)"]),
    ],
)
def test_each_fault_has_its_cure(members, words):
    (said,) = cures(members, Sampling())
    assert all(word in said for word in words), said


def test_unread_replies_are_quoted_on_one_line_each():
    many = [
        *[lost("Answer: E\n" + "long " * 60)] * 5,
        lost("", name="t/8"),
        lost("Answer: A or B", name="t/9"),
    ]
    shown = examples(many)
    assert [each.item_id for each in shown] == ["t/0", "t/8", "t/9"], "different faults first"
    assert in_short(shown[0]).startswith("t/0 (no answer; nearest: rung 2, an answer line that names")
    assert in_short(shown[0]).endswith('..."') and "\n" not in in_short(shown[0])
    assert len(in_short(shown[0]).partition('"')[2]) == 160 + len('..."')
    deep = lost('{"why": "' + "so " * 80 + '", "answer": "None of them"}')
    assert in_short(deep).startswith(
        "t/0 (no answer; nearest: rung 1, JSON whose answer names no option (None of them)): "
    )
    assert in_short(shown[1]) == 't/8 (no answer; nearest: an empty reply): ""'


def groups(rows):
    """Each row as a group of its own; the database's counting is tested with the store."""
    return [AnswerGroup(r.task, r.target, r.answer, r.outcome, 1, int(r.score is not None)) for r in rows]


def test_the_answer_rate_counts_each_outcome():
    rows = [a_row(i) for i in range(7)]
    rows += [a_row(7, Outcome.NO_ANSWER, None), a_row(8, Outcome.REFUSED, None), a_row(9, Outcome.ANSWERED)]
    rows += [a_row(10, Outcome.ERROR, None)]
    counts = counted(groups(rows), {"t": LETTERS})
    counts.unread = [row for row in rows if row.outcome in (Outcome.NO_ANSWER, Outcome.REFUSED)]
    assert counts.settled == 10
    said = answer_rate(counts)
    assert said == "An answer was read from 8 of 10 replies (0.800); the others: 1 no answer, 1 refused."


def one_sided(times, n, targets, how=YES_NO):
    rows = [a_row(i, answer="yes" if i < times else "no", target=targets[i % len(targets)]) for i in range(n)]
    return list(one_answer(counted(groups(rows), {"t": how}), {"t": "Task"}))


def test_a_model_that_says_one_thing_is_called_out():
    (said,) = one_sided(198, 200, ["yes", "no"])
    assert "answered 'yes' to 198 of 200 items" in said
    assert one_sided(190, 200, ["yes", "no"]) == [], "95 % is not more than 95 %"
    assert one_sided(200, 200, ["yes"]) == [], "then it is right to say it"
    assert one_sided(19, 19, ["yes", "no"]) == [], "too few to tell"
    assert one_sided(40, 40, ["yes", "no"], Reads("text", None)) == []


def test_lettered_tasks_are_looked_at_together():
    rows = [a_row(i, answer="A", target="ABCD"[i % 4], task=f"subject{i % 10}") for i in range(40)]
    known = {f"subject{i}": LETTERS for i in range(10)}
    (said,) = one_answer(counted(groups(rows), known), {})
    assert "answered 'A' to 40 of 40 items," in said


def test_much_reasoning_is_told():
    (said,) = much_reasoning(Counts(reasoning_tokens=8300, output_tokens=10_000, reasoned=20))
    assert said.startswith("Reasoning took 83% of the output tokens (415 of 500 a reply)")
    assert list(much_reasoning(Counts(reasoning_tokens=4900, output_tokens=10_000, reasoned=20))) == []
    assert list(much_reasoning(Counts())) == []


N = 40


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows") / "sums.csv"
    lines = [f"What is {i} plus {i}?,{2 * i},{2 * i + 1},{2 * i + 2},{'AB'[i % 2]}" for i in range(N)]
    path.write_text("\n".join(["question,A,B,C,answer", *lines]) + "\n")
    return path


@pytest.fixture(scope="module")
def server(file, tmp_path_factory):
    with spawn([], known_answers(settings(tmp_path_factory.mktemp("home")), [file])) as running:
        yield running


PLAIN = Sampling()


def notes(file, server, home, name, sampling=PLAIN):
    cell = Cell(Model("openai", name, f"{server.url}/v1"), ExamRef("file", str(file)), sampling)
    ended = start(Plan((cell,)), settings(home))
    (said,) = ended.notes.values()
    return said


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sim-silent", ["from 0 of 40 replies (0.000); the others: 40 no answer.", "40 of 40 were empty"]),
        (
            "sim-unclear",
            ["the others: 40 no answer", "nearest: no answer line", "40 of 40 state no one answer"],
        ),
        ("sim-truncating", ["40 truncated", "40 of 40 were cut at 512 tokens before an answer"]),
        ("sim-refusing", ["40 refused", "40 of 40 were refused (sums/"]),
    ],
)
def test_a_misbehaving_model_is_diagnosed(file, server, tmp_path, name, words):
    said = notes(file, server, tmp_path, name)
    assert all(any(word in line for line in said) for word in words), said
    assert sum(line.startswith("sums/") for line in said) == 3, "three unread replies"


@pytest.mark.parametrize("name", ["sim-perfect", "sim", "sim-wrong"])
def test_nothing_is_said_when_nothing_is_off(file, server, tmp_path, name):
    assert notes(file, server, tmp_path, name) == ()


def test_a_model_cut_while_it_thinks_is_told_to_think_longer_or_not(file, server, tmp_path):
    said = notes(file, server, tmp_path, "sim-thinking", Sampling(max_tokens=10, think=True))
    assert (
        "40 of 40 were cut inside the reasoning at 10 tokens: raise --max-tokens to 8192, or --think off"
        in said
    )
    assert any(
        line.startswith("Reasoning took 100% of the output tokens (10 of 10 a reply)") for line in said
    )


def test_recorded_replies_that_all_say_one_thing_are_called_out(file, tmp_path):
    replies = tmp_path / "replies.jsonl"
    lines = [json.dumps({"outputs": ["Answer: A" if i else "Answer: A or B"]}) for i in range(N)]
    replies.write_text("\n".join(lines))
    cell = Cell(Model("replay", "mine"), ExamRef("file", str(file)))
    ended = start(Plan((cell,), replies=str(replies)), settings(tmp_path))
    rate, example, cure, one_thing = next(iter(ended.notes.values()))
    assert rate == "An answer was read from 39 of 40 replies (0.975); the others: 1 no answer."
    assert example == (
        'sums/0 (no answer; nearest: rung 2, an answer line that names several options): "Answer: A or B"'
    )
    assert cure.startswith("1 of 1 state no one answer: an answer line that names several options (1)")
    assert "--mode" not in cure, "the replies were made elsewhere"
    assert one_thing.startswith("The model answered 'A' to 39 of 40 items, although the right answers differ")
