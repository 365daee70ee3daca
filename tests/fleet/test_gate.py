"""A run at the gate: held against the accepted one, passed or not, and told in words that nobody's reply can break."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from proctor.errors import ConfigError, DataError, NotFound
from proctor.plan import Wanted
from proctor.service.context import Context, open_context
from proctor.service.evidence.compare import compared
from proctor.service.gate.accepted import accept, accepted_run
from proctor.service.gate.gate import GateFound, GateRule, gate
from proctor.service.gate.summary import summary, text
from proctor.service.runs.lifecycle import start
from proctor.service.runs.planning import plan_of_wanted
from proctor.types import Run, Shard
from programs import environment, proctor, proctor_json
from simulators import settings

pytestmark = pytest.mark.slow

N = 120
ACTION = Path(__file__).parents[2] / ".github" / "actions" / "gate" / "action.yml"
HOSTILE = (
    "@everyone <img src=x onerror=alert(1)> | [x](http://evil.example) `rm -rf` **bold**\n"
    "| a | b |\n# title www.evil.example \x1b[2J"
)


@pytest.fixture
def exam(tmp_path: Path) -> Path:
    rows = ({"id": f"q{i}", "question": f"What is {i} + {i}?", "answer": str(2 * i)} for i in range(N))
    file = tmp_path / "exam.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture
def context(tmp_path: Path) -> Any:
    home = tmp_path / "home"
    home.mkdir()
    with open_context(settings(home)) as opened:
        yield opened


def replies(folder: Path, wrong: Mapping[int, str], *, lost: int = 0) -> Path:
    """A file of replies: those of `wrong` are not right, and the last ones are missing."""
    lines = ({"id": f"q{i}", "text": wrong.get(i, f"Answer: {2 * i}")} for i in range(N) if i < N - lost)
    file = folder / f"replies-{len(wrong)}-{lost}.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def asked(context: Context, exam: Path, wrong: int | Mapping[int, str], model: str = "m", **more: Any) -> Run:
    given = dict.fromkeys(range(wrong), "Answer: none") if isinstance(wrong, int) else wrong
    words = {"replies": str(replies(exam.parent, given)), **more}
    outcome = start(context, plan_of_wanted(Wanted(str(exam), (f"replay/{model}",), words), context.settings))
    assert outcome.evaluation is not None
    run: Run = outcome.evaluation.results[0].run
    return run


def held(context: Context, run: Run, word: str, *how: GateRule, **more: Any) -> GateFound:
    return gate(context, run, accepted_run(context, word), *how, **more)


def test_a_run_that_is_shown_to_be_worse_does_not_pass_and_another_does(context: Context, exam: Path) -> None:
    accept(context, asked(context, exam, 5).id, "main")
    worse, like = (
        held(context, asked(context, exam, 30), "main"),
        held(context, asked(context, exam, 6), "main"),
    )
    assert (worse.passed, like.passed) == (False, True)
    assert worse.sentence.startswith("Gate FAILED: the new run is shown to be worse than the accepted one")
    assert like.sentence.startswith("Gate passed: the new run is not shown to be worse")
    assert (worse.losses, len(worse.lost)) == (25, 10)
    assert [item.item_id for item in worse.lost][:2] != [] and like.losses == 1


def test_the_gate_of_a_bundle_says_what_compare_says_of_the_two_runs(context: Context, exam: Path) -> None:
    first, second = asked(context, exam, 5), asked(context, exam, 30)
    accept(context, first.id, "main")
    of_bundle, of_store = held(context, second, "main"), held(context, second, first.id)
    pair = compared(context, [first.id, second.id]).evaluation.comparisons[0]
    for found in (of_bundle, of_store):
        assert found.pair is not None and found.pair.whole == pair.whole
    assert of_bundle.lost == of_store.lost


def test_a_loss_up_to_worse_by_passes_unless_it_has_to_be_excluded(context: Context, exam: Path) -> None:
    accept(context, asked(context, exam, 5).id, "main")
    run = asked(context, exam, 15)  # 10 of 120 less: 0.083, about [0.04, 0.15]
    passed = {
        (rule.worse_by, rule.exclude): held(context, run, "main", rule).passed
        for rule in (GateRule(), GateRule(0.05), GateRule(0.05, True), GateRule(0.3, True))
    }
    assert passed == {(0.0, False): False, (0.05, False): True, (0.05, True): False, (0.3, True): True}
    with pytest.raises(ConfigError, match="--exclude-worse needs --worse-by"):
        GateRule(0.0, exclude=True)


def test_only_shared_items_count_where_the_exam_has_grown(context: Context, exam: Path) -> None:
    accept(context, asked(context, exam, 0, limit=60).id, "main")
    found = held(context, asked(context, exam, 0), "main")
    assert found.passed and found.pair is not None and found.pair.whole.shared == 60


def test_runs_that_were_asked_otherwise_are_no_gate(context: Context, exam: Path) -> None:
    accept(context, asked(context, exam, 0).id, "main")
    other = asked(context, exam, 0, grader="exact")
    with pytest.raises(ConfigError, match="cannot be compared"):
        held(context, other, "main")
    with pytest.raises(ConfigError, match="is the accepted one"):
        held(context, other, other.id)


def test_without_an_accepted_run_it_passes_unless_there_has_to_be_one(context: Context, exam: Path) -> None:
    run = asked(context, exam, 0)
    assert (
        accepted_run(context, "main") is None and accepted_run(context, str(exam.with_suffix(".zip"))) is None
    )
    assert held(context, run, "main").passed and not held(context, run, "main", needed=True).passed
    with pytest.raises(NotFound, match="no run begins so"):
        accepted_run(context, "deadbeef")
    with pytest.raises(ConfigError, match="is no name"):
        accepted_run(context, "my main")


def test_a_part_and_a_partial_run_are_not_accepted(context: Context, exam: Path) -> None:
    with pytest.raises(ConfigError, match="merge the parts"):
        accept(context, asked(context, exam, 0, shard=Shard(0, 2)).id)
    lacking = asked(context, exam, {}, replies=str(replies(exam.parent, {}, lost=3)))
    with pytest.raises(ConfigError, match="lacks 3 outcomes"):
        accept(context, lacking.id)


def test_a_damaged_accepted_run_is_an_error_and_not_a_first_run(context: Context, exam: Path) -> None:
    made = accept(context, asked(context, exam, 0).id, "main")
    made.path.write_bytes(made.path.read_bytes()[:-200])
    with pytest.raises(DataError):
        accepted_run(context, "main")


def test_hostile_words_stay_words_in_the_summary(context: Context, exam: Path) -> None:
    accept(context, asked(context, exam, {0: "Answer: @ann"}).id, "main")
    found = held(
        context, asked(context, exam, dict.fromkeys(range(30), f"{HOSTILE}\nAnswer: {HOSTILE}")), "main"
    )
    told = summary(found)
    table = told.partition("| item |")[2].splitlines()
    rows = [line for line in table if line.startswith("| exam/")]
    assert len(rows) == 10 and all(line.replace("\\|", "").count("|") == 5 for line in rows)
    for mark in ("<img", "@everyone", "](http", "http://", "www.", "\x1b", "**bold"):
        assert mark not in told, mark


def test_text_is_one_line_of_text() -> None:
    assert "\n" not in text(HOSTILE) and "<" not in text(HOSTILE)


def test_the_command_runs_compares_writes_and_ends_with_its_code(exam: Path, tmp_path: Path) -> None:
    good, bad = replies(tmp_path, {}), replies(tmp_path, dict.fromkeys(range(30), "Answer: none"))
    words = ["gate", str(exam), "--model", "replay/m", "--accepted", str(tmp_path / "accepted.zip")]
    first = proctor(tmp_path, *words, "--replies", str(good), "--accept-first")
    assert "Gate passed: there is no accepted run yet" in first.stdout and "Accepted:" in first.stderr
    github = {"GITHUB_STEP_SUMMARY": str(tmp_path / "step.md")}
    more = [*words, "--replies", str(bad), "--summary", str(tmp_path / "own.md")]
    assert "Gate FAILED" in proctor(tmp_path, *more, code=4, **github).stdout
    assert (tmp_path / "step.md").read_text() == (tmp_path / "own.md").read_text()
    told = proctor_json(tmp_path, *more, code=4)
    assert (told["gate"]["passed"], told["gate"]["lost_items"]) == (False, 30)


def gate_step() -> tuple[str, dict[str, str]]:
    """The script of the action's step, and its variables with the inputs' defaults."""
    action = yaml.safe_load(ACTION.read_text())
    assert action["runs"]["using"] == "composite"
    (step,) = (each for each in action["runs"]["steps"] if each.get("id") == "gate")
    defaults = {name: str(each.get("default", "")) for name, each in action["inputs"].items()}
    return step["run"], {
        name: defaults[value.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, value in step["env"].items()
    }


def test_the_step_of_the_action_fails_where_the_gate_does_and_runs_no_input(
    exam: Path, tmp_path: Path
) -> None:
    script, variables = gate_step()
    assert "${{" not in script
    own = {"SOURCE": str(exam), "MODEL": "replay/m", "ACCEPTED": str(tmp_path / "a $(touch pwned).zip")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    runner = {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "output"), "PATH": path}
    codes = []
    for wrong, first in (({}, "--accept-first"), (dict.fromkeys(range(30), "none"), "")):
        options = {"OPTIONS": f"--replies {replies(tmp_path, wrong)} {first}"}
        env = {**environment(tmp_path / "home"), **variables, **own, **runner, **options}
        # As a runner starts it: bash --noprofile --norc -eo pipefail {0}
        step = tmp_path / "step.sh"
        step.write_text(script)
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(step)]
        codes.append(subprocess.run(words, env=env, cwd=tmp_path, capture_output=True).returncode)
    assert codes == [0, 4]
    assert (tmp_path / "output").read_text().split() == [
        *(f"summary={tmp_path / 'proctor-gate.md'}", "passed=true"),
        *(f"summary={tmp_path / 'proctor-gate.md'}", "passed=false"),
    ]
    assert not (tmp_path / "pwned").exists()
