"""The house rules hold for every file; a failure names the file and the line.

The last table feeds each rule a fault of its kind: a rule that finds nothing in it is broken.
"""

import ast
import itertools
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from house import (
    ROOT,
    RULES,
    File,
    Rule,
    at_import,
    exceptions_have_reasons,
    excepts_are_narrow,
    facts_have_types,
    file_is_small,
    functions_are_flat,
    functions_are_small,
    functions_take_few,
    imports,
    imports_go_down,
    kinds_are_rows_of_a_table,
    manifests_are_typed,
    names_are_exact,
    nothing_happens_at_import,
    nothing_is_mocked,
    numbers_load_late,
    python_files,
    read,
    records_have_slots,
    returns_are_typed,
    says_what_it_is,
    statistics_are_made_in_stats,
    todos_have_numbers,
    what_is_expected_is_not_raised,
)

pytestmark = pytest.mark.slow

# In pieces, so that this file does not find itself.
REGISTRIES = [
    ".".join(pieces)
    for pieces in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("unpkg", "com"),
        ("anaconda", "org"),
        ("crates", "io"),
        ("rubygems", "org"),
        ("proxy", "golang", "org"),
        ("deb", "debian", "org"),
        ("registry-1", "docker", "io"),
        ("ghcr", "io"),
        ("quay", "io"),
        ("jsdelivr", "net"),
        ("cdnjs", "cloudflare", "com"),
    )
]


@pytest.mark.parametrize("path", python_files(*RULES), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_file_keeps_the_house_rules(path: Path) -> None:
    file = read(path)
    faults = [fault for rule in RULES[file.where.split("/")[0]] for fault in rule(file)]
    assert not faults, "\n" + "\n".join(faults)


def test_no_import_cycle() -> None:
    files = {f.module: f for f in map(read, python_files("src"))}
    edges: dict[str, dict[str, str]] = {name: {} for name in files}
    for name, file in files.items():
        for node, target in imports(file, at_import(file.tree)):
            module = target if target in files else target.rpartition(".")[0]
            if module in files and module != name:
                edges[name].setdefault(module, file.at(node, f"imports {module}"))
    assert not (cycle := find_cycle(edges)), "\n" + "\n".join(cycle)


def find_cycle(edges: dict[str, dict[str, str]]) -> list[str]:
    """The import lines of one cycle, or []."""
    finished: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            ring = [*path[path.index(name) :], name]
            return [edges[a][b] for a, b in itertools.pairwise(ring)]
        if name in finished:
            return []
        found = next((c for after in edges[name] if (c := visit(after, [*path, name]))), [])
        finished.add(name)
        return found

    return next((c for name in edges if (c := visit(name, []))), [])


def test_a_cycle_is_found() -> None:
    edges = {"a": {"b": "a:1"}, "b": {"c": "b:1", "d": "b:2"}, "c": {}, "d": {"b": "d:1"}}
    assert find_cycle(edges) == ["b:2", "d:1"]
    assert find_cycle({"a": {"b": "a:1"}, "b": {}}) == []


def test_no_circle_of_rooms() -> None:
    """Sub-packages of one package form a tree of imports too, so that each can be read after those it rests on."""
    files = {f.module: f for f in map(read, python_files("src")) if "/migrations/" not in f.where}
    packages = {name for name, file in files.items() if file.where.endswith("__init__.py")}
    edges: dict[str, dict[str, str]] = {name: {} for name in packages}
    for name, file in files.items():
        for node, target in imports(file, at_import(file.tree)):
            here, there = _rooms(name, target, packages)
            if here != there:
                edges[here].setdefault(there, file.at(node, f"imports {target}"))
    assert not (cycle := find_cycle(edges)), "\n" + "\n".join(cycle)


def _rooms(name: str, target: str, packages: set[str]) -> tuple[str, str]:
    """The two rooms at the first level at which the two modules part; the same one where a package is their whole."""
    ways = [w.split(".") for w in (name, target)]
    shared = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*ways, strict=False))))
    rooms = [".".join(way[: shared + 1]) for way in ways]
    return (rooms[0], rooms[1]) if set(rooms) <= packages and shared > 1 else ("proctor", "proctor")


# Files that are a command, a page or a group of routes each may be as many as there are of these.
MANY = {"src/proctor/cli", "src/proctor/web", "src/proctor/api"}
MOST_FILES = 20


