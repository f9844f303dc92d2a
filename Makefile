# Needs only make and a Python from 3.11 on. Everything else goes into .venv, once.
#   make demo       compile this repository and look at what a model would see
#   make test       the tests           make test-real  the published catalogues (slow)
#   make lint       format, lint, types, import contracts, freshness of generated/
#   make check      lint and test       make bench      the speed ratios

SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo test test-real bench lint check clean

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
RUN := $(VENV)/.stamp-run
DEV := $(VENV)/.stamp-dev
PYTEST_WORKERS ?= auto

help:
	@sed -n 's/^#   //p' Makefile

# The first interpreter that is new enough and can make an environment; PYTHON=... is asked first.
# An environment that is there and works stays as it is.
$(PY):
	@found=; for python in $(PYTHON) python3 python3.13 python3.12 python3.11 python3.14 python; do \
	  if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	  then found=$$python; break; fi; done; \
	if [ -z "$$found" ]; then \
	  echo "No usable Python: hermes-build needs Python 3.11 or newer with the venv module" >&2; \
	  echo "(on Debian and Ubuntu: apt install python3-venv). Name one with: make PYTHON=/path/to/python3" >&2; \
	  exit 1; fi; \
	echo "Making $(VENV) with $$found ($$($$found -c 'import platform; print(platform.python_version())'))"; \
	"$$found" -m venv --clear $(VENV)

# Packages, in two steps, so that the demo need not wait for the developer's tools. A failed step
# leaves no stamp and is tried again the next time.
INSTALL = $(PY) -m pip install --quiet --disable-pip-version-check
FAILED = { echo "Installing packages failed: see pip's message above; make tries again the next time." >&2; exit 1; }

$(RUN): pyproject.toml | $(PY)
	@echo "Installing hermes-build and what it needs"
	@$(INSTALL) "pip>=25.1" && $(INSTALL) --editable ".[tools,sign]" || $(FAILED)
	@touch $@

$(DEV): $(RUN)
	@echo "Installing the tools for tests and checks"
	@$(INSTALL) --group dev || $(FAILED)
	@touch $@

demo: $(RUN)
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh docs/demo.sh

test: $(DEV)
	$(PY) -m pytest -n $(PYTEST_WORKERS)

test-real: $(DEV)
	$(PY) -m pytest -m real -s

bench: $(DEV)
	$(PY) -m benchmarks

lint: $(DEV)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/lint-imports .importlinter-runtime
	$(BIN)/hermes-build check --strict

check: lint test

clean:
	rm -rf $(VENV) .nox .hermes-build build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find hermes_build handlers generated examples docs tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
