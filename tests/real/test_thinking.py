"""A llama-server whose template makes the model think aloud: thoughts are told apart from what it answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from real_runs import asked, kept, questions
from servers import LLAMA, Server, llama_command, started

from real import NotHere

pytestmark = [
    pytest.mark.slow,
    pytest.mark.in_full,
]  # a real model answers, on a server started for each form

# As templates of reasoning models are written: thoughts of earlier turns are shown, and a reply begins with them.
TEMPLATE = r"""
{%- for message in messages %}{{- '<|im_start|>' + message.role + '\n' }}
{%- if message.role == 'assistant' and message.reasoning_content %}
{{- '<think>\n' + message.reasoning_content + '\n</think>\n\n' }}{%- endif %}
{{- message.content + '<|im_end|>\n' }}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}
{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}
{%- else %}{{- '<think>\n' }}{%- endif %}{%- endif %}
"""
BUDGET = 8  # tokens, after which the server ends the thoughts


@pytest.fixture(params=["deepseek", "none"], ids=["in a field", "in tags"])
def thinker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    template = tmp_path / "think.jinja"
    template.write_text(TEMPLATE.replace("\n", ""))
    more = ["--jinja", "--chat-template-file", str(template), "--reasoning-format", request.param]
    command = partial(llama_command, more=[*more, "--reasoning-budget", str(BUDGET)])
    try:
        with started(replace(LLAMA, command=command), tmp_path / "thinker.log") as server:
            yield server
    except NotHere as reason:
        pytest.skip(str(reason))


def test_thoughts_are_no_answer_and_are_kept_apart(thinker: Server, home: Path, tmp_path: Path) -> None:
    file = questions(tmp_path / "thoughts.jsonl", "Tell me a story about a cat.")
    (row,) = kept(home, asked(thinker, home, file, "--max-tokens", 24))
    thoughts = row["reasoning"] or row["reply"].partition("</think>")[0]
    assert thoughts.strip() and thoughts not in (row["answer"] or "")
    assert "<think>" not in (row["answer"] or "")


def test_a_reply_that_is_all_thoughts_is_cut_and_not_read(
    thinker: Server, home: Path, tmp_path: Path
) -> None:
    file = questions(tmp_path / "thoughts.jsonl", "What is 2 plus 2?")
    (row,) = kept(home, asked(thinker, home, file, "--max-tokens", BUDGET - 2))
    assert (row["outcome"], row["answer"], row["finish"]) == ("truncated", None, "length")
