"""`mirage/1`: how the MIRAGE benchmark reads replies, so that its published figures can be checked.

It takes A where no letter is found: never use it for figures of your own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from proctor.suites.vocabulary import Vocabulary

KEY = '"answer_choice": "'
FALLBACK = "A"

# The first of these that is found decides. `re.match` looks at the beginning, `re.search` anywhere.
FORMS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(form)
    for form in (
        r"\A\s*([A-D])\s*\Z",
        r"\A\s*([A-D]) or",
        r"\A\s*([A-D]) and",
        r"\A\s*([A-D])/",
        r"\A\s*([A-D]),",
        r"[Oo]ption ([A-D])",
        r":\s*([A-D])",
        r"\A\s*([A-D])\.",
        r"\A\s*([A-D])\"",
        r"\A\s*([A-D]):",
    )
)


def mirage_letter(reply: str) -> str:
    """The letter from A to D that MIRAGE reads from a reply that is not empty."""
    said = reply.rpartition(KEY)[2]
    for form in FORMS:
        if (found := form.search(said)) is not None:
            return found[1]
    return FALLBACK


# The labels that MIRAGE asks for by letters, in their order: PubMedQA's.
LETTERED = (("yes", "no", "maybe"),)


def lettered_labels(known: Vocabulary) -> Mapping[str, str]:
    """The labels by MIRAGE's letters; empty for labels that it has none for."""
    names = tuple(dict.fromkeys(known.written.values()))
    return dict(zip("ABC", names, strict=True)) if names in LETTERED else {}
