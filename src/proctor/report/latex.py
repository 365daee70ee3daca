"""A report as one LaTeX document: pdflatex compiles it as it is, and its tables can go into a paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proctor.report.blocks import Heading, Listing, Notice, Page, PairWalked, Paragraph, Plot, Table
from proctor.report.latex_letters import safe

PACKAGES = ("fontenc", "lmodern", "textcomp", "geometry", "array", "booktabs", "longtable")

# The interval plot is left out: its numbers stand in the table of scores, and a paper draws its own figures.
_PREAMBLE = r"""% A report by proctor, in plain ASCII; compile it with pdflatex.
% Packages, all of them in TeX Live's basic and recommended collections: {packages}.
% The interval plot of the HTML report is left out; its numbers stand in the table of scores.
\documentclass[10pt,a4paper]{article}
\usepackage[T1]{fontenc}
\usepackage{lmodern}
\usepackage{textcomp}
\usepackage[margin=20mm]{geometry}
\usepackage{array}
\usepackage{booktabs}
\usepackage{longtable}
\newcolumntype{L}[1]{>{\raggedright\arraybackslash}p{\dimexpr #1\linewidth-2\tabcolsep\relax}}
\newcolumntype{R}[1]{>{\raggedleft\arraybackslash}p{\dimexpr #1\linewidth-2\tabcolsep\relax}}
\setlength{\LTcapwidth}{\linewidth}
\setlength{\tabcolsep}{3pt}
\setlength{\emergencystretch}{3em}
"""

# How many letters a line of a table may hold, and the size it is set in; wider tables are set smallest.
_SIZES = ((95, r"\small"), (115, r"\footnotesize"))
_SMALLEST = r"\scriptsize"
_HOLDS = 129  # letters that the smallest size has room for
_FILLS = 72  # letters from which a table is as wide as the page
_NARROWEST, _WIDEST = 5, 36  # letters that a column is given room for
_GAP = 2  # letters between two columns


def to_latex(page: Page) -> str:
    """A complete document in ASCII."""
    parts = [
        _PREAMBLE.replace("{packages}", ", ".join(PACKAGES)),
        f"\\title{{{safe(page.title)}}}\n\\author{{}}\n\\date{{{safe(page.subtitle)}}}\n",
        "\\begin{document}\n\\maketitle\n",
        *(f"{text}\n" for block in page.blocks if (text := _WRITERS[type(block)](block))),
        "\\end{document}",
    ]
    return "\n".join(parts) + "\n"


def _notice(block: Notice) -> str:
    return f"\\begin{{quote}}\n\\textbf{{{safe(block.lead)}}} {safe(block.text)}\n\\end{{quote}}"


def _listing(block: Listing) -> str:
    entries = "\n".join(f"\\item {safe(entry)}" for entry in block.entries)
    return f"\\begin{{itemize}}\n{entries}\n\\end{{itemize}}"


def _table(block: Table) -> str:
    """A table that goes on over the pages, its heads repeated."""
    letters = _fitted(block, [_letters(block, place) for place in range(len(block.heads))])
    size = next((size for most, size in _SIZES if sum(letters) <= most), _SMALLEST)
    heads = f"\\toprule\n{_row(block.heads)}\n\\midrule"
    continued = f"\\multicolumn{{{len(letters)}}}{{l}}{{Table \\thetable{{}}, continued}}\\\\"
    rows = "\n".join(map(_row, block.rows))
    return (
        f"{{{size}\n\\begin{{longtable}}{{{_columns(block, letters)}}}\n\\caption{{{safe(block.caption)}}}\\\\\n"
        f"{heads}\n\\endfirsthead\n{continued}\n{heads}\n\\endhead\n\\bottomrule\n\\endfoot\n"
        f"{rows}\n\\end{{longtable}}}}"
    )


def _row(cells: Sequence[str]) -> str:
    return f"{' & '.join(map(safe, cells))} \\\\"


def _columns(block: Table, letters: Sequence[int]) -> str:
    """A column's share of the line follows the longest text in it; figures stand at the right."""
    whole = max(sum(letters), _FILLS)
    kinds = ("R" if place in block.numbers else "L" for place in range(len(letters)))
    return "".join(f"{kind}{{{n / whole:.4f}}}" for kind, n in zip(kinds, letters, strict=True))


def _letters(block: Table, place: int) -> int:
    longest = max((len(row[place]) for row in block.rows), default=0)
    words = max(map(len, block.heads[place].split()), default=0)  # a head may stand on several lines
    return min(_WIDEST, max(_NARROWEST, longest, words)) + _GAP


def _fitted(block: Table, letters: list[int]) -> list[int]:
    """Words give way to figures where a line has too little room for both: words can stand on several lines."""
    places = [place for place in range(len(letters)) if place not in block.numbers]
    spare = {place: max(0, letters[place] - _longest_word(block, place)) for place in places}
    over = min(sum(letters) - _HOLDS, sum(spare.values()))
    if over <= 0:
        return letters
    share = over / sum(spare.values())
    return [n - math.ceil(spare.get(place, 0) * share) for place, n in enumerate(letters)]


def _longest_word(block: Table, place: int) -> int:
    texts = [block.heads[place], *(row[place] for row in block.rows)]
    return max(_NARROWEST, *(len(word) for text in texts for word in text.split() or [""])) + _GAP


def _no_plot(block: Plot | PairWalked) -> str:
    return ""


_WRITERS: Mapping[type, Callable[[Any], str]] = {
    Heading: lambda block: f"\\section*{{{safe(block.text)}}}",
    Paragraph: lambda block: safe(block.text),
    Notice: _notice,
    Listing: _listing,
    Table: _table,
    Plot: _no_plot,
    PairWalked: _no_plot,
}
