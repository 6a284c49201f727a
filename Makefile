# Everything a newcomer types. Each target does its own set-up: a virtual environment in .venv, the
# packages that pyproject.toml names, and lumus itself, built and installed into it. A set-up step
# runs again only when what it depends on has changed. After it, nothing needs the network.
#
#   make demo      train a classifier on real scans of digits        make lint     ruff, clang-format
#   make test      the whole test suite (PYTEST_ARGS="-k tanh" ...)  make types    mypy, basedpyright
#   make bench     the benchmarks                                    make arch     arrows between rooms
#   make docs      run the documentation's examples                  make format   rewrite the layout
#   make sanitize  the native tests under ASan and UBSan             make clean    remove what was made

PYTHON ?= python3
PYTEST_ARGS ?=
DEMO_ARGS ?=
BENCH_ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Folders are listed with their files: their time changes when a file is added or removed.
SOURCES := pyproject.toml README.md LICENSE $(wildcard CMakeLists.txt) \
	$(shell find native src \( -name __pycache__ -o -name '*.so' \) -prune -o -print)
NATIVE_SOURCES := $(shell find native -name '*.cpp' -o -name '*.h')

.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help demo test lint types arch bench docs sanitize clean format install

help:
	@sed -n -e '/^#/!q' -e 's/^# \{0,1\}//p' Makefile

# ---------------------------------------------------------------------------------------- set-up

$(VENV)/created:
	@sh tools/check-machine "$(PYTHON)"
	@echo "lumus: making a virtual environment in $(VENV)"
	@"$(PYTHON)" -m venv --clear $(VENV)
	@touch $@

$(VENV)/run-packages: $(VENV)/created pyproject.toml
	@echo "lumus: installing what the build and the demo need (from the package index, once)"
	@$(BIN)/python tools/requirements.py build runtime cli plot >$(VENV)/run-requirements.txt
	@$(PIP_INSTALL) -r $(VENV)/run-requirements.txt
	@touch $@

$(VENV)/dev-packages: $(VENV)/run-packages
	@echo "lumus: installing the tools for tests and checks (from the package index, once)"
	@$(BIN)/python tools/requirements.py build runtime dev >$(VENV)/dev-requirements.txt
	@$(PIP_INSTALL) -r $(VENV)/dev-requirements.txt
	@touch $@

$(VENV)/installed: $(VENV)/run-packages $(SOURCES)
	@echo "lumus: building and installing (minutes the first time, seconds afterwards)"
	@tools/install $(VENV)
	@touch $@

install: $(VENV)/installed

# ------------------------------------------------------------------------------------------ uses

demo: $(VENV)/installed
	$(BIN)/lumus train digits $(DEMO_ARGS)

test: $(VENV)/dev-packages $(VENV)/installed
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/dev-packages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@echo "clang-format --dry-run (native)"
	@$(BIN)/clang-format --dry-run -Werror $(NATIVE_SOURCES)

format: $(VENV)/dev-packages
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format .
	@$(BIN)/clang-format -i $(NATIVE_SOURCES)

types: $(VENV)/dev-packages $(VENV)/installed
	$(BIN)/mypy
	$(BIN)/basedpyright --pythonpath $(BIN)/python

arch: $(VENV)/dev-packages $(VENV)/installed
	$(BIN)/lint-imports

bench: $(VENV)/dev-packages $(VENV)/installed
	$(BIN)/python -m benchmarks.run $(BENCH_ARGS)

docs: $(VENV)/dev-packages $(VENV)/installed
	$(BIN)/python -m pytest tests/architecture/test_docs.py $(PYTEST_ARGS)

sanitize: $(VENV)/dev-packages $(VENV)/installed
	tools/sanitize $(VENV) $(PYTEST_ARGS)

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
	find src -name '_native*.so' -delete
