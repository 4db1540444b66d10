# SPDX-License-Identifier: GPL-2.0-only
# From the overlay and the series to a kernel tree and back.

# KERNEL_VERSION=6.12.113 picks another version that apt offers, KERNEL_SRC=
# a tree or tarball; FORCE=1 drops edits in the prepared tree.

.PHONY: deps tree tree-versions refresh hook-lines
deps: ## install the Debian packages that all of this needs
	@scripts/deps tree kernel guest kunit lint ctl run gate bench

tree: ## build/linux: the kernel source with overlay and series on it
	@scripts/deps tree
	@scripts/fetch
	@scripts/apply

tree-versions: ## try the series on every 6.12.y that apt offers
	@scripts/deps tree
	@scripts/tree-versions

refresh: ## turn edits in build/linux into overlay files and patches
	@scripts/refresh

hook-lines: ## the lines that the series adds to core files
	@scripts/hook-lines
