"""A backup of a store that is written to, and what comes of it: on SQLite, on PostgreSQL, and from one to the other."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import zstandard
from sqlalchemy import func, select

from proctor.errors import ConfigError, Conflict, DataError, StoreError
from proctor.service.admin.access import create_project
from proctor.service.admin.backup import back_up
from proctor.service.admin.restore import check_backup, restore
from proctor.service.context import Context, open_context
from proctor.settings import Settings, read_settings
from proctor.store import Store
from proctor.store.admin import snapshot
from proctor.store.core.tables import METADATA, PROJECT, RUN
from programs import environment, proctor

pytestmark = pytest.mark.slow

QUESTIONS = Path(__file__).parents[2] / "examples" / "questions.csv"


def settings_of(home: Path, url: str = "") -> Settings:
    return read_settings({"PROCTOR_HOME": str(home), "PROCTOR_DATABASE_URL": url})


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite store with two runs."""
    home = tmp_path_factory.mktemp("asked")
    words = [
        "run",
        str(QUESTIONS),
        "--model",
        "simulator/sim",
        "--model",
        "baseline/majority",
        "--limit",
        "12",
    ]
    proctor(home, *words)
    return home / "proctor.db"


@pytest.fixture
def settings(tmp_path: Path, database_url: str, asked: Path) -> Settings:
    """A home with two runs, and files of every kind that a home has."""
    return filled(tmp_path / "old", database_url, asked)


@pytest.fixture
def on_sqlite(tmp_path: Path, sqlite_url: str, asked: Path) -> Settings:
    return filled(tmp_path / "old", sqlite_url, asked)


def filled(home: Path, url: str, asked: Path) -> Settings:
    home.mkdir()
    if url.startswith("sqlite"):
        Path(url[10:]).parent.mkdir()
        shutil.copy(asked, url[10:])
    else:
        with closing(Store.open(url)) as store:
            snapshot.read_snapshot(asked, store, replace=True)
    for name, text in {
        "keys.env": "OPENAI_API_KEY=sk-never-in-a-backup\n",
        "prices.toml": "",
        "sunday.tar.zst": "an earlier backup",
        "cache/batches/x.npz": "made again",
        "workers/vm-1.json": "{}",
        "data/datasets/" + "ab" * 32: '{"custom_id": "1"}\n',
        "runs/20261122__1/artifacts/diff.patch": "+1\n",
        "runs/20261122__1/odd\nname \\ here.txt": "odd",
    }.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (home / "keys.env").chmod(0o600)
    (home / "runs" / "20261122__1" / "agent.sh").write_text("#!/bin/sh\n")
    (home / "runs" / "20261122__1" / "agent.sh").chmod(0o755)
    (home / "runs" / "20261122__1" / "empty").mkdir()
    (home / "runs" / "20261122__1" / "latest").symlink_to("artifacts/diff.patch")
    (home / "runs" / "20261122__1" / "out").symlink_to("/etc/passwd")
    return settings_of(home, url)


def contents(store: Store) -> dict[str, list[Any]]:
    """Every row of every table."""
    with store.reading() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(select(table))))
            for table in METADATA.sorted_tables
        }


def members(path: Path) -> dict[str, bytes]:
    with path.open("rb") as raw, tarfile.open(fileobj=_plain(raw), mode="r|") as tar:
        return {entry.name: (tar.extractfile(entry) or raw).read() if entry.isreg() else b"" for entry in tar}


def _plain(raw: Any) -> Any:
    return zstandard.ZstdDecompressor().stream_reader(raw)


@contextmanager
def writing(context: Context) -> Iterator[list[int]]:
    """Somebody adds projects, one a transaction, for as long as the block takes."""
    added: list[int] = []
    going = threading.Event()
    going.set()

    def write() -> None:
        while going.is_set():
            added.append(create_project(context, f"project {len(added)}", by="somebody").id)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield added
    finally:
        going.clear()
        thread.join()


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
def test_a_backup_is_restored_row_by_row_and_file_by_file(
    tmp_path: Path, settings: Settings, target: str, request: pytest.FixtureRequest
) -> None:
    with open_context(settings) as context:
        create_project(context, "Red team", by="ann")
        made = back_up(context, tmp_path / "b.tar.zst")
        before = contents(context.store)
    assert (made.rows["run"], made.rows["attempt"], made.files) == (2, 24, 5)
    assert set(made.left_out) == {
        "cache",
        "keys.env",
        "sunday.tar.zst",
        "workers",
        "home/runs/20261122__1/out",
    }
    assert oct(made.path.stat().st_mode & 0o777) == "0o600"
    assert not any(b"sk-never-in-a-backup" in content for content in members(made.path).values())

    url = "" if target == "sqlite" else request.getfixturevalue("postgres_url")
    if url == settings.database_url:  # the only one that there is: what it holds has gone with its disk
        with closing(Store.open(url)) as gone, gone.writing() as connection:
            for table in reversed(METADATA.sorted_tables):
                connection.execute(table.delete())
    there = settings_of(tmp_path / "new", url)
    told = restore(there, made.path)
    assert (told.rows, told.files) == (made.rows, made.files)
    with open_context(there) as context:
        assert contents(context.store) == before
        added = create_project(context, "next", by="ann")
        assert added.id == 3, "ids are counted on where they stood"
    folder = there.home / "runs" / "20261122__1"
    assert (folder / "odd\nname \\ here.txt").read_text() == "odd"
    assert (folder / "latest").read_text() == "+1\n" and (folder / "empty").is_dir()
    assert os.access(folder / "agent.sh", os.X_OK) and not (folder / "out").is_symlink()
    assert not (there.home / "keys.env").exists()
    said = subprocess.run(
        ["sha256sum", "-c", "--quiet", "SHA256SUMS"], cwd=unpacked(made.path, tmp_path / "x"), check=False
    )
    assert said.returncode == 0, "whoever has no proctor can check it"


