// SPDX-License-Identifier: GPL-2.0-only
/*
 * What blocks cost in memory where it is used sparsely, and what shrinking
 * underused blocks gives back.
 *
 * An allocator has arenas of 2 MiB. Some are full, of the others only a few short
 * runs of pages are in use, and the rest has never been touched. With blocks all
 * of a block is resident as soon as one of its pages is. "unlimited" is how much
 * memory that takes, and how much of it memory.reclaim gets back; "limited" is
 * the same program in a memory cgroup that the used pages fit into easily, but not
 * all arenas. There is no swap: what cannot be given back ends with the OOM
 * killer, which is a result as well.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/mcpage.h>

#include "bench.h"

#define CGROUP	"/sys/fs/cgroup/bloat/"

#define ARENAS		64
#define ARENA_SIZE	BENCH_ALIGN
/* One arena of so many is full. */
#define FULL_EVERY	8
/* In the others: so many runs of pages at equal distances, ... */
#define RUNS		8
/* ... of 1, 2, 4, ... pages up to this, and then from 1 again. */
#define LONGEST_RUN	8
/* A block with a larger part of zeros is underused. */
#define MAX_ZERO_PERCENT	80

/* In bench_config.flags: underused blocks are split; blocks grow with use. */
#define SHRINKER	1
#define ADAPTIVE	2

/**
 * struct bloat - what differs between the cases
 * @max: for memory.max
 * @reclaim: what to ask memory.reclaim for at the end, or NULL
 */
struct bloat {
	const char *max, *reclaim;
};

/* What the program that uses the arenas has to say; shared with it. */
struct outcome {
	unsigned long written, rss, reclaimed_rss;
	double cpu, reclaim_cpu;
};

/* The result says what this kernel does not have. */
static bool missing(struct json_object *result, const char *what, bool have)
{
	if (!have)
		json_object_object_add(result, "missing", json_object_new_string(what));
	return !have;
}

static bool has_adaptive(void)
{
	char modes[128];

	bench_get(SYSFS_MCPAGE "mode", modes, sizeof(modes));
	return strstr(modes, "adaptive");
}

static bool has_shrinker(void)
{
	return !access(SYSFS_MCPAGE "shrink/underused", F_OK);
}

/* The shrinker of THP is on where max_ptes_none is not all pages but one. */
static void shrink_thp(bool on)
{
	unsigned long pages = BENCH_ALIGN / page_size;
	char text[32];

	snprintf(text, sizeof(text), "%lu",
		 on ? pages * MAX_ZERO_PERCENT / 100 : pages - 1);
	bench_put(SYSFS_THP "khugepaged/max_ptes_none", text);
}

static void shrink_mcpage(bool on)
{
	char text[32];

	if (!has_shrinker())
		return;
	snprintf(text, sizeof(text), "%d", MAX_ZERO_PERCENT);
	bench_put(SYSFS_MCPAGE "shrink/max_zero_percent", text);
	bench_put(SYSFS_MCPAGE "shrink/underused", on ? "1" : "0");
}

/* Is there all that @config has besides? If so, set it. */
static bool configure(struct json_object *result, const struct bench_config *config)
{
	bool mcpage = config->mode == BENCH_FOLIO;

	if (mcpage && (config->flags & SHRINKER) &&
	    missing(result, "shrink", has_shrinker()))
		return false;
	if ((config->flags & ADAPTIVE) && missing(result, "adaptive", has_adaptive()))
		return false;

	shrink_thp(!mcpage && (config->flags & SHRINKER));
	if (!mcpage)
		return true;
	shrink_mcpage(config->flags & SHRINKER);
	bench_put(SYSFS_MCPAGE "mode", config->flags & ADAPTIVE ? "adaptive" : "fixed");
	/* The mode chooses: all orders up to this one. */
	if (config->flags & ADAPTIVE)
		bench_policy(bench_orders_upto(config->order));
	return true;
}

static void fill_page(unsigned long *page, struct outcome *outcome)
{
	size_t i;

	for (i = 0; i < page_size / sizeof(*page); i++)
		page[i] = (uintptr_t)&page[i];
	outcome->written++;
}

static void check_page(unsigned long *page, struct outcome *outcome)
{
	size_t i;

	for (i = 0; i < page_size / sizeof(*page); i++)
		if (page[i] != (uintptr_t)&page[i])
			bench_fail("a page has lost its content");
}

typedef void (*use_page_t)(unsigned long *page, struct outcome *outcome);

static void use_pages(char *start, size_t pages, use_page_t use, struct outcome *outcome)
{
	size_t i;

	for (i = 0; i < pages; i++)
		use((unsigned long *)(start + i * page_size), outcome);
}

static void use_sparsely(char *arena, use_page_t use, struct outcome *outcome)
{
	size_t run, pages = 1;

	for (run = 0; run < RUNS; run++) {
		use_pages(arena + run * (ARENA_SIZE / RUNS), pages, use, outcome);
		pages = pages == LONGEST_RUN ? 1 : pages * 2;
	}
}

static void use_arenas(char *arenas, use_page_t use, struct outcome *outcome)
{
	size_t i;

	for (i = 0; i < ARENAS; i++) {
		char *arena = arenas + i * ARENA_SIZE;

		if (i % FULL_EVERY)
			use_sparsely(arena, use, outcome);
		else
			use_pages(arena, ARENA_SIZE / page_size, use, outcome);
	}
}

