"""`proctor label`: by single keys in a terminal, by lines without one, by files, and by two people at once."""

from __future__ import annotations

import io
import os
import pty
import select
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pairs_made import Paired, judge_saying

from opened import over
from proctor.cli.label_keys import LineKeys
from proctor.cli.label_session import LabelSession
from proctor.service.labelling.queue import queue
from proctor.service.labelling.wish import LabelWish
from proctor.store.write import graded_labels
from proctor.store.write.graded_labels import GradedLabel
from proctor.types import Run
from programs import HANG_S, command, environment, proctor, proctor_json

N = 12
WAIT_S = 30.0  # a bound that ends a hang


@dataclass(frozen=True)
class Case:
    made: Paired
    first: Run
    second: Run

    def said(self, user: str, run: Run | None = None) -> list[GradedLabel]:
        with self.made.store() as store:
            found = graded_labels.current(store, (run or self.first).id)
        return [label for label in found if label.user == user]

    def session(self, user: str, keys: str, **wish: object) -> None:
        """Keys without a terminal, a line each, as the command reads them."""
        with self.made.store() as store:
            context = over(store, self.made.settings)
            made = queue(context, LabelWish((self.first.id,), user, **wish))  # type: ignore[arg-type]  # as tests name them
            LabelSession(context, made, LineKeys(io.StringIO(keys.replace(" / ", "\n")))).run()


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    made = Paired(tmp_path_factory.mktemp("labelled"))
    made.questions(["right"] * N)
    evil = [f"\x1b[2J\x1b]0;title\x07 reply {n}, " + "long words " * 40 for n in range(N)]
    yield Case(made, made.run("qwen3:8b", evil), made.run("gpt-4o", [f"reply {n}" for n in range(N)]))


