"""The bytes of uploaded files, in pieces packed with zstd and found by hash: any worker has them, and any backup.

A file's pieces are written before any row names them, each in a transaction of its own, so that a large upload
holds nobody up. What a broken upload leaves behind is swept away with the next data set that is deleted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import zstandard
from sqlalchemy import delete, exists, func, select, text

from proctor.errors import NotFound, StoreError
from proctor.store.core.schema import Database
from proctor.store.core.tables import DATASET, DATASET_CHUNK, DATASET_FILE

PIECE_BYTES = 2**20
SHARED = "/"  # stands in the names of files that machines share, and in no content's hash
_LOCK = "LOCK TABLE dataset_file IN SHARE ROW EXCLUSIVE MODE"


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file by its name, the SHA-256 of its bytes in hex, and its size."""

    filename: str
    sha256: str
    bytes: int


def content_of(files: Sequence[KeptFile]) -> str:
    """The hash of a content: of its files' hashes and names, as `sha256sum` would list them in order of name."""
    listed = "".join(
        f"{each.sha256}  {each.filename}\n" for each in sorted(files, key=lambda file: file.filename)
    )
    return hashlib.sha256(listed.encode()).hexdigest()


def hashed(file: BinaryIO, filename: str) -> KeptFile:
    """What a file is, read once from its beginning."""
    digest, size = hashlib.sha256(), 0
    file.seek(0)
    while piece := file.read(PIECE_BYTES):
        digest.update(piece)
        size += len(piece)
    return KeptFile(filename, digest.hexdigest(), size)


def keep_bytes(store: Database, of: KeptFile, file: BinaryIO) -> None:
    """The bytes of a file, in the database; those that are there already are not written again."""
    file.seek(0)
    packer = zstandard.ZstdCompressor(level=3)
    place = 0
    while piece := file.read(PIECE_BYTES):
        row = {"sha256": of.sha256, "place": place, "body": packer.compress(piece)}
        with store.writing() as connection:
            connection.execute(store.insert(DATASET_CHUNK).on_conflict_do_nothing(), row)
        place += 1


def files_of(store: Database, content: str) -> list[KeptFile]:
    """The files of a content, by name. Raises: NotFound where it was deleted."""
    query = select(DATASET_FILE).where(DATASET_FILE.c.content == content).order_by(DATASET_FILE.c.filename)
    with store.reading() as connection:
        found = [KeptFile(row.filename, row.sha256, row.bytes) for row in connection.execute(query)]
    if not found:
        raise NotFound(
            f"The uploaded files {content[:12]} are no longer here: their data set was deleted. Upload them again, "
            "under any name, and what asks them finds them"
        )
    return found


def pieces(store: Database, of: KeptFile) -> Iterator[bytes]:
    """The bytes of a file, piece by piece. Raises: StoreError for pieces that are not the file's."""
    digest, unpacker, place = hashlib.sha256(), zstandard.ZstdDecompressor(), 0
    while True:
        query = select(DATASET_CHUNK.c.body).where(
            DATASET_CHUNK.c.sha256 == of.sha256, DATASET_CHUNK.c.place == place
        )
        with store.reading() as connection:
            body = connection.execute(query).scalar_one_or_none()
        if body is None:
            break
        piece = unpacker.decompress(body, max_output_size=PIECE_BYTES)
        digest.update(piece)
        yield piece
        place += 1
    if digest.hexdigest() != of.sha256:
        raise StoreError(f"{of.filename}: the database does not have all its bytes; upload the file again")


def sweep(store: Database) -> None:
    """Delete files that no data set has any more, and bytes that no file has."""
    unnamed = ~exists().where(DATASET.c.content == DATASET_FILE.c.content)
    files = delete(DATASET_FILE).where(unnamed, DATASET_FILE.c.content.not_like(f"%{SHARED}%"))
    chunks = delete(DATASET_CHUNK).where(~exists().where(DATASET_FILE.c.sha256 == DATASET_CHUNK.c.sha256))
    with store.whole.writing() as connection:
        if store.engine.name == "postgresql":
            # An upload that is about to name these bytes waits, and then sees that they are gone.
            connection.execute(text(_LOCK))
        connection.execute(files)
        connection.execute(chunks)


# Files that machines share, by name (store/shared): whoever put one there drops it.


def keep_shared(store: Database, name: str, file: BinaryIO) -> None:
    """Keep a file under a name. Raises: StoreError where a sweep took its bytes meanwhile."""
    of = hashed(file, name)
    keep_bytes(store, of, file)
    row = {"content": name, "filename": name, "sha256": of.sha256, "bytes": of.bytes}
    count = select(func.count()).where(DATASET_CHUNK.c.sha256 == of.sha256)
    with store.whole.writing() as connection:
        if store.engine.name == "postgresql":
            connection.execute(text(_LOCK))
        if connection.execute(count).scalar_one() != -(-of.bytes // PIECE_BYTES):
            raise StoreError(f"{name}: its bytes did not all reach the database; try again")
        connection.execute(store.insert(DATASET_FILE).on_conflict_do_nothing(), row)


def take_name(store: Database, name: str) -> bool:
    """Take a name that only one may have, as an empty file; False where somebody has it."""
    nothing = hashlib.sha256().hexdigest()
    row = {"content": name, "filename": name, "sha256": nothing, "bytes": 0}
    taking = store.insert(DATASET_FILE).values(row).on_conflict_do_nothing().returning(DATASET_FILE.c.content)
    with store.whole.writing() as connection:
        return connection.execute(taking).first() is not None


def give_name_back(store: Database, name: str) -> None:
    with store.whole.writing() as connection:
        connection.execute(delete(DATASET_FILE).where(DATASET_FILE.c.content == name))


def shared_file(store: Database, name: str) -> KeptFile | None:
    """The file that is kept under a name."""
    query = select(DATASET_FILE).where(DATASET_FILE.c.content == name)
    with store.reading() as connection:
        row = connection.execute(query).first()
    return None if row is None else KeptFile(row.filename, row.sha256, row.bytes)


def shared_names(store: Database, prefix: str) -> list[str]:
    """The names that begin so, in order."""
    query = select(DATASET_FILE.c.content).where(DATASET_FILE.c.content.startswith(prefix, autoescape=True))
    with store.reading() as connection:
        return sorted(connection.execute(query).scalars())


def drop_shared(store: Database, name: str) -> None:
    with store.whole.writing() as connection:
        connection.execute(delete(DATASET_FILE).where(DATASET_FILE.c.content == name))
    sweep(store)