static void reclaim(const char *amount)
{
	FILE *file = fopen(CGROUP "memory.reclaim", "we");

	/* It is an error (EAGAIN) that there was less, which is to be expected. */
	if (!file || fputs(amount, file) < 0)
		bench_die(CGROUP "memory.reclaim");
	fclose(file);
}

/* In a process of its own, which the OOM killer may end. */
static void use_memory(const struct bloat *bloat, struct outcome *outcome)
{
	char *arenas;
	double cpu;

	bench_put(CGROUP "cgroup.procs", "0");
	arenas = bench_region(ARENAS * ARENA_SIZE);
	cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
	use_arenas(arenas, fill_page, outcome);
	use_arenas(arenas, check_page, outcome);
	outcome->cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	outcome->rss = bench_resident_kib();
	if (bloat->reclaim) {
		cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
		reclaim(bloat->reclaim);
		outcome->reclaim_cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		outcome->reclaimed_rss = bench_resident_kib();
		use_arenas(arenas, check_page, outcome);
	}
	exit(0);
}

/* Return: false if the OOM killer ended it. */
static bool run_limited(const struct bloat *bloat, struct outcome *outcome)
{
	char events[512], *kills;
	int status;
	pid_t pid;

	if (mkdir(CGROUP, 0755))
		bench_die(CGROUP);
	bench_put(CGROUP "memory.swap.max", "0");
	bench_put(CGROUP "memory.max", bloat->max);
	pid = fork();
	if (pid < 0)
		bench_die("fork");
	if (!pid)
		use_memory(bloat, outcome);
	if (waitpid(pid, &status, 0) != pid)
		bench_die("waitpid");
	if (!status)
		return true;
	bench_get(CGROUP "memory.events", events, sizeof(events));
	kills = strstr(events, "oom_kill ");
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL || !kills ||
	    !atoi(kills + strlen("oom_kill ")))
		bench_fail("the program ended with status %#x", status);
	return false;
}

/* What is resident if every fault had a block. */
static unsigned long whole_kib(const struct bench_config *config)
{
	size_t runs = RUNS * ((size_t)page_size << config->order);
	size_t full = (ARENAS + FULL_EVERY - 1) / FULL_EVERY;
	size_t sparse = runs < ARENA_SIZE ? runs : ARENA_SIZE;

	return (full * ARENA_SIZE + (ARENAS - full) * sparse) / 1024;
}

static void report(struct json_object *result, const struct bench_config *config,
		   const struct outcome *outcome)
{
	const struct bloat *bloat = config->data;

	bench_value(result, outcome->cpu);
	bench_number(result, "rss_kib", outcome->rss);
	if (!bloat->reclaim)
		return;
	if (config->order && !(config->flags & ADAPTIVE) &&
	    outcome->rss < whole_kib(config))
		bench_fail("%lu KiB are not all blocks", outcome->rss);
	bench_number(result, "reclaim", outcome->reclaim_cpu);
	bench_number(result, "reclaimed_rss_kib", outcome->reclaimed_rss);
}

static void run_bloat(struct json_object *result, const struct bench_config *config)
{
	const struct bloat *bloat = config->data;
	struct outcome *outcome;
	long long split;
	char peak[32];
	bool survived;

	if (!configure(result, config))
		return;
	outcome = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (outcome == MAP_FAILED)
		bench_die("mmap");
	split = bench_vmstat("thp_underused_split_page");
	survived = run_limited(bloat, outcome);
	split = bench_vmstat("thp_underused_split_page") - split;
	bench_get(CGROUP "memory.peak", peak, sizeof(peak));
	if (rmdir(CGROUP))
		bench_die(CGROUP);

	json_object_object_add(result, "killed", json_object_new_boolean(!survived));
	if (survived)
		report(result, config, outcome);
	bench_number(result, "used_kib", outcome->written * page_size / 1024);
	bench_number(result, "peak_kib", atoll(peak) / 1024);
	bench_number(result, "thp_underused_split", split);
}

/* Twice what is used is room enough, and less than half of all arenas. */
static const struct bloat unlimited = { "max", "1G" };
static const struct bloat limited = { "48M", NULL };

static const struct bench_case cases[] = {
	{ "unlimited", "run", run_bloat, NULL, &unlimited },
	{ "limited", "run", run_bloat, NULL, &limited },
	{ }
};

static const struct bench_config configs[] = {
	{ BENCH_SINGLE, "single", 0 },
	{ BENCH_MTHP, "thp", 9 },
	{ BENCH_MTHP, "thp_shrinker", 9, SHRINKER },
	{ BENCH_FOLIO, "folio_64K", 4 },
	{ BENCH_FOLIO, "folio_64K_shrinker", 4, SHRINKER },
	{ BENCH_FOLIO, "folio_2M", 9 },
	{ BENCH_FOLIO, "folio_2M_shrinker", 9, SHRINKER },
	{ BENCH_FOLIO, "adaptive", 9, ADAPTIVE },
	{ }
};

int main(int argc, char **argv)
{
	static const struct bench_program program = {
		.name = "bloat",
		.about = "What blocks cost in memory that is used sparsely.",
		.cases = cases,
		.configs = configs,
	};

	return bench_main(&program, argc, argv);
}
