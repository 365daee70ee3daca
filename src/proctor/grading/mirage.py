"""`mirage/1`: how the MIRAGE benchmark reads replies, so that its published figures can be checked.

It takes A where no letter is found: never use it for figures of your own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from proctor.grading.vocabulary import Vocabulary

KEY = '"answer_choice": "'
FALLBACK = "A"

# The first of these that is found decides; those of `match` stand at the beginning, those of `search` anywhere.
FORMS = (
    re.compile(r"([A-D])\s*\Z").match,
    re.compile(r"([A-D]) or").match,
    re.compile(r"([A-D]) and").match,
    re.compile(r"([A-D])/").match,
    re.compile(r"([A-D]),").match,
    re.compile(r"[Oo]ption ([A-D])").search,
    re.compile(r":\s*([A-D])").search,
    re.compile(r"([A-D])\.").match,
    re.compile(r"([A-D])\"").match,
    re.compile(r"([A-D]):").match,
)


def mirage_letter(reply: str) -> str:
    """The letter from A to D that MIRAGE reads from a reply that is not empty."""
    said = reply.rpartition(KEY)[2].lstrip()
    for look in FORMS:
        if (found := look(said)) is not None:
            return found[1]
    return FALLBACK


# The labels that MIRAGE asks for by letters, in their order: PubMedQA's.
LETTERED = (("yes", "no", "maybe"),)


def lettered_labels(known: Vocabulary) -> Mapping[str, str]:
    """The labels by MIRAGE's letters; empty for labels that it has none for."""
    names = tuple(dict.fromkeys(known.written.values()))
    return dict(zip("ABC", names, strict=True)) if names in LETTERED else {}
