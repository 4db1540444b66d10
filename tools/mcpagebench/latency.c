// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long a single anonymous write fault takes, and what it costs to write
 * where no block is free.
 *
 *	latency fresh		in the memory of a guest that has just booted
 *	latency fragmented	in memory that is free in single pages only
 *	latency fragmented EFFORT	with this effort only
 *
 * Each fault is timed on its own, by CLOCK_MONOTONIC: what a program waits for is
 * also what is done in its time, by interrupts and by kswapd and kcompactd, which
 * the fault may wake. In a guest with one processor all of it shows; where the
 * clock counts instructions it is nevertheless the same in every run. "cpu_mean"
 * is the part that the process itself ran.
 *
 * The cost of writing ("fragmented_write") is by the process's own time, so that
 * it is that of the faults; "elapsed" has the rest too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "fragment.h"

/* As many faults as this, in as much memory as this, for each figure. */
#define MAX_FAULTS	(16UL << 10)
#define MAX_REGION	(256UL << 20)
/* What fragmented_write writes. */
#define WRITE_REGION	(64UL << 20)
/* More different values than this are rounded. */
#define MAX_DISTINCT	200
#define CLOCK_READS	1001
/* So many faults more may be those of pages that compaction has moved. */
#define MAX_MOVED	16
/* So many blocks may be had in fragments without effort. */
#define MAX_LEFT	16

/*
 * How hard a fault tries to get a block. Those of THP are the ones that allocate
 * with the same flags in memory without MADV_HUGEPAGE, where "madvise", the
 * kernel's default, is the same as "never".
 */
struct effort {
	const char *name;
	const char *mcpage;
	const char *thp;
};

enum { NEVER, LIGHT, DIRECT, NR_EFFORTS };

static const struct effort efforts[NR_EFFORTS] = {
	[NEVER] = { "never", "never", "never" },
	[LIGHT] = { "light", "light", "defer" },
	[DIRECT] = { "direct", "direct", "always" },
};

/* Is memory fragmented? */
static bool fragmented;
/* If not NULL, nothing else is measured. */
static const struct effort *only;

/* Of the kernel, before and after what is measured. */
struct counters {
	long long compact_stall, allocstall, blocks;
};

static unsigned int highest_order(void)
{
	return __builtin_ctzl(BENCH_ALIGN / page_size);
}

static unsigned long all_orders(void)
{
	return bench_orders_upto(highest_order());
}

static void put_effort(const struct effort *effort)
{
	if (bench_has_mcpage())
		bench_put(SYSFS_MCPAGE "effort", effort->mcpage);
	else
		bench_put(SYSFS_THP "defrag", effort->thp);
}

static void allow(const struct bench_config *config, unsigned long orders)
{
	orders &= all_orders();
	if (config->mode == BENCH_FOLIO)
		bench_policy(orders);
	else
		bench_thp_orders(orders);
}

/* Let the process have blocks of @orders, with the effort of its case if any. */
static void set_up(struct json_object *result, const struct bench_config *config,
		   unsigned long orders)
{
	const struct effort *effort = config->data;

	if (!effort)
		return;
	if (fragmented) {
		put_effort(&efforts[NEVER]);
		fragment_spare(allow, config);
	}
	put_effort(effort);
	allow(config, orders);
	json_object_object_add(result, "effort", json_object_new_string(effort->name));
}

static void read_counters(struct counters *counters, unsigned long orders)
{
	static const char * const stalls[] = {
		"allocstall_dma", "allocstall_dma32", "allocstall_normal",
		"allocstall_movable",
	};
	unsigned int i;

	*counters = (struct counters){ bench_vmstat("compact_stall") };
	for (i = 0; i < sizeof(stalls) / sizeof(*stalls); i++) {
		long long count = bench_vmstat(stalls[i]);

		/* There is one for each zone that the kernel has. */
		counters->allocstall += count > 0 ? count : 0;
	}
	for (i = 0; orders >> i; i++)
		if (orders & (1UL << i))
			counters->blocks += bench_blocks(i);
}

static void report_counters(struct json_object *result, const struct counters *before,
			    const struct counters *after)
{
	bench_number(result, "compact_stall", after->compact_stall - before->compact_stall);
	bench_number(result, "allocstall", after->allocstall - before->allocstall);
	bench_number(result, "blocks", after->blocks - before->blocks);
}

