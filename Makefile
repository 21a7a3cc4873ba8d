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
# Every extra but sentence-transformers, which brings gigabytes of torch.
EXTRAS := s3 functions onnx fastembed langgraph pydantic-ai client
GROUPS := dev infra model bench
# The one command line that is not from the lock; npx fetches exactly this version.
CDK := JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20 npx --yes aws-cdk@2.1148.1
VENDOR := layers/vendor/requirements
MCP_LAYER := layers/mcp/requirements
MCP_CLIENTS_LOCK := requirements/mcp-clients
MCP_CLIENTS := .build/mcp-clients
MCP_NODE := .build/mcp-node
PEERS_LOCK := requirements/peers
PEERS := .build/peers-venv
EMULATOR_LOCK := requirements/emulator
EMULATOR = .build/emulator/$(firstword $(shell cksum $(EMULATOR_LOCK).txt))
PYTEST := $(BIN)/pytest -q -n $(WORKERS) --dist loadgroup
FAST_SUITES := $(wildcard $(addprefix tests/,unit contract reference functions edge mcp architecture))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test check check-static format lint types imports stress faults soak simulate simulate-mutations simulate-sessions bench bench-peers bench-conversation model bench-bm25 bench-embedding bench-quality bench-vectors bench-costs bench-s3 bench-scale bench-mcp mcp-clients mcp-conformance synth deploy e2e lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  Settings: PYTHON=$(PYTHON), WORKERS=$(WORKERS) for tests and simulations, and ARGS='...' for the command behind"
	@echo "  run, test, check, stress, simulate, bench-bm25, bench-quality and lock"

run: $(STAMP) ## Run every function on this machine over a plain directory
	@test -n "$$S3_AGENT_MEMORY_EMBEDDINGS" || $(BIN)/python -m layers.onnx.build_model || \
		echo "The model could not be built: memories will be found by their words alone" >&2
	$(BIN)/python functions/local_stack.py $(ARGS)

test: $(STAMP) ## Run the whole test suite except stress, faults and e2e
	$(PYTEST) tests $(addprefix --ignore=tests/,stress faults e2e) $(ARGS)

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

simulate-sessions: $(STAMP) ## Run seeded schedules of one conversation (ARGS=--mutations shows that mistakes are caught)
	$(BIN)/python -m tests.simulation.session_batches $(ARGS)

bench: $(STAMP) ## Run the whole benchmark (QUICK=1: small; ARGS="quality peers": parts; ARGS=--list)
	@$(BIN)/python -m layers.onnx.build_model || echo "Without the model some parts are left out" >&2
	@test -n "$(QUICK)" || $(MAKE) --no-print-directory $(PEERS)/.stamp || \
		echo "Other systems could not be installed; those that are missing are left out" >&2
	$(BIN)/python -m benchmarks $(if $(QUICK),--quick) $(ARGS)

bench-peers: $(STAMP) $(PEERS)/.stamp ## Compare with other memory systems (ARGS="--sizes 1000 --only Chroma")
	@$(BIN)/python -m layers.onnx.build_model
	PYTHONPATH=layers/memory/python $(PEERS)/bin/python -m benchmarks.peers $(ARGS)

bench-conversation: $(STAMP) ## Measure latency and requests of conversations (ARGS="--turns 200 --delay-ms 15")
	$(BIN)/python benchmarks/conversation.py $(ARGS)

bench-transfer: $(STAMP) ## Measure export, import and an import that is killed (ARGS="--count 1000000")
	$(BIN)/python benchmarks/transfer.py $(ARGS)

bench-bm25: $(STAMP) ## Measure the index against bm25s and a single-file index
	$(BIN)/python benchmarks/bm25.py $(ARGS)

model: $(STAMP) ## Build the embedding model in .build/model, once
	$(BIN)/python -m layers.onnx.build_model $(ARGS)

bench-embedding: $(STAMP) ## Measure the embedding model: cold start, throughput, layer size (ARGS=--layer)
	$(BIN)/python benchmarks/embedding.py $(ARGS)

bench-quality: $(STAMP) ## Measure how well memories are found, on conversations and notes (ARGS=--quick)
	$(BIN)/python -m layers.onnx.build_model
	$(BIN)/python -m benchmarks.quality $(ARGS)

bench-vectors: $(STAMP) ## Measure vector search against numpy and usearch
	$(BIN)/python -m layers.onnx.build_model
	$(BIN)/python benchmarks/vectors.py $(ARGS)

bench-costs: $(STAMP) ## Measure how long each function is busy, for the cost model (ARGS=--write)
	$(BIN)/python -m layers.onnx.build_model
	$(BIN)/python -m benchmarks.compute_costs $(ARGS)

bench-s3: $(STAMP) ## Model the latency on S3, and measure the adapter on a real S3 server (ARGS=--million)
	$(BIN)/python -m benchmarks.s3_latency $(ARGS)

bench-scale: $(STAMP) ## Work out load against documented limits, and simulate index and queue
	$(BIN)/python -m benchmarks.scale $(ARGS)

