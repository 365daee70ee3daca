#!/usr/bin/env bash
# Compare the locked requirements with the package index's list of known vulnerabilities, by pip-audit in an environment
# of its own. A package that the list cannot be asked about fails the audit: an index without advisories says nothing.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" -q install pip-audit
status=0
for lock in requirements.txt requirements-test.txt; do
    echo "$lock:"
    "$work/venv/bin/pip-audit" --strict --disable-pip --require-hashes --progress-spinner off -r "$lock" || status=1
done
exit $status
