"""A bundle of picked runs says what was tried where they were made, and is verified with it."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from bundles import answers, replayed, rows
from opened import bundle
from proctor.errors import DataError
from proctor.service.data.tried import record_of, tried_from
from proctor.service.data.verify import verify
from proctor.service.looks.ledger import TriedBeside
from simulators import settings

pytestmark = pytest.mark.slow


@pytest.mark.promise("X-07")
def test_a_bundle_of_two_picked_runs_says_of_how_many(tmp_path: Path) -> None:
    source = rows(tmp_path, 60)
    for name in ("other", "third"):
        replayed(tmp_path, source, answers(60, wrong=range(20)), name)
    replayed(tmp_path, source, answers(60, wrong=range(12)), "lucky")
    picked = replayed(tmp_path, source, answers(60, wrong=range(2)), "lucky")
    beaten = replayed(tmp_path, source, answers(60, wrong=range(11)), "beaten")
    path = tmp_path / "picked.zip"
    bundle([picked, beaten], settings(tmp_path), path)
    with zipfile.ZipFile(path) as archive:
        results = json.loads(archive.read("results.json"))
    assert results["comparisons"][0]["comparisons"] == 6
    assert "one of 6 pairs of the 4 models" in results["verdict"]
    assert "replay/lucky is the latest of its 2 runs here" in results["verdict"]
    assert not verify(path).faults


def test_what_was_tried_is_read_as_it_was_written() -> None:
    tried = TriedBeside(unseen=3, deleted=1, watched=frozenset({"run"}), peeks=4)
    assert tried_from(json.loads(json.dumps(record_of(tried)))) == tried
    assert tried_from(None) is None
    for broken in ([], {}, {**record_of(tried), "unseen": -1}, {**record_of(tried), "reruns": [{}]}):
        with pytest.raises(DataError, match="tried"):
            tried_from(broken)
