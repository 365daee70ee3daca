"""The form that starts every kind of work, without scripts: prefilled addresses, what is missing, each cure, files."""

from __future__ import annotations

import html
import re
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pages import Browser, Page
from programs import proctor_json
from request_files import line
from served import PREFIX, Server, serving

TWO = ["simulator/sim", "simulator/sim-small"]
SUMS = b"question,answer\n" + b"".join(f"{n} + {n} =,{2 * n}\n".encode() for n in range(1, 13))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(
        tmp_path_factory.mktemp("form"), "--no-worker", PROCTOR_REQUESTS_PER_MINUTE="100000"
    ) as running:
        yield running


@pytest.fixture
def person(server: Server) -> Browser:
    return Browser(server.url)


def upload(server: Server, name: str, body: bytes, **fields: str) -> tuple[int, str, str]:
    """Status, where it leads, and the page, of a form sent as a browser sends one with a file."""
    mark = uuid.uuid4().hex
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n' for k, v in fields.items()
    ]
    head = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    sent = "".join([*parts, head]).encode() + body + f"\r\n--{mark}--\r\n".encode()
    request = urllib.request.Request(f"{server.url}/runs/new/file", sent, method="POST")
    request.add_header("Content-Type", f"multipart/form-data; boundary={mark}")
    request.add_header("HX-Request", "true")
    request.add_header("Accept", "text/html")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.status, answer.headers.get("HX-Redirect", ""), answer.read().decode()


def cure(page: Page, words: str) -> str:
    """Where the link of a cure leads."""
    found = re.search(rf'<a class="btn btn-sm" href="([^"]*)"[^>]*>{re.escape(words)}</a>', page.text)
    assert found, (words, re.findall(r'class="btn btn-sm" href="[^"]*"[^>]*>[^<]*', page.text))
    return html.unescape(found[1])


def filled(page: Page) -> dict[str, list[str]]:
    """What a browser would send of the form, as far as hidden fields, ticked boxes and chosen options go."""
    found: dict[str, list[str]] = {}
    form = page.text.partition('id="run-form"')[2].partition("</form>")[0]
    form = re.sub(r"<template.*?</template>", "", form, flags=re.DOTALL)
    for tag in re.findall(r"<input[^>]*>", form):
        kind, name = re.search(r'type="(\w+)"', tag), re.search(r'name="([\w-]+)"', tag)
        if not name or " form=" in tag or (kind and kind[1] == "checkbox" and " checked" not in tag):
            continue
        value = re.search(r'value="([^"]*)"', tag)
        found.setdefault(name[1], []).append(html.unescape(value[1]) if value else "")
    for name, body in re.findall(r'<select[^>]*name="(\w+)"[^>]*>(.*?)</select>', form, re.DOTALL):
        options = re.findall(r"<option([^>]*)>", body)
        chosen = next((each for each in options if " selected" in each), options[0] if options else "")
        value = re.search(r'value="([^"]*)"', chosen)
        found[name] = [html.unescape(value[1]) if value else ""]
    return found


def jobs(server: Server) -> int:
    total: int = server.get(f"{PREFIX}/results")["total"]
    return total


# Several models ------------------------------------------------------------------------------------


def test_several_models_are_runs_of_one_plan_on_the_same_items(server: Server, person: Browser) -> None:
    form: dict[str, Any] = {
        "suite": "glue",
        "data": "sample",
        "limit": "2",
        "ollama_seed": "7",
        "models": TWO,
    }
    plan = person.post("/runs/new/plan", **form)
    assert "2 models" in plan.words and "one verdict" in plan.words and 'data-ready="yes"' in plan.text
    assert "--model simulator/sim --model simulator/sim-small" in plan.words
    done = person.post("/runs/new", **form)
    where = done.headers["location"]
    assert done.status == 303 and where.startswith("/compare?runs=") and where.count("runs=") == 2
    ids = re.findall(r"runs=([0-9a-f-]{36})", where)
    cells = [server.get(f"{PREFIX}/results/{each}") for each in ids]
    assert [each["model_name"] for each in cells] == ["sim", "sim-small"]
    pages = [person.get(f"/runs/{each}?tab=config").words for each in ids]
    assert all('"seed": 7' in page and '"limit": 2' in page for page in pages)


def test_no_more_than_eight_models_and_each_named_with_its_provider(server: Server, person: Browser) -> None:
    before = jobs(server)
    many = person.post(
        "/runs/new", suite="glue", data="sample", models=[f"simulator/sim-{n}" for n in range(9)]
    )
    assert many.status == 400 and "9 are chosen; 8 may be started at once" in many.words
    odd = person.post("/runs/new", suite="glue", data="sample", models=["mistral"])
    assert odd.status == 400 and "write PROVIDER/NAME" in odd.words
    assert jobs(server) == before


