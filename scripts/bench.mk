# SPDX-License-Identifier: GPL-2.0-only
# The benchmarks; tables and plots go to build/bench.

.PHONY: bench bench-clear bench-list bench-results bench-mainline
.PHONY: gate-kernels bench-check bench-update

bench: bench-all ## all benchmarks, beside the base kernel

# One of them, or all; make bench-list names them. A name that is wrong should not
# wait for kernels, so they are no prerequisites.
bench-%:
	@scripts/bench --known $*
	@scripts/deps guest gate bench
	@$(MAKE) --no-print-directory kernel kernel-base mcpagectl
	@scripts/bench $*

# On this machine itself: no kernel has to be built for it.
bench-clear: ## how fast memory is cleared here
	@scripts/deps gate plot
	@scripts/bench clear

bench-list: ## the names of the benchmarks; make bench-NAME runs one
	@scripts/bench --list

bench-results: bench-all ## all, and Documentation/mm/mcpage-results.rst from it
	@scripts/bench --publish

# Status 3: there is none to be had here; the tables say "not run", unless one was
# built before.
bench-mainline: ## all, beside Debian's newest kernel too
	@scripts/deps tree kernel
	@status=0; scripts/fetch-mainline || status=$$?; \
	case $$status in \
	0) $(MAKE) kernel-mainline ;; \
	3) ;; \
	*) exit $$status ;; \
	esac
	@$(MAKE) bench-all

gate-kernels: kernel kernel-base
	@scripts/deps guest gate

bench-check: gate-kernels ## a short subset, held to what is expected
	@scripts/bench --check

bench-update: gate-kernels ## expect what it finds now; shows the diff
	@scripts/bench --update
