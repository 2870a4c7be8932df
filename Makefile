# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
export OMP_NUM_THREADS := 1
export NO_MKDOCS_2_WARNING := 1

.PHONY: demo test lint types fast heavy system docs outputs clean

demo: $(VENV)/.demo
	$(BIN)/ccgbo demo

test: lint types fast heavy docs

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(PIP) -e '.[plot,dashboard,sklearn]'
	touch $@

# torch first and alone: the pinned CPU build must be there before anything asks for "some torch"
$(VENV)/.test: $(BIN)/python pyproject.toml constraints.txt
	$(PIP) torch
	$(PIP) -e '.[dev]'
	touch $@

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.test
	$(BIN)/mypy

fast: $(VENV)/.test
	$(BIN)/python -m pytest -q -m "not heavy" -n 2

heavy: $(VENV)/.test system
	$(BIN)/python -m ccgbo.versions
	$(BIN)/python -m pytest -q -m heavy

# a browser and a database server for the tests that need real ones
system:
	@sh tools/system.sh

docs: $(VENV)/.test
	$(BIN)/mkdocs build --strict --quiet
	$(BIN)/python tools/check_links.py site

# what the Python blocks of the pages print, written below them anew
outputs: $(VENV)/.test
	$(BIN)/python tools/doc_outputs.py README.md docs/*.md

clean:
	rm -rf $(VENV) build dist site demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