def test_lines_of_a_text_field_are_models_too(person: Browser) -> None:
    """Without scripts they are typed, one a line."""
    plan = person.post(
        "/runs/new/plan", suite="glue", data="sample", limit="1", models="\r\n".join([*TWO, ""])
    )
    assert "2 models" in plan.words


def test_a_parameter_out_of_range_is_told_of_its_field_for_models_of_any_provider(person: Browser) -> None:
    for models in (["ollama/a"], TWO, ["ollama/a", "simulator/sim"]):
        page = person.post("/runs/new", suite="glue", data="sample", models=models, ollama_temperature="3")
        assert page.status == 400
        assert "Temperature: must be less than or equal to 2" in page.words
        assert 'data-field="ollama_temperature"' in page.text
        assert '<details class="card advanced" id="advanced" open>' in page.text


# Prefilled by the address ----------------------------------------------------------------------------


def test_an_address_fills_in_models_suite_tasks_and_parameters(person: Browser) -> None:
    page = person.get(
        "/runs/new?models=simulator/sim&models=ollama/b&suite=mmlu&tasks=anatomy&data=sample"
        "&max_tokens=2048&repeats=2&limit=20"
    )
    said = filled(page)
    assert said["models"] == ["simulator/sim", "ollama/b"]
    assert said["suite"] == ["mmlu"] and said["tasks"] == ["anatomy"] and said["data"] == ["sample"]
    assert said["ollama_num_predict"] == ["2048"] and said["repeats"] == ["2"] and said["limit"] == ["20"]
    assert 'id="advanced" open' in page.text


def test_parameters_are_folded_away_while_none_is_set(person: Browser) -> None:
    assert 'id="advanced">' in person.get("/runs/new").text
    assert 'id="advanced">' in person.get("/runs/new?models=simulator/sim&limit=5&data=sample").text


def test_a_clone_takes_another_number_of_tokens(server: Server, person: Browser) -> None:
    done = person.post("/runs/new", suite="glue", data="sample", limit="1", models=TWO[:1], ollama_seed="5")
    run = done.headers["location"].removeprefix("/runs/")
    page = person.get(f"/runs/new?like={run}&max_tokens=2048")
    said = filled(page)
    assert (
        said["models"] == TWO[:1] and said["ollama_num_predict"] == ["2048"] and said["ollama_seed"] == ["5"]
    )
    again = person.post("/runs/new", **said)
    assert again.status == 303, again.words
    assert '"max_tokens": 2048' in person.get(again.headers["location"] + "?tab=config").words


# What is missing, and its cures ----------------------------------------------------------------------


def test_start_is_never_off_without_scripts_and_the_server_says_what_is_missing(
    server: Server, person: Browser
) -> None:
    before = jobs(server)
    page = person.get("/runs/new")
    button = re.search(r"<button[^>]*id=\"start\"[^>]*>", page.text)
    assert button and "disabled" not in button[0]
    answer = person.post("/runs/new", **filled(page))
    assert answer.status == 400 and "Choose a model" in answer.words
    assert jobs(server) == before
    shown = person.get("/runs/new?look=1&models=simulator/sim&data=sample&limit=3")
    assert "Smallest difference it can show" in shown.words, "the plan, where one asks for it"


def test_rows_that_are_not_here_are_cured_by_one_press_each(
    tmp_path: Path, server: Server, person: Browser
) -> None:
    page = person.post("/runs/new", suite="glue", models=TWO)
    assert page.status == 400 and "The rows of glue are not on this server" in page.words
    sample = person.get(cure(page, "Use sample rows"))
    assert filled(sample)["data"] == ["sample"] and filled(sample)["models"] == TWO
    assert person.post("/runs/new", **filled(sample)).status == 303
    assert filled(person.get(cure(page, "Fetch them from the hub")))["data"] == ["hub"]
    assert 'formaction="/suites/glue/import"' in page.text, "the archive is taken in here"
    back = re.search(r'name="back" value="([^"]*)"', page.text)
    assert back and filled(person.get(html.unescape(back[1])))["models"] == TWO


def test_the_imported_tasks_alone_are_one_press_away(shared: Path, tmp_path: Path) -> None:
    proctor_json(tmp_path, "data", "import", str(shared / "data" / "glue"))
    with serving(tmp_path, "--no-worker") as running:
        person = Browser(running.url)
        page = person.post("/runs/new", suite="glue", models=TWO)
        assert page.status == 400 and "are not on this server" in page.words
        three = person.get(cure(page, "Run the 3 imported tasks"))
        said = filled(three)
        assert sorted(said["tasks"]) == ["mnli", "qnli", "wnli"] and said["data"] == ["imported"]
        plan = person.post("/runs/new/plan", **said)
        assert 'data-ready="yes"' in plan.text and "sample data" not in plan.words
        assert person.post("/runs/new", **said).status == 303


