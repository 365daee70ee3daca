#!/bin/bash
# A benchmark of tasks each night: run, held against the accepted run of each of its rows, and kept with commit and date.
#
#     0 2 * * * /path/to/repo/scripts/run_nightly_benchmark.sh          a line of crontab
#
#     run_nightly_benchmark.sh [CONFIG]      a TOML file; default $NIGHTLY_CONFIG, else configs/nightly.toml
#
# NIGHTLY_DIR       where nights are kept, a folder each; default PROCTOR_HOME/nightly
# NIGHTLY_GATE      options of `proctor gate check`, such as "--worse-by 0.02" or "--exclude-worse"
# NIGHTLY_ACCEPT    1: tonight's runs become the accepted ones if all was measured, whatever the gate says
#
# Exit codes: 0 no row is shown to be worse; 3 the same, but trials lack a verdict; 4 a row is worse; 5 nothing was
# measured; 2 wrong request; 75 another night is still at work. docs/nightly.md has the rest.
set -euo pipefail

repo="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$repo"
export PROCTOR_HOME="${PROCTOR_HOME:-$repo/data}"
[[ "$PROCTOR_HOME" = /* ]] || export PROCTOR_HOME="$repo/$PROCTOR_HOME"
# cron has a short PATH: what `make setup` made comes first.
export PATH="$repo/.venv/bin:$PATH"
command -v proctor >/dev/null || { echo "proctor is not installed: make setup" >&2; exit 2; }
python="$(command -v python3 || command -v python)"

config="${1:-${NIGHTLY_CONFIG:-configs/nightly.toml}}"
[ -f "$config" ] || { echo "$config: no such file (in $repo)" >&2; exit 2; }
nights="${NIGHTLY_DIR:-$PROCTOR_HOME/nightly}"
mkdir -p "$PROCTOR_HOME" "$nights"

# One night at a time; the lock goes with this process, however it ends, and what it starts has none of it.
exec 9>"$nights/.lock"
flock --nonblock 9 || { echo "another night is still at work ($nights/.lock)" >&2; exit 75; }

commit="$(git rev-parse --verify --quiet HEAD 2>/dev/null || echo unknown)"
[ -z "$(git status --porcelain --untracked-files=no 2>/dev/null)" ] || commit="$commit-changed"
night="$nights/$(date -u +%Y-%m-%dT%H-%M-%SZ)-${commit:0:12}"
mkdir "$night"
cp "$config" "$night/config.toml"
echo "[nightly] $config at commit $commit, kept in $night"

# --- run -----------------------------------------------------------------------------------------------------------
code=0
proctor rollouts run "$config" --json >"$night/results.json" 2> >(tee "$night/run.log" >&2) 9>&- || code=$?
run_code=$code

# --- hold against what was accepted --------------------------------------------------------------------------------
runs=()
if [ -s "$night/results.json" ]; then
    ids="$("$python" -c '
import json, sys
print(*(run["run_id"] for run in json.load(open(sys.argv[1])).get("runs", ())))' "$night/results.json")"
    read -r -a runs <<<"$ids"
fi
worse=()
read -r -a gate_options <<<"${NIGHTLY_GATE:-}"
if [ "$code" = 0 ] || [ "$code" = 3 ]; then
    for run in "${runs[@]}"; do
        gate_code=0
        proctor gate check "$run" --accept-first --summary "$night/gate-${run:0:8}.md" "${gate_options[@]}" \
            9>&- | tee -a "$night/gate.txt" || gate_code=$?
        case "$gate_code" in
            0) ;;
            3) [ "$code" = 4 ] || code=3 ;;
            4) worse+=("$run"); code=4 ;;
            *) [ "$code" = 4 ] || code=$gate_code ;;
        esac
    done
    if [ "${NIGHTLY_ACCEPT:-}" = 1 ] && [ "$run_code" = 0 ]; then
        for run in "${runs[@]}"; do proctor gate accept "$run" 9>&-; done
    fi
fi

# --- keep ----------------------------------------------------------------------------------------------------------
if [ "${#runs[@]}" -gt 0 ]; then
    proctor bundle "${runs[@]}" --prompts --output "$night/bundle.zip" 9>&- || [ "$code" != 0 ] || code=1
fi
NIGHT="$night" COMMIT="$commit" CONFIG="$config" RUN_CODE="$run_code" CODE="$code" "$python" - "${runs[@]}" -- \
    "${worse[@]}" <<'PYTHON'
import hashlib, json, os, pathlib, sys

night = pathlib.Path(os.environ["NIGHT"])
words = sys.argv[1:]
runs, worse = words[: words.index("--")], words[words.index("--") + 1 :]
told = {
    "date": night.name[:20],
    "commit": os.environ["COMMIT"],
    "config": os.environ["CONFIG"],
    "config_sha256": hashlib.sha256((night / "config.toml").read_bytes()).hexdigest(),
    "runs": runs,
    "worse": worse,
    "run_exit": int(os.environ["RUN_CODE"]),
    "exit": int(os.environ["CODE"]),
}
(night / "nightly.json").write_text(json.dumps(told, indent=2) + "\n")
with (night.parent / "history.jsonl").open("a") as history:
    history.write(json.dumps({**told, "folder": night.name}) + "\n")
PYTHON
ln -sfn "$(basename "$night")" "$nights/latest"
echo "[nightly] ended with $code: $night"
exit "$code"
