#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# How `make test` counts: no failure may be lost, whatever its form.
# shellcheck source=tap.sh
. "$(dirname "$0")/tap.sh"

# counts "P F S" LINE...
counts() {
	same "$(printf '%s\n' "${@:2}" | "$top/scripts/count-tests")" "$1"
}

stage() { BUILD=$PWD "$top/scripts/stage" "$@"; }

t_nothing() {
	counts '0 0 0' ''
	counts '0 0 0' 'okay' 'this is ok 1' '    ok 1 - a KTAP subtest' '# ok 1 - a comment'
}

t_kunit() {
	counts '41 0 0' '[10:00:00] Testing complete. Ran 41 tests: passed: 41'
	counts '41 6 4' '[10:00:00] Testing complete. Ran 48 tests: passed: 41, failed: 1, crashed: 2, skipped: 4, errors: 3'
	counts '3 0 0' 'Testing complete. Ran 1 tests: passed: 1' 'Testing complete. Ran 2 tests: passed: 2'
	counts '0 0 0' '[10:00:00] Testing complete. Ran 0 tests:'
}

t_tap() {
	counts '1 1 1' 'TAP version 13' '1..3' 'ok 1 - a' 'not ok 2 - b' '# why' 'ok 3 - c # SKIP no'
	counts '1 1 1' 'ok 1 - a' 'not ok 2' 'ok 3 # skip' '1..3'
	counts '2 0 0' $'1..2\r' $'ok 1\r' $'ok 2\r'
	counts '0 1 0' 'not ok 1 - c # SKIP no'
}

t_tap_missing_verdict() {
	counts '1 2 0' '1..3' 'ok 1'
	counts '1 2 0' 'ok 1' '1..3'
	counts '1 2 0' '1..3' 'ok 1' 'TAP version 13'
	counts '0 3 0' '1..3'
}

t_tap_documents_in_a_row() {
	counts '3 0 0' '1..1' 'ok 1' '1..2' 'ok 1' 'ok 2'
	counts '3 0 0' 'ok 1' '1..1' 'ok 1' 'ok 2' '1..2'
	counts '3 0 0' '1..1' 'ok 1' 'ok 1' 'ok 2' '1..2'
	counts '2 1 0' '1..2' 'ok 1' '1..1' 'ok 1'
}

t_tap_skip_all() {
	counts '0 0 1' 'TAP version 13' '1..0 # SKIP no root'
}

t_kselftest() {
	counts '3 1 1' 'TAP version 13' '1..2' '# timeout set to 45' '# selftests: mcpage: a' \
		'# TAP version 13' '# 1..3' '# ok 1 x' '# not ok 2 y' '# ok 3 z # SKIP' \
		'# # Totals: pass:1 fail:1 xfail:0 xpass:0 skip:1 error:0' \
		'not ok 1 selftests: mcpage: a # exit=1' \
		'# TAP version 13' '# 1..2' '# ok 1 x' '# ok 2 y' '# # Totals: pass:2 fail:0' \
		'ok 2 selftests: mcpage: b'
}

t_kselftest_without_levels() {
	counts '1 1 1' '1..3' '# selftests: mcpage: a' '# said something' 'ok 1 selftests: mcpage: a' \
		'not ok 2 selftests: mcpage: b # TIMEOUT 45 seconds' \
		'ok 3 selftests: mcpage: c # SKIP'
}

t_kselftest_crash() {
	# All subtests that ran passed, the program did not.
	counts '2 1 0' '1..1' '# TAP version 13' '# 1..2' '# ok 1 x' '# ok 2 y' \
		'not ok 1 selftests: mcpage: a # exit=139'
	counts '1 1 0' '1..1' '# TAP version 13' '# 1..2' '# ok 1 x' \
		'not ok 1 selftests: mcpage: a # exit=139'
	# Nor does a status of 0 make up for verdicts that are missing.
	counts '1 2 0' '1..1' '# TAP version 13' '# 1..3' '# ok 1 x' 'ok 1 selftests: mcpage: a'
}

t_kselftest_guest_dies() {
	counts '1 2 0' '1..2' '# TAP version 13' '# 1..1' '# ok 1 x'
}

t_stage() {
	stage --start
	stage a echo 'ok 1' >output
	same "$(cat test/a.log)" 'ok 1'
	says '== a: passed 1, failed 0, skipped 0'
	stage b printf '%s\n' 'ok 1 # SKIP' 'ok 2'
	stage --summary >output
	same "$(cat output)" '2 passed, 0 failed, 1 skipped'
}

t_stage_failures() {
	stage --start
	stage test-fails sh -c 'echo not ok 1; exit 1'
	stage status-only sh -c 'echo ok 1; echo oops >&2; exit 3'
	grep -q oops test/status-only.log
	stage nothing true
	stage good echo 'ok 1'
	stage no-command ./missing
	fails stage --summary
	same "$(cat output)" '2 passed, 4 failed, 0 skipped'
}

t_stage_crash() {
	stage --start
	# shellcheck disable=SC2016 # the inner shell's
	stage killed sh -c 'echo ok 1; kill -9 $$'
	fails stage --summary
	says '1 passed, 1 failed, 0 skipped'
}

t_no_stage() {
	stage --start
	fails stage --summary
	says '0 passed, 1 failed, 0 skipped'
}

t_stage_has_no_stdin() {
	stage --start
	echo 'ok 1' | stage a cat
	grep -q '^a 0 1 0$' test/summary
}

run_tests
