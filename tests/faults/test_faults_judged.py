"""What `make faults` counts: it must see an item that is lost, doubled or invented."""

from faults.program import Judged

RIGHT = {("a", 0): ("correct", "1"), ("b", 0): ("wrong", "2")}


def judged(*rows: tuple[str, int, str, str | None]) -> tuple[int, int, int]:
    found = Judged()
    found.judge(rows, RIGHT)
    return found.lost, found.doubled, found.invented


def test_a_job_with_each_outcome_once_is_whole_whatever_failed_on_the_way() -> None:
    assert judged(("a", 0, "error", None), ("a", 0, "correct", "1"), ("b", 0, "wrong", "2")) == (0, 0, 0)


def test_what_is_lost_doubled_or_invented_is_counted() -> None:
    assert judged(("a", 0, "correct", "1"), ("b", 0, "error", None)) == (1, 0, 0)
    assert judged(("a", 0, "correct", "1"), ("a", 0, "correct", "1"), ("b", 0, "wrong", "2")) == (0, 1, 0)
    assert judged(("a", 0, "correct", "1"), ("b", 0, "wrong", "7"), ("c", 0, "correct", "1")) == (0, 0, 2)
