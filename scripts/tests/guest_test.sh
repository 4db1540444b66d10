#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of scripts/guest, as TAP. KERNEL (default base) is the kernel of most
# tests, DEBUG_KERNEL (default debug) the one that has LKDTM.
#
# Single quotes are for the guest's shell, and verdict calls its checks.
# shellcheck disable=SC2016,SC2317
set -u

here=$(dirname "$(realpath "$0")")
guest=$here/../guest
kernel=${KERNEL:-base}
debug=${DEBUG_KERNEL:-debug}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
number=0
failed=0

# verdict TEXT CONDITION...: one TAP line; the run's output explains a failure.
verdict()
{
	local text=$1

	shift
	number=$((number + 1))
	if "$@"; then
		echo "ok $number - $text"
		return
	fi
	failed=$((failed + 1))
	echo "not ok $number - $text"
	echo "# status $status"
	head -c 4000 "$tmp/out" | tr -d '\000' | sed 's/^/# out: /'
	tail -n 40 "$tmp/err" | sed 's/^/# err: /'
}

skip()
{
	number=$((number + 1))
	echo "ok $number - $1 # SKIP $2"
}

# run ARGS...: leaves $status, $tmp/out, $tmp/err
run()
{
	"$guest" --out "$tmp/shared" --timeout 300 "$@" \
		> "$tmp/out" 2> "$tmp/err"
	status=$?
}

is()
{
	[[ $status == "$1" && $(cat "$tmp/out") == "$2" ]]
}

# reported STATUS REGEX
reported()
{
	[[ $status == "$1" ]] && grep -qE -- "$2" "$tmp/err"
}

same_bytes()
{
	[[ $status == 0 ]] && cmp -s "$1" "$2"
}

installed()
{
	command -v "$1" > /dev/null && return
	skip "$2" "$1 is not installed"
	return 1
}

echo "TAP version 13"

# Usage and missing things, without a boot.
run
verdict "no command is a usage error" reported 2 "no command"
run --mem lots -- true
verdict "a bad size is a usage error" reported 2 "not a size"
run --swap floppy:1M -- true
verdict "a bad kind of swap is a usage error" reported 2 "neither zram"
run --icount --smp 2 -- true
verdict "--icount with two processors is a usage error" reported 2 "one processor"
run --kernel /nonexistent -- true
verdict "a missing kernel is named" reported 2 "/nonexistent"
run --no-such-option -- true
verdict "an unknown option is a usage error" reported 2 "no-such-option"
"$guest" --help > "$tmp/out" 2> "$tmp/err"
status=$?
verdict "--help documents the status of a failed guest" \
	grep -q "125 " "$tmp/out"

# Status.
run --kernel "$kernel" -- true
verdict "status 0" is 0 ""
run --kernel "$kernel" -- sh -c 'echo said >&2; exit 42'
verdict "status 42, stderr apart" reported 42 "^said$"
run --kernel "$kernel" -- sh -c 'kill -TERM $$'
verdict "killed by a signal is 128 and its number" is 143 ""
run --kernel "$kernel" -- /nonexistent/program
verdict "a missing command is 127" reported 127 "/nonexistent/program"
run --kernel "$kernel" -- /etc/passwd
verdict "a command that cannot be run is 126" reported 126 "/etc/passwd"
# A process left behind must neither hold the guest nor be waited for.
run --kernel "$kernel" -- sh -c 'sleep 1000 & echo said'
verdict "a process left behind does not hang the guest" is 0 said

# Arguments, output, input.
args=(a "b c" "" "it's" '"quoted"' $'two\nlines' "\$HOME" "*" 'back\slash' "é")
printf '<%s>' "${args[@]}" > "$tmp/want"
run --kernel "$kernel" -- printf '<%s>' "${args[@]}"
verdict "arguments survive as they are" same_bytes "$tmp/want" "$tmp/out"
head -c 3000000 /dev/urandom > "$tmp/random"
mkdir -p "$tmp/shared"
cp "$tmp/random" "$tmp/shared/random"
run --kernel "$kernel" -- cat /mnt/out/random
verdict "stdout is binary clean" same_bytes "$tmp/random" "$tmp/out"
"$guest" --kernel "$kernel" --out "$tmp/shared" --stdin -- cat \
	< <(cat "$tmp/random") > "$tmp/out" 2> "$tmp/err"
status=$?
verdict "--stdin from a pipe is binary clean" same_bytes "$tmp/random" "$tmp/out"
"$guest" --kernel "$kernel" --out "$tmp/shared" --stdin -- cat \
	< "$tmp/random" > "$tmp/out" 2> "$tmp/err"
