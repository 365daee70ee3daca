#!/usr/bin/env bash
# Install the Debian packages among the arguments that are missing, without starting their services.
# Without root or apt-get it only says which are missing: the tests that need them skip, or fail where CI=true.
set -eu

missing=()
for name in "$@"; do
    state=$(dpkg-query -W -f='${Status}' "$name" 2>/dev/null || true)
    [ "$state" = "install ok installed" ] || missing+=("$name")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    echo "Missing Debian packages: ${missing[*]}. Installing them needs root and apt-get; tests that need them will skip."
    exit 0
fi

# Debian asks this file whether a package may start its service; 101 is no. An existing policy is left alone.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod 755 "$policy"
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}"