def unpacked(path: Path, folder: Path) -> Path:
    with path.open("rb") as raw, tarfile.open(fileobj=_plain(raw), mode="r|") as tar:
        tar.extractall(folder, filter="data")
    return folder


def test_a_backup_made_while_others_write_is_of_one_moment(tmp_path: Path, settings: Settings) -> None:
    with open_context(settings) as context, writing(context) as added:
        for turn in range(3):
            least = len(added)
            back_up(context, tmp_path / f"{turn}.tar.zst")
            (tmp_path / f"{turn}").mkdir()
            there = settings_of(tmp_path / f"{turn}" / "new")
            restore(there, tmp_path / f"{turn}.tar.zst")
            with open_context(there) as found, found.store.reading() as rows:
                ids = sorted(rows.execute(select(PROJECT.c.id)).scalars())
            assert ids == list(range(1, len(ids) + 1)), "a later one is there, and an earlier one is not"
            assert len(ids) > least, "what was committed before it began is in it"
            with sqlite3.connect(there.home / "proctor.db") as database:
                (fault,) = database.execute("PRAGMA integrity_check").fetchone()
            assert fault == "ok"
    assert len(added) > 3, "somebody wrote all the time"


def test_kill_9_while_a_backup_is_made_leaves_nothing_under_its_name(
    tmp_path: Path, on_sqlite: Settings
) -> None:
    settings = on_sqlite
    with (settings.home / "data" / "large").open("wb") as large:
        large.truncate(3 << 30)  # so that it takes a while
    path = tmp_path / "out" / "b.tar.zst"
    path.parent.mkdir()
    words = [sys.executable, "-m", "proctor", "backup", str(path)]
    killed = subprocess.Popen(
        words, env=environment(settings.home, PROCTOR_DATABASE_URL=settings.database_url)
    )
    while not any((folder / "backup").exists() for folder in path.parent.glob(".proctor-backup-*")):
        assert killed.poll() is None
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not path.exists() and list(path.parent.iterdir()), "it left its work, and nothing else"
    (settings.home / "data" / "large").unlink()
    with open_context(settings) as context:
        back_up(context, path)
    assert list(path.parent.iterdir()) == [path], "the next one takes away what was left"
    assert check_backup(path).rows["attempt"] == 24


def test_what_is_there_already_is_refused_and_with_replace_put_aside(
    tmp_path: Path, on_sqlite: Settings
) -> None:
    settings = on_sqlite
    path = tmp_path / "b.tar.zst"
    with open_context(settings) as context:
        back_up(context, path)
        with pytest.raises(Conflict, match="is there already"):
            back_up(context, path)
        before = contents(context.store)
        create_project(context, "after the backup", by="ann")
    with pytest.raises(Conflict, match=r"is not empty \(data"):
        restore(settings, path)
    with pytest.raises(Conflict, match="the database is not empty"):
        restore(settings_of(tmp_path / "other", settings.database_url), path)
    with closing(Store.open(settings.database_url)) as store, store.reading() as held:
        held.execute(select(func.count()).select_from(RUN)).scalar_one()
        with pytest.raises(Conflict, match="stop the server"):
            restore(settings, path, replace=True)
    restore(settings, path, replace=True)
    with open_context(settings) as context:
        assert contents(context.store) == before
    (aside,) = settings.home.glob("before-restore-*")
    assert {each.name for each in aside.iterdir()} == {"proctor.db", "data", "runs", "prices.toml"}
    with open_context(settings) as context:
        back_up(context, path, replace=True)
    assert not any("before-restore" in name for name in members(path))


