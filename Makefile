PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: setup demo starter pictures test test-fast test-matrix test-bytes test-interop coverage check docs dist bench results lock clean

setup: $(READY)

$(READY): requirements.lock pyproject.toml benchmarks/pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --no-deps -e . -e benchmarks
	touch $@

demo: setup
	$(BIN)/tagsight demo -o demo

# The starter model of the package, its figures, its table and its picture. TAGSIGHT_DATA is the folder of apascal/.
starter: setup
	$(BIN)/python benchmarks/starter_model.py
	$(BIN)/python benchmarks/starter_picture.py

pictures: setup
	$(BIN)/python -m docs.screenshots

# The documentation site, in docs/_build/html. A warning is an error.
docs: setup
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/basedpyright --level error

test: check
	$(BIN)/python tests/clean_run.py

# All but the tests marked `slow`.
test-fast: setup
	$(BIN)/python tests/clean_run.py -m "not slow and not interop"

# Which lines the tests run, in htmlcov/index.html. Processes that a test kills are not counted.
coverage: setup
	$(BIN)/python tests/clean_run.py --cov --cov-report=term --cov-report=html

# The demo and the suite as on other machines: BLAS threads and kernels, processor features, caches, home, terminal, locale.
test-matrix: setup
	$(BIN)/python -m tests.matrix

# Its two cheapest variants, for the tests that compare bytes across threads, processes and engines.
test-bytes: setup
	$(BIN)/python -m tests.matrix "4 BLAS threads, 1 Numba thread" "BLAS for Haswell" -- tests/runtime/test_blas.py \
		tests/cli/test_reproducible.py tests/cli/test_ray.py tests/features/test_extract.py tests/engine/test_resume.py \
		-k "not killed"

# Exports opened by the programs they are for, which are too heavy, or under licences that do not fit, to test with always.
test-interop:
	$(PYTHON) -m venv .venv-interop
	.venv-interop/bin/pip install --quiet -e '.[dev]' datumaro label-studio-sdk labelme pyexiv2
	.venv-interop/bin/pytest -m interop tests/export

# The source distribution and the wheel, in dist, checked.
dist: setup
	rm -rf dist
	$(BIN)/uv build --quiet
	$(BIN)/python tests/check_dist.py

bench: setup
	$(BIN)/python benchmarks/iteration.py
	$(BIN)/python benchmarks/starts.py
	$(BIN)/python benchmarks/demo.py
	$(BIN)/python benchmarks/query.py
	$(BIN)/python benchmarks/load.py
ifdef TAGSIGHT_DATA
	$(BIN)/python benchmarks/regions.py
	$(BIN)/python benchmarks/extraction.py
endif
	$(BIN)/python benchmarks/tables.py

results: demo
	for features in deep deep-small classic; do \
		$(BIN)/tagsight-bench apascal --features $$features && $(BIN)/tagsight-bench labelme --features $$features || exit; \
	done
	for features in deep deep-small; do \
		$(BIN)/tagsight-bench apascal --features $$features --table ablations && \
		$(BIN)/tagsight-bench apascal --features $$features --table annotation --table segmentation --seeds 1 \
			-o benchmarks/results/quiet || exit; \
	done
	$(BIN)/python benchmarks/panels.py --data demo -o docs/images/panels.jpg
	$(BIN)/python benchmarks/factor_picture.py demo/demo.model -o docs/images/factors.jpg
	$(BIN)/python benchmarks/results_page.py

lock:
	$(BIN)/uv pip compile pyproject.toml --extra bench --extra dev --extra docs --extra ray --universal --python-version 3.11 \
		--generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" -o requirements.lock

clean:
	rm -rf .venv .venv-interop demo dist docs/_build htmlcov .coverage*
