# What this checkout can do: `make` or `make help` lists it.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# The first Python on this machine that is new enough; `make PYTHON=… env` takes another.
PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13 python3.14 /usr/bin/python3; do \
	"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$python" && break; done)
DELIVERY ?= gitops
BUILDER ?= docker
RUNS ?= 10
BOM ?= build/bom

SANDBOX := tests/sandbox/sandbox.py
GATES := .venv/bin/python tests/gates/gates.py
DEMO_STATE := $${XDG_CACHE_HOME:-$$HOME/.cache}/mindcluster-recovery/demo

# $(call timed,NAME,COMMAND): run it, then say how long it took, however it ended.
timed = @start=$$SECONDS; $(2); code=$$?; echo "== $(1): took $$((SECONDS - start)) s"; exit $$code

ifeq ($(PYTHON),)
$(error Python 3.11 or newer is needed and was not found; name it: make PYTHON=/path/to/python3 …)
endif

.PHONY: help env prepare setup demo demo-down lint sanity test-unit matrix prove real molecule test quality test-matrix bench-nodes bench-check bench-image bench-render equality bom docs docs-check clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  DELIVERY=gitops|apply chooses what the demo shows, BUILDER=docker|registry what builds its image."

env: ## make .venv with all that the controller needs, this collection linked in it
	$(call timed,env,$(PYTHON) $(SANDBOX) venv)

prepare: ## install packages and build what is slow, ahead of time: kube-apiserver and base images
	$(call timed,prepare,$(PYTHON) $(SANDBOX) prepare)

setup:
	@$(MAKE) --no-print-directory --jobs=2 env prepare

demo: env ## run the main job for real on this machine; run it again and nothing changes
	$(call timed,demo,DELIVERY=$(DELIVERY) BUILDER=$(BUILDER) examples/demo/run.sh)

demo-down: ## end what the demo left running; its site and data stay
	$(call timed,demo-down,$(PYTHON) $(SANDBOX) down --state "$(DEMO_STATE)")

lint: env ## ansible-lint, yamllint, ruff, mypy, shellcheck, changelog
	@$(GATES) lint

sanity: env ## ansible-test sanity on a copy
	@$(GATES) sanity

test-unit: env ## the unit tests alone: 1 to 4 minutes
	@$(GATES) unit

matrix: env ## the torch patches on every release on the package index, on every Python, on hostile machines
	@$(GATES) matrix

prove: env ## a worker dies: training goes on with the patch, and mostly not without; RUNS=10, DOWNLOAD=1 to fetch torch
	$(call timed,prove,.venv/bin/python tests/matrix/prove.py --runs $(RUNS)$(if $(DOWNLOAD), --download))

real: setup ## the tests that need a real API server, registry or engine, faults included
	@$(GATES) real

molecule: setup ## every scenario, on the real engine, registry and API server; SCENARIO=name for one
	@$(GATES) molecule$(if $(SCENARIO),:$(SCENARIO))

test: setup ## all of it; goes on after a failure and ends with `N passed, M failed`
	@$(GATES) lint sanity unit oldest-core docs artifact matrix proof real molecule

quality: env ## every gate that needs no services, as one table: tool, version, verdict, findings; half an hour
	@$(GATES) --table lint sanity unit cores house docs artifact ends

test-matrix: env ## sanity and unit tests on ansible-core 2.16, 2.18, 2.19 and 2.21 with Python 3.12 and 3.13, where they are here
	@$(GATES) --table sanity unit cores

bench-nodes: setup ## label 5,000 Nodes in every way and compare
	$(call timed,bench-nodes,$(PYTHON) $(SANDBOX) run --with kube -- .venv/bin/python tests/bench/nodes.py)

bench-check: env ## check 1,000 manifests and compare with kubernetes_validate
	$(call timed,bench-check,.venv/bin/python tests/bench/job_check.py)

bench-render: env ## write 1,000 jobs in one play and compare with a loop of ansible.builtin.template; minutes
	$(call timed,bench-render,.venv/bin/python tests/bench/render_jobs.py)

bom: env ## list every wheel, image, collection and Python package that a site has to bring: INVENTORY=folder; PACKAGES, PLATFORM, PYTHON_VERSION
	@test -n "$(INVENTORY)" || { echo "Say which site: make bom INVENTORY=/path/to/inventory" >&2; exit 2; }
	@test -d "$(INVENTORY)" || { echo "$(INVENTORY) is no folder. INVENTORY is the folder that holds hosts.yml and group_vars; see docs/air-gapped.md." >&2; exit 2; }
	@# Relative paths of a site count from the folder that its inventory lies in, where its playbooks are called. The
	@# shell makes the paths absolute, since make's own functions take a blank for the end of one.
	$(call timed,bom,inventory="$$(realpath -sm "$(INVENTORY)")" bom="$$(realpath -sm "$(BOM)")" packages="$$(realpath -sm "$(PACKAGES)/.")" \
		&& cd "$$(dirname "$$inventory")" && "$(CURDIR)/.venv/bin/ansible-playbook" -i "$$inventory" \
		mindcluster.recovery.bom -e "{\"bill_of_materials_dir\": \"$$bom\"}" \
		$(if $(PACKAGES),-e "{\"bill_of_materials_packages\": \"$$packages\"}") $(if $(PLATFORM),-e bill_of_materials_platform=$(PLATFORM)) \
		$(if $(PYTHON_VERSION),-e bill_of_materials_python_version=$(PYTHON_VERSION)))

docs: env ## build the documentation site into build/docs/html
	$(call timed,docs,.venv/bin/python docs/site/build.py)

docs-check: docs ## look at each page of it in a browser, on a phone and on a desk, by day and by night; SHOTS=folder keeps pictures
	$(call timed,docs-check,.venv/bin/python tests/docs/check.py$(if $(SHOTS), --shots $(SHOTS)))

bench-image: env ## make a training image with an engine that starts empty, with a warm one and without one, and compare
	$(call timed,bench-image,$(PYTHON) $(SANDBOX) run --with registry,wheels,tar-torch26,tar-torch113 -- .venv/bin/python tests/bench/image.py)

equality: setup ## build images with an engine and without, and compare every path of them
	$(call timed,equality,$(PYTHON) $(SANDBOX) run --with docker,registry,wheels,images -- .venv/bin/python tests/real/registry/equality.py)

clean: ## remove what was built inside the checkout; the cache folder and .venv stay
	rm -rf build .mypy_cache .pytest_cache .ruff_cache .hypothesis tests/output
	find . -path ./.venv -prune -o -name __pycache__ -type d -exec rm -rf {} +
