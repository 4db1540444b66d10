# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# TAP output for the tests of scripts; sourced. A test is a function t_NAME
# that fails by its status; run_tests finds and runs them all, each in a
# directory of its own ($PWD) and a subshell.

set -euo pipefail

# shellcheck disable=SC2034
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# Settings of the caller, make's too, are not the tests' business.
unset BUILD BASE_TREE MAINLINE_TREE TREE PATCHES FORCE ALL KERNEL_VERSION KERNEL_SRC \
	MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=Tester GIT_AUTHOR_EMAIL=tester@example.org
export GIT_COMMITTER_NAME=Tester GIT_COMMITTER_EMAIL=tester@example.org

# fails CMD...: it must fail; its output is in ./output.
fails() {
	if "$@" >output 2>&1; then
		echo "succeeded, but should not: $*"
		return 1
	fi
}

# says TEXT: the last failure's output has it.
says() {
	grep -qF -- "$1" output || {
		echo "no '$1' in:"
		cat output
		return 1
	}
}

same() {
	[ "$1" = "$2" ] || {
		printf 'not the same:\n%s\n---\n%s\n' "$1" "$2"
		return 1
	}
}

run_tests() {
	local tests test n=0 failed=0 scratch status

	mapfile -t tests < <(declare -F | sed -n 's/^declare -f t_//p')
	scratch=$(mktemp -d)
	# shellcheck disable=SC2064 # the directory is known now
	trap "rm -rf '$scratch'" EXIT
	echo "1..${#tests[@]}"
	for test in "${tests[@]}"; do
		n=$((n + 1))
		mkdir "$scratch/$test"
		# No `if`: it would switch -e off inside.
		set +e
		(set -e; cd "$scratch/$test"; "t_$test") >"$scratch/log" 2>&1 </dev/null
		status=$?
		set -e
		if [ $status = 0 ]; then
			echo "ok $n - $test"
		else
			echo "not ok $n - $test"
			sed 's/^/#   /' "$scratch/log"
			failed=$((failed + 1))
		fi
		rm -rf "${scratch:?}/$test"
	done
	[ "$failed" = 0 ]
}
