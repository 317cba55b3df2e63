# zwang: every command a developer needs. `make` alone lists them.

.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST_WORKERS ?= 2
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off \
	-c constraints.txt
# How far an installation is, a line for every twenty packages.
HOW_FAR := awk '/^Collecting/ && ++n % 20 == 0 { print "  " n " packages found"; fflush() } \
	/^Installing collected/ { print "  packages to install: " NF - 3; fflush() }'

# Debian packages that the library or its tests need beyond Python and make, separated by spaces.
# Chromium opens view.html in the tests; gcc compiles the C that zwang writes.
DEBIAN_PACKAGES := chromium gcc libc6-dev

# MathJax in one file, served beside the pages; fetched when they are first built.
MATHJAX := docs/_static/mathjax/tex-svg-full.js
MATHJAX_VERSION := 3.2.2
MATHJAX_SHA256 := a4354ff94fd868aea0cc6eaaa79a57fda0588646fc46ee3700a349ee0a11cbe6

# three.js, the part of it that view.js uses, in one file beside it; committed, so that writing a
# page needs no npm.
VIEWER := src/zwang/output/viewer
THREE_VERSION := 0.187.0
ESBUILD_VERSION := 0.28.2
# uPlot as its author publishes it, for the figures of a report; committed for the same reason.
REPORT := src/zwang/output/report
UPLOT_VERSION := 1.6.32
UPLOT_SHA256 := 4b8a8191e425658e3ea8c8c1314b0fc679c861ee3a1af2b20c7b16ba50b5133d

.PHONY: help setup debian-packages run test test-slow test-robots fuzz mutation audit check bench
.PHONY: bench-all docs site paper wheel pictures three charts clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## create .venv with the library, every extra and every tool

$(STAMP): pyproject.toml constraints.txt | debian-packages
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "zwang needs Python 3.11 or later; make setup PYTHON=/path/to/python3"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing zwang with all extras and tools in $(VENV): 2.9 GB, a few minutes."
	@$(PIP) -e '.[all]' | $(HOW_FAR)
	@touch $@

debian-packages:
	@missing=""; \
	for package in $(DEBIAN_PACKAGES); do \
		status=$$(dpkg-query -W -f '$${db:Status-Status}' "$$package" 2>/dev/null || true); \
		[ "$$status" = installed ] || missing="$$missing $$package"; \
	done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if ! command -v apt-get >/dev/null; then \
		echo "Please install these packages, or what your system calls them:$$missing"; \
	elif [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y -qq $$missing; \
	elif sudo -n true 2>/dev/null; then \
		sudo apt-get update -qq && sudo apt-get install -y -qq $$missing; \
	else echo "Please ask an administrator to run: apt-get install$$missing"; fi

run: setup ## run two linkages through their singular configurations, with reports in results/
	$(BIN)/zwang run n-four-bar --set N=2 --duration 10 --rtol 1e-10 --out results/n-four-bar
	$(BIN)/zwang run five-bar --duration 20 --rtol 1e-10 --out results/five-bar

test: setup ## the tests that take seconds; those of the structure are in `make check`
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) -m "not slow" --ignore=tests/architecture

test-slow: setup ## the tests that take longer
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) -m slow

test-robots: setup ## the tests on real robots; installs 0.9 GB
	@$(PIP) -e '.[robots-test]' | $(HOW_FAR)
	$(BIN)/python -m pytest -n $(PYTEST_WORKERS) -m robots

fuzz: setup ## random formulas, files, models, traced programs …; failures: tests/fuzz/seeds.txt
	$(BIN)/python -m tests.fuzz --models 2000 --starts 2000 --formulas 100000 --toml 100000 \
		--robots 10000 --arguments 10000 --programs 2000

mutation: setup ## change what judges answers at random; fast tests must notice
	$(BIN)/python -m tests.mutation --count 300 --seed 1

