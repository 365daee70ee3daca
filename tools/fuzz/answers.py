"""What models and agents say: every way of reading an answer, every grader and comparator, and the logs of agents."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from fuzz.contract import Parser, Read, Room, reads, words
from proctor.engine.agents.readers import LogReading, reader_of
from proctor.engine.agents.shell_reply import read_reply
from proctor.grading.comparators.spans import spans
from proctor.grading.comparators.spec import parse_comparator
from proctor.grading.extractors import EXTRACTORS
from proctor.grading.first_token import by_first_token
from proctor.grading.formats import AnswerFormat, Label
from proctor.grading.nearest import nearest
from proctor.grading.spec import parse_grader
from proctor.grading.vocabulary import vocabulary
from proctor.printable import in_one_line, printable
from proctor.providers.modes import need_ranking
from proctor.service.rollouts.patches import view_of
from proctor.types import Chat, Gold, Item, Message, Reply
from proctor.web.markdown import markdown

CORPUS = Path(__file__).parents[2] / "tests/suites/corpus"
CHAT = Chat((Message("user", "Which one?"),))
KNOWN = vocabulary(
    (Label("entailment", ("yes", "true"), "Yes"), Label("not_entailment", ("no", "false"), "No"))
)
TARGETS: Mapping[AnswerFormat, Gold | None] = {
    "choices": Gold.of("B"),
    "labels": Gold.of("entailment"),
    "text": Gold.of("Marie Curie", ("Curie",)),
    "number": Gold.of("3.5"),
    "letters": Gold.of("A,C"),
    "entity": Gold.of("Marie Curie"),
}
# Each with right answers that it takes.
GRADED: Sequence[tuple[str, tuple[str, ...]]] = (
    ("exact", ("Paris",)),
    ("normalized", ("The Eiffel Tower", "Eiffel")),
    ("contains", ("Paris", "yes", "7", "2024-05-06", "C", "don't know")),
    ("regex", (r"(?:a|b)+c", r"(\d+)\s*km")),
    ("regex:pattern=answer is (\\w+)", ("blue",)),
    ("number", ("1,234.5",)),
    ("number:rel=0.01", ("12 %",)),
    ("number:take=first", ("-3/4",)),
    ("date", ("2024-05-06",)),
    ("date:days=2", ("May 2024",)),
    ("json", ('{"name": "Ada", "born": 1815, "of": [1, {"a": null}]}',)),
    ("choices", ("B",)),
    ("labels", ("yes",)),
    ("none", ("a poem",)),
)
COMPARED = (
    "exact",
    "normalized",
    "json",
    "json:ignore=id,rel=0.01",
    "number",
    "label:pattern=is (\\w+)",
    "label:names=good|bad",
)
LOG_FIELDS = {
    "said": "message.text",
    "ran": "command",
    "output": "out",
    "exit_code": "code",
    "input_tokens": "usage.in",
    "output_tokens": "usage.out",
    "cost_usd": "cost",
    "id": "id",
    "final": "final",
    "error": "error",
}


def replies() -> Sequence[bytes]:
    """The replies of the corpus of answers, and those of open questions."""
    found = [
        json.loads(line)["reply"].encode()
        for file in sorted(CORPUS.glob("*.jsonl"))
        for line in file.read_text("utf-8").splitlines()
    ]
    return [*found[::3], *OPEN]


OPEN_TEXTS = [
    "Answer: Marie Curie",
    "<think>Is it 3.5? No.</think>\n**Answer:** 3.5 km (about 2.2 miles)",
    'The result is {"name": "Ada", "born": 1815, "of": [1, {"a": null}]} as asked.',
    '```json\n{"answer": "B", "why": "since"}\n```',
    "It was on the 6th of May 2024, or 06.05.2024, in 1,234.5 or 1.234,5 or 12 % of cases; 3 1/2; 1.5e6; 5 million.",
    "The answer is not Paris but London. I cannot choose between A, C and D.",
    "正解は B です。答え：三百五十。",
    "Ответ: двадцать пять. Réponse : 3,5",
    "$\\boxed{\\frac{3}{4}}$ and \\boxed{B}",
    "| A | B |\n|---|---|\n| **x** | `y` |\n\n1. one\n2. two\n\n> quoted\n\n<b>bold</b> [link](http://x.y)",
]  # fmt: skip
OPEN: Sequence[bytes] = [each.encode() for each in OPEN_TEXTS]


def _item(gold: Gold | None) -> Item:
    return Item(
        "t/0", "t", CHAT, gold, choices=("Paris", "London", "Rome", "Bonn"), options=("A", "B", "C", "D")
    )


def _extracted(name: str, kind: AnswerFormat) -> Callable[[Room], Read]:
    grade, item = EXTRACTORS[name].grade_reply, _item(TARGETS[kind])
    known = KNOWN if kind == "labels" else None

    def read(text: str) -> object:
        return [
            grade(item, Reply(text, finish=end), kind=kind, vocabulary=known) for end in ("stop", "length")
        ]

    return words(read)


def _graded(name: str, answers: tuple[str, ...]) -> Callable[[Room], Read]:
    grader = parse_grader(name)
    item = _item(Gold.of(answers[0], answers[1:]))
    assert grader.fault(answers) is None, grader.fault(answers)
    return words(lambda text: grader.grade(item, Reply(text)))


def _faults(name: str) -> Callable[[Room], Read]:
    """The right answers are a user's as well."""
    grader = parse_grader(name)

    def read(text: str) -> object:
        answers = tuple(text.split("\n")[:3])
        if grader.fault(answers) is not None:
            return None
        return grader.grade(_item(Gold.of(answers[0], answers[1:])), Reply("Answer: 3.5"))

    return words(read)


