#!/usr/bin/env bash
# Make a virtual environment: tools/venv.sh PYTHON FOLDER. On a bare Debian, venv is a package of its own.
set -eu
python=${1:?usage: tools/venv.sh PYTHON FOLDER}
folder=${2:?usage: tools/venv.sh PYTHON FOLDER}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "proctor needs Python 3.11 or newer; $python is $("$python" --version). Name another: make PYTHON=python3.12" >&2
    exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    bash "$(dirname "$0")/apt.sh" "python$version-venv"
fi
"$python" -m venv "$folder"