def test_a_package_is_seen_at_a_glance() -> None:
    sizes = Counter(path.parent.relative_to(ROOT).as_posix() for path in python_files("src"))
    faults = [f"{where}: {n} files" for where, n in sizes.items() if n > MOST_FILES and where not in MANY]
    assert not faults, "split them into sub-packages along their imports: " + ", ".join(faults)


def test_one_name_means_one_class() -> None:
    homes: dict[str, list[str]] = {}
    for file in map(read, python_files("src")):
        for node in file.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(file.at(node, node.name))
    faults = [", ".join(places) for places in homes.values() if len(places) > 1]
    assert not faults, "public classes of one name:\n" + "\n".join(faults)


def python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a bare environment, with warnings as errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        cwd=folder,
        env={"PYTHONPATH": str(ROOT / "src"), "HOME": str(folder)},
        timeout=120,
    )


def test_importing_every_module_is_silent_and_writes_nothing(tmp_path: Path) -> None:
    code = (
        "import importlib, pkgutil, proctor\n"
        "for m in pkgutil.walk_packages(proctor.__path__, 'proctor.'):\n"
        "    importlib.import_module(m.name)\n"
    )
    done = python(code, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("module", "unwanted"),
    [
        ("proctor", {"aiohttp", "sqlalchemy", "numpy", "pandas", "click", "rich", "orjson", "alembic"}),
        ("proctor.cli", {"aiohttp", "sqlalchemy", "alembic", "rich", "orjson", "numpy", "pandas", "uvloop"}),
        ("proctor.types", {"aiohttp", "sqlalchemy", "numpy", "pandas", "click", "rich", "orjson"}),
    ],
)
def test_importing_is_cheap(module: str, unwanted: set[str], tmp_path: Path) -> None:
    done = python(f"import sys, json as j, {module}; print(j.dumps(sorted(sys.modules)))", tmp_path)
    assert done.returncode == 0, done.stderr
    assert not unwanted & set(json.loads(done.stdout)), f"import {module} also loads these"


def our_files() -> Iterator[Path]:
    """What belongs to the project: no caches, no virtual environment, no measured data."""
    skipped = {"__pycache__", "data", "build", "dist", "node_modules"}
    hidden = {".ci", ".github", ".gitignore", ".gitattributes"}
    for top in sorted(ROOT.iterdir()):
        if top.name in skipped or (top.name.startswith(".") and top.name not in hidden):
            continue
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def test_no_file_names_a_package_registry() -> None:
    faults = []
    for path in our_files():
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), 1):
            faults += [f"{path.relative_to(ROOT)}:{number}: {host}" for host in REGISTRIES if host in line]
    assert not faults, "\n" + "\n".join(faults)


