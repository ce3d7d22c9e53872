# The verbs. `make` alone prints them. Nothing has to be installed before: Python 3.11 or newer and make are enough.
.DEFAULT_GOAL := help
.PHONY: help setup demo up ask snowflake mcp-client codegen node-clients test-unit test test-all check fix bench faults fuzz-apis kill-and-scale pictures doctor docs synonyms proto images lock clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
MEMBERS := libs/common libs/semantic libs/translator libs/client services/gateway services/generator services/validator services/executor services/recovery services/presenter cli
Q ?= How many customers are there?
# Whole files go to one worker, so that what a file shares is started once. One worker more than processors, since many tests wait
# for a server; more workers than four only compete.
PARALLEL := --numprocesses $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 4 ? n + 1 : 4))) --dist loadfile
export UV_PYTHON_DOWNLOADS = never
# Where the environment forbids bytecode, each run would compile every module and rewrite every test again.
export PYTHONDONTWRITEBYTECODE =

help: ## print the verbs
	@echo "QueryBus. The verbs:"
	@awk -F ':.*## ' '/^[a-z%-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# uv is used when it is there; plain venv and pip do the same. The stamp makes the second run cost nothing.
$(STAMP): requirements.lock pyproject.toml $(MEMBERS:%=%/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "QueryBus needs Python 3.11 or newer; say make PYTHON=python3.12, for instance."; exit 1; }
	@echo "Setting up $(VENV), once; this takes about a minute ..."
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

setup: $(STAMP) ## install everything into .venv (the other verbs do it when it is needed)

demo: $(STAMP) ## make the demo shop and ask it six questions
	@$(BIN)/querybus demo

up: $(STAMP) ## run the bus and every service, each in its own process, until Ctrl-C
	@$(BIN)/querybus up

ask: $(STAMP) ## ask the demo shop: make ask Q="How many orders are there?"
	@$(BIN)/querybus ask "$(Q)"

# Snowflake's connector and its stand-in each need other versions than the stack, so each has a lock and a place of its own.
build/environments/%/.set-up: requirements-%.lock
	@echo "Setting up build/environments/$*, once ..."
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --clear --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" build/environments/$* && \
	  uv pip install --quiet --python build/environments/$*/bin/python --require-hashes --no-deps -r $<; \
	else \
	  $(PYTHON) -m venv --clear build/environments/$* && \
	  build/environments/$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $<; \
	fi
	@touch $@

snowflake: build/environments/snowflake/.set-up build/environments/fakesnow/.set-up ## the environments of Snowflake's driver and of its stand-in for tests

mcp-client: build/environments/mcp1/.set-up ## the older generation of MCP's client that tests ask with

codegen: build/environments/codegen/.set-up ## what other people generate clients with and check programs by, for tests

# Other people's clients, as their users install them. Without a lock file, which would name an index.
build/environments/node/.set-up: tests/journeys/node/package.json
	@echo "Setting up build/environments/node, once ..."
	@mkdir -p $(@D) && cp $< $(@D)/ && npm install --prefix $(@D) --no-package-lock --no-audit --no-fund --silent
	@touch $@

node-clients: build/environments/node/.set-up ## the clients from npm that tests ask with (needs node and npm)

test-unit: $(STAMP) ## the tests of pure code, which start no process and no server; under a minute
	@$(BIN)/python -m pytest -q $(PARALLEL) -p no:langsmith_plugin -p no:schemathesis -p tests.support.no_servers $(wildcard $(MEMBERS:%=%/tests)) \
	  --ignore-glob='*/servers/*' -m 'not slow and not servers and not data and not process and not long'

test: $(STAMP) ## the tests that need nothing but the set-up, without the rules that `make check` runs; at most five minutes
	@$(BIN)/python -m pytest -q $(PARALLEL) --ignore=tests/rules -m "not slow and not servers"

test-all: $(STAMP) ## every test, slow journeys included; about fifteen minutes on two cores
	@$(BIN)/python -m pytest -q $(PARALLEL)

check: $(STAMP) ## format, lint, types, import contracts, rules
	@$(BIN)/ruff format --check --quiet . || { echo "make fix puts the format right."; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/basedpyright --level error
	@PYTHONPATH=. $(BIN)/lint-imports
	@$(BIN)/python -m pytest -q $(PARALLEL) tests/rules

fix: $(STAMP) ## put format and simple lint findings right
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .

bench: $(STAMP) ## the benchmarks that stand, each as a table and build/bench/<name>.json
	@for each in benchmarks/bench_*.py; do echo "== $$each"; PYTHONPATH=. $(BIN)/python $$each || exit 1; done

faults: $(STAMP) ## kill, stop, restart and fill a running stack and show that nothing is lost: make faults QUERIES=2000 ROWS=bus,kill
	@$(BIN)/python -m benchmarks.faults --queries $(or $(QUERIES),200) $(if $(ROWS),--rows $(ROWS))

fuzz-apis: $(STAMP) ## more than 10,000 generated requests to the HTTP API, with every check of the fuzzer; about six minutes
	@QUERYBUS_FUZZ=30:examples,coverage,fuzzing,stateful $(BIN)/python -m pytest -q -s -p no:langsmith_plugin services/gateway/tests/servers/test_schema_fuzz.py -k every_check

kill-and-scale: $(STAMP) ## add, restart and remove replicas of a running stack under load, and print what it did
	@$(BIN)/python -m benchmarks.kill_and_scale

bench-%: $(STAMP) ## one of them: bench-answers, -drafts, -executor, -first-hour, -followups, -gateway, -generator, -guard, -house, -linking, -presenter, -prompt, -recovery, -routing, -semantic, -shortcuts, -traces, -translator
	@PYTHONPATH=. $(BIN)/python benchmarks/bench_$(subst -,_,$*).py

pictures: $(STAMP) ## draw thirty charts and the answers' cards in both languages, to be looked at: build/pictures
	@$(BIN)/python benchmarks/draw_pictures.py

doctor: $(STAMP) ## say what this machine lacks for the tests and the benchmarks
	@$(BIN)/python tools/check_machine.py

docs: $(STAMP) ## write the tables of docs/ that follow from code
	@$(BIN)/python docs/tables.py

synonyms: $(STAMP) ## gather the words that linking and search go by: libs/common/src/querybus/text/synonyms.txt
	@$(BIN)/python tools/synonyms.py

proto: $(STAMP) ## make the Python of proto/ and the record of the contract; refuses what would break a caller
	@$(BIN)/python tools/grpc_contract.py

images: $(STAMP) ## carry out the images' build steps in a folder and start what they hold: make images IMAGES="gateway executor-oracle"
	@$(BIN)/python tools/prove_images.py $(IMAGES)

lock-environments: ## renew the locks of the environments apart (needs uv)
	@for each in snowflake fakesnow mcp1 codegen; do uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 deploy/environments/$$each.in -o requirements-$$each.lock || exit 1; done

lock: ## renew requirements.lock (needs uv; no index address is written)
	@uv lock --quiet && uv export --quiet --no-emit-workspace --all-packages --all-groups --no-annotate --no-header -o requirements.lock
	@$(MAKE) --no-print-directory setup && $(BIN)/python tools/member_lock.py write

clean: ## remove what was set up and built
	@rm -rf $(VENV) build .pytest_cache .ruff_cache .hypothesis .import_linter_cache
