"""The words that models are shown: every prompt by name, in its wordings.

The version of a prompt is part of what makes two scores comparable: change the words, raise it.
Every prompt of ours is one user turn that names the possible answers and asks for a last line to read.
"""

from __future__ import annotations

from collections.abc import Mapping

from proctor.sources.exams.prompts.exams import EXAM_PROMPTS, VERBATIM
from proctor.sources.exams.prompts.form import Writer
from proctor.sources.exams.prompts.glue import GLUE_PROMPTS
from proctor.sources.exams.prompts.superglue import SUPERGLUE_PROMPTS

# Wordings 1, 2 and 3 of each prompt; "verbatim" has only the row's own.
PROMPTS: Mapping[str, tuple[Writer, ...]] = {
    **GLUE_PROMPTS,
    **SUPERGLUE_PROMPTS,
    **EXAM_PROMPTS,
    "verbatim": VERBATIM,
}
