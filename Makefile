# Every target works alone on a fresh clone: it makes .venv and installs what it needs.
PYTHON ?= python3
PY := .venv/bin/python
STAMP := .venv/.installed
DEMO_STAMP := .venv/.installed-for-demo

OLDEST := .venv-oldest

.PHONY: test test-oldest demo lint bench docs figures build release-check clean

test: lint
	$(PY) -m pytest

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

# the tests with exactly the lower bounds of pyproject.toml; its own cache, as compiled kernels belong to one version of Numba
test-oldest: $(OLDEST)/.installed
	NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/numba $(OLDEST)/bin/python -m pytest

docs: $(STAMP)
	$(PY) -m zensical build --strict --config-file mkdocs.yml

figures: $(STAMP)
	$(PY) docs/figures/draw.py
	$(PY) tools/import_graph_figure.py

# wheel and sdist into dist/, looked at and started
build: $(STAMP)
	$(PY) tools/distribution.py

# whether this commit could be released: version, changelog, citation, addresses, working tree, wheel and sdist
release-check: $(STAMP)
	$(PY) tools/release_check.py

demo: $(DEMO_STAMP)
	$(PY) -m prism_vo demo

bench: $(STAMP)
	$(PY) -m benchmarks

$(STAMP): pyproject.toml $(PY)
	$(PY) -m pip install -q --disable-pip-version-check -e ".[dev]"
	touch $(STAMP) $(DEMO_STAMP)

$(OLDEST)/.installed: pyproject.toml tools/oldest.py
	$(PYTHON) -m venv --clear $(OLDEST)
	$(OLDEST)/bin/python tools/oldest.py > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python -m pip install -q --disable-pip-version-check -r $(OLDEST)/oldest.txt -e .
	touch $@

# less than the tests need; unpacking is silent for long, so a line says every 3 s that it goes on
$(DEMO_STAMP): pyproject.toml $(PY)
	@$(PY) -m pip install -q --disable-pip-version-check -e ".[sim]" & job=$$!; \
	while kill -0 $$job 2>/dev/null; do echo "installing what the demo needs into .venv"; sleep 3; done; wait $$job
	@touch $(DEMO_STAMP)

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed.")'
	@$(PYTHON) -m venv .venv & job=$$!; \
	while kill -0 $$job 2>/dev/null; do echo "making .venv"; sleep 3; done; wait $$job || { rm -rf .venv; exit 1; }

clean:
	rm -rf .venv $(OLDEST) .cache site build dist
