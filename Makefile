# Every target makes its own environment: .venv, from requirements.lock, with the tools and all extras. Jars and the kernel are fetched and
# compiled on first use.
.PHONY: demo test check prepared bench peers nexmark soak faults docs lock clean
.DEFAULT_GOAL := test

BIN := .venv/bin
READY := .venv/.ready
BEAM := .venv-beam/bin
BEAM_READY := .venv-beam/.ready

demo: $(READY)  ## fraud decisions in milliseconds, on a live page; ARGS="--seconds 60 --rate 1000"
	$(BIN)/headrace demo $(ARGS)

test: $(READY) $(BEAM_READY)  ## everything that must hold; installs PostgreSQL and Chromium where they are missing
	@$(MAKE) --no-print-directory --jobs=2 check prepared  # one waits for the network, the others compute
	$(BIN)/pytest -n 3 --dist worksteal --durations 40 -m 'not alone and not soak and not faults and not beam'
	$(BIN)/pytest -m 'alone and not soak'
	$(BEAM)/pytest -m 'beam and not soak' tests/fronts/beam tests/test_docs.py

check: $(READY)  ## style and types, in seconds
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

prepared: $(READY)  # what the tests need of the system; and the classes with which each session of them starts in two thirds of the time
	@.ci/packages & packages=$$!; $(BIN)/headrace prepare && wait $$packages

bench: $(READY)  ## speed, against PySpark's own state API and of the flagship: a table, a plot, bench/results/latest.json
	$(BIN)/python -m bench

peers: $(READY)  ## the same work on headrace, Flink, Kafka Streams, Bytewax, Quix and PyFlink, an hour; ARGS="flink quix --only throughput"
	$(BIN)/python -m bench.peers $(ARGS)

nexmark: $(READY)  ## all of Nexmark: equal to DuckDB or not, events/s, per core, memory; ARGS="q5 q18 --json"
	$(BIN)/python -m bench.nexmark $(ARGS)

soak: $(READY) $(BEAM_READY)  ## the long sweeps: more and larger examples than `make test` has time for
	HEADRACE_LAW_EXAMPLES=25 $(BIN)/pytest -n 2 --dist worksteal -m soak tests
	HEADRACE_LAW_EXAMPLES=25 $(BIN)/pytest -n 2 --dist worksteal tests/laws
	$(BEAM)/pytest -m 'beam and soak' tests/fronts/beam
	$(BIN)/python -m bench.nexmark.bounds

FAULTS := long
QUICK := --kills 3 --starts 1 --points 3 --zombies 1 --brokers 1 --minutes 6
LONG := --kills 300 --starts 20 --points 30 --zombies 10 --brokers 30 --locks 10 --partitions 5 --disks 5 --realtime 20 --damages 20 \
  --backlog 2000000 --minutes 180
faults: $(READY)  ## kill things at the worst moments, compare with the oracle: hours, or minutes with FAULTS=quick; ARGS="--seed 7"
	$(BIN)/python -m bench.faults $(if $(filter quick,$(FAULTS)),$(QUICK),$(LONG)) $(ARGS)
	$(if $(filter quick,$(FAULTS)),,$(BIN)/pytest -m faults tests)

docs: $(READY)  ## the site: guide, reference, decisions; into site/, opened from disk or by any web server
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

lock: $(READY)  ## pin the newest versions that pyproject.toml allows; with Apache Beam, which holds some of them back, in a file of its own
	$(PIN) --no-extra beam --output-file requirements.lock
	$(PIN) --output-file requirements-beam.lock

clean:  ## remove what was made in the checkout; the caches of the user stay
	rm -rf .venv .venv-beam .pytest_cache .mypy_cache .ruff_cache .hypothesis dist site

# uv if the machine has it, else the one that pip puts into the environment.
UV = $(shell command -v uv || echo $(BIN)/uv)
PIN = $(UV) pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 --upgrade --generate-hashes \
  --no-header --no-emit-index-url --no-annotate --quiet

$(READY): requirements.lock pyproject.toml
	@echo "making .venv; the first time takes a minute or two"
	@if command -v uv >/dev/null; then uv venv --quiet --allow-existing --python '>=3.11' .venv; \
	else .ci/venv .venv; fi
	$(UV) pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock  # each start of Python is quicker by a second
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

$(BEAM_READY): requirements-beam.lock $(READY)
	@echo "making .venv-beam, the same with Apache Beam"
	$(UV) venv --quiet --allow-existing --python $(BIN)/python .venv-beam
	$(UV) pip install --quiet --compile-bytecode --python $(BEAM)/python --require-hashes -r requirements-beam.lock
	$(UV) pip install --quiet --python $(BEAM)/python --no-deps --no-build-isolation --editable .
	@touch $@
