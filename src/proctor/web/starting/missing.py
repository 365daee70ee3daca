"""What a form lacks before its work may start, and for each lack the cures that are one press away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from starlette.datastructures import QueryParams

from proctor.errors import ProctorError
from proctor.service.admin.access import User
from proctor.service.context import Context
from proctor.service.opening.catalogue import brand, key_variables, provider_status
from proctor.service.runs import queue
from proctor.web.addresses import query
from proctor.web.render import problem_facts

Pairs = Sequence[tuple[str, str]]
NOT_KEPT = ("came", "like", "look", "file", "column", "part")  # of a form, what its address need not say


@dataclass(frozen=True, slots=True)
class Cure:
    """One press: the form again with something said otherwise, or `away`, another page."""

    words: str
    to: str
    away: bool = False


@dataclass(frozen=True, slots=True)
class Lack:
    """What is missing, in words. `field` is the input that it is said of; `imports` a suite whose rows may come."""

    words: str
    cures: tuple[Cure, ...] = ()
    field: str = ""
    imports: str = ""
    detail: str = ""


def in_address(asked: QueryParams) -> dict[str, str]:
    """What the fields of an address say, each in lines where it stands there several times."""
    return {name: "\n".join(asked.getlist(name)) for name in asked}


@dataclass(frozen=True, slots=True)
class FilledForm:
    """A form's page and what was filled in, from which the addresses of the same form with changes are made."""

    path: str
    pairs: Pairs

    def but(self, **changes: str | Sequence[str] | None) -> str:
        """The form's address with these fields changed; None leaves one out."""
        kept = [pair for pair in self.pairs if pair[0] not in changes and pair[0] not in NOT_KEPT and pair[1]]
        said: dict[str, list[str]] = {}
        for name, value in kept:
            # No address holds a line break: a value of several lines is the name several times.
            said.setdefault(name, []).extend(value.splitlines())
        for name, given in changes.items():
            if given is not None:
                said[name] = [given] if isinstance(given, str) else list(given)
        return self.path + query(said)


def of_errors(errors: Mapping[str, str], labels: Mapping[str, str]) -> Iterator[Lack]:
    """What is wrong field by field."""
    for name, why in errors.items():
        label = labels.get(name) or labels.get(name.removeprefix("ollama_"), name)
        yield Lack(f"{label}: {why}", field=name)


def of_problem(problem: ProctorError) -> Lack:
    """What keeps a plan from being made, as it is told everywhere."""
    facts = problem_facts(problem) or {}
    return Lack(facts["detail"], detail=facts["cure"])


def of_keys(context: Context, models: Sequence[str], form: FilledForm) -> Iterator[Lack]:
    """Providers of chosen models whose key this machine lacks; where others work on runs, theirs may have it."""
    if queue.workers_there(context) > 1:
        return
    keyless = {each.name for each in provider_status(context.settings) if each.key_set is False}
    for provider in dict.fromkeys(model.partition("/")[0] for model in models):
        if provider in keyless:
            rest = [model for model in models if not model.startswith(f"{provider}/")]
            said = ", ".join(model for model in models if model not in rest)
            leave = Cure(f"Leave out {said}", form.but(models=rest, provider=None, model=None))
            yield Lack(
                f"The API key of {brand(provider)} is not set",
                (Cure("Set the key", f"/models#key-{provider}", away=True), leave),
                detail=f"The server reads it from {key_variables().get(provider, 'its environment')}.",
            )


def of_queue(context: Context, user: User) -> Iterator[Lack]:
    """No room for another waiting run."""
    if not queue.has_room(context, user.name):
        most = context.settings.most_queued
        yield Lack(
            f"{most} of your runs wait already, which is all that may wait",
            (Cure("See the queue", "/system", away=True),),
        )


def listed(*parts: Iterable[Lack]) -> tuple[Lack, ...]:
    return tuple(each for part in parts for each in part)
