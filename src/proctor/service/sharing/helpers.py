"""Helper processes of a run that is done without a server: started beside its owner, and ended with it."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field, replace
from pathlib import Path

from proctor.plan import cell_to_json
from proctor.store import Store
from proctor.store.queue import runlog, shards
from proctor.types import Cell, Limits, Run

LOG = logging.getLogger(__name__)
GRACE_S = 10.0  # for all together, from asking them to end until they are killed


@dataclass(eq=False, slots=True)
class Helpers:
    """The helpers that this process has started for a run. They end by themselves when no shard is left."""

    store: Store
    run: Run
    home: Path
    lease_s: float
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, count: int, cell: Cell, limits: Limits) -> None:
        """They ask the very same: the model at the address where it is now, within the limits of now."""
        told = cell_to_json(replace(cell, limits=limits)).encode()
        log = runlog.opened(self.home, self.run.id)
        try:
            for _ in range(count):
                self._start(told, log)
        finally:
            os.close(log)

    def _start(self, told: bytes, log: int) -> None:
        name = f"helper {socket.gethostname()} {uuid.uuid4().hex[:8]}"
        words = [sys.executable, "-m", "proctor", "work-on", self.run.id, "--owner", name, "--helps"]
        words += ["--lease", f"{self.lease_s:g}", "--parent", str(os.getpid()), "--cell", "-"]
        # In a session of its own: Ctrl-C is for its owner, who ends it in good order.
        process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
        )
        self._processes[name] = process
        assert process.stdin is not None
        with process.stdin as pipe:
            pipe.write(told)

    def look(self) -> None:
        """The shards of those that have ended wait again. Raises StoreError."""
        for name, process in list(self._processes.items()):
            if process.poll() is None:
                continue
            if process.returncode:
                LOG.warning(
                    "a helper of run %s ended with exit code %d; %s",
                    self.run.id,
                    process.returncode,
                    runlog.where(self.run.id),
                )
            shards.put_back(self.store, owner=name)
            del self._processes[name]

    def end(self) -> None:
        """Whatever they have under way is given up."""
        for process in self._processes.values():
            process.terminate()
        deadline = time.monotonic() + GRACE_S
        for process in self._processes.values():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()
