"""Every parser of text from outside under some inputs that nobody meant; `make fuzz` gives each thousands."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from fuzz.contract import Parser, Room
from fuzz.mutate import Mutator
from fuzz.table import PARSERS
from fuzz.trying import Trial

pytestmark = pytest.mark.slow

INPUTS = 6_000  # for all of them together
SHARES = sum(parser.share for parser in PARSERS)
GROUPS = 8


def test_every_parser_has_a_name_of_its_own_and_seeds():
    assert len({parser.name for parser in PARSERS}) == len(PARSERS) > 150
    assert all(parser.seeds() for parser in PARSERS[::7])


@pytest.mark.parametrize("group", range(GROUPS))
def test_no_input_is_more_than_a_parser_foresees(group: int, tmp_path: Path):
    for number, parser in enumerate(PARSERS[group::GROUPS]):
        count = round(INPUTS * parser.share / SHARES)
        trial = Trial(parser, Room(tmp_path / str(number)), seed=18)
        for each in range(count):
            trial.give(each)
        assert not trial.tried.faults, (parser.name, trial.tried.faults)


def test_the_same_seed_gives_the_same_inputs_and_another_others(tmp_path: Path):
    def inputs(seed: int) -> list[bytes]:
        trial = Trial(PARSERS[0], Room(tmp_path), seed)
        return [trial.input(number) for number in range(30)]

    assert inputs(1) == inputs(1) != inputs(2)


def test_what_a_parser_does_not_foresee_is_found_and_cut_to_its_smallest_input(tmp_path: Path):
    def broken(body: bytes) -> None:
        if b"{{" in body:
            raise KeyError("two of them")
        if len(body) > 30:
            raise ValueError("long")

    parser = Parser(
        "broken", lambda: [b"some words of a seed, {x}"], lambda room: broken, foreseen=(ValueError,)
    )
    trial = Trial(parser, Room(tmp_path), seed=1)
    for number in range(400):
        trial.give(number)
    (fault,) = trial.tried.faults.values()
    assert fault.what.startswith("KeyError") and fault.body == b"{{" and trial.tried.refused


def test_an_input_that_takes_too_long_is_a_finding(tmp_path: Path):
    def slow(_body: bytes) -> None:
        until = time.process_time() + 1.01
        while time.process_time() < until:
            pass

    trial = Trial(Parser("slow", lambda: [b"abcd"], lambda room: slow), Room(tmp_path), seed=1)
    trial.give(0)
    assert list(trial.tried.faults) == ["took longer than 1 s"]


def test_json_is_changed_inside_and_stays_json():
    from random import Random

    made = [Mutator([b'{"a": [1, {"b": "c"}]}'], "json").input(Random(number)) for number in range(200)]
    assert sum(each.lstrip()[:1] in b"{[" for each in made) > 100 and len(set(made)) > 100