audit: setup ## do packages fit together; known weaknesses of them (network)
	$(BIN)/python -m pip check
	$(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt pip-audit
	$(BIN)/python -m pip_audit --requirement constraints.txt --no-deps --disable-pip

check: setup ## style, types, layers, and what the structure is made of
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pytest tests/architecture
	$(BIN)/python -m tests.architecture.table

bench: setup ## time everything that takes minutes, into results/benchmarks.json
	$(BIN)/python -m benchmarks

bench-all: setup ## the same beside other programs (0.6 GB), and docs/performance.md; half an hour
	@$(PIP) -e '.[bench]' | $(HOW_FAR)
	# 4.0.0 factors the sparse matrix of Newton's method wrongly
	$(BIN)/python -m pip install --disable-pip-version-check --quiet 'mujoco!=4.0.0'
	$(PIP) -e '.[bench-drake]' \
		|| echo "Drake has no wheel for this system; it is left out."
	$(BIN)/python -m benchmarks all || echo "Some parts failed; the page is made from the others."
	$(BIN)/python -m benchmarks page

docs: setup $(MATHJAX) ## build the documentation into docs/_build/html
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@if grep -rlE --include='*.html' '<(script|link|img)[^>]* (src|href)="(https?:)?//' \
		docs/_build/html; then \
		echo "These pages load something from the network."; exit 1; fi

site: docs ## put the built documentation beside that of other versions, in docs/_build/site
	$(BIN)/python docs/site.py docs/_build/html docs/_build/site

paper: setup ## the paper as paper/paper.pdf; installs pandoc as a wheel (155 MB)
	@$(PIP) pypandoc-binary | $(HOW_FAR)
	$(BIN)/python paper/build.py

$(MATHJAX):
	@command -v npm >/dev/null || { \
		echo "make docs fetches MathJax through npm once: please install npm"; \
		echo "(or put MathJax $(MATHJAX_VERSION)'s es5/tex-svg-full.js at $@)."; exit 1; }
	@mkdir -p $(@D)
	@fetched=$$(mktemp -d); trap 'rm -rf "$$fetched"' EXIT; \
	npm pack --silent --pack-destination "$$fetched" mathjax@$(MATHJAX_VERSION) >/dev/null; \
	tar -xzf "$$fetched/mathjax-$(MATHJAX_VERSION).tgz" -C "$$fetched" \
		package/es5/tex-svg-full.js package/LICENSE; \
	echo "$(MATHJAX_SHA256)  $$fetched/package/es5/tex-svg-full.js" | sha256sum --check --quiet; \
	cp "$$fetched/package/LICENSE" $(@D)/LICENSE; \
	cp "$$fetched/package/es5/tex-svg-full.js" $@

wheel: setup ## build a wheel, and run it in an empty environment that has no compiler
	rm -rf dist
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	@empty=$$(mktemp -d); trap 'rm -rf "$$empty"' EXIT; \
	$(PYTHON) -m venv "$$empty/venv"; \
	"$$empty/venv/bin/python" -m pip install --disable-pip-version-check --quiet \
		-c constraints.txt dist/zwang-*.whl; \
	cd "$$empty"; PATH="$$empty/venv/bin" zwang run four-bar --duration 1 --out out --quiet; \
	test -s out/report.html && test -s out/view.html && echo "the wheel runs by itself"

pictures: setup ## draw every mechanism of the gallery into docs/_static/mechanisms
	$(BIN)/python docs/pictures.py

three: ## bundle three.js anew after a change of its version or of three.entry.js
	@bundling=$$(mktemp -d); trap 'rm -rf "$$bundling"' EXIT; \
	cp $(VIEWER)/three.entry.js "$$bundling/entry.js"; cd "$$bundling"; \
	npm install --silent --no-audit --no-fund three@$(THREE_VERSION) esbuild@$(ESBUILD_VERSION); \
	npx esbuild entry.js --bundle --minify --format=iife --global-name=THREE \
		--legal-comments=none --log-level=warning --outfile=three.js; \
	cp three.js $(CURDIR)/$(VIEWER)/three.js; \
	cp node_modules/three/LICENSE $(CURDIR)/$(VIEWER)/three.LICENSE

charts: ## fetch uPlot anew after a change of its version
	@fetching=$$(mktemp -d); trap 'rm -rf "$$fetching"' EXIT; cd "$$fetching"; \
	npm pack --silent uplot@$(UPLOT_VERSION); \
	echo "$(UPLOT_SHA256)  uplot-$(UPLOT_VERSION).tgz" | sha256sum --check --quiet; \
	tar xzf uplot-$(UPLOT_VERSION).tgz; cd package; \
	cp dist/uPlot.iife.min.js $(CURDIR)/$(REPORT)/uplot.js; \
	cp dist/uPlot.min.css $(CURDIR)/$(REPORT)/uplot.css; \
	cp LICENSE $(CURDIR)/$(REPORT)/uplot.LICENSE

clean: ## remove builds, caches and results, but not .venv
	rm -rf build dist docs/_build docs/gallery docs/joints.md docs/jupyter_execute results
	rm -rf .cache .hypothesis
	rm -rf .import_linter_cache .pytest_cache .ruff_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
