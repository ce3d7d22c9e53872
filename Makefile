# The verbs. `make` alone prints them. Nothing has to be installed before: Python 3.11 or newer and make are enough.
.DEFAULT_GOAL := help
.PHONY: help setup demo up ask snowflake mcp-client model-wires codegen node-clients test-unit test test-slow test-all check fix bench faults fuzz-apis kill-and-scale pictures page-picture bench-public bench-render doctor docs synonyms proto images wheels lock clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.set-up
DEV_STAMP := $(VENV)/.set-up-dev
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

# uv is used when it is there; plain venv and pip do the same. Two stamps make the second run cost nothing: one of what the product
# needs, one of what its developers need beyond that.
INSTALL = $$(if command -v uv >/dev/null 2>&1; then echo "uv pip install --quiet --python $(BIN)/python"; \
  else echo "$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile"; fi)

$(STAMP): requirements.lock pyproject.toml libs/pinned_members.py $(MEMBERS:%=%/pyproject.toml)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "QueryBus needs Python 3.11 or newer; say make PYTHON=python3.12, for instance."; exit 1; }
	@echo "Setting up $(VENV), once ..."
	@if command -v uv >/dev/null 2>&1; then \
	  test -x $(BIN)/python || uv venv --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV); \
	else \
	  test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV); \
	fi
	@begun=$$(date +%s); $(INSTALL) --require-hashes --no-deps -r requirements.lock && \
	  $(INSTALL) --no-deps --no-build-isolation $(MEMBERS:%=-e %) && \
	  echo "$(VENV) holds $$(du -sm $(VENV) | cut -f1) MB after $$(($$(date +%s) - begun)) s"
	@touch $(STAMP)

$(DEV_STAMP): $(STAMP) requirements-dev.lock
	@echo "Adding what tests and checks need to $(VENV), once ..."
	@$(INSTALL) --require-hashes --no-deps -r requirements-dev.lock
	@touch $(DEV_STAMP)

setup: $(DEV_STAMP) ## install everything into .venv (the other verbs install what they need)

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

model-wires: build/environments/models/.set-up ## the packages of providers of chat models, for tests

codegen: build/environments/codegen/.set-up ## what other people generate clients with and check programs by, for tests

# Other people's clients, as their users install them. Without a lock file, which would name an index.
build/environments/node/.set-up: tests/journeys/node/package.json
	@echo "Setting up build/environments/node, once ..."
	@mkdir -p $(@D) && cp $< $(@D)/ && npm install --prefix $(@D) --no-package-lock --no-audit --no-fund --silent
	@touch $@

node-clients: build/environments/node/.set-up ## the clients from npm that tests ask with (needs node and npm)

test-unit: $(DEV_STAMP) ## the tests of pure code, which start no process and no server; under a minute
	@$(BIN)/python -m pytest -q $(PARALLEL) -p no:langsmith_plugin -p no:schemathesis -p tests.support.no_servers $(wildcard $(MEMBERS:%=%/tests)) \
	  --ignore-glob='*/servers/*' -m 'not slow and not servers and not data and not process and not long'

test: $(DEV_STAMP) ## the tests that need nothing but the set-up, without the rules that `make check` runs; at most six minutes on two quiet cores
	@$(BIN)/python -m pytest -q $(PARALLEL) -p tests.support.no_servers --ignore=tests/rules -m "not slow and not servers"

test-slow: $(DEV_STAMP) ## only what `make test` leaves out: slow journeys, and what needs another server
	@$(BIN)/python -m pytest -q $(PARALLEL) --durations=25 --durations-min=10 --ignore=tests/rules -m "slow or servers"

test-all: $(DEV_STAMP) ## every test: those of `make test`, of `make test-slow` and the rules
	@$(BIN)/python -m pytest -q $(PARALLEL)

