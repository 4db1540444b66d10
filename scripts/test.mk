# SPDX-License-Identifier: GPL-2.0-only
# The tests, each alone and all together.

# In the order of `make test`; each is a target of its own.
STAGES := lint check-scripts mcpagectl-check kunit-um kunit-x86_64 bench-check selftest

# kunit.py configures, builds and boots. UML has neither huge pages nor more
# than one CPU; QEMU has both.
KUNIT = cd $(TREE) && ./tools/testing/kunit/kunit.py run 'mcpage*' --jobs=$(JOBS) \
	$(if $(shell command -v ccache),--make_options='CC=ccache gcc')

# A kernel that complains has failed, whatever its tests say.
KUNIT_QUIET = test -s $(BUILD)/$@/test.log && ! grep -nE '(WARNING|BUG|KASAN|UBSAN|INFO: [a-z ]*lock|Oops)[:[:space:]]' \
	$(BUILD)/$@/test.log

.PHONY: test kunit kunit-um kunit-x86_64 selftest lint check-scripts

test: ## everything: N passed, N failed, N skipped is the last line
	@scripts/deps tree kernel guest kunit lint ctl gate
	@scripts/stage --start
	@for stage in $(STAGES); do \
		scripts/stage $$stage $(MAKE) --no-print-directory $$stage; \
	done
	@scripts/stage --summary

kunit: kunit-um ## the KUnit tests on UML, for the inner loop

kunit-um: tree
	@scripts/deps kunit
	@$(KUNIT) --build_dir=$(BUILD)/kunit-um \
		--kunitconfig=tools/testing/kunit/configs/mcpage.config </dev/null
	@$(KUNIT_QUIET)

KUNIT_GUEST = --build_dir=$(BUILD)/kunit-x86_64 --arch=x86_64 --qemu_args='-smp 2 -cpu max'

# A clock that is watched complains on a busy host, in the middle of the results; one
# that is trusted has to be told its rate, as there is none to compare it with.
# And once more, what memory that is clear already makes a difference for, a clock
# that is too coarse to measure with, or a kernel that is preemptible everywhere.
kunit-x86_64: tree ## the KUnit tests on x86_64 in QEMU
	@scripts/deps kunit
	@$(KUNIT) $(KUNIT_GUEST) \
		--kernel_args=tsc=reliable --kernel_args=tsc_early_khz=2000000 \
		--kunitconfig=tools/testing/kunit/configs/mcpage_x86_64.config </dev/null
	@$(KUNIT_QUIET)
	@cd $(TREE) && ./tools/testing/kunit/kunit.py exec 'mcpage_[cf]*' $(KUNIT_GUEST) \
		--kernel_args=tsc=unstable --kernel_args=init_on_alloc=1 \
		--kernel_args=preempt=full </dev/null
	@$(KUNIT_QUIET)
	@grep -q 'heap alloc:on' $(BUILD)/$@/test.log

selftest: kernel-debug ## the kselftests in a guest with all checks on
	@scripts/deps guest
	@scripts/selftest

lint: tree ## static checks; CHECKS="spdx sparse" runs only those
	@scripts/deps lint kernel
	@scripts/lint $(CHECKS)

check-scripts: ## tests of the scripts, on a toy kernel
	@scripts/deps tree gate
	@status=0; for test in bench deps lint mainline stage tree; do \
		scripts/tests/$${test}_test.sh || status=1; \
	done; exit $$status

# Not in `make test`: all that can be left out.
.PHONY: matrix
matrix: tree ## compile without each thing that mcpage can do without
	@scripts/deps kernel
	@scripts/matrix
