"""Bundles that were altered, damaged or are none: what differs is named, what is not ours is refused."""

from __future__ import annotations

import zipfile

import pytest

from bundles import altered, by_item, in_json, in_lines, one_bundle
from proctor.errors import DataError
from proctor.service.data.unpack import Bounds
from proctor.service.data.verify import verify

pytestmark = pytest.mark.slow


@pytest.fixture
def packed(tmp_path):
    """A bundle of a run with three wrong answers, alone in a folder of its own."""
    return one_bundle(tmp_path)


# What was altered is named ------------------------------------------------------------------------


def test_a_reply_that_was_altered_is_named_with_both_readings(packed):
    def rewrite(replies):
        by_item(replies, "ways/5")["text"] = "Answer: B"

    (fault,) = verify(altered(packed, lambda m: in_lines(m, "replies.jsonl", rewrite))).faults
    assert "item ways/5:" in fault
    assert "'C' (wrong, score 0)" in fault and "proctor/2 reads 'B' (correct, score 1)" in fault


def test_a_reading_that_was_altered_is_named_with_the_figures_that_follow(packed):
    def improve(replies):
        by_item(replies, "ways/2").update(outcome="correct", score=1.0, answer="C")

    faults = verify(altered(packed, lambda m: in_lines(m, "replies.jsonl", improve))).faults
    assert len(faults) == 2
    assert "item ways/2:" in faults[0] and "reads 'D' (wrong, score 0)" in faults[0]
    assert "results.json" in faults[1] and "the bundle says 0.75, its replies give 0.83" in faults[1]


@pytest.mark.parametrize(
    ("key", "value"), [("value", 0.76), ("low", 0.5), ("high", 0.99), ("scored", 13), ("method", "t")]
)
def test_a_figure_that_was_altered_is_named(packed, key, value):
    def change(results):
        results["runs"][0]["scores"][0][key] = value

    (fault,) = verify(altered(packed, lambda m: in_json(m, "results.json", change))).faults
    assert fault.startswith("a figure differs: results.json, runs 1 (")
    assert f"accuracy), {key}: the bundle says {value!r}, its replies give" in fault


def test_a_figure_that_differs_by_rounding_alone_is_the_same(packed):
    def change(results):
        results["runs"][0]["scores"][0]["low"] += 1e-13

    assert verify(altered(packed, lambda m: in_json(m, "results.json", change))).faults == ()


def test_a_wrong_answer_passed_off_as_an_error_is_found(packed):
    def hide(replies):
        by_item(replies, "ways/7").update(outcome="error", score=None, answer=None)

    faults = verify(altered(packed, lambda m: in_lines(m, "replies.jsonl", hide))).faults
    assert "item ways/7: an error although there is a reply" in faults[0]


def test_a_wrong_answer_left_out_is_found(packed):
    def drop(replies):
        replies.remove(by_item(replies, "ways/7"))

    faults = verify(altered(packed, lambda m: in_lines(m, "replies.jsonl", drop))).faults
    assert any("12 settled, its replies give 11" in fault for fault in faults)


def test_a_member_changed_without_its_sum_is_named(packed):
    def change(inside):
        inside["README.txt"] += b"More."

    (fault,) = verify(altered(packed, change, sums=False)).faults
    assert fault == "a member differs: README.txt has another SHA-256 than SHA256SUMS says"


@pytest.mark.parametrize("member", ["results.json", "replies.jsonl", "manifest.json", "README.txt"])
def test_a_member_that_was_removed_is_named(packed, member):
    def remove(inside):
        del inside[next(name for name in inside if name.endswith(member))]

    faults = verify(altered(packed, remove, sums=False)).faults
    assert f"{member} is listed in SHA256SUMS but missing" in faults[0]


def test_a_member_that_nobody_listed_is_named(packed):
    def add(inside):
        inside["more.txt"] = b"?"

    (fault,) = verify(altered(packed, add, sums=False)).faults
    assert "'more.txt' is not listed" in fault


# What is no bundle --------------------------------------------------------------------------------


def test_what_is_no_bundle_is_refused(packed, tmp_path):
    text = tmp_path / "text.zip"
    text.write_text("no zip file")
    with pytest.raises(DataError, match="not a zip file"):
        verify(text)
    with pytest.raises(DataError, match="No such file"):
        verify(tmp_path / "nowhere.zip")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("hello.txt", "hello")
    with pytest.raises(DataError, match=r"no bundle of proctor, for there is no SHA256SUMS|no bundle\.json"):
        verify(tmp_path / "other.zip")


def test_a_damaged_file_is_refused(packed):
    body = bytearray(packed.read_bytes())
    with zipfile.ZipFile(packed) as archive:
        entry = next(e for e in archive.infolist() if e.filename.endswith("replies.jsonl"))
    middle = entry.header_offset + 150 + entry.compress_size // 2
    body[middle : middle + 4] = bytes(255 - byte for byte in body[middle : middle + 4])
    packed.write_bytes(bytes(body))
    with pytest.raises(DataError, match="damaged"):
        verify(packed)
    packed.write_bytes(bytes(body[: len(body) // 2]))
    with pytest.raises(DataError, match="not a zip file"):
        verify(packed)


def test_a_newer_format_is_refused_with_what_to_install(packed):
    def newer(head):
        head.update(format=3, proctor="9.1", more="?")

    with pytest.raises(DataError, match=r"format 3, written by proctor 9\.1"):
        verify(altered(packed, lambda m: in_json(m, "bundle.json", newer)))


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (Bounds(all_bytes=1000), "more than the"),
        (Bounds(members=3), "more than the"),
        (Bounds(lines=5), "more than 5 lines"),
        (Bounds(line_bytes=100), "longer than 100 bytes"),
    ],
)
def test_what_is_unpacked_is_bounded(packed, bounds, message):
    with pytest.raises(DataError, match=message):
        verify(packed, bounds=bounds)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda reply: reply.pop("score"), "replies.jsonl line 1: the key 'score' is missing"),
        (lambda reply: reply.update(more=1), "unknown key 'more'"),
        (lambda reply: reply.update(score="1"), "score is str"),
        (lambda reply: reply.update(retries=True), "retries is bool"),
        (lambda reply: reply.update(outcome="splendid"), "splendid"),
        (lambda reply: reply.update(item="ways/99"), "no item 'ways/99'"),
        (lambda reply: reply.update(first_token=[3]), "line 1"),
        (lambda reply: reply.update(position=7), "stands there twice"),
    ],
)
def test_lines_that_are_not_ours_are_refused_by_number(packed, change, message):
    other = altered(packed, lambda m: in_lines(m, "replies.jsonl", lambda replies: change(replies[0])))
    with pytest.raises(DataError, match=message):
        verify(other)


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record["run"].pop("planned"),
        lambda record: record["run"].update(status="asleep"),
        lambda record: record["run"]["cell"].update(moon=1),
        lambda record: record["run"]["manifest"].pop("metrics"),
        lambda record: record["run"]["manifest"]["metrics"]["ways"].update(official=["charm"]),
        lambda record: record["run"]["manifest"]["metrics"]["ways"].update(kind=["labels"]),
        lambda record: record["run"]["manifest"].update(full_sizes=[]),
        lambda record: record["run"].update(planned="many"),
        lambda record: record.pop("labels"),
    ],
)
def test_a_manifest_that_is_not_ours_is_refused(packed, change):
    with pytest.raises(DataError, match=r"manifest\.json"):
        verify(altered(packed, lambda m: in_json(m, "manifest.json", change)))
