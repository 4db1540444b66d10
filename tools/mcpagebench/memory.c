// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is done to anonymous memory that is there, for each page of the region:
 * given back as a whole or in parts, reclaimed, swapped out and in, moved and
 * protected. Needs zram swap and the memory controller of cgroup v2.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

/* Large enough that what happens once does not show, and 32 blocks of 2 MiB. */
#define REGION		(64UL << 20)
#define SMALLEST_PAGE	4096
/* Where how free memory lies makes a few percent; the middle one counts. */
#define ROUNDS		3
/* Single pages are given back in the parts of blocks of this order: 64 KiB. */
#define SINGLE_ORDER	4

#define CGROUP_ROOT	"/sys/fs/cgroup/"
#define CGROUP		CGROUP_ROOT "mcpagebench/"
/* For memory.reclaim: only memory that can be dropped, or only that to swap. */
#define NO_SWAP		0
#define ONLY_SWAP	200

/* Words of content that repeat, so that a page is quick to compress. */
#define PATTERN		8

/**
 * struct memory - what one round works on
 * @region: the memory
 * @span: the size of its blocks
 * @target: where it will be moved to
 * @advised: bytes that parts of blocks were given back of
 */
struct memory {
	char *region;
	size_t span;
	char *target;
	size_t advised;
};

/**
 * struct steps - what a round consists of, once the region has been written
 * @measured: what is measured
 * @check: if not NULL, fails unless @measured has done what it should
 * @before: if not NULL, done before @measured
 * @begin: if not NULL, done once, before the first round
 * @frees: @measured gives pages back, or takes some: worth several rounds
 */
struct steps {
	void (*measured)(struct memory *memory);
	void (*check)(const struct memory *memory);
	void (*before)(struct memory *memory);
	void (*begin)(void);
	bool frees;
};

/* A page in /proc/self/pagemap. */
struct entry {
	unsigned long long frame:55, unused:7, swapped:1, present:1;
};

/* Those of the region. */
static struct entry pagemap[REGION / SMALLEST_PAGE];

static size_t pages(void)
{
	return REGION / page_size;
}

static void read_pagemap(const char *region)
{
	off_t offset = (uintptr_t)region / page_size * sizeof(*pagemap);
	ssize_t size = pages() * sizeof(*pagemap);
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || pread(fd, pagemap, size, offset) != size)
		bench_die("/proc/self/pagemap");
	close(fd);
}

/* Fail unless the region consists of blocks, each contiguous and aligned. */
static void check_blocks(const struct memory *memory)
{
	size_t block = memory->span / page_size, i;

	read_pagemap(memory->region);
	for (i = 0; i < pages(); i++) {
		size_t first = pagemap[i - i % block].frame;

		if (!pagemap[i].present || !pagemap[i].frame)
			bench_fail("page %zu is not there, or its frame is secret", i);
		if (first % block || pagemap[i].frame != first + i % block)
			bench_fail("page %zu is not in a block of %zu pages", i, block);
	}
}

/* Fail unless this many pages are present, and this many in swap. */
static void check_pages(const struct memory *memory, size_t present, size_t swapped)
{
	size_t in = 0, out = 0, i;

	read_pagemap(memory->region);
	for (i = 0; i < pages(); i++) {
		in += pagemap[i].present;
		out += pagemap[i].swapped;
	}
	if (in != present || out != swapped)
		bench_fail("%zu pages are present and %zu in swap, not %zu and %zu",
			   in, out, present, swapped);
}

/* A sum of /proc/self/smaps, in bytes. */
static size_t smaps(const char *key)
{
	char text[4096], *line;
	size_t kib;

	bench_get("/proc/self/smaps_rollup", text, sizeof(text));
	line = strstr(text, key);
	if (!line || sscanf(line + strlen(key), " %zu kB", &kib) != 1)
		bench_fail("no \"%s\" in /proc/self/smaps_rollup", key);
	return kib * 1024;
}

/* Not the elapsed time: the kernel's threads have other things to do. */
static double cpu_time(void)
{
	return bench_clock(CLOCK_THREAD_CPUTIME_ID);
}

