"""`make gauntlet`: all exploits in bubblewrap, in docker (a daemon of its own), and where each must succeed.

Ends with 0 only if none succeeded in either sandbox and each did in its control.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from dockerd import dockerd


def ran(home: Path, *words: str, **more: str) -> int:
    """`proctor gauntlet WORDS`, as it goes; its exit code."""
    command = [sys.executable, "-m", "proctor", "gauntlet", *words]
    print(f"== proctor gauntlet {' '.join(words)}", flush=True)
    return subprocess.run(
        command, env={**os.environ, "PROCTOR_HOME": str(home), **more}, check=False
    ).returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="group or name")
    only = [word for each in parser.parse_args().only for word in ("--only", each)]
    with tempfile.TemporaryDirectory(prefix="gauntlet-") as made:
        home = Path(made, "home")
        codes = [ran(home, *only), ran(home, "--control", *only)]
        place = Path(made, "docker")
        place.mkdir()
        with dockerd(place) as address:
            codes.append(ran(home, "--sandbox", "docker", *only, DOCKER_HOST=address))
    return 0 if not any(codes) else 1


if __name__ == "__main__":
    sys.exit(main())