status=$?
verdict "--stdin from a file is binary clean" same_bytes "$tmp/random" "$tmp/out"
run --kernel "$kernel" -- cat
verdict "without --stdin there is no input" is 0 ""

# Files.
cd "$tmp" || exit 1
run --kernel "$kernel" -- pwd
verdict "the current directory is the caller's, below /tmp too" is 0 "$tmp"
cd "$here/../.." || exit 1
run --kernel "$kernel" -- sh -c 'pwd; cat scripts/guest-init.c | cksum'
verdict "the repository is where it is on the host" \
	is 0 "$PWD
$(cksum < scripts/guest-init.c)"
rm -f "$tmp/shared/written"
run --kernel "$kernel" -- \
	sh -c 'echo text > "$GUEST_OUT/written"; chmod 600 "$GUEST_OUT/written"'
verdict "\$GUEST_OUT is shared with the host" \
	test "$status:$(stat -c %a "$tmp/shared/written"):$(< "$tmp/shared/written")" = 0:600:text
run --kernel "$kernel" -- sh -c '
	for dir in /tmp /run /var/tmp "$HOME" /root; do
		echo text > "$dir/mcpage-guest-test" || exit 1
	done
	! touch /etc/mcpage-guest-test'
verdict "scratch directories take writes, the host's files do not" is 0 ""
verdict "and nothing reaches the host" test ! -e /tmp/mcpage-guest-test \
	-a ! -e "$HOME/mcpage-guest-test"
verdict "the kernel's log is kept" grep -q "Linux version" "$tmp/shared/console.log"

# A normal Linux.
run --kernel "$kernel" --mem 1G --smp 2 -- sh -ec '
	test "$(nproc)" = 2
	grep -q "^0::/" /proc/self/cgroup
	mkdir /sys/fs/cgroup/test
	echo 20M > /sys/fs/cgroup/test/memory.max
	test "$(cat /sys/fs/cgroup/test/memory.max)" = 20971520
	echo 10 > /sys/fs/cgroup/test/pids.max
	test -d /sys/kernel/debug/extfrag
	test -d /sys/kernel/tracing/events/kmem
	test -r /proc/self/smaps_rollup
	test -r /proc/sys/vm/overcommit_memory
	test -c /dev/pts/ptmx
	test -e /dev/fd/0
	test -w /dev/shm
	test -d /sys/kernel/mm/transparent_hugepage
	test -d /dev/hugepages
	id -u'
verdict "cgroup2, debugfs, tracefs, proc, dev" is 0 0
run --kernel "$kernel" -- sh -c '
	mkdir /sys/fs/cgroup/t && echo 16M > /sys/fs/cgroup/t/memory.max &&
	echo $$ > /sys/fs/cgroup/t/cgroup.procs &&
	exec dd if=/dev/zero of=/dev/null bs=64M count=1 2> /dev/null'
verdict "a memory cgroup kills what exceeds it" test "$status" = 137
run --kernel "$kernel" --swap zram:64M --swap disk:32M -- \
	awk 'NR > 1 { print $1, $3 }' /proc/swaps
verdict "swap on zram and disk" is 0 "/dev/zram0 65532
/dev/vda 32764"
run --kernel "$kernel" --numa 2 -- cat /sys/devices/system/node/online
verdict "--numa 2" is 0 0-1
run --kernel "$kernel" --append "mcpage_word=1 quiet" -- \
	grep -o 'mcpage_word=1 quiet' /proc/cmdline
verdict "--append" is 0 "mcpage_word=1 quiet"
LOCAL=x run --kernel "$kernel" --env LOCAL --env "GIVEN=a b" -- \
	sh -c 'echo "$LOCAL,$GIVEN"'
verdict "--env hands on and sets" is 0 "x,a b"
if installed python3 "python3 runs"; then
	run --kernel "$kernel" -- python3 -c '
import mmap, os, socket, threading, multiprocessing
mmap.mmap(-1, 1 << 21).madvise(mmap.MADV_HUGEPAGE)
os.memfd_create("x")
with multiprocessing.Pool(2) as pool:
    print(sum(pool.map(abs, [-1, -2])))'
	verdict "python3 runs" is 0 3
fi
if installed gcc "gcc compiles a program that runs"; then
	echo 'int main(void) { return 7; }' > "$tmp/seven.c"
	cd "$tmp" || exit 1
	run --kernel "$kernel" -- sh -c 'gcc -O2 -o /tmp/seven seven.c; /tmp/seven'
	cd "$here/../.." || exit 1
	verdict "gcc compiles a program that runs" is 7 ""
