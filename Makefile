# Everything a developer does here. The first target that needs Python sets up .venv by itself.

PYTHON ?= python3
WORKERS ?= 2
SEEDS ?= 1500
MINUTES ?= 30
ARGS ?=

UV_VERSION := 0.13.9
BIN := .venv/bin
STAMP := .venv/.stamp
LOCK := requirements/dev.txt
PYTEST := $(BIN)/pytest -q -n $(WORKERS) --dist loadgroup
FAST_SUITES := $(wildcard $(addprefix tests/,unit contract reference functions edge architecture))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test check check-static format lint types imports stress faults soak simulate simulate-mutations bench-bm25 bench-locomo lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  Settings: PYTHON=$(PYTHON), WORKERS=$(WORKERS) for tests and simulations, and ARGS='...' for the command behind"
	@echo "  run, test, check, stress, simulate, bench-bm25, bench-locomo and lock"

run: $(STAMP) ## Run every function on this machine over a plain directory
	$(BIN)/python functions/local_stack.py $(ARGS)

test: $(STAMP) ## Run the whole test suite except stress and faults
	$(PYTEST) tests --ignore=tests/stress --ignore=tests/faults $(ARGS)

check: check-static ## Check everything static, then run the fast tests
	$(PYTEST) $(FAST_SUITES) $(ARGS)

check-static: lint types imports ## Check format, lint, types and import contracts

format: $(STAMP) ## Rewrite the code in its one format
	$(BIN)/ruff check --quiet --select I --fix .
	$(BIN)/ruff format .

lint: $(STAMP) ## Check format and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP) ## Check types
	$(BIN)/mypy

imports: $(STAMP) ## Check the import contracts
	$(BIN)/lint-imports --no-logo

stress: $(STAMP) ## Run the suites that kill writers and race many processes
	$(BIN)/pytest -q tests/stress $(ARGS)

faults: $(STAMP) ## Run the suites behind a network that cuts, delays and refuses
	$(BIN)/pytest -q tests/faults $(ARGS)

soak: $(STAMP) ## Load a stack for MINUTES with kills and faults, then check everything (MINUTES=30)
	$(BIN)/python benchmarks/soak.py --minutes $(MINUTES) $(ARGS)

simulate: $(STAMP) ## Run seeded schedules with faults over the simulated bucket (SEEDS=1500)
	$(BIN)/python -m tests.simulation --seeds $(SEEDS) --workers $(WORKERS) $(ARGS)

simulate-mutations: $(STAMP) ## Show that the simulation catches each deliberate mistake
	$(BIN)/python -m tests.simulation --workers $(WORKERS) --mutations

bench-bm25: $(STAMP) ## Measure the index against bm25s and a single-file index
	$(BIN)/python benchmarks/bm25.py $(ARGS)

bench-locomo: $(STAMP) ## Measure recall on long conversations
	$(BIN)/python benchmarks/locomo.py $(ARGS)

lock: $(STAMP) ## Pin the development requirements anew (ARGS=--upgrade for newer versions)
	$(BIN)/uv pip compile pyproject.toml --all-extras --group dev --group bench --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate -q -o $(LOCK) $(ARGS)

clean: ## Remove caches and build output (neither .venv nor stored memories)
	rm -rf .build .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build cdk.out dist
	find . -name __pycache__ -not -path './.venv/*' -not -path './node_modules/*' -prune -exec rm -rf {} +

# uv installs the locked requirements in seconds; where it cannot be had, pip installs the same ones.
$(STAMP): pyproject.toml $(LOCK)
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else 1)' || { \
		echo "Python 3.11 or newer is needed and '$(PYTHON)' is not. Name another: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "Setting up .venv from $(LOCK)"
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	@if $(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION); then \
		$(BIN)/uv pip sync --quiet --python $(BIN)/python --require-hashes $(LOCK) && \
		$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .; \
	else \
		echo "uv could not be installed; using pip, which takes longer" && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $(LOCK) && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .; \
	fi
	@touch $@
