#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What is made of the benchmarks' figures: pairs, tables, and the gate's verdict.
# shellcheck source=tap.sh
. "$(dirname "$0")/tap.sh"

report=$top/tools/mcpagebench/report

# run KERNEL CASE:CONFIG:ORDER:VALUE...: what a program printed there, on a line
run() {
	local kernel=$1 result
	shift
	for result; do
		IFS=: read -r case config order value <<<"$result"
		jq -n --arg case "$case" --arg config "$config" \
			--argjson order "$order" --argjson value "$value" \
			'{case: $case, config: $config, order: $order, per: "page", value: $value}'
	done | jq -cs --arg kernel "$kernel" '{kernel: $kernel,
		doc: {kernel: "6.12.1-\($kernel)", results: .}}'
}

pair() {
	jq -s -f "$report/pair.jq" --arg name toy --arg command 'guest toy' \
		--argjson icount "${1:-true}"
}

value() { jq -r ".results[] | select(.kernel == \"$1\" and .config == \"$2\") | .$3"; }

# verdict EXPECTED LIMITS MEASURED: the gate's, of lines
verdict() {
	jq -rn -f "$report/check.jq" --rawfile expected <(printf '%b\n' "$1") \
		--rawfile limits <(printf '%b\n' "$2") \
		--rawfile measured <(printf '%b\n' "$3") >tap
	! grep -q '^not ok' tap
}

t_ratio_is_to_the_same_order() {
	{
		run base w:single:0:100 w:mthp:4:50
		run mcpage w:never:0:110 w:folio:4:60 w:pages:4:75
	} | pair >pairs
	same "$(value mcpage never ratio <pairs)" 1.1
	same "$(value mcpage folio ratio <pairs)" 1.2
	same "$(value mcpage pages ratio <pairs)" 1.5
}

# Each way to free a part is compared with the one way of the base kernel.
t_ratio_of_freed_parts() {
	{
		run base free_half:mthp:4:2000 free_half:mthp:9:1000
		run mcpage free_half:folio_mark:4:200 free_half:folio_mark:9:150 \
			free_half:folio_zap:4:300 free_half:folio_split:4:1000
	} | pair >pairs
	same "$(value mcpage folio_mark ratio <pairs)" $'0.1\n0.15'
	same "$(value mcpage folio_zap ratio <pairs)" 0.15
	same "$(value mcpage folio_split ratio <pairs)" 0.5
}

t_table_of_freed_parts() {
	{
		run base madvise_free:single:0:800 madvise_free:mthp:4:90 \
			free_half:mthp:4:2000 free_half_refault:mthp:4:2010
		run mcpage madvise_free:unused:0:800 madvise_free:folio:4:45 \
			free_half:folio_mark:4:200 free_half_refault:folio_mark:4:210 \
			free_half_refault:folio_split:4:1005
	} | pair | jq '.bench = "lazyfree" | .results |= map(
		if .case | endswith("_refault") then .faults = 0.5
		elif .case == "free_half" then .present_kib = 32768 else . end)' |
		jq -s . >docs
	jq -r -f "$report/report.jq" --arg format markdown docs >tables
	grep -qxF '| block | base | mainline | folio | to base |' tables
	grep -qxF '| 4K | 800.0 | not run | 800.0 | +0.00% |' tables
	grep -qxF '| 64K | 90.0 | not run | 45.0 | -50.00% |' tables
	grep -qxF '| block | base | mainline | mark | to base | zap | to base | split | to base |' tables
	grep -qxF '| 64K | 2000.0 | not run | 200.0 | -90.00% | - | - | - | - |' tables
	grep -qxF '| free_half_refault | 64K | 0.500 | not run | 0.500 | - | 0.500 |' tables
	grep -qxF '| free_half | 64K | 32.0 | not run | 32.0 | - | - |' tables
}

t_ratio_where_no_block_is_free() {
	{
		run base fragmented_write:single:0:100 fragmented_write:mthp:9:400
		run mcpage fragmented_write:folio:9:120
	} | pair >pairs
	same "$(value mcpage folio ratio <pairs)" 1.2
}

t_ratio_of_the_adaptive_mode() {
	{
		run base sequential:single:0:200 sequential:thp_2M:9:100 \
			one_in_33:single:0:50 one_in_33:thp_2M:9:1000
		run mcpage sequential:adaptive:9:101 one_in_33:adaptive:9:51
	} | pair >pairs
	same "$(value mcpage adaptive ratio <pairs)" $'1.01\n1.02'
}

# Patterns and programs are one table, though they name things in their own ways.
t_table_of_the_adaptive_mode() {
	local bench

	for bench in adaptive redis; do
		case $bench in
		adaptive)
			run base up:single:0:9 up:thp_2M:9:3
			run mcpage up:single:0:8 up:folio_64K:4:5 up:adaptive:9:4
			;;
		redis)
			run base redis:single:0:90 redis:mthp:9:30 redis:mthp_upto:4:7
			run mcpage redis:never:0:80 redis:folio:4:50 redis:adaptive:9:40
			;;
		esac | pair | jq --arg bench $bench '.bench = $bench |
			.results |= map(. + {faults: .value, rss_kib: .value, blocks: {}})'
	done | jq -s . >docs
	jq -r -f "$report/report.jq" --arg format markdown docs >tables
	grep -qxF '| pattern | base single | base thp 2M | mcpage single | mcpage folio 64K | mcpage adaptive |' tables
	grep -qxF '| up | 9 | 3 | 8 | 5 | 4 |' tables
	grep -qxF '| redis | 90 | 30 | 80 | 50 | 40 |' tables
}

