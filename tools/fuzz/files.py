"""Files that users bring: questions, requests, outputs of batches, official rows, in every form that is taken."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from openpyxl import Workbook

from fuzz.contract import Parser, Read, Room, filed, reads
from proctor.errors import ConfigError, DataError
from proctor.interop.batches.training import completion_of, prompt_of, tools_of
from proctor.references import BatchRef, ExamRef
from proctor.replies.files import open_outputs
from proctor.replies.lines import read_replies
from proctor.service.data.transfer import import_data
from proctor.service.datasets.layout import Layout
from proctor.service.datasets.look import look
from proctor.service.datasets.looked import look_at_requests
from proctor.service.datasets.reading import Reading
from proctor.service.datasets.told_apart import paths_hold_requests
from proctor.settings import read_settings
from proctor.sources.batches.source import open_batch
from proctor.sources.exams.files.questions import open_file
from proctor.sources.exams.rows.normal_form import parse

DATA = Path(__file__).parents[3] / "shared/data"


def head(name: str, lines: int) -> Sequence[bytes]:
    """The first lines of a file of real data, where this machine has it."""
    path = DATA / name
    if not path.is_file():
        return []
    with path.open("rb") as file:
        return [b"".join(islice(file, lines))]


def _joined(*rows: Mapping[str, object]) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in rows)


QUESTIONS: Sequence[Mapping[str, object]] = (
    {"id": "a", "question": "Which way?", "choices": ["north", "south", "east"], "answer": "B"},
    {"id": "b", "question": "Which hill?", "choices": {"A": "first", "B": "second"}, "answer": "A"},
    {"question": "And then?", "choices": '["up", "down"]', "answer": 1, "cluster": "x"},
)
OPEN = (
    {"question": "How far?", "answer": ["3.5 km", "3500 m"], "grader": "number"},
    {"question": "When?", "answer": "2024-05-06", "explanation": "x"},
    {"question": [{"role": "user", "content": "Who?"}], "answer": "Ada"},
)


def questions() -> Sequence[bytes]:
    return [
        _joined(*QUESTIONS),
        _joined(*OPEN),
        json.dumps(QUESTIONS).encode(),
        json.dumps({"data": OPEN}).encode(),
        b'{"question": "x", "answer": true}\n\n{"question": "y", "answer": false}\n',
        *head("open/gsm8k_6b_verification.jsonl", 2),
        *head("open/p-faireval.jsonl", 1),
        *head("medical/medqa/phrases_no_exclude_test.jsonl", 3),
    ]


def tables() -> Sequence[bytes]:
    return [
        b'question,answer,notes\nWhere?,here,x\n"Who, then?","me ""now""",\nWhen?,there,y\n',
        b"question,A,B,C,D,answer\nWhich?,1,2,3,4,B\nWhat?,a,b,c,d,D\n",
        b"question;choice1;choice2;answer\nWhich?;x;y;1\nWhat?;x;y;2\n",
        b"question\tanswer\nWhere?\there\nWho?\tme\n",
        b"\xef\xbb\xbfFrage,Antwort\r\nWo?,hier\r\nWer?,ich\r\n",
        *head("glue/wnli/dev.tsv", 4),
        *head("open/arena_pairs_half0.csv", 2),
    ]


def _sheets() -> Sequence[bytes]:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (("question", "answer"), ("Where?", "here"), ("How far?", 3.5), ("When?", "=1+1")):
        sheet.append(row)
    sheet.merge_cells("A5:B6")
    book.create_sheet("More").append(("question", "answer"))
    into = io.BytesIO()
    book.save(into)
    return [into.getvalue()]


def _sheet_texts() -> Sequence[bytes]:
    """The members of a workbook as JSON, so that what is changed is XML and not what packs it."""
    with zipfile.ZipFile(io.BytesIO(_sheets()[0])) as archive:
        return [json.dumps({name: archive.read(name).decode() for name in archive.namelist()}).encode()]


def packed(body: bytes) -> bytes | None:
    """A zip file of the members that a JSON object tells; None where it tells none."""
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in told.items():
            said = text if isinstance(text, str) else json.dumps(text)
            archive.writestr(zipfile.ZipInfo(name.replace("\0", "0").encode("utf-8", "replace").decode()), said.encode("utf-8", "replace"))  # fmt: skip
    return into.getvalue()


