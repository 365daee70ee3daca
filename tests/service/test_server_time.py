"""A vLLM tells its time in its metrics, not in its replies: a run's part of them counts if it is the run's alone."""

from __future__ import annotations

from clocks import EACH_S, asked, telling


def test_the_runs_own_part_of_the_metrics_is_its_service_time(tmp_path):
    with telling() as server:
        result = asked(tmp_path, server)
    speed = result.tally.speed
    assert speed is not None and speed.basis == "server"
    assert (round(speed.service_s or 0.0, 9), speed.served, speed.timed) == (EACH_S, 12, 12)
    assert result.run.manifest.server_clock.requests == 12
    assert server.looks == 2


def test_where_another_client_asked_too_nothing_is_measured_and_the_manifest_says_why(tmp_path):
    with telling(each=2) as server:
        result = asked(tmp_path, server)
    assert result.tally.speed is not None and result.tally.speed.basis == "measured"
    assert "count 24 requests meanwhile, where this run made 12" in result.run.manifest.server_clock.why_not


def test_a_server_that_does_not_say_it_is_a_vllm_is_not_asked_for_metrics(tmp_path):
    with telling(owner="somebody") as server:
        result = asked(tmp_path, server)
    assert server.looks == 0
    assert result.run.manifest.server_clock is None
