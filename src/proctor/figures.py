"""How numbers are written, everywhere the same: scores, intervals, p-values, durations."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from proctor.findings import OF_TRIALS, SIGNED, Basis, Comparison, Estimate, Sharing, Speed
from proctor.findings.looks import Path
from proctor.manifest import LeftOut
from proctor.types import Usage

LEFT_OUT = re.compile(r"[\d,]+ of [\d,]+ rows left out(?=\)$)")
MOST_ITEMS = 1_000_000  # a larger "about how many rows" is no advice


def fraction(value: float | None) -> str:
    """Three decimals; only an exact 0 or 1 is written as one.

    >>> fraction(0.5524), fraction(0.9996), fraction(1.0), fraction(0.0004), fraction(-0.0004), fraction(None)
    ('0.552', '0.999', '1.000', '0.001', '-0.001', '-')
    """
    if value is None:
        return "-"
    text = f"{abs(value):.3f}"
    if text == "1.000" and abs(value) < 1:
        text = "0.999"
    if text == "0.000" and value:
        text = "0.001"
    return f"-{text}" if value < 0 else text


def left_out_mark(gone: LeftOut | None) -> str:
    """What the title of a source adds where rows of its file are left out, so that it stands with every score.

    >>> left_out_mark(LeftOut(3, 1200)), left_out_mark(None)
    (' (3 of 1,200 rows left out)', '')
    """
    return f" ({gone.rows:,} of {gone.of:,} rows left out)" if gone else ""


def left_out(title: str) -> str | None:
    """The mark in a title, for lists that name a source otherwise; None where it has none.

    >>> left_out("mine.csv (3 of 1,200 rows left out)"), left_out("mine.csv")
    ('3 of 1,200 rows left out', None)
    """
    found = LEFT_OUT.search(title)
    return found[0] if found else None


def not_contained_mark(sandbox: str) -> str:
    """What the title of a benchmark adds where its agents worked on the machine itself: it stands with every figure.

    >>> not_contained_mark("local"), not_contained_mark("bubblewrap")
    (' (sandbox local: not contained)', '')
    """
    return " (sandbox local: not contained)" if sandbox == "local" else ""


def margin(value: float) -> str:
    """How close two scores are that count as equal, in the metric's units.

    >>> margin(0.01), margin(0.0125), margin(0.0002), margin(5)
    ('0.010', '0.0125', '0.0002', '5.000')
    """
    return fraction(value) if math.isclose(value, round(value, 3)) else f"{value:.3g}"


def estimate(e: Estimate) -> str:
    """`0.552 [0.508, 0.595]`, or the reason why there is no value.

    >>> estimate(Estimate(0.552, 0.02, 0.5081, 0.5951, 500, 500, "Wilson"))
    '0.552 [0.508, 0.595]'
    """
    if e.value is None:
        return f"not measured: {e.reason}" if e.reason else "not measured"
    return f"{fraction(e.value)} [{fraction(e.low)}, {fraction(e.high)}]"


def p_value(p: float | None) -> str:
    """`p = 0.031`, and never a rounded zero; just below 0.05 it is cut, so that it stays below.

    >>> p_value(0.03125), p_value(0.00042), p_value(0.00001), p_value(0.04996), p_value(1.0)
    ('p = 0.031', 'p = 0.0004', 'p < 0.0001', 'p = 0.0499', 'p = 1')
    """
    if p is None:
        return "p not computed"
    if p < 0.0001:
        return "p < 0.0001"
    if p >= 0.9995:
        return "p = 1"
    if 0.0495 <= p < 0.05:
        return f"p = {math.floor(p * 10_000) / 10_000}"
    return f"p = {p:.4f}" if p < 0.001 else f"p = {p:.3f}"


def share(value: float | None) -> str:
    """A share in whole per cent; only an exact 0 or 1 is written as one.

    >>> share(0.5), share(0.9996), share(1.0), share(0.0003), share(None)
    ('50 %', '>99 %', '100 %', '<1 %', '-')
    """
    if value is None:
        return "-"
    if 0 < value < 0.01:
        return "<1 %"
    if 0.99 < value < 1:
        return ">99 %"
    return f"{value * 100:.0f} %"


def duration(seconds: float | None) -> str:
    """A length of time in its two largest units.

    >>> duration(0.42), duration(75), duration(7265), duration(0.00002), duration(None)
    ('0.42 s', '1 min 15 s', '2 h 1 min', 'under 1 ms', '-')
    """
    if seconds is None:
        return "-"
    if 0 < seconds < 0.001:
        return "under 1 ms"
    if seconds < 10:
        return f"{seconds:.2g} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def speed(of: Speed | None, unit: str = "", *, basis: Basis | None = None) -> str:
    """How long a request took, whose clock says so, and among how many; `basis` None is the run's own.

    >>> speed(Speed(8.2, 48, 16.0)), speed(Speed(3.4, 48)), speed(None, " per item")
    ('8.2 s at 16 in flight', '3.4 s, requests at once not recorded', '- per item')
    >>> told = Speed(8.2, 48, 16.0, service_s=2.05, served=40)
    >>> speed(told, " per item"), speed(Speed(1.0, 9, 1.0, service_s=0.9, served=9))
    ("2 s per item (server's clock, 4 at once, for 40 of 48)", "0.9 s (server's clock)")
    """
    if of is None:
        return f"-{unit}"
    basis = basis or of.basis
    time, how = f"{duration(of.seconds(basis))}{unit}", timed_by(of, basis)
    if basis == "server":
        return f"{time} ({how})"
    return f"{time}, {how}" if of.in_flight is None else f"{time} at {how}"


def timed_by(of: Speed, basis: Basis) -> str:
    """Whose clock a time is by, and among how many requests.

    >>> timed_by(Speed(8.2, 48, 16.0), "measured")
    '16 in flight'
    """
    at_once = of.at_once(basis)
    if basis == "measured":
        return "requests at once not recorded" if at_once is None else f"{amount(at_once)} in flight"
    words = [
        "server's clock",
        f"{amount(at_once)} at once" if at_once is not None and amount(at_once) != "1" else "",
        f"for {of.served:,} of {of.timed:,}" if of.served < of.timed else "",
    ]
    return ", ".join(filter(None, words))


def rate(per_second: float | None) -> str:
    """Output tokens for each second.

    >>> rate(77.4), rate(0.42), rate(None)
    ('77 tokens/s', '0.42 tokens/s', '-')
    """
    return "-" if per_second is None else f"{amount(per_second)} tokens/s"


def amount(value: float | None) -> str:
    """A count or a mean of counts; a small mean keeps two digits.

    >>> amount(1234567), amount(37.25), amount(1.44), amount(0), amount(None)
    ('1,234,567', '37', '1.4', '0', '-')
    """
    if value is None:
        return "-"
    return f"{value:.2g}" if 0.001 <= value < 9.5 else f"{value:,.0f}"


def room(of_bytes: float) -> str:
    """Memory or room on a disk, in the units of makers of disks.

    >>> room(93_400_000), room(2_147_000_000), room(85e9)
    ('93 MB', '2.1 GB', '85 GB')
    """
    number, unit = (of_bytes / 1e9, "GB") if of_bytes >= 1e9 else (of_bytes / 1e6, "MB")
    return f"{number:.1f} {unit}" if number < 9.95 else f"{number:,.0f} {unit}"


def unmeasured(lost: int, planned: int) -> str:
    """How many of a run's items have no outcome; nothing where all have one.

    >>> unmeasured(49, 180), unmeasured(0, 180)
    ('49 of 180 not measured', '')
    """
    return f"{lost:,} of {planned:,} not measured" if lost else ""


def shared_items(of: Sharing | None) -> str:
    """Of how many items a comparison is, where the two runs were not asked the same.

    >>> shared_items(Sharing(1000, 180, 180)), shared_items(Sharing(180, 180, 180))
    ('on the 180 items that both were asked, of 1,000 and 180', '')
    >>> shared_items(Sharing(5, 4, 3, "tasks"))
    'on the 3 tasks that both worked on, of 5 and 4; 2 only the first has, 1 only the second'
    """
    if of is None or of.first == of.second == of.both:
        return ""
    if of.what == "tasks":
        alone = f"{of.first - of.both:,} only the first has, {of.second - of.both:,} only the second"
        return f"on the {of.both:,} tasks that both worked on, of {of.first:,} and {of.second:,}; {alone}"
    return f"on the {of.both:,} items that both were asked, of {of.first:,} and {of.second:,}"


def chance(value: float | None) -> str:
    """A share of random draws: that none of them was so does not make it impossible.

    >>> chance(0.0), chance(0.5), chance(1.0), chance(None)
    ('<1 %', '50 %', '>99 %', '-')
    """
    return {0.0: "<1 %", 1.0: ">99 %"}.get(-1.0 if value is None else value) or share(value)


def dollars(value: float | None) -> str:
    """Cost; None is unknown, never free.

    >>> dollars(0.00042), dollars(12.5), dollars(0.0), dollars(None)
    ('$0.00042', '$12.50', '$0.00', 'unknown')
    """
    if value is None:
        return "unknown"
    if value == 0 or value >= 0.095:
        return f"${value:,.2f}"
    return f"${value:.{1 - math.floor(math.log10(value))}f}"  # two significant digits


def besides(unused: Usage) -> str:
    """What was spent on replies that do not count, or "" where nothing is known to have been.

    >>> besides(Usage(312, 96, 0.0012))
    'besides, for replies that do not count: 312 tokens in, 96 out, $0.0012'
    >>> besides(Usage())
    ''
    """
    spent = []
    if unused.input_tokens:
        spent.append(f"{amount(unused.input_tokens)} tokens in")
    if unused.output_tokens:
        spent.append(f"{amount(unused.output_tokens)} {'out' if spent else 'tokens out'}")
    if unused.cost_usd:
        spent.append(dollars(unused.cost_usd))
    return f"besides, for replies that do not count: {', '.join(spent)}" if spent else ""


def names(c: Comparison) -> tuple[str, str]:
    """What the two runs of a comparison are called: by their models, or also by their ids where that is one model."""
    first, second = str(c.first.cell.model), str(c.second.cell.model)
    if first != second:
        return first, second
    return f"{first} (run {c.first.id[:8]})", f"{second} (run {c.second.id[:8]})"


def among(comparisons: int) -> str:
    """What a claim about one comparison allows for, behind it.

    >>> among(1), among(45)
    ('', ', as one of 45 comparisons')
    """
    return "" if comparisons < 2 else f", as one of {comparisons:,} comparisons"


def title_of(metric: str) -> str:
    """A metric as tables head it.

    >>> title_of("success_rate"), title_of("macro_f1")
    ('success rate', 'macro_f1')
    """
    return metric.replace("_", " ") if metric in OF_TRIALS else metric


def metric_words(metric: str) -> str:
    """A comparison's metric in a sentence: the mean where a task has several official ones.

    >>> metric_words("mcc"), metric_words("accuracy + f1"), metric_words("success_rate")
    ('mcc', 'the mean of accuracy and f1', 'the success rate')
    """
    if metric in OF_TRIALS:
        return f"the {title_of(metric)}"
    parts = metric.split(" + ")
    return metric if len(parts) == 1 else f"the mean of {listed(parts)}"


def least_of(metric: str, lows: Sequence[float | None] = ()) -> float:
    """Where a drawing of scores begins: -1 for a metric that may be below 0, or where an interval is.

    >>> least_of("mcc"), least_of("pearson + spearman"), least_of("score", [-0.02, 0.4]), least_of("f1", [0.1, None])
    (-1.0, -1.0, -1.0, 0.0)
    """
    named = any(re.search(rf"\b{each}\b", metric) for each in SIGNED)
    return -1.0 if named or any(low is not None and low < 0 for low in lows) else 0.0


def rounded(n: int) -> int:
    """Two significant digits, upwards: more would claim a precision that such a forecast lacks."""
    step = int(10 ** max(0, len(str(n)) - 2))
    return -(-n // step) * step


def listed(names: Sequence[str]) -> str:
    """
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def shortened(text: str, most: int) -> str:
    """At most so many characters, cut between words; of a path the end is what tells names apart.

    >>> shortened("ollama/demo-medium", 20), shortened("openrouter/meta-llama/Llama-3.1-70B", 20)
    ('ollama/demo-medium', '…/Llama-3.1-70B')
    >>> shortened("accuracy (48 of 57 tasks)", 12), shortened("unbroken" * 3, 12)
    ('accuracy…', 'unbrokenunbr…')
    """
    if len(text) <= most:
        return text
    start, slash, end = text.rpartition("/")
    if slash and " " not in start and len(end) > 2:
        return f"…/{end}" if len(end) + 2 <= most else shortened(end, most)
    beginning = text[:most]
    words = re.sub(r"[\W_]+[^\W_]*$", "", beginning)
    return f"{words if 2 * len(words) > most else beginning[:-1]}…"


