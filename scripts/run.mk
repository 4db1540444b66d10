# SPDX-License-Identifier: GPL-2.0-only
# mcpagectl, and the demonstration on real programs.

CTL_BUILD := $(abspath $(BUILD))/mcpagectl
BENCH_BUILD := $(abspath $(BUILD))/mcpagebench

.PHONY: mcpagectl mcpagectl-check mcpagectl-kernel-check run

mcpagectl: ## the command line tool, build/mcpagectl/mcpagectl
	@scripts/deps ctl
	@$(MAKE) --no-print-directory -s -C tools/mcpagectl O=$(CTL_BUILD) \
		-j$(JOBS) all

mcpagectl-check: ## its tests, plain and under the sanitizers
	@scripts/deps ctl
	@$(MAKE) --no-print-directory -s -C tools/mcpagectl O=$(CTL_BUILD) \
		-j$(JOBS) check

mcpagectl-kernel-check: mcpagectl kernel ## its tests on the guest kernel
	@scripts/guest -- tools/mcpagectl/tests/test-kernel.sh \
		$(CTL_BUILD)/mcpagectl

# The packages first: a build that is half done should not stop for them.
run: run-deps kernel mcpagectl ## see mcpage at work on redis-server and a C compile
	@$(MAKE) --no-print-directory -s -C tools/mcpagebench \
		O=$(BENCH_BUILD) $(BENCH_BUILD)/measure
	@scripts/demo

.PHONY: run-deps
run-deps:
	@scripts/deps run
