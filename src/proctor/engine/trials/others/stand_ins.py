"""Programs that stand in for those which would download, as boxes of tasks of others see them."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from proctor.engine.room import room_for
from proctor.sandbox.contract import Mount
from proctor.sources.rollouts.dockerfile import STANDARD_PATH
from proctor.sources.rollouts.harbor.inside.stand_in import NAMES

AT = "/opt/proctor/stand-ins"
PROGRAM, RUNS_PYTEST, PLUGIN = "stand_in.py", "run_pytest.py", "plugins/proctor_ctrf.py"
IN_HOME = ("env", "uv", "uvx")  # what uv's installer leaves in ~/.local/bin
STARTER = f"""#!/bin/sh
for python in /usr/local/bin/python3 /usr/bin/python3 /bin/python3; do
    [ -x "$python" ] && exec "$python" -s -B {AT}/{PROGRAM} NAME "$@"
done
echo "proctor: NAME: the image has no python3" >&2
exit 127
"""
ENV = f'export PATH="{AT}/bin:$PATH"\n'


def stand_ins(cache: Path) -> Path:
    """The folder of the programs, made once below `cache`. Raises: DiskFull, SandboxError."""
    inside = files("proctor.sources.rollouts.harbor.inside")
    found = {name: inside.joinpath(name).read_bytes() for name in (PROGRAM, RUNS_PYTEST, PLUGIN)}
    found |= {f"bin/{name}": STARTER.replace("NAME", name).encode() for name in NAMES}
    found["bin/env"] = ENV.encode()
    digest = hashlib.sha256(b"\0".join(name.encode() + b"\0" + body for name, body in found.items()))
    place = cache / f"stand-ins-{digest.hexdigest()[:16]}"
    if not place.is_dir():
        with room_for(cache):
            cache.mkdir(parents=True, exist_ok=True)
            _made(found, cache, place)
    return place


def _made(found: Mapping[str, bytes], cache: Path, place: Path) -> None:
    making = Path(tempfile.mkdtemp(prefix="stand-ins-new-", dir=cache))
    try:
        for name, body in found.items():
            path = making / "made" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(body)
            path.chmod(0o755 if name.startswith("bin/") else 0o644)
        (making / "made").chmod(0o755)
        (making / "made").rename(place)
    except OSError:
        if not place.is_dir():  # else another process was first
            raise
    finally:
        shutil.rmtree(making, ignore_errors=True)


def shown(place: Path, home: str | None) -> Sequence[Mount]:
    """What boxes are shown: the programs, and in the home what an installer would have left there."""
    own = [Mount(place / "bin" / name, f"{home}/.local/bin/{name}") for name in IN_HOME] if home else []
    return [Mount(place, AT), *own]


def with_stand_ins(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Variables by which a shell finds the programs first, and pytest the plugin for --ctrf."""
    paths = [f"{AT}/plugins", *filter(None, [environment.get("PYTHONPATH")])]
    return {
        **environment,
        "PATH": f"{AT}/bin:{environment.get('PATH', STANDARD_PATH)}",
        "PYTHONPATH": ":".join(paths),
        "PYTEST_PLUGINS": ",".join(filter(None, ["proctor_ctrf", environment.get("PYTEST_PLUGINS")])),
    }
