# A fresh clone needs python3.11, pip and make; .venv is made and kept up to date on the way.

.SHELLFLAGS := -eu -c
.DEFAULT_GOAL := help

BIN := .venv/bin
JOBS ?= 2
TORCH := $(shell sed -n 's/^torch==//p' requirements/run.txt)
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
# Two test processes share the machine; torch must not start more threads in each.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n $(JOBS)

.PHONY: help run test test-slow lint docs example screenshot index bench bench-formulas clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: .venv/run.stamp ## the single-module benchmark at laptop scale, ours beside the published numbers
	$(BIN)/wug run mistry2022.single_module --scale laptop

test: lint ## linters, types, import rule, tests and doctests
	$(PYTEST)

test-slow: .venv/dev.stamp ## the tests that take longer than a minute
	$(PYTEST) -m slow

lint: .venv/dev.stamp ## linters, types and import rule alone
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: export NO_MKDOCS_2_WARNING = 1
docs: .venv/dev.stamp ## the documentation, into site/, with what it shows of records and code
	$(BIN)/python docs/fill.py
	$(BIN)/mkdocs build --strict

example: .venv/run.stamp ## write docs/example, the site of results/, anew
	rm -rf build/example docs/example
	for run in results/*/*/; do \
	  curves=$$(find "$$run" -name 'records.*' -size +64k -exec echo --without-curves \;); \
	  models=$$(find "$$run" -path '*/models/*.safetensors' | sed 's#.*/##; s#[.]safetensors$$##'); \
	  $(BIN)/wug pack "$$run" "build/example/$$run" $$curves $${models:+--models $$models}; \
	done
	$(BIN)/wug report build/example/results --out docs/example

screenshot: .venv/dev.stamp ## take the README's picture of docs/example; needs Chromium
	WUG_BROWSER=required $(BIN)/pytest -q tests/report/test_browser.py -k committed_example
	cp build/screenshots/example-1440.png docs/assets/report.png

index: .venv/dev.stamp ## write the registry's index anew
	$(BIN)/python -m wug.core.index

bench: .venv/run.stamp ## the speed of the fleet against a plain training loop
	$(BIN)/python benchmarks/fleet.py

bench-formulas: .venv/bench.stamp ## formulas against other methods; resumes; DATA=folder adds Feynman, NIST, ODEBench
	$(BIN)/python benchmarks/formulas.py --cores 1 --out benchmarks/results/formulas.jsonl
	$(BIN)/python benchmarks/formulas.py --methods wug --noise 0 --cores 1 --clock processor --out benchmarks/results/suite_processor_time.jsonl
	$(BIN)/python benchmarks/formula_times.py
	test -z "$(DATA)" || $(BIN)/python benchmarks/formula_feynman.py $(DATA)/feynman/FeynmanEquations.csv --methods wug pyoperon gplearn
	test -z "$(DATA)" || $(BIN)/python benchmarks/formula_feynman.py $(DATA)/feynman/FeynmanEquations.csv --methods wug pyoperon gplearn --noise 0.01
	test -z "$(DATA)" || $(BIN)/python benchmarks/formula_nist.py $(DATA)/nist
	test -z "$(DATA)" || $(BIN)/python benchmarks/formula_odes.py $(DATA)/odebench/strogatz_extended.json.gz --seconds 10
	$(BIN)/python benchmarks/formula_summary.py

clean: ## remove .venv and all that was built; runs/ stays
	rm -rf .venv build dist site .*_cache .hypothesis

.venv/python.stamp:
	@for python in $(PYTHON) python3.11 python3; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then \
	    echo "making .venv with $$($$python --version)"; \
	    $$python -m venv .venv; touch $@; exit 0; \
	  fi; \
	done; \
	echo "wug needs Python 3.11 or newer; found none as python3.11 or python3." \
	  "Name yours: make PYTHON=/path/to/python ..." >&2; exit 1

.venv/run.stamp: .venv/python.stamp requirements/run.txt pyproject.toml
	@echo "installing torch $(TORCH) (about 200 MB, more where it brings CUDA)"
	@$(PIP) torch==$(TORCH) -c requirements/run.txt
	@echo "installing the other packages and wug"
	@$(PIP) -r requirements/run.txt
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

.venv/dev.stamp: .venv/run.stamp requirements/dev.txt
	@echo "installing the tools for tests and docs"
	@$(PIP) -r requirements/dev.txt
	@touch $@

.venv/bench.stamp: .venv/run.stamp requirements/bench.txt
	@echo "installing the methods that wug is compared with"
	@$(PIP) -r requirements/bench.txt
	@touch $@
