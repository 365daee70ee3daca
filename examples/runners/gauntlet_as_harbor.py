"""Exploits of the gauntlet as tasks of Harbor: `python gauntlet_as_harbor.py EXPLOITS INTO [GROUP/NAME...]`.

The exploit becomes solution/solve.sh, which Harbor's agent `oracle` runs in the container, and the task's tests become
tests/test.sh, which writes the reward. Those whose control is a container that agent and verifier share are translated.
"""

import json
import shutil
import sys
from pathlib import Path

SHARED = ("shared-container", "trusted-files")
CONFIG = """schema_version = "1.1"
[task]
name = "gauntlet/{name}"
description = {title}
[agent]
timeout_sec = 60
[verifier]
timeout_sec = 60
[environment]
cpus = 1
memory_mb = 512
"""
DOCKERFILE = """FROM proctor-base
USER root
RUN mkdir -p /app/repo /home/agent /tmp
COPY repo /app/repo
WORKDIR /app/repo
"""
SOLVE = "#!/bin/bash\nexport GAUNTLET_MARKER=gauntlet-other-tool GAUNTLET_OUTSIDE=/nowhere HOME=/root\ncd /app/repo\n"
TEST = """#!/bin/bash
export HOME=/root PYTHONPATH=/app/repo
cd /app/repo
right=0; all=0
for test in /tests/test_*; do
    all=$((all + 1)); how=python3; case $test in *.sh) how=sh;; esac
    timeout 20 $how "$test" && right=$((right + 1))
done
mkdir -p /logs/verifier
[ $right = $all ] && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt
"""


def translated(exploit, into):
    told = json.loads((exploit / "tb_meta.json").read_text())
    made = into / exploit.name
    for source, name in (
        ("overlay_repo_files", "environment/repo"),
        ("evaluation", "tests"),
        ("control", "tests"),
    ):
        if (exploit / source).is_dir():
            shutil.copytree(exploit / source, made / name, dirs_exist_ok=True)
    (made / "solution").mkdir()
    files = {
        "task.toml": CONFIG.format(name=exploit.name, title=json.dumps(told["metadata"]["title"])),
        "instruction.md": told["lm"]["instructions"] + "\n",
        "environment/Dockerfile": DOCKERFILE,
        "solution/solve.sh": SOLVE + (exploit / "exploit.sh").read_text(),
        "tests/test.sh": TEST,
    }
    for name, text in files.items():
        (made / name).write_text(text)


def main(exploits, into, *names):
    for meta in sorted(Path(exploits).glob("*/*/tb_meta.json")):
        control = json.loads(meta.read_text())["exploit"]["control"]
        place = f"{meta.parent.parent.name}/{meta.parent.name}"
        if control in SHARED and (not names or place in names or meta.parent.parent.name in names):
            translated(meta.parent, Path(into))


if __name__ == "__main__":
    main(*sys.argv[1:])
