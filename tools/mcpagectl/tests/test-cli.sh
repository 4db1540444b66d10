#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The command line, against a fake sysfs tree and a stub of prctl().
#
#   test-cli.sh BUILD-DIR	prints TAP
#
# $ctl has prctl() stubbed, $real is the program as it is shipped.
set -u

here=$(cd "$(dirname "$0")" && pwd)
src=$here/..
build=$(cd "$1" && pwd) || exit 1
ctl=$build/tests/mcpagectl-stub
real=$build/mcpagectl
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
fake=$tmp/mcpage
out=$tmp/out err=$tmp/err
log=$tmp/log

export LC_ALL=C
export MCPAGE_STUB=ok MCPAGE_STUB_LOG=$log
count=0 failed=0

fresh()
{
	rm -rf "$fake"
	"$here/fake-sysfs" "$tmp" || exit 1
}

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
	count=$((count + 1))
	echo "ok $count $1 # SKIP $2"
}

# Run mcpagectl on the fake tree, its output into $out and $err.
ctl()
{
	"$ctl" --sysfs-root "$fake" "$@" >"$out" 2>"$err" </dev/null
}

# t NAME STATUS STDOUT STDERR ARG...: outputs are globs of the whole text
t()
{
	local name=$1 status=$2 stdout=$3 stderr=$4 got o e
	shift 4
	ctl "$@"
	got=$?
	o=$(<"$out") e=$(<"$err")
	# shellcheck disable=SC2053
	[ $got -eq "$status" ] && [[ $o == $stdout ]] && [[ $e == $stderr ]]
	local good=$?
	[ $good -eq 0 ] || echo "# status $got, expected $status"
	ok $good "$name"
}

# json NAME EXPRESSION: of the document in $out, as the Python object d
json()
{
	python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(0 if eval("(" + sys.argv[2] + ")") else 1)' "$out" "$2" 2>>"$err"
	ok $? "$1"
}

content() # NAME FILE EXPECTED
{
	[ "$(<"$fake/$2")" = "$3" ]
	ok $? "$1"
}

test_status()
{
	fresh
	t 'status' 0 '*enabled   advise (or always, never)
orders    16K-2M
  heap    16K-2M
  stack   none
*policy    none for this process
features  fault prctl sysfs*Inactive:
  stack: its set of orders is empty
*enabled is advise*mode adaptive: this kernel does not have it' '' status
	t 'status --json' 0 '*' '' status --json
	json 'status: system' 'd["enabled"] == "advise" and d["page_size"] == 4096
		and d["orders"] == d["valid_orders"] == list(range(2, 10))'
	json 'status: classes' 'd["classes"]["stack"] == {"orders": [], "effective": []}
		and d["classes"]["mmap"]["effective"] == d["orders"]'
	json 'status: choices' '(d["mode"], d["backing"], d["effort"])
		== ("fixed", "folio", "light")'
	json 'status: features' 'd["features"] == ["fault", "prctl", "sysfs"]'
	json 'status: no policy' 'd["policy"] is None'
	json 'status: inactive' '[i["what"] for i in d["inactive"]]
		== ["stack", "memory without a policy", "mode adaptive"]'
	t 'status --pretty is indented' 0 '{
  "enabled": "advise",*' '' -p status

	MCPAGE_STUB=sealed t 'status shows the policy' 0 \
		'*policy    16K-64K for this process, sealed*' '' status
	MCPAGE_STUB=sealed t 'status --json with a policy' 0 '*' '' status -j
	json 'status: policy' 'd["policy"] == {"value": 0x3001c, "orders": [2, 3, 4],
		"inherit": True, "seal": True, "adaptive": False}'
	MCPAGE_STUB=none t 'status without prctl' 0 'enabled*' '' status

	echo 'always advise [never]' >"$fake/enabled"
	t 'status: off' 0 '*all: enabled is never*' '' status
	echo '[always] advise never' >"$fake/enabled"
	echo >"$fake/orders"
	t 'status: empty system set' 0 "*orders    none*all: the system's set*" \
		'' status
	echo 2 >"$fake/orders"
	echo 4 >"$fake/vma/heap/orders"
	t 'status: disjoint class set' 0 \
		"*heap: its set has no order of the system's*" '' status
	echo '[pages]' >"$fake/backing"
	t 'status: no THP' 0 \
		'*backing folio: this kernel is built without transparent huge pages*' \
		'' status
	rm "$fake/mode" "$fake/features"
	t 'status: files that a kernel lacks' 0 '*mode adaptive*' '' status
	t 'the same, --json' 0 '*"mode":null*"features":\[\]*' '' status -j

	echo bogus list >"$fake/orders"
	t 'status: bad order set' 1 '' "mcpagectl: orders holds 'bogus list'*" \
		status
	fresh
	echo 'always advise' >"$fake/enabled"
	t 'status: no active choice' 1 '' \
		"mcpagectl: enabled holds 'always advise'*" status
	rm "$fake/enabled"
	t 'status: no enabled' 1 '' '*no mcpage file*' status
}

