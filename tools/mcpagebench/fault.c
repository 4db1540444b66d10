// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of an anonymous fault, for each page of a region that is used from
 * its start to its end.
 */
#include <sys/mman.h>

#include "bench.h"

/* Large enough that what happens once does not show, and 32 blocks of 2 MiB. */
#define REGION	(64UL << 20)
/* The first round warms up what is allocated once. */
#define ROUNDS	2

static double per_page(double nanoseconds)
{
	return nanoseconds / (REGION / page_size);
}

/* What @use costs on a fresh region that @before has been applied to. */
static void measure(struct json_object *result, void (*before)(char *),
		    void (*use)(char *))
{
	double ns = 0;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		char *region = bench_region(REGION);

		if (before)
			before(region);
		ns = bench_now();
		use(region);
		ns = bench_now() - ns;
		bench_unmap(region, REGION);
	}
	bench_value(result, per_page(ns));
}

static void write_all(char *region)
{
	bench_write(region, REGION);
}

static void read_all(char *region)
{
	bench_read(region, REGION);
}

static void populate(char *region)
{
	if (mmap(region, REGION, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE, -1,
		 0) != region)
		bench_die("mmap");
}

static void populate_write(char *region)
{
	if (madvise(region, REGION, MADV_POPULATE_WRITE))
		bench_die("madvise");
}

static void run_write(struct json_object *result, const struct bench_config *config)
{
	measure(result, NULL, write_all);
}

static void run_read(struct json_object *result, const struct bench_config *config)
{
	measure(result, NULL, read_all);
}

static void run_read_then_write(struct json_object *result,
				const struct bench_config *config)
{
	measure(result, read_all, write_all);
}

static void run_populate(struct json_object *result, const struct bench_config *config)
{
	measure(result, NULL, populate);
}

static void run_populate_write(struct json_object *result,
			       const struct bench_config *config)
{
	measure(result, NULL, populate_write);
}

static const struct bench_case cases[] = {
	{ "write", "page", run_write },
	{ "read", "page", run_read },
	{ "read_then_write", "page", run_read_then_write },
	{ "map_populate", "page", run_populate },
	{ "madv_populate_write", "page", run_populate_write },
	{ }
};

int main(int argc, char **argv)
{
	static const struct bench_program program = {
		.name = "fault",
		.about = "The cost of anonymous faults, for each page.",
		.cases = cases,
		.orders = ~0UL,
	};

	return bench_main(&program, argc, argv);
}
