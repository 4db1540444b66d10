# SPDX-License-Identifier: GPL-2.0-only
# The guest kernels, and the guest.

# The newest kernel that Debian's backports have, as it is.
MAINLINE_TREE := $(BUILD)/linux-mainline
export MAINLINE_TREE

# The configurations differ only in what their names say.
GUEST_CONFIG := configs/guest.config
MCPAGE_CONFIG := $(GUEST_CONFIG) configs/mcpage.config

.PHONY: base-tree mainline-tree
.PHONY: kernel kernel-base kernel-mainline kernel-debug shell guest-test

base-tree:
	@scripts/deps tree kernel
	@scripts/fetch

# Status 3 of the script: there is none to be had here.
mainline-tree:
	@scripts/deps tree kernel
	@scripts/fetch-mainline

kernel: tree ## build the guest kernel
	@scripts/deps kernel
	@scripts/kernel-build $(TREE) $(BUILD)/kernel $(MCPAGE_CONFIG)

kernel-base: base-tree ## build the guest kernel without mcpage, to compare with
	@scripts/kernel-build $(BASE_TREE) $(BUILD)/kernel-base $(GUEST_CONFIG) configs/base.config

kernel-mainline: mainline-tree ## build Debian's newest kernel as a guest kernel, to compare with
	@scripts/kernel-build $(MAINLINE_TREE) $(BUILD)/kernel-mainline \
		$(GUEST_CONFIG) configs/mainline.config

kernel-debug: tree ## build the guest kernel with every check on
	@scripts/deps kernel
	@scripts/kernel-build $(TREE) $(BUILD)/kernel-debug $(MCPAGE_CONFIG) configs/debug.config

shell: kernel ## an interactive guest; GUEST_ARGS="--mem 4G ..." for scripts/guest
	@scripts/deps guest
	@scripts/guest --tty $(GUEST_ARGS) -- bash

guest-test: kernel-base kernel-debug ## test scripts/guest itself
	@scripts/deps guest
	@scripts/tests/guest_test.sh