test_features()
{
	fresh
	t 'features' 0 'fault
prctl
sysfs' '' features
	t 'features --json' 0 '{"features":\["fault","prctl","sysfs"\]}' '' \
		features -j
	: >"$tmp/empty" && cp -f "$tmp/empty" "$fake/features"
	t 'features: none' 0 '' '' features
	rm "$fake/features"
	t 'features: no file' 1 '' "*no mcpage file 'features'*" features
}

test_get()
{
	local file

	fresh
	t 'get a choice' 0 'advise' '' get enabled
	t 'get a choice --json' 0 \
		'{"file":"enabled","value":"advise","choices":\["always","advise","never"\]}' \
		'' get enabled --json
	t 'get orders' 0 '16K-2M' '' get orders
	t 'get orders --json' 0 \
		'{"file":"orders","value":\[2,3,4,5,6,7,8,9\]}' '' get -j orders
	t 'get an empty set' 0 'none' '' get vma/stack/orders
	t 'get an empty set --json' 0 '*"value":\[\]}' '' -j get vma/stack/orders
	t 'get a counter' 0 '401' '' get order-4/stats/alloc
	t 'get a counter --json' 0 '*"value":401}' '' -j get order-4/stats/alloc
	t 'get a size' 0 '64' '' get order-4/size_kb
	t 'get lines --json' 0 '*"value":\["fault","prctl","sysfs"\]}' '' \
		-j get features
	echo 'some thing' >"$fake/later"
	t 'get an unknown file' 0 'some thing' '' get later
	t 'get an unknown file --json' 0 '*"value":"some thing"}' '' get later -j
	t 'get: no file' 2 '' '*one file is needed*' get
	t 'get: two files' 2 '' '*one file is needed*' get enabled orders
	for file in nope '' .. ../mcpage/enabled /etc/passwd vma \
		vma/../enabled order-4/stats/.. enabled/x; do
		t "get '$file' is refused" 1 '' \
			"mcpagectl: this kernel has no mcpage file '$file'; the settings are *" \
			get "$file"
	done
	mkfifo "$fake/fifo"
	t 'get does not block on a FIFO' 1 '' '*no mcpage file*' get fifo
	t 'get nope --json' 1 '{"error":"this kernel has no mcpage file '"'nope'"'*"}' \
		'mcpagectl: *' get nope --json
	# Longer than any path, and than any buffer.
	t 'get a very long name' 1 '' '*no mcpage file*' \
		get "$(printf 'x%.0s' {1..5000})"
	printf 'y%.0s' {1..9000} >"$fake/long"
	t 'get a long value' 0 "$(<"$fake/long")" '' get long
	printf 'not a set' >"$fake/vma/heap/orders"
	t 'get what is no order set' 0 'not a set' '' get vma/heap/orders
	t 'the same, --json' 0 '*"value":"not a set"}' '' -j get vma/heap/orders
	chmod 0644 "$fake/order-4/size_kb"
	echo -5x >"$fake/order-4/size_kb"
	t 'get what is no number --json' 0 '*"value":"-5x"}' '' \
		-j get order-4/size_kb
	echo 'a [b] [c]' >"$fake/effort"
	t 'get what is no choice' 0 'a \[b\] \[c\]' '' get effort
	t 'the same, --json' 0 '*"value":"a \[b\] \[c\]"}' '' -j get effort
}

