# Two commands do everything on a fresh machine: `make demo` and `make test`; `make quick` is for between edits.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
export OMP_NUM_THREADS := 1
export NO_MKDOCS_2_WARNING := 1

.PHONY: demo test quick lint types fast heavy system docs outputs dist minimum clean

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

# the core alone: no figures, pages, integrations, benchmark, and nothing that starts processes or takes long
APART := viz integrations bench journeys cli test_docs.py engine/test_faults_matrix.py test_demo.py \
	storage/test_interrupts.py storage/test_locks.py storage/test_crowd.py study/test_round_trip.py \
	study/test_study_machine.py study/test_metrics_machine.py storage/test_workers.py test_state_machine.py \
	test_state_machine_metrics.py test_hostile_metrics.py engine/test_metric_stopping.py running
CORE  := tests $(addprefix --ignore=tests/,$(APART))
quick: lint
	$(BIN)/python -m pytest -q -m "not heavy" -n 2 $(CORE)

# the core on the oldest versions that pyproject.toml allows
minimum: $(BIN)/python
	$(PYTHON) -m venv --clear .venv-minimum
	$(BIN)/python tools/minimum.py dataframe sklearn optuna excel postgres > .venv-minimum/pins.txt
	.venv-minimum/bin/pip install --quiet --disable-pip-version-check -r .venv-minimum/pins.txt pytest hypothesis ipython matplotlib -e .
	.venv-minimum/bin/python -m pytest -q -m "not heavy" -p no:cacheprovider $(CORE) $(addprefix --ignore=tests/,test_against_botorch.py test_packaging.py)

dist: $(VENV)/.test
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	PYTHON=$(PYTHON) sh tools/try_wheel.sh dist

# a browser and a database server for the tests that need real ones
system:
	@sh tools/system.sh

docs: $(VENV)/.test
	$(BIN)/mkdocs build --strict --quiet
	$(BIN)/python tools/check_links.py site

# what the Python blocks of the pages print, written below them anew
outputs: $(VENV)/.test
	$(BIN)/python tools/doc_outputs.py README.md docs/*.md $(addprefix docs/integrations/,optuna.md sklearn.md botorch.md ax.md)

clean:
	rm -rf $(VENV) .venv-minimum build dist site demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
