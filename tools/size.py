"""Print how large the program is: files and lines by package, the longest file, the longest function."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAYOUT = {
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of code, of comments and docstrings, and blank ones."""

    code: int = 0
    words: int = 0
    blank: int = 0

    def __add__(self, other: Lines) -> Lines:
        return Lines(self.code + other.code, self.words + other.words, self.blank + other.blank)

    @property
    def total(self) -> int:
        return self.code + self.words + self.blank


@dataclass(frozen=True, slots=True)
class Measured:
    """A file with its lines, and its longest function as (lines, name)."""

    path: Path
    lines: Lines
    longest: tuple[int, str]


def count(text: str) -> Lines:
    """A line with code and a comment is a line of code; a blank line in a docstring is words.

    >>> count('"x"\\n\\nA = 1  # why\\n# how\\n')
    Lines(code=1, words=2, blank=1)
    """
    docstrings = set(_docstring_lines(ast.parse(text)))
    code: set[int] = set()
    comments: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        rows = range(token.start[0], token.end[0] + 1)
        if token.type == tokenize.COMMENT:
            comments.update(rows)
        elif token.type not in LAYOUT:
            code.update(rows)
    code -= docstrings
    words = (comments - code) | docstrings
    return Lines(len(code), len(words), len(text.splitlines()) - len(code | words))


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node) is not None:
            yield from range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)


def measure(path: Path) -> Measured:
    text = path.read_text(encoding="utf-8")
    functions = [
        ((n.end_lineno or n.lineno) - n.lineno + 1, n.name)
        for n in ast.walk(ast.parse(text))
        if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return Measured(path, count(text), max(functions, default=(0, "-")))


def package(path: Path) -> str:
    """The package of a file in src, with the packages around it; else the folder at the top: tests, tools."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[1:-1]) if parts[0] == "src" else parts[0]


def report(files: Sequence[Measured]) -> list[str]:
    groups: dict[str, list[Measured]] = {}
    for file in files:
        groups.setdefault(package(file.path), []).append(file)
    out = [
        f"{'package':34}{'files':>7}{'code':>8}{'words':>8}{'blank':>8}{'total':>8}  longest file, longest function"
    ]
    source = [file for file in files if file.path.is_relative_to(ROOT / "src")]
    for name, members in [*groups.items(), ("src", source), ("all", list(files))]:
        lines = sum((m.lines for m in members), Lines())
        file = max(members, key=lambda m: m.lines.total)
        function = max(members, key=lambda m: m.longest)
        out.append(
            f"{name:34}{len(members):7,}{lines.code:8,}{lines.words:8,}{lines.blank:8,}{lines.total:8,}  "
            f"{file.path.name} {file.lines.total}, {function.path.name}:{function.longest[1]} {function.longest[0]}"
        )
    return out


def main() -> int:
    paths = [p for folder in ("src/proctor", "tests", "tools") for p in sorted((ROOT / folder).rglob("*.py"))]
    print("\n".join(report([measure(path) for path in paths])))
    return 0


if __name__ == "__main__":
    sys.exit(main())
