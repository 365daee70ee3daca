"""Requests with right answers that ask the same under several ids are told, and are one cluster."""

from __future__ import annotations

from pathlib import Path

from lines_made import checked, line, opened, write

from proctor.manifest import CopiedRows


def graded(path: Path, *asked: str, **more: object) -> Path:
    lines = [line(f"r{i}", text) for i, text in enumerate(asked)]
    return write(path, [{**each, "gold": "4", **more} for each in lines])


def test_requests_that_ask_the_same_are_one_cluster_and_told(tmp_path: Path) -> None:
    path = graded(tmp_path / "in.jsonl", "What is 2 + 2?", "Who?", "what is  2 + 2", "Why?", "WHAT IS 2 + 2?")
    source = opened(path, gold="gold")
    clusters = {item.id: item.cluster for item in source.items()}
    assert clusters["r0"] is not None and clusters["r0"] == clusters["r2"] == clusters["r4"]
    assert clusters["r1"] is None and clusters["r3"] is None
    assert source.facts.copies == CopiedRows(questions=1, rows=3)
    said = "1 question stands more than once (3 requests; line 1 and line 3): copies are one cluster"
    assert any(each.startswith(said) for each in source.understood)
    assert any(str(note).startswith(said) for note in checked(path, gold="gold").notes)
    shuffled = {item.id: item.cluster for item in opened(path, gold="gold", order="random").items()}
    assert shuffled == clusters


def test_a_line_whose_id_stood_before_is_no_copy(tmp_path: Path) -> None:
    lines = [
        {**line("r0", "Who?"), "gold": "4"},
        {**line("r0", "Who?"), "gold": "4"},
        {**line("r1", "Why?"), "gold": "4"},
    ]
    source = opened(write(tmp_path / "in.jsonl", lines), gold="gold", lenient=True)
    assert source.facts.copies is None and [item.cluster for item in source.items()] == [None, None]


def test_copies_join_the_clusters_of_candidates(tmp_path: Path) -> None:
    path = graded(tmp_path / "in.jsonl", "Who?", "Why?", "Who?", "When?")
    source = opened(path, gold="gold", candidate=r"^r([01])")
    clusters = [item.cluster for item in source.items()]
    assert clusters[0] == clusters[2] and clusters[0] is not None
    assert clusters[1] not in (None, clusters[0]) and clusters[3] is None
