"""Every option of a run, told once: its name, values, default, help, and its spelling at each door.

A row of OPTIONS makes the option of the command line, the field of the REST body and of the form, the keyword of
`proctor.evaluate`, the words of a printed command and the check of its range. `name` is the field of types.py that
it sets, and Python's spelling; the default is that field's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

from proctor.plan.of_batches import LINES
from proctor.plan.option import BATCHES, EVERY, EXAMS, FILES, SUITES, Given, Part, RunOption
from proctor.plan.values import Duration, FilePath, Flag, NumberIn, OneOf, ShardOf, Text, Texts, one_of
from proctor.references import Numbers, Rows

THINKING_TOKENS = 8192  # of a reply, for a model that thinks and is given no other limit
THINK = OneOf({"on": True, "off": False, **{each: each for each in ("low", "medium", "high", "max")}})
WORDINGS = OneOf({"1": 1, "2": 2, "3": 3, "all": "all"})

OPTIONS: tuple[RunOption, ...] = (
    RunOption(
        "base_url",
        "model",
        Text(500),
        "Address of the OpenAI-compatible or Ollama server.",
        "URL",
        label="Address",
        sources=EVERY,
    ),
    RunOption("replies", "plan", FilePath(), "Replies for replay/NAME models.", "FILE", at_server=False),
    # What is asked, and how it is put and read.
    RunOption("tasks", "source", Texts(100, commas=True), "Only these tasks of the suite.", "A,B"),
    RunOption(
        "preset",
        "source",
        one_of("quick", "standard", "full"),
        "Size of a suite's run: 200, 2,000 or all items.",
        unset="quick, unless --limit is given",
        fallback={"suite": "quick"},
        instead=("limit",),
        label="Size",
        sources=(*SUITES, "dataset"),
    ),
    RunOption(
        "limit",
        "source",
        NumberIn(whole=True, above=0, served=(1, 1_000_000)),
        "At most N items of each task (of the file, for a file).",
        "N",
        label="Items per task",
        sources=EVERY,
    ),
    RunOption(
        "rows",
        "source",
        one_of(*get_args(Rows), advice="limit= says how many"),
        "Where a suite's rows come from.",
        unset="imported, else the hub's",
        flag="--data",
        rest="data",
        sources=SUITES,
    ),
    RunOption(
        "shots",
        "source",
        NumberIn(whole=True, low=0, served=(0, 100)),
        "Worked examples before each question.",
        "K",
        unset="as many as the style has",
    ),
    RunOption(
        "repeats", "cell", NumberIn(whole=True, above=0, served=(1, 100)), "Ask every item K times.", "K"
    ),
    RunOption(
        "style",
        "source",
        Text(),
        "Prompt style of MMLU: proctor, original-5shot, simple-evals, lm-eval-generative.",
        "NAME",
    ),
    RunOption("wording", "source", WORDINGS, "Which of the three wordings of each prompt."),
    RunOption("shuffle", "source", Flag(), "Lettered options in a seeded order of each item's own."),
    RunOption(
        "mode",
        "sampling",
        one_of("generate", "structured", "logprob"),
        "How answers are drawn: written, written under a schema, or ranked by first-token log-probability.",
    ),
    RunOption(
        "grader",
        "source",
        Text(500),
        "How answers in free text are graded: contains, number:rel=0.01, ...",
        "NAME[:SETTINGS]",
        unset="by the answers",
        sources=EVERY,
    ),
    RunOption("extractor", "source", Text(), "How answers are read.", "NAME", unset="the style's, proctor/2"),
    RunOption(
        "answer_type",
        "source",
        one_of("choices", "labels", "text"),
        "How answers of a file are read.",
        unset="seen from the rows",
        sources=FILES,
    ),
    RunOption(
        "numbers",
        "source",
        one_of(*get_args(Numbers)),
        "What numbers as answers of a file mean: options' places or texts.",
        unset="seen from the rows",
        sources=FILES,
    ),
    RunOption(
        "lenient",
        "source",
        Flag(),
        "Leave out a file's bad rows; they are named, and the results say so.",
        sources=(*FILES, *BATCHES),
    ),
    *LINES,
    # How replies are drawn.
    RunOption(
        "temperature",
        "sampling",
        NumberIn(low=0, high=2, opens=True),
        "Sampling temperature, 0 to 2; -1: the provider's own.",
        "T",
        ollama="temperature",
    ),
    RunOption(
        "top_p",
        "sampling",
        NumberIn(low=0, high=1),
        "Nucleus sampling, 0 to 1.",
        "P",
        ollama="top_p",
        label="Top P",
    ),
    RunOption(
        "top_k",
        "sampling",
        NumberIn(whole=True, low=0, high=100),
        "Sample from the K likeliest tokens, 0 to 100.",
        "K",
        ollama="top_k",
        label="Top K",
    ),
    RunOption(
        "min_p",
        "sampling",
        NumberIn(low=0, high=1),
        "Drop tokens below P times the likeliest.",
        "P",
        ollama="min_p",
        label="Min P",
    ),
    RunOption(
        "repeat_penalty",
        "sampling",
        NumberIn(low=0, high=10),
        "Penalty on repeated tokens; 1 is none.",
        "R",
        ollama="repeat_penalty",
        label="Repeat Penalty",
    ),
    RunOption(
        "repeat_last_n",
        "sampling",
        NumberIn(whole=True, low=-1, high=1_000_000),
        "How far back repetition is looked for; -1 is the whole context.",
        "N",
        ollama="repeat_last_n",
        label="Repeat Last N",
    ),
    RunOption(
        "max_tokens",
        "sampling",
        NumberIn(whole=True, low=1, high=10_000_000, opens=True),
        "Most tokens of a reply (Ollama: num_predict); -1: no limit.",
        "N",
        unset=f"{THINKING_TOKENS} with --think",
        ollama="num_predict",
        label="Num Predict",
    ),
    RunOption(
        "context_tokens",
        "sampling",
        NumberIn(whole=True, low=1, high=100_000_000, opens=True),
        "Context size (Ollama: num_ctx); -1: the server's own.",
        "N",
        ollama="num_ctx",
        label="Num Context",
    ),
    RunOption(
        "seed",
        "sampling",
        NumberIn(whole=True, served=(0, 2**31 - 1), opens=True),
        "Seed of the sampling; -1: none.",
        "N",
        ollama="seed",
    ),
    RunOption(
        "think", "sampling", THINK, "Reasoning of models that can: on, off, low, medium, high, max.", "HOW"
    ),
    RunOption("stop", "sampling", Texts(16), "Text that ends a reply; repeatable.", "TEXT", ollama="stop"),
    # How much it may take.
    RunOption(
        "parallel",
        "limits",
        NumberIn(whole=True, above=0, served=(1, 256)),
        "Requests under way at once.",
        "N",
        unset="found by watching the server",
        label="Concurrency",
        sources=EVERY,
    ),
    RunOption(
        "for_s",
        "limits",
        Duration(),
        "Stop asking after this time (10m, 1h30m) and score what is complete.",
        "TIME",
        flag="--for",
        rest="for",
        label="Time to ask",
        sources=EVERY,
    ),
    RunOption(
        "max_cost_usd",
        "limits",
        NumberIn(above=0, served=(0, 1_000_000)),
        "Stop asking at this cost and score what is complete.",
        "USD",
        flag="--max-cost",
        label="Cost limit",
        sources=EVERY,
    ),
    RunOption(
        "max_total_tokens",
        "limits",
        NumberIn(whole=True, above=0, served=(1, 10**12)),
        "Stop asking at so many tokens, in and out, and score what is complete.",
        "N",
        label="Token limit",
        sources=EVERY,
    ),
    RunOption(
        "until_decided",
        "limits",
        Flag(),
        "Ask the models side by side, and stop once it is sure which is better, or unlikely that it ever will be.",
        at_server=False,
        resumed=False,
    ),
    RunOption(
        "timeout_s",
        "limits",
        Duration(),
        "Give a run up after this time; it can be resumed.",
        "TIME",
        flag="--timeout",
        rest="timeout",
        label="Time limit",
        sources=EVERY,
    ),
    RunOption(
        "request_timeout_s",
        "limits",
        Duration(),
        "Give a single request up after this time.",
        "TIME",
        flag="--request-timeout",
        rest="request_timeout",
        sources=EVERY,
    ),
    RunOption(
        "wait_for_server_s",
        "limits",
        Duration(or_none=True),
        "Wait so long for a server that dies or loads its model; 0: not at all.",
        "TIME",
        flag="--wait-for-server",
        rest="wait_for_server",
        label="Wait for the server",
        sources=EVERY,
    ),
    RunOption(
        "workers",
        "plan",
        NumberIn(whole=True, low=1, high=256),
        "Processes of this machine at work on each run.",
        "N",
        sources=EVERY,
        at_server=False,
    ),
    RunOption(
        "only",
        "plan",
        Flag(),
        "In the verdict these models alone count, whatever others have runs on the same items.",
        at_server=False,
        resumed=False,
    ),
    RunOption(
        "shard",
        "limits",
        ShardOf(),
        "Ask only part I of N, for `proctor merge` to make one run of all; auto: as the array job counts its tasks.",
        "I/N",
        at_server=False,
        resumed=False,
        sources=EVERY,
    ),
)
BY_NAME: Mapping[str, RunOption] = {option.name: option for option in OPTIONS}
OF_EXAMS = tuple(option for option in OPTIONS if set(option.sources) & set(EXAMS))
OF_BATCHES = tuple(option for option in OPTIONS if set(option.sources) & set(BATCHES))
HERE = ("replies", "shard", "until_decided", "only")  # what a judging has no use for
# What a judging can be told: how a judge is asked, how much that may take, and how many replies it is shown.
OF_JUDGINGS = tuple(
    option
    for option in OPTIONS
    if option.name == "limit"
    or (option.part in ("model", "sampling", "limits", "plan") and option.name not in HERE)
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody asks for, at whichever door: a source and models by name, and what else was said.

    `given` holds values by the names of OPTIONS; an option that is not in it takes its default. `command` is the one
    that asks for it.
    """

    source: str
    models: tuple[str, ...]
    given: Given = field(default_factory=lambda: MappingProxyType({}))
    command: Literal["run", "batch run"] = "run"

    def of(self, part: Part) -> Given:
        """What was given of one part."""
        return {name: value for name, value in self.given.items() if BY_NAME[name].part == part}
