"""The shell agent: a conversation over HTTP with a model that a small server plays, and its commands in a real box."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from talking import LISTED, MEND, Desk, block, described, last, playing, ran, shell_at, usage

from odd_servers import odd_server, said
from proctor.engine.agents.contract import AgentWork
from proctor.engine.agents.shell_reply import read_reply
from proctor.errors import AgentModelError, AuthError, ConfigError
from proctor.references import TrialLimits
from proctor.sandbox.bubblewrap import Bubblewrap
from proctor.trial_record import MOST_STEPS
from proctor.types import Usage
from simulators import nearby


@pytest.fixture
def desk(bubblewrap: Bubblewrap, box_home: Any) -> Desk:
    return Desk(bubblewrap, box_home)


def test_a_model_solves_a_task_in_several_turns_and_every_turn_is_kept(desk: Desk) -> None:
    model = playing(block("cat sum.py"), block(MEND), block("python3 sum.py"), "It prints 4.\n\nDONE")
    with odd_server(LISTED, model) as server:
        work = desk.shell(server.url)
    assert (work.ended, work.calls, work.limits_met) == ("done", 4, ())
    assert desk.left["sum.py"] == "print(2 + 2)\n"
    assert ran(work) == ["cat sum.py", MEND, "python3 sum.py", ""]
    assert [step.output for step in work.steps[:3]] == ["print(1 + 1)\n", "", "4\n"]
    assert [step.exit_code for step in work.steps] == [0, 0, 0, None]
    assert work.usage == Usage(4 * 9, 4 * 3)
    assert "4\n" in last(server.asked[3])
    assert "python3 sum.py" in desk.log()


def test_the_agent_is_told_its_task_its_limits_and_what_is_left(desk: Desk) -> None:
    with odd_server(LISTED, playing(block("echo $TASK_ID $TASK_ROLLOUT $TASK_SECONDS"), "DONE")) as server:
        work = desk.shell(server.url, limits=TrialLimits(max_tokens=50_000, max_calls=7))
    told = last(server.asked[0])
    assert "Mend it." in told
    assert "30 seconds, 50,000 tokens for all that you read and write, 7 replies" in told
    assert work.steps[0].output == "mend/1 0 30\n"
    assert "49,988 tokens, 6 replies]" in last(server.asked[1])


def test_the_working_directory_and_exported_variables_carry_over(desk: Desk) -> None:
    commands = (
        "mkdir -p sub && cd sub && export WORD='it stays' && other=gone",
        'pwd; echo "$WORD/$other"; exit 3',
    )
    with odd_server(LISTED, playing(block(commands[0]), block(commands[1]), block("pwd"), "DONE")) as server:
        work = desk.shell(server.url)
    assert work.steps[1].output == "/app/repo/sub\nit stays/\n"
    assert (work.steps[1].exit_code, work.steps[2].output) == (3, "/app/repo/sub\n")


@pytest.mark.promise("C-31")
def test_a_token_limit_stops_the_trial_before_it_is_passed(desk: Desk) -> None:
    def floods(request: Mapping[str, Any]) -> Any:
        return usage(said(block("echo on"), request["model"]), 1_000, request["max_tokens"])

    with odd_server(LISTED, floods) as server:
        work = desk.shell(server.url, limits=TrialLimits(max_tokens=20_000))
    assert work.ended == "limit"
    assert "20,000 tokens were used" in work.limits_met[0]
    assert (work.usage.input_tokens or 0) + (work.usage.output_tokens or 0) <= 20_000
    allowed = [request["max_tokens"] for request in server.asked]
    assert allowed[0] == 8192
    assert allowed[1] < 20_000 - 2 * 9_192


def test_a_model_that_never_ends_is_stopped_by_its_calls(desk: Desk) -> None:
    with odd_server(LISTED, playing(block("true"))) as server:
        work = desk.shell(server.url, limits=TrialLimits(max_calls=3))
    assert (work.ended, work.calls, len(server.asked)) == ("limit", 3, 3)
    assert work.limits_met == ("all 3 calls of its model were made",)


def test_a_cost_limit_is_held_before_a_call_is_sent(desk: Desk) -> None:
    (desk.home / "prices.toml").write_text('["openai/m"]\ninput = 1000.0\noutput = 10000.0\n')

    def answer(request: Mapping[str, Any]) -> Any:
        return usage(said(block("true"), request["model"]), 600, 100)

    with odd_server(LISTED, answer) as server:
        work = desk.shell(server.url, limits=TrialLimits(max_cost_usd=5.0))
    assert (work.ended, work.calls) == ("limit", 3)
    assert work.limits_met == ("$4.8000 of $5 were spent",)
    assert server.asked[0]["max_tokens"] < 500  # what the money is enough for


def test_a_cost_limit_that_nobody_can_keep_stops_the_run(desk: Desk) -> None:
    with (
        odd_server(LISTED, playing(block("true"))) as server,
        pytest.raises(ConfigError, match=r"max_cost_usd cannot be kept.*openai/m costs"),
    ):
        desk.shell(server.url, limits=TrialLimits(max_cost_usd=2.0))


def test_time_ends_the_agent(desk: Desk) -> None:
    desk.seconds = 0.5
    with odd_server(LISTED, playing(block("sleep 60"))) as server:
        work = desk.shell(server.url)
    assert (work.ended, work.limits_met) == ("limit", ("stopped after 0.5 s",))


def test_a_command_that_takes_too_long_is_told_and_the_agent_goes_on(desk: Desk) -> None:
    with odd_server(LISTED, playing(block("echo begun; sleep 60"), "DONE")) as server:
        work = desk.shell(server.url, command_s=1.5)
    assert (work.ended, work.limits_met) == ("done", ())
    assert "stopped after" in last(server.asked[1])
    assert "begun" in last(server.asked[1])


def test_a_server_that_is_busy_is_asked_again_and_its_time_is_not_the_agents(desk: Desk) -> None:
    busy = iter([429, 429, 503])

    def answer(request: Mapping[str, Any]) -> Any:
        status = next(busy, None)
        return (
            (status, {"error": {"message": "Please try again in 20ms."}})
            if status
            else said("DONE", request["model"])
        )

    with odd_server(LISTED, answer) as server:
        work = desk.shell(server.url)
    assert (work.ended, work.calls, len(server.asked)) == ("done", 1, 4)


def test_a_server_that_dies_measures_nothing_of_the_agent(desk: Desk) -> None:
    def answer(request: Mapping[str, Any]) -> Any:
        if len(request["messages"]) > 1:
            return 400, {"error": {"message": "an internal matter"}}
        return usage(said(block("true"), request["model"]), 40, 2)

    with (
        odd_server(LISTED, answer) as server,
        pytest.raises(AgentModelError, match="an internal matter") as ended,
    ):
        desk.shell(server.url)
    assert ended.value.usage == Usage(40, 2)


def test_a_server_that_goes_away_is_waited_for_and_then_given_up(desk: Desk) -> None:
    desk.wait_for_server_s = 0.6

    async def work(server: ExitStack, url: str) -> AgentWork:
        async with desk.opened(shell_at(url)) as ready:
            await ready.check()
            server.close()
            return await desk.trial(ready, TrialLimits(), 0)

    with ExitStack() as server, pytest.raises(AgentModelError, match=r"the server was waited for, \d+ s"):
        asyncio.run(work(server, server.enter_context(odd_server(LISTED)).url))


def test_a_wrong_key_stops_the_run(desk: Desk) -> None:
    with (
        odd_server(LISTED, lambda _: (401, {"error": {"message": "bad key"}})) as server,
        pytest.raises(AuthError, match="bad key"),
    ):
        desk.shell(server.url)


def test_a_full_context_ends_the_work_as_a_limit(desk: Desk) -> None:
    def answer(request: Mapping[str, Any]) -> Any:
        if len(request["messages"]) > 1:
            return 400, {"error": {"message": "maximum context length is 10 tokens"}}
        return said(block(MEND), request["model"])

    with odd_server(LISTED, answer) as server:
        work = desk.shell(server.url)
    assert work.ended == "limit"
    assert "context was full" in work.limits_met[0]
    assert desk.left["sum.py"] == "print(2 + 2)\n"


def test_prose_without_a_command_is_told_so_and_ends_the_work_after_three(desk: Desk) -> None:
    with odd_server(LISTED, playing("I would look at the file first.")) as server:
        work = desk.shell(server.url)
    assert (work.ended, work.calls) == ("failed", 3)
    assert work.final == "3 replies in a row held no command"
    assert "Your reply holds no command. Nothing was run." in last(server.asked[1])


def test_a_refusal_ends_the_work_in_words(desk: Desk) -> None:
    with odd_server(LISTED, lambda request: said("", request["model"], "content_filter")) as server:
        work = desk.shell(server.url)
    assert (work.ended, work.final) == ("failed", "Its model refused: (no words)")


def test_long_output_is_cut_in_its_middle_and_steps_are_bounded(desk: Desk) -> None:
    with odd_server(LISTED, playing(block("seq 1 200000"), "DONE")) as server:
        work = desk.shell(server.url)
    told = last(server.asked[1])
    assert len(told) < 11_000
    assert "\n1\n2\n" in told
    assert "199999\n200000" in told
    assert "bytes left out" in told
    assert len(work.steps[0].output) <= 4_000
    assert len(work.steps) <= MOST_STEPS


@pytest.mark.parametrize(
    ("model", "variable", "key"),
    [
        ("ollama/sim", "OLLAMA_HOST", None),
        ("openai/sim", "OPENAI_BASE_URL", None),
        ("gemini/sim", "GEMINI_BASE_URL", "GOOGLE_API_KEY"),
        ("grok/sim", "XAI_BASE_URL", "XAI_API_KEY"),
        ("anthropic/sim", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    ],
)
def test_every_provider_holds_the_conversation(
    desk: Desk, model: str, variable: str, key: str | None
) -> None:
    with nearby([]) as url:
        desk.environ = {variable: f"{url}/v1" if variable in ("OPENAI_BASE_URL", "XAI_BASE_URL") else url}
        desk.environ |= {key: "a-key-of-tests"} if key else {}
        work = desk.work(described("shell", {}, model)[0], TrialLimits(max_tokens=3_000))
    # The simulator knows no shell: it says what it says, and is told each time that it gave no command.
    assert (work.ended, work.calls, work.limits_met) == ("failed", 3, ())
    assert 0 < (work.usage.input_tokens or 0) + (work.usage.output_tokens or 0) < 3_000


def test_trials_at_once_ask_no_more_than_the_server_has_room_for(desk: Desk) -> None:
    says = {**LISTED, "/props": (200, {"total_slots": 1})}
    with odd_server(says, playing(block("true"), "DONE")) as server:
        works = desk.works(shell_at(server.url), 3, TrialLimits())
    assert [work.ended for work in works] == ["done"] * 3
    assert {request["seed"] for request in server.asked} == {0, 1, 2}


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("```bash\nls\n```", "ls"),
        ("```\nls -la\n```", "ls -la"),
        ("<think>```sh\nrm x\n```</think>Now.\n```sh\nls\n```", "ls"),
        ("~~~sh\nls\n~~~", "ls"),
        ("First:\n```sh\nls\n```\nthen\n```sh\npwd\n```", "ls"),
        ("```sh\nls", "ls"),
        (
            "```sh\ncat > a.md <<'EOF'\n```py\nx\n```\nEOF\ncat a.md\n```",
            "cat > a.md <<'EOF'\n```py\nx\n```\nEOF\ncat a.md",
        ),
        ("```sh\ncat <<EOF\nnever closed\n```", "cat <<EOF\nnever closed"),
        ("````sh\necho '```'\n````", "echo '```'"),
    ],
)
def test_a_command_is_found_however_a_weak_model_writes_it(text: str, command: str) -> None:
    assert read_reply(text).command == command


@pytest.mark.parametrize(
    "text", ["DONE", "All is well.\n\n**DONE**", "It works. \n`DONE`.", "```sh\nDONE\n```"]
)
def test_the_end_is_found_however_it_is_written(text: str) -> None:
    assert read_reply(text).done


@pytest.mark.parametrize(
    ("text", "cut", "fault"),
    [
        ("```python\nprint(1)\n```", False, "A block marked python is not run"),
        ("", False, "Your reply was empty"),
        ("I am DONE with this.", False, "Your reply holds no command"),
        ("```sh\ncat > a <<EOF", True, "Your reply was cut before its command ended"),
        ("thinking", True, "Your reply was cut before there was a command"),
    ],
)
def test_what_is_no_command_is_told_with_what_to_do(text: str, cut: bool, fault: str) -> None:
    assert fault in (read_reply(text, cut=cut).fault or "")


def test_a_command_beside_the_word_done_is_run_first() -> None:
    both = read_reply("```sh\nls\n```\n\nDONE")
    assert (both.command, both.done) == ("ls", False)
    assert "DONE counts only" in both.note
