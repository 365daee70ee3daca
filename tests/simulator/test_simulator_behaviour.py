"""Luck, faults and latencies: shares that come out as asked, and the same every time."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.simulator import NAMED, Behaviour
from proctor.simulator.behaviour import FAULTS, draw, fault_of, is_right, latency_of

KEYS = [f"{number:032x}" for number in range(4000)]


def rights(accuracy: float, correlation: float, model: str) -> list[bool]:
    behaviour = Behaviour(accuracy=accuracy, correlation=correlation)
    return [is_right(behaviour, 7, model, key) for key in KEYS]


@given(st.lists(st.one_of(st.text(), st.integers()), min_size=1, max_size=4))
def test_a_draw_is_in_the_unit_interval_and_repeats(parts: list[Any]) -> None:
    assert 0.0 <= draw(*parts) < 1.0
    assert draw(*parts) == draw(*parts)


def test_draws_are_evenly_spread() -> None:
    tenths = [int(draw("x", number) * 10) for number in range(10_000)]
    # 1,000 each, give or take five standard errors.
    assert all(850 < tenths.count(tenth) < 1150 for tenth in range(10))


@pytest.mark.parametrize("accuracy", [0.0, 0.6, 0.8, 1.0])
def test_the_share_of_right_answers_is_the_accuracy(accuracy: float) -> None:
    share = statistics.fmean(rights(accuracy, 0.5, "m"))
    assert share == pytest.approx(accuracy, abs=5 * (accuracy * (1 - accuracy) / len(KEYS)) ** 0.5)


def test_models_agree_as_far_as_their_luck_is_shared() -> None:
    """Two models share a prompt's luck when both draw it from the prompt: correlation squared."""
    for correlation, low, high in [(0.0, -0.08, 0.08), (0.7, 0.41, 0.57), (1.0, 0.999, 1.001)]:
        one, other = rights(0.6, correlation, "one"), rights(0.6, correlation, "other")
        assert low < statistics.correlation(one, other) < high


def test_another_seed_brings_other_luck() -> None:
    behaviour = Behaviour(accuracy=0.5)
    here, there = ([is_right(behaviour, seed, "m", key) for key in KEYS[:100]] for seed in (1, 2))
    assert here != there


def test_without_spread_the_latency_is_the_mean() -> None:
    assert {latency_of(Behaviour(latency_s=0.2), 1, number) for number in range(9)} == {0.2}
    assert latency_of(Behaviour(latency_sigma=0.5), 1, 1) == 0.0


def test_the_spread_keeps_the_mean() -> None:
    slow = Behaviour(latency_s=0.2, latency_sigma=0.5)
    drawn = [latency_of(slow, 1, number) for number in range(20_000)]
    assert statistics.fmean(drawn) == pytest.approx(0.2, rel=0.02)
    # The median of a lognormal is exp(mu) = mean * exp(-sigma^2 / 2).
    assert statistics.median(drawn) == pytest.approx(0.17650, rel=0.02)
    assert min(drawn) > 0


def test_the_latency_follows_the_order_of_arrival_alone() -> None:
    one = Behaviour(latency_s=0.2, latency_sigma=0.5)
    other = replace(one, accuracy=0.1, verbose=False)
    assert [latency_of(one, 1, n) for n in range(9)] == [latency_of(other, 1, n) for n in range(9)]
    assert latency_of(one, 1, 1) != latency_of(one, 2, 1)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_rate_of_one_is_met_by_every_request(fault: str) -> None:
    always = Behaviour(**{f"{fault}_rate": 1.0})
    assert {fault_of(always, 1, "m", key, 1) for key in KEYS} == {fault}


def test_no_rate_is_no_fault() -> None:
    assert {fault_of(Behaviour(), 1, "m", key, 1) for key in KEYS} == {None}


def test_faults_come_in_their_shares_and_one_at_a_time() -> None:
    faulty = Behaviour(error_rate=0.2, crash_rate=0.1, unclear_rate=0.3)
    met = [fault_of(faulty, 1, "m", key, 1) for key in KEYS]
    shares = {fault: met.count(fault) / len(met) for fault in set(met)}
    assert shares == {
        "error": pytest.approx(0.2, abs=0.035),
        "crash": pytest.approx(0.1, abs=0.035),
        "unclear": pytest.approx(0.3, abs=0.035),
        None: pytest.approx(0.4, abs=0.035),
    }


def test_a_fault_may_clear_when_the_prompt_is_asked_again() -> None:
    flaky = Behaviour(error_rate=0.5)
    first, second = ([fault_of(flaky, 1, "m", key, tried) for key in KEYS] for tried in (1, 2))
    cleared = sum(was == "error" and now is None for was, now in zip(first, second, strict=True))
    assert cleared == pytest.approx(len(KEYS) / 4, rel=0.2)
    assert first == [fault_of(flaky, 1, "m", key, 1) for key in KEYS]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"accuracy": 1.1}, "accuracy is 1.1"),
        ({"correlation": -0.1}, "correlation is -0.1"),
        ({"accuracy": float("nan")}, "accuracy is nan"),
        ({"latency_s": -1.0}, "latency_s is -1.0"),
        ({"latency_s": float("inf")}, "latency_s is inf"),
        ({"tokens": 0}, "tokens is 0"),
        ({"error_rate": 0.6, "crash_rate": 0.6}, "fault rates sum to 1.2"),
    ],
)
def test_a_value_out_of_range_is_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Behaviour(**options)


def test_the_named_models_stand_in_the_order_people_try_them() -> None:
    assert list(NAMED) == [
        "sim", "sim-small", "sim-perfect", "sim-wrong", "sim-silent", "sim-truncating",
        "sim-ratelimited", "sim-flaky", "sim-crashing", "sim-garbage", "sim-endless", "sim-unclear",
        "sim-refusing", "sim-thinking", "sim-overloaded", "sim-forbidden", "sim-blocked", "sim-breaking",
        "sim-wordy", "judge", "judge-70", "judge-95", "judge-longer", "judge-first", "judge-kind",
    ]  # fmt: skip
    assert [behaviour.accuracy for behaviour in NAMED.values()][:4] == [0.8, 0.6, 1.0, 0.0]
    assert (NAMED["sim-ratelimited"].rate_limit_rate, NAMED["sim-flaky"].error_rate) == (0.3, 0.2)
    assert NAMED["sim-crashing"].crash_rate == 1.0