def test_postgresql_that_holds_runs_is_refused_and_with_replace_emptied_in_one_transaction(
    tmp_path: Path, postgres_url: str, asked: Path
) -> None:
    settings = filled(tmp_path / "old", postgres_url, asked)
    with open_context(settings) as context:
        back_up(context, tmp_path / "b.tar.zst")
        before = contents(context.store)
    there = settings_of(tmp_path / "new", postgres_url)
    with pytest.raises(Conflict, match="the database is not empty"):
        restore(there, tmp_path / "b.tar.zst")
    with open_context(settings) as context:
        create_project(context, "more", by="ann")
        with pytest.raises(Conflict, match="stop the server"):
            restore(there, tmp_path / "b.tar.zst", replace=True)
    restore(settings_of(tmp_path / "newer", postgres_url), tmp_path / "b.tar.zst", replace=True)
    with open_context(settings) as context:
        assert contents(context.store) == before


def test_a_damaged_cut_or_hostile_backup_changes_nothing(tmp_path: Path, on_sqlite: Settings) -> None:
    settings = on_sqlite
    path = tmp_path / "b.tar.zst"
    with open_context(settings) as context:
        back_up(context, path)
    whole = path.read_bytes()
    for place in (len(whole) * part // 12 for part in range(12)):  # what is behind the sums says nothing
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with pytest.raises(DataError):
            check_backup(path)
        path.write_bytes(whole[:place])
        with pytest.raises(DataError):
            restore(settings_of(tmp_path / "new"), path)
    kept = unpacked_members(whole)
    for odd in (
        [("home/../../out", tarfile.REGTYPE, "")],
        [("/home/out", tarfile.REGTYPE, "")],
        [("home/pipe", tarfile.FIFOTYPE, "")],
        [("home/link", tarfile.SYMTYPE, "/etc")],
        [("home/a", tarfile.DIRTYPE, ""), ("home/a/link", tarfile.SYMTYPE, "../../..")],
        [("home/link", tarfile.SYMTYPE, "data"), ("home/link/x", tarfile.REGTYPE, "")],
    ):
        packed(path, kept, odd)
        with pytest.raises(DataError):
            restore(settings_of(tmp_path / "new"), path)
    assert not (tmp_path / "new").exists() or list((tmp_path / "new").iterdir()) == []
    with pytest.raises(DataError, match="No such file"):
        check_backup(tmp_path / "nowhere")


def unpacked_members(whole: bytes) -> list[tuple[tarfile.TarInfo, bytes]]:
    import io

    with tarfile.open(fileobj=_plain(io.BytesIO(whole)), mode="r|") as tar:
        return [
            (each, (tar.extractfile(each) or io.BytesIO()).read() if each.isreg() else b"") for each in tar
        ]


def packed(path: Path, kept: list[tuple[tarfile.TarInfo, bytes]], more: list[tuple[str, bytes, str]]) -> None:
    """The members before the sums, then these, then sums that fit: whoever makes it knows the format."""
    import hashlib
    import io

    with (
        path.open("wb") as raw,
        zstandard.ZstdCompressor().stream_writer(raw, closefd=False) as out,
        tarfile.open(fileobj=out, mode="w|") as tar,
    ):
        for told, content in kept[:-1]:
            tar.addfile(told, io.BytesIO(content))
        sums = kept[-1][1]
        for name, kind, target in more:
            told = tarfile.TarInfo(name)
            told.type, told.linkname = kind, target
            tar.addfile(told)
            if kind == tarfile.REGTYPE:
                sums += f"{hashlib.sha256(b'').hexdigest()}  {name}\n".encode()
        told = tarfile.TarInfo("SHA256SUMS")
        told.size = len(sums)
        tar.addfile(told, io.BytesIO(sums))


def test_a_backup_that_cannot_be_written_says_where_and_leaves_nothing(
    tmp_path: Path, on_sqlite: Settings
) -> None:
    with open_context(on_sqlite) as context, pytest.raises(ConfigError, match="nowhere"):
        back_up(context, tmp_path / "nowhere" / "b.tar.zst")


def test_a_backup_of_a_newer_proctor_names_the_version_that_it_wants(
    tmp_path: Path, on_sqlite: Settings
) -> None:
    settings = on_sqlite
    with open_context(settings) as context:
        with context.store.writing() as connection:
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        back_up(context, tmp_path / "b.tar.zst")
    with pytest.raises(StoreError, match="a newer proctor has written it"):
        restore(settings_of(tmp_path / "new"), tmp_path / "b.tar.zst")
    assert not (tmp_path / "new" / "proctor.db").exists()


def test_the_commands_say_what_is_in_it_and_what_is_not(tmp_path: Path, on_sqlite: Settings) -> None:
    settings = on_sqlite
    path = tmp_path / "b.tar.zst"
    said = proctor(settings.home, "backup", str(path), PROCTOR_DATABASE_URL=settings.database_url).stdout
    assert (
        "2 runs, 24 attempts, 0 data sets, 5 files" in said
        and "Not in it: cache, keys.env, sunday.tar.zst, workers" in said
    )
    (tmp_path / "new").mkdir()
    assert "is whole: 2 runs" in proctor(tmp_path / "new", "restore", str(path), "--check").stdout
    assert "2 runs, 24 attempts" in proctor(tmp_path / "new", "restore", str(path)).stdout
    assert "simulator/sim" in proctor(tmp_path / "new", "list").stdout