def _parquets() -> Sequence[bytes]:
    from arro3.core import Array, DataType, Table
    from arro3.io import write_parquet

    found = []
    for row in (QUESTIONS[0], OPEN[0]):
        into = io.BytesIO()
        columns: dict[str, Any] = {
            name: Array([str(value)] * 3, type=DataType.string()) for name, value in row.items()
        }
        write_parquet(Table.from_pydict(columns), into)
        found.append(into.getvalue())
    return found


SUITE = b'''[suite]
name = "own"
title = "Own"
aggregate = "macro"

[[tasks]]
key = "mood"
title = "Mood"
file = "moods.csv"
labels = ["glad", { name = "sad", synonyms = ["low"], shown = "Sad" }]
metrics = ["accuracy", "macro_f1"]
prompt = """
A guest writes: {text}
How was the guest?
Answer: <{labels}>"""

[[tasks]]
key = "far"
file = "far.jsonl"
kind = "text"
grader = { name = "number", rel = 0.1 }
extra = true
'''


def _suite(room: Room) -> Read:
    room.file("moods.csv", b"text,answer\nfine,glad\nbad,sad\nso so,low\n")
    room.file("far.jsonl", _joined(*OPEN[:1]))
    return lambda body: _all_items(open_file(ExamRef("file", str(room.file("own.toml", body)))))


def _all_items(source: object) -> object:
    return list(islice(source.items(), 50))  # type: ignore[attr-defined]  # of either kind of source


def _asked(name: str, **more: object) -> Callable[[Room], Read]:
    """Looked at as an upload is, and opened as a run does."""
    layout = Layout(lenient=bool(more.get("lenient")))

    def read(path: Path) -> object:
        found = look(path, layout)
        if found.error is not None:
            raise DataError(found.error)
        return _all_items(open_file(layout.of(ExamRef("file", str(path)))))

    return filed(read, name)


def _sent(name: str, *, lenient: bool = False) -> Callable[[Room], Read]:
    def read(path: Path) -> object:
        paths_hold_requests([path])
        look_at_requests(path, Reading(), named=path.name)
        ref = BatchRef(str(path), lenient=lenient)
        try:
            open_batch(ref, path)
        except ConfigError:  # a table has no prompt unless it is told how to make one
            return None
        return _all_items(open_batch(replace(ref, gold="answer"), path))

    return filed(read, name)


