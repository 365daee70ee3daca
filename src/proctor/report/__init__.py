"""Reports: runs and what they show, as one HTML, Markdown or LaTeX text that needs no server and no other file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from proctor.errors import ConfigError
from proctor.findings import Evaluation
from proctor.report.blocks import Block, Page
from proctor.report.html import to_html
from proctor.report.latex import to_latex
from proctor.report.markdown import to_markdown
from proctor.report.page import page_of

FORMATS: Mapping[str, Callable[[Page], str]] = {
    "html": to_html,
    "md": to_markdown,
    "latex": to_latex,
}


def render(
    evaluation: Evaluation,
    format: str,  # noqa: A002 - the word that callers and the command line use
    *,
    now: float,
    beside: Sequence[Block] = (),
) -> str:
    """The whole report as text, `format` being one of FORMATS; `now` (Unix time) is the date it is given.

    `beside` is what else is known of the runs: it stands between the figures and the methods.

    Raises ConfigError for a format that is not in FORMATS.
    """
    if format not in FORMATS:
        raise ConfigError(f"No report format {format!r}. Formats: {', '.join(FORMATS)}")
    return FORMATS[format](page_of(evaluation, now=now, beside=beside))