bench-mcp: $(STAMP) ## Measure the MCP endpoint: cold import, connect, list, recall
	$(BIN)/python benchmarks/mcp.py $(ARGS)

mcp-clients: $(STAMP) $(MCP_CLIENTS)/.stamp $(MCP_NODE)/.stamp ## Run MCP clients of other projects against the local stack
	$(BIN)/python -m tests.mcp.clients --python $(MCP_CLIENTS)/bin/python --node $(MCP_NODE)

mcp-conformance: $(STAMP) $(MCP_NODE)/.stamp ## Run the official MCP conformance suite against the local stack
	$(BIN)/python -m tests.mcp.conformance --node $(MCP_NODE)

synth: $(STAMP) ## Write the cloud assembly of the AWS stack (ARGS='-c name=value')
	$(CDK) synth --quiet $(ARGS)

deploy: $(STAMP) ## Deploy the stack into the AWS account of the credentials (ARGS='-c name=value')
	$(CDK) deploy $(ARGS)

e2e: $(STAMP) $(EMULATOR)/.stamp ## Deploy the stack on a local AWS emulator and drive it from end to end
	@command -v npx >/dev/null || { echo "Node 20 or newer with npx is needed: the CDK is a Node program" >&2; exit 1; }
	E2E_EMULATOR_PYTHON=$(EMULATOR)/bin/python E2E_CDK='$(CDK)' $(BIN)/pytest -q tests/e2e $(ARGS)

lock: $(STAMP) ## Pin the development requirements anew (ARGS=--upgrade for newer versions)
	$(BIN)/uv pip compile pyproject.toml $(foreach extra,$(EXTRAS),--extra $(extra)) \
		$(foreach group,$(GROUPS),--group $(group)) --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate -q -o $(LOCK) $(ARGS)
	$(BIN)/uv pip compile $(VENDOR).in --constraint $(LOCK) --python-version 3.11 \
		--python-platform x86_64-manylinux_2_28 --generate-hashes --no-header --no-annotate -q -o $(VENDOR).txt
	$(BIN)/uv pip compile $(MCP_LAYER).in --constraint $(LOCK) --python-version 3.11 \
		$$(sed -n 's/^\([a-z0-9-]*\)==.*/--no-emit-package \1/p' $(VENDOR).txt) \
		--python-platform x86_64-manylinux_2_28 --generate-hashes --no-header --no-annotate -q -o $(MCP_LAYER).txt
	$(BIN)/uv pip compile $(EMULATOR_LOCK).in --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate -q -o $(EMULATOR_LOCK).txt $(ARGS)
	$(BIN)/uv pip compile $(MCP_CLIENTS_LOCK).in --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate -q -o $(MCP_CLIENTS_LOCK).txt $(ARGS)
	$(BIN)/uv pip compile $(PEERS_LOCK).in --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate -q -o $(PEERS_LOCK).txt $(ARGS)

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

# The emulator pins what the project uses in other versions. A change of its lock has a checksum, and a place, of its own.
$(EMULATOR)/.stamp: | $(STAMP)
	@echo "Setting up $(EMULATOR) from $(EMULATOR_LOCK).txt"
	@rm -rf .build/emulator
	@$(BIN)/python -m venv $(EMULATOR)
	@if test -x $(BIN)/uv; then \
		$(BIN)/uv pip sync --quiet --python $(EMULATOR)/bin/python --require-hashes $(EMULATOR_LOCK).txt; \
	else \
		$(EMULATOR)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
			--requirement $(EMULATOR_LOCK).txt; \
	fi
	@touch $@

# What other systems need must not decide what this project gets.
$(PEERS)/.stamp: $(PEERS_LOCK).txt | $(STAMP)
	@echo "Setting up $(PEERS) from $(PEERS_LOCK).txt"
	@rm -rf $(PEERS)
	@$(BIN)/python -m venv $(PEERS)
	@if test -x $(BIN)/uv; then \
		$(BIN)/uv pip sync --quiet --python $(PEERS)/bin/python --require-hashes $(PEERS_LOCK).txt; \
	else \
		$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
			--requirement $(PEERS_LOCK).txt; \
	fi
	@touch $@

# The clients need versions of the SDK that the project itself does not have.
$(MCP_CLIENTS)/.stamp: $(MCP_CLIENTS_LOCK).txt | $(STAMP)
	@rm -rf $(MCP_CLIENTS)
	@$(BIN)/python -m venv $(MCP_CLIENTS)
	@$(MCP_CLIENTS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	@touch $@

# The suite and the inspector need a newer Node than many systems have, so it is installed with them.
$(MCP_NODE)/.stamp: tests/mcp/node/package.json
	@command -v npm >/dev/null || { echo "npm is needed: it installs Node 22 and the programs for it" >&2; exit 1; }
	@rm -rf $(MCP_NODE) && mkdir -p $(MCP_NODE) && cp $< $(MCP_NODE)
	@cd $(MCP_NODE) && npm install --no-audit --no-fund --no-package-lock --loglevel=error
	@touch $@
