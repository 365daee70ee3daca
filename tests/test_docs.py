"""The documents are fresh, complete, linked, and what they show is what happens."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import console
import docs

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
DOCUMENTS = docs.documents(ROOT)
RUN = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("quickstart", "exams", "files", "open-answers")),
]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
CHANGES = sorted((ROOT / "changelog.d").glob("*.md"))
OF_TRIALS = {
    "notes.md",
    "scoring_results.md",
    "summary.md",
    "instruction.md",
}  # files that runs write or read
HEADINGS = ["Question", "Decision", "Why", "Cost", "Refused"]
LINK = re.compile(r"(?<!`)!?\[[^\]\n]*\]\(\s*<?([^)\s>]+)>?[^)\n]*\)")
FENCE = re.compile(r"^```.*?^```[ \t]*$", re.DOTALL | re.MULTILINE)


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_the_generated_parts_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "docs.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_stale_part_is_found_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "docs" / "settings.md"
    page.parent.mkdir()
    page.write_text("Before.\n<!-- generated: settings -->\nold\n<!-- end -->\nAfter.\n")
    assert docs.main(["--check"], tmp_path) == 1
    assert capsys.readouterr().out == "docs/settings.md is stale: run `make docs`\n"
    assert docs.main([], tmp_path) == 0
    assert docs.main(["--check"], tmp_path) == 0
    text = page.read_text()
    assert text.startswith("Before.\n<!-- generated") and text.endswith("<!-- end -->\nAfter.\n")
    assert "PROCTOR_HOME" in text and "\nold\n" not in text


@pytest.mark.parametrize(
    "text", ["<!-- generated: nonesuch -->\n<!-- end -->\n", "<!-- generated: map -->\n", "<!-- end -->\n"]
)
def test_a_wrong_marker_is_refused(text: str) -> None:
    with pytest.raises(SystemExit, match=r"page\.md"):
        docs.fresh(text, "page.md")


def test_a_bar_in_a_cell_does_not_split_it() -> None:
    assert docs.table(("a", "b"), [("x|y", 1)]) == "| a | b |\n| --- | --- |\n| x\\|y | 1 |\n"


def public_words() -> dict[str, list[str]]:
    """What a user can meet, as it must stand in a document."""
    from proctor import errors
    from proctor.app import program
    from proctor.providers import PROVIDERS
    from proctor.settings.variables import SETTINGS
    from proctor.sources.exams.tables.tasks import SUITES

    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, errors.ProctorError)]
    return {
        "command": [f"`{' '.join(['proctor', *path])}`" for path in docs.command_paths(program(), [])],
        "setting": [f"`{s.name}`" for s in SETTINGS],
        "slug": sorted({f"`{k.slug}`" for k in kinds}),
        "suite": [f"`{key}`" for key in SUITES],
        "task": sorted({f"`{task.key}`" for suite in SUITES.values() for task in suite.tasks}),
        "provider": [f"`{key}`" for key in PROVIDERS],
    }


@pytest.mark.parametrize("kind", ["command", "setting", "slug", "suite", "task", "provider"])
def test_everything_that_a_user_can_meet_is_documented(kind: str) -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCUMENTS)
    words = public_words()[kind]
    assert words, f"no {kind} at all"
    assert not [word for word in words if word not in text], f"in no document: {kind}"


def test_every_environment_variable_in_the_source_is_a_setting() -> None:
    known = set(public_words()["setting"])
    for path in sorted((ROOT / "src" / "proctor").rglob("*.py")):
        if "inside" in path.parts:  # a program of a box, which sees nothing of proctor's environment
            continue
        found = re.findall(r"environ(?:\.get\(|\[)\"(\w+)\"", path.read_text(encoding="utf-8"))
        assert {f"`{variable}`" for variable in found} <= known, name(path)


ADDRESS = re.compile(r"https?://\S+")


def test_documents_that_the_source_names_are_there() -> None:
    named = {
        (path.name, found)
        for path in (ROOT / "src" / "proctor").rglob("*.py")
        for found in re.findall(r"\b([a-z][\w-]*\.md)\b", ADDRESS.sub("", path.read_text(encoding="utf-8")))
    }
    there = OF_TRIALS | {path.name for path in (ROOT / "docs").rglob("*.md")}
    assert {(source, found) for source, found in named if found not in there} == set()


def slugged(text: str) -> set[str]:
    """The anchors that a page of headings offers."""
    heads = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def broken_links(path: Path) -> list[str]:
    """Links of a page that lead nowhere in the checkout; addresses elsewhere are not asked."""
    faults = []
    for number, line in enumerate(
        FENCE.sub(lambda m: "\n" * m[0].count("\n"), path.read_text()).splitlines(), 1
    ):
        for target in LINK.findall(line):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            file, _, anchor = target.partition("#")
            there = path.parent / file if file else path
            if not there.exists() or (anchor and anchor not in slugged(there.read_text())):
                faults.append(f"{path.name}:{number}: {target}")
    return faults


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_links_lead_somewhere(path: Path) -> None:
    assert not broken_links(path)


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text(
        "# One two\n[a](a.md#one-two) [b](#one-two)\n[c](b.md) [d](a.md#three)\n```\n[e](e.md)\n```\n"
    )
    assert broken_links(page) == ["a.md:3: b.md", "a.md:3: a.md#three"]


@pytest.mark.parametrize("path", DECISIONS, ids=name)
def test_a_decision_is_short_and_has_its_five_parts(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", path.name)
    assert len(text.splitlines()) <= 40
    assert re.findall(r"^##+ (.+?)\s*$", text, re.MULTILINE) == HEADINGS


@pytest.mark.parametrize("path", CHANGES, ids=name)
def test_a_change_is_one_sentence(path: Path) -> None:
    text = path.read_text(encoding="utf-8").strip()
    assert "\n" not in text and re.fullmatch(r"[A-Z`].*[.!]", text), "one line that ends in a full stop"
    assert not re.search(r"[a-z)`][.!?] [A-Z]", text), "one sentence"


def test_decision_numbers_are_used_once() -> None:
    numbers = [path.name[:4] for path in DECISIONS]
    assert len(numbers) == len(set(numbers))


@pytest.mark.slow  # every console block is run
@pytest.mark.parametrize("path", RUN, ids=name)
def test_what_the_document_shows_is_what_happens(path: Path, tmp_path: Path) -> None:
    """As a reader who stands in the checkout: its folder of examples is there."""
    faults = console.run(path.read_text(encoding="utf-8"), tmp_path / "work", beside=ROOT / "examples")
    assert not faults, "\n".join(faults)


SESSION = """
```console
$ export WORD=hello; mkdir inner; cd inner
$ echo "$WORD world 0.552 [0.508]"; pwd
hello ... 0.... [0....]
.../work/inner
$ cat <<END
> one
> two
> three
> END
one
...
three
```
```console figures
$ echo "$WORD 0.552 [0.508, 0.6], 1,390 tokens/s in run 0a1b2c3d"
hello 0.1 [0.22, 3], 7 tokens/s in run deadbeef
```
```console no-run
$ exit 7
```
"""


def test_a_session_shares_one_shell(tmp_path: Path) -> None:
    assert console.run(SESSION, tmp_path / "work") == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("$ false", "exit code 1"),
        ("$ echo one\ntwo", "does not print 'two'"),
        ("$ printf 'one\\ntwo\\n'\ntwo\none", "does not print 'one'"),
        ("$ echo one two\none", "does not print 'one'"),
        ("$ echo 1552\n1....", "does not print '1....'"),
        ("$ exit 0\n$ echo one", "was not reached"),
        ("$ false &", "exit code 1"),
        ("$ echo one >&2\ntwo", "but:\none"),
    ],
)
def test_a_session_that_differs_is_found(body: str, fault: str, tmp_path: Path) -> None:
    faults = console.run(f"```console\n{body}\n```\n", tmp_path / "work")
    assert faults and fault in faults[-1]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("hello 0.5 of none", "hello 0.5 of 7"),
        ("hello 0.5", "hello 0.5 0.5"),
        ("hello 0.5 s", "hello 0.5 ms"),
        ("accuracy unknown", "accuracy 0.792"),
    ],
)
def test_where_figures_may_differ_nothing_else_may(said: str, shown: str, tmp_path: Path) -> None:
    faults = console.run(f"```console figures\n$ echo {said}\n{shown}\n```\n", tmp_path / "work")
    assert faults and f"does not print {shown!r}" in faults[-1]


def test_a_server_started_by_a_document_is_there_for_it_and_ends_with_it(tmp_path: Path) -> None:
    serve = f"{sys.executable} -c \"import time; print('ready', flush=True); time.sleep(600)\""
    text = f"```console\n$ {serve} &\nready\n$ kill -0 $! && echo $! > server.pid\n```\n"
    assert console.run(text, tmp_path / "work") == []
    server = int((tmp_path / "work" / "server.pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)
