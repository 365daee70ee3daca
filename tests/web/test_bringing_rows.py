"""Official files brought in by upload, over HTTP: what was found, what is refused in words, and who may."""

from __future__ import annotations

import gzip
import io
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from opened import over
from pages import Browser, Page
from proctor.errors import TooLarge
from proctor.service.admin import access
from proctor.service.official import uploads
from proctor.sources.exams.rows.normal_form import read_manifest
from proctor.store import Store
from served import serving
from uploads import BOUNDARY, form

pytestmark = pytest.mark.slow

ROWS = b'What is it?,a,"b, c",d,e,B\r\nWho?,"say ""hi""",x,y,z,D\r\n'


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def browser(home: Path) -> Iterator[Browser]:
    with serving(home, "--no-worker") as server:
        yield Browser(server.url)


def sent(
    browser: Browser,
    suite: str,
    *files: tuple[str, bytes],
    headers: dict[str, str] | None = None,
    **fields: str,
) -> Page:
    request = urllib.request.Request(f"{browser.url}/suites/{suite}/import", form(files, **fields))
    kind = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "Accept": "text/html"}
    for name, value in {**kind, **(headers or {})}.items():
        request.add_header(name, value)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return Page(answer.status, answer.read().decode(), answer.headers, ())
    except urllib.error.HTTPError as error:
        with closing(error):
            return Page(error.code, error.read().decode(), error.headers, ())