test_set()
{
	fresh
	t 'set a choice' 0 '' '' set enabled always
	content 'it is written' enabled always
	fresh
	t 'set a choice --json' 0 '{"file":"enabled","value":"never"*}' '' \
		set enabled never --json
	t 'set a class to sizes' 0 '' '' set vma/stack/orders 64K
	content 'it is written as an order' vma/stack/orders 4
	t 'set a list' 0 '' '' set orders 16K,64K
	content 'it is written' orders 2,4
	t 'set a range' 0 '' '' set orders 2-4,2M
	content 'it is written' orders 2-4,9
	t 'set all' 0 '' '' set orders all
	content 'it is written' orders 2-9
	t 'set none' 0 '' '' set orders none
	content 'it is written as an empty line' orders ''
	t 'set 4K is none' 0 '' '' set orders 4K
	content 'it is written as an empty line' orders ''
	t 'what get prints can be set' 0 '' '' set orders "$(ctl get orders
		cat "$out")"

	fresh
	t 'set a bad size' 2 '' \
		"mcpagectl: '48K' is no block size; valid here are 16K, * (orders 2-9), or none" \
		set orders 48K
	t 'set 8K' 2 '' "mcpagectl: '8K' is no block size;*" set orders 8K
	t 'set order 1' 2 '' "mcpagectl: '1' is no valid order;*" set orders 1
	content 'the old value stays' orders 2-9
	t 'set a bad choice' 2 '' \
		"mcpagectl: 'on' is no value of enabled here; valid are always, advise, never" \
		set enabled on
	t 'set a bad choice --json' 2 '{"error":"'"'on'"' is no value*"}' \
		'mcpagectl: *' -j set enabled on
	content 'the old value stays' enabled 'always [advise] never'
	t 'set: nothing' 2 '' '*a file and a value are needed*' set
	t 'set: no value' 2 '' '*a file and a value are needed*' set enabled
	t 'set: too much' 2 '' '*a file and a value are needed*' set enabled a b
	t 'set: no such file' 1 '' "*no mcpage file 'nope'*" set nope 1
	t 'set: outside' 1 '' "*no mcpage file '../x'*" set ../x 1
	t 'set: read only' 1 '' '*features can be read only' set features x
	t 'set: two lines' 2 '' '*a value is one line' set enabled $'a\nb'
	echo 0 >"$fake/later"
	t 'set an unknown file' 0 '' '' set later 1
	content 'it is written' later 1
	t 'set: too long' 2 '' '*too long' set later "$(printf 'x%.0s' {1..2000})"
	t 'set options after the value' 0 '{*}' '' set later 0 -j
}

# As another user, the files must be refused by their mode.
test_permission()
{
	fresh
	if [ "$(id -u)" -ne 0 ]; then
		chmod 0444 "$fake/enabled"
		t 'set without permission' 1 '' '*can be read only' \
			set enabled always
		return
	fi
	chmod 0755 "$tmp"
	cp "$ctl" "$tmp/ctl"
	setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/ctl" \
		--sysfs-root "$fake" set enabled always >"$out" 2>"$err"
	[ $? -eq 1 ] && grep -q 'no permission to write' "$err"
	ok $? 'set without permission'
	setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/ctl" \
		--sysfs-root "$fake" status >"$out" 2>"$err"
	ok $? 'status without permission'
	rm "$tmp/ctl"
}

test_stats()
{
	fresh
	t 'stats' 0 'order  size  alloc  fallback  charge_failed  *  unaligned  short
    2   16K    201*    9    2M    901*total   4408*' '' stats
	t 'stats --json' 0 '*' '' stats --json
	json 'stats: orders' '[o["order"] for o in d["orders"]] == list(range(2, 10))'
	json 'stats: an order' 'd["orders"][2] == dict(order=4, size=65536, alloc=401,
		fallback=402, charge_failed=403, page_table_populated=404,
		unstable_address_space=405, unaligned=406, short=407)'
	json 'stats: total' 'len(d["total"]) == 7 and all(
		d["total"][k] == sum(o[k] for o in d["orders"]) for k in d["total"])'
	echo 18446744073709551615 >"$fake/order-2/stats/newer"
	t 'stats: a counter that is not known' 0 '*newer