static double run_round(struct memory *memory, const struct steps *steps)
{
	double ns;

	if (steps->before)
		steps->before(memory);
	ns = cpu_time();
	steps->measured(memory);
	ns = cpu_time() - ns;
	if (steps->check)
		steps->check(memory);
	return ns;
}

static void run(struct json_object *result, const struct bench_config *config)
{
	const struct steps *steps = config->data;
	struct memory memory = {
		.span = page_size << (config->order ?: SINGLE_ORDER),
	};
	int rounds = steps->frees ? ROUNDS : 1, i;
	double ns[ROUNDS];

	if (steps->begin)
		steps->begin();
	for (i = 0; i < rounds; i++) {
		memory.region = bench_region(REGION);
		bench_write(memory.region, REGION);
		if (config->order)
			check_blocks(&memory);
		ns[i] = run_round(&memory, steps);
		bench_unmap(memory.region, REGION);
	}
	bench_sort(ns, rounds);
	bench_value(result, ns[rounds / 2] / pages());
}

static void advise(char *start, size_t size, int advice)
{
	if (madvise(start, size, advice))
		bench_die("madvise");
}

/* The first @size bytes of each @step bytes. */
static void advise_each(struct memory *memory, size_t step, size_t size, int advice)
{
	char *p;

	for (p = memory->region; p < memory->region + REGION; p += step)
		advise(p, size, advice);
	memory->advised = REGION / step * size;
}

/* -------- As a whole -------- */

static void free_all(struct memory *memory)
{
	advise_each(memory, REGION, REGION, MADV_FREE);
}

static void dontneed_all(struct memory *memory)
{
	advise(memory->region, REGION, MADV_DONTNEED);
}

static void cool(struct memory *memory)
{
	advise(memory->region, REGION, MADV_COLD);
}

static void unmap(struct memory *memory)
{
	bench_unmap(memory->region, REGION);
}

static void check_lazyfree(const struct memory *memory)
{
	size_t lazyfree;

	/* Any advice to cool finishes what MADV_FREE keeps for a batch. */
	advise((char *)((uintptr_t)pagemap & -page_size), page_size, MADV_COLD);
	lazyfree = smaps("LazyFree:");
	if (lazyfree != memory->advised)
		bench_fail("%zu bytes are free lazily, not %zu", lazyfree,
			   memory->advised);
}

static void check_gone(const struct memory *memory)
{
	check_pages(memory, 0, 0);
}

static void check_cold(const struct memory *memory)
{
	/* The rest of the process is far smaller. */
	if (smaps("Referenced:") > REGION / 2)
		bench_fail("MADV_COLD has left memory referenced");
}

/* -------- Parts of blocks -------- */

static void free_half(struct memory *memory)
{
	advise_each(memory, memory->span, memory->span / 2, MADV_FREE);
}

static void free_all_but_one(struct memory *memory)
{
	advise_each(memory, memory->span, memory->span - page_size, MADV_FREE);
}

static void free_alternate(struct memory *memory)
{
	advise_each(memory, 2 * page_size, page_size, MADV_FREE);
}

static void dontneed_half(struct memory *memory)
{
	advise_each(memory, memory->span, memory->span / 2, MADV_DONTNEED);
}

static void write_half(struct memory *memory)
{
	char *p;

	for (p = memory->region; p < memory->region + REGION; p += memory->span)
		bench_write(p, memory->span / 2);
}

static void check_half(const struct memory *memory)
{
	check_pages(memory, pages() / 2, 0);
}

static void check_whole(const struct memory *memory)
{
	check_pages(memory, pages(), 0);
}

/* -------- Reclaim and swap -------- */

/* Content that compresses well, but differs within a page and between pages. */
static void fill(struct memory *memory)
{
	size_t words = page_size / sizeof(long), page, i;
	long *word = (long *)memory->region;

	for (page = 1; page <= pages(); page++)
		for (i = 0; i < words; i++)
			*word++ = page * PATTERN + i % PATTERN;
}

static void page_out(struct memory *memory)
{
	advise(memory->region, REGION, MADV_PAGEOUT);
}

static void read_all(struct memory *memory)
{
	bench_read(memory->region, REGION);
}

static void reclaim_region(int swappiness)
{
	char text[64];

	snprintf(text, sizeof(text), "%lu swappiness=%d", REGION, swappiness);
	bench_put(CGROUP "memory.reclaim", text);
}

