"""`make judge-killed`: a judge's run of 10,000 replies, killed twice in its middle and resumed by the same command.

    python tools/killed_judging.py [--replies N]

The exit code is 0 where every reply has exactly one verdict and one grade, the server saw again no more than what was
under way at the kills, and tokens and cost are those that the server counted for the replies that were kept.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "judging"))
from killed import PARALLEL, KilledJudging, killed_judging  # type: ignore[import-not-found]  # tests are not checked

KILLS = (0.3, 0.7)
UNCOMMITTED = 256  # attempts that one commit holds


def main() -> int:
    parser = argparse.ArgumentParser(description="A judge's run, killed twice and resumed.")
    parser.add_argument("--replies", type=int, default=10_000)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        found = killed_judging(Path(home), wanted.replies, KILLS)
    _tell(found)
    return 0 if _holds(found) else 1


def _tell(found: KilledJudging) -> None:
    kept, sent = found.kept, found.sent
    print(f"{found.replies:,} replies judged in {found.seconds:.0f} s, killed {len(KILLS)} times")
    print(f"  verdicts a reply: {dict(found.asked)}; replies with a grade: {found.graded:,}")
    print(
        f"  kept: {kept[0]:,} verdicts, {kept[1]:,} tokens in, {kept[2]:,} out, {found.cost_usd:.6f} US dollars"
    )
    print(f"  the server sent whole: {sent[0]:,} replies, {sent[1]:,} tokens in, {sent[2]:,} out")
    print(f"  asked again, because the process died before it kept them: {found.twice:,}")
    print(f"  largest process: {found.peak_mb:.0f} MB")


def _holds(found: KilledJudging) -> bool:
    lost = found.sent[0] - found.kept[0]
    longest = 2 * max(found.kept[1], found.kept[2]) / found.kept[0]
    return (
        found.asked == {1: found.replies}
        and found.graded == found.replies
        and 0 <= lost <= found.twice <= len(KILLS) * (PARALLEL + UNCOMMITTED)
        and all(
            0 <= there - here <= lost * longest for here, there in zip(found.kept, found.sent, strict=True)
        )
        and abs(found.cost_usd - (found.kept[1] + 2 * found.kept[2]) / 1e6) < 1e-6
    )


if __name__ == "__main__":
    sys.exit(main())
