"""lm-eval's logs: the real one of the shared material, and made ones with what real ones hold elsewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from logs_made import DATE, line, lm_eval, quiz, ranked
from proctor.errors import DataError
from proctor.interop.lm_eval import read_lm_eval
from proctor.interop.logs import Sample, without_secrets


def only(path: Path) -> Sample:
    (found,) = read_lm_eval(path).samples
    return found


def one(folder: Path, of: dict[str, Any], metric: str = "acc,none") -> Sample:
    return only(lm_eval(folder, "org/m", {"quiz": [of]}, {"quiz": {metric: 1.0}}))


def test_the_real_log(shared: Path) -> None:
    (path,) = (shared / "data/predictions/lm_eval").rglob("results_*.json")
    log = read_lm_eval(path)
    assert (log.tool, log.version, log.elapsed_s) == ("lm-eval", "6653bd23", pytest.approx(30.2588, abs=1e-4))
    (task,) = log.tasks
    assert (task.key, task.title, task.theirs, task.extra) == ("winogrande", "winogrande acc", 0.7, False)
    assert [sample.score for sample in log.samples].count(1.0) == 7 and log.planned == 10
    first = log.samples[0]
    # Its two requests differ in the middle: the context ends with the name, and the continuation is the same.
    assert (first.item, first.choices, first.answer) == ("winogrande/0", ("Sarah", "Maria"), "Maria")
    assert first.prompt[0].content.endswith("Sarah was a much better surgeon than Maria so")
    assert first.reply == "Sarah: -52\nMaria: -43.5" and first.target == "always got the easier cases."
    assert log.prompts["winogrande"].startswith("lm-eval winogrande version 1.0, 5-shot, ")
    assert log.settings["limit"] == 10.0 and log.notes == ()


def test_an_answer_in_free_words(tmp_path: Path) -> None:
    found = one(tmp_path, line(3, acc=1.0))
    assert (found.item, found.answer, found.reply, found.target) == ("quiz/3", "yes", "I say yes", "yes")
    assert found.prompt[0].content == "question 3" and not found.unread


def test_an_answer_that_no_filter_found(tmp_path: Path) -> None:
    found = one(tmp_path, line(0, answer="[invalid]", acc=0.0))
    assert (found.answer, found.unread, found.score) == (None, True, 0.0)


def test_a_target_given_as_a_place_is_the_option_there(tmp_path: Path) -> None:
    found = one(tmp_path, ranked(0, "1", {"red": -3.0, "blue": -2.0}, acc=1.0))
    assert (found.choices, found.target, found.answer) == (("red", "blue"), "blue", "blue")


def test_a_metric_that_chooses_in_another_way_leaves_the_answer_open(tmp_path: Path) -> None:
    """acc_norm divides by length: the likeliest option need not be the one that it took."""
    each = ranked(0, "1", {"red": -2.0, "blue": -3.0}, acc_norm=1.0)
    found = one(tmp_path, each, "acc_norm,none")
    assert (found.target, found.answer, found.score) == ("blue", None, 1.0)


def test_requests_that_only_set_a_scale_are_no_options(tmp_path: Path) -> None:
    each = ranked(0, "0", {"red": -2.0, "blue": -3.0}, acc=1.0)
    each["arguments"] |= {f"gen_args_{i + 2}": {"arg_0": "", "arg_1": f" {o}"} for i, o in enumerate("ab")}
    each["filtered_resps"] += [["-0.1", "False"], ["-0.2", "False"]]
    found = one(tmp_path, each)
    assert (found.choices, found.answer) == (("red", "blue"), "red")


def test_a_single_continuation_is_the_answer_if_it_is_the_greedy_one(tmp_path: Path) -> None:
    each = ranked(0, "word", {"word": -1.0}, acc=1.0)
    each["filtered_resps"] = [["-1.0", "True"]]
    assert one(tmp_path / "a", each).answer == "word"
    each |= {"filtered_resps": [["-1.0", "False"]], "acc": 0.0}
    assert one(tmp_path / "b", each).answer is None


def test_requests_written_as_lists(tmp_path: Path) -> None:
    found = one(
        tmp_path,
        ranked(0, "0", {"a": -1.0, "b": -2.0}, acc=1.0) | {"arguments": [["Q:", " a"], ["Q:", " b"]]},
    )
    assert (found.choices, found.answer) == (("a", "b"), "a")


def test_each_metric_and_filter_is_a_task_and_the_first_is_scored(tmp_path: Path) -> None:
    lines = [
        line(i, exact_match=right, filter=name)
        for name, rights in (("strict-match", (0.0, 1.0)), ("flexible-extract", (1.0, 1.0)))
        for i, right in enumerate(rights)
    ]
    figures = {"exact_match,strict-match": 0.5, "exact_match,flexible-extract": 1.0}
    log = read_lm_eval(lm_eval(tmp_path, "org/m", {"quiz": lines}, {"quiz": figures}))
    assert [(told.key, told.theirs, told.extra) for told in log.tasks] == [
        ("quiz", 0.5, False),
        ("quiz (exact_match, flexible-extract)", 1.0, True),
    ]
    assert [sample.score for sample in log.samples] == [0.0, 1.0, 1.0, 1.0] and log.planned == 4


def test_what_is_no_score_of_an_item_is_no_task(tmp_path: Path) -> None:
    """Corpus metrics keep pairs for each item, perplexities get better downwards, `bypass` scores nothing."""
    lines = [line(0, f1=[0, 1], ppl=3.0, bypass=999, acc=1.0)]
    figures = {"quiz": {"f1,none": 0.5, "ppl,none": 3.0, "bypass,none": 999, "acc,none": 1.0}}
    rising = {"quiz": {"ppl": False, "acc": True}}
    log = read_lm_eval(lm_eval(tmp_path, "org/m", {"quiz": lines}, figures, higher_is_better=rising))
    assert [told.key for told in log.tasks] == ["quiz"] and log.tasks[0].metric == "acc,none"
    assert log.notes == ("quiz ppl is left out: lower is better there",)


def test_tasks_without_samples_are_named_and_groups_are_not(tmp_path: Path) -> None:
    figures = {"all": {"acc,none": 0.5}, "quiz": {"acc,none": 1.0}, "lost": {"acc,none": 0.0}}
    below = {"all": ["quiz", "lost"], "quiz": [], "lost": []}
    log = read_lm_eval(
        lm_eval(tmp_path, "org/m", {"quiz": [line(0, acc=1.0)]}, figures, group_subtasks=below)
    )
    assert log.notes == ("lost has no samples file and is left out",)
    assert [told.key for told in log.tasks] == ["quiz"] and log.groups == ()


def test_samples_of_a_longer_name_are_not_those_of_a_group(tmp_path: Path) -> None:
    """samples_all_quiz_DATE.jsonl begins like the samples of a task called "all"."""
    figures = {"all": {"acc,none": 1.0}, "all_quiz": {"acc,none": 1.0}}
    lm_eval(tmp_path, "org/m", {"all_quiz": [line(0, acc=1.0)]}, figures)
    (tmp_path / f"samples_all_quiz_{DATE}.jsonl").rename(
        tmp_path / "samples_all_quiz_2024-02-02T00-00-00.jsonl"
    )
    log = read_lm_eval(tmp_path / f"results_{DATE}.json")
    assert [told.key for told in log.tasks] == ["all_quiz"]


def test_a_group_has_the_tasks_below_its_groups(tmp_path: Path) -> None:
    tasks = {name: [line(0, acc=1.0)] for name in ("a", "b", "c")}
    figures = {name: {"acc,none": 1.0} for name in (*tasks, "all", "some")}
    below = {"all": ["some", "c"], "some": ["a", "b"], "a": [], "b": [], "c": []}
    log = read_lm_eval(lm_eval(tmp_path, "org/m", tasks, figures, group_subtasks=below))
    assert [(g.title, g.tasks, g.theirs) for g in log.groups] == [
        ("all", ("a", "b", "c"), 1.0),
        ("some", ("a", "b"), 1.0),
    ]


def test_what_was_asked_is_told_from_its_settings(tmp_path: Path) -> None:
    """Other words, other shots and other examples are another prompt; a chat template is the model's own."""

    def prompt(name: str, **more: Any) -> str:
        return read_lm_eval(quiz(tmp_path / name, "org/m", [1.0], **more)).prompts["quiz"]

    plain = prompt("plain")
    assert prompt("templated", chat_template="{{x}}", chat_template_sha="abc") == plain
    function = {"quiz": {"doc_to_text": "<function text at 0x7f01>"}}
    moved = {"quiz": {"doc_to_text": "<function text at 0x7f02>"}}
    assert prompt("function", configs=function) == prompt("moved", configs=moved)
    seed = {"config": {"fewshot_seed": 7}}
    five = prompt("five", **{"n-shot": {"quiz": 5}})
    others = {
        prompt("words", configs={"quiz": {"doc_to_text": "Q: {{q}}"}}),
        prompt("system", system_instruction="Be short."),
        five,
        prompt("seed", **{"n-shot": {"quiz": 5}}, **seed),
    }
    assert len(others) == 4 and plain not in others
    assert prompt("unused seed", **seed) == plain  # without examples none are drawn


