"""Every way in which two equal models can be made "better" by trying often, walked against proctor as it is.

`make forks`. Each path is walked many times, with seeds of its own and in a store of its own, by the functions that
the command line and the server call. Beside it stands in the same exams how often McNemar alone says "better", and
how often proctor says so without a word of what was tried. The table goes into docs/calibration.md.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from calibrate_page import FORKS as MARK
from calibrate_page import replaced
from forks_made import Asked, asked, hall
from forks_paths import FORKS

MOST_WORDLESS = 0.05
AT_ONCE = 10  # walks of one path that are handed to a process together
PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"


@dataclass(frozen=True, slots=True)
class ForkHeld:
    """A path's walks: how many said "better" by McNemar alone, by proctor at all, and by proctor without a word."""

    name: str
    alone: int
    better: int
    wordless: int
    withheld: int
    times: int


def walked(name: str, seeds: Sequence[int]) -> ForkHeld:
    """Walk a path once for each seed."""
    exams, alone, better, wordless, withheld = _exams(name), 0, 0, 0, 0
    for seed in seeds:
        random = np.random.default_rng([zlib.crc32(name.encode()), seed])
        with hall(exams) as here:
            found = FORKS[name].walk(random, here)
        alone += found.alone
        better += found.better
        wordless += found.wordless
        withheld += found.withheld
    return ForkHeld(name, alone, better, wordless, withheld, len(seeds))


@cache
def _exams(name: str) -> Mapping[str, Asked]:
    """A path's exams; opened once a process, since that takes longer than a walk."""
    with tempfile.TemporaryDirectory(prefix="forks-exams-") as folder:
        found = {}
        for exam, ref in FORKS[name].exams(Path(folder)).items():
            home = Path(folder) / f"home-{exam}"
            home.mkdir()
            found[exam] = asked(home, ref)
        return found


def all_walked(names: Sequence[str], times: float = 1.0) -> Iterator[ForkHeld]:
    """Every path with all its walks, as they come to their ends."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        parts: dict[Future[ForkHeld], str] = {}
        left: dict[str, int] = {}
        for name in names:
            seeds = range(max(1, round(FORKS[name].times * times)))
            chunks = [seeds[start : start + AT_ONCE] for start in range(0, len(seeds), AT_ONCE)]
            parts |= {pool.submit(walked, name, chunk): name for chunk in chunks}
            left[name] = len(chunks)
        done: dict[str, ForkHeld] = {}
        for part in as_completed(parts):
            name, found = parts[part], part.result()
            done[name] = _both(done[name], found) if name in done else found
            left[name] -= 1
            if not left[name]:
                yield done[name]


def _both(one: ForkHeld, other: ForkHeld) -> ForkHeld:
    return ForkHeld(
        one.name,
        one.alone + other.alone,
        one.better + other.better,
        one.wordless + other.wordless,
        one.withheld + other.withheld,
        one.times + other.times,
    )


# The page ------------------------------------------------------------------------------------------


def misses(held: ForkHeld) -> bool:
    """Too often without a word, by more than two standard errors of so many walks."""
    return held.wordless / held.times > MOST_WORDLESS + 2 * _noise(MOST_WORDLESS, held.times)


def _noise(share: float, times: int) -> float:
    return math.sqrt(share * (1 - share) / times)


HEAD = f"""{MARK}
Written by `make forks`. Two models that are equally good, and a user who tries until one of them is "better". Every
path is walked in a store of its own by the functions that the command line and the server call, so often as stands in
the row. "McNemar alone" is how often the exact test of the items that count says "better" at least once on the way, in
the same exams. "Better" is how often proctor says it at all, and "without a word" how often it does so with nothing
beside it of what was tried: the bar is 5 %, with two standard errors. Before anything was tried twice there is nothing
to say, so the first look of a path is one of those 5 %. What is said: [comparing](comparing.md).

| path | walks | McNemar alone | better | without a word | what is said |
|---|---|---|---|---|---|
"""


def section(found: Sequence[ForkHeld]) -> str:
    order = list(FORKS)
    found = sorted(found, key=lambda held: order.index(held.name))
    missed = [FORKS[held.name].title for held in found if misses(held)]
    names = f"Past the bar: {'; '.join(missed)}." if missed else "No path is past its bar."
    return HEAD + "".join(map(_row, found)) + f"\n{names}\n"


def _row(held: ForkHeld) -> str:
    shares = [held.alone / held.times, held.better / held.times, held.wordless / held.times]
    figures = [f"{share:.1%} ± {_noise(share, held.times):.1%}" for share in shares]
    if misses(held):
        figures[-1] = f"**{figures[-1]}**"
    said = FORKS[held.name].says
    if held.withheld:
        said += f"; withheld in {held.withheld / held.times:.0%}"
    return f"| {FORKS[held.name].title} | {held.times:,} | {' | '.join(figures)} | {said} |\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--times", type=float, default=1.0, help="how often paths are walked, in parts of usual"
    )
    parser.add_argument(
        "--only", choices=FORKS, nargs="+", help="these paths; the table is printed, not written"
    )
    chosen = parser.parse_args(arguments)
    found = []
    for held in all_walked(chosen.only or list(FORKS), chosen.times):
        found.append(held)
        print(held, file=sys.stderr, flush=True)
    if chosen.only or chosen.times != 1:
        print(section(found))
    else:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(replaced(page, MARK, section(found)), encoding="utf-8")
        print(f"{PAGE} written")
    return int(any(map(misses, found)))


if __name__ == "__main__":
    sys.exit(main())
