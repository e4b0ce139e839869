# Every target works alone on a fresh clone: it makes .venv and installs what it needs.
PYTHON ?= python3
PY := .venv/bin/python
STAMP := .venv/.installed
DEMO_STAMP := .venv/.installed-for-demo

.PHONY: test demo lint bench clean

test: lint
	$(PY) -m pytest

lint: $(STAMP)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

demo: $(DEMO_STAMP)
	$(PY) -m prism_vo demo

bench: $(STAMP)
	$(PY) -m benchmarks

$(STAMP): pyproject.toml $(PY)
	$(PY) -m pip install -q --disable-pip-version-check -e ".[dev]"
	touch $(STAMP) $(DEMO_STAMP)

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
	rm -rf .venv build dist
