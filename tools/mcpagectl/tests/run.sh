#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Run the tests of each build directory given and sum up. Prints TAP.
set -u

here=$(cd "$(dirname "$0")" && pwd)
count=0 pass=0 fail=0 skip=0

# One program's TAP, with its lines numbered in the whole.
run() # NAME COMMAND...
{
	local name=$1 line planned='' seen=0 status
	shift
	echo "# $name"
	while IFS= read -r line; do
		case $line in
		'ok '* | 'not ok '*)
			count=$((count + 1)) seen=$((seen + 1))
			case $line in
			not*) fail=$((fail + 1)) ;;
			*' # SKIP '*) skip=$((skip + 1)) ;;
			*) pass=$((pass + 1)) ;;
			esac
			# "not ok 3 name" becomes "not ok 12 name".
			[[ $line =~ ^(not )?ok\ [0-9]+\ (.*)$ ]]
			line="${BASH_REMATCH[1]}ok $count ${BASH_REMATCH[2]}"
			;;
		1..*)
			planned=${line#1..}
			continue
			;;
		status=*)
			status=${line#status=}
			continue
			;;
		esac
		printf '%s\n' "$line"
	done < <("$@"; echo "status=$?")

	# One that dies early must not pass for what it did not run.
	count=$((count + 1))
	if [ "$seen" -gt 0 ] && [ "$planned" = "$seen" ]; then
		pass=$((pass + 1))
		echo "ok $count $name ran to its end"
	else
		fail=$((fail + 1))
		echo "not ok $count $name ran to its end (status $status)"
	fi
}

echo 'TAP version 13'
for build; do
	run "parsers in $(basename "$build")" "$build/tests/test-parsers"
	run "command line in $(basename "$build")" \
		"$here/test-cli.sh" "$build"
done
echo "1..$count"
echo "# Totals: pass:$pass fail:$fail skip:$skip"
[ $fail -eq 0 ]
