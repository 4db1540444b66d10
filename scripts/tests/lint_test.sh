#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# That the checks of scripts/lint which need no kernel find what they are for.
# shellcheck source=tap.sh
. "$(dirname "$0")/tap.sh"

setup() {
	mkdir -p p/patches/linux-6.12 p/mm/mcpage p/Documentation
	cp -r "$top/scripts" "$top/.shellcheckrc" "$top/.gitignore" p/
	echo '// SPDX-License-Identifier: GPL-2.0-only' >p/mm/mcpage/a.c
	git -C p init -q
	mkdir -p p/build/linux/scripts p/build/linux-base
}

lint() { p/scripts/lint "$@"; }

t_spdx() {
	setup
	lint spdx
	echo 'int x;' >p/mm/mcpage/b.c
	fails lint spdx
	says 'no SPDX line: mm/mcpage/b.c'
	echo b.c >>p/.gitignore
	lint spdx
}

t_machine_paths() {
	setup
	lint machine_paths
	echo "see $PWD/p/build" >p/mm/mcpage/b.c
	fails lint machine_paths
	says 'mm/mcpage/b.c:1'
	printf '/%s/%s/x\n' home someone >p/mm/mcpage/b.c
	fails lint machine_paths
}

t_shellcheck() {
	setup
	lint shellcheck
	# shellcheck disable=SC2016 # it is to be wrong there
	printf '%s\n' '#!/bin/sh' 'rm $1' >p/scripts/wrong
	fails lint shellcheck
	says 'SC2086'
}

t_spelling() {
	setup
	lint spelling
	printf '%s%s\n' 't' 'eh end' >p/Documentation/x.rst
	fails lint spelling
	says 'Documentation/x.rst:1'
}

t_series() {
	setup
	lint series
	touch p/patches/linux-6.12/stray.patch
	fails lint series
	says 'stray.patch'
	echo stray.patch >p/patches/linux-6.12/series
	lint series
}

t_hook_lines() {
	setup
	lint hook_lines
	{
		printf '%s\n' 'diff --git a/mm/x.c b/mm/x.c' '--- a/mm/x.c' '+++ b/mm/x.c' '@@ -1 +1,401 @@' ' a'
		seq -f +%g 400
	} >p/patches/linux-6.12/a.patch
	echo a.patch >p/patches/linux-6.12/series
	fails lint hook_lines
	says '400 lines to core files'
}

t_abi() {
	setup
	fails lint abi
	says 'there is no ABI file'
}

t_maintainers() {
	setup
	touch p/build/linux-base/MAINTAINERS p/build/linux/thing
	printf 'F:\tthing\n' >p/build/linux/MAINTAINERS
	lint maintainers
	printf 'F:\tnothing/\n' >>p/build/linux/MAINTAINERS
	fails lint maintainers
	says 'nothing is nothing/'
}

t_checkpatch() {
	setup
	printf '#!/bin/sh\n' >p/build/linux/scripts/checkpatch.pl
	chmod +x p/build/linux/scripts/checkpatch.pl
	lint checkpatch_kernel
	# Any word of it is a failure, whatever its status.
	printf '#!/bin/sh\necho remark\n' >p/build/linux/scripts/checkpatch.pl
	fails lint checkpatch_kernel
	says remark
}

t_missing_tool() {
	setup
	mkdir bin
	for tool in bash dirname git sort find mktemp sed rm cat grep; do
		ln -s "$(command -v $tool)" bin/
	done
	PATH=$PWD/bin fails lint spelling shellcheck
	says 'codespell is missing'
	says 'shellcheck is missing'
}

t_one_line_each() {
	setup
	fails lint spdx abi series
	same "$(grep -v '^#' output)" $'1..3\nok 1 - lint spdx\nnot ok 2 - lint abi\nok 3 - lint series'
}

run_tests
