# run: the console with a demo tenant. check: what CI asks before testing. test: every test on SQLite, and those where
# the engine can matter on PostgreSQL too. test-all: every test on both, with more examples of each property.
# Needed: Python 3.11 or newer, and make. ARGS goes to the command: make run ARGS="--bind 127.0.0.1:9000".

# The distribution's own interpreter first: it is compiled with all optimisation. That of a version manager often is not, and
# takes a tenth more CPU for the same tests.
NEWEST := $(shell for p in /usr/bin/python3 python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
PYTHON ?= $(or $(NEWEST),python3)
UV ?= uv
PY := .venv/bin/python
INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r

# The checks look at the code, never at a developer's own data.
IN_TEST := OPENWOP_ENV=test OPENWOP_DATA_DIR=var/check
IN_PRODUCTION := OPENWOP_ENV=production OPENWOP_DATA_DIR=var/check \
	OPENWOP_SECRET_KEY=no-host-has-this-key-it-is-long-only-because-check-asks-for-it

# Each test process, and each console that tests start, imports the same modules: they are compiled once, also where the
# environment asks for no compiled files. That was two thirds of the time to collect the tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-sqlite test-postgres test-all check check-types check-rest bench docs screenshots lock
.DEFAULT_GOAL := run

run: .venv/.run
	@exec $(PY) manage.py console --demo $(ARGS)

# A file at a time (tests/distribution.py), in more processes than there are cores, since tests of consoles wait. Other
# numbers: make test WORKERS=4.
WORKERS ?= $(shell echo $$(( $$(nproc 2>/dev/null || echo 2) * 3 / 2 )))
PYTEST = $(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test: test-sqlite test-postgres

test-sqlite: .venv/.dev
	OPENWOP_TEST_DB=sqlite $(PYTEST) $(ARGS)

test-postgres: .venv/.dev
	OPENWOP_TEST_DB=postgres $(PYTEST) -m "engines or only_db" $(ARGS)

test-all: export OPENWOP_TEST_THOROUGH = 1
test-all: .venv/.dev
	OPENWOP_TEST_DB=sqlite $(PYTEST) $(ARGS)
	OPENWOP_TEST_DB=postgres $(PYTEST) $(ARGS)

# The types take longer than all the rest, on one core: make --jobs 2 check.
check: check-types check-rest

check-types: .venv/.dev
	$(IN_TEST) $(PY) -m mypy

check-rest: .venv/.dev
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	find templates -name '*.html' -exec .venv/bin/djade --check --target-version 5.2 {} +
	$(IN_TEST) .venv/bin/lint-imports
	$(IN_TEST) $(PY) manage.py makemigrations --check --dry-run
	$(IN_PRODUCTION) $(PY) manage.py check --deploy --fail-level WARNING

bench: .venv/.bench
	$(PY) -m tools.bench $(ARGS)

# Writes the generated parts of docs/, and fails when a document names a file that is not there.
docs: .venv/.dev
	$(IN_TEST) $(PY) -m tools.make_docs

# A picture of every page of the demo, at two widths and in both themes, in var/screenshots; ARGS=--docs makes those of docs/.
screenshots: .venv/.dev
	$(PY) -m tools.screenshots $(ARGS)

# For developers: writes the lock files anew from pyproject.toml. They name no package index.
# They keep extras: without, pip takes the newest release for ``coverage[toml]`` and finds no hash for it.
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-strip-extras \
	--no-header --no-annotate pyproject.toml
lock:
	$(COMPILE) -o requirements.lock
	$(COMPILE) --extra otel --constraint requirements.lock -o requirements-otel.lock
	$(COMPILE) --extra dev --constraint requirements-otel.lock -o requirements-dev.lock
	$(COMPILE) --extra bench --constraint requirements-dev.lock -o requirements-bench.lock

.venv/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo 'Python 3.11 or newer is needed; name one with: make PYTHON=/path/to/python' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo '$(PYTHON) cannot make virtual environments: its ensurepip is missing' \
			'(Debian and Ubuntu: apt-get install python3-venv)' >&2; exit 1; }
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv .venv
	@touch $@

.venv/.run: requirements.lock .venv/.python
	@echo 'Installing what the console needs into .venv'
	@$(INSTALL) $<
	@touch $@

# With all that the console needs.
.venv/.dev: requirements-dev.lock .venv/.python
	@echo 'Installing what the console and its tests need into .venv'
	@$(INSTALL) $<
	@touch .venv/.run $@

.venv/.bench: requirements-bench.lock .venv/.dev
	@echo 'Installing what its benchmark needs into .venv'
	@$(INSTALL) $<
	@touch $@
