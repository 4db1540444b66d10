# SPDX-License-Identifier: GPL-2.0-only
# The targets live beside the scripts they call; `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# Everything that is made goes here, outside version control.
BUILD ?= $(CURDIR)/build
# Pristine kernel source, and the tree with overlay and series on it.
BASE_TREE := $(BUILD)/linux-base
TREE := $(BUILD)/linux
JOBS ?= $(shell nproc)
export BUILD BASE_TREE TREE JOBS

include scripts/tree.mk
include scripts/kernel.mk
include scripts/test.mk
include scripts/run.mk
include scripts/bench.mk

# Each target's help is the "##" comment on its own line.
.PHONY: help
help: ## this list
	@grep -hE '^[a-z][a-z0-9_-]*:.*## ' $(MAKEFILE_LIST) | sort | \
		awk -F ':.*## ' '{ printf "  %-22s %s\n", $$1, $$2 }'
