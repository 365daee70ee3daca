"""What the routes of judgings and labels answer, for the examples of the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from served import Server

V1 = "/api/v1"
LABELS = f"{V1}/labels"
JUDGES = ["simulator/judge"]


def judging_told(server: Server, first: str, second: str) -> Mapping[tuple[str, str], tuple[int, Any]]:
    """By method and path in the document: status and body. The runs have ended and were asked the same."""
    found: dict[tuple[str, str], tuple[int, Any]] = {}

    def ask(method: str, path: str, body: object = None, query: str = "", **names: str) -> Any:
        answer = server.ask(method, path.format(**names) + query, body)
        found[method.lower(), path] = answer.status, answer.body
        return answer.body

    begun = ask("POST", f"{V1}/judgings", {"runs": [first, second], "judges": JUDGES, "config": {"limit": 8}})
    jobs = [each["job_id"] for each in begun["judgings"]]
    for job in jobs:
        server.ended(job)
    labels_told(ask, {"runs": [first]})
    ask("GET", f"{V1}/judgings", query=f"?run_id={first}")
    ask("GET", f"{V1}/judgings/{{job_id}}", job_id=jobs[0])
    ask("GET", f"{V1}/judged/{{job_id}}", job_id=first)
    ask("POST", f"{V1}/judged/compare", {"first": first, "second": second})
    ask("GET", f"{V1}/rubrics")
    rubric = {"name": "short", "criteria": [{"name": "brief", "asks": "Is it brief?", "scale": "yes/no"}]}
    ask("POST", f"{V1}/rubrics/check", {"rubric": rubric})
    return found


def labels_told(ask: Any, wish: dict[str, Any]) -> None:
    shown = ask("POST", f"{LABELS}/queue", {**wish, "limit": 8})
    for entry in shown["next"]:
        ask(
            "POST",
            LABELS,
            {**wish, "key": entry["key"], "grade": "pass", "note": "says it", "tags": ["short"]},
        )
    ask("POST", f"{LABELS}/undo", wish)
    ask("POST", f"{LABELS}/progress", wish)
    given = ask("POST", f"{LABELS}/export", wish)["labels"]
    ask("POST", f"{LABELS}/import", {**wish, "labels": given[:1]})
    ask("POST", f"{LABELS}/reveal", {**wish, "key": shown["next"][-1]["key"]})
    ask("POST", f"{LABELS}/queue", {**wish, "limit": 2, "done": True})