def test_no_key_is_kept() -> None:
    given = {
        "model_args": "base_url=http://x,api_key=sk-1,tokenizer=t,add_bos_token=True,hf_token=x",
        "headers": [{"Authorization": "Bearer x"}],
        "max_tokens": 5,
    }
    assert without_secrets(given) == {
        "model_args": "base_url=http://x,api_key=(removed),tokenizer=t,add_bos_token=True,hf_token=(removed)",
        "headers": [{"Authorization": "(removed)"}],
        "max_tokens": 5,
    }


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('{"doc_id": 0, "acc": 1.0}\n{broken', "line 2 is not JSON"),
        ('{"doc_id": 0, "acc": 1.0}\n[]', "line 2 is not a JSON object"),
        ('{"acc": 1.0}', "a line without doc_id"),
        ('{"doc_id": 0, "acc": 1.0}\n{"doc_id": 0, "acc": 0.0}', "quiz/0 is there twice"),
        ("", "none of its metrics has a score for each item"),
        ('{"doc_id": 0, "acc": "high"}', "none of its metrics has a score for each item"),
    ],
)
def test_damaged_samples_are_told(tmp_path: Path, lines: str, said: str) -> None:
    path = quiz(tmp_path, "org/m", [1.0])
    (tmp_path / f"samples_quiz_{DATE}.jsonl").write_text(lines)
    with pytest.raises(DataError, match=re.escape(said)):
        read_lm_eval(path)