CHAT = {"model": "m", "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "Which?"}], "max_tokens": 9, "temperature": 0.5}  # fmt: skip


def request_lines() -> Sequence[bytes]:
    line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": CHAT, "answer": "B"}
    return [
        _joined(line, {**line, "custom_id": "b", "body": {**CHAT, "n": 2, "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}]}}),
        _joined({"custom_id": "e", "method": "POST", "url": "/v1/embeddings", "body": {"model": "m", "input": ["x", "y"]}}),
        _joined({"custom_id": "r", "method": "POST", "url": "/v1/responses", "body": {"model": "m", "input": [{"role": "user", "content": [{"type": "input_text", "text": "x"}]}]}}),
        _joined({"custom_id": "c", "method": "POST", "url": "/v1/completions", "body": {"model": "m", "prompt": "x"}}),
        _joined({"custom_id": "n", "params": {**CHAT, "max_tokens": 5}}),
        _joined({"key": "g", "request": {"contents": [{"parts": [{"text": "x"}], "role": "user"}], "generationConfig": {}}}),
        _joined({"recordId": "b", "modelInput": CHAT}),
        _joined({"id": "p", "prompt": "Which?", "target": "B"}, {"messages": CHAT["messages"]}),
        *head("openai_batch/groq_example/batch_input.jsonl", 2),
        *head("openai_batch/batchlocallm/synthetic_100.jsonl", 2),
    ]  # fmt: skip


def request_tables() -> Sequence[bytes]:
    return [
        b'custom_id,prompt,model,max_tokens\na,"Which, then?",m,5\nb,Who?,m,6\n',
        b"id,question,system,temperature\n1,Which?,s,0.5\n2,Who?,s,x\n",
    ]


def output_lines() -> Sequence[bytes]:
    return [
        *_openai_outputs(),
        *_other_outputs(),
        *head("openai_batch/groq_example/batch_output.jsonl", 2),
        *head("openai_batch/genai_navirag/batch_output.jsonl", 1),
    ]


def _openai_outputs() -> Sequence[bytes]:
    chat = {"id": "c", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Answer: A"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 4}, "model": "m"}  # fmt: skip
    answer = {"id": "resp", "object": "response", "status": "completed", "output": [{"type": "message", "content": [{"type": "output_text", "text": "A"}]}], "usage": {}}  # fmt: skip
    slow = {"status_code": 429, "body": {"error": {"message": "slow", "code": "x"}}}
    late = {"code": "batch_expired", "message": "late"}
    vector = {"status_code": 200, "body": {"data": [{"embedding": [0.1]}], "object": "list"}}
    replied = {"status_code": 200, "request_id": "r", "body": chat}
    return [
        _joined({"id": "1", "custom_id": "a", "response": replied, "error": None}),
        _joined({"id": "1", "custom_id": "b", "response": slow, "error": None}),
        _joined({"id": "1", "custom_id": "c", "response": None, "error": late}),
        _joined({"custom_id": "f", "response": {"status_code": 200, "body": answer}}),
        _joined({"custom_id": "g", "response": vector}),
    ]


def _other_outputs() -> Sequence[bytes]:
    message = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "A"}], "stop_reason": "end_turn",
               "usage": {"input_tokens": 1, "output_tokens": 2}, "model": "m"}  # fmt: skip
    failed = {"type": "errored", "error": {"type": "error", "error": {"message": "no"}}}
    two = {"outputs": ["A", "B"], "reasoning": "x", "finish_reason": "length", "usage": {"input_tokens": 1}}
    return [
        _joined({"custom_id": "d", "result": {"type": "succeeded", "message": message}}),
        _joined({"custom_id": "e", "result": failed}),
        _joined({"id": "h", **two}),
        _joined({"id": "i", "output": "A"}, {"id": "j", "error": "none came"}, {"text": "B"}),
    ]


def _outputs(path: Path) -> object:
    found = open_outputs([path])
    return [list(islice(found.walk(), 20)), list(islice(found.in_order(), 20)), list(found.found(["a", "?"]))]


def _trained(body: bytes) -> object:
    try:
        told = json.loads(body.split(b"\n")[0])
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or not isinstance(told.get("body"), dict):
        return None
    prompt_of(told["body"])
    tools_of(told["body"])
    return completion_of(told["body"], None)


OFFICIAL: Mapping[str, Sequence[str]] = {
    "anatomy_test.csv": ("mmlu/dev/anatomy_dev.csv",),
    "WNLI/dev.tsv": ("glue/wnli/dev.tsv",),
    "medmcqa/dev.json": ("medical/medmcqa/dev.json",),
    "medqa/test.jsonl": ("medical/medqa/phrases_no_exclude_test.jsonl",),
}
OWN_OFFICIAL: Mapping[str, Sequence[bytes]] = {
    "anatomy_test.csv": [b'"Which bone?",a,b,c,d,B\nWhich nerve?,a,b,c,d,C\n'],
    "WNLI/dev.tsv": [b"index\tsentence1\tsentence2\tlabel\n0\tA b.\tC d.\t1\n1\tE f.\tG h.\t0\n"],
    "BoolQ/val.jsonl": [b'{"question": "is it", "passage": "It is.", "idx": 0, "label": true}\n{"question": "so", "passage": "No.", "idx": 1, "label": false}'],
    "COPA/val.jsonl": [b'{"premise": "p", "choice1": "a", "choice2": "b", "question": "cause", "label": 0, "idx": 0}'],
    "ReCoRD/val.jsonl": [b'{"source": "s", "passage": {"text": "Ada met Bob.", "entities": [{"start": 0, "end": 2}, {"start": 8, "end": 10}]}, "qas": [{"query": "@placeholder ran", "answers": [{"start": 0, "end": 2, "text": "Ada"}], "idx": 0}], "idx": 0}'],
    "MultiRC/val.jsonl": [b'{"idx": 0, "version": 1.1, "passage": {"text": "T.", "questions": [{"question": "q", "answers": [{"text": "a", "idx": 0, "label": 1}], "idx": 0}]}}'],
    "medqa/test.jsonl": [b'{"question": "q", "answer": "b", "options": {"A": "a", "B": "b"}, "meta_info": "step1", "answer_idx": "B"}'],
    "medmcqa/dev.json": [b'{"question": "q", "exp": "e", "cop": 1, "opa": "a", "opb": "b", "opc": "c", "opd": "d", "subject_name": "s", "id": "x", "choice_type": "single"}'],
    "ori_pqal.json": [b'{"1": {"QUESTION": "q", "CONTEXTS": ["c"], "LABELS": ["L"], "final_decision": "yes", "LONG_ANSWER": "l"}}'],
}  # fmt: skip


def _imported(name: str) -> Callable[[Room], Read]:
    def opened(room: Room) -> Read:
        settings = read_settings({"PROCTOR_HOME": str(room.folder / "home")})
        return lambda body: import_data(room.file(f"in/{name}", body), settings)

    return opened


def _official(name: str) -> Callable[[], Sequence[bytes]]:
    return lambda: [
        *OWN_OFFICIAL.get(name, ()),
        *(seed for real in OFFICIAL.get(name, ()) for seed in head(real, 3)),
    ]


def _tars() -> Sequence[bytes]:
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w:gz") as archive:
        for name, texts in OWN_OFFICIAL.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(texts[0])
            archive.addfile(entry, io.BytesIO(texts[0]))
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        entry = tarfile.TarInfo("../BoolQ/val.jsonl")
        entry.size = 3
        archive.addfile(entry, io.BytesIO(b"{}\n"))
    zipped = packed(json.dumps({name: texts[0].decode() for name, texts in OWN_OFFICIAL.items()}).encode())
    return [into.getvalue(), plain.getvalue(), zipped or b""]


def _rows() -> Sequence[bytes]:
    return [
        b'{"id": "x/1", "task": "x", "target": "B", "fields": {"question": "q", "choices": ["a", "b"]}, "aliases": ["C"]}'
    ]


def _xlsx(room: Room) -> Read:
    read = _asked("book.xlsx")(room)

    def packed_first(body: bytes) -> object:
        made = packed(body)
        return None if made is None else read(made)

    return packed_first


PARSERS: Sequence[Parser] = [
    Parser("questions jsonl", questions, _asked("q.jsonl"), "lines"),
    Parser("questions lenient", questions, _asked("q.jsonl", lenient=True), "lines"),
    Parser("questions json", questions, _asked("q.json"), "json"),
    Parser("questions csv", tables, _asked("q.csv")),
    Parser("questions tsv", tables, _asked("q.tsv")),
    Parser("questions text", lambda: [*tables(), *questions()], _asked("q.txt")),
    Parser("questions xlsx", _sheets, _asked("q.xlsx"), "bytes", share=0.2),
    Parser("workbook xml", _sheet_texts, _xlsx, "json", share=0.2),
    Parser("questions parquet", _parquets, _asked("q.parquet"), "bytes", share=0.5, apart=True),
    Parser("suite toml", lambda: [SUITE], _suite, share=0.5),
    Parser("requests jsonl", request_lines, _sent("r.jsonl"), "lines"),
    Parser("requests lenient", request_lines, _sent("r.jsonl", lenient=True), "lines"),
    Parser("requests csv", request_tables, _sent("r.csv")),
    Parser("requests parquet", _parquets, _sent("r.parquet"), "bytes", share=0.5, apart=True),
    Parser("replies", output_lines, filed(read_replies, "replies.jsonl"), "lines"),
    Parser("batch outputs", output_lines, filed(_outputs, "out.jsonl"), "lines"),
    Parser("training examples", request_lines, reads(_trained), "lines", share=0.5),
    *[
        Parser(f"official {name[:14]}", _official(name), _imported(name), "lines", share=0.2)
        for name in OWN_OFFICIAL
    ],
    Parser("official tar", _tars, _imported("sets.tar.gz"), "bytes", share=0.1),
    Parser("official zip", _tars, _imported("sets.zip"), "bytes", share=0.1),
    Parser("rows", _rows, reads(lambda body: parse(body, "rows.jsonl")), "lines"),
]
