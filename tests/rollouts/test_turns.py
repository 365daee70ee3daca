"""What calls of agents say: read alike from Responses, Chat Completions, and agents that write commands in blocks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from called import Json, blocks, call, chat, codex, kept
from proctor.replies.calls import KeptCall
from proctor.replies.turns import Turn, steps_of, turns_of


def _told(turns: Sequence[Turn]) -> list[list[tuple[str, str]]]:
    return [[(each.source, each.text) for each in turn.told] for turn in turns]


def test_what_codex_ran_and_what_came_back_stand_together(tmp_path: Path) -> None:
    turns = turns_of(kept(tmp_path, codex()))
    assert _told(turns) == [[("system", "You code."), ("user", "Mend it.")], [], [], []]
    ran = [(tool.ran, tool.exit_code) for turn in turns for tool in turn.said.tools]
    assert ran == [("ls", 0), ("cat a.py", 2), ("apply_patch\n*** Begin Patch", 0)]
    assert turns[0].said.tools[1].output is not None and turns[0].said.tools[1].output.endswith("no file\n")
    assert (turns[0].said.reasoning, turns[0].said.cached_tokens, turns[0].said.model) == (
        "I look.",
        4,
        "m-1",
    )
    assert (turns[2].said.error, turns[3].said.text) == ("busy", "Done.")
    assert {turn.conversation for turn in turns} == {0}


def test_steps_tell_each_thing_that_was_run_and_calls_that_failed(tmp_path: Path) -> None:
    steps = list(steps_of(kept(tmp_path, codex())))
    assert [(each.said, each.ran, each.exit_code) for each in steps] == [
        ("I look.", "ls", 0),
        ("", "cat a.py", 2),
        ("", "apply_patch\n*** Begin Patch", 0),
        ("[call failed: busy]", "", None),
        ("Done.", "", None),
    ]
    assert [each.at for each in steps] == [0.5, 0.5, 1.5, 2.5, 3.5]


def test_chat_completions_are_read_alike_and_another_conversation_stands_apart(tmp_path: Path) -> None:
    turns = turns_of(kept(tmp_path, chat()))
    tool = turns[0].said.tools[0]
    assert (tool.ran, tool.exit_code, tool.call_id) == ("make", 1, "t1")
    assert (turns[0].said.text, turns[0].said.reasoning) == ("I build.", "Hm.")
    assert _told(turns)[1:] == [[("user", "A title for: Mend it.")], []]
    assert [turn.conversation for turn in turns] == [0, 1, 0]


def test_a_command_in_a_block_has_the_next_words_of_its_user_as_output(tmp_path: Path) -> None:
    turns = turns_of(kept(tmp_path, blocks()))
    tool = turns[0].said.tools[0]
    assert (tool.ran, tool.output, tool.exit_code, tool.name) == ("ls", "[exit code 0]\na.py", 0, "")
    assert _told(turns) == [[("user", "Mend it.")], [], [("user", "Mend it.")]]  # said twice indeed


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=4),
    lambda each: (
        st.lists(each, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "role",
                    "content",
                    "output",
                    "call_id",
                    "name",
                    "arguments",
                    "text",
                    "message",
                    "tools",
                ]
            ),
            each,
            max_size=4,
        )
    ),
    max_leaves=6,
)
BODIES = st.dictionaries(
    st.sampled_from(["input", "messages", "instructions", "output", "choices", "error", "usage", "tools"]),
    ANYTHING,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(BODIES, BODIES), max_size=4))
def test_whatever_an_agent_writes_is_read_without_a_fault(bodies: list[tuple[Json, Json]]) -> None:
    calls = [KeptCall(call(number, {}, {}), *pair) for number, pair in enumerate(bodies)]
    assert len(turns_of(calls)) == len(bodies)
    assert len(list(steps_of(calls))) >= len(bodies)