fi
if installed redis-server "redis answers its benchmark on loopback"; then
	run --kernel "$kernel" -- sh -c '
		cd /tmp
		redis-server --version >&2
		redis-server --save "" --daemonize yes > /dev/null
		for try in 1 2 3 4 5 6 7 8 9; do
			redis-cli ping > /dev/null 2>&1 && break
			sleep 0.3
		done
		redis-benchmark -q --csv -t set -n 2000 -c 5 | grep -c SET'
	verdict "redis answers its benchmark on loopback" is 0 1
fi

# Instructions as time.
cat > "$tmp/count.c" << 'EOF'
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int main(void)
{
	long long start = now(), spin, fault;
	volatile char *p;

	for (volatile int i = 0; i < 1000000; i++)
		;
	spin = now() - start;
	p = mmap(0, 64 << 20, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	start = now();
	for (long i = 0; i < 64 << 20; i += 4096)
		p[i] = 1;
	fault = now() - start;
	printf("%lld %lld\n", spin, fault);
	return 0;
}
EOF
if installed gcc "--icount gives the same figures twice"; then
	gcc -O1 -o "$tmp/shared/count" "$tmp/count.c"
	run --kernel "$kernel" --icount -- /mnt/out/count
	cp "$tmp/out" "$tmp/first"
	run --kernel "$kernel" --icount -- /mnt/out/count
	verdict "--icount gives the same figures twice" \
		same_bytes "$tmp/first" "$tmp/out"
	echo "# $(cat "$tmp/first")"
fi

# Failures.
run --kernel "$kernel" -- sh -c 'echo before; echo c > /proc/sysrq-trigger'
verdict "a panic is a failure, its report shown" \
	reported 125 "Kernel panic - not syncing: sysrq triggered crash"
run --kernel "$kernel" --timeout 10 -- sleep 1000
verdict "a hang is a failure" reported 125 "timeout after 10 s"
run --kernel "$kernel" --append init=/nonexistent -- true
verdict "a guest that cannot start is a failure" reported 125 "Kernel panic"
run --kernel "$kernel" -- sh -c 'echo b > /proc/sysrq-trigger; sleep 100'
verdict "no verdict is a failure" reported 125 "without a verdict"
"$guest" --kernel "$kernel" --out "$tmp/shared" -- sleep 1000 \
	> "$tmp/out" 2> "$tmp/err" &
pid=$!
sleep 5
children=$(pgrep -P "$pid")
kill -TERM "$pid"
wait "$pid"
status=$?
gone()
{
	[[ $status == 143 && $children ]] && ! kill -0 "$children" 2> /dev/null
}
verdict "SIGTERM ends the guest and its QEMU" gone

# Side by side.
for i in 1 2; do
	"$guest" --kernel "$kernel" --out "$tmp/shared" --swap disk:16M -- \
		sh -c "echo $i; sleep 2; exit 1$i" > "$tmp/out$i" 2> "$tmp/err" &
	eval "pid$i=\$!"
done
# shellcheck disable=SC2154
wait "$pid1"
one=$?
# shellcheck disable=SC2154
wait "$pid2"
status=$one,$?
verdict "two guests do not collide" \
	test "$status,$(cat "$tmp/out1" "$tmp/out2" | tr '\n' ,)" = 11,12,1,2,

# The debug kernel.
lkdtm=/sys/kernel/debug/provoke-crash/DIRECT
run --kernel "$debug" -- cat /proc/sys/kernel/panic_on_warn
verdict "the debug kernel panics on a warning" is 0 1
run --kernel "$debug" -- sh -c "echo WARNING > $lkdtm; echo after"
verdict "a WARN is a failure" reported 125 "WARNING: CPU: .*lkdtm_WARNING"
run --kernel "$debug" --append panic_on_warn=0 -- \
	sh -c "echo WARNING > $lkdtm; echo after"
verdict "also where it does not panic" reported 125 "WARNING: CPU: .*lkdtm_WARNING"
verdict "and the command went on" is 125 after
run --kernel "$debug" -- sh -c "echo BUG > $lkdtm"
verdict "a BUG is a failure" reported 125 "kernel BUG at"
run --kernel "$debug" -- sh -c "echo SLAB_LINEAR_OVERFLOW > $lkdtm"
verdict "a KASAN report is a failure" reported 125 "BUG: KASAN"
# What else is wrong with a lock that is held may be said before.
run --kernel "$debug" -- sh -c "echo SPINLOCKUP > $lkdtm; echo after"
verdict "a lockdep report is a failure" \
	test "$status:$(grep -c "WARNING: lock held when returning" \
	"$tmp/shared/console.log")" = 125:1

echo "1..$number"
exit $((failed > 0))