static int compare(const void *a, const void *b)
{
	const unsigned long *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

static unsigned long permille(const unsigned long *sorted, size_t nr, unsigned int part)
{
	return sorted[(nr * part + 999) / 1000 - 1];
}

/* What the clock itself adds to each time: half of all are no longer. */
static unsigned long clock_cost(void)
{
	static unsigned long times[CLOCK_READS];
	unsigned int i;

	for (i = 0; i < CLOCK_READS; i++) {
		double start = bench_now();

		times[i] = bench_now() - start;
	}
	qsort(times, CLOCK_READS, sizeof(*times), compare);
	return permille(times, CLOCK_READS, 500);
}

static unsigned long two_digits(unsigned long value)
{
	unsigned long unit = 1;

	while (value / unit >= 100)
		unit *= 10;
	return (value + unit / 2) / unit * unit;
}

static size_t count_distinct(const unsigned long *sorted, size_t nr)
{
	size_t i, distinct = 1;

	for (i = 1; i < nr; i++)
		distinct += sorted[i] != sorted[i - 1];
	return distinct;
}

/* [[nanoseconds, faults], ...] in ascending order. */
static struct json_object *histogram(const unsigned long *sorted, size_t nr)
{
	struct json_object *list = json_object_new_array();
	size_t i, count = 0;

	for (i = 0; i < nr; i++) {
		struct json_object *entry;

		count++;
		if (i + 1 < nr && sorted[i + 1] == sorted[i])
			continue;
		entry = json_object_new_array();
		json_object_array_add(entry, json_object_new_int64(sorted[i]));
		json_object_array_add(entry, json_object_new_int64(count));
		json_object_array_add(list, entry);
		count = 0;
	}
	return list;
}

static void report_times(struct json_object *result, unsigned long *times, size_t nr)
{
	double sum = 0;
	size_t i;

	qsort(times, nr, sizeof(*times), compare);
	for (i = 0; i < nr; i++)
		sum += times[i];
	bench_value(result, sum / nr);
	bench_number(result, "p50", permille(times, nr, 500));
	bench_number(result, "p99", permille(times, nr, 990));
	bench_number(result, "p999", permille(times, nr, 999));
	bench_number(result, "max", times[nr - 1]);
	if (count_distinct(times, nr) > MAX_DISTINCT)
		for (i = 0; i < nr; i++)
			times[i] = two_digits(times[i]);
	json_object_object_add(result, "histogram", histogram(times, nr));
}

/* Touch each block of the region once, which is one fault each. */
static void touch_blocks(unsigned long *times, size_t nr, char *region, size_t block,
			 unsigned long clock)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		double start = bench_now();

		__atomic_store_n(region + i * block, 1, __ATOMIC_RELAXED);
		times[i] = bench_now() - start - clock;
	}
}

/* Are as many of the @nr blocks there as is meant? */
static void check_blocks(const struct effort *effort, long long blocks, size_t nr)
{
	bool wrong = false;

	if (effort && !fragmented)
		wrong = blocks != (long long)nr;
	else if (effort == &efforts[NEVER])
		wrong = blocks > MAX_LEFT;
	if (wrong)
		bench_fail("of %zu faults %lld had a block", nr, blocks);
}

static void time_faults(struct json_object *result, const struct bench_config *config)
{
	const struct effort *effort = config->data;
	static unsigned long times[MAX_FAULTS];
	unsigned long orders = effort ? 1UL << config->order : 0;
	size_t block = (size_t)page_size << config->order;
	size_t nr = MAX_REGION / block < MAX_FAULTS ? MAX_REGION / block : MAX_FAULTS;
	char *region = bench_region(nr * block);
	struct counters before, after;
	unsigned long clock;
	long faults;
	double cpu;

	set_up(result, config, orders);
	/* Populated now, so that there are no faults but those that are meant. */
	memset(times, 1, sizeof(times));
	clock = clock_cost();
	read_counters(&before, orders);
	faults = bench_minor_faults();
	cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
	touch_blocks(times, nr, region, block, clock);
	cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	faults = bench_minor_faults() - faults;
	read_counters(&after, orders);
	if (faults < (long)nr || faults > (long)nr + (fragmented ? MAX_MOVED : 0))
		bench_fail("%zu writes took %ld page faults", nr, faults);
	check_blocks(effort, after.blocks - before.blocks, nr);

	report_times(result, times, nr);
	bench_number(result, "faults", faults);
	bench_number(result, "clock", clock);
	bench_number(result, "cpu_mean", cpu / nr - 2 * clock);
	report_counters(result, &before, &after);
}