@pytest.mark.slow
def test_two_processes_that_label_at_once_lose_nothing_and_replies_control_no_terminal(case: Case) -> None:
    env = environment(case.made.home)
    words = [command("label", case.first.id[:8], "--labeller", user) for user in ("ann", "bob")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    running = [subprocess.Popen(each, env=env, text=True, **pipes) for each in words]  # type: ignore[call-overload]  # the same pipes for both
    said = [each.communicate("1\n" * (N - 1) + "2\n", timeout=HANG_S)[0] for each in running]
    assert [each.returncode for each in running] == [0, 0], said
    for user, text in zip(("ann", "bob"), said, strict=True):
        grades = [label.grade for label in case.said(user)]
        assert grades == ["pass"] * (N - 1) + ["fail"]
        assert "12 of 12 of the random part" in text and "\x1b" not in text and "\x07" not in text
        assert max(map(len, text.splitlines())) < 130
        assert "qwen" not in text  # blind
    status = proctor_json(case.made.home, "label", case.first.id[:8], "--labeller", "ann", "--status")
    assert status["users"] == {"ann": N, "bob": N}
    assert status["agreement"][0]["share"]["value"] == 1.0
    assert status["worth"].startswith("the interval is 0.")


def test_in_a_terminal_single_keys_grade_take_back_and_reveal(case: Case) -> None:
    here, there = pty.openpty()
    words = command("label", case.second.id[:8], "--labeller", "cleo", "--random", "5")
    env = environment(case.made.home, TERM="xterm", COLUMNS="80", LINES="24")
    process = subprocess.Popen(words, env=env, stdin=there, stdout=there, stderr=there, close_fds=True)
    os.close(there)
    screen = Screen(here)
    screen.until("1 of 5 of the random part")
    screen.press("\x1b[3~", "means nothing here")  # Delete: its 3 is no grade
    screen.press("pf", "3 of 5 of the random part")  # however fast they are pressed
    screen.press("u", "2 of 5 of the random part")
    assert [label.grade for label in case.said("cleo", case.second)] == ["pass"]
    screen.press("n", "note")
    screen.press("too short\n", "kept with the grade")
    screen.press("1", "3 of 5 of the random part")
    screen.press("r", "replay/gpt-4o")
    screen.press("1", "4 of 5 of the random part")
    screen.press("q", "were graded after looking")
    assert process.wait(HANG_S) == 0
    os.close(here)
    said = case.said("cleo", case.second)
    assert [(each.grade, each.note, each.drawn) for each in said] == [
        ("pass", None, "random"),
        ("pass", "too short", "random"),
        ("pass", None, "chosen"),
    ]


@dataclass
class Screen:
    """What a terminal shows, read until it shows what is waited for."""

    fd: int
    text: str = ""

    def press(self, keys: str, then: str) -> None:
        self.text = ""
        os.write(self.fd, keys.encode())
        self.until(then)

    def until(self, shown: str) -> None:
        end = time.monotonic() + WAIT_S
        # The foot says that keys are read again.
        while shown not in self.text or not ("q quit" in self.text.partition(shown)[2] or shown in LAST):
            ready = select.select([self.fd], [], [], max(0.0, end - time.monotonic()))[0]
            assert ready, f"{shown!r} never came: {self.text!r}"
            self.text += os.read(self.fd, 65536).decode(errors="replace")


LAST = ("note", "were graded after looking")  # what no foot follows


def test_keys_skip_go_back_tag_and_say_what_they_do_not_know(
    case: Case, capsys: pytest.CaptureFixture[str]
) -> None:
    case.session("dora", "s / t tone, wrong fact / 2 / z / k / n late / j / j / k / 1", random=4)
    said = case.said("dora")
    with case.made.store() as store:
        made = queue(over(store), LabelWish((case.first.id,), "dora", random=4))
    places = [entry.place.row.item_id for entry in made.entries]
    assert [(each.item_id, each.grade, each.tags, each.note) for each in said] == [
        (places[1], "fail", ("tone", "wrong fact"), "late"),
        (places[2], "pass", (), None),
    ]
    shown = capsys.readouterr().out
    assert "'z' means nothing here" in shown and "you said: fail" in shown
    case.session("dora", "1 / 1 / u / u / u / u / u / u / q", random=4)
    assert case.said("dora") == []
    assert "there is nothing of yours to take back" in capsys.readouterr().out


@pytest.mark.slow
def test_files_carry_labels_between_people_and_say_what_is_wrong_with_a_line(case: Case) -> None:
    home, run = case.made.home, case.second.id[:8]
    form, done = home / "form.csv", home / "done.csv"
    told = proctor(home, "label", run, "--labeller", "eve", "--random", "3", "--out", str(form), "--open")
    assert told.stdout.endswith("form.csv: 3 replies to label\n")
    done.write_text(form.read_text("utf-8-sig").replace(",correct,,,", ",correct,pass,,"))
    took = proctor_json(home, "label", run, "--labeller", "eve", "--in", str(done))
    assert (took["added"], took["random"]) == (3, 3)
    out = proctor(home, "label", run, "--out", "-").stdout
    assert out.count(",eve,") == 3
    done.write_text("item_id,grade\nq1,perhaps\n")
    refused = proctor(home, "label", run, "--in", str(done), code=2)
    assert "done.csv, line 2" in refused.stderr


@pytest.mark.slow
def test_pairs_whose_orders_differ_and_replies_whose_votes_differ_come_behind_the_random_part(
    tmp_path: Path,
) -> None:
    made = Paired(tmp_path)
    made.questions(
        ["It is said here in a whole sentence that no grader of words can hold a reply against."] * 6
    )
    first, second = (
        made.run("m1", [f"one {n}" for n in range(6)]),
        made.run("m2", [f"two {n}" for n in range(6)]),
    )
    heard = Counter[str]()

    def says(_: str, reply: str, other: str = "") -> str:
        if not other:
            heard[reply] += 1
            return f"Answer: {'fail' if reply == 'one 5' and heard[reply] == 2 else 'pass'}"
        return "Answer: 1" if reply.endswith(" 3") else f"Answer: {1 if reply.startswith('one') else 2}"

    with judge_saying(says) as (url, _):
        made.judged(
            url, second, first
        )  # the run that is named first when labelling may be the second of the judging
        made.judged(url, first, votes=3)
    with made.store() as store:
        context = over(store)
        pairs = queue(context, LabelWish((first.id, second.id), "ann", pairwise=True, random=0))
        single = queue(context, LabelWish((first.id,), "ann", random=0))
        assert {row.score for row in store.latest(first.id)} == {None}
    assert [(entry.place.row.item_id, entry.drawn) for entry in pairs.entries] == [("open/q3", "chosen")]
    assert [entry.place.row.item_id for entry in single.entries] == ["open/q5"]
