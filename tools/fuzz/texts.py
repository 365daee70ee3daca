"""What people and programs write into addresses, forms, bodies, options and the environment, and what is kept as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlencode

import orjson
from pydantic import ValidationError
from starlette.datastructures import FormData

from fuzz.contract import REFUSALS, Parser, Read, Room, reads, words
from fuzz.logs import bundle_members
from proctor.api.control_characters import check_body, check_head
from proctor.grading.comparators.spec import parse_comparator
from proctor.grading.spec import parse_grader
from proctor.manifest_json import manifest_from
from proctor.plan.codec import cell_from_json
from proctor.plan.names import need_name, parse_model
from proctor.plan.values import parse_duration
from proctor.plan.wanted import OPTIONS
from proctor.providers import PROVIDERS
from proctor.providers.wire.reach import is_public, need_public_literal
from proctor.service.batches.find.filters import RowFilter
from proctor.service.datasets.names import checked_name, plain_name
from proctor.service.datasets.reading import reading_of
from proctor.service.rollouts.starting import RolloutsRequest
from proctor.service.runs.requests import PlanRequest, RunRequest, plan_of, wanted_by
from proctor.service.runs.schedules import next_time
from proctor.settings import read_settings
from proctor.settings.variables import SETTINGS
from proctor.sources.batches.paths import steps_of, value_at
from proctor.sources.exams.files.columns import parse_chosen
from proctor.web.starting.forms import escaped, filled, unescaped

JOB = {
    "project_id": 1,
    "suite": "glue",
    "priority": "high",
    "config": {
        "provider": "ollama",
        "model": "mistral:latest",
        "preset": "quick",
        "temperature": 0.1,
        "max_tokens": 100,
        "timeout": "10m",
        "tasks": ["cola"],
        "stop": ["x"],
        "ollama_params": {"temperature": 0.1, "top_p": 0.5, "num_ctx": 4096},
        "base_url": "http://127.0.0.1:9/v1",
        "grader": "number:rel=0.01",
        "max_cost_usd": 5,
        "seed": 7,
    },
}
ROLLOUTS = {
    "name": "b",
    "project_id": 1,
    "tasks": [
        {
            "prepared_dir": "t",
            "model": "ollama/m",
            "agent": "shell",
            "rollouts": 2,
            "environment_variables": {"A": "b"},
        }
    ],
    "limits": {"agent_s": 5, "memory_mb": 512},
    "parallel": 2,
}
CRONS = [
    b"0 2 * * *",
    b"*/5 0-6,12 1,15 JAN-JUN mon-fri",
    b"@daily",
    b"0 0 29 2 *",
    b"59 23 31 12 7",
    b"0 0 L * *",
    b"0 0 * * 5#3",
    b"? ? * * *",
]
FILTERS = [
    urlencode({"text": "so", "status": "failed", "finish": "stop", "label": "good", "order": "latency", "descending": "true"}),
    urlencode({"custom_id": "a", "candidate": "x", "candidate_by": "(\\w+)-\\d", "input_tokens_min": "5", "latency_max": "1.5"}),
    urlencode({"candidate_by": "$.metadata.name", "prefix": "a", "tag": "t", "status": "429", "output_tokens_max": "1e3"}),
]  # fmt: skip
NAMES = [
    b"ollama/qwen3:8b",
    b"openai/gpt-x",
    b"qwen3",
    b"../../etc/passwd",
    b"C:\\x\\y.csv",
    b"glue",
    b"\xd9\xa3",
    b"replay/x",
    b"a b",
]
GRADERS = [
    b"number:rel=0.01,take=first",
    b"json:schema=@file.json",
    b"regex:pattern=(\\d+)",
    b"date:order=dmy,days=2",
    b"contains",
    b"json:fields=a|b",
]
COMPARATORS = [
    b"json:ignore=id,rel=0.01",
    b"label:names=A|B",
    b"label:pattern=(x)",
    b"number:rel=0.1",
    b"contains",
    b"json:near=a[0]:0.1",
]
COLUMNS = [b"question=Frage", b"answer=Antwort\nid=Nr", b"choices=A,B,C", b"x"]
PATHS = [b"answer", b"$.input[0].text", b"metadata.name", b"$['a b'][1]", b"a[99999999999999999999]", b"$"]
ADDRESSES = [
    b"127.0.0.1",
    b"::ffff:10.0.0.1",
    b"2130706433",
    b"0x7f.1",
    b"[::1]",
    b"8.8.8.8",
    b"fe80::1%eth0",
    b"example.org",
    b"64:ff9b::a00:1",
]
URLS = [
    b"http://127.0.0.1:8000/v1",
    b"https://a.b/c?d=e#f",
    b"http://u:p@h/",
    b"http://[::1]:80/v1",
    b"http://a:99999/",
]
DURATIONS = [b"90s", b"10m", b"1.5h", b"1h30m", b"3", b"0.5s", b"2d"]
ENVIRON = [b"PROCTOR_MOST_RUNNING=3\nPROCTOR_JOB_TIMEOUT=3h\nPROCTOR_HOSTS=a.b,[::1]\nOLLAMA_HOST=[::1]:5\nPROCTOR_BATCH_WINDOWS=24h,1h\nPROCTOR_AUTH=keys\nXAI_BASE_URL=http://h/v1"]  # fmt: skip
KEYS_ENV = [b"# keys\nOPENAI_API_KEY=sk-x\nANTHROPIC_API_KEY='y'\n\nGROK_API_KEY=\"z\"\n"]
HEADS = [b"/api/v1/jobs/%00\nq=%41+b&c=%C3%A4\nX-A: b\nCookie: c=d", b"/a\n\nHost: x"]
BODIES = [
    b'{"a": ["b", {"c": "d\\u0001"}]}',
    b"a=b%00&c=d",
    b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n--x--",
]


def _form(text: str) -> object:
    found = filled(FormData(dict(parse_qsl(text, keep_blank_values=True))))
    return None if found.request is None else wanted_by(found.request)


def _forms() -> Sequence[bytes]:
    told = {"provider": "ollama", "model": "m", "suite": "glue", "limit": "5", "temperature": "0.5", "project": "1", "tasks": "cola",
            "custom": '{"top_p": 0.5}', "stop": "a\\nb"}  # fmt: skip
    return [urlencode(told).encode(), urlencode({**told, "custom": "[1"}).encode()]


def _job(room: Room) -> Read:
    settings = read_settings({"PROCTOR_HOME": str(room.folder)})

    def read(body: bytes) -> object:
        request = RunRequest.model_validate_json(body)
        return plan_of(request, settings)

    return read


def _environment(room: Room) -> Read:
    def read(body: bytes) -> object:
        pairs = (line.partition("=") for line in body.decode("utf-8", "replace").split("\n"))
        return read_settings({"PROCTOR_HOME": str(room.folder), **{name: value for name, _, value in pairs}})

    return read


def _keys_env(room: Room) -> Read:
    def read(body: bytes) -> object:
        room.file("keys.env", body)
        return read_settings({"PROCTOR_HOME": str(room.folder)})

    return read


def _each_setting() -> Sequence[bytes]:
    return [*ENVIRON, *(f"{each.name}=5".encode() for each in SETTINGS)]


def _option(text: str) -> object:
    """A value for every option of a run, as its form or a body gives it."""
    for option in OPTIONS:
        try:
            value = option.kind.read(text)
        except REFUSALS:
            continue
        if value is not None:
            option.kind.fault(value)
    return None


def _option_values() -> Sequence[bytes]:
    return [b"5", b"0.5", b"10m", b"true", b"a,b", b"generate", b"1e400", b"nan", b"-1", b"2/3", b"\xd9\xa3"]


def _path(text: str) -> object:
    return value_at(
        {"input": [{"text": "x"}], "metadata": {"name": [1]}, "answer": "B"}, steps_of(text, "here")
    )


def _head(text: str) -> None:
    path, _, rest = text.partition("\n")
    query, *lines = rest.split("\n")
    headers = [tuple(part.encode() for part in line.split(":", 1)) for line in lines if ":" in line]
    check_head({"path": path, "query_string": query.encode(), "headers": headers})


def _any_body(body: bytes) -> None:
    for kind in ("application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        check_body(kind, body)


def _of_bundle(part: str) -> Callable[[], Sequence[bytes]]:
    """A part of a run as bundles keep it."""

    def made() -> Sequence[bytes]:
        for name, text in bundle_members().items():
            if name.endswith("manifest.json"):
                return [json.dumps(json.loads(text)["run"][part]).encode()]
        return []

    return made


def _manifest(body: bytes) -> object:
    return manifest_from(orjson.loads(body))


def _address(text: str) -> object:
    need_public_literal(text)
    try:
        ip_address(text)
    except ValueError:
        return None
    return is_public(text)


def _schemas(model: type[RunRequest]) -> Callable[[Room], Read]:
    return reads(model.model_validate_json)


def _query(text: str) -> object:
    told: Mapping[str, str] = dict(parse_qsl(text, keep_blank_values=True))
    found = RowFilter.of(told)
    assert RowFilter.of(found.words) == found
    return found


BODY = (*REFUSALS, ValidationError)
KEPT = (*REFUSALS, orjson.JSONDecodeError)
PARSERS: Sequence[Parser] = [
    Parser("cron", lambda: CRONS, words(lambda text: next_time(text, 1.7e9)), share=0.3),
    Parser("job", lambda: [json.dumps(JOB).encode()], _job, "json", foreseen=BODY),
    Parser("plan body", lambda: [json.dumps({**JOB, "difference": 0.1}).encode()], _schemas(PlanRequest), "json", foreseen=BODY),
    Parser("rollouts body", lambda: [json.dumps(ROLLOUTS).encode()], reads(RolloutsRequest.model_validate_json), "json", foreseen=BODY),
    Parser("form", _forms, words(_form)),
    Parser("row filter", lambda: [text.encode() for text in FILTERS], words(_query)),
    Parser("model name", lambda: NAMES, words(lambda text: parse_model(text, tuple(PROVIDERS), base_url="http://h/v1"))),
    Parser("base url", lambda: URLS, words(lambda text: parse_model("openai/m", tuple(PROVIDERS), base_url=text))),
    Parser("names", lambda: NAMES, words(lambda text: need_name("name", text))),
    Parser("file name", lambda: NAMES, words(plain_name)),
    Parser("data set name", lambda: NAMES, words(checked_name)),
    Parser("grader words", lambda: GRADERS, words(parse_grader)),
    Parser("comparator words", lambda: COMPARATORS, words(parse_comparator)),
    Parser("columns", lambda: COLUMNS, words(lambda text: parse_chosen(text.split("\n")))),
    Parser("paths in lines", lambda: PATHS, words(_path)),
    Parser("addresses", lambda: ADDRESSES, words(_address)),
    Parser("durations", lambda: DURATIONS, words(parse_duration)),
    Parser("options", _option_values, words(_option), share=0.5),
    Parser("environment", _each_setting, _environment),
    Parser("keys.env", lambda: KEYS_ENV, _keys_env),
    Parser("escapes", lambda: [b"a\\nb\\\\", b"\\", b"\\x"], words(lambda text: escaped(unescaped(text)))),
    Parser("head of a request", lambda: HEADS, words(_head)),
    Parser("control characters", lambda: BODIES, reads(_any_body)),
    Parser("reading", lambda: [b'{"endpoint": "/v1/chat/completions", "columns": "a=b", "template": "{x}"}'], words(lambda text: reading_of(dict(parse_qsl(text)))), "text"),
    Parser("cell", _of_bundle("cell"), words(cell_from_json), "json", foreseen=(*KEPT, ValueError, KeyError, TypeError, AttributeError, RecursionError)),
    Parser("manifest", _of_bundle("manifest"), reads(_manifest), "json", foreseen=KEPT),
]  # fmt: skip
