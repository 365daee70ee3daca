# `make` lists what there is. Three commands matter to a newcomer: `make run`, `make run-real` and `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
# Tests wait much of their time for processes and servers: four workers of pytest-xdist keep two cores at work.
WORKERS ?= 4
# Compiled once, not by every worker and every program that tests start, whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help setup run run-real rollouts-demo rollouts-codex test test-fast test-real check bench fuzz audit sbom faults soak gauntlet fleet fleet-rollouts fleet-quota judge-killed calibrate forks docs examples promises screenshots size

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 16

setup: $(VENV)/.run  ## set up proctor in .venv

run: $(VENV)/.run  ## set up, then score the built-in models on the sample rows
	@$(BIN)/proctor demo

run-real: $(VENV)/.run  ## a real model sits its exams: fetches a server and a model (161 MB, once), minutes
	@[ -z "$$(command -v dpkg-query)" ] || bash tools/apt.sh libgomp1
	@$(BIN)/python tools/real_demo.py

rollouts-demo: $(VENV)/.run  ## agents on prepared tasks in sandboxes, verified in clean ones: which agent is better
	@[ -z "$$(command -v dpkg-query)" ] || bash tools/apt.sh bubblewrap git
	@$(BIN)/python scripts/eval_rollouts.py run configs/demo.toml
	@echo
	@echo "Each trial, down to its diff and log, in the dashboard: $(BIN)/proctor serve, then http://127.0.0.1:8420"

rollouts-codex: $(VENV)/.run $(VENV)/.npm  ## the real codex on a task, in a sandbox without network (fetches it: 167 MB, once)
	@[ -z "$$(command -v dpkg-query)" ] || bash tools/apt.sh bubblewrap git
	@$(BIN)/python tools/codex_demo.py

test: $(VENV)/.test $(VENV)/.npm  ## every test, on SQLite and PostgreSQL
	@bash tools/apt.sh postgresql chromium libgomp1 bubblewrap docker.io
	@$(BIN)/python tools/real.py fetch >/dev/null || echo "Tests of a real server will skip (with CI=true, fail)."
	@$(BIN)/python tests/rollouts/moto_server.py install || echo "Tests at moto's server will skip (with CI=true, fail)."
	@mkdir -p .cache; touch .cache/installing; (PROCTOR_HOME=.cache/installed $(BIN)/proctor agents install codex mini-swe-agent >.cache/installed.log 2>&1; rm -f .cache/installing) &
	$(BIN)/python tools/run_tests.py -n $(WORKERS) --dist worksteal src tests

test-fast: $(VENV)/.test  ## the tests that take under a minute together, on SQLite
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not slow' -k 'not postgresql' src tests

test-real: $(VENV)/.test  ## proctor on servers that others wrote (SERVERS="vllm litellm ..." or all installs more)
	@bash tools/apt.sh libgomp1
	@$(BIN)/python tests/real/servers.py install llama-server $(SERVERS)
	REAL_SERVERS="$(SERVERS)" $(BIN)/python -m pytest -n 0 -rs tests/real

check: $(VENV)/.test  ## lint, types, and generated documents
	$(BIN)/ruff check --no-cache
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python tools/docs.py --check

bench: $(VENV)/.test  ## speed and memory beside a reference (ONLY=core for the short one)
	$(BIN)/python tools/bench.py $(if $(ONLY),--only $(ONLY))

fleet-quota: $(VENV)/.test  ## forty processes at a provider with a hard quota, with and without a common Redis
	$(BIN)/python tools/fleet_quota.py $(if $(ONLY),--only "$(ONLY)")

judge-killed: $(VENV)/.test  ## a judge's run of 10,000 replies killed twice and resumed: is each judged once (REPLIES=n)
	$(BIN)/python tools/killed_judging.py --replies $(or $(REPLIES),10000)

faults: $(VENV)/.test  ## kill, cut, fill and spoil what proctor stands on, at random moments: is an item lost (50 min; ONLY=word, TIMES=n)
	@bash tools/apt.sh postgresql gcc libc6-dev
	cd tests && ../$(BIN)/python -m faults.program --only "$(ONLY)" --times $(or $(TIMES),20)

gauntlet: $(VENV)/.test  ## exploits against bubblewrap and docker: which change a score, leak or harm (10 min; ONLY=GROUP|NAME)
	@bash tools/apt.sh bubblewrap docker.io
	PYTHONPATH=tests:tests/rollouts $(BIN)/python tests/rollouts/gauntlet_program.py $(foreach each,$(ONLY),--only $(each))

soak: $(VENV)/.test  ## a day of mixed jobs in minutes: does anything grow (HOURS=24)
	@bash tools/apt.sh gcc libc6-dev
	cd tests && ../$(BIN)/python -m faults.soak --hours $(or $(HOURS),24)

fleet: $(VENV)/.test  ## three workers on one PostgreSQL and one Valkey, both struck: the same as one process (ITEMS=100000)
	@bash tools/apt.sh postgresql
	PYTHONPATH=tests $(BIN)/python tests/fleet/fleet_proof.py --items $(or $(ITEMS),100000)

fleet-rollouts: $(VENV)/.test  ## three workers in three homes on one PostgreSQL, one killed: the trials of one process (TRIALS=300)
	@bash tools/apt.sh postgresql bubblewrap
	PYTHONPATH=tests $(BIN)/python tests/rollouts/rollouts_proof.py --trials $(or $(TRIALS),300)

fuzz: $(VENV)/.test  ## a million inputs that nobody meant for every parser (ONLY=name,name COUNT=n SEED=n; an hour)
	PYTHONPATH=tools $(BIN)/python -m fuzz $(if $(ONLY),--only "$(ONLY)") $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED))

audit: $(VENV)/.test  ## known vulnerabilities of the locked requirements; fails where they cannot be asked for
	@bash tools/audit.sh

sbom: $(VENV)/.run  ## what proctor is made of, as CycloneDX: dist/proctor.cdx.json
	@$(BIN)/python tools/sbom.py

calibrate: $(VENV)/.test  ## simulate exams: do the intervals hold the truth, how often is "better" false (50 min)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/calibrate.py
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/calibrate_judges.py
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/calibrate_sequential.py

forks: $(VENV)/.test  ## make two equal models "better" by trying often: how often proctor says so without a word (10 min)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tools/walk_forks.py

docs: $(VENV)/.test  ## rewrite the generated parts of the documents
	$(BIN)/python tools/docs.py

examples: $(VENV)/.test  ## record the answers that the OpenAPI document shows, from a server
	PYTHONPATH=tests $(BIN)/python tests/api/conversation.py

promises: $(VENV)/.test  ## the promises of the specification that no passing test carries
	$(BIN)/python tools/promises.py

screenshots: $(VENV)/.test  ## screenshots of every screen, light and dark, into docs/screenshots
	@bash tools/apt.sh chromium fonts-noto-color-emoji
	$(BIN)/python tools/screenshots.py $(foreach screen,$(ONLY),--only $(screen))

size:  ## lines of code, longest files and functions
	@$(PYTHON) tools/size.py

$(VENV)/bin/pip:
	@bash tools/venv.sh $(PYTHON) $(VENV)

$(VENV)/.run: requirements.txt pyproject.toml $(VENV)/bin/pip
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

# The client that codex comes by, where this machine has none.
$(VENV)/.npm: requirements-npm.txt $(VENV)/.run
	@command -v npm >/dev/null || $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-npm.txt || echo "No npm: codex cannot be installed here."
	@touch $@

$(VENV)/.test: requirements-test.txt $(VENV)/.run
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-test.txt
	@touch $@
