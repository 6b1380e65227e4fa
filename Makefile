# make quickstart    train and measure a tiny CustomerLM on sample data (minutes), write a report
# make test          lint, types and all tests
# Both set everything up first, in .venv.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PYTHONWARNINGS ?= ignore

# Where pip finds torch's CPU wheels, on a machine whose default is a CUDA build.
TORCH_INDEX ?=
ALLOW_CUDA ?=
PIP := $(BIN)/pip --disable-pip-version-check install --quiet --no-compile
ifneq ($(TORCH_INDEX),)
export PIP_EXTRA_INDEX_URL := $(PIP_EXTRA_INDEX_URL) $(TORCH_INDEX)
endif

.PHONY: setup test lint unit e2e quickstart clean

quickstart: setup
	$(BIN)/salesllm quickstart --output_dir outputs/quickstart

test: lint unit e2e

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

unit: setup
	OMP_NUM_THREADS=1 $(BIN)/pytest -q -n auto tests --ignore tests/e2e

e2e: setup
	$(BIN)/pytest -q tests/e2e

setup: $(VENV)/.ready

$(VENV)/.ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("error: Python 3.11 or newer is needed: make ... PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@echo "Setting up $(VENV) (about 2 GB, minutes)"
	@$(PYTHON) -m venv $(VENV)
	@$(if $(ALLOW_CUDA),true,$(BIN)/python .ci/check_torch.py 'torch>=2.9,<2.14')
	@$(PIP) -e '.[all]'
	@# pip compiles on one core; a package's templates for Python 2 may fail, which harms nothing.
	@$(BIN)/python -m compileall -q -j 0 $(VENV)/lib >/dev/null 2>&1 || true
	@touch $@

clean:
	rm -rf $(VENV) outputs
