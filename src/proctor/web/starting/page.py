"""The one page that starts every kind of work: what all kinds have in common there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from starlette.datastructures import FormData
from starlette.responses import Response

from proctor.service.context import Context
from proctor.service.opening.catalogue import brand, provider_status
from proctor.web.addresses import query
from proctor.web.render import show
from proctor.web.starting.forms import MOST_MODELS
from proctor.web.starting.missing import FilledForm

FROM_FILES = "replay"  # whose replies lie on another machine


@dataclass(frozen=True, slots=True)
class What:
    """A kind of work, as it is chosen."""

    key: str
    title: str
    hint: str
    icon: str
    path: str


WHATS = (
    What("suite", "A benchmark suite", "GLUE, MMLU and more", "certificate", "/runs/new"),
    What("questions", "A file of questions", "with right answers", "list-details", "/runs/new"),
    What("batch", "A file of requests", "a batch of prompts", "stack-2", "/batches/new"),
    What("tasks", "Tasks for agents", "rollouts in sandboxes", "robot", "/rollouts/new"),
)
PATHS = {each.key: each.path for each in WHATS}


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A model that is chosen, PROVIDER/NAME."""

    full: str
    provider: str
    name: str


def chosen(models: Sequence[str]) -> list[ChosenModel]:
    return [ChosenModel(each, *each.partition("/")[::2]) for each in models if all(each.partition("/"))]


def form_of(what: str, form: FormData) -> FilledForm:
    """What was filled in, for addresses of the same form."""
    said = [(name, str(value)) for name, value in form.multi_items() if isinstance(value, str)]
    return FilledForm(PATHS[what], [("what", what), *[pair for pair in said if pair[0] != "what"]])


def start_page(
    request: Request, context: Context, what: str, models: Sequence[str], **facts: Any
) -> Response:
    """The page with the pieces of this kind of work; `facts` are what those need."""
    missing = facts.get("missing", ())
    return show(
        request,
        "new_run.html",
        400 if missing and request.method == "POST" else 200,
        **{
            "here": "new",
            "what": what,
            "whats": [(each, each.path + query({"what": each.key, "models": models})) for each in WHATS],
            "path_of_form": PATHS[what],
            "chosen": chosen(models),
            "most_models": MOST_MODELS,
            "missing": missing,
            "ready": not missing,
            "came": request.query_params.get("came", ""),
            **_lists(context),
            **facts,
        },
    )


def _lists(context: Context) -> dict[str, Any]:
    """Which providers' lists the page fetches, and which have no key for one."""
    known = [each for each in provider_status(context.settings) if each.name != FROM_FILES]
    # What speaks OpenAI's protocol may be a server at hand that wants no key.
    asked = [each.name for each in known if each.key_set is not False or each.name == "openai"]
    return {
        "lists": [(name, brand(name)) for name in asked],
        "keyless": [(each.name, brand(each.name)) for each in known if each.key_set is False],
    }
