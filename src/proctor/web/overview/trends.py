"""How models move: lines of runs that were asked the very same, a picture for each group that may be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor import figures
from proctor.service.watch.overview import Measured, exam_of
from proctor.web.render import interval, stamp

MOST_LINES = 8  # of all pictures; more would be told apart by nobody
MOST_PANELS = 4
MOST_POINTS = 40  # of a line, the newest
Line = tuple[str, tuple[str, str | None, bool]]  # a model, and what it was asked
Group = tuple[bool, str, str | None]  # sample rows or not, the source, comparability


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture: its runs may be compared, and are either all on sample rows or none of them."""

    title: str
    sample: bool
    series: Sequence[Mapping[str, Any]]

    @property
    def data(self) -> dict[str, Any]:
        """For the chart."""
        return {"series": self.series}


@dataclass(frozen=True, slots=True)
class Trends:
    """`left_out` is how many lines are not drawn."""

    panels: Sequence[Panel]
    left_out: int


def trends(found: Sequence[Measured]) -> Trends:
    """The most recent lines of the most recent groups, official rows before sample rows. `found` is by time."""
    lines: dict[Group, dict[Line, list[Measured]]] = {}
    for each in found:
        run = each.run
        same = lines.setdefault((run.sample, run.source, run.comparability), {})
        same.setdefault((run.full_model, exam_of(run)), []).append(each)
    newest = sorted(lines, key=lambda group: (group[0], -max(_last(each) for each in lines[group].values())))
    panels: list[Panel] = []
    room = MOST_LINES
    for group in newest[:MOST_PANELS]:
        drawn = sorted(lines[group], key=lambda line: -_last(lines[group][line]))[:room]
        if drawn:
            panels.append(_panel(group, {line: lines[group][line] for line in drawn}, newest))
        room -= len(drawn)
    return Trends(panels, sum(map(len, lines.values())) - (MOST_LINES - room))


def _last(points: Sequence[Measured]) -> float:
    return points[-1].run.finished_at or 0.0


def _panel(group: Group, lines: Mapping[Line, Sequence[Measured]], groups: Sequence[Group]) -> Panel:
    sample, source, _ = group
    alike = [each for each in groups if each[:2] == group[:2]]
    other = (
        f", asked in another way ({alike.index(group) + 1})" if len(alike) > 1 and alike[0] != group else ""
    )
    names = _names({line: points[-1] for line, points in lines.items()})
    series = [
        {"name": names[line], "points": [_point(each) for each in points[-MOST_POINTS:]]}
        for line, points in sorted(lines.items(), key=lambda entry: names[entry[0]])
    ]
    return Panel(f"{source}{', sample rows' if sample else ''}{other}", sample, series)


def _names(lines: Mapping[Line, Measured]) -> dict[Line, str]:
    """The models; with how many items where one was asked several exams, and a number where that looks alike."""
    times = Counter(model for model, _ in lines)
    found: dict[Line, str] = {}
    for line, of in lines.items():
        name = f"{line[0]} ({of.run.planned:,} items)" if times[line[0]] > 1 else line[0]
        same = sum(1 for other in found.values() if other.partition(" #")[0] == name)
        found[line] = f"{name} #{same + 1}" if same else name
    return found


def _point(each: Measured) -> dict[str, Any]:
    return {
        "at": round((each.run.finished_at or 0.0) * 1000),
        "when": stamp(each.run.finished_at),
        "value": each.score.value,
        "low": each.score.low,
        "high": each.score.high,
        "n": each.score.scored,
        "said": f"{figures.fraction(each.score.value)} {interval(each.score)}".rstrip(),
        "suite": each.run.source,
        "href": f"/runs/{each.run.id}",
    }
