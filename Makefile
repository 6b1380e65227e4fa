PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: setup test unit e2e lint quickstart clean

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -e '.[all]'
	touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: setup
	$(BIN)/pytest -q tests --ignore tests/e2e

e2e: setup
	$(BIN)/pytest -q tests/e2e

test: lint unit e2e

quickstart: setup
	$(BIN)/salesllm quickstart --output_dir outputs/quickstart

clean:
	rm -rf $(VENV) outputs
