"""Judging and labelling over HTTP: who may, in whose name, blind, and nothing across the walls of projects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from judged_home import PEOPLE, JudgedHome, answered, judged_home
from sqlalchemy import update

from proctor.service.admin import access
from proctor.service.context import open_context
from proctor.store.core.tables import RUN
from served import Answer, Server, serving

pytestmark = pytest.mark.slow  # a server
V1 = "/api/v1"
LABELS = f"{V1}/labels"
JUDGE = ["simulator/sim"]  # as it has judged before


@dataclass(frozen=True)
class Judging:
    """A server with keys: `ask` as somebody; `elsewhere` is a run of another project."""

    server: Server
    home: JudgedHome
    keys: dict[str, str]
    elsewhere: str

    def ask(self, who: str, method: str, path: str, body: object = None) -> Answer:
        return self.server.ask(method, path, body, {"X-API-Key": self.keys[who]})

    def post(self, who: str, path: str, **body: Any) -> Any:
        answer = self.ask(who, "POST", path, body)
        assert answer.status == 200, answer
        return answer.body


@pytest.fixture(scope="module")
def judging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judging]:
    folder: Path = tmp_path_factory.mktemp("judging")
    home = judged_home(folder)
    elsewhere = answered(folder, "other", ["It is 1."] * 12)
    with open_context(home.settings) as context:
        walled = access.create_project(context, "walled", by="root").id
        with context.store.writing() as connection:
            connection.execute(update(RUN).where(RUN.c.id == elsewhere).values(project_id=walled))
        wanted = {
            "carl": ("label", [1]),
            "dora": ("label", [1]),
            "rita": ("run", [1]),
            "both": ("run", [1, walled]),
        }
        keys = {
            user: access.create_key(context, user, "", [scope], by="root", projects=projects)[1]
            for user, (scope, projects) in wanted.items()
        }
    with serving(folder, "--no-worker", PROCTOR_AUTH="keys") as server:
        yield Judging(server, home, keys, elsewhere)


def test_what_was_judged_so_before_is_told_and_not_asked_again(judging: Judging) -> None:
    first, second = judging.home.first, judging.home.second
    (known,) = judging.post("rita", f"{V1}/judgings", runs=[first], judges=JUDGE)["judgings"]
    assert (known["job_id"], known["status"]) == (judging.home.judging, "completed")
    pair = {"runs": [first], "against": second, "judges": JUDGE, "rubric": RUBRIC, "priority": "low"}
    (new,) = judging.post("rita", f"{V1}/judgings", **pair)["judgings"]
    assert (new["status"], new["against"], new["votes"]) == ("pending", second, 1)
    assert "rubric=brief#" in new["grader"] and new["grader"].endswith(f"against={second}")
    again = judging.ask("rita", "POST", f"{V1}/judgings", pair)
    assert again.status == 409 and "judges these replies just now" in again.body["detail"]
    assert judging.ask("rita", "POST", f"{V1}/jobs/cancel/{new['job_id']}").status == 200
    (taken_up,) = judging.post("rita", f"{V1}/judgings", **pair)["judgings"]
    assert (taken_up["job_id"], taken_up["status"]) == (new["job_id"], "pending")
    deeds = judging.ask("rita", "GET", f"{V1}/audit?action=judge").body["audit"]
    assert {each["target"] for each in deeds} >= {known["job_id"], new["job_id"]}


RUBRIC = {"name": "brief", "criteria": [{"name": "short", "asks": "Is it short?", "scale": "1-5"}]}


def test_pairs_across_projects_need_a_key_that_reaches_both(judging: Judging) -> None:
    pair = {"runs": [judging.home.first], "against": judging.elsewhere, "judges": JUDGE}
    refused = judging.ask("rita", "POST", f"{V1}/judgings", pair)
    assert refused.status == 404 and judging.elsewhere[:8] in refused.body["detail"]
    (made,) = judging.post("both", f"{V1}/judgings", **pair)["judgings"]
    seen = judging.ask("rita", "GET", f"{V1}/judgings/{made['job_id']}").body
    assert seen["deleted"] == [judging.elsewhere], "what is out of reach is as if it were gone"
    judged = {"runs": [judging.elsewhere], "against": judging.home.first, "judges": JUDGE}
    assert judging.ask("rita", "POST", f"{V1}/judgings", judged).status == 404
    for room, more in (("queue", {}), ("export", {}), ("import", {"labels": []})):
        assert (
            judging.ask("carl", "POST", f"{LABELS}/{room}", {"runs": [judging.elsewhere], **more}).status
            == 404
        )


def test_a_labeller_labels_blindly_in_the_own_name_and_begins_nothing(judging: Judging) -> None:
    wish: dict[str, Any] = {"runs": [judging.home.first]}
    shown = judging.post("carl", f"{LABELS}/queue", **wish, limit=100)
    told = json.dumps(shown)
    assert len(shown["next"]) == shown["entries"] == 12
    assert not [
        word for word in ("replay", "good.jsonl", "judge", judging.home.first, *PEOPLE) if word in told
    ]
    first, second = shown["next"][:2]
    judging.post("carl", LABELS, **wish, key=first["key"], grade="pass", note="right")
    judging.post("carl", LABELS, **wish, key=second["key"], grade="fail")
    assert judging.post("carl", f"{LABELS}/undo", **wish)["key"] == second["key"]
    assert judging.post("carl", f"{LABELS}/progress", **wish)["users"] == {"ann": 4, "bob": 4, "carl": 1}
    assert judging.post("dora", f"{LABELS}/queue", **wish)["done"] == 0, "nobody sees what others say"
    for path, body in (
        (LABELS, {"key": first["key"], "grade": "pass", "labeller": "ann"}),
        (f"{V1}/judgings", {"judges": JUDGE}),
    ):
        assert judging.ask("carl", "POST", path, {**wish, **body}).status == 403
    bad = judging.ask("carl", "POST", LABELS, {**wish, "key": first["key"], "grade": "great"})
    assert bad.status == 400 and "pass, fail" in bad.body["detail"]


def test_labels_go_out_and_come_in_as_csv_and_json_and_others_names_need_the_scope_run(
    judging: Judging,
) -> None:
    wish = {"runs": [judging.home.second]}
    rows = judging.post("rita", f"{LABELS}/export", **wish)["labels"]
    assert [row["labeller"] for row in rows].count("ann") == 4
    text = judging.post("rita", f"{LABELS}/export", **wish, form="csv")
    assert text.count("by hand") == 8
    assert judging.post("rita", f"{LABELS}/import", **wish, csv=text)["known"] == 8
    foreign = [{**rows[0], "labeller": "zoe", "at": "", "grade": "fail"}]
    refused = judging.ask("carl", "POST", f"{LABELS}/import", {**wish, "labels": foreign})
    assert refused.status == 400 and "may only hand in own labels" in json.dumps(refused.body)
    assert judging.post("rita", f"{LABELS}/import", **wish, labels=foreign)["added"] == 1
    found = judging.ask("rita", "GET", f"{V1}/judged/{judging.home.second}").body
    assert (found["checked"], found["labels"]) == (True, 4)
    assert found["people"]["scored"] == 4 and found["labels_used"]["labellers"] == ["ann", "bob", "zoe"]


def test_a_rubric_is_checked_with_every_fault_in_its_place(judging: Judging) -> None:
    fine = judging.post("rita", f"{V1}/rubrics/check", rubric=RUBRIC)
    assert judging.post("rita", f"{V1}/rubrics/check", toml=fine["toml"])["words"] == fine["words"]
    wrong = {"name": "a b", "criteria": [{"name": "x", "asks": "y", "scale": "1-7"}, {"nme": 1}]}
    told = judging.ask("rita", "POST", f"{V1}/rubrics/check", {"rubric": wrong})
    assert told.status == 400
    for fault in ("'a b'", "[[criteria]] 1 ('x'): scale: '1-7'", "[[criteria]] 2: unknown key 'nme'"):
        assert fault in told.body["detail"]
