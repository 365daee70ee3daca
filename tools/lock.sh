#!/usr/bin/env bash
# Pin every dependency with hashes, without download addresses: requirements.txt (to run) and requirements-test.txt (to test).
# Run it by hand when a dependency changes; it needs pip-tools in a virtual environment of its own.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install pip-tools
# The build backend and what an editable install asks of it, so that no build step needs the network.
printf 'hatchling\neditables\n' > "$work/build.in"
compile() {
    "$work/venv/bin/pip-compile" --quiet --generate-hashes --strip-extras --allow-unsafe --no-header --no-annotate \
        --no-emit-index-url --no-emit-find-links --no-emit-trusted-host "$@" pyproject.toml "$work/build.in"
}
compile -o requirements.txt
compile --extra test -c requirements.txt -o requirements-test.txt