static void time_write(struct json_object *result, const struct bench_config *config)
{
	const struct effort *effort = config->data;
	char *region = bench_region(WRITE_REGION);
	unsigned long orders = effort ? all_orders() : 0;
	struct counters before, after;
	double cpu, elapsed;

	set_up(result, config, orders);
	read_counters(&before, orders);
	elapsed = bench_now();
	cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
	bench_write(region, WRITE_REGION);
	cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	elapsed = bench_now() - elapsed;
	read_counters(&after, orders);
	check_blocks(effort, after.blocks - before.blocks, WRITE_REGION / page_size);

	bench_value(result, cpu / (WRITE_REGION / page_size));
	bench_number(result, "elapsed", elapsed / (WRITE_REGION / page_size));
	report_counters(result, &before, &after);
}

static bool not_single(const struct bench_config *config)
{
	return only || (config->mode != BENCH_SINGLE && config->mode != BENCH_EMPTY);
}

static bool not_blocks(const struct bench_config *config)
{
	return (only && config->data != only) ||
	       (config->mode != BENCH_MTHP && config->mode != BENCH_FOLIO);
}

/* All orders at once: the one run is that of the highest. */
static bool not_highest(const struct bench_config *config)
{
	return not_blocks(config) || config->order != highest_order();
}

static const struct bench_case fresh_cases[] = {
	{ "fresh", "fault", time_faults, not_single },
	{ "fresh", "fault", time_faults, not_blocks, &efforts[NEVER] },
	{ "fresh", "fault", time_faults, not_blocks, &efforts[LIGHT] },
	{ "fresh", "fault", time_faults, not_blocks, &efforts[DIRECT] },
	{ }
};

static const struct bench_case fragmented_cases[] = {
	{ "fragmented", "fault", time_faults, not_single },
	{ "fragmented", "fault", time_faults, not_blocks, &efforts[NEVER] },
	{ "fragmented", "fault", time_faults, not_blocks, &efforts[LIGHT] },
	{ "fragmented", "fault", time_faults, not_blocks, &efforts[DIRECT] },
	{ "fragmented_write", "page", time_write, not_single },
	{ "fragmented_write", "page", time_write, not_highest, &efforts[NEVER] },
	{ "fragmented_write", "page", time_write, not_highest, &efforts[LIGHT] },
	{ "fragmented_write", "page", time_write, not_highest, &efforts[DIRECT] },
	{ }
};

/* khugepaged would make blocks of what faults leave, and compact memory. */
static void still_khugepaged(void)
{
	bench_put(SYSFS_THP "khugepaged/defrag", "0");
	bench_put(SYSFS_THP "khugepaged/max_ptes_none", "0");
	bench_put(SYSFS_THP "khugepaged/pages_to_scan", "1");
}

static void fragment(const struct bench_config *config)
{
	fragment_memory();
}

static int usage(void)
{
	fputs("usage: latency fresh|fragmented [never|light|direct] [OPTION...]\n", stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct bench_program program = {
		.name = "latency",
		.about = "The time of each anonymous write fault.",
		.cases = fresh_cases,
		/* All but those that add little to the table. */
		.orders = 1 << 2 | 1 << 4 | 1 << 6 | 1 << 8 | 1 << 9,
		.setup = still_khugepaged,
	};
	int words = 1;
	unsigned int i;

	if (argc < 2)
		return usage();
	fragmented = !strcmp(argv[words], "fragmented");
	if (!fragmented && strcmp(argv[words], "fresh"))
		return usage();
	if (fragmented) {
		program.cases = fragmented_cases;
		program.before = fragment;
	}
	words++;
	for (i = 0; i < NR_EFFORTS && argc > words; i++)
		if (!strcmp(argv[words], efforts[i].name))
			only = &efforts[i];
	words += !!only;
	argv[words - 1] = argv[0];
	return bench_main(&program, argc - words + 1, argv + words - 1);
}
