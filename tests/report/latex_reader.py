"""A small reader of the LaTeX that reports are made of: complains of what does not nest, gives the text shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|[{}$&#^_~%]|\n|[^\\{}$&#^_~%\n]+")

# What LaTeX shows for a command of the text.
SHOWN = {
    r"\textbackslash": "\\",
    r"\textasciicircum": "^",
    r"\textasciitilde": "~",
    r"\textasciigrave": "`",
    r"\textless": "<",
    r"\textgreater": ">",
    r"\textbar": "|",
    r"\textquotedbl": '"',
    r"\textminus": "-",
    r"\allowbreak": "",
    **{f"\\{c}": c for c in "{}$&#%_"},
}
# Commands that a report uses to build the page.
STRUCTURE = {
    r"\title",
    r"\author",
    r"\date",
    r"\maketitle",
    r"\section*",
    r"\textbf",
    r"\caption",
    r"\multicolumn",
    r"\thetable",
    r"\item",
    r"\\",
    r"\small",
    r"\footnotesize",
    r"\scriptsize",
    r"\toprule",
    r"\midrule",
    r"\bottomrule",
    r"\endfirsthead",
    r"\endhead",
    r"\endfoot",
}
# Letters and signs beyond ASCII, all of which the packages of the preamble define.
_NAMES = (
    "textendash textemdash textquoteleft textquoteright textquotedblleft textquotedblright quotedblbase "
    "guillemotleft guillemotright textellipsis textbullet textperiodcentered textexclamdown textquestiondown "
    "textsection textcopyright textregistered texttrademark textsterling textyen texteuro textdegree textmu "
    "texttimes textdiv textpm textlnot textonehalf textonequarter textthreequarters textonesuperior "
    "texttwosuperior textthreesuperior ss ae AE oe OE o O l L dj DJ dh DH th TH i u r H v c k ` ' ^ ~ = . \" "
    "ensuremath leq geq neq approx rightarrow leftarrow Rightarrow leftrightarrow infty in surd Gamma Delta "
    "Theta Lambda Xi Pi Sigma Phi Psi Omega alpha beta gamma delta varepsilon zeta eta theta iota kappa lambda "
    "mu nu xi pi rho varsigma sigma tau upsilon varphi chi psi omega"
)
LETTERS = {f"\\{name}" for name in _NAMES.split()}
ENVIRONMENTS = {"document", "quote", "itemize", "longtable"}


@dataclass
class Document:
    """What was read: the text as shown, and each table's columns with its rows of cells."""

    preamble: str
    shown: str = ""
    columns: list[int] = field(default_factory=list)
    rows: list[list[list[str]]] = field(default_factory=list)


def shown(text: str, form: str) -> str:
    """A report's text as it is read on the page, where LaTeX has its own way of writing it."""
    return read(text).shown if form == "latex" else text


def read(text: str) -> Document:
    """Raises AssertionError where a brace or an environment is not closed, or a special stands bare."""
    preamble, begin, body = text.partition("\\begin{document}")
    tokens = TOKEN.findall(begin + body)
    assert "".join(tokens) == begin + body
    found = Document(preamble)
    open_: list[str] = []
    shown: list[str] = []
    place = 0
    while place < len(tokens):
        token, place = tokens[place], place + 1
        if token in (r"\begin", r"\end"):
            name, place = tokens[place + 1], place + 3
            assert name in ENVIRONMENTS
            if token == r"\begin":
                open_.append(name)
            else:
                assert open_.pop() == name, f"\\end{{{name}}} closes something else"
            if token == r"\begin" and name == "longtable":
                place = _columns(tokens, place, found)
        elif token == "{":
            open_.append("{")
        elif token == "}":
            assert open_, "a brace too many"
            assert open_.pop() == "{", "a brace closes an environment"
        elif token == "&":
            assert open_[-1] == "longtable", "& outside a table"
            shown.append("\x1f")
        elif token.startswith("\\"):
            assert token in SHOWN or token in STRUCTURE or token in LETTERS, f"no report uses {token}"
            shown.append(SHOWN.get(token, "\x1e" if token == r"\\" else "\x1d"))
        else:
            assert token == "\n" or not re.fullmatch(r"[$#^_~%]", token), f"bare {token!r}"
            shown.append(token)
    assert open_ == [], f"never closed: {open_}"
    whole = "".join(shown)
    found.shown = re.sub(r"[ \n]+", " ", re.sub("[\x1d\x1e\x1f]", " ", whole))
    return found


def _columns(tokens: list[str], place: int, found: Document) -> int:
    """Counts the columns of a table and its cells; gives the place behind the list of columns."""
    start, depth = place, 0
    while place == start or depth:
        depth += {"{": 1, "}": -1}.get(tokens[place], 0)
        place += 1
    columns = re.findall(r"[LR]\{(0\.\d{4})\}", "".join(tokens[start:place]))
    assert 0 < sum(map(float, columns)) < 1.001, "wider than the page"
    found.columns.append(len(columns))
    rest = "".join(tokens[place:])
    lines = rest[: rest.index(r"\end{longtable}")].split("\\endfoot\n")[1].splitlines()
    found.rows.append([re.split(r"(?<!\\)&", line) for line in lines])
    assert all(line.endswith(r"\\") for line in lines)
    return place
