"""The option table: what the command line means, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.simulator import NAMED, OPTIONS, Behaviour
from proctor.simulator.options import Setup, make_parser, read_options
from proctor.simulator.options import parse as parse_words
from proctor.simulator.protocols.memory import Room
from proctor.simulator.protocols.quirks import combine
from proctor.simulator.protocols.wire import ServerTerms


def parse(line: str) -> Setup:
    return parse_words(line.split())


def test_without_options_the_named_models_are_served_on_this_machine() -> None:
    setup = parse("")
    assert dict(setup.behaviours) == NAMED
    assert list(setup.behaviours) == list(NAMED)
    assert (setup.host, setup.port, setup.overload) == ("127.0.0.1", 0, "queue")
    assert (setup.answers, setup.slots, setup.key) == (None, None, None)
    assert setup.terms == ServerTerms(8192, frozenset())
    assert not setup.until_stdin_closes


def test_the_defaults_of_the_table_alone_make_a_setup() -> None:
    """Another command line can hand over a dict made from the table."""
    assert read_options({option.name: option.default for option in OPTIONS}) == parse("")
    assert read_options({"seed": 3}) == parse("--seed 3")


def test_an_option_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown option 'sede'; known: host, port"):
        read_options({"sede": 3})


def test_every_option_is_read() -> None:
    setup = parse(
        "--host ::1 --port 81 --answers a.jsonl --seed 3 --slots 16 --overload refuse --key k --context 99 "
        "--reject seed,max_tokens --until-stdin-closes --latency 0.2 --sigma 0.5 --tokens 7 --accuracy 0.3 "
        "--correlation 0.1 --retry-after 2 --error-rate 0.01 --rate-limit-rate 0.02 --crash-rate 0.03 "
        "--truncate-rate 0.04 --garbage-rate 0.05 --silent-rate 0.06 --refuse-rate 0.07 --unclear-rate 0.08 "
        "--endless-rate 0.09 --odd-rate 0.1"
    )
    assert (setup.host, setup.port, setup.answers, setup.seed) == ("::1", 81, Path("a.jsonl"), 3)
    assert (setup.slots, setup.overload, setup.key, setup.until_stdin_closes) == (16, "refuse", "k", True)
    assert setup.terms == ServerTerms(99, frozenset({"seed", "max_tokens"}))
    assert setup.behaviours["sim"] == Behaviour(
        accuracy=0.3, correlation=0.1, latency_s=0.2, latency_sigma=0.5, tokens=7, retry_after_s=2.0,
        error_rate=0.01, rate_limit_rate=0.02, crash_rate=0.03, truncate_rate=0.04, garbage_rate=0.05,
        silent_rate=0.06, refuse_rate=0.07, unclear_rate=0.08, endless_rate=0.09, odd_rate=0.1,
    )  # fmt: skip


def test_servers_of_others_and_their_memory_are_read() -> None:
    setup = parse(
        "--quirks llama.cpp,no-schemas --loading 2 --queue 512 --trained-context 4096 --models-in-memory 3 "
        "--keep-alive 300 --load 1.5"
    )
    assert setup.terms.quirks == combine(["llama.cpp", "no-schemas"])
    assert (setup.terms.loading_s, setup.terms.queue, setup.terms.trained_tokens) == (2.0, 512, 4096)
    assert setup.terms.room == Room(3, 300.0, 1.5)


def test_a_named_model_keeps_what_it_is_known_for() -> None:
    models = parse("--accuracy 0.3 --latency 0.2 --crash-rate 0.5").behaviours
    assert models["sim-perfect"] == Behaviour(1.0, latency_s=0.2, crash_rate=0.5)
    assert models["sim-flaky"] == Behaviour(0.3, latency_s=0.2, error_rate=0.2)
    assert models["sim-thinking"].thinks


def test_models_can_be_added() -> None:
    models = parse("--model mine=0.9 --model a=b=0.8 --accuracy 0.1 --error-rate 0.5").behaviours
    assert list(models)[-2:] == ["mine", "a=b"]
    assert models["mine"] == Behaviour(0.9, error_rate=0.5)
    assert models["a=b"].accuracy == 0.8


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_this_machine_s_own_addresses_are_taken(host: str) -> None:
    assert parse(f"--host {host}").host in {"127.0.0.1", "127.0.0.2", "::1"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--host 0.0.0.0", "--host 0.0.0.0: the simulator listens on this machine only"),
        ("--host example.org", "--host example.org"),
        ("--port 70000", "--port 70000"),
        ("--slots 0", "--slots 0"),
        ("--context 0", "--context 0"),
        ("--accuracy 2", "accuracy is 2.0"),
        ("--error-rate 0.6 --crash-rate 0.6", "fault rates sum to 1.2"),
        ("--model mine", "--model mine: write NAME=ACCURACY"),
        ("--model =0.5", "--model =0.5: write NAME=ACCURACY"),
        ("--model mine=2", "--model mine=2: write NAME=ACCURACY"),
        ("--quirks llamacpp", "--quirks llamacpp: one of llama.cpp"),
        ("--quirks llama.cpp,vllm", "contradict each other"),
        ("--loading -1", "--loading -1"),
        ("--keep-alive -1", "--keep-alive -1"),
        ("--models-in-memory 0", "--models-in-memory 0"),
        ("--overload drop", "invalid choice: 'drop'"),
        ("--sede 1", "unrecognized arguments"),
        ("--laten 1", "unrecognized arguments"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(
    line: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(line)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_the_help_explains_every_option() -> None:
    text = make_parser().format_help()
    assert all(option.flag in text for option in OPTIONS)
    assert all(option.help for option in OPTIONS)
