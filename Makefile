# The verbs. `make` alone prints them. Nothing has to be installed before: Python 3.11 or newer and make are enough.
.DEFAULT_GOAL := help
.PHONY: help setup demo up ask test test-all check fix bench lock doctor clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
MEMBERS := libs/common services/gateway services/generator services/validator services/executor services/recovery services/presenter cli
export UV_PYTHON_DOWNLOADS = never

help: ## print the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# uv is used when it is there; plain venv and pip do the same.
$(STAMP): requirements.lock pyproject.toml $(MEMBERS:%=%/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "QueryBus needs Python 3.11 or newer: call make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "Setting up $(VENV) (once; about a minute) ..."
	@if command -v uv >/dev/null 2>&1; then \
	  { test -x $(BIN)/python || uv venv --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV); } && \
	  uv pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r requirements.lock && \
	  uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation $(MEMBERS:%=-e %); \
	else \
	  { test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); } && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation $(MEMBERS:%=-e %); \
	fi
	@touch $(STAMP)

setup: $(STAMP) ## install everything into .venv (done by the other verbs when needed)

lock: ## renew requirements.lock (needs uv; no index address is written)
	@uv export --quiet --no-emit-workspace --all-packages --all-groups --no-annotate --no-header -o requirements.lock
