"""A report as one HTML file: its style inside, no script, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from proctor.report.blocks import Heading, Listing, Notice, Page, PairWalked, Paragraph, Plot, Table, plain
from proctor.report.plot import axis, svg, walk_svg
from proctor.report.style import CSS

# Should a hostile text ever get past the escaping, the browser itself still loads and runs nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def to_html(page: Page) -> str:
    """A complete HTML5 document."""
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{safe(page.title)}</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n<main>\n"
    )
    body = "\n".join(_WRITERS[type(block)](block) for block in page.blocks)
    top = f'<h1>{safe(page.title)}</h1>\n<p class="when">{safe(page.subtitle)}</p>\n'
    return f"{head}{top}{body}\n</main>\n</body>\n</html>\n"


def safe(text: str) -> str:
    """Text that is only text, in content and in quoted attributes.

    >>> safe("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return escape(plain(text), quote=True)


def _heading(block: Heading) -> str:
    return f"<h2>{safe(block.text)}</h2>"


def _paragraph(block: Paragraph) -> str:
    return f"<p>{safe(block.text)}</p>"


def _notice(block: Notice) -> str:
    return f'<p class="notice {block.kind}"><strong>{safe(block.lead)}</strong> {safe(block.text)}</p>'


def _listing(block: Listing) -> str:
    entries = "\n".join(f"<li>{safe(entry)}</li>" for entry in block.entries)
    return f"<ul>\n{entries}\n</ul>"


def _table(block: Table) -> str:
    """In a box of its own, which scrolls where the page is narrow, by keyboard too."""

    def kind(column: int) -> str:
        return ' class="number"' if column in block.numbers else ""

    heads = "".join(f'<th scope="col"{kind(i)}>{safe(head)}</th>' for i, head in enumerate(block.heads))
    rows = []
    for first, *others in block.rows:
        cells = "".join(f"<td{kind(i)}>{safe(cell)}</td>" for i, cell in enumerate(others, start=1))
        rows.append(f'<tr><th scope="row">{safe(first)}</th>{cells}</tr>')
    caption = safe(block.caption)
    return (
        f'<div class="box" role="region" aria-label="{caption}" tabindex="0">\n<table>\n'
        f"<caption>{caption}</caption>\n<thead>\n<tr>{heads}</tr>\n</thead>\n<tbody>\n"
        + "\n".join(rows)
        + "\n</tbody>\n</table>\n</div>"
    )


def _plot(block: Plot) -> str:
    zoom = " The axis shows a part of the range from 0 to 1." if axis(block.dots).zoomed else ""
    return f"<figure>\n{svg(block)}\n<figcaption>{safe(block.title)}.{zoom}</figcaption>\n</figure>"


def _walk(block: PairWalked) -> str:
    return f"<figure>\n{walk_svg(block)}\n<figcaption>{safe(block.said)}</figcaption>\n</figure>"


_WRITERS: Mapping[type, Callable[[Any], str]] = {
    Heading: _heading,
    Paragraph: _paragraph,
    Notice: _notice,
    Listing: _listing,
    Table: _table,
    Plot: _plot,
    PairWalked: _walk,
}
