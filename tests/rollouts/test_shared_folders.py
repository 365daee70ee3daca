"""Folders of trials between two homes that share a store and a mounted folder: packed, put, had, and never mistaken."""

from __future__ import annotations

import fcntl
import io
import logging
import os
import shutil
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import zstandard
from trials_kept import F, P, attempt_of, kept_run

from proctor.errors import SharedError
from proctor.references import RolloutsRef, TaskEntry
from proctor.service.context import Context
from proctor.service.hosts.tasks import bring_tasks, lacking_tasks, share_tasks
from proctor.service.hosts.trials import have, have_all, prefix_of, send_all, sender
from proctor.service.output.stamps import reserve
from proctor.settings import read_settings
from proctor.sources.rollouts.source import open_rollouts
from proctor.store import Store
from proctor.store.shared.packing import packed, unpacked
from proctor.types import Attempt, Run
from programs import environment

EXAMPLES = Path(__file__).parents[2] / "examples/tasks"
STAMP = "20261122__12-00-00"


@dataclass
class Pair:
    """A home that ran trials, and another one."""

    folder: Path
    store: Store
    run: Run

    def context(self, home: str) -> Context:
        given = {
            "PROCTOR_DATABASE_URL": f"sqlite:///{self.folder}/x.db",
            "PROCTOR_SHARED": str(self.folder / "mnt"),
        }
        return Context(read_settings(environment(self.folder / home, **given)), self.store)

    def place(self, home: str, number: int = 0) -> Path:
        return self.folder / home / "runs" / f"{STAMP}-{number}"

    def row(self, number: int = 0):  # type: ignore[no-untyped-def]  # a row of the store
        return next(row for row in self.store.latest(self.run.id) if row.repeat == number)

    def ran(self, home: str, number: int = 0, log: str = "done", record: str | None = None) -> Path:
        """The folder of a trial as its end left it; `record` is the row's own unless it is given."""
        row, place = self.row(number), self.place(home, number)
        if record is None:
            record = str(self.store.payload(self.run.id, row.item_id, row.repeat, row.attempt)["raw"])
        (place / "logs").mkdir(parents=True)
        (place / "logs/agent.log").write_text(log)
        (place / "record.json").write_text(record)
        return place

    def attempt(self, number: int = 0) -> Attempt:
        row = self.row(number)
        return attempt_of(self.store.item(row.item_hash), row.position, row.repeat, P, self.run.id)

    def had(self, number: int = 0) -> bool:
        return have(self.context("b"), self.run, number, self.row(number))

    def shared(self) -> list[str]:
        return sorted(each.name for each in (self.folder / "mnt" / prefix_of(self.run.id)).glob("*"))


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    (tmp_path / "mnt").mkdir()
    given = environment(tmp_path / "a", PROCTOR_DATABASE_URL=f"sqlite:///{tmp_path}/x.db")
    run_id = kept_run(read_settings(given), "agent/a", {"one": [P, F]}, stamp=STAMP)
    store = Store.open(f"sqlite:///{tmp_path}/x.db")
    yield Pair(tmp_path, store, store.run(run_id))
    store.close()


def test_a_folder_comes_as_it_was_without_links_and_without_what_only_its_machine_needs(pair: Pair) -> None:
    place = pair.ran("a")
    (place / "logs/link").symlink_to("/etc/passwd")
    (place / "elsewhere").symlink_to("/etc")
    os.mkfifo(place / "logs/pipe")
    for left in ("private/work", "attempts/0"):
        (place / left).mkdir(parents=True)
        (place / left / "file").write_text("x")
    send_all(pair.context("a"), pair.run)
    send_all(pair.context("a"), pair.run)
    assert len(pair.shared()) == 1, "what is there is not put again"
    assert pair.had()
    there = sorted(path.relative_to(pair.place("b")).as_posix() for path in pair.place("b").rglob("*"))
    assert there == ["logs", "logs/agent.log", "record.json"]
    have_all(pair.context("b"), pair.run)
    assert not pair.place("b", 1).exists(), "of the other there is none"


