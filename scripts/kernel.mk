# SPDX-License-Identifier: GPL-2.0-only
# The guest kernels, and the guest.

# The configurations differ only in what their names say.
GUEST_CONFIG := configs/guest.config
MCPAGE_CONFIG := $(GUEST_CONFIG) configs/mcpage.config

.PHONY: base-tree kernel kernel-base kernel-debug shell guest-test

base-tree:
	@scripts/deps tree kernel
	@scripts/fetch

kernel: tree ## build the guest kernel
	@scripts/deps kernel
	@scripts/kernel-build $(TREE) $(BUILD)/kernel $(MCPAGE_CONFIG)

kernel-base: base-tree ## build the guest kernel without mcpage, to compare with
	@scripts/kernel-build $(BASE_TREE) $(BUILD)/kernel-base $(GUEST_CONFIG) configs/base.config

kernel-debug: tree ## build the guest kernel with every check on
	@scripts/deps kernel
	@scripts/kernel-build $(TREE) $(BUILD)/kernel-debug $(MCPAGE_CONFIG) configs/debug.config

shell: kernel ## an interactive guest; GUEST_ARGS="--mem 4G ..." for scripts/guest
	@scripts/deps guest
	@scripts/guest --tty $(GUEST_ARGS) -- bash

guest-test: kernel-base kernel-debug ## test scripts/guest itself
	@scripts/deps guest
	@scripts/tests/guest_test.sh