# clear_doc: what clear printed on a CPU, for two extents
clear_doc() {
	jq -n 'def results($case; $extent; $linux; $clzero; $mcpage):
			{"6.12": $linux, rep_stosb: $linux, clzero: $clzero, mcpage: $mcpage} |
			to_entries | map({case: $case, config: .key, extent: $extent,
				value: .value, ratio: (.value / $linux)});
		{cpu: "Toy CPU", family: 25, model: 1,
		 chosen: [{extent: 4096, method: "rep_stosb", near_method: "rep_stosb"},
			  {extent: 2097152, method: "clzero", near_method: "rep_stosb"}],
		 results: (results("clear"; 4096; 14.04; 18; 14.1) +
			results("clear"; 2097152; 15; 47.5; 46.5) +
			results("clear_and_read"; 4096; 11; 4; 10.5) +
			results("clear_and_read"; 2097152; 10; 13; 13.46))}'
}

t_table_of_clearing() {
	clear_doc | jq '[{bench: "clear", command: "bin/clear", icount: false,
		kernels: {}} + .]' >docs
	jq -r -f "$report/report.jq" --arg format markdown docs >tables
	grep -qF 'Processor: Toy CPU, family 25, model 1.' tables
	fails grep -F Kernels: tables
	same "$(grep '^|' tables)" \
'| extent | 6.12 | rep stosb | clzero | mcpage | to 6.12 | chosen |
|---|---|---|---|---|---|---|
| 4K | 14.0 | 14.0 | 18.0 | 14.1 | 1.00x | rep stosb |
| 2M | 15.0 | 15.0 | 47.5 | 46.5 | 3.10x | clzero, rep stosb near the fault |
| extent | 6.12 | rep stosb | clzero | mcpage | to 6.12 | chosen |
|---|---|---|---|---|---|---|
| 4K | 11.0 | 11.0 | 4.0 | 10.5 | 0.95x | rep stosb |
| 2M | 10.0 | 10.0 | 13.0 | 13.5 | 1.35x | clzero, rep stosb near the fault |'
	jq -r -f "$report/report.jq" --arg format plots docs >documents
	same "$(jq -r '"\(.file) \(.unit)"' documents)" \
		$'clear-clear GB/s\nclear-clear_and_read GB/s'
	same "$(jq -rs '.[1].data' documents)" \
		$'extent\t6.12\trep_stosb\tclzero\tmcpage\n4K\t11\t11\t4\t10.5\n2M\t10\t10\t13\t13.46'
}

t_repeats() {
	{
		for i in 30 10 20; do
			run base "w:single:0:$i"
			run mcpage "w:never:0:$((i * 2))"
		done
	} | pair false >pairs
	same "$(value base single value <pairs)" 20
	same "$(value mcpage never value <pairs)" 40
	same "$(value mcpage never min <pairs)" 20
	same "$(value mcpage never max <pairs)" 60
	same "$(value mcpage never ratio <pairs)" 2
}

t_kernel_that_was_not_run() {
	{
		run base w:single:0:100 w:mthp:4:50
		run mcpage w:unused:0:100 w:folio:4:50.5
	} | pair | jq -s . >docs
	jq -r -f "$report/report.jq" --arg format markdown docs >tables
	grep -qF '| 64K | 50.0 | not run | 50.5 | +1.00% |' tables
	jq -r -f "$report/report.jq" --arg format plots docs | jq -r .data >data
	same "$(cat data)" $'block\tbase\tfolio\n4K\t100\t100\n64K\t50\t50.5'
	{
		run base w:single:0:100 w:mthp:4:50
		run mcpage w:unused:0:100 w:folio:4:50.5
		run mainline w:single:0:90 w:mthp:4:45
	} | pair | jq -s . >docs
	jq -r -f "$report/report.jq" --arg format markdown docs >tables
	grep -qF '| 64K | 50.0 | 45.0 | 50.5 | +1.00% |' tables
	jq -r -f "$report/report.jq" --arg format rst docs >tables
	grep -qF '   "64K","50.0","45.0","50.5","+1.00%","-","-"' tables
}

t_figures() {
	{
		run base w:single:0:100 w:mthp:4:50
		run mcpage w:never:0:101 w:folio:4:60
	} | pair >pairs
	same "$(jq -rs -f "$report/figures.jq" pairs)" \
		$'toy w never 0\t101\t1.01\ntoy w folio 4\t60\t1.2'
}

t_gate_as_expected() {
	verdict 'a\t1000\t1.0' '' 'a\t1009\t1.009'
	verdict 'a\t1000\t1.0' '' 'a\t991\t0.991'
	# The base kernel has become dearer as well.
	verdict 'a\t1000\t1.0' '' 'a\t1500\t1.0'
	# A tenth more is how it is rounded.
	verdict 'a\t2.5\t1.0' '' 'a\t2.6\t1.04'
}