*18446744073709551615
*-
*' '' stats
	chmod 0644 "$fake/order-3/stats/alloc"
	echo many >"$fake/order-3/stats/alloc"
	t 'stats: no number' 1 '' \
		"*order-3/stats/alloc holds 'many', which is no number" stats
	rm -r "$fake"/order-*
	t 'stats: no orders' 0 'order  size
      total' '' stats
	t 'stats: no orders --json' 0 '{"orders":\[\],"total":{}}' '' stats -j
	t 'stats: an argument' 2 '' "*takes no argument, but got 'x'" stats x
}

logged() # NAME VALUE
{
	[ "$(<"$log")" = "$2" ]
	ok $? "$1"
	rm -f "$log"
}

test_run()
{
	local pid exe

	fresh
	t 'run' 0 'hello' '' run --orders 16K,64K -- echo hello
	logged 'it sets orders and inherit' 0x10014
	t 'run --max' 0 '' '' run --max 64K true
	logged 'it sets all up to it' 0x1001c
	t 'run --inherit' 0 '' '' run --inherit --orders 2M -- true
	logged 'the same with and without' 0x10200
	t 'run --seal --adaptive' 0 '' '' run --seal --adaptive --max 2 -- true
	logged 'it sets the flags' 0x70004
	t 'run with neither' 0 '' '' run -- true
	logged 'it sets each valid order' 0x103fc
	for none in none 0 4K; do
		t "run --orders $none" 0 '' '' run --orders $none -- true
		logged 'it sets the empty set' 0x10000
		t "run --max $none" 0 '' '' run --max $none -- true
		logged 'it sets the empty set' 0x10000
	done
	t 'run --orders=LIST' 0 '' '' run --orders=2-4 -- true
	logged 'it sets them' 0x1001c

	t 'run: arguments' 0 '<a b><><-j><--help><--><*>' '' \
		run --orders 64K -- printf '<%s>' 'a b' '' -j --help -- '*'
	t 'run without --' 0 '<-p>' '' run --orders 64K printf '<%s>' -p
	env -i MCPAGE_STUB=ok 'A=b c' X= "$ctl" --sysfs-root "$fake" \
		run --orders 64K -- /usr/bin/env >"$out" 2>"$err"
	[ "$(<"$out")" = $'MCPAGE_STUB=ok\nA=b c\nX=' ]
	ok $? 'run: environment'
	echo input | "$ctl" --sysfs-root "$fake" run -- cat >"$out" 2>"$err"
	[ "$(<"$out")" = input ]
	ok $? 'run: standard input'
	# shellcheck disable=SC2016
	"$ctl" --sysfs-root "$fake" run -- sh -c 'echo $$' >"$out" 2>"$err" &
	pid=$!
	wait $pid
	[ "$(<"$out")" = $pid ]
	ok $? 'run: the pid is the same'
	"$ctl" --sysfs-root "$fake" run -- sleep 60 >"$out" 2>"$err" &
	pid=$!
	# Not before it has become sleep: a signal then is no different, but
	# would not test it.
	exe=$(readlink -f "$(command -v sleep)")
	until [ "$(readlink /proc/$pid/exe)" = "$exe" ]; do
		sleep 0.01
	done
	kill -TERM $pid
	wait $pid 2>/dev/null
	[ $? -eq 143 ]
	ok $? 'run: a signal reaches it'

	t 'run: exit status' 7 '' '' run -- sh -c 'exit 7'
	# shellcheck disable=SC2016
	t 'run: killed' 143 '' '*' run -- sh -c 'kill -TERM $$' 2>/dev/null
	t 'run: not found' 127 '' "mcpagectl: cannot run '/nope': No such*" \
		run -- /nope
	t 'run: not found in PATH' 127 '' "mcpagectl: cannot run 'no-such-cmd'*" \
		run -- no-such-cmd
	t 'run: a directory' 126 '' "mcpagectl: cannot run '/': Permission*" \
		run -- /
	t 'run: no program' 126 '' "mcpagectl: cannot run '*': Permission*" \
		run -- "$fake/enabled"
	t 'run: not found --json' 127 '{"error":"cannot run*"}' 'mcpagectl: *' \
		-j run -- /nope
	t 'run: no command' 2 '' '*needs a command to start*' run
	t 'run: no command after options' 2 '' '*needs a command*' \
		run --orders 64K --
	t 'run: no argument' 2 '' "*'--orders' needs an argument*" run --orders
	t 'run: bad list' 2 '' "mcpagectl: '48K' is no block size;*" \
		run --orders 48K -- true
	t 'run: order 1' 2 '' "mcpagectl: '1' is no valid order;*" \
		run --orders 1 -- true
	t 'run: bad max' 2 '' "mcpagectl: '16K,64K' is no size*" \
		run --max 16K,64K -- true
	t 'run: both' 2 '' '*exclude each other' \
		run --max 64K --orders 64K -- true
	t 'run: unknown option' 2 '' "*unknown option '--size=2M'*" \
		run --size=2M -- true
	rm -f "$log"
	t 'run: abbreviated option' 2 '' "*unknown option '--seal-it'*" \
		run --seal-it -- true
	[ ! -e "$log" ]
	ok $? 'no policy was set'
}

