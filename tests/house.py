"""The house rules that a machine can check: each is a function from a file to its faults."""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import get_args, get_type_hints

from proctor.references import SourceRef

ROOT = Path(__file__).parents[1]

# What everything may know.
WORDS = {"types", "references", "protocols", "offered", "findings", "manifest", "manifest_json"}
WORDS |= {"trial_record", "trial_findings", "errors", "exits", "printable", "json_object", "given_files"}
# May import only from rows below. Names on one row do not know each other, except in the last row.
LAYERS = [
    {"__main__"},
    {"app"},
    {"api", "web", "cli", "python", "rollouts"},
    {"service", "jobs"},
    {"engine"},
    {"sources", "providers", "sandbox", "store", "stats", "interop", "report", "simulator"},
    {"grading", "replies"},
    {"plan", "settings", "figures", "log"},
    WORDS,
]
RANK = {name: row for row, names in enumerate(reversed(LAYERS)) for name in names}
TOP = len(LAYERS)  # proctor/__init__.py stands above all; from it, others may take __version__ only
VIEWS_SEE = {"service", "plan", "settings", "figures", "log", *WORDS}
SEES = {
    "cli": VIEWS_SEE | {"cli"},
    "python": VIEWS_SEE,
    "rollouts": WORDS,
    "api": VIEWS_SEE | {"api"},
    "web": VIEWS_SEE | {"web"},
}
SEES["simulator"] = {"simulator", "types"}
BORDERS = {"src/proctor/service/runs/running.py"}  # where `except Exception` may stand
MAX_FILE, MAX_FUNCTION, MAX_NESTING, MAX_PARAMETERS = 400, 50, 4, 7
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match)
CLOSED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
AT_IMPORT = re.compile(
    r"(print|open|input|os\.getenv|os\.mkdir|os\.makedirs|read_settings|logging\.basicConfig|uuid\.\w+)$"
    r"|os\.environ|sys\.argv|(.*\.)?(time|monotonic|perf_counter|now|today|utcnow)$"
    r"|.*\.(read_text|read_bytes|write_text|write_bytes|mkdir|exists|is_file|cwd|home)$"
)
MOCKS = {"mock", "unittest.mock", "pytest_mock"}
MONKEYPATCH_MAY = {"setenv", "delenv", "chdir", "syspath_prepend", "context"}
# What makes figures of figures. Not meant: how long a server takes, how a simulator draws, another tool's file format.
STATISTICS = {
    "mean",
    "fmean",
    "median",
    "quantile",
    "quantiles",
    "percentile",
    "variance",
    "stdev",
    "std",
    "var",
}
STATISTICS |= {"avg", "sqrt", "erf", "NormalDist", "bootstrap", "wilson", "corrcoef"}
QUANTILES = {1.645, 1.96, 2.576}  # of the normal distribution
OWN_STATISTICS = {"engine", "providers", "simulator", "interop", "sources"}
KINDS_ROOMS = (
    "src/proctor/service/kinds/",
    "src/proctor/plan/",
)  # where alone kinds of sources are told apart
SOURCE = re.compile(r"\b(source|ref)$")
SOURCE_KINDS = {kind for each in get_args(SourceRef) for kind in get_args(get_type_hints(each)["kind"])}
VAGUE = re.compile(r"(Manager|Handler|Helper|Utils?|Base|Enhanced)(?=[A-Z_0-9]|$)")