static void reclaim_lazyfree(struct memory *memory)
{
	reclaim_region(NO_SWAP);
}

static void swap_out(struct memory *memory)
{
	reclaim_region(ONLY_SWAP);
}

static void check_swapped(const struct memory *memory)
{
	check_pages(memory, 0, pages());
}

static void fill_and_page_out(struct memory *memory)
{
	fill(memory);
	page_out(memory);
	check_swapped(memory);
}

/* Locked, so that the region is all that memory.reclaim finds. */
static void enter_cgroup(void)
{
	bench_put(CGROUP "cgroup.procs", "0");
	if (mlockall(MCL_CURRENT))
		bench_die("mlockall");
}

/* -------- Address space -------- */

/* Room that nothing else takes before it is used. */
static void choose_target(struct memory *memory)
{
	memory->target = bench_region(REGION);
	bench_unmap(memory->target, REGION);
}

static void move(struct memory *memory)
{
	if (mremap(memory->region, REGION, REGION, MREMAP_MAYMOVE | MREMAP_FIXED,
		   memory->target) != memory->target)
		bench_die("mremap");
	memory->region = memory->target;
}

static void protect(struct memory *memory)
{
	if (mprotect(memory->region, REGION, PROT_READ) ||
	    mprotect(memory->region, REGION, PROT_READ | PROT_WRITE))
		bench_die("mprotect");
}

/* Only faults ask for the policy: the rest need not be told apart so often. */
static bool without_faults(const struct bench_config *config)
{
	return config->mode == BENCH_ADVISE || config->mode == BENCH_EMPTY;
}

#define STEPS(...)	(&(const struct steps){ __VA_ARGS__ })

static const struct bench_case cases[] = {
	{ "madvise_free", "page", run, without_faults, STEPS(free_all, check_lazyfree) },
	{ "madvise_dontneed", "page", run, without_faults,
	  STEPS(dontneed_all, check_gone, .frees = true) },
	{ "madvise_cold", "page", run, without_faults, STEPS(cool, check_cold) },
	{ "munmap", "page", run, without_faults, STEPS(unmap, .frees = true) },
	{ "free_half", "page", run, without_faults, STEPS(free_half, check_lazyfree) },
	{ "free_all_but_one", "page", run, without_faults,
	  STEPS(free_all_but_one, check_lazyfree) },
	{ "free_alternate", "page", run, without_faults,
	  STEPS(free_alternate, check_lazyfree) },
	{ "dontneed_half", "page", run, without_faults,
	  STEPS(dontneed_half, check_half, .frees = true) },
	{ "dontneed_half_refault", "page", run, NULL,
	  STEPS(write_half, check_whole, dontneed_half, .frees = true) },
	{ "reclaim_lazyfree", "page", run, without_faults,
	  STEPS(reclaim_lazyfree, check_gone, free_all, enter_cgroup, .frees = true) },
	{ "pageout", "page", run, without_faults, STEPS(page_out, check_swapped, fill) },
	{ "swap_out", "page", run, without_faults,
	  STEPS(swap_out, check_swapped, fill, enter_cgroup) },
	{ "swap_in", "page", run, NULL, STEPS(read_all, check_whole, fill_and_page_out) },
	{ "mremap", "page", run, without_faults, STEPS(move, check_whole, choose_target) },
	{ "mprotect", "page", run, without_faults, STEPS(protect, check_whole) },
	{ }
};

static void setup(void)
{
	char swaps[4096];

	bench_get("/proc/swaps", swaps, sizeof(swaps));
	if (!strstr(swaps, "/zram"))
		bench_fail("there is no swap on zram");
	bench_put(CGROUP_ROOT "cgroup.subtree_control", "+memory");
	if (mkdir(CGROUP, 0755) && errno != EEXIST)
		bench_die(CGROUP);
}

int main(int argc, char **argv)
{
	static const struct bench_program program = {
		.name = "memory",
		.about = "What is done to anonymous memory that is there, for each page.",
		.cases = cases,
		.orders = 1UL << 2 | 1UL << 4 | 1UL << 6 | 1UL << 8 | 1UL << 9,
		.setup = setup,
	};

	return bench_main(&program, argc, argv);
}
