# SPDX-License-Identifier: GPL-2.0-only
# mcpagectl, and the demonstration on real programs.

CTL_BUILD := $(abspath $(BUILD))/mcpagectl

.PHONY: mcpagectl mcpagectl-check

mcpagectl: ## the command line tool, build/mcpagectl/mcpagectl
	@$(MAKE) --no-print-directory -s -C tools/mcpagectl O=$(CTL_BUILD) \
		-j$(JOBS) all

mcpagectl-check: ## its tests, plain and under the sanitizers
	@$(MAKE) --no-print-directory -s -C tools/mcpagectl O=$(CTL_BUILD) \
		-j$(JOBS) check
