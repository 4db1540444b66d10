/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that has been written, what is done to it, and what has become of it.
 */
#ifndef MCPAGEBENCH_REGION_H
#define MCPAGEBENCH_REGION_H

#include "bench.h"

#define CGROUP_ROOT	"/sys/fs/cgroup/"
/* Of region_setup(). */
#define CGROUP		CGROUP_ROOT "mcpagebench/"
/* For memory.reclaim: only memory that can be dropped, or only that to swap. */
#define NO_SWAP		0
#define ONLY_SWAP	200

/**
 * struct region - what one round works on
 * @start: the memory
 * @size: its size, set by the program
 * @span: the size of its blocks
 * @step: what the last advice to parts was about: of each @step bytes ...
 * @part: ... the first @part bytes
 * @faults: how many faults the measured step took
 * @present: its pages that are there, as last counted
 * @swapped: and those in swap
 */
struct region {
	char *start;
	size_t size, span;
	size_t step, part;
	long faults;
	size_t present, swapped;
};

/**
 * struct region_steps - what a round consists of, once the region has been written
 * @measured: what is measured
 * @check: if not NULL, fails unless @measured has done what it should
 * @before: if not NULL, done before @measured
 * @begin: if not NULL, done once, before the first round
 * @frees: @measured gives pages back, or takes some: worth several rounds
 */
struct region_steps {
	void (*measured)(struct region *region);
	void (*check)(struct region *region);
	void (*before)(struct region *region);
	void (*begin)(void);
	bool frees;
};

/* For bench_program.setup: there is zram swap, and a cgroup to enter. */
void region_setup(void);

/*
 * The nanoseconds that the measured step took in the middle round. Before each
 * round the region is mapped, written, and found to consist of blocks of the
 * configuration's order.
 */
double region_measure(struct region *region, const struct bench_config *config,
		      const struct region_steps *steps);

size_t region_pages(const struct region *region);

/* The first @part bytes of each @step bytes. */
void region_advise_each(struct region *region, size_t step, size_t part, int advice);
/* Write to what the last advice to parts was about. */
void region_write_advised(const struct region *region);
/* How many bytes that was. */
static inline size_t region_advised(const struct region *region)
{
	return region->size / region->step * region->part;
}

/* MADV_FREE of all, or of parts of each block. */
void region_free_all(struct region *region);
void region_free_half(struct region *region);
void region_free_all_but_one(struct region *region);
/* Every second page. */
void region_free_alternate(struct region *region);

/* For region_steps.begin: what is mapped later is all that memory.reclaim finds. */
void region_enter_cgroup(void);
/* Return: false if there was less than @size to be had. */
bool region_reclaim(size_t size, int swappiness);
/* Fail if there was less than all. */
void region_reclaim_lazyfree(struct region *region);

/* Count the pages. */
void region_count(struct region *region);
/* Fail unless this many pages are present, and this many in swap. */
void region_check_pages(struct region *region, size_t present, size_t swapped);
/* Fail unless all is there, or nothing. */
void region_check_whole(struct region *region);
void region_check_gone(struct region *region);
/* Fail unless this many bytes of the process are free lazily. */
void region_check_lazyfree_bytes(size_t size);
/* Fail unless all that was advised is. */
void region_check_lazyfree(struct region *region);

#endif