check: $(DEV_STAMP) ## format, lint, types, import contracts, rules
	@$(BIN)/ruff format --check --quiet . || { echo "make fix puts the format right."; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/basedpyright --level error
	@PYTHONPATH=. $(BIN)/lint-imports
	@$(BIN)/python -m pytest -q $(PARALLEL) tests/rules

fix: $(DEV_STAMP) ## put format and simple lint findings right
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .

bench: $(DEV_STAMP) ## the benchmarks that stand, each as a table and build/bench/<name>.json
	@for each in benchmarks/bench_*.py; do echo "== $$each"; PYTHONPATH=. $(BIN)/python $$each || exit 1; done

faults: $(DEV_STAMP) ## kill, stop, restart and fill a running stack and show that nothing is lost: make faults QUERIES=2000 ROWS=bus,kill
	@$(BIN)/python -m benchmarks.faults --queries $(or $(QUERIES),200) $(if $(ROWS),--rows $(ROWS))

fuzz-apis: $(DEV_STAMP) ## more than 10,000 generated requests to the HTTP API, with every check of the fuzzer; about six minutes
	@QUERYBUS_FUZZ=30:examples,coverage,fuzzing,stateful $(BIN)/python -m pytest -q -s -p no:langsmith_plugin services/gateway/tests/servers/test_schema_fuzz.py -k every_check

kill-and-scale: $(DEV_STAMP) ## add, restart and remove replicas of a running stack under load, and print what it did
	@$(BIN)/python -m benchmarks.kill_and_scale

bench-public: $(DEV_STAMP) ## the check over a folder of published statements by dialect, else over the shared cases: make bench-public FROM=FOLDER
	@PYTHONPATH=. $(BIN)/python benchmarks/bench_public.py $(FROM) $(if $(JSON),--json)

bench-render: $(DEV_STAMP) ## statements of every feature natively and as QueryBus writes them, on five engines: make bench-render ENGINE=duckdb
	@PYTHONPATH=. $(BIN)/python benchmarks/bench_render.py $(if $(ENGINE),--engine $(ENGINE)) $(if $(SEED),--seed $(SEED)) $(if $(JSON),--json)

bench-%: $(DEV_STAMP) ## one of them: bench-answers, -ask, -drafts, -executor, -first-hour, -followups, -gateway, -generator, -guard, -house, -linking, -policy, -presenter, -prompt, -public, -recovery, -routing, -semantic, -shortcuts, -traces, -translator
	@PYTHONPATH=. $(BIN)/python benchmarks/bench_$(subst -,_,$*).py

pictures: $(DEV_STAMP) ## draw thirty charts and the answers' cards in both languages, to be looked at: build/pictures
	@$(BIN)/python benchmarks/draw_pictures.py

page-picture: $(DEV_STAMP) ## draw the page with an answer over the demo shop as README shows it: docs/images/page.png (needs chromium)
	@$(BIN)/python tools/page_picture.py

doctor: $(STAMP) ## say what this machine lacks for the tests and the benchmarks
	@$(BIN)/python tools/check_machine.py

docs: $(DEV_STAMP) ## write the tables of docs/ that follow from code
	@$(BIN)/python docs/tables.py

synonyms: $(DEV_STAMP) ## gather the words that linking and search go by: libs/common/src/querybus/text/synonyms.txt
	@$(BIN)/python tools/synonyms.py

proto: $(DEV_STAMP) ## make the Python of proto/ and the record of the contract; refuses what would break a caller
	@$(BIN)/python tools/grpc_contract.py

images: $(DEV_STAMP) ## carry out the images' build steps in a folder and start what they hold: make images IMAGES="gateway executor-oracle"
	@$(BIN)/python tools/prove_images.py $(IMAGES)

lock-environments: ## renew the locks of the environments apart (needs uv)
	@for each in snowflake fakesnow mcp1 codegen models; do uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11 deploy/environments/$$each.in -o requirements-$$each.lock || exit 1; done

EXPORT := uv export --quiet --no-emit-workspace --all-packages --no-annotate --no-header

lock: ## renew requirements.lock and requirements-dev.lock (needs uv; no index address is written)
	@uv lock --quiet && $(EXPORT) --no-group dev -o requirements.lock
	@mkdir -p build && $(EXPORT) --all-groups -o build/all.lock && $(PYTHON) tools/member_lock.py rest < build/all.lock > requirements-dev.lock
	@$(MAKE) --no-print-directory setup && $(BIN)/python tools/member_lock.py write

wheels: $(STAMP) ## build a wheel of each member into dist/; `pip install dist/*.whl` installs the command
	@$(BIN)/python tools/build_wheels.py

clean: ## remove what was set up and built
	@rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
