"""The options of batches alone: which requests of a file are sent, how its lines are understood, where replies go."""

from __future__ import annotations

from proctor.plan.option import BATCHES, RunOption
from proctor.plan.values import FilePath, Flag, Text, Texts, one_of

LINES: tuple[RunOption, ...] = (
    RunOption(
        "order",
        "source",
        one_of("file", "random"),
        "In which order requests are sent; at random, what is done so far is a fair sample.",
        sources=BATCHES,
    ),
    RunOption(
        "on_mismatch",
        "source",
        one_of("override", "strict"),
        "Lines that name another model: ask the run's own (what they named is noted), or refuse the file.",
        sources=BATCHES,
    ),
    RunOption(
        "stream",
        "source",
        Flag(),
        "Have replies come in pieces, which measures the time to the first token and between tokens.",
        sources=BATCHES,
    ),
    RunOption(
        "endpoint",
        "source",
        Text(),
        "Endpoint of lines that name none.",
        "PATH",
        unset="told by the body",
        sources=BATCHES,
    ),
    RunOption(
        "columns",
        "source",
        Texts(50),
        "Which column of a table is what, such as custom_id=ID; repeatable.",
        "FIELD=COLUMN",
        flag="--column",
        sources=BATCHES,
    ),
    RunOption(
        "template",
        "source",
        Text(20_000),
        "How a row of a table becomes a prompt: text with {column} in it.",
        "TEXT",
        sources=BATCHES,
    ),
    RunOption(
        "system",
        "source",
        Text(20_000),
        "What the system message of a table's rows says: text with {column} in it.",
        "TEXT",
        sources=BATCHES,
    ),
    RunOption(
        "fields",
        "source",
        Texts(50),
        "Field of the body for lines that have none, such as max_tokens=200; repeatable.",
        "FIELD=VALUE",
        flag="--set",
        sources=BATCHES,
    ),
    RunOption(
        "gold",
        "source",
        Text(1_000),
        "Where right answers are: a field or column of the line, or here a file.",
        "FIELD|FILE",
        sources=BATCHES,
    ),
    RunOption(
        "candidate",
        "source",
        Text(500),
        "What a request is about: a regular expression with a group over custom_id, or a path ($.metadata.name).",
        "PATTERN|PATH",
        sources=BATCHES,
    ),
    RunOption(
        "out",
        "source",
        FilePath(),
        "File that grows with the replies, one line a request.",
        "FILE",
        flag="--output",
        short="-o",
        at_server=False,
        sources=BATCHES,
    ),
    RunOption(
        "shape",
        "source",
        one_of("openai", "vllm"),
        "Whose output lines are written: OpenAI's, or those of vLLM's run-batch.",
        at_server=False,
        sources=BATCHES,
    ),
)
