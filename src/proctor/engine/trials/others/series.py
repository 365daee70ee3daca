"""The patches of a task's steps as one text: each is what its step changed, and begins with a line that names it.

The lines are none that git writes. The work of a task without steps is a patch alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_HEAD = re.compile(rb"^# proctor step: ([^\n]*)\n", re.MULTILINE)


def joined(patches: Sequence[tuple[str, bytes]]) -> bytes:
    """By the names of their steps, in order."""
    if len(patches) == 1 and not patches[0][0]:
        return patches[0][1]
    return b"".join(b"# proctor step: %s\n%s" % (name.encode(), patch) for name, patch in patches)


def parted(patch: bytes) -> Sequence[tuple[str, bytes]]:
    """The patches of a text, each with the name of its step; a patch alone has none.

    >>> parted(joined([("one", b"a\\n"), ("two", b"")])), parted(b"a\\n")
    ([('one', b'a\\n'), ('two', b'')], [('', b'a\\n')])
    """
    heads = list(_HEAD.finditer(patch))
    if not heads or heads[0].start():
        return [("", patch)]
    ends = [*(each.start() for each in heads[1:]), len(patch)]
    return [
        (head[1].decode("utf-8", "replace"), patch[head.end() : end])
        for head, end in zip(heads, ends, strict=True)
    ]