test_run_kernels()
{
	fresh
	MCPAGE_STUB=none t 'run: old kernel' 3 '' \
		'mcpagectl: unsupported: this kernel has no mcpage' run -- echo x
	MCPAGE_STUB=none t 'run: old kernel --json' 3 \
		'{"error":"unsupported: this kernel has no mcpage"}' '*' \
		run -j -- echo x
	MCPAGE_STUB=refuse t 'run: refused' 1 '' \
		'*refuses the policy: Invalid argument' run -- echo x
	MCPAGE_STUB=denied t 'run: filtered' 1 '' \
		'*cannot ask for the policy: Operation not permitted' run -- echo x
	MCPAGE_STUB=lost t 'run: not what was set' 1 '' \
		'*policy did not take: 0x10010 was set, but the kernel has 0x10' \
		run --orders 64K -- echo x
	MCPAGE_STUB=sealed t 'run: sealed, wider' 1 '' \
		'*not permitted: the policy of this process is sealed*[(]it allows 16K-64K[)]' \
		run --orders 2M -- echo x
	MCPAGE_STUB=sealed t 'run: sealed, narrower' 0 'x' '' \
		run --orders 64K -- echo x
	logged 'the seal stays' 0x30010
	MCPAGE_STUB=fixed t 'run: no adaptive mode' 1 '' \
		'*this kernel does not have the adaptive mode' \
		run --adaptive -- echo x
	echo 'always advise [never]' >"$fake/enabled"
	t 'run: switched off' 1 '' \
		'mcpagectl: not permitted: mcpage is switched off*' run -- echo x
	echo '[always] advise never' >"$fake/enabled"
	t 'run: enabled always' 0 x '' run --orders 64K -- echo x

	fresh
	echo 2-4 >"$fake/orders"
	t 'run: the system narrows' 0 x \
		"mcpagectl: of 64K,128K the system's orders allow 64K" \
		run --orders 64K,128K -- echo x
	t 'run: the system leaves nothing' 0 x \
		"mcpagectl: of 2M the system's orders allow none" \
		run --orders 2M -- echo x
	t 'run: the system decides' 0 x '' run -- echo x
	echo 2 >"$fake/vma/mmap/orders"
	t 'run: a class narrows' 0 x \
		'mcpagectl: of 16K-64K the orders for mmap memory allow 16K' \
		run --max 64K -- echo x
	rm -r "$fake"
	t 'run: no sysfs' 0 x '' run --orders 2M -- echo x
	logged 'it sets what was asked for' 0x10200

	# Without order directories the huge page's size is the limit.
	fresh
	rm -r "$fake"/order-*
	t 'run: 2M without directories' 0 '' '' run --orders 2M -- true
	t 'run: 4M without directories' 2 '' '*no block size*' \
		run --orders 4M -- true
	mkdir "$tmp/transparent_hugepage"
	echo 4194304 >"$tmp/transparent_hugepage/hpage_pmd_size"
	echo 2-10 >"$fake/orders"
	t 'run: 4M huge pages' 0 '' '*for heap memory*' run --orders 4M -- true
	t 'run: 8M is beyond them' 2 '' '*[(]orders 2-10[)], or none' \
		run --orders 8M -- true
	rm -r "$tmp/transparent_hugepage"

	if [ "$(id -u)" -eq 0 ]; then
		cp /bin/true "$tmp/suid"
		chown 65534 "$tmp/suid"
		chmod 4755 "$tmp/suid"
		t 'run: set-uid' 0 '' '*gains privileges*without the policy' \
			run -- "$tmp/suid"
		PATH=$PATH:$tmp t 'run: set-uid in PATH' 0 '' \
			'*gains privileges*' run -- suid
	else
		skip 'run: set-uid' 'needs root'
		skip 'run: set-uid in PATH' 'needs root'
	fi
}

