"""A report as GitHub's Markdown: the same contents without the plot, whose numbers stand in the tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from proctor.report.blocks import Heading, Listing, Notice, Page, PairWalked, Paragraph, Plot, Table, plain

_ENTITIES: Mapping[str, str] = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# An underscore inside a word is no mark-up, and model names are full of them.
# A bracket makes a link only together with what follows it; intervals stay legible.
_MARKUP = re.compile(r"[\\`*|~&<>]|\](?=[\[(:])|(?<![^\W_])_|_(?![^\W_])")
_LINE_START = re.compile(r"^(\d{1,9})([.)])(?=\s|$)|^([#+=-])")


def to_markdown(page: Page) -> str:
    parts = [f"# {safe(page.title)}", _line(page.subtitle)]
    parts += [text for block in page.blocks if (text := _WRITERS[type(block)](block))]
    return "\n\n".join(parts) + "\n"


def safe(text: str) -> str:
    """Text that is only text: what Markdown or HTML would take for mark-up is escaped.

    >>> safe("a|b <i> [x](y) no_answer _z_")
    'a\\\\|b &lt;i&gt; [x\\\\](y) no_answer \\\\_z\\\\_'
    """
    return _MARKUP.sub(lambda found: _ENTITIES.get(found[0], f"\\{found[0]}"), plain(text))


def _line(text: str) -> str:
    """A paragraph; its beginning must not look like a heading, a list or a rule."""
    return _LINE_START.sub(lambda m: f"\\{m[3]}" if m[3] else f"{m[1]}\\{m[2]}", safe(text))


def _table(block: Table) -> str:
    rules = ["---:" if i in block.numbers else "---" for i in range(len(block.heads))]
    rows = [_row(map(safe, block.heads)), _row(rules), *(_row(map(safe, row)) for row in block.rows)]
    return f"{_line(block.caption)}:\n\n" + "\n".join(rows)


def _row(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _no_plot(block: Plot | PairWalked) -> str:
    return ""


_WRITERS: Mapping[type, Callable[[Any], str]] = {
    Heading: lambda block: f"## {safe(block.text)}",
    Paragraph: lambda block: _line(block.text),
    Notice: lambda block: f"> **{safe(block.lead)}** {safe(block.text)}",
    Listing: lambda block: "\n".join(f"- {_line(entry)}" for entry in block.entries),
    Table: _table,
    Plot: _no_plot,
    PairWalked: _no_plot,
}