NESTED = "def f() -> None:\n" + "".join(f"{' ' * 4 * d}if a:\n" for d in range(1, 6)) + " " * 24 + "pass\n"
FAULTS: list[tuple[Rule, str, str]] = [
    (says_what_it_is, "src/proctor/x.py", "import os\n"),
    (file_is_small, "tests/x.py", "a = 1\n" * 401),
    (functions_are_small, "src/proctor/x.py", "def f() -> None:\n" + "    a = 1\n" * 50),
    (functions_are_flat, "src/proctor/x.py", NESTED),
    (functions_take_few, "src/proctor/x.py", "def f(a, b, c, d, e, *, g, h, i) -> None: ...\n"),
    (returns_are_typed, "src/proctor/x.py", "class A:\n    def __init__(self): ...\n"),
    (imports_go_down, "src/proctor/engine/a.py", "from proctor.service import runs\n"),
    (imports_go_down, "src/proctor/stats/a.py", "def f() -> None:\n    import proctor.store.runs\n"),
    (imports_go_down, "src/proctor/plan.py", "from proctor import settings\n"),
    (imports_go_down, "src/proctor/store/a.py", "from ..sources import exams\n"),
    (imports_go_down, "src/proctor/cli/run.py", "from proctor.store import Store\n"),
    (imports_go_down, "src/proctor/cli/run.py", "m = import_module(f'proctor.stats.{x}')\n"),
    (imports_go_down, "src/proctor/simulator/app.py", "from proctor.errors import ProctorError\n"),
    (imports_go_down, "src/proctor/types.py", "from proctor import evaluate\n"),
    (numbers_load_late, "src/proctor/stats/a.py", "try:\n    import numpy.random\nexcept ImportError: ...\n"),
    (excepts_are_narrow, "src/proctor/engine/a.py", "try: ...\nexcept Exception: ...\n"),
    (excepts_are_narrow, "src/proctor/engine/a.py", "try: ...\nexcept (OSError, Exception): ...\n"),
    (excepts_are_narrow, "src/proctor/engine/a.py", "try: ...\nexcept: ...\n"),
    (excepts_are_narrow, "src/proctor/service/runs/running.py", "try: ...\nexcept BaseException: ...\n"),
    (nothing_happens_at_import, "src/proctor/x.py", "HOME = Path(os.environ['HOME'])\n"),
    (nothing_happens_at_import, "src/proctor/x.py", "class A:\n    started = time.monotonic()\n"),
    (names_are_exact, "src/proctor/x.py", "class RunManager: ...\n"),
    (records_have_slots, "src/proctor/x.py", "@dataclass(frozen=True)\nclass A: ...\n"),
    (statistics_are_made_in_stats, "src/proctor/service/a.py", "from statistics import fmean\n"),
    (statistics_are_made_in_stats, "src/proctor/store/a.py", "a = func.avg(SCORE.c.value)\n"),
    (statistics_are_made_in_stats, "src/proctor/web/a.py", "half = 1.96 * stderr\n"),
    (
        statistics_are_made_in_stats,
        "src/proctor/service/a.py",
        "a = Estimate(right / n, None, low, high, n, n, 'x')\n",
    ),
    (manifests_are_typed, "src/proctor/report/x.py", "a = run.manifest.get('wording')\n"),
    (manifests_are_typed, "src/proctor/service/x.py", "a = manifest['metrics']\n"),
    (manifests_are_typed, "src/proctor/store/x.py", "def put(manifest: Mapping[str, Any]) -> None: ...\n"),
    (facts_have_types, "src/proctor/engine/x.py", "def told(facts: Mapping[str, Any]) -> int: ...\n"),
    (facts_have_types, "src/proctor/service/runs/x.py", "def told() -> list[dict[str, Any]]: ...\n"),
    (exceptions_have_reasons, "tests/x.py", "a = 1  # no" + "qa: E501\n"),
    (exceptions_have_reasons, "tests/x.py", "a = 1  # type" + ": ignore[arg-type]\n"),
    (kinds_are_rows_of_a_table, "src/proctor/cli/a.py", "if run.cell.source.kind == 'log': ...\n"),
    (kinds_are_rows_of_a_table, "src/proctor/report/a.py", "words = WORDS[ref.kind]\n"),
    (kinds_are_rows_of_a_table, "src/proctor/service/a.py", "own = kind in ('file', 'dataset')\n"),
    (kinds_are_rows_of_a_table, "src/proctor/web/a.py", "match kind:\n    case 'suite': ...\n"),
    (todos_have_numbers, "tools/x.py", "a = 1  # TO" + "DO: later\n"),
    (nothing_is_mocked, "tests/x.py", "from unittest import mock\n"),
    (nothing_is_mocked, "tests/x.py", "def test_a(monkeypatch): monkeypatch.setattr(a, 'b', 1)\n"),
    (what_is_expected_is_not_raised, "tests/x.py", "with pytest.raises(ValueError): raise ValueError\n"),
]


@pytest.mark.parametrize(("rule", "where", "text"), FAULTS, ids=lambda p: getattr(p, "__name__", ""))
def test_each_rule_finds_its_fault(rule: Rule, where: str, text: str) -> None:
    faults = list(rule(File(where, text, ast.parse(text))))
    assert faults and all(re.match(rf"{re.escape(where)}:\d+: ", fault) for fault in faults)


def test_templates_do_not_tell_kinds_of_sources_apart() -> None:
    pages = (ROOT / "src/proctor/web/templates").rglob("*.html")
    assert not [page.name for page in pages if re.search(r"source\.kind", page.read_text("utf-8"))]


def test_every_rule_has_its_fault() -> None:
    assert {rule.__name__ for rules in RULES.values() for rule in rules} == {
        rule.__name__ for rule, *_ in FAULTS
    }
