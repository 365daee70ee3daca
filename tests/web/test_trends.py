"""Trends: which runs share a picture, which a line, and what is left out of them."""

from __future__ import annotations

from typing import Any

from proctor.service.watch.job_states import RunLine
from proctor.service.watch.overview import Measured, Shown
from proctor.web.overview.trends import MOST_LINES, MOST_POINTS, trends


def measured(model: str = "a", *, at: float = 0.0, value: float = 0.5, **given: Any) -> Measured:
    usual: dict[str, Any] = {
        "id": f"{model}-{at}", "status": "completed", "provider": "p", "model": model, "source": "glue",
        "created_at": at, "finished_at": at, "planned": 10, "settled": 10, "project_id": 1, "error": None,
        "sample": False, "comparability": "k", "stopped": None, "exam": "e",
    }  # fmt: skip
    return Measured(RunLine(**{**usual, **given}), Shown("accuracy", value, value - 0.1, value + 0.1, 10, 10))


def drawn(*found: Measured) -> list[tuple[str, list[tuple[str, int]]]]:
    """By picture: its title, and its lines with how many points."""
    made = trends(sorted(found, key=lambda each: each.run.finished_at or 0.0))
    return [(p.title, [(line["name"], len(line["points"])) for line in p.series]) for p in made.panels]


def test_sample_rows_are_in_a_picture_of_their_own_after_the_official_ones() -> None:
    found = [measured(at=1), measured(at=2), measured(at=9, sample=True, exam="s")]
    assert drawn(*found) == [("glue", [("p/a", 2)]), ("glue, sample rows", [("p/a", 1)])]


def test_runs_that_may_not_be_compared_share_no_picture() -> None:
    found = [measured(at=1), measured(at=2, comparability="other prompts"), measured(at=3, source="mmlu")]
    pictures = drawn(*found)
    assert [title for title, _ in pictures] == ["mmlu", "glue", "glue, asked in another way (2)"]
    assert all(points == [("p/a", 1)] for _, points in pictures)


def test_no_line_goes_from_one_exam_to_another() -> None:
    found = [measured(at=1), measured(at=2, exam="part", planned=200), measured(at=3), measured("b", at=4)]
    assert drawn(*found) == [("glue", [("p/a (10 items)", 2), ("p/a (200 items)", 1), ("p/b", 1)])]


def test_lines_that_are_called_alike_are_told_apart() -> None:
    assert drawn(measured(at=1), measured(at=2, exam="other")) == [
        ("glue", [("p/a (10 items)", 1), ("p/a (10 items) #2", 1)])
    ]


def test_the_newest_lines_and_points_are_drawn_and_the_others_counted() -> None:
    many = [measured(f"m{n}", at=n) for n in range(MOST_LINES + 3)]
    long = [measured("m0", at=100 + n, value=n / 1000) for n in range(MOST_POINTS + 5)]
    made = trends([*many, *long])
    assert made.left_out == 3
    (panel,) = made.panels
    assert len(panel.series) == MOST_LINES
    (line,) = (each for each in panel.series if each["name"] == "p/m0")
    assert len(line["points"]) == MOST_POINTS
    last = line["points"][-1]
    assert last["value"] == (MOST_POINTS + 4) / 1000 and last["href"].startswith("/runs/m0-")
