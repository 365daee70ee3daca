"""Any text as LaTeX that only shows it: specials escaped, other scripts spelled, long words breakable."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping

from proctor.report.blocks import plain

BREAK = r"\allowbreak{}"
_LONG_WORD = 14  # letters; a longer word, such as a hash or a model's name, may be broken
_LONG_RUN = 12  # letters and digits in a row, after which a long word may be broken
_JOINTS = frozenset("/:_.,;-@=|+&#")

# TeX joins these when they stand in a row: -- would be set as a dash, '' as a quotation mark.
_JOINING = frozenset("-',")
# A minus before a number, and no hyphen in a word, a date or an option.
_MINUS = re.compile(r"(?<![^\s\[(])-(?=\d)")

_SPECIALS: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
}

_SIGNS: Mapping[str, str] = {
    "\u2212": r"\textminus{}",
    "\u2010": "-",
    "\u2011": "-",
    "\u2013": r"\textendash{}",
    "\u2014": r"\textemdash{}",
    "\u2018": r"\textquoteleft{}",
    "\u2019": r"\textquoteright{}",
    "\u201c": r"\textquotedblleft{}",
    "\u201d": r"\textquotedblright{}",
    "\u201e": r"\quotedblbase{}",
    "\u00ab": r"\guillemotleft{}",
    "\u00bb": r"\guillemotright{}",
    "\u2026": r"\textellipsis{}",
    "\u2022": r"\textbullet{}",
    "\u00b7": r"\textperiodcentered{}",
    "\u00a1": r"\textexclamdown{}",
    "\u00bf": r"\textquestiondown{}",
    "\u00a7": r"\textsection{}",
    "\u00a9": r"\textcopyright{}",
    "\u00ae": r"\textregistered{}",
    "\u2122": r"\texttrademark{}",
    "\u00a3": r"\textsterling{}",
    "\u00a5": r"\textyen{}",
    "\u20ac": r"\texteuro{}",
    "\u00b0": r"\textdegree{}",
    "\u00b5": r"\textmu{}",
    "\u00d7": r"\texttimes{}",
    "\u00f7": r"\textdiv{}",
    "\u00b1": r"\textpm{}",
    "\u00ac": r"\textlnot{}",
    "\u00bd": r"\textonehalf{}",
    "\u00bc": r"\textonequarter{}",
    "\u00be": r"\textthreequarters{}",
    "\u00b9": r"\textonesuperior{}",
    "\u00b2": r"\texttwosuperior{}",
    "\u00b3": r"\textthreesuperior{}",
    "\u00df": r"\ss{}",
    "\u00e6": r"\ae{}",
    "\u00c6": r"\AE{}",
    "\u0153": r"\oe{}",
    "\u0152": r"\OE{}",
    "\u00f8": r"\o{}",
    "\u00d8": r"\O{}",
    "\u0142": r"\l{}",
    "\u0141": r"\L{}",
    "\u0111": r"\dj{}",
    "\u0110": r"\DJ{}",
    "\u00f0": r"\dh{}",
    "\u00d0": r"\DH{}",
    "\u00fe": r"\th{}",
    "\u00de": r"\TH{}",
    "\u0131": r"\i{}",
}

# In mathematics; the text fonts of pdfLaTeX do not have them.
_MATHEMATICS: Mapping[str, str] = {
    "\u2264": "leq",
    "\u2265": "geq",
    "\u2260": "neq",
    "\u2248": "approx",
    "\u2192": "rightarrow",
    "\u2190": "leftarrow",
    "\u21d2": "Rightarrow",
    "\u2194": "leftrightarrow",
    "\u221e": "infty",
    "\u2208": "in",
    "\u221a": "surd",
    "\u0393": "Gamma",
    "\u0394": "Delta",
    "\u0398": "Theta",
    "\u039b": "Lambda",
    "\u039e": "Xi",
    "\u03a0": "Pi",
    "\u03a3": "Sigma",
    "\u03a6": "Phi",
    "\u03a8": "Psi",
    "\u03a9": "Omega",
    "\u03b1": "alpha",
    "\u03b2": "beta",
    "\u03b3": "gamma",
    "\u03b4": "delta",
    "\u03b5": "varepsilon",
    "\u03b6": "zeta",
    "\u03b7": "eta",
    "\u03b8": "theta",
    "\u03b9": "iota",
    "\u03ba": "kappa",
    "\u03bb": "lambda",
    "\u03bc": "mu",
    "\u03bd": "nu",
    "\u03be": "xi",
    "\u03c0": "pi",
    "\u03c1": "rho",
    "\u03c2": "varsigma",
    "\u03c3": "sigma",
    "\u03c4": "tau",
    "\u03c5": "upsilon",
    "\u03c6": "varphi",
    "\u03c7": "chi",
    "\u03c8": "psi",
    "\u03c9": "omega",
}

# Combining marks as the accents that the T1 fonts have on Latin letters.
_ACCENTS: Mapping[str, str] = {
    "\u0300": r"\`",
    "\u0301": r"\'",
    "\u0302": r"\^",
    "\u0303": r"\~",
    "\u0304": r"\=",
    "\u0306": r"\u",
    "\u0307": r"\.",
    "\u0308": r"\"",
    "\u030a": r"\r",
    "\u030b": r"\H",
    "\u030c": r"\v",
    "\u0327": r"\c",
    "\u0328": r"\k",
}


def safe(text: str) -> str:
    r"""One line of ASCII that LaTeX sets as `text`; what pdfLaTeX has no letter for is shown as its code point.

    >>> print(safe("a_b {50 %} -- [-0.014]"), safe("caf\u00e9 \u4e2d"))
    a\_b \{50 \%\} -{}- [\textminus{}0.014] caf\'{e} [U+4E2D]
    """
    line = _MINUS.sub("\u2212", unicodedata.normalize("NFC", plain(text)))
    written = " ".join("".join(_word(word)) for word in line.split(" "))
    # After the end of a row or an \item, LaTeX would take [ for an option and * for a variant.
    return f"{{}}{written}" if written.startswith(("[", "*")) else written


def _word(word: str) -> Iterator[str]:
    long, run, before = len(word) > _LONG_WORD, 0, ""
    for place, c in enumerate(word, start=1):
        if c == before and c in _JOINING:
            yield "{}"
        yield letter(c)
        before, run = c, run + 1
        joint = c in _JOINTS or not c.isascii()
        if long and place < len(word) and (joint or run >= _LONG_RUN):
            yield BREAK
            run = 0


def letter(c: str) -> str:
    r"""One character.

    >>> letter("%"), letter("\u03b1"), letter("\u00fc"), letter("\u00ad")
    ('\\%', '\\ensuremath{\\alpha}', '\\"{u}', '[U+00AD]')
    """
    if c in _SPECIALS:
        return _SPECIALS[c]
    if " " <= c <= "~":
        return c
    if c in _SIGNS:
        return _SIGNS[c]
    if c in _MATHEMATICS:
        return f"\\ensuremath{{\\{_MATHEMATICS[c]}}}"
    parts = unicodedata.normalize("NFD", c)
    base, marks = parts[:1], parts[1:]
    if marks in _ACCENTS and base.isascii() and base.isalpha():
        return f"{_ACCENTS[marks]}{{{base}}}"
    return f"[U+{ord(c):04X}]"