def inert(value: Any) -> Any:
    """Text that a spreadsheet would run as a formula gets an apostrophe before it.

    >>> inert("=1+1"), inert("glue"), inert(-1.5)
    ("'=1+1", 'glue', -1.5)
    """
    formula = isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{value}" if formula else value


def steps(walk: float) -> str:
    """A distance of a walk: whole where items are right or wrong, else with one decimal.

    >>> steps(41.0), steps(-1234.0), steps(12.345), steps(0.02)
    ('41', '-1,234', '12.3', '0.02')
    """
    if float(walk).is_integer():
        return f"{walk:,.0f}"
    return f"{walk:,.1f}" if abs(walk) >= 1 else f"{walk:.2g}"


def path_said(first: str, second: str, path: Path) -> str:
    """Where a pair's walk stands, in one sentence.

    >>> from proctor.findings.looks import PathPoint
    >>> points = (PathPoint(12, 2.0, None), PathPoint(24, 16.0, 15.0))
    >>> path_said("a", "b", Path(1200, points, "decided", 0.05, 0.01, 3.0, "sign walk"))
    'After 24 of 1,200 items a is ahead by 16 items; 15 were enough to decide it.'
    >>> path_said("a", "b", Path(1200, points[:1], "open", 0.05, 1.0, None, "sign walk"))
    'After 12 of 1,200 items a is ahead by 2 items; so few cannot decide it.'
    """
    if not path.points:
        return (
            f"Nothing to look at yet: both have to answer a hundredth of the {amount(path.of)} items first."
        )
    last, whole = path.points[-1], all(float(point.walk).is_integer() for point in path.points)
    what = "points" if not whole else "item" if abs(last.walk) == 1 else "items"
    ahead = f"{first if last.walk > 0 else second} is ahead by {steps(abs(last.walk))} {what}"
    asked = "After all" if last.items == path.of else f"After {amount(last.items)} of"
    where = f"{asked} {amount(path.of)} items {ahead if last.walk else 'neither is ahead'}"
    if last.boundary is None:
        return f"{where}; so few cannot decide it."
    enough, needed = (
        f"{steps(last.boundary)} were enough to decide it",
        f"{steps(last.boundary)} would have decided it",
    )
    return {
        "decided": f"{where}; {enough}.",
        "futile": f"{where}; {needed}, and the rest would hardly have brought that.",
        "open": f"{where}; {steps(last.boundary)} would decide it.",
        "whole": f"{where}; {enough if abs(last.walk) >= last.boundary else needed}.",
    }[path.ended]
