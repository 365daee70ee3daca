"""What the gauntlet says: a line for each exploit, a summary, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from proctor.printable import in_one_line
from proctor.service.gauntlet.exploits import GROUPS, Exploit
from proctor.service.gauntlet.running import OWN, ExploitShown

KINDS = {"score": "changed a score", "leak": "leaked", "harm": "harmed"}


def row(shown: ExploitShown) -> str:
    """One exploit in one line."""
    told = "; ".join(words for words in shown.signs.values())
    if shown.setting == "none":
        return f"{'--':<10} {shown.exploit.place:<48} no control: {shown.exploit.why_none}"
    if shown.setting != OWN:
        how = "works" if shown.worked else "FAILS"
        told = in_one_line(told or "nothing was seen")
        return f"{how:<10} {shown.exploit.place:<48} {shown.seconds:5.1f} s  {shown.setting}: {told}"
    kinds = [name.upper() for name in KINDS if shown.of(name)]
    how = "+".join(kinds) or "held"
    return f"{how:<10} {shown.exploit.place:<48} {shown.seconds:5.1f} s  {in_one_line(told)}".rstrip()


def summary(shown: Sequence[ExploitShown], sandbox: str) -> str:
    """How many did anything, by kind."""
    if any(each.setting != OWN for each in shown):
        tried = [each for each in shown if each.setting != "none"]
        worked, without = sum(each.worked for each in tried), len(shown) - len(tried)
        return f"{worked} of {len(shown)} are shown to work in a weak setting; {without} have none"
    did = sum(bool(each.signs) for each in shown)
    kinds = ", ".join(
        f"{sum(bool(each.of(kind)) for each in shown)} {words}" for kind, words in KINDS.items()
    )
    return f"{did} of {len(shown)} in {sandbox} ({kinds})"


def lines_of_list(exploits: Sequence[Exploit]) -> Iterator[str]:
    """All exploits by group."""
    for group, aim in GROUPS.items():
        own = [each for each in exploits if each.group == group]
        if own:
            yield f"{group}: {aim}"
            yield from (f"  {each.name:<32} {each.title}" for each in own)


def document(shown: Sequence[ExploitShown], sandbox: str) -> dict[str, Any]:
    """As JSON."""
    return {
        "sandbox": sandbox,
        "exploits": len(shown),
        "successful": sum(bool(each.signs) for each in shown),
        "worked": sum(each.worked for each in shown),
        "shown": [
            {
                "group": each.exploit.group,
                "name": each.exploit.name,
                "title": each.exploit.title,
                "setting": each.setting,
                "worked": each.worked,
                **{kind: each.of(kind) for kind in KINDS},
                "seconds": each.seconds,
            }
            for each in shown
        ],
    }
