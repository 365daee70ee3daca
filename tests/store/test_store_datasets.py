"""Data sets in both databases: bytes once, names of a project, and what goes when they go."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from sqlalchemy import func, select

from opened import over
from proctor.errors import Conflict, NotFound, StoreError
from proctor.service.datasets import kept
from proctor.service.datasets.kept import Uploaded, Wish
from proctor.store import Store
from proctor.store.core.tables import DATASET, DATASET_CHUNK, DATASET_FILE
from proctor.store.core.walls import Reach
from proctor.store.datasets.content import PIECE_BYTES, hashed, keep_bytes, pieces
from proctor.store.datasets.files import brought
from simulators import settings
from uploads import csv_of

TABLES = (DATASET, DATASET_FILE, DATASET_CHUNK)


def counted(store: Store) -> list[int]:
    with store.reading() as connection:
        return [connection.execute(select(func.count()).select_from(table)).scalar_one() for table in TABLES]


def test_the_same_bytes_are_kept_once_and_go_with_the_last_data_set(
    database_url: str, tmp_path: Path
) -> None:
    known, store = settings(tmp_path, PROCTOR_DATABASE_URL=database_url), Store.open(database_url)
    body = csv_of(3)

    def upload(name: str | None = None, file: str = "q.csv") -> kept.Dataset:
        return kept.upload(over(store, known), [Uploaded(file, io.BytesIO(body))], Wish(name))

    first, again, other = upload(), upload(), upload("Other")
    assert (again.id, again.made, other.content) == (first.id, False, first.content)
    assert other.id != first.id and counted(store) == [2, 1, 1]
    renamed = upload(file="other name.csv")
    assert renamed.content != first.content and counted(store) == [3, 2, 1]
    with pytest.raises(Conflict, match="There is a data set 'Other' already"):
        kept.change(over(store, known), first.id, name="Other")
    with pytest.raises(Conflict, match="give this one another name"):
        kept.upload(over(store, known), [Uploaded("q.csv", io.BytesIO(csv_of(4)))], Wish())
    path = brought(store, first.content, known)
    assert path.name == "q.csv" and path.read_bytes() == body and path.parent.stat().st_mode & 0o077 == 0
    path.write_bytes(body[:-1] + b"x")
    assert brought(store, first.content, known).read_bytes() == body
    for each in (first, other):
        kept.remove(over(store, known), each.id)
    assert counted(store) == [1, 1, 1]
    kept.remove(over(store, known), renamed.id)
    assert counted(store) == [0, 0, 0] and not path.exists()
    with pytest.raises(NotFound, match="Upload them again"):
        brought(store, first.content, known)
    store.close()


def test_bytes_that_are_not_all_there_are_never_taken_for_the_file(database_url: str) -> None:
    store, body = Store.open(database_url), io.BytesIO(b"x" * (2 * PIECE_BYTES) + b"end")
    file = hashed(body, "q.csv")
    keep_bytes(store, file, body)
    keep_bytes(store, file, body)
    assert b"".join(pieces(store, file)) == body.getvalue()
    with store.writing() as connection:
        assert connection.execute(DATASET_CHUNK.delete().where(DATASET_CHUNK.c.place == 2)).rowcount == 1
    with pytest.raises(StoreError, match="does not have all its bytes"):
        list(pieces(store, file))
    store.close()


def test_a_data_set_is_seen_in_its_project_alone(database_url: str, tmp_path: Path) -> None:
    known, store = settings(tmp_path, PROCTOR_DATABASE_URL=database_url), Store.open(database_url)
    made = kept.upload(over(store, known), [Uploaded("q.csv", io.BytesIO(csv_of(3)))], Wish())
    narrow = store.within(Reach(frozenset({2})))
    assert not kept.listed(over(narrow)) and kept.ref_named(over(narrow), "q", 1) is None
    with pytest.raises(NotFound):
        kept.one(over(narrow), made.id)
    with pytest.raises(NotFound):
        kept.upload(over(narrow, known), [Uploaded("q.csv", io.BytesIO(csv_of(3)))], Wish())
    assert kept.listed(over(store))[0].id == made.id
    store.close()
