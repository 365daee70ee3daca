"""A bucket that machines share: a real server that speaks S3 and checks each signature, and two homes beside it."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from s3_server import KEY, KEY_ID, S3, s3_server

from jobs_world import World, world
from proctor.errors import ConfigError, SharedError
from proctor.references import ExamRef
from proctor.service.data.transfer import share_imported
from proctor.service.datasets import requests
from proctor.service.datasets.arriving import copied
from proctor.service.datasets.requests import RequestsWish
from proctor.service.kinds import kind_of
from proctor.settings import read_settings
from proctor.sources.exams.official.imports import Imported, ImportReport
from proctor.sources.exams.rows.normal_form import Row, read_rows, write_rows
from proctor.store.datasets import shelf
from proctor.store.shared.contract import Shared
from proctor.store.shared.opening import shared_of
from request_files import lines

pytestmark = pytest.mark.slow

ADDRESS = "s3://exams/of the team"


@pytest.fixture
def s3() -> Iterator[S3]:
    with s3_server() as server:
        yield server


@pytest.fixture
def homes(tmp_path: Path, s3: S3) -> Iterator[tuple[World, World]]:
    """Two homes with a database in common, which is a file here: what is shared goes through the bucket alone."""
    url = f"sqlite:///{tmp_path / 'proctor.db'}"
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    with world(tmp_path / "one", url) as one, world(tmp_path / "other", url) as other:
        for each in (one, other):
            each.set(**s3.environ(ADDRESS))
        yield one, other


def shared(of: World) -> Shared:
    found = shared_of(of.settings, of.store)
    assert found is not None
    return found


def test_a_large_file_goes_in_parts_and_comes_back_byte_for_byte(homes: tuple[World, World], s3: S3) -> None:
    here, there = homes
    path = here.home / "large"
    path.write_bytes(random.Random(1).randbytes(6_000_000))
    shared(here).put("requests/a name", path)
    assert s3.objects.keys() == {"exams/of the team/requests/a name"}
    assert sum("partNumber" in asked for asked in s3.asked) == 2
    assert b"".join(shared(there).pieces("requests/a name")) == path.read_bytes()
    assert shared(there).names("requests/") == ["requests/a name"] and not shared(there).has("requests/b")
    asked = len(s3.asked)
    shared(here).put("requests/a name", path)
    assert [each.partition(" ")[0] for each in s3.asked[asked:]] == ["HEAD"], "the same is not sent again"
    assert s3.refused == []


def test_uploaded_requests_are_fetched_checked_and_deleted_with_their_data_set(
    homes: tuple[World, World], s3: S3
) -> None:
    here, there = homes
    (here.home / "asked.jsonl").write_bytes(lines(3))
    with copied(here.home / "asked.jsonl", here.settings) as arrived:
        kept = requests.keep(here.context, arrived, RequestsWish())
    (name,) = s3.objects
    assert name == f"exams/of the team/requests/{kept.content}"
    kind = kind_of(kept.ref)
    assert kind.lacking(kept.ref, there.context) is None
    whole, s3.objects[name] = s3.objects[name], s3.objects[name][:-1]
    with pytest.raises(SharedError, match="is another file"):
        kind.bring(kept.ref, there.context)
    assert shelf.here(there.settings, kept.content) is None
    s3.objects[name] = whole
    kind.bring(kept.ref, there.context)
    copy = shelf.here(there.settings, kept.content)
    assert copy is not None and copy.read_bytes() == lines(3) and copy.stat().st_mode & 0o777 == 0o600
    requests.remove(here.context, kept.id)
    assert not s3.objects


def test_imported_rows_go_through_the_bucket(homes: tuple[World, World], s3: S3) -> None:
    here, there = homes
    rows = [Row("boolq/1", "boolq", "yes", {"passage": "It is.", "question": "is it"})]
    write_rows(here.home, "boolq", "eval", rows, source=["made here"], now=1000.0)
    share_imported(here.context, ImportReport((Imported("boolq", "eval", 1, "made here"),), (), (), ()))
    ref = ExamRef("suite", "superglue", tasks=("boolq",), rows="imported")
    assert kind_of(ref).lacking(ref, there.context) is None
    kind_of(ref).bring(ref, there.context)
    assert read_rows("boolq", "imported", there.home).rows == tuple(rows)


def test_a_bucket_that_refuses_says_so_without_its_key_and_stops_no_upload(
    homes: tuple[World, World], s3: S3, caplog: pytest.LogCaptureFixture
) -> None:
    here, there = homes
    here.set(AWS_SECRET_ACCESS_KEY="another/key+that+is+wrong")
    (here.home / "asked.jsonl").write_bytes(lines(1))
    with caplog.at_level(logging.WARNING), copied(here.home / "asked.jsonl", here.settings) as arrived:
        kept = requests.keep(here.context, arrived, RequestsWish())
    assert shelf.here(here.settings, kept.content) and not s3.objects and s3.refused == ["another signature"]
    with pytest.raises(SharedError, match="403") as refused:
        shared(here).names("requests/")
    assert "are on this machine alone" in caplog.text
    said = f"{caplog.text}{refused.value}{here.settings!r}{shared(here)!r}{there.settings!r}"
    assert not [secret for secret in (KEY, KEY_ID, "another/key") if secret in said]
    assert {KEY, KEY_ID} <= set(there.settings.secrets)


def test_an_address_that_cannot_be_meant_is_refused_with_how_it_looks(tmp_path: Path, s3: S3) -> None:
    for address in ("ftp://somewhere", "s3://", "some/folder", "s3://KEY@bucket/x"):
        settings = read_settings({"PROCTOR_HOME": str(tmp_path), **s3.environ(address)})
        with world(tmp_path) as home, pytest.raises(ConfigError, match="PROCTOR_SHARED"):
            shared_of(settings, home.store)
