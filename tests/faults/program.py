"""`make faults`: real processes, each fault many times at random moments, and what became of the items.

    PYTHONPATH=tests python -m faults.program [--times 20] [--only WORD] [--seed 0]

Each time a job of 300 items is under way when the fault strikes. When it has ended (restarted by hand, as a user would
do it, where it says that it failed) its attempts are compared with those of a job that nothing disturbed.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from faults.strokes import FAULTS, Fault
from faults.world import ITEMS, LONGEST_S, World, world

STRIKES_WITHIN_S = 4.0  # of handing the job in: while it starts, asks, ends
RESTARTS = 2
MOST_RECOVERY_S = 60.0


@dataclass
class Judged:
    """What became of the items of one fault's jobs."""

    times: int = 0
    lost: int = 0  # items without an outcome, when all has ended
    doubled: int = 0  # items with more than one outcome
    invented: int = 0  # items never asked, or answers that the model never gave
    restarts: int = 0  # by hand
    late: int = 0  # struck after the job had ended
    recovered_s: list[float] = field(default_factory=list)
    unended: int = 0

    def judge(self, rows: Sequence[tuple[Any, ...]], right: dict[tuple[str, int], Any]) -> None:
        """The attempts (item, repeat, outcome, answer) of a job beside what they should be."""
        settled = [row for row in rows if row[2] != "error"]
        counts = Counter((item, repeat) for item, repeat, _, _ in settled)
        self.lost += sum(key not in counts for key in right)
        self.doubled += sum(count - 1 for count in counts.values())
        self.invented += sum(
            (item, repeat) not in right or right[item, repeat] != (outcome, answer)
            for item, repeat, outcome, answer in settled
        )


def strike(fault: Fault, at: World, judged: Judged, right: dict[tuple[str, int], Any]) -> None:
    """One job, struck once."""
    job = at.submit()
    time.sleep(at.luck.uniform(0.0, STRIKES_WITHIN_S))
    if at.settled(job) == ITEMS:
        judged.late += 1
    fault.strike(at)
    passed, before = time.monotonic(), at.settled(job)
    judged.times += 1
    moved_s = None
    restarts = 0
    while time.monotonic() < passed + LONGEST_S:
        state, settled = at.state(job)
        if moved_s is None and (settled > before or before == ITEMS):
            moved_s = time.monotonic() - passed
        if state in ("failed", "cancelled") or (state == "completed" and settled < ITEMS):
            if restarts == RESTARTS:
                break
            restarts += 1
            at.restart(job)
        elif state == "completed":
            break
        time.sleep(0.1)
    else:
        judged.unended += 1
    judged.restarts += restarts
    judged.recovered_s.append(LONGEST_S if moved_s is None else moved_s)
    judged.judge(at.kept(job), right)


def undisturbed(at: World) -> dict[tuple[str, int], Any]:
    """What each item's outcome and answer are where nothing happens."""
    job = at.submit()
    deadline = time.monotonic() + LONGEST_S
    while at.state(job)[0] != "completed":
        assert time.monotonic() < deadline, "a job that nothing disturbs does not end"
        time.sleep(0.1)
    rows = at.kept(job)
    assert len(rows) == ITEMS, rows
    return {(item, repeat): (outcome, answer) for item, repeat, outcome, answer in rows}


def many(fault: Fault, times: int, seed: int) -> Judged:
    judged = Judged()
    with world(**fault.needs) as at:
        at.luck = random.Random(f"{seed} {fault.name}")
        right = undisturbed(at)
        for _ in range(times):
            strike(fault, at, judged, right)
    return judged


HEAD = ("fault", "times", "lost", "doubled", "invented", "recovered in (median, most)", "restarts", "late")


def line(name: str, judged: Judged) -> str:
    found = judged.recovered_s or [0.0]
    recovered = f"{statistics.median(found):.1f} s, {max(found):.1f} s"
    cells = (
        judged.times,
        judged.lost,
        judged.doubled,
        judged.invented,
        recovered,
        judged.restarts,
        judged.late,
    )
    return f"{name:<32}" + "".join(
        f"{cell!s:>28}" if place == 4 else f"{cell!s:>9}" for place, cell in enumerate(cells)
    )


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args(words)
    print(
        f"{HEAD[0]:<32}"
        + "".join(f"{word:>28}" if word.startswith("rec") else f"{word:>9}" for word in HEAD[1:])
    )
    bad = 0
    for fault in FAULTS:
        if asked.only not in fault.name:
            continue
        judged = many(fault, asked.times, asked.seed)
        print(line(fault.name, judged), flush=True)
        bad += judged.lost + judged.doubled + judged.invented + judged.unended
        bad += sum(seconds > MOST_RECOVERY_S for seconds in judged.recovered_s)
    print("all held" if not bad else f"{bad} faults of the bar: nothing lost, doubled, invented; 60 s")
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