def test_a_key_that_is_not_set_is_named_with_where_it_comes_from(server: Server, person: Browser) -> None:
    before = jobs(server)
    models = ["gemini/gemini-2.5-pro", TWO[0]]
    page = person.post("/runs/new", suite="glue", data="sample", models=models)
    assert page.status == 400 and jobs(server) == before
    assert "The API key of Gemini is not set" in page.words and "GOOGLE_API_KEY" in page.words
    assert cure(page, "Set the key") == "/models#key-gemini"
    rest = person.get(cure(page, "Leave out gemini/gemini-2.5-pro"))
    assert filled(rest)["models"] == [TWO[0]]


# Files of one's own ----------------------------------------------------------------------------------


def test_a_file_of_questions_is_kept_shown_and_asked(server: Server, person: Browser) -> None:
    status, to, _ = upload(server, "twelve.csv", SUMS, project="1")
    assert status == 204 and "what=questions" in to
    page = person.get(to + "&models=simulator/sim&models=simulator/sim-small")
    for words in ("12 rows", "12 questions", "line 2", "1 + 1 =", "What a model is shown"):
        assert words in page.words
    assert 'id="f-part-2"' in page.text, "which column is what"
    plan = person.post("/runs/new/plan", **filled(page))
    assert "24" in plan.words and 'data-ready="yes"' in plan.text
    assert person.post("/runs/new", **filled(page)).headers["location"].startswith("/compare?")


def test_bad_rows_are_told_with_their_lines_and_left_out_by_one_press(
    server: Server, person: Browser
) -> None:
    _, to, _ = upload(server, "gap.csv", SUMS + b"and this?,\n", project="1")
    page = person.get(to + "&models=simulator/sim")
    assert "It cannot be asked as it is read" in page.words and "line 14" in page.words
    assert 'data-ready="no"' in page.text, "it is missing at Start too"
    place = re.search(r'formaction="(/runs/new/file/[^"]*)" name="lenient"', page.text)
    assert place and "Leave bad rows out" in page.words
    mended = person.post(place[1], lenient="on")
    assert mended.status == 303
    again = person.get(mended.headers["location"] + "&models=simulator/sim")
    assert "1 left out" in again.words and 'data-ready="yes"' in again.text


def test_a_file_of_requests_turns_into_a_batch_and_says_so(server: Server, person: Browser) -> None:
    status, to, _ = upload(server, "asks.jsonl", line("a") + line("b"), project="1")
    assert status == 204 and "what=batch" in to
    page = person.get(to + "&models=simulator/sim&models=simulator/sim-small")
    assert "This file holds requests, without right answers." in page.words
    assert "2 requests" in page.words and 'action="/batches/new"' in page.text
    plan = person.post("/batches/new/plan", **filled(page))
    assert 'data-ready="yes"' in plan.text and "to each of 2 models" in plan.words
    before = server.get(f"{PREFIX}/results")["total"]
    assert person.post("/batches/new", **filled(page)).headers["location"] == "/batches"
    listed = person.get("/batches").words
    assert "simulator/sim-small" in listed and server.get(f"{PREFIX}/results")["total"] >= before


def test_a_file_that_cannot_be_sent_is_refused_with_its_lines(server: Server) -> None:
    status, to, told = upload(server, "bad.jsonl", line("a") + b'{"custom_id": "b"}\n', project="1")
    assert status == 200 and to == ""
    assert "1 of 2 lines cannot be sent" in " ".join(told.split())
    assert '<td class="num">2</td>' in " ".join(told.split())


# Every kind of work ----------------------------------------------------------------------------------


def test_each_kind_of_work_is_the_same_page_with_its_choice_made(person: Browser) -> None:
    for what, path in (("suite", "/runs/new"), ("questions", "/runs/new"), ("batch", "/batches/new"),
                       ("tasks", "/rollouts/new")):  # fmt: skip
        page = person.get(f"{path}?what={what}&models=simulator/sim")
        assert page.status == 200, page.words
        same = person.get(f"/runs/new?what={what}&models=simulator/sim")
        assert f'action="{path}"' in page.text and f'action="{path}"' in same.text
        for each in (page, same):
            current = re.search(r'aria-current="page"\s+data-what="(\w+)"', each.text)
            assert current and current[1] == what
            assert filled(each)["models"] == ["simulator/sim"], "models stay"
            assert "Start Benchmarking" in each.words


def test_a_benchmark_of_tasks_says_what_it_lacks(person: Browser) -> None:
    page = person.post("/rollouts/new", name="x", agents=["shell", "null"])
    assert page.status == 400
    assert "Choose a task" in page.words and "Choose a model for shell" in page.words
    assert "agents=null" in cure(page, "Leave out shell") and "shell" not in cure(page, "Leave out shell")
