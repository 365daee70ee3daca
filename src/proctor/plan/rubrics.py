"""A rubric as somebody writes it by hand: TOML with criteria, each with what it asks, a scale and a weight.

    name = "helpful"
    guidance = "You grade replies of a shop's support."

    [[criteria]]
    name = "solved"
    asks = "Does the reply solve what the customer asks for?"
    scale = "pass/fail"
    weight = 2

What a rubric says is its identity (`GradingRubric.sha256`): comments, the order of keys and white space around texts
are not.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import cast, get_args

from proctor.errors import ConfigError
from proctor.given_files import toml_table
from proctor.plan.table import TableFaults, TableReader, Unread
from proctor.references import WORTH, Criterion, GradingRubric, Scale

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,60}")  # stands in graders' names and in ids of items
MOST_CRITERIA = 20
MOST_CHARACTERS = 20_000  # of a guidance; each call of a judge shows it
WEIGHTS = (0.001, 1000.0)


def rubric_file(path: Path) -> GradingRubric:
    """The rubric of a TOML file; without a name in it, it has that of the file. Raises: ConfigError."""
    try:
        body = path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"Rubric {path} does not exist") from None
    except OSError as error:
        raise ConfigError(f"Rubric {path} cannot be read: {error.strerror}") from None
    return rubric_toml(body, str(path), name=_as_name(path.stem))


def rubric_toml(body: bytes, where: str = "rubric", *, name: str | None = None) -> GradingRubric:
    """The rubric that TOML tells; `name` counts where it has none. Raises: ConfigError, which names line or key."""
    table = toml_table(body, where)
    return rubric_of({"name": name, **table} if name else table, where)


def rubric_of(table: Unread, where: str = "rubric") -> GradingRubric:
    """The rubric of a table, of TOML or JSON. Raises: ConfigError with every fault."""
    faults = TableFaults(where)
    reader = TableReader(table, faults)
    name = _name(reader)
    guidance = _prose(reader, "guidance")
    listed = reader.take("criteria", list)
    if not listed:
        reader.note("criteria", "there is no [[criteria]] table; each asks one thing of a reply")
    criteria = [_criterion(each, number, faults) for number, each in enumerate(listed or [], 1)]
    names = [each.name for each in criteria]
    for twice in sorted({each for each in names if each and names.count(each) > 1}):
        reader.note("criteria", f"two are called {twice!r}; names have to differ")
    if len(criteria) > MOST_CRITERIA:
        reader.note("criteria", f"{len(criteria)} of them; at most {MOST_CRITERIA} are asked of a reply")
    if name is None and "name" not in table:
        reader.note("name", "it is missing")
    reader.close()
    faults.complain()
    return GradingRubric(name or "", tuple(criteria), guidance)


def rubric_table(rubric: GradingRubric) -> Unread:
    """What `rubric_of` reads as this rubric: a JSON object."""
    criteria = [
        {"name": each.name, "asks": each.asks, "scale": each.scale, "weight": each.weight}
        for each in rubric.criteria
    ]
    return {"name": rubric.name, "guidance": rubric.guidance, "criteria": criteria}


def rubric_text(rubric: GradingRubric) -> str:
    """The TOML that means this rubric."""
    table = rubric_table(rubric)
    lines = [f"{key} = {_quoted(table[key])}" for key in ("name", "guidance") if table[key]]
    for each in table["criteria"]:
        lines += ["", "[[criteria]]"]
        lines += [
            f"{key} = {_quoted(value) if isinstance(value, str) else f'{value:g}'}"
            for key, value in each.items()
        ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    # A basic string of TOML has the escapes of JSON, but for DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _criterion(table: object, number: int, faults: TableFaults) -> Criterion:
    place = f"[[criteria]] {number}"
    if not isinstance(table, dict):
        faults.note(f"{place}: it is no table with name and asks")
        return Criterion("", "")
    if isinstance(table.get("name"), str):
        place += f" ({table['name'][:40]!r})"
    reader = TableReader(table, faults, place)
    name, asks = _name(reader), " ".join(_prose(reader, "asks").split())
    if name is None and "name" not in table:
        reader.note("name", "it is missing")
    if not asks and not isinstance(table.get("asks"), str):
        reader.note("asks", "it is missing: the question or demand that a reply is graded by")
    scale = reader.word("scale", tuple(WORTH)) or get_args(Scale)[0]
    weight = reader.number("weight", *WEIGHTS)
    reader.close()
    return Criterion(name or "", asks, cast("Scale", scale), 1.0 if weight is None else weight)


def _as_name(stem: str) -> str:
    """A file's name as a name, with - for what none has."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", stem).strip("-_.")[:61] or "rubric"


def _name(reader: TableReader) -> str | None:
    name = reader.text("name")
    if name is not None and NAME.fullmatch(name) is None:
        reader.note("name", f"{name!r}: letters, digits, '_', '-' and '.' make a name, at most 61 of them")
    return name


def _prose(reader: TableReader, key: str) -> str:
    """A text of one or several lines, without white space at the ends of lines."""
    text = reader.take(key, str) or ""
    if "\0" in text or len(text) > MOST_CHARACTERS:
        reader.note(key, f"a text of at most {MOST_CHARACTERS:,} characters, without NUL")
    if key in reader.table and isinstance(reader.table[key], str) and not text.strip() and key == "asks":
        reader.note(key, "it is empty")
    return "\n".join(line.rstrip() for line in text.strip().splitlines())
