#!/usr/bin/env bash
# Pin every dependency with hashes, without download addresses: requirements.txt (to run), requirements-test.txt (to test)
# and requirements-server.txt (to run with what several machines need; the image of Dockerfile). What the tests use of
# other makers' servers in environments of their own: tests/rollouts/pins/moto.txt.
# Run it by hand when a dependency changes; it needs pip-tools in a virtual environment of its own.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install pip-tools
# The build backend and what an editable install asks of it, so that no build step needs the network.
printf 'hatchling\neditables\n' > "$work/build.in"
# redis wants it of a Python before 3.11.3, which Debian 12 has; pip-compile sees the Python that it runs on alone.
printf 'async-timeout\n' > "$work/redis.in"
compile() {
    "$work/venv/bin/pip-compile" --quiet --generate-hashes --strip-extras --allow-unsafe --no-header --no-annotate \
        --no-emit-index-url --no-emit-find-links --no-emit-trusted-host "$@" pyproject.toml "$work/build.in"
}
compile -o requirements.txt
compile --extra test -c requirements.txt -o requirements-test.txt "$work/redis.in"
compile --extra redis --extra s3 -c requirements-test.txt -o requirements-server.txt "$work/redis.in"
pins=tests/rollouts/pins
"$work/venv/bin/pip-compile" --quiet --generate-hashes --strip-extras --allow-unsafe --no-header --no-annotate \
    --no-emit-index-url --no-emit-find-links --no-emit-trusted-host -o "$work/moto.txt" "$pins/moto.in"
{ head -n 1 "$pins/moto.txt"; cat "$work/moto.txt"; } > "$work/pinned"
mv "$work/pinned" "$pins/moto.txt"
