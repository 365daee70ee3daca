"""Sources that a form asks about again and again, kept open for a while, so that its plan follows each change."""

from __future__ import annotations

import time
from collections import OrderedDict
from threading import Lock

from proctor.protocols import Source
from proctor.references import SourceRef
from proctor.service.kinds.exams import rows_stamp
from proctor.service.opening.sources import open_source
from proctor.settings import Settings

MOST = 3  # each may hold all rows of a suite
KEPT_S = 120.0

Key = tuple[Settings, SourceRef, object]
_kept: OrderedDict[Key, tuple[float, Source]] = OrderedDict()
_alone = Lock()


def warm_source(ref: SourceRef, settings: Settings, *, fetch: bool) -> Source:
    """As `open_source`; what was opened lately is not opened again. Rows that were imported since are another source.

    Raises as `open_source` does.
    """
    key = (settings, ref, rows_stamp(ref, settings))
    now = time.monotonic()
    with _alone:
        for old in [each for each, (at, _) in _kept.items() if now - at > KEPT_S]:
            del _kept[old]
        found = _kept.get(key)
        if found is not None:
            _kept.move_to_end(key)
    if found is not None:
        return found[1]
    source = open_source(ref, settings, fetch=fetch)
    with _alone:
        # What had to be fetched lies here now, under another stamp.
        _kept[settings, ref, rows_stamp(ref, settings)] = (now, source)
        while len(_kept) > MOST:
            _kept.popitem(last=False)
    return source