def _compared(name: str) -> Callable[[Room], Read]:
    comparator = parse_comparator(name)

    def read(text: str) -> object:
        one, _, two = text.partition("\n")
        return comparator(one, two or one)

    return words(read)


def _schema(text: str) -> object:
    """A schema and the JSON that is held to it, both of a user or a model."""
    schema, _, said = text.partition("\n")
    grader = parse_grader("json:schema=" + schema)
    return grader.grade(_item(Gold.of('{"a": 1}')), Reply(said))


def _near(text: str) -> object:
    return [nearest(_item(gold), Reply(text), kind=kind, vocabulary=KNOWN if kind == "labels" else None) for kind, gold in TARGETS.items()]  # fmt: skip


def _first_tokens(body: bytes) -> object:
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return None
    ranked = tuple(
        (str(each), 0.0 - place) for place, each in enumerate(told if isinstance(told, list) else [told])
    )
    need_ranking(ranked, "here")
    return by_first_token(_item(Gold.of("B")), ranked, None)


def _log(name: str, fields: Mapping[str, str]) -> Callable[[Room], Read]:
    reader = reader_of(name, fields, "one")

    def read(body: bytes) -> object:
        reading = LogReading(reader)
        reading.take(body[: len(body) // 2], 0.0)
        reading.take(body[len(body) // 2 :], 1.0, last=True)
        return reading.heard

    return reads(read)


def _agent_logs() -> Sequence[bytes]:
    own = {"message": {"text": "I look"}, "command": "ls", "out": "a\nb", "code": 0, "usage": {"in": 5, "out": 7}, "cost": 0.1, "id": "1", "final": "done"}  # fmt: skip
    item = {
        "id": "i1",
        "type": "command_execution",
        "command": "ls",
        "aggregated_output": "a",
        "exit_code": 0,
    }
    usage = {"input_tokens": 10, "cached_input_tokens": 3, "output_tokens": 4, "reasoning_output_tokens": 1}
    events: Sequence[Mapping[str, Any]] = (
        {"type": "thread.started", "thread_id": "x"},
        {"type": "item.completed", "item": item},
        {"type": "item.completed", "item": {"id": "i2", "type": "agent_message", "text": "Done."}},
        {"type": "item.completed", "item": {"id": "i3", "type": "reasoning", "text": "Hm."}},
        {
            "type": "item.completed",
            "item": {"id": "i4", "type": "file_change", "changes": [{"path": "a", "kind": "add"}]},
        },
        {"type": "turn.completed", "usage": usage},
        {"type": "turn.failed", "error": {"message": "no"}},
        {"type": "error", "message": "no"},
    )
    codex = b"\n".join(json.dumps(each).encode() for each in events)
    return [json.dumps(own).encode(), codex, b"warning: x\n" + codex, codex.replace(b"item.", b"item.x")]


def patches() -> Sequence[bytes]:
    return [
        b"diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,4 @@ def x\n a\n-b\n+c\n+d\n e\n",
        b"diff --git a/n b/n\nnew file mode 100755\nindex 0000000..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n",
        b"diff --git a/o b/p\nsimilarity index 90%\nrename from o\nrename to p\n",
        b'diff --git "a/\\303\\244" "b/\\303\\244"\ndeleted file mode 100644\n--- "a/\\303\\244"\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n',
        b"diff --git a/i b/i\nindex 1..2\nGIT binary patch\nliteral 3\nKcmZ\n\nliteral 0\nHcmV\n\nBinary files a/j and b/j differ\n",
    ]


def _shells() -> Sequence[bytes]:
    return [
        b"I look.\n```sh\nls -l\n```\n",
        b"All is well.\n\nDONE",
        b"<think>a</think>```bash\ncat <<E\n```\nE\n```\n",
        b"~~~\nx\n~~~",
    ]


def _pairs() -> Sequence[bytes]:
    return [first + b"\n" + second for first, second in zip(OPEN, [*OPEN[1:], OPEN[0]], strict=True)] + [
        b'{"id": 1, "a": [1, 2, {"b": 0.1}]}\n{"id": 2, "a": [1, 2, {"b": 0.1001}]}',
        b"good\nbad",
        b"12.5 km\n12,5 km",
    ]


def _schemas() -> Sequence[bytes]:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"$ref": "#/$defs/b"}}, "required": ["a"],
              "$defs": {"b": {"type": "string", "pattern": "^a+$", "format": "date"}}}  # fmt: skip
    return [
        json.dumps(schema).encode() + b'\n{"a": 1, "b": "aaa"}',
        b'{"$ref": "http://127.0.0.1:9/x"}\n{"a": 1}',
    ]


def _right_answers() -> Sequence[bytes]:
    return [b"\n".join(answer.encode() for answer in answers) for _, answers in GRADED]


def _extractors() -> Sequence[Parser]:
    kinds: Sequence[AnswerFormat] = get_args(AnswerFormat)
    return [
        Parser(f"{name} {kind}", replies, _extracted(name, kind), share=3.0 if name == "proctor/2" else 1.0)
        for name, each in EXTRACTORS.items()
        for kind in kinds
        if kind in each.kinds
    ]


PARSERS: Sequence[Parser] = [
    *_extractors(),
    *[Parser(f"grader {name[:17]}", replies, _graded(name, answers), share=2.0) for name, answers in GRADED],
    *[
        Parser(f"answers {name}", _right_answers, _faults(name))
        for name in ("regex", "number", "date", "json", "contains")
    ],
    *[Parser(f"compare {name[:16]}", _pairs, _compared(name)) for name in COMPARED],
    Parser("json schema", _schemas, words(_schema)),
    Parser("nearest", replies, words(_near), share=0.5),
    Parser("first token", lambda: [b'["A", " B", "\\u0120C", "The"]'], reads(_first_tokens), "json"),
    Parser("spans", _pairs, words(lambda text: spans(*(text + "\n").split("\n", 1))), share=0.5),
    Parser("markdown", lambda: OPEN, words(markdown), share=0.5),
    Parser("printable", lambda: OPEN, words(lambda text: (printable(text), in_one_line(text)))),
    Parser("shell reply", _shells, words(read_reply)),
    Parser("agent log jsonl", _agent_logs, _log("jsonl", LOG_FIELDS), "lines"),
    Parser("agent log codex", _agent_logs, _log("codex", {}), "lines"),
    Parser("patch view", patches, words(view_of)),
]
