# Every target works alone on a fresh clone: it makes .venv and installs what it needs.
PYTHON ?= python3
PY := .venv/bin/python
STAMP := .venv/.installed

.PHONY: test demo lint bench clean

test: lint
	$(PY) -m pytest

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

demo: $(STAMP)
	$(PY) -m prism_vo demo

bench: $(STAMP)
	$(PY) -m benchmarks

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed.")'
	$(PYTHON) -m venv .venv
	$(PY) -m pip install -q --disable-pip-version-check -e ".[dev]"
	touch $(STAMP)

clean:
	rm -rf .venv build dist
