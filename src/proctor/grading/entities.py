"""Which of the row's entities a text names."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.grading.texts import squad


def named_entity(value: str, entities: Sequence[str]) -> str | None:
    """The listed entity that a value names: alike after SQuAD's normalisation, else the only one inside.

    Of entities inside one another the longest counts. When the value holds none, the only entity
    that holds the value.
    """
    ours = squad(value)
    if not ours:
        return None
    by_form: dict[str, str] = {}
    for entity in entities:
        if form := squad(entity):
            by_form.setdefault(form, entity)
    if ours in by_form:
        return by_form[ours]
    inside = [form for form in by_form if f" {form} " in f" {ours} "]
    longest = [
        form for form in inside if not any(form != other and f" {form} " in f" {other} " for other in inside)
    ]
    around = longest or [form for form in by_form if f" {ours} " in f" {form} "]
    return by_form[around[0]] if len(around) == 1 else None
