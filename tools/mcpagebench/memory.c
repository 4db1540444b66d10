// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is done to anonymous memory that is there, for each page of the region:
 * given back as a whole or in parts, reclaimed, swapped out and in, moved and
 * protected. Needs zram swap and the memory controller of cgroup v2.
 */
#include <sys/mman.h>

#include "region.h"

/* Large enough that what happens once does not show, and 32 blocks of 2 MiB. */
#define REGION		(64UL << 20)

/* Words of content that repeat, so that a page is quick to compress. */
#define PATTERN		8

/* Where the region will be moved to. */
static char *target;

static void run(struct json_object *result, const struct bench_config *config)
{
	struct region region = { .size = REGION };
	double ns = region_measure(&region, config, config->data);

	bench_value(result, ns / region_pages(&region));
}

static void advise(struct region *region, int advice)
{
	if (madvise(region->start, region->size, advice))
		bench_die("madvise");
}

/* -------- As a whole -------- */

static void dontneed_all(struct region *region)
{
	advise(region, MADV_DONTNEED);
}

static void cool(struct region *region)
{
	advise(region, MADV_COLD);
}

static void unmap(struct region *region)
{
	bench_unmap(region->start, region->size);
}

static void check_cold(struct region *region)
{
	/* The rest of the process is far smaller. */
	if (bench_rollup_kib("Referenced") > region->size / 2 / 1024)
		bench_fail("MADV_COLD has left memory referenced");
}

/* -------- Parts of blocks -------- */

static void dontneed_half(struct region *region)
{
	region_advise_each(region, region->span, region->span / 2, MADV_DONTNEED);
}

static void write_advised(struct region *region)
{
	region_write_advised(region);
}

static void check_half(struct region *region)
{
	region_check_pages(region, region_pages(region) / 2, 0);
}

/* -------- Reclaim and swap -------- */

/* Content that compresses well, but differs within a page and between pages. */
static void fill(struct region *region)
{
	size_t words = page_size / sizeof(long), page, i;
	long *word = (long *)region->start;

	for (page = 1; page <= region_pages(region); page++)
		for (i = 0; i < words; i++)
			*word++ = page * PATTERN + i % PATTERN;
}

static void page_out(struct region *region)
{
	advise(region, MADV_PAGEOUT);
}

static void read_all(struct region *region)
{
	bench_read(region->start, region->size);
}

static void swap_out(struct region *region)
{
	if (!region_reclaim(region->size, ONLY_SWAP))
		bench_fail("memory.reclaim did not find all of the region");
}

static void check_swapped(struct region *region)
{
	region_check_pages(region, 0, region_pages(region));
}

static void fill_and_page_out(struct region *region)
{
	fill(region);
	page_out(region);
	check_swapped(region);
}

/* -------- Address space -------- */

/* Room that nothing else takes before it is used. */
static void choose_target(struct region *region)
{
	target = bench_region(region->size);
	bench_unmap(target, region->size);
}

static void move(struct region *region)
{
	if (mremap(region->start, region->size, region->size,
		   MREMAP_MAYMOVE | MREMAP_FIXED, target) != target)
		bench_die("mremap");
	region->start = target;
}

static void protect(struct region *region)
{
	if (mprotect(region->start, region->size, PROT_READ) ||
	    mprotect(region->start, region->size, PROT_READ | PROT_WRITE))
		bench_die("mprotect");
}

/* Only faults ask for the policy: the rest need not be told apart so often. */
static bool without_faults(const struct bench_config *config)
{
	return config->mode == BENCH_ADVISE || config->mode == BENCH_EMPTY;
}

#define STEPS(...)	(&(const struct region_steps){ __VA_ARGS__ })

static const struct bench_case cases[] = {
	{ "madvise_free", "page", run, without_faults,
	  STEPS(region_free_all, region_check_lazyfree) },
	{ "madvise_dontneed", "page", run, without_faults,
	  STEPS(dontneed_all, region_check_gone, .frees = true) },
	{ "madvise_cold", "page", run, without_faults, STEPS(cool, check_cold) },
	{ "munmap", "page", run, without_faults, STEPS(unmap, .frees = true) },
	{ "free_half", "page", run, without_faults,
	  STEPS(region_free_half, region_check_lazyfree) },
	{ "free_all_but_one", "page", run, without_faults,
	  STEPS(region_free_all_but_one, region_check_lazyfree) },
	{ "free_alternate", "page", run, without_faults,
	  STEPS(region_free_alternate, region_check_lazyfree) },
	{ "dontneed_half", "page", run, without_faults,
	  STEPS(dontneed_half, check_half, .frees = true) },
	{ "dontneed_half_refault", "page", run, NULL,
	  STEPS(write_advised, region_check_whole, dontneed_half, .frees = true) },
	{ "reclaim_lazyfree", "page", run, without_faults,
	  STEPS(region_reclaim_lazyfree, region_check_gone, region_free_all,
		region_enter_cgroup, .frees = true) },
	{ "pageout", "page", run, without_faults, STEPS(page_out, check_swapped, fill) },
	{ "swap_out", "page", run, without_faults,
	  STEPS(swap_out, check_swapped, fill, region_enter_cgroup) },
	{ "swap_in", "page", run, NULL,
	  STEPS(read_all, region_check_whole, fill_and_page_out) },
	{ "mremap", "page", run, without_faults,
	  STEPS(move, region_check_whole, choose_target) },
	{ "mprotect", "page", run, without_faults, STEPS(protect, region_check_whole) },
	{ }
};

int main(int argc, char **argv)
{
	static const struct bench_program program = {
		.name = "memory",
		.about = "What is done to anonymous memory that is there, for each page.",
		.cases = cases,
		.orders = 1UL << 2 | 1UL << 4 | 1UL << 6 | 1UL << 8 | 1UL << 9,
		.setup = region_setup,
	};

	return bench_main(&program, argc, argv);
}
