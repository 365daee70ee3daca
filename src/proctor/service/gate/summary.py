"""What a gate found, as Markdown for a pull request: the verdict, both scores, and items that were right before.

Words of models and of files are text there and nothing else: no mark-up, no links, nobody is mentioned by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from proctor.errors import ConfigError
from proctor.figures import dollars, duration, estimate, title_of
from proctor.findings import RunResult, Score
from proctor.printable import in_one_line
from proctor.report.markdown import safe
from proctor.service.gate.gate import GateFound, said

MOST_CHARACTERS = 60  # of an answer in a cell
JOINER = "\N{WORD JOINER}"
LINKED = re.compile(r"@|#(?=\d)|:(?=//)|www(?=\.)")


def summary(found: GateFound) -> str:
    """Markdown of some lines, with a line's end at its end."""
    return "\n".join(_lines(found)) + "\n"


def write_summary(text: str, path: Path, *, append: bool = False) -> None:
    """Raises: ConfigError for a file that cannot be written."""
    try:
        with path.open("a" if append else "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise ConfigError(f"{path}: the summary cannot be written: {error.strerror}") from error


def _lines(found: GateFound) -> Iterator[str]:
    run, word = found.run, "passed" if found.passed else "FAILED"
    mark = "\N{WHITE HEAVY CHECK MARK}" if found.passed else "\N{CROSS MARK}"
    yield f"### {mark} proctor gate {word}: {text(run.source_title)}, {text(str(run.cell.model))}"
    yield ""
    yield f"**{safe(found.sentence)}**"
    if found.evaluation is None or found.pair is None:
        yield ""
        yield f"`proctor gate accept {run.id[:8]}` makes this run the accepted one."
        return
    yield ""
    yield from _scores(found.evaluation.results, found.evaluation.compared)
    yield ""
    yield text(found.evaluation.verdict)
    yield from _lost(found)
    yield ""
    yield f"To see more: `proctor show {run.id[:8]}` where it was run."


def _scores(results: Sequence[RunResult], compared: Sequence[Score]) -> Iterator[str]:
    """Both runs, on the items that both have scored."""
    yield "| | accepted | now |"
    yield "|---|---|---|"
    rows = (
        ("run", [result.run.id[:8] for result in results]),
        ("model", [text(str(result.run.cell.model)) for result in results]),
        (text(title_of(compared[0].metric)), [estimate(score.estimate) for score in compared]),
        ("shared items", [f"{score.estimate.scored:,}" for score in compared]),
        ("items without an outcome", [f"{result.run.unmeasured:,}" for result in results]),
        ("time", [duration(result.run.elapsed_s) for result in results]),
        ("cost", [dollars(result.tally.cost_usd) for result in results]),
    )
    for head, cells in rows:
        yield f"| {head} | {' | '.join(cells)} |"


def _lost(found: GateFound) -> Iterator[str]:
    if not found.lost:
        return
    assert found.pair is not None
    more = f"the first {len(found.lost):,} of {found.losses:,}" if found.losses > len(found.lost) else "all"
    yield ""
    yield f"Items that scored higher before ({more}):"
    yield ""
    yield "| item | right answer | accepted run | now |"
    yield "|---|---|---|---|"
    for item in found.lost:
        cells = (
            item.item_id,
            item.target or "-",
            said(item, found.pair.first),
            said(item, found.pair.second),
        )
        yield f"| {' | '.join(map(_cell, cells))} |"


def text(words: str) -> str:
    r"""Words from outside as text of one line. GitHub would make links of addresses and call people by their names:
    a word joiner, which nobody sees, keeps it from that.

    >>> ascii(text("@ann |*x*| <b> http://a"))
    "'@\\u2060ann \\\\|\\\\*x\\\\*\\\\| &lt;b&gt; http:\\u2060//a'"
    """
    line = " ".join(in_one_line(words).split())
    return LINKED.sub(lambda found: f"{found[0]}{JOINER}", safe(line))


def _cell(words: str) -> str:
    """As `text`, cut to what a table bears."""
    return text(words if len(words) <= MOST_CHARACTERS else f"{words[: MOST_CHARACTERS - 1]}…")
