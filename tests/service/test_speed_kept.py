"""What is kept of a run's speed: in the store, in exports and in bundles, and what older versions kept without it."""

from __future__ import annotations

import json
import re
from io import StringIO

import pytest

from bundles import altered, in_json, in_lines, members
from clocks import EACH_S, TIMINGS, asked, telling
from opened import bundle, export
from proctor.findings import Speed
from proctor.service.context import open_store
from proctor.service.data.counted import tally
from proctor.service.data.verify import verify
from proctor.service.results.profile import tally_of
from proctor.store.core.tables import RUN
from simulators import settings

LATER = ("speed", "run_output_tokens_per_s")


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """A home with a run whose replies carry the server's time, and its id."""
    home = tmp_path_factory.mktemp("home")
    with telling(owner="llamacpp", more=TIMINGS) as server:
        return home, asked(home, server).run.id


def test_the_tally_is_the_same_from_the_store_and_from_rows(timed):
    home, run_id = timed
    with open_store(settings(home)) as store:
        counted, kept = tally(list(store.latest(run_id))), store.tally(run_id)
    assert kept.speed is not None and kept.speed.service_s == pytest.approx(EACH_S)
    assert (kept.speed.served, kept.speed.timed) == (12, 12) and 1 <= (kept.speed.in_flight or 0) <= 2
    assert counted.speed is not None and facts(counted.speed) == pytest.approx(facts(kept.speed))


def facts(speed: Speed) -> dict[str, float | None]:
    return {name: getattr(speed, name) for name in Speed.__slots__}


def test_an_export_ends_with_the_servers_time_and_the_requests_in_flight(timed):
    home, run_id = timed
    out = StringIO()
    assert export([run_id], settings(home), "csv", out) == 12
    head, first, *_ = out.getvalue().splitlines()
    assert head.endswith(",reply,service_s,in_flight") and re.search(r",0\.0005,(1\.5|2\.0|1\.0)$", first)


def test_a_bundle_keeps_and_verifies_the_speed(timed, tmp_path):
    home, run_id = timed
    path = bundle([run_id], settings(home), tmp_path / "a.zip").path
    assert verify(path).faults == ()
    (run,) = json.loads(members(path)["results.json"])["runs"]
    assert run["speed"]["basis"] == "server" and run["speed"]["seconds"] == pytest.approx(EACH_S)

    def quicker(replies):
        replies[3]["service_s"] = 0.0001

    (fault,) = verify(altered(path, lambda m: in_lines(m, "replies.jsonl", quicker))).faults
    assert "speed" in fault


def test_a_bundle_of_an_older_version_still_verifies(timed, tmp_path):
    home, run_id = timed
    path = bundle([run_id], settings(home), tmp_path / "b.zip").path

    def older(m):
        in_json(m, "bundle.json", lambda head: head.update(format=1))
        in_json(m, "results.json", lambda told: [told["runs"][0].pop(name) for name in LATER])
        in_lines(
            m, "replies.jsonl", lambda rows: [row.pop(k) for row in rows for k in ("service_s", "in_flight")]
        )

    found = verify(altered(path, older))
    assert (found.faults, found.replies) == ((), 12)


def test_what_an_older_version_kept_of_a_run_is_measured_with_nothing_said_of_how_many(timed):
    home, run_id = timed
    with open_store(settings(home)) as store, store.writing() as connection:
        text = connection.execute(RUN.select().where(RUN.c.id == run_id)).one().summary
        kept = json.loads(text)
        kept["tally"]["seconds_per_item"] = kept["tally"].pop("speed")["wire_s"]
        connection.execute(RUN.update().where(RUN.c.id == run_id).values(summary=json.dumps(kept)))
    with open_store(settings(home)) as store:
        speed = tally_of(store, store.run(run_id)).speed
    assert speed is not None and (speed.basis, speed.timed, speed.in_flight) == ("measured", 12, None)
