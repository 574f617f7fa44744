# Two commands for a fresh machine with Python 3.11 and make: `make demo`, `make test`.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
COVERAGE_STAMP := $(VENV)/.coverage-ready
DEMO_STAMP := $(VENV)/.demo-ready
STAMP := $(VENV)/.ready
BROWSER_STAMP := $(VENV)/.browser-ready

PATIENTLY := VENV=$(VENV) .ci/patiently
INSTALL = $(BIN)/python -m pip install --quiet --no-compile

.PHONY: setup demo wheel test thorough test-containers browser clients check coverage docs lock clean

# Modules are compiled when they are first imported: most never are, and pip takes half its time for it. Where Python
# is told to keep no bytecode, as in many containers, each of a thousand processes would compile them anew.
export PYTHONDONTWRITEBYTECODE :=
setup: $(STAMP)

# What people need who only run groundup: a third of what its developers do.
$(DEMO_STAMP): requirements-demo.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("groundup needs Python 3.11 or later; name one: make PYTHON=python3.12" \
	    if sys.version_info < (3, 11) else 0)'
	@$(PATIENTLY) "making the environment $(VENV)" $(PYTHON) -m venv $(VENV)
	@$(PATIENTLY) "installing what groundup needs" $(INSTALL) --require-hashes --requirement requirements-demo.lock
	@$(PATIENTLY) "installing groundup" $(INSTALL) --no-deps --no-build-isolation --editable .
	touch $@

$(STAMP): $(DEMO_STAMP) requirements.lock
	@$(PATIENTLY) "installing what its tests and checks need" $(INSTALL) --require-hashes --requirement requirements.lock
	touch $@

demo: $(DEMO_STAMP)
	$(BIN)/groundup demo

# The package as one file in dist/, which pip installs on other machines.
wheel: $(DEMO_STAMP)
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .

# Which tests, as pytest takes them: make test TESTS=tests/cli. Three workers more than processors, for tests wait half of the time.
# CI gives up to AGAIN tests that failed another try.
TESTS ?=
AGAIN ?=
WORKERS ?= $(shell n=$$(nproc 2> /dev/null || echo 2); echo $$((n < 6 ? n + 3 : 8)))
test: setup
	@! command -v chromium > /dev/null || $(MAKE) --no-print-directory $(BROWSER_STAMP) \
	    || echo "what drives a browser cannot be installed here: the tests of pages are skipped"
	$(BIN)/python -m pytest -n $(WORKERS) $(TESTS) || { [ $$? = 1 ] && [ -n "$(AGAIN)" ] && .ci/again "$(AGAIN)"; }

# All that tests draw, and anew in each run: `make test` tries a third, the same each time.
thorough:
	THOROUGH=1 $(MAKE) test

# The viewer and its kin in Debian's Chromium; `make test` does it as well where that is installed. The pictures of the
# documentation are made anew with: make browser SCREENSHOTS=docs; tests/viewer/test_pictures.py says when they are old
browser: $(BROWSER_STAMP)
	EXPECTED_TOOLS=chromium,playwright,axe-playwright-python SCREENSHOTS=$(SCREENSHOTS) \
	    $(BIN)/python -m pytest tests/viewer/test_browser.py

$(BROWSER_STAMP): $(STAMP) requirements-browser.lock
	@$(PATIENTLY) "installing what drives a browser" $(INSTALL) --require-hashes --requirement requirements-browser.lock
	touch $(BROWSER_STAMP)

# Clients of others against the server, each in an environment of its own; needs a package index and NL2RepoBench's data.
clients: setup
	CLIENTS=1 $(BIN)/python -m pytest tests/serving/test_clients.py tests/groundup_bridges/test_mcp_agents.py \
	    tests/groundup_bridges/test_clients.py

# Docker's and Podman's containers against all that sandboxes promise; what is not here, Debian's packages bring.
test-containers: setup
	@for tool in dockerd:docker.io podman:podman; do \
	    command -v $${tool%%:*} > /dev/null || apt-get install --yes --no-install-recommends $${tool##*:} || true; \
	done
	CONTAINERS=1 $(BIN)/python -m pytest -n 2 tests/sandbox/test_containers.py

check: setup
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m benchmarks.structure --write
	$(BIN)/python -m benchmarks.features --write

# How much of the packages that start nothing their own tests reach, by branches; less than in pyproject.toml fails.
COVERED := domain groundup_infer manifests reports store trees workflows
coverage: $(COVERAGE_STAMP)
	$(BIN)/python -m coverage run -m pytest -q $(COVERED:%=tests/%)
	$(BIN)/python -m coverage report --skip-covered

$(COVERAGE_STAMP): $(STAMP) requirements-coverage.lock
	@$(PATIENTLY) "installing what measures coverage" $(INSTALL) --require-hashes --requirement requirements-coverage.lock
	touch $(COVERAGE_STAMP)

# The documentation as a site in site/. What builds it is locked apart, and nothing is fetched while it is built.
DOCS_STAMP := $(VENV)/.docs-ready

docs: $(DOCS_STAMP)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --site-dir site
	@! grep -rlE '<(script|link|img)[^>]+(src|href)="?https?:' site --include '*.html' || \
	    { echo "these pages load something from the web"; exit 1; }
	@echo "the documentation is in site/index.html"

$(DOCS_STAMP): $(STAMP) requirements-docs.lock
	@$(PATIENTLY) "installing what builds the documentation" $(INSTALL) --require-hashes --requirement requirements-docs.lock
	touch $(DOCS_STAMP)

# Names, versions and hashes only: no registry address is written down.
COMPILE = $(BIN)/uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-emit-find-links --no-header --no-annotate --no-sources

lock: setup
	$(COMPILE) --extra dev --output-file requirements.lock
	$(COMPILE) --extra demo --constraint requirements.lock --output-file requirements-demo.lock
	$(COMPILE) --extra coverage --constraint requirements.lock --output-file requirements-coverage.lock
	$(COMPILE) --extra docs --constraint requirements.lock --output-file requirements-docs.lock
	$(COMPILE) --extra browser --constraint requirements.lock --output-file requirements-browser.lock

clean:
	rm -rf $(VENV) .demo site
