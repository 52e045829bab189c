# `make` lists the targets.

PYTHON ?= python3
BIN := .venv/bin
# Tests spend half of their time waiting for servers and processes, so more of them run than there are cores.
ATONCE ?= 3
SETUP := $(PYTHON) scripts/bootstrap.py
# Tests start many processes, which share compiled modules.
unexport PYTHONDONTWRITEBYTECODE
SECTION = @printf '\n== %s ==\n'

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help python setup setup-dev servers faketime chromium proxies demo serve test check lint bench soak console console-test screenshots lock format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

python:
	@command -v $(PYTHON) >/dev/null || { \
		echo "$(PYTHON) is not on PATH. SmartSpider needs Python 3.11 or newer: apt-get install python3" >&2; \
		exit 1; }

setup: python ## create .venv with the product and all extras
	@$(SETUP) runtime

setup-dev: python
	@$(SETUP) dev

servers: setup-dev
	@$(BIN)/python scripts/servers.py redis postgres

faketime: setup-dev
	@$(BIN)/python scripts/servers.py faketime

chromium: setup-dev
	@$(BIN)/python scripts/servers.py chromium

proxies: setup-dev
	@$(BIN)/python scripts/servers.py proxies

demo: setup ## crawl the bundled demo shop and show the rows
	@$(BIN)/smartspider demo

serve: setup ## start everything on this machine: API, keeper, workers and the demo shop
	@$(BIN)/smartspider up --demo

test: servers faketime chromium proxies lint ## lint and all tests except the long fault runs
	@$(BIN)/python scripts/run_tests.py --at-once $(ATONCE)

check: lint ## lint and the fast tests: no simulation, fuzzing, servers or real processes
	$(SECTION) 'pytest (fast)'
	@$(BIN)/pytest -q -n $(ATONCE) -m "not soak and not acceptance and not thorough and not servers" --ignore tests/simulation

lint: setup-dev
	$(SECTION) 'ruff check'
	@$(BIN)/ruff check
	$(SECTION) 'ruff format'
	@$(BIN)/ruff format --check
	$(SECTION) 'mypy'
	@$(BIN)/mypy
	$(SECTION) 'import-linter'
	@$(BIN)/lint-imports
	$(SECTION) 'names and folders'
	@$(BIN)/python scripts/check_names.py

bench: servers ## run the benchmarks
	@$(SETUP) bench
	@$(BIN)/python benchmarks/run.py

soak: servers faketime console-test ## run the long fault tests, and build the console again
	@$(BIN)/pytest -m soak
	$(SECTION) 'smartspider chaos'
	@$(BIN)/smartspider chaos

console: python ## build the console; needs the package registries
	@$(SETUP) console
	@.venv-console/bin/python scripts/console.py build

console-test: python ## check the types of the console, run its unit tests and build it again
	@$(SETUP) console
	@.venv-console/bin/python scripts/console.py test

screenshots: setup-dev chromium ## take the pictures of the documents again
	@SMARTSPIDER_SCREENSHOTS=docs/images $(BIN)/pytest -q -n 0 -m soak tests/acceptance/console/test_screenshots.py

lock: setup ## rewrite requirements/*.lock from pyproject.toml
	@$(BIN)/python scripts/lock.py

format: setup-dev ## format the code
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

clean: ## remove everything that make created; crawled data stays
	@rm -rf .venv .venv-bench .venv-console console/node_modules .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis \
		.benchmarks dist build
	@find src packages tests scripts -name __pycache__ -type d -prune -exec rm -rf {} +
