// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that is free in single pages only: see fragment.h.
 *
 * A free page can only be joined with its buddy, the one whose frame number
 * differs in the lowest bit. So all memory is taken, page by page, and the pages
 * with an odd frame number are given back. What could not be taken is free in
 * larger blocks, so nearly all has to be, the page allocator's reserves too; and
 * the few blocks that remain are then used up as THP uses blocks.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "bench.h"
#include "fragment.h"

/* Left free while all else is taken, for what the kernel itself allocates. */
#define MARGIN		(1024UL * 1024)
/* Pages that are taken, or looked up, in one call. */
#define STEP		64
/* The lowest order that a block can have. */
#define LOWEST_ORDER	2
/*
 * What is spared, as the kernel needs blocks too, for the stack of a process, say,
 * and where there is none it kills. They are of an order that no processor keeps
 * in its lists.
 */
#define SPARE_ORDER	4
#define SPARE_BLOCKS	24
#define SPARE_SIZE	(SPARE_BLOCKS * (size_t)page_size << SPARE_ORDER)
/* So many blocks of the lowest order are that, more or less. */
#define MIN_BLOCKS	48
#define MAX_BLOCKS	128
/* Room for all blocks that were left at first. */
#define LEFT_OVER	(32UL << 20)
/* In an entry of /proc/self/pagemap: the lowest bit of the frame number. */
#define PAGEMAP_ODD	1

/*
 * What the page allocator keeps back: reserves of all memory and of that below 16
 * MiB, and each processor's lists, which /proc/buddyinfo does not count.
 */
static struct {
	const char *path, *none;
	char value[64];
} reserves[] = {
	{ "/proc/sys/vm/min_free_kbytes", "0" },
	{ "/proc/sys/vm/lowmem_reserve_ratio", "0 0 0 0" },
	{ "/proc/sys/vm/percpu_pagelist_high_fraction", "1000000" },
};

#define NR_RESERVES	(sizeof(reserves) / sizeof(*reserves))

/* All that could be taken is between start and end. */
static struct {
	char *start, *end, *limit;
} held;

/* The blocks that were left. */
static char *left_over;

static size_t free_memory(void)
{
	struct sysinfo info;

	if (sysinfo(&info))
		bench_die("sysinfo");
	if (info.totalswap)
		bench_fail("memory cannot be fragmented where there is swap");
	return info.freeram * info.mem_unit;
}

/* The free blocks of @order, and what larger ones could be split into. */
static unsigned long free_blocks(unsigned int order)
{
	FILE *file = fopen("/proc/buddyinfo", "re");
	unsigned long blocks = 0, count;
	unsigned int i;

	if (!file)
		bench_die("/proc/buddyinfo");
	/* A line a zone: its name, and the free blocks of each order from 0. */
	while (fscanf(file, "Node %*u, zone %*s") != EOF)
		for (i = 0; fscanf(file, "%lu", &count) == 1; i++)
			if (i >= order)
				blocks += count << (i - order);
	fclose(file);
	return blocks;
}

static void keep_from_children(char *map, size_t size)
{
	if (madvise(map, size, MADV_DONTFORK))
		bench_die("MADV_DONTFORK");
}

static void begin(void)
{
	size_t size = free_memory() / (STEP * page_size) * (STEP * page_size);
	unsigned int i;

	/*
	 * Or the kernel puts the pieces together again in the background, all the
	 * time and whenever a block that it needs for itself mixes up types.
	 */
	bench_put("/proc/sys/vm/compaction_proactiveness", "0");
	bench_put("/proc/sys/vm/watermark_boost_factor", "0");
	for (i = 0; i < NR_RESERVES; i++)
		bench_get(reserves[i].path, reserves[i].value, sizeof(reserves[i].value));

	held.start = bench_region(size);
	held.end = held.start;
	held.limit = held.start + size;
	/* Single pages, whatever is in force. */
	if (madvise(held.start, size, MADV_NOHUGEPAGE))
		bench_die("MADV_NOHUGEPAGE");
	keep_from_children(held.start, size);
}

/* Fill what was given back before, then go on where that ended. */
static void take(void)
{
	size_t step = STEP * page_size;
	char *p;

	for (p = held.start; p < held.limit && free_memory() > MARGIN + step; p += step)
		if (madvise(p, step, MADV_POPULATE_WRITE))
			bench_die("MADV_POPULATE_WRITE");
	if (p > held.end)
		held.end = p;
}