def zipped(files: Sequence[tuple[str, bytes]]) -> bytes:
    kept = io.BytesIO()
    with zipfile.ZipFile(kept, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in files:
            archive.writestr(name, body)
    return kept.getvalue()


def test_an_archive_is_imported_and_told_task_by_task(browser: Browser, home: Path) -> None:
    files = [
        ("data/test/anatomy_test.csv", ROWS),
        ("data/README.txt", b"words\n"),
        ("data/torn_test.csv", ROWS),
    ]
    page = sent(browser, "mmlu", ("data.zip", zipped(files)), back="/runs/new?suite=mmlu&tasks=anatomy")
    assert page.status == 200 and "1 task of MMLU (57 subjects) imported" in page.words
    assert "Anatomy" in page.words and "differs" in page.words, "two rows are not the official 135"
    assert "has 2 rows, the official set 135" in page.words and "new or changed" in page.words
    assert "2 files passed over" in page.words and "56 of MMLU" in page.words
    assert 'href="/runs/new?suite=mmlu&amp;tasks=anatomy">Back to the form' in page.markup
    manifest = read_manifest(home, "anatomy", "eval")
    assert manifest is not None and manifest.n == 2 and manifest.sha256[:12] in page.text
    assert "the same as before" in sent(browser, "mmlu", ("data.zip", zipped(files))).words
    suites = browser.get("/suites").words
    assert "1 imported" in suites and "56 on the hub" in suites
    assert "import-rows" in browser.get("/audit").words
    assert not list(home.glob("import-*")), "nothing of the upload is left"


def test_bare_files_and_those_of_another_suite_are_told_apart(browser: Browser) -> None:
    page = sent(browser, "glue", ("virology_test.csv", ROWS), ("virology_dev.csv", ROWS))
    assert "Nothing of GLUE was found" in page.words and "another suite" in page.words
    assert "worked examples" in page.words and "10 of GLUE" in page.words


@pytest.mark.parametrize(
    ("suite", "path", "said"),
    [
        ("glue", "glue/wnli", "as published"),
        ("superglue", "superglue/copa", "as published"),
        ("medical", "medical/pubmedqa", "as published"),
    ],
)
def test_published_rows_are_known_as_such(
    browser: Browser, shared: Path, suite: str, path: str, said: str
) -> None:
    data = shared / "data"
    files = [
        (str(each.relative_to(data)), each.read_bytes())
        for each in sorted((data / path).rglob("*"))
        if each.is_file() and not each.name.startswith("train_")
    ]
    assert files, path
    page = sent(browser, suite, ("published.zip", zipped(files)))
    assert page.status == 200 and said in page.words and "differs" not in page.words, page.words[:2000]


@pytest.mark.parametrize(
    ("name", "body", "status", "says"),
    [
        ("data.zip", b"PK\x03\x04 torn", 200, "not a readable archive"),
        ("data.zip", zipped([("a/anatomy_test.csv", ROWS)])[:-30], 200, "not a readable archive"),
        ("data.tar.gz", b"\x1f\x8b torn", 200, "not a readable archive"),
        ("anatomy_test.csv", b"What?,a,b\n", 200, "3 columns"),
        ("notes.md", b"# words", 200, "Nothing of MMLU"),
        ("empty.zip", zipped([]), 200, "Nothing of MMLU"),
        ("up.zip", zipped([("../anatomy_test.csv", ROWS)]), 200, "leads out of the archive"),
        (".hidden", b"x", 400, "cannot be called"),
    ],
)
def test_what_cannot_be_imported_is_said_in_words(
    browser: Browser, name: str, body: bytes, status: int, says: str
) -> None:
    page = sent(browser, "mmlu", (name, body))
    assert page.status == status and says in page.words, page.words[:1500]
    piece = sent(browser, "mmlu", (name, body), headers={"HX-Request": "true"})
    assert piece.status == 200 and says in piece.words and "<html" not in piece.text


def test_a_bomb_is_not_unpacked(browser: Browser, home: Path) -> None:
    huge = b"\0" * (uploads.MOST_FILE_BYTES + 1)
    page = sent(browser, "mmlu", ("bomb.zip", zipped([("anatomy_test.csv", huge)])))
    assert page.status == 413 and "no file of a known set has more than" in page.words


def test_a_stream_that_does_not_end_is_left_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "bomb.tar.gz"
    with gzip.open(path, "wb") as file:
        for _ in range(3):
            file.write(b"\0" * uploads.READ_BYTES)
    uploads.check_stream(path, 3 * uploads.READ_BYTES)
    with pytest.raises(TooLarge, match=r"bomb\.tar\.gz unpacks to more than"):
        uploads.check_stream(path, 2 * uploads.READ_BYTES)


@pytest.mark.parametrize(
    "back", ["//elsewhere.example/x", "https://elsewhere.example", "/\\elsewhere", "x", "/a\nb"]
)
def test_no_way_back_leads_elsewhere(browser: Browser, back: str) -> None:
    page = sent(browser, "mmlu", ("anatomy_test.csv", ROWS), back=back)
    assert page.status == 200 and "Back to the form" not in page.words and "elsewhere" not in page.text
    assert 'name="back"' not in page.text


def test_no_form_no_file_and_no_such_suite_are_refused(browser: Browser) -> None:
    assert sent(browser, "mmlu").status == 400
    assert sent(browser, "nosuch", ("anatomy_test.csv", ROWS)).status == 404
    assert browser.get("/suites/nosuch/import").status == 404
    plain = browser.post("/suites/mmlu/import", file="x")
    assert plain.status == 400 and "multipart/form-data" in plain.words


def test_a_full_disk_is_said_before_anything_comes(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-worker", PROCTOR_DISK_FREE_MB="1000000000") as server:
        page = sent(Browser(server.url), "mmlu", ("anatomy_test.csv", ROWS))
        assert page.status == 503 and "must stay free" in page.words
        assert read_manifest(tmp_path, "anatomy", "eval") is None


def test_rows_serve_all_projects_so_that_an_administrator_alone_brings_them(tmp_path: Path) -> None:
    with closing(Store.open(f"sqlite:///{tmp_path / 'proctor.db'}")) as store:
        scopes = {"run": ["read", "run"], "admin": ["admin"]}
        keys = {
            name: access.create_key(over(store), name, "x", of, by="test")[1] for name, of in scopes.items()
        }
    with serving(tmp_path, "--no-worker", PROCTOR_AUTH="keys") as server:
        for scope, status, offered in (("run", 403, False), ("admin", 200, True)):
            browser = Browser(server.url)
            assert browser.post("/login", key=keys[scope]).status == 303
            cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
            page = sent(browser, "mmlu", ("anatomy_test.csv", ROWS), headers={"Cookie": cookie})
            assert page.status == status, page.words[:500]
            assert ("/suites/mmlu/import" in browser.get("/suites").text) is offered