def test_fields_of_another_shape_do_no_harm(tmp_path: Path) -> None:
    """Whatever stands in a field, the log is read or refused; nothing else is raised."""
    path = quiz(tmp_path, "org/m", [1.0])
    samples = tmp_path / f"samples_quiz_{DATE}.jsonl"
    results, each = json.loads(path.read_text()), json.loads(samples.read_text())
    for name in each:
        for value in (None, 7, "x", [], {}, [[]], [None], {"x": None}):
            samples.write_text(json.dumps(each | {name: value}))
            refused_or_read(path)
    samples.write_text(json.dumps(each))
    for name in results:
        for value in (None, 7, "x", [], {}, {"quiz": None}, {"quiz": [7]}, {"quiz": {"metric_list": 7}}):
            path.write_text(json.dumps(results | {name: value}))
            refused_or_read(path)


def refused_or_read(path: Path) -> None:
    try:
        assert read_lm_eval(path).samples
    except DataError as error:
        assert str(path.parent) in str(error)


def test_fewer_items_than_were_asked_are_told(tmp_path: Path) -> None:
    path = quiz(tmp_path, "org/m", [1.0, 0.0], **{"n-samples": {"quiz": {"original": 9, "effective": 5}}})
    log = read_lm_eval(path)
    assert log.planned == 5 and log.notes == (f"samples_quiz_{DATE}.jsonl holds 2 of 5 items",)
