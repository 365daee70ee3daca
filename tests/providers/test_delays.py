"""Retry-After in every form that servers have been seen to use."""

from __future__ import annotations

import pytest

from proctor.providers.wire.delays import parse_delay, retry_after_s


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"Retry-After": "7"}, "", 7),
        ({"retry-after": "1.5"}, "", 1.5),
        ({"retry-after-ms": "250", "Retry-After": "1"}, "", 0.25),
        ({"Retry-After": "2m3s"}, "", 123),
        ({}, '{"error": {"details": [{"retryDelay": "53s"}]}}', 53),
        ({}, "Rate limit reached. Please try again in 1m2.5s. Visit ...", 62.5),
        ({}, "Please retry in 820ms", 0.82),
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, "", 360),
        ({"Retry-After": "2"}, "Please retry in 50s", 2),
        ({"Retry-After": "later"}, "", None),
        ({}, "", None),
    ],
)
def test_the_delay_a_server_asks_for(headers, body, seconds):
    assert retry_after_s(headers, body) == (seconds if seconds is None else pytest.approx(seconds))


def test_an_http_date_is_counted_from_now_and_a_past_one_is_no_wait():
    assert parse_delay("Thu, 01 Jan 1970 00:01:40 GMT", now=40) == 60
    assert parse_delay("Thu, 01 Jan 1970 00:01:40 GMT", now=4000) == 0


@pytest.mark.parametrize("text", ["-5", "nan", "1e12", "", "5 parrots"])
def test_nonsense_is_no_delay(text):
    assert parse_delay(text) is None


def test_a_date_with_its_zone_is_a_delay():
    """Anthropic's reset headers, and what some gateways put into Retry-After."""
    assert parse_delay("1970-01-01T00:01:40Z", now=70.0) == 30.0
    assert parse_delay("1970-01-01T00:01:40+00:00", now=200.0) == 0.0
    assert parse_delay("1970-01-01T00:01:40", now=70.0) is None, "without a zone it could be any time"
