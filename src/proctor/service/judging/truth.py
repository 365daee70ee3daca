"""What a simulated judge is told: whether a reply says what a good answer says, and what each bias would say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.references import PREFERENCE
from proctor.sources.judging.source import JudgeAsking, JudgingSource

if TYPE_CHECKING:
    from proctor.simulator import KnownAnswer


def known_answers(source: JudgingSource) -> dict[str, KnownAnswer]:
    """By prompt. A reply that is longer than that in the middle of its run is a long one."""
    from proctor.simulator import prompt_key

    sizes = sorted(len(text) for reply in source.replies for text in reply.shown.replies)
    usual = sizes[len(sizes) // 2] if sizes else 0
    return {
        prompt_key([(m.role, m.content) for m in asking.item.ask.messages]): _known(source, asking, usual)
        for asking in source.askings()
    }


def _known(source: JudgingSource, asking: JudgeAsking, usual: float) -> KnownAnswer:
    from proctor.simulator import judged

    reply, turned = asking.reply, asking.order == "21"
    step = -1 if turned else 1
    worth = reply.truth if reply.truth is None or not turned else 1.0 - reply.truth
    return judged(
        tuple(PREFERENCE if source.ref.against else asking.criterion.worth),
        reply.shown.good,
        reply.shown.replies[::step],
        long_chars=usual,
        worth=worth,
        models=reply.models[::step],
    )
