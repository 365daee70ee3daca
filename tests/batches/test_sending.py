"""A batch and the file of its output: what is asked, what is not asked again, and that each custom_id stands once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from batches.sending import Answering, Desk, answering, answers, request_lines
from opened import rerun, resume
from proctor.errors import ConfigError, Conflict, OutputError
from proctor.service.batches.run import Sending
from proctor.service.context import open_context
from proctor.service.output import lines as output
from proctor.service.output.growing import growing
from simulators import settings

pytestmark = pytest.mark.slow

AGAIN = Sending(retry_failed=True)


@pytest.fixture(scope="module")
def server() -> Iterator[Answering]:
    with answering() as running:
        yield running


@pytest.fixture
def desk(tmp_path: Path, server: Answering) -> Desk:
    server.asked.clear()
    server.refused.clear()
    server.on_request = lambda _count: None
    return Desk(tmp_path, server)


def said(numbers: range | list[int], words: str = "Say") -> dict[str, str]:
    return {f"r{n}": f"{words} {n}!" for n in numbers}


def run_of(outcome):
    assert outcome.evaluation is not None
    return outcome.evaluation.results[0].run


@pytest.mark.parametrize("shape", ["openai", "vllm"])
def test_the_file_has_what_the_store_has_in_either_shape_failures_too(desk: Desk, shape: str) -> None:
    desk.server.refused.update({"Say 3", "Say 40"})
    out = desk.folder / "out.jsonl"
    outcome = desk.send(desk.write(request_lines(range(50))), out, shape=shape)
    run = run_of(outcome)
    assert (run.settled, run.planned) == (48, 50)
    with open_context(settings(desk.folder / "home")) as context:
        kept = sorted(output.lines(context, run, shape=shape))
    assert sorted(out.read_bytes().splitlines(keepends=True)) == kept
    failed = next(json.loads(line) for line in kept if b'"r40"' in line)
    assert failed["response"]["status_code"] == 400


def test_the_same_command_again_asks_nothing_and_mends_the_file(desk: Desk) -> None:
    file, out = desk.write(request_lines(range(30))), desk.folder / "out.jsonl"
    first = run_of(desk.send(file, out))
    whole = out.read_bytes()
    desk.server.asked.clear()
    torn = b"".join(whole.splitlines(keepends=True)[5:]) + whole[:40]
    out.write_bytes(torn)
    told: list[str] = []
    outcome = desk.send(file, out, how=Sending(say=told.append))
    assert run_of(outcome).id == first.id and outcome.error is None
    assert answers(out) == said(range(30)) and not desk.server.asked
    assert told == [f"Run {first.id[:8]}: 30 of 30 requests are answered; nothing is asked"]
    out.unlink()
    desk.send(file, out)
    assert answers(out) == said(range(30)) and not desk.server.asked


def test_what_failed_is_asked_again_on_request_alone_and_its_line_is_replaced(desk: Desk) -> None:
    desk.server.refused.add("Say 7")
    file, out = desk.write(request_lines(range(20))), desk.folder / "out.jsonl"
    first = run_of(desk.send(file, out))
    assert answers(out) == {**said(range(20)), "r7": None}
    desk.server.refused.clear()
    desk.server.asked.clear()
    assert run_of(desk.send(file, out)).settled == 19 and not desk.server.asked
    again = run_of(desk.send(file, out, how=AGAIN))
    assert (again.id, again.settled) == (first.id, 20)
    assert answers(out) == said(range(20)) and desk.server.asked == {"Say 7": 1}


def test_of_a_changed_file_only_what_is_new_or_changed_is_asked(desk: Desk) -> None:
    out = desk.folder / "out.jsonl"
    first = run_of(desk.send(desk.write(request_lines(range(40))), out))
    desk.server.asked.clear()
    changed = request_lines(range(10)) + request_lines([10], words="Now say") + request_lines(range(11, 45))
    second = run_of(desk.send(desk.write(changed), out))
    assert desk.server.asked == {"Now say 10": 1, **{f"Say {n}": 1 for n in range(40, 45)}}
    assert answers(out) == {**said(range(45)), **said([10], "Now say")}
    assert second.parent_id == first.id and second.settled == second.planned == 45
    assert second.manifest.remarks == (
        f"39 replies were taken over from run {first.id[:8]}, which was asked the same requests",
    )
    desk.server.asked.clear()
    third = run_of(desk.send(desk.write(request_lines(range(5, 9))), out))
    assert answers(out) == said(range(5, 9)) and not desk.server.asked and third.parent_id == second.id


def test_a_first_try_with_a_limit_is_part_of_the_whole(desk: Desk) -> None:
    file, out = desk.write(request_lines(range(25))), desk.folder / "out.jsonl"
    desk.send(file, out, limit=5)
    assert answers(out) == said(range(5))
    desk.send(file, out)
    assert answers(out) == said(range(25)) and set(desk.server.asked.values()) == {1}


def test_without_a_file_a_whole_run_is_begun_anew_and_an_unfinished_one_goes_on(desk: Desk) -> None:
    file = desk.write(request_lines(range(60)))
    whole = run_of(desk.send(file))
    assert run_of(desk.send(file)).id != whole.id
    part = run_of(desk.send(file, max_total_tokens=50))
    assert part.partial
    again = run_of(desk.send(file))
    assert (again.id, again.settled) == (part.id, 60)


def test_a_file_of_others_is_left_as_it_is(desk: Desk) -> None:
    file, out = desk.write(request_lines(range(3))), desk.folder / "out.jsonl"
    out.write_text('{"mine": 1}\n')
    with pytest.raises(ConfigError, match="no run in this PROCTOR_HOME wrote it"):
        desk.send(file, out)
    assert out.read_text() == '{"mine": 1}\n' and not desk.server.asked
    out.write_text("")
    desk.send(file, out)
    with pytest.raises(ConfigError, match=r"has the replies of openai/m \(run"):
        desk.send(file, out, model="openai/other")
    with pytest.raises(ConfigError, match="cannot be written: Is a directory"):
        desk.send(file, desk.folder)
    assert not (desk.folder / "nowhere").exists()
    with pytest.raises(ConfigError, match="cannot be written: No such file"):
        desk.send(file, desk.folder / "nowhere" / "out.jsonl")


def test_two_processes_do_not_write_one_file(desk: Desk) -> None:
    file, out = desk.write(request_lines(range(3))), desk.folder / "out.jsonl"
    with growing(out, "openai"), pytest.raises(Conflict, match="is being written by another run"):
        desk.send(file, out)
    assert not desk.server.asked and not out.exists()


def test_a_file_that_is_taken_away_while_it_grows_is_written_again(desk: Desk) -> None:
    out = desk.folder / "out.jsonl"

    def take_away(count: int) -> None:
        if count == 300:
            out.unlink()

    desk.server.on_request = take_away
    outcome = desk.send(desk.write(request_lines(range(600))), out)
    assert outcome.error is None and answers(out) == said(range(600))


def test_a_full_disk_under_the_file_alone_stops_nothing_and_resume_writes_the_rest(desk: Desk) -> None:
    disk = desk.folder / "disk"
    disk.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(disk)], capture_output=True)
    if made.returncode:
        pytest.skip("only root makes a small disk")
    try:
        file, out = desk.write(request_lines(range(400))), disk / "out.jsonl"
        outcome = desk.send(file, out)
        run = run_of(outcome)
        assert isinstance(outcome.error, OutputError) and "No space left" in str(outcome.error)
        assert run.settled == 400 and 0 < len(answers(out)) < 400
        subprocess.run(["mount", "-o", "remount,size=1m", str(disk)], check=True)
        ended = resume(settings(desk.folder / "home"), [run.id])
        assert ended.error is None and answers(out) == said(range(400))
        assert set(desk.server.asked.values()) == {1}
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_rerun_leaves_the_file_of_the_first_run_alone(desk: Desk) -> None:
    out = desk.folder / "out.jsonl"
    first = run_of(desk.send(desk.write(request_lines(range(4))), out))
    before = (out.read_bytes(), out.stat().st_mtime_ns)
    second = run_of(rerun(settings(desk.folder / "home"), first.id))
    assert (second.settled, second.cell.source) == (4, replace(first.cell.source, out=None))
    assert (out.read_bytes(), out.stat().st_mtime_ns) == before


def test_how_a_file_was_understood_is_said_before_anything_is_sent(desk: Desk) -> None:
    lines = [
        {"custom_id": f"q{n}", "answer": str(n), "body": {"model": "theirs", "messages": []}}
        for n in range(3)
    ]
    for line in lines:
        line["body"]["messages"] = [{"role": "user", "content": f"Say {line['answer']}"}]
    file = desk.write("".join(json.dumps(line) + "\n" for line in lines))
    told: list[tuple[str, int]] = []
    how = Sending(say=lambda sentence: told.append((sentence, len(desk.server.asked))))
    desk.send(file, gold="answer", grader="contains", how=how)
    assert any("theirs" in sentence for sentence, _ in told), "which models the run's own replaces"
    assert any("contains" in sentence for sentence, _ in told), "which grader grades"
    assert {asked for _, asked in told} == {0}
