#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# mcpagectl on a kernel that has mcpage, as root. Changes system settings:
# run it in a guest.
#
#   test-kernel.sh MCPAGECTL	prints TAP
set -u

ctl=$(realpath "$1") || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
chmod 0755 "$tmp"
out=$tmp/out err=$tmp/err
export LC_ALL=C
count=0 failed=0 skipped=0

ok() # STATUS NAME
{
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count $2"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $count $2"
	sed 's/^/# stdout: /' "$out"
	sed 's/^/# stderr: /' "$err"
}

skip() # NAME WHY
{
	count=$((count + 1)) skipped=$((skipped + 1))
	echo "ok $count $1 # SKIP $2"
}

# t NAME STATUS STDOUT STDERR COMMAND...: outputs are globs of the whole text
t()
{
	local name=$1 status=$2 stdout=$3 stderr=$4 got o e good
	shift 4
	"$@" >"$out" 2>"$err" </dev/null
	got=$?
	o=$(<"$out") e=$(<"$err")
	# shellcheck disable=SC2053
	[ $got -eq "$status" ] && [[ $o == $stdout ]] && [[ $e == $stderr ]]
	good=$?
	[ $good -eq 0 ] || echo "# status $got, expected $status"
	ok $good "$name"
}

# A policy as status --json shows it.
policy() # ORDERS SEAL
{
	echo "*\"policy\":{\"value\":*,\"orders\":\[$1\],\"inherit\":true,\"seal\":$2,*"
}

nobody()
{
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

# How many blocks of ORDER a command got that uses 8 MiB at once.
blocks() # ORDER CTL-ARG...
{
	local order=$1 before after
	shift
	before=$("$ctl" get "order-$order/stats/alloc") || return
	"$ctl" run "$@" -- dd if=/dev/zero of=/dev/null bs=8M count=1 \
		2>"$err" || return
	after=$("$ctl" get "order-$order/stats/alloc") || return
	echo $((after - before)) | tee "$out"
}

t 'status' 0 'enabled   advise*orders    16K-*' '' "$ctl" status
t 'status --json: no policy' 0 '{*"policy":null,*' '' "$ctl" -j status
t 'features' 0 '*process*' '' "$ctl" features
t 'stats' 0 '*alloc*total*' '' "$ctl" stats

for setting in enabled=always enabled=never orders=16K,64K orders=none \
	orders=all vma/heap/orders=32K vma/stack/orders=64K \
	vma/mmap/orders=16K-64K backing=pages effort=direct effort=never; do
	file=${setting%%=*} value=${setting#*=}
	old=$("$ctl" get "$file")
	t "set $file $value" 0 '' '' "$ctl" set "$file" "$value"
	[ "$value" != all ] || value=$old
	t "get $file" 0 "$value" '' "$ctl" get "$file"
	t "set $file to what it was" 0 '' '' "$ctl" set "$file" "$old"
	t "get $file again" 0 "$old" '' "$ctl" get "$file"
done
t 'set orders 8K' 2 '' "*'8K' is no block size*" "$ctl" set orders 8K
t 'the old value stays' 0 '16K-*' '' "$ctl" get orders

# The program that is started says what policy it has.
t 'run: the program has the policy' 0 "$(policy 2,4 false)" '' \
	"$ctl" run --orders 16K,64K -- "$ctl" -j status
t 'run: none is a policy too' 0 "$(policy '' false)" '' \
	"$ctl" run --orders none -- "$ctl" -j status
t 'run: what it starts has it' 0 "$(policy 2,3,4 false)" '' \
	"$ctl" run --max 64K -- sh -c "sh -c '$ctl -j status; :'; :"
t 'run: inside run, the later one counts' 0 "$(policy 9 false)" '' \
	"$ctl" run --orders 64K -- "$ctl" run --orders 9 -- "$ctl" -j status
t 'run: the caller has none' 0 '{*"policy":null,*' '' "$ctl" -j status
t 'run --seal' 0 "$(policy 2,4 true)" '' \
	"$ctl" run --seal --orders 2,4 -- "$ctl" -j status
t 'run: sealed, wider' 1 '' '*not permitted*sealed*[(]it allows 64K[)]' \
	"$ctl" run --seal --orders 64K -- "$ctl" run --orders 2M -- true
t 'run: sealed, narrower stays sealed' 0 "$(policy '' true)" '' \
	"$ctl" run --seal --orders 64K -- "$ctl" run --orders 0 -- \
	"$ctl" -j status
t 'run: exit status' 7 '' '' "$ctl" run -- sh -c 'exit 7'
t 'run: not found' 127 '' '*cannot run*' "$ctl" run -- /nope

t 'run, unprivileged' 0 "$(policy 4 false)" '' \
	nobody "$ctl" run --orders 64K -- "$ctl" -j status
t 'set, unprivileged' 1 '' '*no permission to write*' \
	nobody "$ctl" set enabled always

cp "$ctl" "$tmp/suid"
chown 65534 "$tmp/suid"
chmod 4755 "$tmp/suid"
if findmnt -no OPTIONS -T "$tmp" | grep -q nosuid; then
	skip 'run: a set-uid program loses the policy' 'no set-uid here'
else
	t 'run: a set-uid program loses the policy' 0 '{*"policy":null,*' \
		'*gains privileges*' \
		"$ctl" run --orders 64K -- "$tmp/suid" -j status
fi

[ "$(blocks 4 --orders 64K)" -ge 100 ]
ok $? 'run --orders 64K: blocks of 64K'
[ "$(blocks 4 --orders none)" -eq 0 ]
ok $? 'run --orders none: no blocks'
[ "$(blocks 9 --max 2M)" -ge 2 ]
ok $? 'run --max 2M: blocks of 2M'
[ "$(blocks 9 --max 64K)" -eq 0 ]
ok $? 'run --max 64K: none of 2M'

"$ctl" set orders 16K
t 'run: the system narrows' 0 '' \
	"mcpagectl: of 16K,64K the system's orders allow 16K" \
	"$ctl" run --orders 16K,64K -- true
"$ctl" set orders all
"$ctl" set enabled never
t 'run: switched off' 1 '' '*not permitted: mcpage is switched off*' \
	"$ctl" run --orders 64K -- echo x
t 'status: switched off' 0 '*all: enabled is never*' '' "$ctl" status
"$ctl" set enabled advise

echo "1..$count"
echo "# Totals: pass:$((count - failed - skipped)) fail:$failed skip:$skipped"
[ $failed -eq 0 ]