/* Those of STEP pages that have an odd frame number; in bytes. */
static size_t give_back_odd(char *start, int pagemap)
{
	uint64_t entries[STEP];
	size_t given = 0;
	unsigned int i;

	if (pread(pagemap, entries, sizeof(entries), (uintptr_t)start / page_size *
		  sizeof(*entries)) != sizeof(entries))
		bench_die("/proc/self/pagemap");
	for (i = 0; i < STEP; i++) {
		if (!(entries[i] & PAGEMAP_ODD))
			continue;
		if (madvise(start + i * page_size, page_size, MADV_DONTNEED))
			bench_die("MADV_DONTNEED");
		given += page_size;
	}
	return given;
}

static void give_back(void)
{
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	size_t given = 0;
	char *p;

	if (pagemap < 0)
		bench_die("/proc/self/pagemap");
	for (p = held.start; p < held.end; p += STEP * page_size)
		given += give_back_odd(p, pagemap);
	close(pagemap);
	if (given < (size_t)(held.end - held.start) / 3)
		bench_fail("only %zu bytes were given back", given);
}

/* Memory in blocks, by THP, as far as they are free. */
static char *map_blocks(size_t size, unsigned long orders)
{
	char *map = bench_region(size);

	keep_from_children(map, size);
	bench_put(SYSFS_THP "defrag", "never");
	bench_thp_orders(orders);
	return map;
}

static void use_up(void)
{
	size_t block = (size_t)page_size << LOWEST_ORDER;
	char *p;

	left_over = map_blocks(LEFT_OVER, ~0UL);
	for (p = left_over; p < left_over + LEFT_OVER && free_blocks(LOWEST_ORDER);
	     p += block)
		bench_write(p, block);
	bench_thp_orders(0);
}

static bool fragmented(void)
{
	unsigned long blocks = free_blocks(LOWEST_ORDER);

	return blocks >= MIN_BLOCKS && blocks <= MAX_BLOCKS;
}

void fragment_memory(void)
{
	unsigned int i;
	char *spare;

	if (fragmented())
		return;
	if (!held.start)
		begin();
	else
		bench_unmap(left_over, LEFT_OVER);
	/* Now, as later there may be fewer. */
	spare = map_blocks(SPARE_SIZE, 1UL << SPARE_ORDER);
	bench_write(spare, SPARE_SIZE);
	/* After that, as to have THP on makes the kernel keep back more. */
	for (i = 0; i < NR_RESERVES; i++)
		bench_put(reserves[i].path, reserves[i].none);
	take();
	give_back();
	use_up();
	bench_unmap(spare, SPARE_SIZE);
	for (i = 0; i < NR_RESERVES; i++)
		bench_put(reserves[i].path, reserves[i].value);
	if (!fragmented())
		bench_fail("%lu blocks are free", free_blocks(LOWEST_ORDER));
}

/*
 * Use up what the processor has in its list of blocks of @order, the only one that
 * is allowed. Once empty, the list is filled from those that show as free.
 */
static void empty_list(unsigned int order)
{
	size_t block = (size_t)page_size << order;
	char *p = bench_region(SPARE_SIZE), *end = p + SPARE_SIZE;
	unsigned long before, after, listed = 0;

	do {
		before = free_blocks(order);
		bench_write(p, block);
		after = free_blocks(order);
		p += block;
	} while (after && after >= before && p < end);
	/* That has happened, and one of them was had at once. */
	if (after < before)
		listed = before - after - 1;
	for (; listed && p < end; listed--, p += block)
		bench_write(p, block);
}

/* The blocks of @order that are not in those that were spared. */
static unsigned long small_blocks(unsigned int order)
{
	return free_blocks(order) - (free_blocks(SPARE_ORDER) << (SPARE_ORDER - order));
}

void fragment_spare(void (*allow)(const struct bench_config *config, unsigned long orders),
		    const struct bench_config *config)
{
	/* More than there is. */
	size_t size = 2 * MAX_BLOCKS * (size_t)page_size << LOWEST_ORDER;
	unsigned int order;

	/*
	 * Small ones first, as a list is not looked into if no block is free. A few
	 * remain of one that was split.
	 */
	for (order = SPARE_ORDER - 1; order >= LOWEST_ORDER; order--) {
		allow(config, 1UL << order);
		do {
			empty_list(order);
		} while (free_blocks(SPARE_ORDER) &&
			 small_blocks(order) >> (SPARE_ORDER - order));
	}
	allow(config, ~0UL);
	bench_write(bench_region(size), size);
}
