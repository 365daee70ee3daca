"""bill.py as its text tells it: it is read here, and not run."""

import ast
from pathlib import Path

TREE = ast.parse(Path("/app/repo/bill.py").read_text())


def functions():
    return [each for each in ast.walk(TREE) if isinstance(each, (ast.FunctionDef, ast.Lambda))]


def lines(function):
    """From `def` to the last line, without the docstring."""
    length = function.end_lineno - function.lineno + 1
    first = function.body[0] if isinstance(function.body, list) else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        length -= first.end_lineno - first.lineno + 1
    return length
