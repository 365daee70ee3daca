"""Addresses that users name for models: whatever their spelling, and whatever a name leads to when it is asked."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from jobs_world import step, until, world
from proctor.errors import Forbidden, NetworkError
from proctor.providers import open_provider
from proctor.providers.contract import Opening
from proctor.providers.prices import read_prices
from proctor.providers.wire.http import Http
from proctor.providers.wire.reach import is_public
from proctor.references import ExamRef
from proctor.service.admin.addresses import check_address, settings_for
from proctor.types import Cell, Model, Sampling
from providers.recording import Script, recording
from simulators import questions, settings
from wire_bodies import BODIES, saying

INSIDE = ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"]
FORMS = {
    "as it is": "{0}.{1}.{2}.{3}",
    "mapped": "::ffff:{0}.{1}.{2}.{3}",
    "compatible": "::{0}.{1}.{2}.{3}",
    "NAT64": "64:ff9b::{0}.{1}.{2}.{3}",
    "local NAT64": "64:ff9b:1::{0}.{1}.{2}.{3}",
    "6to4": "2002:{0:02x}{1:02x}:{2:02x}{3:02x}::1",
    "Teredo": "2001:0:{0:02x}{1:02x}:{2:02x}{3:02x}::1",
}
ELSEWHERE = [
    "::",
    "::1",
    "fec0::1",
    "feff::1",
    "fe80::1%eth0",
    "fd00::1",
    "ff02::1",
    "2001:db8::1",
    "224.0.0.1",
]
SPELLINGS = ["0x7f.1", "0177.0.0.1", "2130706433", "127.1", "0x7f000001", "017700000001", "0"]
PUBLIC = ["1.1.1.1", "2606:4700:4700::1111", "64:ff9b::1.1.1.1", "::ffff:1.1.1.1", "2002:101:101::1"]


def of(url: str) -> Cell:
    return Cell(Model("openai", "m", url), ExamRef("suite", "glue"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("address", INSIDE)
def test_an_address_inside_is_refused_in_every_form_that_carries_it(tmp_path, form, address):
    written = FORMS[form].format(*map(int, address.split(".")))
    assert not is_public(written), written
    host = f"[{written}]" if ":" in written else written
    with pytest.raises(Forbidden, match="not public"):
        check_address(of(f"http://{host}:8000/v1"), replace(settings(tmp_path), auth=True))


@pytest.mark.parametrize("address", ELSEWHERE)
def test_what_is_no_address_of_the_public_internet_is_refused(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_pass_also_where_another_form_carries_them(address):
    assert is_public(address)


class Hosts(AbstractResolver):
    """A name leads to its addresses in turn, one at a look-up; the last one stays."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self.names = {name: list(addresses) for name, addresses in names.items()}
        self.asked: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked.append(host)
        left = self.names[host]
        address = left.pop(0) if len(left) > 1 else left[0]
        return [
            ResolveResult(hostname=host, host=address, port=port, family=socket.AF_INET, proto=0, flags=0)
        ]

    async def close(self) -> None:
        """Nothing is open."""


def asked(url: str, home: Path, resolver: AbstractResolver | None, *, public_only: bool) -> str:
    """What a model at the address says to one question."""

    async def work() -> str:
        known = settings(home)
        http = Http(parallel=2, timeout_s=10, public_only=public_only, resolver=resolver)
        try:
            opening = Opening(known, http, read_prices(home))
            return (
                await open_provider(Model("ollama", "m", url), Sampling(), opening)(questions(1)[0], 0)
            ).text
        finally:
            await http.close()

    return asyncio.run(work())


def test_a_name_that_leads_inside_when_it_is_asked_is_not_asked(tmp_path):
    """It led to a public address when the job was handed in."""
    with recording([Script(BODIES["ollama"])]) as server:
        port = server.url.rpartition(":")[2]
        url = f"http://models.example:{port}"
        names = Hosts({"models.example": ["1.1.1.1", "127.0.0.1"]})
        first = asyncio.run(names.resolve("models.example", int(port)))
        assert is_public(first[0]["host"]), "the answer at submission"
        with pytest.raises(Forbidden, match=r"models\.example leads to 127\.0\.0\.1, which is not public"):
            asked(url, tmp_path, names, public_only=True)
        assert names.asked == ["models.example"] * 2 and server.sent == []
        assert asked(url, tmp_path, names, public_only=False) == "Answer: A", "one's own machine asks anybody"


def test_the_connection_goes_to_the_address_that_was_judged(tmp_path):
    """The name is looked up once: a second answer would not be judged."""
    with saying(iter([b""]), host="127.0.0.2") as url:
        names = Hosts({"models.example": ["203.0.113.7", "127.0.0.2"]})
        inside = url.replace("127.0.0.2", "models.example")
        with pytest.raises(Forbidden, match=r"203\.0\.113\.7"):
            asked(inside, tmp_path, names, public_only=True)
    assert names.asked == ["models.example"]


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[64:ff9b::7f00:1]", *SPELLINGS])
def test_an_address_in_numbers_is_judged_in_every_spelling(tmp_path, host):
    with pytest.raises((Forbidden, NetworkError), match=r"not public|canonical"):
        asked(f"http://{host}:9/", tmp_path, None, public_only=True)
    with pytest.raises(Forbidden, match="not public"):
        check_address(of(f"http://{host}:9/v1"), replace(settings(tmp_path), auth=True))


def test_a_redirect_leads_nowhere(tmp_path):
    with recording([Script(BODIES["ollama"])]) as inside:
        away = Script({}, status=307, headers={"Location": f"{inside.url}/api/chat"})
        with recording([away]) as server, pytest.raises(Exception, match="answered 307"):
            asked(server.url, tmp_path, None, public_only=False)
        assert inside.sent == []


@pytest.mark.parametrize(
    ("user", "auth", "allowed", "fenced"),
    [
        ("ann", "keys", "", True),
        ("ann", "off", "", True),  # a worker that was not told PROCTOR_AUTH
        ("ann", "keys", "models.example", False),
        ("local", "keys", "", True),
        ("local", "off", "", False),
    ],
)
def test_whose_jobs_ask_public_addresses_alone(tmp_path, user, auth, allowed, fenced):
    known = settings(tmp_path, PROCTOR_AUTH=auth, PROCTOR_ALLOWED_ADDRESSES=allowed)
    assert settings_for(of("http://models.example/v1"), user, known).public_only is fenced
    own = Cell(Model("ollama", "m"), ExamRef("suite", "glue"))
    assert not settings_for(own, user, known).public_only, "the operator's own addresses may lead anywhere"


@pytest.mark.slow
def test_a_job_whose_address_is_no_longer_allowed_fails_before_it_asks(tmp_path):
    with world(tmp_path) as made, recording([Script(BODIES["ollama"])]) as server:
        made.set(PROCTOR_AUTH="keys", PROCTOR_ALLOWED_ADDRESSES="127.0.0.1")
        cell = Cell(Model("ollama", "m", server.url), ExamRef("file", str(made.file)))
        run = made.submit_cell(cell)
        made.set(PROCTOR_ALLOWED_ADDRESSES="models.example")
        worker = made.worker()
        until(lambda: made.ended(run), "the job has ended", step=lambda: step(worker))
        ended = made.run(run)
        assert (ended.status, ended.error_slug) == ("failed", "forbidden"), ended.error
        assert "127.0.0.1" in (ended.error or "") and server.sent == []
