"""The names under which a judge's grades are kept: who judged, by which rubric and prompt, with how many votes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import fields

from proctor.grading.exam import IN_PARTS, JUDGED
from proctor.references import GradingRubric, JudgingRef
from proctor.sources.judging.prompts import VERSION
from proctor.types import Model, Run, Sampling

JUDGE = "judge"  # what graders that are models are called
PANEL = "panel"  # several judges together
BUILT_IN = "correct"  # the rubric of judgings for which no file was named
VOTING_TEMPERATURE = 0.7  # of a judge that is asked several times: at 0 it would say the same each time
_RUBRIC = re.compile(r"[:,]rubric=([^,]+)")
_PANEL = re.compile(r":panel=(.+?),rubric=")
_VOTES = re.compile(r",votes=(\d+)")
_JUDGE_MODEL = re.compile(r":model=(.+?),rubric=")


def grader_of(run: Run) -> str:
    """The name under which the verdicts of a judge's run are kept as grades. Equal names are equal graders."""
    ref = run.cell.source
    assert isinstance(ref, JudgingRef)
    return judge_name(run.cell.model, ref, run.cell.repeats, run.cell.sampling)


def judge_name(model: Model, ref: JudgingRef, votes: int, sampling: Sampling | None = None) -> str:
    """`sampling` stands in the name as far as it is not how judges are usually asked.

    >>> judge_name(Model("ollama", "qwen3:8b"), JudgingRef("q.csv", "0a1b"), 1)
    'judge/1:model=ollama/qwen3:8b,rubric=correct#a5172172'
    """
    words = [f"model={model}", f"rubric={ref.rubric.words}"]
    words += [f"against={ref.against}"] if ref.against else []
    words += [f"votes={votes}"] if votes > 1 else []
    words += _unusual(sampling, votes) if sampling is not None else []
    words += [IN_PARTS] if in_parts(ref.rubric) and not ref.against else []
    return f"{VERSION}:{','.join(words)}"


def panel_name(judges: Iterable[Model], ref: JudgingRef, votes: int) -> str:
    """The name of the grades that several judges give together.

    >>> judges = (Model("openai", "b"), Model("openai", "a"))
    >>> panel_name(judges, JudgingRef("q.csv", "0a1b"), 1)
    'judge/1:panel=openai/a+openai/b,rubric=correct#a5172172'
    """
    words = [f"panel={'+'.join(sorted(map(str, judges)))}", f"rubric={ref.rubric.words}"]
    words += [f"votes={votes}"] if votes > 1 else []
    words += [IN_PARTS] if in_parts(ref.rubric) else []
    return f"{VERSION}:{','.join(words)}"


def in_parts(rubric: GradingRubric) -> bool:
    """Whether a score by the rubric may lie between right and wrong."""
    return len(rubric.criteria) > 1 or any(len(each.worth) > 2 for each in rubric.criteria)


def is_judge(grader: str) -> bool:
    return grader.startswith(JUDGED)


def is_plain(grader: str) -> bool:
    """Whether the grades are one judge's of single replies: neither a panel's nor of pairs.

    >>> is_plain("judge/1:model=a/b,rubric=c#1"), is_plain("judge/1:model=a/b,rubric=c#1,against=0a")
    (True, False)
    """
    return is_judge(grader) and ",against=" not in grader and panel_of(grader) is None


def rubric_words(grader: str) -> str | None:
    """The rubric's name and the first digits of its hash.

    >>> rubric_words("judge/1:model=a/b,rubric=correct#a5172172,votes=3")
    'correct#a5172172'
    """
    found = _RUBRIC.search(grader) if is_judge(grader) else None
    return found and found[1]


def panel_of(grader: str) -> tuple[str, ...] | None:
    """The models of a panel; None for other graders.

    >>> panel_of("judge/1:panel=a/b+c/d,rubric=correct#a5172172")
    ('a/b', 'c/d')
    """
    found = _PANEL.search(grader) if is_judge(grader) else None
    return tuple(found[1].split("+")) if found else None


def judges_of(grader: str) -> tuple[str, ...]:
    """The models that gave a judge's or a panel's grades."""
    found = _JUDGE_MODEL.search(grader) if is_judge(grader) else None
    return (found[1],) if found else panel_of(grader) or ()


def judging_command(run: str, grader: str) -> str:
    """The command that has a run judged as a grader's name says; where it says nothing, with words to fill in.

    >>> judging_command("0a1b", "judge/1:model=a/b,rubric=helpful#1234abcd,votes=3")
    '`proctor grade 0a1b --grader judge --judge a/b --rubric helpful.toml --votes 3`'
    """
    judges = judges_of(grader) or ("PROVIDER/NAME",)
    words = ["proctor grade", run, "--grader judge", *(f"--judge {each}" for each in judges)]
    rubric = (rubric_words(grader) or BUILT_IN).partition("#")[0]
    words += [f"--rubric {rubric}.toml"] if rubric != BUILT_IN else []
    votes = _VOTES.search(grader)
    words += [f"--votes {votes[1]}"] if votes else []
    return f"`{' '.join(words)}`"


def _unusual(sampling: Sampling, votes: int) -> list[str]:
    usual = Sampling(temperature=VOTING_TEMPERATURE if votes > 1 else Sampling().temperature)
    return [
        f"{each.name}={value}"
        for each in fields(Sampling)
        if each.name not in LENGTHS and (value := getattr(sampling, each.name)) != getattr(usual, each.name)
    ]


# How long a judge may think and write, and how much it may read, is no part of what it is.
LENGTHS = frozenset({"max_tokens", "context_tokens"})
