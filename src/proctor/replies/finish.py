"""How a reply ended when nobody says so: whole, or perhaps cut in the middle of a sentence."""

from __future__ import annotations

import re

UNSAID = "unknown"
FEWEST_WORDS = 6  # a shorter last line may be an answer without a full stop
FEWEST_CHARS = 16  # the same where words are not set apart
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
# A line that goes on: it ends in a word of two letters or more, a comma or an opening sign.
GOES_ON = re.compile(
    r"(?:[^\W\d_]{2,}|[^\W\d_]['\u2019][^\W\d_]{1,2}"
    r"|[,(\u201e\u201c\u00ab;\u2013\u2014-]|[\uff0c\u3001])\Z"
)


def as_it_looks(text: str) -> str:
    """ "cut?" for a reply without a finish reason that ends inside a sentence, else "unknown".

    >>> [as_it_looks(text) for text in ("Ferritin is low, so this must be due to", "So the answer is B", "iron")]
    ['cut?', 'unknown', 'unknown']
    """
    line = text.rstrip().rpartition("\n")[2][-400:]
    long = len(UNSPACED.findall(line)) >= FEWEST_CHARS or len(line.split()) >= FEWEST_WORDS
    return "cut?" if long and GOES_ON.search(line) else UNSAID
