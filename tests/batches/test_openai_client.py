"""The official client of OpenAI's API against a live server: files and batches from end to end, however they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai
import psutil
import pytest
from model_server import Models, model_server
from openai import OpenAI
from openai.types import Batch

from proctor.service.admin import access
from proctor.service.context import open_context
from programs import HANG_S, started
from served import serving
from simulators import settings

pytestmark = pytest.mark.slow  # a server, workers and whole runs in processes of their own
CHAT = "/v1/chat/completions"
EMBEDDING = {
    "custom_id": "c",
    "method": "POST",
    "url": "/v1/embeddings",
    "body": {"model": "small", "input": "x"},
}
ENDED = ("completed", "failed", "expired", "cancelled")
REAL = (
    "batchlocallm/batch_input.jsonl",
    "batchlocallm/demo_batch_10.jsonl",
    "batchlocallm/synthetic_100.jsonl",
)
REAL += ("genai_navirag/batch_input.jsonl", "groq_example/batch_input.jsonl")


@dataclass
class House:
    """A server that wants keys, a worker beside it, and a model server; `client` has a key of project 1."""

    url: str
    home: Path
    models: Models
    client: OpenAI
    stranger: OpenAI  # a key of project 2
    workers: list[subprocess.Popen[str]] = field(default_factory=list)

    def work(self) -> subprocess.Popen[str]:
        words = ["worker", "--lease", "2"]
        environ = {"OPENAI_BASE_URL": self.models.url, "PROCTOR_MOST_RUNNING": "6"}
        worker = started(self.home, words, PROCTOR_FIRST_RETRY="0.2s", **environ)
        threading.Thread(target=worker.communicate, daemon=True).start()  # a full pipe would stop it
        self.workers.append(worker)
        return worker

    def upload(self, lines: Sequence[bytes], name: str = "in.jsonl") -> str:
        return self.client.files.create(file=(name, b"\n".join(lines) + b"\n"), purpose="batch").id

    def batch(self, lines: Sequence[bytes], window: Any = "24h") -> Batch:
        file = self.upload(lines)
        return self.client.batches.create(
            input_file_id=file, endpoint=CHAT, completion_window=window, metadata={"of": "a test"}
        )

    def until(self, batch: Batch, there: Callable[[Batch], object]) -> Batch:
        deadline = time.monotonic() + HANG_S
        while not there(found := self.client.batches.retrieve(batch.id)):
            assert time.monotonic() < deadline, found
            time.sleep(0.05)
        return found

    def ended(self, batch: Batch) -> Batch:
        return self.until(batch, lambda found: found.status in ENDED)

    def lines(self, file_id: str | None) -> list[dict[str, Any]]:
        """The lines of an output file; its object tells its size."""
        if file_id is None:
            return []
        content = self.client.files.content(file_id).read()
        of = self.client.files.retrieve(file_id)
        assert (of.bytes, of.purpose, content[-1:]) == (len(content), "batch_output", b"\n")
        return [json.loads(line) for line in content.splitlines()]


def line(custom_id: str, prompt: str, model: str = "small", **more: Any) -> bytes:
    body = {"model": model, "messages": [{"role": "user", "content": prompt}]}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": CHAT, "body": body, **more}).encode()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    home = tmp_path_factory.mktemp("home")
    with ExitStack() as ending:
        models = ending.enter_context(model_server("small", "meta-llama/Llama-3.1-8B-Instruct"))
        environ = {"PROCTOR_AUTH": "keys", "OPENAI_BASE_URL": models.url, "OLLAMA_HOST": "127.0.0.1:9"}
        environ |= {"PROCTOR_REQUESTS_PER_MINUTE": "100000", "PROCTOR_BATCH_WINDOWS": "24h,2s"}
        environ |= {
            "PROCTOR_MOST_RUNNING": "6",
            "PROCTOR_BATCH_MB": "1",
            "PROCTOR_BATCH_REQUESTS": "200",
            "PROCTOR_MOST_QUEUED": "100",
        }
        with open_context(settings(home)) as context:
            access.create_project(context, "other", by="ann")
            ann, eve = (
                access.create_key(context, user, "k", ["run"], by="x", projects=projects)[1]
                for user, projects in (("ann", [1]), ("eve", [2]))
            )
        server = ending.enter_context(serving(home, "--no-worker", **environ))
        clients = [
            ending.enter_context(OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0))
            for key in (ann, eve)
        ]
        made = House(server.url, home, models, *clients)
        ending.callback(lambda: [ended(worker) for worker in made.workers])
        made.work()
        yield made


def ended(worker: subprocess.Popen[str]) -> None:
    worker.terminate()
    worker.wait(HANG_S)


def test_a_batch_is_run_and_its_files_tell_what_became_of_each_request(house: House) -> None:
    batch = house.batch([line("a", "one"), line("b", "odd one"), line("c", "two")])
    assert (batch.status, batch.object, batch.metadata) == ("validating", "batch", {"of": "a test"})
    done = house.ended(batch)
    assert (done.status, done.model, done.errors) == ("completed", "openai/small", None)
    assert done.request_counts is not None
    assert done.request_counts.model_dump() == {"total": 3, "completed": 2, "failed": 1}
    times = (done.created_at, done.in_progress_at, done.finalizing_at, done.completed_at, done.expires_at)
    assert all(times) and list(times) == sorted(times) and done.expires_at == done.created_at + 86_400
    assert done.usage is not None and done.usage.total_tokens == 24
    assert done.usage.input_tokens_details.cached_tokens == 8
    assert done.usage.output_tokens_details.reasoning_tokens == 4
    answers, (refused,) = house.lines(done.output_file_id), house.lines(done.error_file_id)
    assert {each["custom_id"] for each in answers} == {"a", "c"}
    assert answers[0].keys() == {"id", "custom_id", "response", "error"} and answers[0]["error"] is None
    assert answers[0]["response"].keys() == {"status_code", "request_id", "body"}
    assert (refused["custom_id"], refused["error"]) == ("b", None)
    assert refused["response"]["status_code"] == 400
    assert refused["response"]["body"]["error"]["code"] == "odd"


def test_a_batch_of_which_every_request_was_refused_is_completed_without_an_output_file(house: House) -> None:
    done = house.ended(house.batch([line("a", "odd"), line("b", "odd too")]))
    assert (done.status, done.output_file_id) == ("completed", None)
    assert done.request_counts is not None and done.request_counts.failed == 2
    assert len(house.lines(done.error_file_id)) == 2


@pytest.mark.promise("B-23")
def test_a_file_with_faults_fails_and_each_is_named_by_line(house: House) -> None:
    lines = [line("a", "x"), b"{no json", line("a", "y"), line("b", "z", model="large")]
    lines += [json.dumps(EMBEDDING).encode(), b'{"custom_id": "d", "method": "POST", "url": "/v1/x"}']
    done = house.ended(house.batch(lines))
    assert (done.status, done.output_file_id, done.error_file_id) == ("failed", None, None)
    assert done.failed_at and done.errors is not None and done.errors.data
    found = {(each.line, each.code) for each in done.errors.data}
    expected = {(2, "invalid_json_line"), (3, "duplicate_custom_id"), (4, "mismatched_model")}
    assert expected | {(5, "invalid_url"), (6, "missing_required_parameter")} <= found
    assert all(each.message for each in done.errors.data)


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ([line("a", "x", model="nobodys/model")], "model_not_found"),
        ([line("a", "x", model="baseline/majority")], "model_not_found"),
        ([line(str(n), "x") for n in range(201)], "too_many_tasks"),
        ([b"", b" "], "empty_file"),
    ],
)
def test_a_file_that_cannot_be_a_batch_fails_with_the_reason(
    house: House, lines: list[bytes], code: str
) -> None:
    done = house.ended(house.batch(lines))
    assert done.errors is not None and done.errors.data
    assert (done.status, done.errors.data[0].code) == ("failed", code), done.errors


def test_a_cancelled_batch_keeps_what_was_answered_and_tells_of_the_rest(house: House) -> None:
    house.models.hold()
    batch = house.batch([line("a", "now"), line("b", "now"), *(line(f"l{n}", "later") for n in range(3))])
    house.until(batch, lambda found: found.request_counts and found.request_counts.completed == 2)
    assert house.client.batches.cancel(batch.id).status == "cancelling"
    done = house.ended(batch)
    house.models.release()
    assert (done.status, bool(done.cancelling_at), bool(done.cancelled_at)) == ("cancelled", True, True)
    assert [each["custom_id"] for each in house.lines(done.output_file_id)] == ["a", "b"]
    undone = house.lines(done.error_file_id)
    assert [each["custom_id"] for each in undone] == ["l0", "l1", "l2"]
    assert {(each["response"], each["error"]["code"]) for each in undone} == {(None, "batch_cancelled")}
    with pytest.raises(openai.ConflictError, match="Cannot cancel a batch with status 'cancelled'"):
        house.client.batches.cancel(batch.id)


def test_a_batch_expires_at_the_end_of_its_window(house: House) -> None:
    house.models.hold()
    batch = house.batch([line("a", "now"), *(line(f"l{n}", "later") for n in range(3))], window="2s")
    done = house.ended(batch)
    house.models.release()
    assert done.status == "expired" and done.expired_at and done.expired_at >= (done.expires_at or 0)
    answered, undone = house.lines(done.output_file_id), house.lines(done.error_file_id)
    assert sorted(each["custom_id"] for each in answered + undone) == ["a", "l0", "l1", "l2"]
    assert {each["error"]["code"] for each in undone} == {"batch_expired"}


@pytest.mark.promise("B-18")
def test_a_batch_goes_on_when_its_worker_and_the_process_of_its_run_were_killed(house: House) -> None:
    house.models.hold()
    before = len(house.models.sent)
    prompts = [f"now {n}" for n in range(5)] + [f"later {n}" for n in range(5)]
    batch = house.batch([line(str(n), prompt) for n, prompt in enumerate(prompts)])
    house.until(batch, lambda found: found.request_counts and found.request_counts.completed == 5)
    for worker in house.workers:
        for process in [worker, *psutil.Process(worker.pid).children(recursive=True)]:
            os.kill(process.pid, signal.SIGKILL)
        worker.wait(HANG_S)
    house.workers.clear()
    house.models.release()
    house.work()
    done = house.ended(batch)
    assert done.status == "completed" and done.request_counts is not None
    assert (done.request_counts.completed, done.error_file_id) == (10, None)
    assert [each["custom_id"] for each in house.lines(done.output_file_id)] == [str(n) for n in range(10)]
    sent = [json.loads(body)["messages"][0]["content"] for body in house.models.sent[before:]]
    assert [sent.count(prompt) for prompt in prompts[:5]] == [1] * 5, "what was answered is not asked again"


def test_lists_come_page_by_page_and_the_newest_first(house: House) -> None:
    made = [house.upload([line(f"p{n}", "x")], f"page{n}.jsonl") for n in range(3)]
    pages = house.client.files.list(limit=2, purpose="batch")
    assert [each.id for each in pages.data] == made[:0:-1] and pages.has_more
    first, *_rest = [each.id for each in house.client.files.list(limit=2, order="asc")]
    assert made[0] in [each.id for each in pages], "the client turns the pages"
    raw = house.client.files.with_raw_response.list(limit=1, order="asc").http_response.json()
    assert (raw["object"], raw["first_id"], raw["last_id"], raw["has_more"]) == ("list", first, first, True)
    batches = [
        house.client.batches.create(input_file_id=file, endpoint="/v1/embeddings", completion_window="24h").id
        for file in made
    ]
    assert [each.id for each in house.client.batches.list(limit=2)][:3] == batches[::-1]


def test_a_file_is_kept_byte_for_byte_until_it_is_deleted(house: House) -> None:
    content = b'\xef\xbb\xbf{"custom_id": "\xc3\xa4"}\r\n\n{not json'
    file = house.client.files.create(
        file=("odd name.jsonl", content),
        purpose="batch",
        expires_after={"anchor": "created_at", "seconds": 3600},
    )
    assert (file.bytes, file.filename, file.status) == (len(content), "odd name.jsonl", "processed")
    assert file.expires_at == file.created_at + 3600
    assert house.client.files.content(file.id).read() == content
    assert house.client.files.delete(file.id).deleted
    with pytest.raises(openai.NotFoundError, match="No such File object"):
        house.client.files.retrieve(file.id)


@pytest.mark.promise("B-11")
def test_real_files_go_through_byte_for_byte(house: House, shared: Path) -> None:
    begun = [
        (path, begin(house, path)) for path in (shared / "data" / "openai_batch" / name for name in REAL)
    ]
    sent = set(house.models.sent)
    for path, batch in begun:
        done = house.ended(batch)
        assert (done.status, done.error_file_id) == ("completed", None), done
        content = house.client.files.content(done.output_file_id or "").read()
        found = {each["custom_id"]: each["response"] for each in map(json.loads, content.splitlines())}
        assert found.keys() == {each["custom_id"] for each in records(path)}
        bodies = [text.partition(b'"body": ')[2].strip()[:-1] for text in texts(path)]
        assert set(bodies) <= {*sent, *house.models.sent}, "each body was sent as it stands in the file"
        for custom_id, body in answers(path).items():
            assert found[custom_id]["body"] == json.loads(body)
            assert body in content, "each reply is written as it came"


def begin(house: House, path: Path) -> Batch:
    """The file uploaded and a batch of it begun; the model server knows its replies, where there are some."""
    known = answers(path)
    for each in records(path):
        house.models.names = sorted({*house.models.names, each["body"]["model"]})
        if each["custom_id"] in known:
            house.models.known[each["body"]["messages"][-1]["content"]] = known[each["custom_id"]]
    with path.open("rb") as file:
        ident = house.client.files.create(file=file, purpose="batch").id
    assert house.client.files.content(ident).read() == path.read_bytes()
    return house.client.batches.create(input_file_id=ident, endpoint=CHAT, completion_window="24h")


def texts(path: Path) -> list[bytes]:
    return [text for text in path.read_bytes().splitlines() if text.strip()]


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in texts(path)]


def answers(path: Path) -> dict[str, bytes]:
    """The bodies of the replies beside a file of requests, as bytes, by custom_id."""
    beside = path.with_name("batch_output.jsonl")
    if not beside.is_file():
        return {}
    bodies = {each["custom_id"]: each["response"]["body"] for each in records(beside)}
    return {custom_id: json.dumps(body).encode() for custom_id, body in bodies.items()}


def test_models_are_listed_with_their_providers_and_found_by_ids_with_slashes(house: House) -> None:
    began = time.monotonic()
    listed = {model.id: model for model in house.client.models.list()}
    assert time.monotonic() - began < 20, "those that are away were not waited for"
    assert {"openai/small", "openai/meta-llama/Llama-3.1-8B-Instruct"} <= listed.keys()
    assert not any(name.startswith(("baseline/", "replay/")) for name in listed)
    one = house.client.models.retrieve("openai/meta-llama/Llama-3.1-8B-Instruct")
    assert (one.object, one.owned_by, one.created) == ("model", "openai", 1_700_000_000)
    with pytest.raises(openai.NotFoundError) as error:
        house.client.models.retrieve("openai/unheard-of")
    assert error.value.code == "model_not_found"


def test_a_stranger_sees_nothing_and_a_project_can_be_named(house: House) -> None:
    own = house.upload([line("a", "x")])
    batch = house.batch([b"{"])
    for look in (
        lambda: house.stranger.files.retrieve(own),
        lambda: house.stranger.files.content(own),
        lambda: house.stranger.files.delete(own),
        lambda: house.stranger.batches.retrieve(batch.id),
        lambda: house.stranger.batches.cancel(batch.id),
    ):
        with pytest.raises(openai.NotFoundError):
            look()
    with pytest.raises(openai.BadRequestError) as error:
        house.stranger.batches.create(input_file_id=own, endpoint=CHAT, completion_window="24h")
    assert error.value.param == "input_file_id"
    assert house.stranger.files.list().data == [] and house.stranger.batches.list().data == []
    assert house.client.with_options(default_headers={"OpenAI-Project": "default"}).files.retrieve(own)
    with pytest.raises(openai.AuthenticationError, match="no project of this API key"):
        house.client.with_options(default_headers={"OpenAI-Project": "other"}).files.list()


def test_every_error_has_the_shape_of_openais(house: House) -> None:
    nobody = house.client.with_options(api_key="proctor_wrong")
    file = house.upload([line("a", "x")])
    big, file_of = b" " * 1_100_000, ("a.jsonl", b"x")
    cases: list[tuple[Callable[[], object], int, str | None, str | None]] = [
        (nobody.files.list, 401, None, "invalid_api_key"),
        (lambda: house.client.files.retrieve("file-none"), 404, "id", None),
        (
            lambda: house.client.files.create(file=("a.jsonl", big), purpose="batch"),
            413,
            None,
            "file_too_large",
        ),
        (lambda: house.client.files.create(file=("a.csv", b"x"), purpose="batch"), 400, "file", None),
        (lambda: house.client.files.create(file=file_of, purpose="vision"), 400, "purpose", "invalid_value"),
        (lambda: house.client.files.list(limit=0), 400, "limit", None),
        (
            lambda: house.client.batches.create(
                input_file_id=file,
                endpoint="/v1/other",  # type: ignore[arg-type]  # which no batch has
                completion_window="24h",
            ),
            400,
            "endpoint",
            "invalid_value",
        ),
        (
            lambda: house.client.batches.create(
                input_file_id=file,
                endpoint=CHAT,
                completion_window="5d",  # type: ignore[arg-type]  # which this server does not offer
            ),
            400,
            "completion_window",
            "invalid_value",
        ),
        (lambda: house.client.chat.completions.create(model="small", messages=[]), 404, None, None),
    ]
    for ask, status, param, code in cases:
        with pytest.raises(openai.APIStatusError) as error:
            ask()
        found = error.value
        told = found.response.json()
        assert told.keys() == {"error"} and told["error"].keys() == {"message", "type", "param", "code"}, told
        assert (found.status_code, found.param, found.code) == (status, param, code), told
