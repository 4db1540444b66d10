// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that has been written, what is done to it, and what has become of it: see
 * region.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "region.h"

/* Where how free memory lies makes a few percent; the middle one counts. */
#define ROUNDS		3
/* Single pages are given back in the parts of blocks of this order: 64 KiB. */
#define SINGLE_ORDER	4
/* So much of the pagemap is read at once; a multiple of the largest block. */
#define WINDOW		16384

/* A page in /proc/self/pagemap. */
struct entry {
	unsigned long long frame:55, unused:7, swapped:1, present:1;
};

static struct entry window[WINDOW];

/* Called for each page, with its number and the first page's entry of its window. */
typedef void (*visit_t)(struct region *region, size_t page, const struct entry *entry);

size_t region_pages(const struct region *region)
{
	return region->size / page_size;
}

static void visit_pages(struct region *region, visit_t visit)
{
	size_t first = (uintptr_t)region->start / page_size, done, nr, i;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	for (done = 0; done < region_pages(region); done += nr) {
		ssize_t size;

		nr = region_pages(region) - done;
		if (nr > WINDOW)
			nr = WINDOW;
		size = nr * sizeof(*window);
		if (fd < 0 ||
		    pread(fd, window, size, (first + done) * sizeof(*window)) != size)
			bench_die("/proc/self/pagemap");
		for (i = 0; i < nr; i++)
			visit(region, done + i, &window[i]);
	}
	close(fd);
}

static void check_block(struct region *region, size_t page, const struct entry *entry)
{
	size_t block = region->span / page_size;
	size_t first = entry[-(ptrdiff_t)(page % block)].frame;

	if (!entry->present || !entry->frame)
		bench_fail("page %zu is not there, or its frame is secret", page);
	if (first % block || entry->frame != first + page % block)
		bench_fail("page %zu is not in a block of %zu pages", page, block);
}

static void count_page(struct region *region, size_t page, const struct entry *entry)
{
	region->present += entry->present;
	region->swapped += entry->swapped;
}

void region_count(struct region *region)
{
	region->present = 0;
	region->swapped = 0;
	visit_pages(region, count_page);
}

void region_check_pages(struct region *region, size_t present, size_t swapped)
{
	region_count(region);
	if (region->present != present || region->swapped != swapped)
		bench_fail("%zu pages are present and %zu in swap, not %zu and %zu",
			   region->present, region->swapped, present, swapped);
}

void region_check_whole(struct region *region)
{
	region_check_pages(region, region_pages(region), 0);
}

void region_check_gone(struct region *region)
{
	region_check_pages(region, 0, 0);
}

void region_check_lazyfree_bytes(size_t size)
{
	size_t lazyfree;

	/* Any advice to cool finishes what MADV_FREE keeps for a batch. */
	if (madvise((char *)((uintptr_t)window & -page_size), page_size, MADV_COLD))
		bench_die("madvise");
	lazyfree = bench_rollup_kib("LazyFree") * 1024;
	if (lazyfree != size)
		bench_fail("%zu bytes are free lazily, not %zu", lazyfree, size);
}

void region_check_lazyfree(struct region *region)
{
	region_check_lazyfree_bytes(region_advised(region));
}

/* Not the elapsed time: the kernel's threads have other things to do. */
static double cpu_time(void)
{
	return bench_clock(CLOCK_THREAD_CPUTIME_ID);
}

static double run_round(struct region *region, const struct region_steps *steps)
{
	double ns;

	if (steps->before)
		steps->before(region);
	region->faults = bench_minor_faults();
	ns = cpu_time();
	steps->measured(region);
	ns = cpu_time() - ns;
	region->faults = bench_minor_faults() - region->faults;
	if (steps->check)
		steps->check(region);
	return ns;
}

double region_measure(struct region *region, const struct bench_config *config,
		      const struct region_steps *steps)
{
	int rounds = steps->frees ? ROUNDS : 1, i;
	double ns[ROUNDS];

	region->span = page_size << (config->order ?: SINGLE_ORDER);
	if (steps->begin)
		steps->begin();
	for (i = 0; i < rounds; i++) {
		region->start = bench_region(region->size);
		bench_write(region->start, region->size);
		if (config->order)
			visit_pages(region, check_block);
		ns[i] = run_round(region, steps);
		bench_unmap(region->start, region->size);
	}
	bench_sort(ns, rounds);
	return ns[rounds / 2];
}

void region_advise_each(struct region *region, size_t step, size_t part, int advice)
{
	char *p;

	for (p = region->start; p < region->start + region->size; p += step)
		if (madvise(p, part, advice))
			bench_die("madvise");
	region->step = step;
	region->part = part;
}

void region_write_advised(const struct region *region)
{
	char *p;

	for (p = region->start; p < region->start + region->size; p += region->step)
		bench_write(p, region->part);
}

void region_free_all(struct region *region)
{
	region_advise_each(region, region->size, region->size, MADV_FREE);
}

void region_free_half(struct region *region)
{
	region_advise_each(region, region->span, region->span / 2, MADV_FREE);
}

void region_free_all_but_one(struct region *region)
{
	region_advise_each(region, region->span, region->span - page_size, MADV_FREE);
}

void region_free_alternate(struct region *region)
{
	region_advise_each(region, 2 * page_size, page_size, MADV_FREE);
}

void region_setup(void)
{
	char swaps[4096];

	bench_get("/proc/swaps", swaps, sizeof(swaps));
	if (!strstr(swaps, "/zram"))
		bench_fail("there is no swap on zram");
	bench_put(CGROUP_ROOT "cgroup.subtree_control", "+memory");
	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		bench_die(CGROUP);
}

void region_enter_cgroup(void)
{
	bench_put(CGROUP "cgroup.procs", "0");
	if (mlockall(MCL_CURRENT))
		bench_die("mlockall");
}

bool region_reclaim(size_t size, int swappiness)
{
	int fd = open(CGROUP "memory.reclaim", O_WRONLY | O_CLOEXEC), len;
	bool all, less;
	char text[64];

	len = snprintf(text, sizeof(text), "%zu swappiness=%d", size, swappiness);
	all = fd >= 0 && write(fd, text, len) == len;
	less = fd >= 0 && !all && errno == EAGAIN;
	if (!all && !less)
		bench_die(CGROUP "memory.reclaim");
	close(fd);
	return all;
}

void region_reclaim_lazyfree(struct region *region)
{
	if (!region_reclaim(region->size, NO_SWAP))
		bench_fail("memory.reclaim did not find all that is free lazily");
}
