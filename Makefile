# make demo    install, index a repository (REPO=…, default this checkout) and show three prompts
# make test    the tests
# make check   what CI runs: lint, types, layers, tests
# make bench   the benchmarks, with figures as ratios to something measured in the same run

PYTHON ?= python3
VENV ?= .venv
REPO ?= .
BIN := $(VENV)/bin
HERE := $(CURDIR)

.PHONY: demo test check lint types layers bench wheel clean

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $@

demo: $(VENV)/installed
	@$(BIN)/python tests/demo.py "$(REPO)" $(if $(PROMPT),--prompt "$(PROMPT)")

test: $(VENV)/installed
	$(BIN)/python -m pytest -m "not bench and not model"

check: lint types layers test

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/installed
	$(BIN)/basedpyright --level error --pythonpath $(BIN)/python

layers: $(VENV)/installed
	$(BIN)/lint-imports

bench: $(VENV)/installed
	$(BIN)/python -m pytest tests/benchmarks -m bench --benchmark-autosave --benchmark-columns=min,median,max,rounds
	$(BIN)/hybrid eval speed $(REPO)

wheel: $(VENV)/installed
	$(BIN)/python -m build --outdir dist .

clean:
	rm -rf $(VENV) dist .demo
