// SPDX-License-Identifier: GPL-2.0-only
/*
 * What each way of choosing the order costs and takes, by the order in which
 * memory is written for the first time: dense and in sequence, dense and not,
 * and sparse.
 */
#include <stdlib.h>

#include <linux/mcpage.h>

#include "bench.h"

/* In bytes: what is written, or what few pages of are. */
#define REGION		(64UL << 20)
/* Arenas of a process's threads, which are filled side by side. */
#define ARENAS		8
/* As stress-ng's --vm-stride in the table of what shrinking gives back. */
#define STRIDE		(50UL << 10)
/* Prime to the number of pages of every block. */
#define SPARSE_STEP	33
#define SEED		20240229

/* In bench_config.flags: the adaptive mode, with each order up to config.order */
#define ADAPTIVE	1

typedef size_t (*pattern_t)(char *region);

static size_t write_page(char *region, size_t page)
{
	region[page * page_size] = 1;
	return 1;
}

static size_t nr_pages(void)
{
	return REGION / page_size;
}

static size_t sequential(char *region)
{
	size_t i;

	for (i = 0; i < nr_pages(); i++)
		write_page(region, i);
	return i;
}

static size_t reverse(char *region)
{
	size_t i;

	for (i = nr_pages(); i--;)
		write_page(region, i);
	return nr_pages();
}

static size_t arenas(char *region)
{
	size_t each = nr_pages() / ARENAS, i, j;

	for (i = 0; i < each; i++)
		for (j = 0; j < ARENAS; j++)
			write_page(region, j * each + i);
	return nr_pages();
}

/* All pages in an order that is the same in each run. */
static size_t *shuffled(void)
{
	size_t *order = malloc(nr_pages() * sizeof(*order));
	size_t i, j, swap;

	if (!order)
		bench_die("malloc");
	for (i = 0; i < nr_pages(); i++)
		order[i] = i;
	srandom(SEED);
	for (i = nr_pages() - 1; i; i--) {
		j = random() % (i + 1);
		swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
	return order;
}

static size_t *order;

static size_t write_random(char *region, size_t pages)
{
	size_t i;

	for (i = 0; i < pages; i++)
		write_page(region, order[i]);
	return pages;
}

static size_t random_all(char *region)
{
	return write_random(region, nr_pages());
}

static size_t random_quarter(char *region)
{
	return write_random(region, nr_pages() / 4);
}

static size_t stride(char *region)
{
	size_t at, pages = 0;

	for (at = 0; at < REGION; at += STRIDE)
		pages += write_page(region, at / page_size);
	return pages;
}

static size_t sparse(char *region)
{
	size_t i, pages = 0;

	for (i = 0; i < nr_pages(); i += SPARSE_STEP)
		pages += write_page(region, i);
	return pages;
}

struct fill {
	pattern_t pattern;
	bool read_first;
};

static void configure(const struct bench_config *config)
{
	if (config->flags & ADAPTIVE)
		bench_policy(bench_orders_upto(config->order) | PR_MCPAGE_ADAPTIVE);
}

static void run_fill(struct json_object *result, const struct bench_config *config)
{
	const struct fill *fill = config->data;
	unsigned long rss;
	char *region;
	size_t pages;
	long faults;
	double cpu;

	configure(config);
	order = shuffled();
	/* Once before, or the figures have what the page allocator does at first. */
	region = bench_region(REGION);
	fill->pattern(region);
	bench_unmap(region, REGION);
	region = bench_region(REGION);
	rss = bench_resident_kib();
	faults = bench_minor_faults();
	cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
	if (fill->read_first)
		bench_read(region, REGION);
	pages = fill->pattern(region);
	cpu = bench_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	faults = bench_minor_faults() - faults;
	rss = bench_resident_kib() - rss;
	if (rss < pages * page_size / 1024)
		bench_fail("%zu pages were written, but %lu KiB are resident", pages, rss);

	bench_value(result, cpu);
	bench_number(result, "faults", faults);
	bench_number(result, "rss_kib", rss);
	bench_unmap(region, REGION);
	free(order);
}

static const struct bench_case cases[] = {
	{ "sequential", "run", run_fill, NULL, &(struct fill){ sequential } },
	{ "reverse", "run", run_fill, NULL, &(struct fill){ reverse } },
	{ "arenas", "run", run_fill, NULL, &(struct fill){ arenas } },
	{ "random_all", "run", run_fill, NULL, &(struct fill){ random_all } },
	{ "random_quarter", "run", run_fill, NULL, &(struct fill){ random_quarter } },
	{ "stride_50K", "run", run_fill, NULL, &(struct fill){ stride } },
	{ "one_in_33", "run", run_fill, NULL, &(struct fill){ sparse } },
	{ "read_first", "run", run_fill, NULL, &(struct fill){ sequential, true } },
	{ }
};

static const struct bench_config configs[] = {
	{ BENCH_SINGLE, "single", 0 },
	{ BENCH_MTHP, "mthp_64K", 4 },
	{ BENCH_MTHP, "thp_2M", 9 },
	{ BENCH_EMPTY, "single", 0 },
	{ BENCH_FOLIO, "folio_16K", 2 },
	{ BENCH_FOLIO, "folio_64K", 4 },
	{ BENCH_FOLIO, "folio_2M", 9 },
	{ BENCH_FOLIO, "adaptive", 9, ADAPTIVE },
	{ }
};

int main(int argc, char **argv)
{
	static const struct bench_program program = {
		.name = "adaptive",
		.about = "The adaptive mode beside fixed orders, by pattern of use.",
		.cases = cases,
		.configs = configs,
	};

	return bench_main(&program, argc, argv);
}
