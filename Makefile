# Every target sets up what it needs; nothing has to be installed by hand but Python 3.11 or newer and make.
PYTHON ?= python3
STACK  ?= dev
ARGS   ?=
VENV   := .venv
RUN    := $(VENV)/bin/python
# Python compiles what is imported, when it is: compiling every package first takes longer than the download.
INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile
# Many containers set it; every verb would then compile the SDKs anew, which takes longer than all else that it does.
unexport PYTHONDONTWRITEBYTECODE
LOCK   := $(VENV)/bin/uv pip compile --quiet --universal --generate-hashes
STAMP  := $(VENV)/.requirements
COMMAND := $(VENV)/bin/dynamo-gpt-oss
PACK   := $(VENV)/policy/.requirements
SITE   := $(VENV)/docs/.requirements
AUDIT  := $(VENV)/audit/.requirements
GO_MODULES := $(dir $(wildcard embedded/*/go.mod tests/*/go.mod))
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

.PHONY: help setup policy docs lock audit sbom doctor leftovers let-in up down status synth diff verify bench cost timeline report chat logs open lint types test clean

help:
	@echo "make VERB STACK=name ARGS='...'   STACK is dev by default: it needs no cloud and no GPU"
	@echo
	@echo "  before    doctor     what would keep the stack from coming up; changes nothing, costs nothing"
	@echo "            cost       dollars an hour and a day, and what of the GPUs is used"
	@echo "            timeline   minutes and GPU time until the first token, simulated"
	@echo "            report     one HTML page of the stack, with what was measured and verified"
	@echo "            synth      write every resource that the stack would have"
	@echo "            diff       what would change in every stack since BASE (default: main)"
	@echo "  deploy    up         deploy and wait until it is ready; asks before it pays for GPU nodes (ARGS=--yes)"
	@echo "            let-in     let this machine in to the API server of a stack that another address deployed"
	@echo "  while up  status     what is deployed"
	@echo "            verify     named checks of the endpoint"
	@echo "            chat       talk to it in the terminal"
	@echo "            open       a page in the browser: WHAT=chat (default), grafana or metrics"
	@echo "            logs       what its pods write; ROLE=frontend, decode, download, operator, ... and ARGS=--follow"
	@echo "            bench      measure it with AIPerf, and write a report"
	@echo "  after     down       take it down and leave nothing running; ARGS=--dry-run says what would go"
	@echo "            leftovers  what AWS still has of a stack that was taken down"
	@echo
	@echo "make setup    .venv with the command $(COMMAND), which has all of these verbs and more"
	@echo "make policy   what \`pulumi preview --policy-pack policy\` needs beside the program"
	@echo "make docs     the documentation as a site, in out/site"
	@echo "make lock     locks/: every package with its hashes, after a change of requirements or facts/versions.py"
	@echo "make audit    known vulnerabilities of what is installed and built; wants Go and the internet"
	@echo "make sbom     what is installed and built, with licenses: out/sbom"
	@echo "make test     lint, types and every test;  make lint | types for those alone;  make clean"

setup: $(COMMAND)

$(COMMAND): pyproject.toml | $(STAMP)
	@echo "install the command $(COMMAND)"
	@$(RUN) $(INSTALL) --no-deps --editable .
	@touch $(COMMAND)

$(STAMP): locks/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " + sys.version.split()[0] + "; name one: make PYTHON=python3.12") if sys.version_info < (3, 11) else None'
	@test -x $(RUN) || { echo "make .venv"; $(PYTHON) -m venv $(VENV); }
	@echo "install locks/dev.txt into .venv: some 150 packages, a minute or two"
	@$(RUN) $(INSTALL) --require-hashes --requirement locks/dev.txt
	@touch $(STAMP)

policy: $(PACK)

$(PACK): locks/policy.txt | $(STAMP)
	@test -x $(VENV)/policy/bin/python || $(RUN) -m venv $(VENV)/policy
	@echo "install locks/policy.txt into $(VENV)/policy"
	@$(VENV)/policy/bin/python $(INSTALL) --require-hashes --requirement locks/policy.txt
	@touch $(PACK)

docs: $(SITE)
	@NO_MKDOCS_2_WARNING=1 $(VENV)/docs/bin/mkdocs build --strict
	@echo "out/site/index.html; with search: $(PYTHON) -m http.server --bind 127.0.0.1 --directory out/site"

$(SITE): locks/docs.txt | $(STAMP)
	@test -x $(VENV)/docs/bin/python || $(RUN) -m venv $(VENV)/docs
	@echo "install locks/docs.txt into $(VENV)/docs"
	@$(VENV)/docs/bin/python $(INSTALL) --require-hashes --requirement locks/docs.txt
	@touch $(SITE)

lock: setup
	@$(LOCK) --python-version 3.11 requirements-dev.txt --output-file locks/dev.txt
	@$(LOCK) --python-version 3.11 requirements.txt --constraint locks/dev.txt --output-file locks/program.txt
# pymdown-extensions wants it.
	@$(LOCK) --python-version 3.11.5 requirements-docs.txt --output-file locks/docs.txt
	@$(LOCK) --python-version 3.11 requirements-audit.txt --output-file locks/audit.txt
	@$(LOCK) --python-version 3.11 policy/requirements.txt --output-file locks/policy.txt
	@$(RUN) -m ops.locks

audit: $(AUDIT)
	@set -e; for lock in locks/*.txt; do echo "$$lock"; $(VENV)/audit/bin/pip-audit --strict --require-hashes --disable-pip --requirement $$lock; done
	@set -e; for module in $(GO_MODULES); do echo "$$module"; go -C $$module run $(GOVULNCHECK) tool; done

sbom: setup $(AUDIT)
	@mkdir -p out/sbom
	@$(VENV)/audit/bin/cyclonedx-py environment --output-reproducible --output-file out/sbom/python.cdx.json $(RUN)
	@$(RUN) -m docs.generate.sbom out/sbom/python.cdx.json $(GO_MODULES)

$(AUDIT): locks/audit.txt | $(STAMP)
	@test -x $(VENV)/audit/bin/python || $(RUN) -m venv $(VENV)/audit
	@echo "install locks/audit.txt into $(VENV)/audit"
	@$(VENV)/audit/bin/python $(INSTALL) --require-hashes --requirement locks/audit.txt
	@touch $(AUDIT)

doctor leftovers let-in up down status synth verify chat cost timeline report: setup
	@$(RUN) -m ops $@ --stack $(STACK) $(ARGS)

logs: setup
	@$(RUN) -m ops logs $(ROLE) --stack $(STACK) $(ARGS)

open: setup
	@$(RUN) -m ops open $(or $(WHAT),chat) --stack $(STACK) $(ARGS)

bench: setup
	@$(RUN) -m ops bench run --stack $(STACK) $(ARGS)

diff: setup
	@$(RUN) -m ops diff --base $(or $(BASE),main) $(ARGS)

lint: setup
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .

types: setup
	@$(RUN) -m mypy .

test: lint types policy $(SITE)
	@$(RUN) -m pytest -n 3 --dist loadfile $(ARGS)

clean:
	rm -rf $(VENV) out .pytest_cache .mypy_cache .ruff_cache .hypothesis
