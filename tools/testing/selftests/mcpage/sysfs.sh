#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The files in /sys/kernel/mm/mcpage: documented one and all, what is written is
# read back, what is not understood is refused and changes nothing.

DIR=$(dirname "$(readlink -f "$0")")
# shellcheck source=/dev/null
. "$DIR/../kselftest/ktap_helpers.sh"

SYSFS=/sys/kernel/mm/mcpage
ABI=$DIR/../../../../Documentation/ABI/testing/sysfs-kernel-mm-mcpage
USER=65534

# check NAME COMMAND...: a test that passes if the command does.
check()
{
	local name=$1

	shift
	if "$@"; then
		ktap_test_pass "$name"
	else
		ktap_test_fail "$name"
	fi
}

say()
{
	printf '# %s\n' "$*"
}

# Every file, with N for the order.
files()
{
	find "$SYSFS" -type f | sed 's/order-[0-9]*/order-N/' | sort -u
}

writable()
{
	find "$SYSFS" -type f -perm -u+w | sort
}

# The files that the documentation names, <order> and braces expanded.
documented()
{
	local entry

	sed -n 's|^\(What:\)\?[[:space:]]*\('"$SYSFS"'/[^[:space:]]*\)$|\2|p' "$ABI" |
	while read -r entry; do
		entry=${entry%/}
		entry=${entry//<order>/N}
		eval "printf '%s\n' ${entry//[<>]/}"
	done | sort -u
}

abi_matches()
{
	local only_here only_there
	local dirs

	# A directory may have an entry of its own.
	dirs=$(find "$SYSFS" -type d | sed 's/order-[0-9]*/order-N/' | sort -u)
	only_here=$(comm -23 <(files) <(documented))
	only_there=$(comm -13 <(files) <(documented) | grep -vxF "$dirs")
	[ -z "$only_here" ] || say "not documented:" "${only_here//$'\n'/ }"
	[ -z "$only_there" ] || say "documented, but not there:" "${only_there//$'\n'/ }"
	[ -z "$only_here$only_there" ]
}

# No subshells from here on: there are a thousand reads and writes, and a debug
# kernel takes its time over each fork.

# get FILE: its text in $text, its value in $value: the active token of a choice
# list, or all.
get()
{
	text=
	IFS= read -r text < "$1"
	value=$text
	if [[ $text == *\[*\]* ]]; then
		value=${text#*\[}
		value=${value%%\]*}
	fi
}

# put FILE TEXT: one write() of this text, of one line; why not, in $error.
put()
{
	local status

	printf '%s' "$2" 2> "$TMP" > "$1"
	status=$?
	error=
	IFS= read -r error < "$TMP"
	return $status
}

# takes FILE TEXT [READ]: what is written is read back.
takes()
{
	if put "$1" "$2"; then
		get "$1"
		[ "$value" == "${3-${2%$'\n'}}" ] && return
	fi
	say "$1: wrote '$2', read '$value' $error"
	return 1
}

# refuses FILE TEXT: EINVAL, and the value stays.
refuses()
{
	local before

	get "$1"
	before=$text
	if ! put "$1" "$2" && [[ $error == *"Invalid argument" ]]; then
		get "$1"
		[ "$text" == "$before" ] && return
	fi
	say "$1: '$2' gave '${error##*: }', '$before' became '$text'"
	return 1
}

round_trip()
{
	local file=$1 before tokens token ok=0

	get "$file"
	before=$value
	if [ "${file##*/}" == orders ]; then
		takes "$file" "4" && takes "$file" $'2-4\n' &&
			takes "$file" "3,5" && takes "$file" "2,3,4,9" "2-4,9" &&
			takes "$file" $'\n' "" && takes "$file" "2-9" || ok=1
	elif [[ $file == *_kb ]]; then
		takes "$file" "4" && takes "$file" $'64\n' && takes "$file" "32768" || ok=1
	elif [[ $text == *\[* ]]; then
		read -r -a tokens <<< "$text"
		for token in "${tokens[@]}"; do
			token=${token//[\[\]]/}
			takes "$file" "$token" && takes "$file" "$token"$'\n' || ok=1
		done
	else
		takes "$file" "$before" || ok=1
	fi
	takes "$file" "${before:-$'\n'}" "$before" || ok=1
	return $ok
}

bad_writes()
{
	local file=$1 bad word ok=0

	if [ "${file##*/}" == orders ]; then
		# Order 1 has no room on the list of partly mapped folios.
		bad=(x -1 0 1 0-4 1-4 10 2-10 99 4294967298 "2-" "4-2"
		     "2,,x" "2-4,1" 0x4 always)
	elif [[ $file == *_kb ]]; then
		bad=(x $'\n' " " -4 +4 2 6 32772 4294967300 64K 0x40 "64 128" "64,")
	else
		bad=(x "[always]" "-1" "2-" "always never" "nevermore" " ")
	fi
	for word in "${bad[@]}"; do
		refuses "$file" "$word" || ok=1
	done
	return $ok
}

# is FILE VALUE
is()
{
	get "$SYSFS/$1"
	[ "$value" == "$2" ] && return
	say "$1 is '$value', not '$2'"
	return 1
}

# What a machine has that nobody has configured.
defaults()
{
	is enabled advise && is orders 2-9 && is vma/heap/orders 2-9 &&
		is vma/mmap/orders 2-9 && is vma/stack/orders "" &&
		is mode fixed && is effort light && is clear/method auto &&
		is clear/cached_kb 32 && is clear/chunk_kb 128 &&
		is lazyfree/partial mark
}

# As another user, in one go: what can be written that should not.
closed_to_users()
{
	# shellcheck disable=SC2016
	writable | setpriv --reuid="$USER" --regid="$USER" --clear-groups sh -c '
		status=0
		while read -r file; do
			read -r text < "$file" || [ -z "$text" ] || status=1
			if (: > "$file") 2> /dev/null; then
				echo "# $file can be written"
				status=1
			fi
		done
		exit $status'
}

# Nothing but 0444 and, for the settings, 0644.
modes()
{
	local wrong

	wrong=$(find "$SYSFS" -type f ! -perm 444 ! -perm 644
		find "$SYSFS" -name stats -prune -o -type f -perm 444 \
			! -name features ! -name size_kb ! -name measured -print
		find "$SYSFS" -path '*/stats/*' ! -perm 444)
	[ -z "$wrong" ] && return
	say "wrong modes:" "${wrong//$'\n'/ }"
	return 1
}

# Each order's directory says its size, from 16K on; there is none for order 1.
order_dirs()
{
	local dir n page ok=0 count=0

	page=$(($(getconf PAGESIZE) / 1024))
	for dir in "$SYSFS"/order-*; do
		n=${dir##*-}
		count=$((count + 1))
		[ "$n" -ge 2 ] && [ "$(cat "$dir/size_kb")" -eq $((page << n)) ] && continue
		say "$dir: $(cat "$dir/size_kb") kB"
		ok=1
	done
	[ "$count" -gt 0 ] && [ ! -e "$SYSFS/order-0" ] && [ ! -e "$SYSFS/order-1" ] &&
		[ "$ok" -eq 0 ]
}

# Tools probe what is built in, one a line.
features()
{
	local wanted

	for wanted in process pages; do
		grep -qx "$wanted" "$SYSFS/features" || return 1
	done
	[ ! -e /sys/kernel/mm/transparent_hugepage ] ||
		grep -qx folio "$SYSFS/features" || return 1
	[ "$(uname -m)" != x86_64 ] || grep -qx clear "$SYSFS/features"
}

ktap_print_header
if [ ! -d "$SYSFS" ]; then
	ktap_skip_all "no mcpage in this kernel"
	exit "$KSFT_SKIP"
fi
if [ "$(id -u)" -ne 0 ]; then
	ktap_skip_all "needs root"
	exit "$KSFT_SKIP"
fi

TMP=$(mktemp)
trap 'rm -f "$TMP"' EXIT
mapfile -t settings < <(writable)
ktap_set_plan $((7 + 2 * ${#settings[@]}))

check "defaults" defaults
check "modes" modes
check "order_dirs" order_dirs
check "features" features
check "no_settings_for_users" closed_to_users
if [ -d "${ABI%/*}" ]; then
	check "abi_documentation" abi_matches
else
	ktap_test_skip "abi_documentation: not in a kernel tree"
fi
check "settings_exist" test "${#settings[@]}" -ge 8
for file in "${settings[@]}"; do
	check "round_trip ${file#"$SYSFS"/}" round_trip "$file"
	check "bad_writes ${file#"$SYSFS"/}" bad_writes "$file"
done
ktap_finished
