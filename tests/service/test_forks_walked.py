"""`make forks`: the paths by which equal models become "better" are walked as told, and what is said is read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forks_paths import FORKS, Verdicts
from walk_forks import ForkHeld, all_walked, misses, section, walked


def test_the_paths_of_the_statistics_page_are_walked() -> None:
    titles = " ".join(fork.title for fork in FORKS.values())
    for words in (
        "20 times",
        "best and worst of ten",
        "25 of 1,273",
        "three wordings",
        "57 subjects",
        "2 times",
    ):
        assert words in titles
    assert "5 times" in titles and "errors for 20 %" in titles and "errors for 60 %" in titles


def test_better_without_the_word_is_counted() -> None:
    found = Verdicts()
    assert found.mcnemar([True] * 8, [False] * 8) and found.alone
    assert not found.tell(False, "nothing", "of 3") and not found.better
    assert found.tell(True, "A is better. One of 3 wordings.", "of 3") and found.better and not found.wordless
    found.tell(True, "A is better.", "of 3")
    assert found.wordless
    assert not Verdicts().mcnemar(np.ones(8), np.ones(8))


def test_a_path_past_the_bar_is_named() -> None:
    held = ForkHeld("rerun", 60, 40, 4, 0, 100)
    past = replace(held, name="extremes", wordless=12)
    assert not misses(held) and misses(past)
    text = section([past, held])
    assert "| run both 20 times | 100 | 60.0% ± 4.9% | 40.0% ± 4.9% | 4.0% ± 2.0% |" in text
    assert "| **12.0% ± 3.2%** |" in text and "Past the bar: best and worst of ten." in text
    assert "No path is past its bar." in section([held])


@pytest.mark.slow
def test_a_walk_is_the_same_each_time_and_fools_nobody() -> None:
    found = {name: walked(name, range(4)) for name in ("five", "most", "extremes")}
    assert found["extremes"] == walked("extremes", range(4))
    assert sum(held.alone for held in found.values()) >= 4, "McNemar alone is fooled"
    assert sum(held.wordless for held in found.values()) <= 1


@pytest.mark.slow
def test_walks_of_all_processes_are_counted() -> None:
    (held,) = all_walked(["twice"], 0.1)
    assert held.times == 12 and held.wordless <= held.better <= 12
