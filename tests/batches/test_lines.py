"""Lines of requests: every way of writing them means the same, and what is sent are the bytes that were written."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from lines_made import CHAT, line, opened, real_inputs, write

from proctor.errors import ConfigError, DataError
from proctor.sources.batches import raw
from proctor.types import Request

MESSAGES = '[{"role": "user", "content": "hello"}]'
BODY = '{"model": "m", "messages": ' + MESSAGES + "}"


def written(text: str) -> bytes:
    """With a whole body, or whole messages, where the text has these words."""
    return text.replace("<body>", BODY).replace("<messages>", MESSAGES).encode()


@pytest.mark.parametrize(
    ("text", "custom_id", "url", "body"),
    [
        (
            '{"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": <body>}',
            "a",
            CHAT,
            BODY,
        ),
        ('{"custom_id": "a", "url": "/chat/completions", "body": <body>}', "a", CHAT, BODY),
        ('{"body": <body>, "custom_id": "a"}', "a", CHAT, BODY),
        (
            '{"custom_id": "a", "body": {"model": "m", "prompt": "hi"}}',
            "a",
            "/v1/completions",
            '{"model": "m", "prompt": "hi"}',
        ),
        (
            '{"custom_id": "a", "body": {"input": "hi", "instructions": "x"}}',
            "a",
            "/v1/responses",
            '{"input": "hi", "instructions": "x"}',
        ),
        (
            '{"custom_id": "a", "body": {"input": "hi", "dimensions": 8}}',
            "a",
            "/v1/embeddings",
            '{"input": "hi", "dimensions": 8}',
        ),
        (
            '{"custom_id": "a", "url": "/v1/embeddings", "body": {"input": ["x", "y"]}}',
            "a",
            "/v1/embeddings",
            '{"input": ["x", "y"]}',
        ),
        ('{"custom_id": "a", "params": <body>}', "a", CHAT, BODY),
        ('{"custom_id": "a", "request": <body>}', "a", CHAT, BODY),
        ('{"key": "a", "request": <body>}', "a", CHAT, BODY),
        (BODY, "line-1", CHAT, BODY),
        ('{"prompt": "hi"}', "line-1", "/v1/completions", '{"prompt": "hi"}'),
        ('{"custom_id": "a", "messages": <messages>}', "a", CHAT, '{"messages": <messages>}'),
        ('{"custom_id": "body", "body": <body>}', "body", CHAT, BODY),
        (
            r'{"custom_id": "{\"body\": {}}", "metadata": {"body": {}}, "body": <body>}',
            '{"body": {}}',
            CHAT,
            BODY,
        ),
    ],
)
def test_every_dialect_is_read_as_the_same_request(
    tmp_path: Path, text: str, custom_id: str, url: str, body: str
) -> None:
    (item,) = opened(write(tmp_path / "in.jsonl", [written(text)])).items()
    assert isinstance(item.ask, Request)
    assert (item.id, item.ask.url, item.ask.body) == (custom_id, url, written(body))


def test_a_request_has_one_hash_in_every_dialect_and_for_every_model(tmp_path: Path) -> None:
    texts = [
        '{"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": <body>}',
        '{"custom_id": "2", "body": {"messages": <messages>, "model": "another"}}',
        '{"custom_id": "3", "params": {"messages":<messages>}}',
        BODY,
    ]
    items = list(opened(write(tmp_path / "in.jsonl", [written(text) for text in texts])).items())
    assert len({item.hash for item in items}) == 1
    assert len({item.id for item in items}) == 4


def test_anthropics_system_and_stops_are_said_as_the_endpoint_has_them(tmp_path: Path) -> None:
    params = {
        "model": "c",
        "max_tokens": 9,
        "system": "Be brief",
        "stop_sequences": ["END"],
        **line()["body"],
    }
    (item,) = opened(write(tmp_path / "in.jsonl", [{"custom_id": "a", "params": params}])).items()
    assert isinstance(item.ask, Request)
    sent = json.loads(item.ask.body)
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert sent["stop"] == ["END"]
    assert sent.keys() == {"model", "max_tokens", "messages", "stop"}


@pytest.mark.parametrize(
    "body",
    [
        '{"messages": <messages>, "seed": 123456789012345678901234567890}',
        '{"messages": <messages>, "temperature": 1.10, "top_p": 1e0}',
        '{"messages": [{"role": "user", "content": "\\ud83d half a pair"}]}',
        '{"messages": <messages>, "seed": 1, "seed": 2}',
        '{"messages":<messages> ,\t"logit_bias" : { "1":-1e400 } }',
        '{"messages": [{"role": "user", "content": "{\\"body\\": {}} \\u0000 \u00e9\u4e2d"}]}',
    ],
)
@pytest.mark.parametrize("text", ['{"custom_id": "a", "body": ?}', '{"body": ?, "custom_id": "a"}', "?"])
def test_the_bytes_of_a_body_are_sent_as_they_were_written(tmp_path: Path, body: str, text: str) -> None:
    (item,) = opened(write(tmp_path / "in.jsonl", [written(text.replace("?", body))])).items()
    assert isinstance(item.ask, Request)
    assert item.ask.body == written(body)


def test_bodies_that_differ_in_a_long_number_alone_are_not_taken_for_the_same(tmp_path: Path) -> None:
    texts = [{"custom_id": str(n), "body": {**line()["body"], "seed": 10**30 + n}} for n in range(2)]
    one, other = opened(write(tmp_path / "in.jsonl", texts)).items()
    assert one.hash != other.hash


def test_real_files_are_sent_byte_for_byte() -> None:
    for path in real_inputs():
        written = [text for text in path.read_bytes().splitlines() if text.strip()]
        items = list(opened(path).items())
        assert len(items) == len(written), path
        for text, item in zip(written, items, strict=True):
            assert isinstance(item.ask, Request)
            told = json.loads(text)
            assert item.ask.body in text
            assert (item.id, item.ask.url, json.loads(item.ask.body)) == (
                told["custom_id"],
                told["url"],
                told["body"],
            )


def test_members_are_cut_out_of_a_text_without_touching_the_rest() -> None:
    rng = random.Random(7)
    odd = [
        "1e400",
        "-0.0",
        "123456789012345678901",
        '"a\\"},{[\\\\"',
        "[ ]",
        "{ }",
        "null",
        '{"a": [1, {"b": "}"}]}',
    ]
    for _ in range(300):
        keys = rng.sample(["a", "b\\n", "custom_id", "\\u0061b", ""], k=4)
        space = rng.choice(["", " ", " \t "])
        members = [f'"{key}"{space}:{space}{rng.choice(odd)}' for key in keys]
        gone = rng.randrange(4)
        name = json.loads(f'"{keys[gone]}"')
        text = "{" + f"{space},{space}".join(members) + space + "}"
        kept = raw.without(text, [name])
        assert all((member in kept) == (place != gone) for place, member in enumerate(members)), (text, kept)
        assert json.loads(kept) == {key: value for key, value in json.loads(text).items() if key != name}
        assert raw.value_of(text, name) == members[gone].split(":", 1)[1].strip()


def test_fields_fill_what_a_line_lacks_and_leave_what_it_says(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [line("a", max_tokens=5), line("b")])
    bodies = [
        json.loads(item.ask.body) for item in opened(path, fields=("max_tokens=200", "stop=END")).items()
    ]
    assert [(body["max_tokens"], body["stop"]) for body in bodies] == [(5, "END"), (200, "END")]


def test_lines_without_a_url_go_where_the_run_says(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [{"custom_id": "a", "body": {"input": "x"}}])
    (item,) = opened(path, endpoint="/v1/embeddings").items()
    assert isinstance(item.ask, Request)
    assert item.ask.url == "/v1/embeddings"
    with pytest.raises(DataError, match="missing required 'url'"):
        opened(path)
    with pytest.raises(ConfigError, match="No endpoint '/v1/files'"):
        opened(path, endpoint="/v1/files")


@pytest.mark.parametrize(
    ("candidate", "about"),
    [
        (r"^(\w+)-\d+$", ["ann", "ann", "bob"]),
        ("$.metadata.name", ["Ann", None, "Bob"]),
        ("$.messages[0].role", ["user"] * 3),
    ],
)
def test_requests_on_one_candidate_hang_together(
    tmp_path: Path, candidate: str, about: list[str | None]
) -> None:
    lines = [line("ann-1", metadata={"name": "Ann"}), line("ann-2"), line("bob-1", metadata={"name": "Bob"})]
    path = write(tmp_path / "in.jsonl", lines)
    assert [item.cluster for item in opened(path, candidate=candidate).items()] == about


@pytest.mark.parametrize("candidate", ["(a)(b)", "no group", "(", "$.", "$..a"])
def test_a_candidate_that_names_nothing_is_refused(tmp_path: Path, candidate: str) -> None:
    path = write(tmp_path / "in.jsonl", [line()])
    with pytest.raises(ConfigError):
        opened(path, candidate=candidate)
