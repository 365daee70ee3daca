"""What trials print while they are under way, line by line, each line once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from proctor.printable import in_one_line

AT_ONCE = 1 << 20  # bytes of one log between two looks; what is beyond comes with the next
LONGEST = 10_000  # characters of one line


@dataclass(frozen=True, slots=True)
class LogLine:
    run_id: str
    log: str  # "agent", "eval"
    text: str


@dataclass(slots=True)
class LogStream:
    """Reads the logs of trials below `data` on from where it stopped. Half a line waits for its end."""

    data: Path
    places: dict[tuple[str, str], int] = field(default_factory=dict)
    halves: dict[tuple[str, str], bytes] = field(default_factory=dict)

    def fresh(self, run_ids: Iterable[str]) -> Iterator[LogLine]:
        """What was printed since, control characters made harmless: an agent's words go to a terminal."""
        for run_id in dict.fromkeys(run_ids):
            logs = self.data / "runs" / run_id / "logs"
            for path in sorted(logs.glob("*.log")):
                for line in self._lines((run_id, path.name), path):
                    yield LogLine(run_id, path.stem, in_one_line(line.decode("utf-8", "replace"))[:LONGEST])

    def _lines(self, key: tuple[str, str], path: Path) -> Iterator[bytes]:
        read = b""
        with suppress(OSError):
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                # A log that begins anew is that of another try.
                place = min(self.places.get(key, 0), os.fstat(file).st_size)
                read = os.pread(file, AT_ONCE, place)
                self.places[key] = place + len(read)
            finally:
                os.close(file)
        *whole, half = (self.halves.pop(key, b"") + read).split(b"\n")
        if len(half) > LONGEST:
            whole.append(half)
        elif half:
            self.halves[key] = half
        yield from (line.rstrip(b"\r") for line in whole)