t_gate_off() {
	fails verdict 'a\t1000\t1.0' '' 'a\t1011\t1.011'
	fails verdict 'a\t1000\t1.0' '' 'a\t989\t0.989'
}

t_gate_missing() {
	fails verdict 'a\t1\t1.0\nb\t1\t1.0' '' 'a\t1\t1.0'
	fails verdict 'a\t1\t1.0' '' 'a\t1\t1.0\nb\t1\t1.0'
	fails verdict 'a\t1\t1.0' '' ''
}

t_gate_limit() {
	verdict 'f w folio 4\t10\t1.02' 'f w folio *\t2' 'f w folio 4\t10\t1.02'
	fails verdict 'f w folio 4\t10\t1.03' 'f w folio *\t2' 'f w folio 4\t10\t1.03'
	# It must be for something.
	fails verdict 'f w folio 4\t10\t1.02' 'f w never *\t2' 'f w folio 4\t10\t1.02'
}

t_gate_limit_below_the_base_kernel() {
	verdict 'f w folio 4\t10\t0.15' 'f w folio *\t-85' 'f w folio 4\t10\t0.15'
	grep -qF 'costs -85% beside the base kernel, at most -85%' tap
	fails verdict 'f w folio 4\t10\t0.151' 'f w folio *\t-85' 'f w folio 4\t10\t0.151'
	# No more than there.
	verdict 'f w folio 4\t10\t1' 'f w folio *\t0' 'f w folio 4\t10\t1'
	fails verdict 'f w folio 4\t10\t1.001' 'f w folio *\t0' 'f w folio 4\t10\t1.001'
}

t_gate_only_limit() {
	verdict 'a 4\t1\t1.0' 'b 4\t30\tonly' 'a 4\t1\t1.0\nb 4\t7\t1.25'
	fails verdict 'a 4\t1\t1.0' 'b 4\t30\tonly' 'a 4\t1\t1.0\nb 4\t7\t1.35'
}

t_committed_figures() {
	local own=$top/tools/mcpagebench

	# What is expected keeps the limits.
	verdict "$(<"$own/expected.tsv")" "$(grep -v 'only$' "$own/limits.tsv")" \
		"$(<"$own/expected.tsv")"
}

# At once: it builds nothing.
t_no_such_benchmark() {
	fails make -C "$top" BUILD="$PWD/build" bench-nosuch
	says "no such benchmark: nosuch"
	[ ! -e build ]
}

# Neither a guest nor a kernel is needed for it.
t_on_this_machine() {
	mkdir -p bin repo/scripts build/mcpagebench
	cp "$top"/scripts/{bench,bench-macro,lib.sh} repo/scripts
	mkdir -p repo/tools/mcpagebench
	cp -r "$report" repo/tools/mcpagebench
	clear_doc >doc
	printf '%s\n' '#!/bin/bash' "echo \"\$*\" >'$PWD/args'" "cat '$PWD/doc'" \
		>build/mcpagebench/clear
	printf '%s\n' '#!/bin/bash' >bin/make
	cp bin/make bin/gnuplot
	chmod +x bin/make bin/gnuplot build/mcpagebench/clear
	PATH=$PWD/bin:$PATH BENCH_REPEATS=3 BUILD=$PWD/build repo/scripts/bench clear
	same "$(<args)" "--rounds 3"
	same "$(jq -r .command build/bench/clear.json)" "build/mcpagebench/clear --rounds 3"
	same "$(jq .results build/bench/clear.json)" "$(jq .results doc)"
	grep -qF '## Clearing' build/bench/results.md
	echo '{"results": []}' >doc
	fails env PATH="$PWD/bin:$PATH" BUILD="$PWD/build" repo/scripts/bench clear
	says "clear measured nothing"
}

# soon CMD...: within ten seconds
soon() {
	local tries

	for ((tries = 0; tries < 100; tries++)); do
		! "$@" || return 0
		sleep 0.1
	done
	echo "not so: $*"
	return 1
}

lines() { [ "$(wc -l <"$2")" = "$1" ]; }
gone() { ! grep -qs . "/proc/$1/cmdline"; }

t_no_guest_outlives_it() {
	local pid

	mkdir -p bin repo/scripts
	cp "$top"/scripts/{bench,bench-macro,lib.sh} repo/scripts
	# shellcheck disable=SC2016 # for the guest
	printf '%s\n' '#!/bin/bash' 'echo $$ >>"$BUILD/../pids"' 'exec sleep 600' \
		>repo/scripts/guest
	echo '#!/bin/bash' >bin/make
	chmod +x bin/make repo/scripts/guest
	: >pids
	PATH=$PWD/bin:$PATH BUILD=$PWD/build repo/scripts/bench --check &
	pid=$!
	soon lines 2 pids
	# Not its process group, as ^C does.
	kill "$pid"
	for pid in $(<pids); do
		soon gone "$pid" || { xargs kill <pids; return 1; }
	done
}

run_tests