def test_while_the_address_is_away_the_row_is_kept_and_the_folder_is_put_at_the_end(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    pair.ran("a")
    (pair.folder / "mnt").rmdir()
    sends = sender(pair.run, pair.context("a"))
    assert sends is not None
    with caplog.at_level(logging.WARNING):
        sends.send(pair.attempt())
    assert "is on this machine alone" in caplog.text
    assert not pair.had()
    (pair.folder / "mnt").mkdir()
    sends.end()
    assert pair.had() and not sends.late


def test_of_two_folders_of_one_try_the_row_s_own_is_had(pair: Pair) -> None:
    sends = sender(pair.run, pair.context("a"))
    assert sends is not None
    own = str(pair.store.payload(pair.run.id, "one", 0, 0)["raw"])
    for log, record in (("killed before its row was kept", own.replace('"score"', '"scare"')), ("kept", own)):
        place = pair.ran("a", log=log, record=record)
        sends.send(pair.attempt())
        place.rename(pair.folder / log)
    assert len(pair.shared()) == 2
    assert pair.had() and (pair.place("b") / "logs/agent.log").read_text() == "kept"


def test_what_an_earlier_try_left_stays_beside_it_and_a_trial_at_work_is_not_disturbed(pair: Pair) -> None:
    pair.ran("a")
    send_all(pair.context("a"), pair.run)
    earlier = pair.ran("b", log="first try", record="{}")
    (earlier / "attempts/0").mkdir(parents=True)
    held = os.open(earlier, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert pair.had() and (earlier / "logs/agent.log").read_text() == "first try"
    os.close(held)
    assert pair.had() and (earlier / "logs/agent.log").read_text() == "done"
    assert (earlier / "attempts/1/logs/agent.log").read_text() == "first try"
    assert (earlier / "attempts/0").is_dir()


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w") as tar:
        told = tarfile.TarInfo(name)
        told.type, told.linkname = kind, link
        tar.addfile(told)
    return zstandard.compress(body.getvalue())


@pytest.mark.parametrize(
    "body",
    [
        member("../x"),
        member("/tmp/x"),
        member("a/../../x"),
        member("hard", tarfile.LNKTYPE, "/etc/passwd"),
        member("device", tarfile.CHRTYPE),
        b"no zstd",
        zstandard.compress(b"no tar" * 200),
        member("whole")[:-9],
    ],
)
def test_a_packed_folder_that_means_harm_is_refused(tmp_path: Path, body: bytes) -> None:
    (tmp_path / "packed").write_bytes(body)
    with pytest.raises(SharedError):
        unpacked(tmp_path / "packed", tmp_path / "into")
    assert [each for each in tmp_path.rglob("*") if each.is_file()] == [tmp_path / "packed"]


def test_the_same_files_are_packed_the_same(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("text")
        os.utime(tmp_path / name / "file", (len(name), 10))
    assert packed(tmp_path / "one", tmp_path / "1") == packed(tmp_path / "two", tmp_path / "2")


def test_a_stamp_is_one_over_all_homes_of_a_store(tmp_path: Path, store: Store) -> None:
    noon = datetime(2026, 11, 22, 12, 34, 56, tzinfo=UTC)

    def taken(home: str) -> str:
        return reserve(tmp_path / home, "bench", store, now=noon)

    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(taken, "abcabc"))
    assert len(set(made)) == len(made) == 6


def test_tasks_of_every_format_are_the_same_where_they_are_had_by_their_hash(
    tmp_path: Path, shared: Path
) -> None:
    for name in ("a", "b", "mnt"):
        (tmp_path / name).mkdir()
    pair = Pair(tmp_path, Store.open(f"sqlite:///{tmp_path}/x.db"), None)  # type: ignore[arg-type]  # without a run
    names = ("effect-autoagent__simple-script", "harbor-cookbook__multi-step", "swebench__*", "tb3-ci__*")
    folders = [
        next(each for each in sorted((shared / "data/rollouts/tasks").glob(name)) if each.is_dir())
        for name in names
    ]
    tasks = tuple(TaskEntry(str(folder)) for folder in (*folders, EXAMPLES / "mend-the-mean"))
    here = open_rollouts(RolloutsRef("x", tasks=tasks), tmp_path / "a")
    handed_in = share_tasks(RolloutsRef("x", tasks=tasks), pair.context("a"))
    away = tuple(replace(each, folder=f"/nowhere{each.folder}") for each in handed_in.tasks)
    there = RolloutsRef("x", tasks=away)
    assert lacking_tasks(there, pair.context("b")) == []
    bring_tasks(there, pair.context("b"))
    for one, other in zip(here.tasks, open_rollouts(there, tmp_path / "b").tasks, strict=True):
        assert replace(other, folder=one.folder, origin=one.origin) == one
    shutil.rmtree(tmp_path / "mnt/tasks")
    assert len(lacking_tasks(there, pair.context("a"))) == 0, "it has them"
    shutil.rmtree(tmp_path / "b/cache")
    assert len(lacking_tasks(there, pair.context("b"))) == len(tasks)
    pair.store.close()
