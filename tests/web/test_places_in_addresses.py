"""A page of results begins where its address says, and an address that says nonsense is told so."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from io import StringIO

import pytest

from served import Server, serving

pytestmark = pytest.mark.slow  # a server in a process of its own

PAGE = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    with serving(tmp_path_factory.mktemp("places")) as server:
        job_id = server.submit("simulator", "sim", limit=10)
        server.ended(job_id)
        yield server, f"/runs/{job_id}/results"


@pytest.mark.parametrize("after", ["0.0", "49.0", "999999999.1073741824", ""])
def test_a_place_opens(results: tuple[Server, str], after: str) -> None:
    server, path = results
    assert server.ask("GET", f"{path}?after={after}", headers=PAGE).status == 200


@pytest.mark.parametrize(
    "after", ["9999999999.0", "0.9999999999", "1" * 25 + ".0", "-1.0", "1", "1.", "a.b", "%C2%B2.0", "1.0.0"]
)
def test_what_is_no_place_is_told_in_words(results: tuple[Server, str], after: str) -> None:
    server, path = results
    answer = server.ask("GET", f"{path}?after={after}", headers=PAGE)
    assert answer.status == 400, answer
    assert "give the position and the repeat of a row" in answer.body


def test_pages_of_a_run_are_walked_by_the_links_on_them(results: tuple[Server, str]) -> None:
    server, path = results
    seen: list[str] = []
    address: str | None = path
    while address:
        text = " ".join(server.ask("GET", address, headers=PAGE).body.split())
        seen += re.findall(r'href="/runs/[^/"]+/items/([^"?]+)', text)
        following = text.partition('id="next" href="')[2].partition('"')[0].replace("&amp;", "&")
        address = following or None
    exported = server.ask("GET", path.replace("/results", "/export?form=csv")).body
    assert len(seen) == len(set(seen)) == len(list(csv.DictReader(StringIO(exported)))) > 50


@pytest.mark.parametrize(
    ("margin", "status"), [("", 200), ("0", 200), ("0.05", 200), ("5", 200), ("-1", 400), ("nan", 400)]
)
def test_a_margin_is_any_number_from_0_in_the_metrics_units_and_an_empty_field_is_none(
    results: tuple[Server, str], margin: str, status: int
) -> None:
    assert results[0].ask("GET", f"/compare?margin={margin}", headers=PAGE).status == status
