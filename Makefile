# Every target sets up what it needs; nothing has to be installed by hand but Python 3.11 or newer and make.
PYTHON ?= python3
STACK  ?= dev
ARGS   ?=
VENV   := .venv
RUN    := $(VENV)/bin/python
STAMP  := $(VENV)/.requirements
PACK   := $(VENV)/policy/.requirements

.PHONY: help setup policy doctor leftovers let-in up down status synth diff verify bench cost timeline chat lint types test clean

help:
	@echo "make up      deploy STACK (default: dev, on an embedded cluster) and wait until it is ready"
	@echo "make doctor  what would keep STACK from coming up: looks, changes nothing, costs nothing"
	@echo "make down    take it down again and leave nothing running"
	@echo "make leftovers   what AWS still has of a STACK that was taken down"
	@echo "make let-in  let this machine in to the API server of a STACK that another address deployed"
	@echo "make policy  what \`pulumi preview --policy-pack policy\` needs beside the program"
	@echo "make test    lint, types and every test"
	@echo "make status | synth | diff | verify | chat | bench | cost | timeline   the other verbs, STACK=... ARGS=..."

setup: $(STAMP)

$(STAMP): requirements.txt requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + "; name one: make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	@test -x $(RUN) || { echo "make .venv"; $(PYTHON) -m venv $(VENV); }
	@echo "install requirements-dev.txt into .venv"
	@$(RUN) -m pip install --quiet --disable-pip-version-check --requirement requirements-dev.txt
	@touch $(STAMP)

policy: $(PACK)

$(PACK): policy/requirements.txt | $(STAMP)
	@test -x $(VENV)/policy/bin/python || $(RUN) -m venv $(VENV)/policy
	@echo "install policy/requirements.txt into $(VENV)/policy"
	@$(VENV)/policy/bin/python -m pip install --quiet --disable-pip-version-check --requirement policy/requirements.txt
	@touch $(PACK)

doctor leftovers let-in up down status synth verify chat cost timeline: setup
	@$(RUN) -m ops $@ --stack $(STACK) $(ARGS)

bench: setup
	@$(RUN) -m ops bench run --stack $(STACK) $(ARGS)

diff: setup
	@$(RUN) -m ops diff --base $(or $(BASE),main) $(ARGS)

lint: setup
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .

types: setup
	@$(RUN) -m mypy .

test: lint types policy
	@$(RUN) -m pytest -n 2 --dist loadfile $(ARGS)

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .hypothesis