test_common()
{
	local cmd

	fresh
	t 'no command' 2 '' '*a command is missing*'
	t 'unknown command' 2 '' "*unknown command 'stat'*" stat
	t 'unknown command --json' 2 '{"error":"unknown command*"}' '*' stat -j
	t 'unknown option' 2 '' "*unknown option '--nope'*" --nope
	t 'unknown letter' 2 '' "*unknown option '-z'*" -z
	t 'unknown letter among others' 2 '{*}' "*unknown option '-z'*" -jz status
	t 'abbreviated option' 2 '' "*unknown option '--js'*" status --js
	t 'option that takes no argument' 2 '' "*'--json=1' takes no argument*" \
		status --json=1
	t 'option without its argument' 2 '' "*needs an argument*" status \
		--sysfs-root
	for cmd in status features 'get enabled' 'set enabled always' stats; do
		# shellcheck disable=SC2086
		MCPAGE_STUB=none t "$cmd: no mcpage" 3 '' \
			'mcpagectl: this kernel has no mcpage: * does not exist' \
			$cmd --sysfs-root "$tmp/nowhere"
		# shellcheck disable=SC2086
		t "$cmd: no sysfs" 1 '' '*is sysfs mounted?' \
			$cmd --sysfs-root "$tmp/nowhere"
	done
	MCPAGE_STUB=none t 'no mcpage --json' 3 '{"error":"*"}' '*' \
		status -j --sysfs-root "$tmp/nowhere"
	t 'version' 0 'mcpagectl [0-9]*.[0-9]*' '' version
	t 'version --json' 0 '{"version":"*"}' '' version --json
	t '--version' 0 'mcpagectl [0-9]*' '' --version
	t 'version: an argument' 2 '' '*takes no argument*' version x
	t 'help' 0 'Usage:*status*features*Exit status*' '' help
	t '--help' 0 'Usage:*status*features*' '' --help
	t '-h' 0 'Usage:*' '' -h
	t 'help for itself' 0 'Usage: mcpagectl*help*' '' \
		help 'help'
	t 'help: unknown' 2 '' "*unknown command 'nope'*" help nope
	t 'help: two' 2 '' '*takes one command' help get set
	t 'help: hidden' 2 '' '*unknown command*' help __complete
	ctl help --json
	json 'help --json' '{c["name"] for c in d["commands"]} >= {"status", "features", "get",
		"set", "run", "stats", "help", "version"}'
	for cmd in $("$ctl" __complete ''); do
		t "help $cmd" 0 "Usage: mcpagectl*$cmd*" '' help "$cmd"
		t "$cmd --help" 0 "Usage: mcpagectl*$cmd*" '' "$cmd" --help
		t "help $cmd --json" 0 "{\"name\":\"$cmd\"*}" '' help "$cmd" -j
	done
	"$ctl" --sysfs-root "$fake" status >/dev/full 2>"$err"
	[ $? -eq 1 ] && grep -q 'cannot write the output' "$err"
	ok $? 'a full standard output is a failure'
}

# The table that parses is the one that help prints; the page must have each
# command and option, and no other.
test_man_page()
{
	local page=$src/Documentation/mcpagectl.rst

	: >"$err"
	diff <("$ctl" __complete '' | sort) \
		<(sed -n '/^COMMANDS$/,/^OPTIONS$/ s/^\*\*\([a-z]*\)\*\*.*/\1/p' \
			"$page" | sort) >"$out"
	ok $? 'the manual page has each command'
	diff <("$ctl" __complete run -- | sort -u) \
		<(sed -n 's/^ *\(-[a-zA-Z], \)\{0,1\}\(--[a-z][a-z-]*\)\( [A-Z]*\)\{0,1\}$/\2/p' \
			"$page" | sort -u) >"$out"
	ok $? 'the manual page has each option'
	ctl help -j
	python3 - "$out" "$page" 2>"$err" <<-'PYTHON'
	import json, re, sys
	page = re.sub(r"\s+", " ", open(sys.argv[2]).read()).lower()
	bad = [c["name"] for c in json.load(open(sys.argv[1]))["commands"]
	       if c["arguments"] and re.sub(r"[*]", "", c["name"] + " " +
	       c["arguments"]).lower() not in re.sub(r"[*]", "", page)]
	sys.exit(f"arguments differ: {bad}" if bad else 0)
	PYTHON
	ok $? 'the manual page has the arguments of each command'
}

