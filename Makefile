# make qualify   what fsync does on real kernels, as a table; sets everything up first
# make setup     the set-up alone; the command is then .venv/bin/fsyncgate
# make test      lint, types, unit tests, tests in virtual machines and of the report in a browser
# make bench     how long things take, and where the time goes
#
# FSYNCGATE_CACHE says where kernels and machines are kept (default: the XDG cache, ~/.cache/fsyncgate).

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := harness tests scenarios

# QEMU runs the guests; e2fsprogs, xfsprogs, btrfs-progs and f2fs-tools (for `--all` only) make the file systems;
# kmod and cpio make the initramfs; gcc builds the guest agent; the keyring lets apt check the kernels' signatures.
PACKAGES := qemu-system-x86 e2fsprogs xfsprogs btrfs-progs f2fs-tools kmod cpio gcc libc6-dev make python3-venv \
	debian-archive-keyring

# Chromium, with its driver, reads the HTML report in the tests.
BROWSER := chromium chromium-driver

.PHONY: help setup packages browser qualify test lint unit vm page bench pictures clean

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

setup: $(VENV)/.user

qualify: $(VENV)/.user
	@$(BIN)/fsyncgate qualify

test: lint unit vm page

lint: $(VENV)/.developer
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/pyright --warnings

unit: $(VENV)/.developer
	$(BIN)/pytest tests/unit

vm: $(VENV)/.developer
	$(BIN)/pytest tests/vm --vm

page: $(VENV)/.developer | browser
	$(BIN)/pytest tests/page --vm

bench: $(VENV)/.user
	$(BIN)/python tests/bench.py

# RUN=results/... names the run whose report is pictured.
pictures: $(VENV)/.developer | browser
	$(BIN)/python -m tests.pictures $(RUN)

clean:
	rm -rf $(VENV) build results .mypy_cache .ruff_cache .pytest_cache .hypothesis

# Installs what is missing, and asks for nothing if nothing is.
packages: wanted = $(PACKAGES)
browser: wanted = $(BROWSER)
packages browser:
	@missing=$$(for package in $(wanted); do \
		dpkg-query -W -f '$${Status}' $$package 2>/dev/null | grep -q 'ok installed' || echo $$package; \
	done); \
	if [ -n "$$missing" ]; then \
		sudo=$$([ "$$(id -u)" = 0 ] || command -v sudo || true); \
		if [ "$$(id -u)" != 0 ] && [ -z "$$sudo" ]; then \
			echo "These Debian packages are missing, and only root can install them:" $$missing >&2; exit 2; \
		fi; \
		echo "Installing Debian packages:" $$missing; \
		$$sudo apt-get update -qq; \
		$$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	fi

$(VENV)/bin/python: | packages
	@echo "Making the virtual environment $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.user: pyproject.toml | packages $(VENV)/bin/python
	@echo "Installing the Python packages"
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.developer: pyproject.toml $(VENV)/.user | packages
	@echo "Installing the Python packages for developers"
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