@dataclass(frozen=True)
class File:
    """A file of ours: its place below the root, its text, its syntax."""

    where: str
    text: str
    tree: ast.Module

    def at(self, node: ast.AST | int, what: str) -> str:
        return f"{self.where}:{node if isinstance(node, int) else node.lineno}: {what}"

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def comments(self) -> list[tuple[int, str]]:
        """Each with its line."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]

    @property
    def module(self) -> str:
        """The dotted name of a file in src; "" elsewhere."""
        if not self.where.startswith("src/"):
            return ""
        return ".".join(Path(self.where).with_suffix("").parts[1:]).removesuffix(".__init__")

    @property
    def row(self) -> str:
        """The name that stands in LAYERS; "" for the root of the package."""
        return self.module.partition(".")[2].partition(".")[0]


@cache
def read(path: Path) -> File:
    text = path.read_text(encoding="utf-8")
    return File(path.relative_to(ROOT).as_posix(), text, ast.parse(text))


def python_files(*folders: str) -> list[Path]:
    return [p for folder in folders for p in sorted((ROOT / folder).rglob("*.py"))]


def functions(file: File) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (n for n in file.nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def at_import(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when the module is imported: not the bodies of functions, nor of `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, CLOSED) or _guard(child):
            continue
        yield child
        yield from at_import(child)


def _guard(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.If) and re.search("TYPE_CHECKING|__name__", ast.unparse(node.test)) is not None
    )


def imports(file: File, nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.AST, str]]:
    """Every import with the full names that it may load, also of `import_module("proctor...")`."""
    package = file.module if file.where.endswith("__init__.py") else file.module.rpartition(".")[0]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((node, a.name) for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from ((node, f"{base}.{a.name}") for a in node.names)
        elif isinstance(node, ast.Call) and node.args and _called(node) == "import_module":
            text = next((n.value for n in ast.walk(node.args[0]) if isinstance(n, ast.Constant)), "")
            yield node, str(text).rstrip(".")


def _called(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def says_what_it_is(file: File) -> Iterator[str]:
    first = (ast.get_docstring(file.tree) or "").partition("\n")[0]
    if len(first.split()) < 2:
        yield file.at(1, "the first line of the docstring must say what this file is")


def file_is_small(file: File) -> Iterator[str]:
    if (lines := len(file.text.splitlines())) > MAX_FILE:
        yield file.at(lines, f"{lines} lines; a file has at most {MAX_FILE}")


def functions_are_small(file: File) -> Iterator[str]:
    for f in functions(file):
        if (lines := f.end_lineno - f.lineno + 1) > MAX_FUNCTION:
            yield file.at(f, f"{f.name} has {lines} lines; a function has at most {MAX_FUNCTION}")


def functions_are_flat(file: File) -> Iterator[str]:
    def depth(node: ast.AST) -> int:
        inner = [c for c in ast.iter_child_nodes(node) if not isinstance(c, (*CLOSED, ast.ClassDef))]
        # `elif` is an If in the orelse of an If, yet no deeper for the reader.
        chain = node.orelse if isinstance(node, ast.If) and len(node.orelse) == 1 else []
        return max([0, *(depth(c) + (isinstance(c, BLOCKS) and c not in chain) for c in inner)])

    for f in functions(file):
        if (deep := depth(f)) > MAX_NESTING:
            yield file.at(f, f"{f.name} nests {deep} blocks; at most {MAX_NESTING}")


def functions_take_few(file: File) -> Iterator[str]:
    for f in functions(file):
        names = [a.arg for a in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs)]
        if (count := len([n for n in names if n not in ("self", "cls")])) > MAX_PARAMETERS:
            yield file.at(f, f"{f.name} takes {count} parameters; at most {MAX_PARAMETERS}")


def returns_are_typed(file: File) -> Iterator[str]:
    for f in functions(file):
        if f.returns is None:
            yield file.at(f, f"{f.name} does not say what it returns")


def imports_go_down(file: File) -> Iterator[str]:
    here = file.row
    for node, name in imports(file, file.nodes):
        there = name.partition(".")[2].partition(".")[0]
        if not re.match(r"proctor(\.|$)", name) or there == here or name == "proctor.__version__":
            continue
        down = RANK.get(there, TOP) < (RANK.get(here, -1) if here else TOP)
        if not (down or {here, there} <= WORDS):
            yield file.at(node, f"{here} must not import {name}: imports go down, to rows below its own")
        elif there not in SEES.get(here, {there}):
            yield file.at(node, f"{here} sees only {', '.join(sorted(SEES[here]))}; not {name}")


def numbers_load_late(file: File) -> Iterator[str]:
    for node, name in imports(file, at_import(file.tree)):
        if name.split(".")[0] in {"numpy", "scipy", "pandas"}:
            yield file.at(node, f"{name} is imported when it is used, inside a function")


def excepts_are_narrow(file: File) -> Iterator[str]:
    for node in file.nodes:
        kinds: list[ast.expr] = []
        if isinstance(node, ast.ExceptHandler):
            kinds = list(node.type.elts) if isinstance(node.type, ast.Tuple) else [node.type]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress"):
            kinds = node.args
        for kind in kinds:
            name = ast.unparse(kind).rpartition(".")[2] if kind else "everything"
            if name == "BaseException" or (name in {"everything", "Exception"} and file.where not in BORDERS):
                yield file.at(node, f"catches {name}: name what can go wrong; borders: {sorted(BORDERS)}")


def nothing_happens_at_import(file: File) -> Iterator[str]:
    if "/migrations/" in file.where:
        return  # Alembic runs these files; nobody imports them
    for node in at_import(file.tree):
        name = ast.unparse(node.func if isinstance(node, ast.Call) else node)
        if isinstance(node, ast.Call | ast.Subscript) and AT_IMPORT.match(name):
            yield file.at(node, f"{name} when the module is imported: hand it in instead")


def names_are_exact(file: File) -> Iterator[str]:
    for node in file.nodes:
        if isinstance(node, ast.ClassDef) and (found := VAGUE.search(node.name)):
            yield file.at(node, f"{node.name}: {found[1]} says nothing; name what it is")


def records_have_slots(file: File) -> Iterator[str]:
    for node in file.nodes:
        for made in node.decorator_list if isinstance(node, ast.ClassDef) else []:
            text = ast.unparse(made)
            if re.match(r"(dataclasses\.)?dataclass\b", text) and "slots=True" not in text:
                yield file.at(node, f"{node.name} is a dataclass without slots=True")


# Packages in which nothing speaks JSON to the outside; what is made for it there is called a document.
TYPED = re.compile(
    r"proctor\.(engine|jobs|stats|report|plan|figures|settings|types|protocols|findings|manifest"
    r"|service\.(runs|watch|admin|evidence|forecast))(\.|$)"
)
BARE = re.compile(r"\b(dict|Mapping|MutableMapping)(\[str, (Any|object)\]|$)")
OF_DICTIONARIES = {"get", "items", "keys", "values", "pop", "setdefault", "update"}


def manifests_are_typed(file: File) -> Iterator[str]:
    """A manifest is read by its attributes; its JSON has one place, manifest_json.py."""
    if "/migrations/" in file.where:
        return  # they know the JSON as it was when they were written
    for node in file.nodes:
        told = node.annotation if isinstance(node, ast.arg) and node.arg == "manifest" else None
        if told is not None and BARE.search(ast.unparse(told)):
            yield file.at(node, "a manifest is a Manifest: manifest_json.manifest_from reads one")
        read = node.value if isinstance(node, ast.Subscript) else None
        if isinstance(node, ast.Attribute) and node.attr in OF_DICTIONARIES:
            read = node.value
        if read is not None and re.search(r"(^|\.)manifest$", ast.unparse(read)):
            yield file.at(node, "a manifest has attributes, no keys: see manifest.py")


def facts_have_types(file: File) -> Iterator[str]:
    if not TYPED.match(file.module):
        return
    for f in functions(file):
        if f.name.startswith("_") or f.name.endswith("document"):
            continue
        taken = [a for a in (*f.args.posonlyargs, *f.args.args, *f.args.kwonlyargs) if a.annotation]
        for where in (*(a.annotation for a in taken), f.returns):
            if where is not None and BARE.search(ast.unparse(where)):
                yield file.at(where, f"{f.name} hands on a bare {ast.unparse(where)}: give the facts a type")


def kinds_are_rows_of_a_table(file: File) -> Iterator[str]:
    if file.where.startswith(KINDS_ROOMS):
        return
    for node in file.nodes:
        if isinstance(node, ast.Attribute) and node.attr == "kind" and SOURCE.search(ast.unparse(node.value)):
            yield file.at(
                node, f"{ast.unparse(node)}: what is done with a kind of source is a field of its row"
            )
        elif isinstance(node, ast.Compare | ast.Match) and (found := kinds_told_apart(node)):
            yield file.at(
                node, f"a kind is compared with {found}: what is done with it is a field of its row"
            )


def kinds_told_apart(node: ast.Compare | ast.Match) -> str:
    """The kind of source that something called `kind` is compared with; "" for none."""
    sides = [node.subject, *node.cases] if isinstance(node, ast.Match) else [node.left, *node.comparators]
    if not any(re.search(r"\bkind$", ast.unparse(side)) for side in sides if isinstance(side, ast.expr)):
        return ""
    texts = [part.value for side in sides for part in ast.walk(side) if isinstance(part, ast.Constant)]
    return next((text for text in texts if text in SOURCE_KINDS), "")


def exceptions_have_reasons(file: File) -> Iterator[str]:
    for line, text in file.comments:
        found = re.search(r"#\s*(noqa|type:\s*ignore)(:\s*[A-Z0-9, ]+\b|\[[\w\-, ]+\])?(.*)", text)
        if found and len(re.findall(r"[a-z]{2,}", found[3])) < 2:
            yield file.at(line, f"{found[1]} without its reason on the line")


def todos_have_numbers(file: File) -> Iterator[str]:
    for line, text in file.comments:
        if re.search(r"\b(TODO|FIXME|XXX)\b(?!\(\d{4}\))", text):
            yield file.at(line, "a TODO carries a decision number, TODO(0012), or does not exist")


def nothing_is_mocked(file: File) -> Iterator[str]:
    for node, name in imports(file, file.nodes):
        if name in MOCKS or name.rpartition(".")[0] in MOCKS:
            yield file.at(node, f"{name}: use real files, a real database, the simulator")
    for node in file.nodes:
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in {"monkeypatch", "mocker"}:
            if node.attr not in MONKEYPATCH_MAY:
                yield file.at(node, f"monkeypatch.{node.attr}: hand in what should differ")
        elif isinstance(node, ast.arg) and node.arg == "mocker":
            yield file.at(node, "mocker: use real files, a real database, the simulator")


def what_is_expected_is_not_raised(file: File) -> Iterator[str]:
    """A test that raises what it expects shows nothing of the program."""
    for node in file.nodes:
        if not isinstance(node, ast.With) or not isinstance(node.body[0], ast.Raise):
            continue
        if any(ast.unparse(each.context_expr).startswith("pytest.raises") for each in node.items):
            yield file.at(node, "the test itself raises what it expects: assert what the program said")


def statistics_are_made_in_stats(file: File) -> Iterator[str]:
    """One number has one maker: elsewhere a mean or an interval is asked for, never worked out."""
    if file.row in {"stats", *OWN_STATISTICS}:
        return
    for node, name in imports(file, file.nodes):
        if name.partition(".")[0] in {"statistics", "scipy"}:
            yield file.at(node, f"{name}: a statistic is made in stats and asked for there")
    for node in file.nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in STATISTICS
        ):
            yield file.at(node, f"{ast.unparse(node.func)}: a statistic is made in stats and asked for there")
        elif isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value in QUANTILES:
            yield file.at(node, f"{node.value} is a normal quantile: intervals are made in stats")
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Estimate" and _worked_out(node):
            yield file.at(node, "an Estimate of a figure worked out here: stats makes it")


def _worked_out(call: ast.Call) -> bool:
    """Whether any of the estimate's figures is an arithmetic expression: others are read back as they were kept."""
    figures = [*call.args, *(each.value for each in call.keywords)]
    return any(isinstance(node, ast.BinOp) for each in figures for node in ast.walk(each))


Rule = Callable[[File], Iterator[str]]
EVERYWHERE: list[Rule] = [says_what_it_is, file_is_small, exceptions_have_reasons, todos_have_numbers]
OF_CODE: list[Rule] = [
    functions_are_small,
    functions_are_flat,
    functions_take_few,
    returns_are_typed,
    names_are_exact,
]
OF_SRC: list[Rule] = [
    imports_go_down,
    numbers_load_late,
    excepts_are_narrow,
    nothing_happens_at_import,
    records_have_slots,
    manifests_are_typed,
    facts_have_types,
    statistics_are_made_in_stats,
    kinds_are_rows_of_a_table,
]
OF_TESTS: list[Rule] = [functions_are_small, nothing_is_mocked, what_is_expected_is_not_raised]
RULES = {"src": EVERYWHERE + OF_CODE + OF_SRC, "tools": EVERYWHERE + OF_CODE, "tests": EVERYWHERE + OF_TESTS}