# Complete LINE as bash would; the answers are in COMPREPLY.
complete_line() # WORD...
{
	COMP_WORDS=("$ctl" "$@")
	COMP_CWORD=$#
	COMPREPLY=()
	_mcpagectl
	echo "${COMPREPLY[*]}" >"$out"
}

c() # NAME EXPECTED WORD...
{
	local name=$1 expected=$2
	shift 2
	complete_line --sysfs-root "$fake" "$@" 2>"$err"
	# shellcheck disable=SC2053
	[[ $(<"$out") == $expected ]]
	ok $? "completion: $name"
}

test_completion()
{
	fresh
	# shellcheck source=../bash-completion/mcpagectl
	. "$src/bash-completion/mcpagectl"
	c 'commands' 'status features get set run stats help version' ''
	c 'a command' 'status stats' sta
	c 'no hidden command' '' __
	c 'common options' '--json' --j
	c 'command options' '--orders' run --o
	c 'files' '*enabled*features*order-9/stats/alloc*' get ''
	c 'settings only' \
		'backing effort enabled mode orders vma/heap/orders * vma/stack/orders' \
		set ''
	c 'a choice' 'always advise never' set enabled ''
	c 'orders' '16K 32K 64K 128K 256K 512K 1M 2M none all' set orders ''
	c 'option argument' '16K 128K 1M' run --max 1
	c 'option argument after =' '16K' run --orders = 16
	c 'option argument after = at once' '16K *' run --orders =
	c 'commands for help' 'get' help g
	c 'directories' "$fake/vma" --sysfs-root "$fake/v"
	c 'programs' '*sleep*' run --orders 16K -- slee
	c 'programs without --' '*sleep*' run --orders 16K slee
	c "a program's words" "$fake/enabled" run -- cat "$fake/en"
	c 'nothing more' '' get enabled ''
	c 'unknown command' '' nope ''
}

# Alone, as in an initramfs; not for the sanitized build, which is dynamic.
test_static()
{
	: >"$out"
	: >"$err"
	if readelf -s "$real" | grep -q __asan_init; then
		skip 'static' 'sanitized build'
		skip 'alone in a root' 'sanitized build'
		return
	fi
	! readelf -l "$real" | grep -q INTERP
	ok $? 'static'
	if [ "$(id -u)" -ne 0 ]; then
		skip 'alone in a root' 'needs root'
		return
	fi
	mkdir "$tmp/root"
	cp "$real" "$tmp/root/mcpagectl"
	chroot "$tmp/root" /mcpagectl version >"$out" 2>"$err"
	ok $? 'alone in a root'
}

test_install()
{
	local files

	: >"$out"
	if readelf -s "$real" | grep -q __asan_init; then
		skip 'install' 'sanitized build'
		skip 'uninstall' 'sanitized build'
		return
	fi
	make -s -C "$src" O="$build" prefix=/usr DESTDIR="$tmp/inst" install \
		>"$out" 2>"$err"
	files=$(cd "$tmp/inst" && find . -type f -printf '%m %p\n' | sort)
	[ "$files" = '644 ./usr/share/bash-completion/completions/mcpagectl
644 ./usr/share/man/man8/mcpagectl.8
755 ./usr/sbin/mcpagectl' ]
	ok $? 'install'
	make -s -C "$src" O="$build" prefix=/usr DESTDIR="$tmp/inst" uninstall \
		>"$out" 2>"$err"
	[ -z "$(find "$tmp/inst" -type f)" ]
	ok $? 'uninstall'
}

test_status
test_features
test_get
test_set
test_permission
test_stats
test_run
test_run_kernels
test_common
test_man_page
test_completion
test_static
test_install
echo "1..$count"
[ $failed -eq 0 ]
