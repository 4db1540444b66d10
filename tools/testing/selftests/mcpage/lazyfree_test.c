// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: MADV_FREE by blocks. What is free lazily can be had back and
 * reads as zeroes then; all else, and what was written since, stays.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <linux/userfaultfd.h>

#include "mcpage_harness.h"

#define THP_STATS	THP_DIR "hugepages-64kB/stats/"

/* For memory.reclaim. Without swap only what is free lazily can go. */
#define NO_SWAP		"8M swappiness=0"
#define WITH_SWAP	"8M"

/* What pages are stamped with, in this order. */
#define FIRST		1UL
#define SECOND		2UL
#define THIRD		3UL

FIXTURE(lazyfree)
{
	char dir[128];
	bool mark;
	bool zap;
	bool split;
};

FIXTURE_VARIANT(lazyfree)
{
	const char *way;
};

FIXTURE_VARIANT_ADD(lazyfree, mark)
{
	.way = "mark",
};

FIXTURE_VARIANT_ADD(lazyfree, zap)
{
	.way = "zap",
};

FIXTURE_VARIANT_ADD(lazyfree, split)
{
	.way = "split",
};

FIXTURE_SETUP(lazyfree)
{
	const char *why = lazyfree_begin(self->dir, sizeof(self->dir), "folio",
					 variant->way);

	if (why)
		SKIP(return, "%s", why);
	self->mark = !strcmp(variant->way, "mark");
	self->zap = !strcmp(variant->way, "zap");
	self->split = !strcmp(variant->way, "split");
}

FIXTURE_TEARDOWN_PARENT(lazyfree)
{
	lazyfree_end(self->dir);
}

/* -------- pages by number -------- */

/* Each page's stamp has its number in the mapping, and what @round it is of. */
static unsigned long tag(size_t page, unsigned long round)
{
	return round << 32 | page;
}

static void stamp(char *base, size_t first, size_t nr, unsigned long round)
{
	for (size_t i = first; i < first + nr; i++)
		stamp_page(base + i * page_size, tag(i, round));
}

static enum content look(const char *base, size_t page, unsigned long round)
{
	return page_content(base + page * page_size, tag(page, round));
}

/* How many pages have that content. */
static size_t count(const char *base, size_t first, size_t nr, unsigned long round,
		    enum content content)
{
	size_t found = 0;

	for (size_t i = first; i < first + nr; i++)
		found += look(base, i, round) == content;
	return found;
}

/* Is it as it was, or else a page of zeroes where it was @given? */
static bool kept(const char *base, size_t page, unsigned long round, bool given)
{
	enum content content = look(base, page, round);

	return content == CONTENT_STAMP || (given && content == CONTENT_ZERO);
}

#define stamped(base, first, nr, round)	count(base, first, nr, round, CONTENT_STAMP)
#define zeroes(base, first, nr)		count(base, first, nr, 0, CONTENT_ZERO)
#define others(base, first, nr, round)	count(base, first, nr, round, CONTENT_OTHER)

/* @nr blocks, each page stamped; NULL if one of them is not a large folio. */
static char *blocks(unsigned int order, unsigned int nr)
{
	unsigned long before = mcpage_stat(order, "alloc");
	size_t size = nr * block_size(order);
	char *addr = map_region(size);

	if (!addr || set_vma(addr, size, BIT(order)))
		return NULL;
	stamp(addr, 0, size / page_size, FIRST);
	if (mcpage_stat(order, "alloc") - before == nr &&
	    folio_order(addr) == (int)order)
		return addr;
	ksft_print_msg("no folios of order %u\n", order);
	return NULL;
}

static int give(char *base, size_t first, size_t nr)
{
	return madvise(base + first * page_size, nr * page_size, MADV_FREE) ? -errno : 0;
}

static long lazyfree_kb(const char *addr, size_t size)
{
	drain_lru();
	return smaps_sum_kb(addr, size, "LazyFree");
}

static unsigned long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

/*
 * Put the group under pressure, once at least, and until a region has no more than
 * @pages left. Returns how many it has.
 */
static size_t squeeze(const char *dir, const char *how, const char *addr, size_t size,
		      size_t pages)
{
	size_t left;
	int tries = 0;

	do {
		drain_lru();
		group_write(dir, "memory.reclaim", how);
		left = resident(addr, size);
	} while (left > pages && ++tries < 10);
	return left;
}

/* -------- counters -------- */

struct stats {
	unsigned long whole;
	unsigned long partial;
	unsigned long reclaimed;
	unsigned long redirtied;
};

static struct stats stats(unsigned int order)
{
	return (struct stats){
		.whole = mcpage_stat(order, "lazyfree"),
		.partial = mcpage_stat(order, "lazyfree_partial"),
		.reclaimed = mcpage_stat(order, "lazyfree_reclaimed"),
		.redirtied = mcpage_stat(order, "lazyfree_redirtied"),
	};
}

/* What has been counted since: whole, partial, reclaimed, redirtied. */
static const char *counted(unsigned int order, const struct stats *before)
{
	struct stats now = stats(order);
	static char text[128];

	snprintf(text, sizeof(text), "%lu %lu %lu %lu", now.whole - before->whole,
		 now.partial - before->partial, now.reclaimed - before->reclaimed,
		 now.redirtied - before->redirtied);
	return text;
}

/* -------- whole blocks -------- */

/* A block that is covered stays one, and goes in one piece; nothing is swapped. */
TEST_F(lazyfree, whole)
{
	for (unsigned int order = 2; order <= pmd_order; order++) {
		const char *how = order & 1 ? NO_SWAP : WITH_SWAP;
		size_t nr = 2 * BIT(order), size = nr * page_size;
		struct stats before = stats(order);
		char *addr = blocks(order, 2);

		ASSERT_NE(NULL, addr);
		ASSERT_EQ(0, lazyfree_kb(addr, size));
		ASSERT_EQ(0, give(addr, 0, nr));
		EXPECT_STREQ("2 0 0 0", counted(order, &before));
		EXPECT_EQ((long)(size >> 10), lazyfree_kb(addr, size));
		EXPECT_EQ(nr, resident(addr, size));
		EXPECT_EQ(order, folio_order(addr));
		EXPECT_EQ(order, folio_order(addr + size - page_size));
		EXPECT_EQ(nr, stamped(addr, 0, nr, FIRST));
		/* Once more changes nothing. */
		ASSERT_EQ(0, give(addr, 0, nr));
		EXPECT_EQ((long)(size >> 10), lazyfree_kb(addr, size));

		EXPECT_EQ(0, squeeze(self->dir, how, addr, size, 0))
			TH_LOG("order %u", order);
		EXPECT_EQ(0, smaps_sum_kb(addr, size, "Swap"));
		EXPECT_EQ(nr, zeroes(addr, 0, nr));
		EXPECT_EQ(2, stats(order).reclaimed - before.reclaimed);
		EXPECT_EQ(0, stats(order).redirtied - before.redirtied);
		/* And as good as new. */
		stamp(addr, 0, nr, SECOND);
		EXPECT_EQ(nr, stamped(addr, 0, nr, SECOND));
		unmap_region(addr, size);
	}
}

/* A block that was written since is kept, what was written in any case. */
TEST_F(lazyfree, written_since)
{
	static const unsigned int orders[] = { 2, 4, 6, 9 };

	for (size_t o = 0; o < ARRAY_SIZE(orders); o++) {
		unsigned int order = orders[o];
		size_t nr = BIT(order), size = nr * page_size;
		const size_t pages[] = { 0, nr / 2 - 1, nr - 1 };

		for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
			struct stats before = stats(order);
			char *addr = blocks(order, 1);
			size_t page = pages[i], left;
			/* A PMD has one dirty bit for all. */
			bool all = !self->mark || order == pmd_order;

			ASSERT_NE(NULL, addr);
			ASSERT_EQ(0, give(addr, 0, nr));
			stamp(addr, page, 1, SECOND);
			left = squeeze(self->dir, NO_SWAP, addr, size, all ? nr : 1);
			EXPECT_EQ(CONTENT_STAMP, look(addr, page, SECOND));
			EXPECT_EQ(all ? nr : 1, left)
				TH_LOG("order %u, page %zu", order, page);
			EXPECT_EQ(0, others(addr, 0, page, FIRST));
			EXPECT_EQ(0, others(addr, page + 1, nr - page - 1, FIRST));
			EXPECT_STREQ(all ? "1 0 0 1" : "1 0 1 1", counted(order, &before));
			if (all) {
				EXPECT_EQ(order, folio_order(addr));
				EXPECT_EQ(nr - 1, stamped(addr, 0, nr, FIRST));
				EXPECT_EQ(0, lazyfree_kb(addr, size));
			}
			unmap_region(addr, size);
		}
	}
}

/* -------- parts of blocks -------- */

enum part {
	FIRST_HALF,
	LAST_HALF,
	ALL_BUT_ONE,
	EVERY_SECOND,
	ONE_PAGE,
	NR_PARTS,
};

static bool covered(enum part part, size_t page, size_t nr)
{
	switch (part) {
	case FIRST_HALF:
		return page < nr / 2;
	case LAST_HALF:
		return page >= nr / 2;
	case ALL_BUT_ONE:
		return page;
	case EVERY_SECOND:
		return page & 1;
	default:
		return page == nr / 2;
	}
}

static int give_part(char *addr, enum part part, size_t nr)
{
	for (size_t i = 0, run; i < nr; i += run + 1) {
		for (run = 0; i + run < nr && covered(part, i + run, nr); run++)
			;
		if (run && give(addr, i, run))
			return -errno;
	}
	return 0;
}

/* One block of two; with one of the covered pages written afterwards. */
static void free_part(struct __test_metadata *_metadata, FIXTURE_DATA(lazyfree) const *self,
		      unsigned int order, enum part part, const char *how)
{
	size_t nr = BIT(order), size = 2 * nr * page_size;
	size_t first = nr, freed = 0, written = 0, stays, left;
	bool halves = part <= LAST_HALF;
	/* The half that is written as a whole again, as any block is. */
	bool regained = self->split && halves && order > 2;
	bool swap = !strcmp(how, WITH_SWAP);
	char *addr = blocks(order, 2);

	ASSERT_NE(NULL, addr);
	for (size_t i = 0; i < nr; i++) {
		if (covered(part, i, nr)) {
			written = i;
			freed++;
		} else if (first == nr) {
			first = i;
		}
	}
	ASSERT_EQ(0, give_part(addr, part, nr));

	EXPECT_EQ(order, folio_order(addr + nr * page_size));
	EXPECT_EQ(!self->split ? order : regained ? order - 1 : 0,
		  folio_order(addr + first * page_size));
	EXPECT_EQ(2 * nr - (self->zap ? freed : 0), resident(addr, size));
	EXPECT_EQ(self->zap ? 0 : (long)(freed * page_size >> 10),
		  lazyfree_kb(addr, size));

	stamp(addr, written, 1, SECOND);
	stays = regained ? 2 * nr : 2 * nr - freed + 1;
	/* In steps: what is written is in a block of 16K then, or of 64K if it was 2M. */
	if (self->split && part == ALL_BUT_ONE && order > 2)
		stays += BIT(order == pmd_order ? 4 : 2) - 1;
	left = squeeze(self->dir, how, addr, size, stays);
	/* Under pressure once more: what was read back, and is clean. */
	for (int round = 0; round < 2; round++) {
		EXPECT_EQ(CONTENT_STAMP, look(addr, written, SECOND));
		for (size_t i = 0; i < 2 * nr; i++) {
			if (i != written)
				EXPECT_TRUE(kept(addr, i, FIRST,
						 i < nr && covered(part, i, nr)));
		}
		if (!swap) {
			EXPECT_EQ(stays, left);
			EXPECT_EQ(2 * nr - stays, zeroes(addr, 0, nr));
			break;
		}
		squeeze(self->dir, how, addr, size, 0);
	}
	unmap_region(addr, size);
}

static void free_parts(struct __test_metadata *_metadata, FIXTURE_DATA(lazyfree) const *self,
		       unsigned int order)
{
	for (enum part part = 0; part < NR_PARTS; part++) {
		int failed = _metadata->exit_code;

		free_part(_metadata, self, order, part, NO_SWAP);
		if (has_swap() && (order < pmd_order || part == FIRST_HALF))
			free_part(_metadata, self, order, part, WITH_SWAP);
		if (failed != _metadata->exit_code)
			TH_LOG("order %u, part %d", order, part);
	}
}

TEST_F(lazyfree, part_of_16k)
{
	free_parts(_metadata, self, 2);
}

TEST_F(lazyfree, part_of_64k)
{
	free_parts(_metadata, self, 4);
}

TEST_F(lazyfree, part_of_2m)
{
	free_parts(_metadata, self, pmd_order);
}

/* Into the largest blocks that make the range; and it comes to an end. */
TEST_F(lazyfree, where_it_is_split)
{
	static const struct {
		unsigned int order, first, nr, expected;
	} cases[] = {
		{ 9, 0, 256, 8 }, { 9, 256, 256, 8 }, { 9, 128, 128, 7 },
		{ 9, 128, 256, 7 }, { 9, 0, 384, 7 }, { 9, 16, 16, 4 },
		{ 9, 0, 48, 4 }, { 9, 508, 4, 2 }, { 9, 2, 2, 0 }, { 9, 3, 200, 0 },
		{ 4, 8, 8, 3 }, { 4, 4, 8, 2 }, { 4, 0, 12, 2 }, { 4, 0, 6, 0 },
		{ 3, 4, 4, 2 }, { 2, 2, 2, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned int order = cases[i].order, sub = cases[i].expected;
		size_t first = cases[i].first, freed = cases[i].nr, nr = BIT(order);
		struct stats before = stats(order), below = stats(sub);
		size_t other = first ? 0 : freed;
		char *addr = blocks(order, 1);

		ASSERT_NE(NULL, addr);
		ASSERT_EQ(0, give(addr, first, freed));
		EXPECT_EQ(1, stats(order).partial - before.partial);
		EXPECT_EQ(self->split ? (int)sub : (int)order,
			  folio_order(addr + other * page_size))
			TH_LOG("order %u, %zu pages from %zu", order, freed, first);
		if (!self->zap)
			EXPECT_EQ(self->split ? (int)sub : (int)order,
				  folio_order(addr + first * page_size));
		if (sub)
			EXPECT_EQ(self->split ? freed >> sub : 0,
				  stats(sub).whole - below.whole);
		EXPECT_EQ(nr - freed, squeeze(self->dir, NO_SWAP, addr, nr * page_size,
					      nr - freed));
		EXPECT_EQ(freed, zeroes(addr, first, freed));
		EXPECT_EQ(nr - freed, stamped(addr, 0, nr, FIRST));
		unmap_region(addr, nr * page_size);
	}
}

/* Memory that is taken into use again costs neither a fault nor a copy. */
TEST_F(lazyfree, no_fault)
{
	static const unsigned int orders[] = { 2, 4, 9 };

	if (!self->mark)
		SKIP(return, "only a mark leaves all as it is");
	for (size_t o = 0; o < ARRAY_SIZE(orders); o++) {
		size_t nr = BIT(orders[o]), size = nr * page_size;
		char *addr = blocks(orders[o], 1);
		unsigned long long frame;
		unsigned long before;

		ASSERT_NE(NULL, addr);
		frame = page_frame(addr);
		ASSERT_EQ(0, give_part(addr, ALL_BUT_ONE, nr));
		before = faults();
		for (size_t i = 1; i < nr; i++)
			poke(addr + i * page_size + 8, 1);
		EXPECT_EQ(before, faults());
		for (size_t i = 0; i < nr; i++)
			EXPECT_EQ(frame + i, page_frame(addr + i * page_size));
		EXPECT_EQ(0, lazyfree_kb(addr, size));
		/* All of it is in use: there is nothing to split it for. */
		stamp(addr, 1, nr - 1, SECOND);
		EXPECT_EQ(nr, squeeze(self->dir, NO_SWAP, addr, size, nr));
		EXPECT_EQ(orders[o], folio_order(addr));
		EXPECT_EQ(1, stamped(addr, 0, 1, FIRST));
		EXPECT_EQ(nr - 1, stamped(addr, 1, nr - 1, SECOND));
		/* And it can be given once more. */
		ASSERT_EQ(0, give(addr, 0, nr / 4));
		EXPECT_EQ(nr - nr / 4, squeeze(self->dir, NO_SWAP, addr, size,
					       nr - nr / 4));
		EXPECT_EQ(nr / 4, zeroes(addr, 0, nr / 4));
		EXPECT_EQ(nr - nr / 4, stamped(addr, nr / 4, nr - nr / 4, SECOND));
		unmap_region(addr, size);
	}
}

/* What is left of a block of which the rest was unmapped. */
TEST_F(lazyfree, half_unmapped)
{
	for (int before = 0; before < 2; before++) {
		char *addr = blocks(4, 2);

		ASSERT_NE(NULL, addr);
		if (before)
			ASSERT_EQ(0, munmap(addr + 4 * page_size, 8 * page_size));
		ASSERT_EQ(0, give(addr, 0, 4));
		if (!before)
			ASSERT_EQ(0, munmap(addr + 4 * page_size, 8 * page_size));
		EXPECT_EQ(4 + 16, squeeze(self->dir, NO_SWAP, addr, KB(128), 4 + 16));
		EXPECT_EQ(4, zeroes(addr, 0, 4));
		EXPECT_EQ(4 + 16, stamped(addr, 12, 4 + 16, FIRST));
	}
}

/* To an address where the block is neither aligned nor in one page table. */
TEST_F(lazyfree, moved)
{
	char *there = map_region(MB(4)), *to = there + MB(2) - 5 * page_size;
	char *addr = blocks(4, 1);
	size_t kept = self->split ? 4 : 0, left;

	ASSERT_NE(NULL, there);
	ASSERT_NE(NULL, addr);
	ASSERT_EQ(0, give(addr, 0, 8));
	ASSERT_EQ(to, mremap(addr, KB(64), KB(64), MREMAP_MAYMOVE | MREMAP_FIXED, to));
	/* A page that is behind the end of the first page table. */
	ASSERT_EQ(0, give(to, 10, 2));
	stamp(to, 3, 1, SECOND);
	/* A half that was split off is kept from the page on that was written again. */
	left = 16 - 7 - 2 + kept;
	EXPECT_EQ(left, squeeze(self->dir, NO_SWAP, there, MB(4), left));
	EXPECT_EQ(CONTENT_STAMP, look(to, 3, SECOND));
	EXPECT_EQ(3, zeroes(to, 0, 3));
	EXPECT_EQ(4 - kept, zeroes(to, 4, 4));
	EXPECT_EQ(kept, stamped(to, 4, 4, FIRST));
	EXPECT_EQ(2, stamped(to, 8, 2, FIRST));
	EXPECT_EQ(2, zeroes(to, 10, 2));
	EXPECT_EQ(4, stamped(to, 12, 4, FIRST));
}

/*
 * One block at the end of a page table, with blocks behind it. A length in bytes
 * where pages are meant reaches far beyond.
 */
TEST_F(lazyfree, end_of_page_table)
{
	size_t at = MB(2) / page_size - 16, nr = MB(4) / page_size;
	char *addr = blocks(4, MB(4) / KB(64));

	ASSERT_NE(NULL, addr);
	ASSERT_EQ(0, give(addr, at, 16));
	EXPECT_EQ(64, lazyfree_kb(addr, MB(4)));
	EXPECT_EQ(4096 - 64, smaps_sum_kb(addr, MB(4), "Private_Dirty"));
	EXPECT_EQ(nr - 16, squeeze(self->dir, NO_SWAP, addr, MB(4), nr - 16));
	EXPECT_EQ(at, stamped(addr, 0, at, FIRST));
	EXPECT_EQ(16, zeroes(addr, at, 16));
	EXPECT_EQ(nr - at - 16, stamped(addr, at + 16, nr - at - 16, FIRST));
}

/* The same for a range that goes on in the next one, and ends within blocks. */
TEST_F(lazyfree, two_page_tables)
{
	size_t at = MB(2) / page_size - 24, nr = MB(4) / page_size;
	char *addr = blocks(4, MB(4) / KB(64));

	ASSERT_NE(NULL, addr);
	ASSERT_EQ(0, give(addr, at, 48));
	EXPECT_EQ(self->zap ? 128 : 192, lazyfree_kb(addr, MB(4)));
	EXPECT_EQ(nr - 48, squeeze(self->dir, NO_SWAP, addr, MB(4), nr - 48));
	EXPECT_EQ(at, stamped(addr, 0, at, FIRST));
	EXPECT_EQ(48, zeroes(addr, at, 48));
	EXPECT_EQ(nr - at - 48, stamped(addr, at + 48, nr - at - 48, FIRST));
}

/* Each event once. */
TEST_F(lazyfree, counters)
{
	struct stats before = stats(4), below = stats(3);
	char *addr = blocks(4, 4);

	ASSERT_NE(NULL, addr);
	/* Two blocks as a whole, half of one, nothing of the last. */
	ASSERT_EQ(0, give(addr, 0, 40));
	EXPECT_STREQ("2 1 0 0", counted(4, &before));
	EXPECT_STREQ(self->split ? "1 0 0 0" : "0 0 0 0", counted(3, &below));
	/* One is written. */
	poke(addr + 2 * page_size, 1);
	squeeze(self->dir, NO_SWAP, addr, KB(256), self->mark ? 1 + 24 : 40);
	EXPECT_STREQ(self->mark ? "2 1 3 1" : "2 1 1 1", counted(4, &before));
	EXPECT_STREQ(self->split ? "1 0 1 0" : "0 0 0 0", counted(3, &below));
	EXPECT_EQ(self->mark ? 1 + 24 : 40, resident(addr, KB(256)));
	/* What never was free lazily is none of them, and neither are single pages. */
	ASSERT_EQ(0, madvise(addr, KB(256), MADV_DONTNEED));
	before = stats(4);
	ASSERT_EQ(0, set_vma(addr, KB(256), 0));
	stamp(addr, 0, 64, FIRST);
	ASSERT_EQ(0, give(addr, 0, 8));
	EXPECT_EQ(56, squeeze(self->dir, NO_SWAP, addr, KB(256), 56));
	EXPECT_STREQ("0 0 0 0", counted(4, &before));
}

/* -------- sharing -------- */

/* Wait for the end of the pipe's other side, and look. */
static int look_after(char *addr, int fd)
{
	char c;

	if (read(fd, &c, 1) < 0)
		return 2;
	return stamped(addr, 0, 32, FIRST) == 32 ? 0 : 1;
}

/* What a child has too is left alone; once it is gone that is over. */
TEST_F(lazyfree, shared)
{
	int go[2], status;
	struct stats before = stats(4);
	char *addr = blocks(4, 2);
	pid_t pid;

	ASSERT_NE(NULL, addr);
	ASSERT_EQ(0, pipe2(go, O_CLOEXEC));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(go[1]);
		_exit(look_after(addr, go[0]));
	}
	close(go[0]);
	ASSERT_EQ(0, give(addr, 0, 24));
	squeeze(self->dir, NO_SWAP, addr, KB(128), 32);
	EXPECT_EQ(0, stats(4).whole - before.whole);
	EXPECT_EQ(16, stamped(addr, 0, 16, FIRST));
	EXPECT_EQ(8, stamped(addr, 24, 8, FIRST));
	if (!self->zap)
		EXPECT_EQ(8, stamped(addr, 16, 8, FIRST));
	close(go[1]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);

	ASSERT_EQ(0, give(addr, 0, 24));
	EXPECT_EQ(self->zap ? 64 : 96, lazyfree_kb(addr, KB(128)));
	EXPECT_EQ(1, stats(4).whole - before.whole);
	EXPECT_EQ(8, squeeze(self->dir, NO_SWAP, addr, KB(128), 8));
	EXPECT_EQ(8, stamped(addr, 24, 8, FIRST));
	EXPECT_EQ(24, zeroes(addr, 0, 24));
}

struct family {
	const char *dir;
	int verdict;
	bool before;
};

/* Gives parts of blocks away before or after its fork, and dies before its child. */
static int parent_of_heir(void *arg)
{
	struct family *f = arg;
	char *addr = blocks(4, 2);
	int alive[2];
	pid_t pid;

	if (!addr || pipe2(alive, O_CLOEXEC))
		return 1;
	if (f->before && (give(addr, 0, 16) || give(addr, 20, 4)))
		return 2;
	pid = fork();
	if (pid < 0)
		return 3;
	if (!pid) {
		char verdict = 'y', c;

		close(alive[1]);
		if (read(alive[0], &c, 1))
			_exit(1);
		squeeze(f->dir, WITH_SWAP, addr, KB(128), 0);
		if (stamped(addr, 16, 4, FIRST) != 4 || stamped(addr, 24, 8, FIRST) != 8 ||
		    others(addr, 0, 32, FIRST) ||
		    (!f->before && stamped(addr, 0, 32, FIRST) != 32))
			verdict = 'n';
		_exit(write(f->verdict, &verdict, 1) != 1);
	}
	if (!f->before && (give(addr, 0, 16) || give(addr, 20, 4)))
		return 4;
	/* A write of its own is a copy. */
	stamp(addr, 18, 2, SECOND);
	squeeze(f->dir, NO_SWAP, addr, KB(128), 32);
	return stamped(addr, 18, 2, SECOND) == 2 ? 0 : 5;
}

TEST_F(lazyfree, outlived_by_child)
{
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL));
	for (int before = 0; before < 2; before++) {
		struct family f = { .dir = self->dir, .before = before };
		int verdict[2], status;
		char c = '?';

		ASSERT_EQ(0, pipe2(verdict, O_CLOEXEC));
		f.verdict = verdict[1];
		EXPECT_EQ(0, run_child(parent_of_heir, &f));
		close(verdict[1]);
		EXPECT_EQ(1, read(verdict[0], &c, 1));
		EXPECT_EQ('y', c);
		EXPECT_LT(0, wait(&status));
		EXPECT_EQ(0, status);
		close(verdict[0]);
	}
}

/* What a parent dropped of its blocks while it had a child is not held for ever. */
TEST_F(lazyfree, halves_after_fork)
{
	size_t size = MB(16), nr = size / page_size;
	char *addr = blocks(4, size / KB(64));
	int go[2], status;
	long before, after;
	pid_t pid;

	ASSERT_NE(NULL, addr);
	before = group_read(self->dir, "memory.stat", "anon");
	ASSERT_LE((long)size, before);
	ASSERT_EQ(0, pipe2(go, O_CLOEXEC));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(go[1]);
		_exit(look_after(addr, go[0]));
	}
	close(go[0]);
	for (size_t i = 0; i < nr; i += 16)
		ASSERT_EQ(0, madvise(addr + i * page_size, KB(32), MADV_DONTNEED));
	close(go[1]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	for (int i = 0; i < 10; i++) {
		squeeze(self->dir, NO_SWAP, addr, size, nr);
		after = group_read(self->dir, "memory.stat", "anon");
		if (after < before - (long)(size / 2 - MB(1)))
			break;
	}
	EXPECT_GT(before - (long)(size / 2 - MB(1)), after);
	for (size_t i = 0; i < nr; i += 16)
		ASSERT_EQ(8, stamped(addr, i + 8, 8, FIRST));
}

/* The queue of blocks to split gets each once, and loses what is freed. */
TEST_F(lazyfree, split_queue)
{
	unsigned long deferred, queued;
	char *addr;

	if (access(THP_STATS "nr_anon_partially_mapped", F_OK))
		SKIP(return, "no such counter in this kernel");
	deferred = read_number(THP_STATS "split_deferred");
	queued = read_number(THP_STATS "nr_anon_partially_mapped");
	addr = blocks(4, 1);
	ASSERT_NE(NULL, addr);
	unmap_region(addr, KB(64));
	EXPECT_EQ(deferred, read_number(THP_STATS "split_deferred"));

	for (int give_first = 0; give_first < 2; give_first++) {
		addr = blocks(4, 1);
		ASSERT_NE(NULL, addr);
		if (give_first) {
			ASSERT_EQ(0, give(addr, 0, 8));
			if (self->split) {
				EXPECT_EQ(queued, read_number(THP_STATS
							      "nr_anon_partially_mapped"));
				break;
			}
			EXPECT_EQ(queued + 1,
				  read_number(THP_STATS "nr_anon_partially_mapped"));
		}
		for (size_t i = 0; i < 16; i++) {
			ASSERT_EQ(0, munmap(addr + i * page_size, page_size));
			EXPECT_EQ(queued + (i < 15),
				  read_number(THP_STATS "nr_anon_partially_mapped"));
		}
		EXPECT_EQ(++deferred, read_number(THP_STATS "split_deferred"));
	}
}

/* -------- bits of page table entries -------- */

/* The page that is written, and none beside it, is dirty for who asks. */
TEST_F(lazyfree, soft_dirty)
{
	static const size_t written[] = { 0, 6, 15 };

	for (int half = 0; half < 2; half++) {
		for (size_t w = 0; w < ARRAY_SIZE(written); w++) {
			size_t nr = half ? 8 : 16, page = written[w] % nr;
			char *addr = blocks(4, 1);

			ASSERT_NE(NULL, addr);
			if (!soft_dirty(addr))
				SKIP(return, "no soft-dirty bits in this kernel");
			ASSERT_EQ(0, give(addr, 0, nr));
			ASSERT_EQ(0, write_text("/proc/self/clear_refs", "4"));
			ASSERT_FALSE(soft_dirty(addr + page * page_size));
			stamp(addr, page, 1, SECOND);
			squeeze(self->dir, NO_SWAP, addr, KB(64),
				self->mark ? 16 - nr + 1 : 16);
			EXPECT_TRUE(soft_dirty(addr + page * page_size));
			EXPECT_EQ(CONTENT_STAMP, look(addr, page, SECOND));
			for (size_t i = 0; i < 16; i++) {
				char *at = addr + i * page_size;

				if (i == page)
					continue;
				EXPECT_FALSE(soft_dirty(at))
					TH_LOG("page %zu for %zu of %zu", i, page, nr);
				/* Whoever made it writable too soon is found out. */
				poke(at + 8, 0);
				EXPECT_TRUE(soft_dirty(at))
					TH_LOG("page %zu for %zu of %zu", i, page, nr);
				EXPECT_TRUE(kept(addr, i, FIRST, i < nr));
			}
			unmap_region(addr, KB(64));
		}
	}
}

/* Write protection by userfaultfd, which zap does not take away either. */
TEST_F(lazyfree, uffd_wp)
{
	for (size_t nr = 8; nr <= 16; nr += 8) {
		struct uffdio_api api = { .api = UFFD_API };
		struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_WP };
		struct uffdio_writeprotect wp = { .mode = UFFDIO_WRITEPROTECT_MODE_WP };
		int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
		char *addr = blocks(4, 1);

		ASSERT_NE(NULL, addr);
		if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
			SKIP(return, "no userfaultfd");
		reg.range.start = (unsigned long)addr;
		reg.range.len = KB(64);
		if (ioctl(fd, UFFDIO_REGISTER, &reg))
			SKIP(return, "no write protection by userfaultfd");
		wp.range.start = (unsigned long)addr + 4 * page_size;
		wp.range.len = 4 * page_size;
		ASSERT_EQ(0, ioctl(fd, UFFDIO_WRITEPROTECT, &wp));
		ASSERT_EQ(0, give(addr, 0, nr));
		EXPECT_EQ(16, resident(addr, KB(64)));
		EXPECT_EQ(nr == 16 || self->mark ? 4 : 3, folio_order(addr));
		for (size_t i = 0; i < 16; i++)
			EXPECT_EQ(i / 4 == 1, uffd_protected(addr + i * page_size));
		stamp(addr, 1, 1, SECOND);
		squeeze(self->dir, NO_SWAP, addr, KB(64), self->mark ? 16 - nr + 1 : 16);
		EXPECT_EQ(CONTENT_STAMP, look(addr, 1, SECOND));
		for (size_t i = 0; i < 16; i++) {
			if (!page_frame(addr + i * page_size))
				continue;
			EXPECT_EQ(i / 4 == 1, uffd_protected(addr + i * page_size));
			if (i != 1)
				EXPECT_EQ(CONTENT_STAMP, look(addr, i, FIRST));
		}
		EXPECT_EQ(16 - nr, stamped(addr, nr, 16 - nr, FIRST));
		close(fd);
		unmap_region(addr, KB(64));
	}
}

/* What may not be written stays so, though it lies in a block that is. */
TEST_F(lazyfree, read_only)
{
	for (size_t nr = 8; nr <= 16; nr += 8) {
		for (size_t page = 0; page < 16; page += 15) {
			char *addr = blocks(4, 1);

			ASSERT_NE(NULL, addr);
			ASSERT_EQ(0, give(addr, 0, nr));
			ASSERT_EQ(0, mprotect(addr + 4 * page_size, 4 * page_size,
					      PROT_READ));
			stamp(addr, page, 1, SECOND);
			for (int i = 0; i < 2; i++) {
				for (size_t at = 4; at < 8; at++)
					EXPECT_TRUE(write_faults(addr + at * page_size));
				squeeze(self->dir, NO_SWAP, addr, KB(64), 16 - nr + 1);
			}
			for (size_t at = 4; at < 8; at++)
				EXPECT_TRUE(write_faults(addr + at * page_size));
			ASSERT_EQ(0, mprotect(addr, KB(64), PROT_READ | PROT_WRITE));
			for (size_t at = 0; at < 16; at++)
				EXPECT_FALSE(write_faults(addr + at * page_size));
			EXPECT_EQ(CONTENT_STAMP, look(addr, page, SECOND));
			for (size_t at = 0; at < 16; at++) {
				if (at != page)
					EXPECT_TRUE(kept(addr, at, FIRST, at < nr));
			}
			unmap_region(addr, KB(64));
		}
	}
}

/* -------- what others hold, or move -------- */

/* A page that a pipe holds keeps what it held; the blocks behind it are freed. */
TEST_F(lazyfree, pinned)
{
	for (size_t first = 0; first < 16; first += 8) {
		char *addr = blocks(4, 4), page[4096];
		struct iovec iov = { addr + 9 * page_size, page_size };
		int fds[2];

		ASSERT_NE(NULL, addr);
		ASSERT_EQ(sizeof(page), page_size);
		ASSERT_EQ(0, pipe2(fds, O_CLOEXEC));
		ASSERT_EQ(page_size, vmsplice(fds[1], &iov, 1, 0));
		ASSERT_EQ(0, give(addr, first, 64 - first));
		/* The three that follow, and nothing else is sure. */
		EXPECT_LE(3 * 64, lazyfree_kb(addr, KB(256)));
		EXPECT_GE(16, squeeze(self->dir, NO_SWAP, addr, KB(256), 16));
		EXPECT_EQ(48, zeroes(addr, 16, 48));
		EXPECT_EQ(first, stamped(addr, 0, first, FIRST));
		EXPECT_EQ(0, others(addr, 0, 16, FIRST));
		ASSERT_EQ(page_size, read(fds[0], page, page_size));
		EXPECT_EQ(CONTENT_STAMP, page_content(page, tag(9, FIRST)));
		close(fds[0]);
		close(fds[1]);
		/* The pipe has let go of it. */
		ASSERT_EQ(0, give(addr, first, 16 - first));
		EXPECT_EQ(first, squeeze(self->dir, NO_SWAP, addr, KB(256), first));
		EXPECT_EQ(first, stamped(addr, 0, first, FIRST));
		unmap_region(addr, KB(256));
	}
}

#ifndef MLOCK_ONFAULT
#define MLOCK_ONFAULT	1
#endif

/* Memory that is locked now is not taken away, whatever was said of it before. */
TEST_F(lazyfree, locked_in_memory)
{
	for (unsigned int flags = 0; flags <= MLOCK_ONFAULT; flags++) {
		char *addr = blocks(4, 2);
		size_t left;

		ASSERT_NE(NULL, addr);
		ASSERT_EQ(0, give(addr, 0, 24));
		if (syscall(SYS_mlock2, addr, KB(128), flags))
			SKIP(return, "memory cannot be locked");
		left = resident(addr, KB(128));
		EXPECT_EQ(self->zap && flags ? 24 : 32, left);
		EXPECT_EQ(left, squeeze(self->dir, NO_SWAP, addr, KB(128), left));
		EXPECT_EQ(16, stamped(addr, 0, 16, FIRST));
		EXPECT_EQ(8, count(addr, 16, 8, FIRST,
				   self->zap ? CONTENT_ZERO : CONTENT_STAMP));
		EXPECT_EQ(8, stamped(addr, 24, 8, FIRST));
		ASSERT_EQ(0, munlock(addr, KB(128)));
		/* It may be given again. */
		ASSERT_EQ(0, give(addr, 0, 24));
		EXPECT_EQ(8, squeeze(self->dir, NO_SWAP, addr, KB(128), 8));
		EXPECT_EQ(8, stamped(addr, 24, 8, FIRST));
		unmap_region(addr, KB(128));
	}
}

/* KSM merges what is alike, and splits blocks for it. */
TEST_F(lazyfree, ksm)
{
	size_t nr = MB(1) / page_size;
	char *addr = blocks(4, MB(1) / KB(64));
	unsigned long scans;

	if (access(KSM_DIR "run", F_OK))
		SKIP(return, "no KSM in this kernel");
	ASSERT_NE(NULL, addr);
	/* Each page is like one in four others. */
	for (size_t i = 0; i < nr; i++)
		stamp_page(addr + i * page_size, i % 4);
	for (size_t i = 0; i < nr; i += 16)
		ASSERT_EQ(0, give(addr, i, 8));
	for (size_t i = 0; i < nr; i += 16)
		stamp_page(addr + (i + 1) * page_size, 1);
	ASSERT_EQ(0, madvise(addr, MB(1), MADV_MERGEABLE));
	write_text(KSM_DIR "sleep_millisecs", "0");
	write_text(KSM_DIR "pages_to_scan", "10000");
	scans = read_number(KSM_DIR "full_scans");
	ASSERT_EQ(0, write_text(KSM_DIR "run", "1"));
	while (read_number(KSM_DIR "full_scans") < scans + 4)
		usleep(10000);
	EXPECT_LT(0, read_number(KSM_DIR "pages_sharing"));
	squeeze(self->dir, NO_SWAP, addr, MB(1), nr);
	squeeze(self->dir, WITH_SWAP, addr, MB(1), nr / 2);
	/* What KSM merged is shared, so it is no more free. */
	ASSERT_EQ(0, give(addr, 8, 4));
	ASSERT_EQ(0, write_text(KSM_DIR "run", "0"));
	for (size_t i = 0; i < nr; i++) {
		enum content content = page_content(addr + i * page_size, i % 4);
		bool given = (i % 16 < 8 && i % 16 != 1) || (i >= 8 && i < 12);

		EXPECT_TRUE(content == CONTENT_STAMP || (given && content == CONTENT_ZERO))
			TH_LOG("page %zu", i);
	}
}

/*
 * What is read back from zram is clean, and there is no other copy: a page that
 * was not freed must not be taken for one that was.
 */
TEST_F(lazyfree, read_back_from_swap)
{
	if (!has_swap())
		SKIP(return, "no swap");
	for (size_t freed = 1; freed <= 8; freed += 7) {
		size_t at = freed == 8 ? 0 : 5;
		char *addr = blocks(4, 4);

		ASSERT_NE(NULL, addr);
		ASSERT_EQ(0, madvise(addr, KB(256), MADV_PAGEOUT));
		EXPECT_EQ(0, resident(addr, KB(256)));
		EXPECT_EQ(64, stamped(addr, 0, 64, FIRST));
		EXPECT_EQ(64, resident(addr, KB(256)));
		TH_LOG("read back in folios of order %d", folio_order(addr));
		for (size_t i = 0; i < 64; i += 16)
			ASSERT_EQ(0, give(addr, i + at, freed));
		EXPECT_EQ(64 - 4 * freed, squeeze(self->dir, NO_SWAP, addr, KB(256),
						  64 - 4 * freed));
		for (int round = 0; round < 2; round++) {
			for (size_t i = 0; i < 64; i++) {
				bool given = i % 16 >= at && i % 16 < at + freed;

				EXPECT_EQ(given ? CONTENT_ZERO : CONTENT_STAMP,
					  look(addr, i, FIRST))
					TH_LOG("page %zu", i);
			}
			squeeze(self->dir, WITH_SWAP, addr, KB(256), 0);
		}
		unmap_region(addr, KB(256));
	}
}

/* The same for a block that goes as a whole: its copy in swap goes too. */
TEST_F(lazyfree, whole_from_swap)
{
	char *addr;

	if (!has_swap())
		SKIP(return, "no swap");
	addr = blocks(4, 4);
	ASSERT_NE(NULL, addr);
	ASSERT_EQ(0, madvise(addr, KB(256), MADV_PAGEOUT));
	EXPECT_EQ(64, stamped(addr, 0, 64, FIRST));
	ASSERT_EQ(0, give(addr, 0, 32));
	stamp(addr, 3, 1, SECOND);
	squeeze(self->dir, WITH_SWAP, addr, KB(256), 0);
	EXPECT_EQ(CONTENT_STAMP, look(addr, 3, SECOND));
	EXPECT_EQ(0, others(addr, 0, 3, FIRST));
	EXPECT_EQ(0, others(addr, 4, 28, FIRST));
	EXPECT_EQ(32, stamped(addr, 32, 32, FIRST));
	/* What is in swap as it is freed is gone at once. */
	ASSERT_EQ(0, madvise(addr + KB(128), KB(128), MADV_PAGEOUT));
	ASSERT_EQ(0, give(addr, 32, 24));
	EXPECT_EQ(24, zeroes(addr, 32, 24));
	EXPECT_EQ(8, stamped(addr, 56, 8, FIRST));
}

/* -------- other advice -------- */

TEST_F(lazyfree, cold)
{
	static const unsigned int orders[] = { 3, 4, 9 };

	for (size_t o = 0; o < ARRAY_SIZE(orders); o++) {
		unsigned int order = orders[o];
		size_t nr = BIT(order), size = nr * page_size;
		char *addr = blocks(order, 2);

		ASSERT_NE(NULL, addr);
		ASSERT_EQ(0, madvise(addr, size / 2, MADV_COLD));
		EXPECT_EQ(self->mark ? order : order - 1, folio_order(addr))
			TH_LOG("order %u", order);
		EXPECT_EQ(self->mark ? order : order - 1,
			  folio_order(addr + size - page_size));
		EXPECT_EQ(order, folio_order(addr + size));
		EXPECT_EQ(0, lazyfree_kb(addr, 2 * size));
		/* Old is not free. */
		EXPECT_EQ(2 * nr, squeeze(self->dir, NO_SWAP, addr, 2 * size, 2 * nr));
		squeeze(self->dir, WITH_SWAP, addr, 2 * size, nr);
		EXPECT_EQ(2 * nr, stamped(addr, 0, 2 * nr, FIRST));
		unmap_region(addr, 2 * size);
	}
}

/* After a mark, the pages that are not cold may be free and the other way round. */
TEST_F(lazyfree, cold_and_free)
{
	char *addr = blocks(4, 2);

	ASSERT_NE(NULL, addr);
	ASSERT_EQ(0, give(addr, 0, 4));
	ASSERT_EQ(0, madvise(addr, KB(32), MADV_COLD));
	ASSERT_EQ(0, madvise(addr + KB(64), KB(32), MADV_COLD));
	ASSERT_EQ(0, give(addr, 28, 4));
	EXPECT_EQ(24, squeeze(self->dir, NO_SWAP, addr, KB(128), 24));
	EXPECT_EQ(24, stamped(addr, 4, 24, FIRST));
	EXPECT_EQ(4, zeroes(addr, 0, 4));
	EXPECT_EQ(4, zeroes(addr, 28, 4));
}

TEST_F(lazyfree, pageout)
{
	static const unsigned int orders[] = { 3, 4, 9 };

	if (!has_swap())
		SKIP(return, "no swap");
	for (size_t o = 0; o < ARRAY_SIZE(orders); o++) {
		unsigned int order = orders[o];
		size_t nr = BIT(order), size = nr * page_size;
		char *addr = blocks(order, 2);

		ASSERT_NE(NULL, addr);
		ASSERT_EQ(0, madvise(addr, size / 2, MADV_PAGEOUT));
		EXPECT_EQ(order - 1, folio_order(addr + size / 2))
			TH_LOG("order %u", order);
		EXPECT_EQ(order, folio_order(addr + size));
		EXPECT_EQ(2 * nr - nr / 2, resident(addr, 2 * size));
		EXPECT_EQ(2 * nr, stamped(addr, 0, 2 * nr, FIRST));
		unmap_region(addr, 2 * size);
	}
}

/* Marked pages are freed, not written, when the block is paged out. */
TEST_F(lazyfree, pageout_of_marked)
{
	char *addr;

	if (!has_swap())
		SKIP(return, "no swap");
	addr = blocks(4, 2);
	ASSERT_NE(NULL, addr);
	ASSERT_EQ(0, give(addr, 0, 8));
	stamp(addr, 2, 1, SECOND);
	ASSERT_EQ(0, madvise(addr, KB(64), MADV_PAGEOUT));
	ASSERT_EQ(0, madvise(addr + KB(64), KB(32), MADV_PAGEOUT));
	EXPECT_EQ(CONTENT_STAMP, look(addr, 2, SECOND));
	EXPECT_EQ(0, others(addr, 0, 2, FIRST));
	EXPECT_EQ(0, others(addr, 3, 5, FIRST));
	EXPECT_EQ(24, stamped(addr, 8, 24, FIRST));
}

/* -------- much memory -------- */

static size_t available_kb(void)
{
	char text[4096], *line;

	if (read_text("/proc/meminfo", text, sizeof(text)))
		return 0;
	line = strstr(text, "\nMemAvailable:");
	return line ? strtoul(line + strlen("\nMemAvailable:"), NULL, 10) : 0;
}

static atomic_bool stop;

static void *reclaim_on(void *arg)
{
	while (!stop)
		group_write(arg, "memory.reclaim", "32M");
	return NULL;
}

#define READS	4

/* All of it is read while it is reclaimed; in some blocks, something is written. */
TEST_F(lazyfree, read_under_reclaim)
{
	size_t size = available_kb() > MB(1) ? MB(256) : MB(128);
	size_t nr = size / page_size;
	char *addr = blocks(4, size / KB(64));
	pthread_t thread;

	ASSERT_NE(NULL, addr);
	ASSERT_EQ(0, give(addr, 0, nr));
	EXPECT_EQ((long)(size >> 10), lazyfree_kb(addr, size));
	ASSERT_EQ(0, pthread_create(&thread, NULL, reclaim_on, self->dir));
	for (int round = 0; round < READS; round++) {
		for (size_t i = round; i < nr; i += 16 * 8)
			stamp(addr, i, 1, SECOND);
		for (size_t i = 0; i < nr; i++) {
			bool written = i % (16 * 8) <= (size_t)round;

			/* It may vanish while it is looked at, but then it has. */
			if (!kept(addr, i, written ? SECOND : FIRST, !written))
				ASSERT_TRUE(!written && zeroes(addr, i, 1));
		}
	}
	stop = true;
	ASSERT_EQ(0, pthread_join(thread, NULL));
	/* What was written, and in its block, is an eighth. */
	for (int i = 0; i < 20 && resident(addr, size) > nr / 4; i++)
		group_write(self->dir, "memory.reclaim", "256M swappiness=0");
	EXPECT_GE(nr / 4, resident(addr, size));
	for (size_t i = 0; i < nr; i += 16 * 8)
		ASSERT_EQ(READS, stamped(addr, i, READS, SECOND));
	unmap_region(addr, size);
}

/* -------- fork and swap, whatever is free -------- */

FIXTURE(block)
{
	char dir[128];
};

FIXTURE_SETUP(block)
{
	const char *why = lazyfree_begin(self->dir, sizeof(self->dir), "folio", "mark");

	if (why)
		SKIP(return, "%s", why);
}

FIXTURE_TEARDOWN_PARENT(block)
{
	lazyfree_end(self->dir);
}

/* One page is copied for a write after a fork, not its block. */
TEST_F(block, write_after_fork)
{
	size_t nr = MB(2) / KB(64);
	char *addr = blocks(4, nr);
	unsigned long before;
	int go[2], status;
	pid_t pid;

	ASSERT_NE(NULL, addr);
	ASSERT_EQ(0, pipe2(go, O_CLOEXEC));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		close(go[1]);
		_exit(look_after(addr, go[0]));
	}
	close(go[0]);
	before = faults();
	for (size_t i = 0; i < nr; i++)
		poke(addr + i * KB(64) + 3 * page_size, 7);
	EXPECT_EQ(nr, faults() - before);
	EXPECT_EQ((long)(nr * page_size >> 10),
		  smaps_sum_kb(addr, MB(2), "Private_Dirty") +
		  smaps_sum_kb(addr, MB(2), "Private_Clean"));
	close(go[1]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(nr * 15, stamped(addr, 0, nr * 16, FIRST));
}

/* Pages of zeroes among others, as swap keeps the two apart. */
TEST_F(block, zeroes_in_swap)
{
	static const unsigned int full[] = { 0x1, 0xfffe, 0x5555, 0xaaaa, 0x00ff, 0x8000 };
	size_t nr = ARRAY_SIZE(full);
	char *addr;

	if (!has_swap())
		SKIP(return, "no swap");
	addr = blocks(4, nr);
	ASSERT_NE(NULL, addr);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < nr * 16; i++) {
			if (full[i / 16] & BIT(i % 16))
				stamp(addr, i, 1, FIRST);
			else
				memset(addr + i * page_size, 0, page_size);
		}
		ASSERT_EQ(0, madvise(addr, nr * KB(64), MADV_PAGEOUT));
		EXPECT_EQ(0, resident(addr, nr * KB(64)));
		for (size_t i = 0; i < nr * 16; i++)
			EXPECT_EQ(full[i / 16] & BIT(i % 16) ? CONTENT_STAMP : CONTENT_ZERO,
				  look(addr, i, FIRST));
	}
}

/* -------- settings, and the other backing -------- */

TEST_F(block, ways)
{
	static const char * const ways[] = { "mark", "zap", "split" };
	static const char * const shown[] = {
		"[mark] zap split", "mark [zap] split", "mark zap [split]",
	};
	static const char * const wrong[] = { "marks", "", "zap split", "[zap]", "1" };
	char text[64];

	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		ASSERT_EQ(0, mcpage_write("lazyfree/partial", ways[i]));
		ASSERT_EQ(0, mcpage_read("lazyfree/partial", text, sizeof(text)));
		EXPECT_STREQ(shown[i], text);
		for (size_t j = 0; j < ARRAY_SIZE(wrong); j++) {
			if (*wrong[j])
				EXPECT_EQ(-EINVAL, mcpage_write("lazyfree/partial",
								wrong[j]));
			ASSERT_EQ(0, mcpage_read("lazyfree/partial", text, sizeof(text)));
			EXPECT_STREQ(shown[i], text);
		}
	}
}

/* A mark is good, however parts are treated when the block is split. */
TEST_F(block, way_changes)
{
	char *addr = blocks(4, 3);

	ASSERT_NE(NULL, addr);
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, give(addr, 16 * i, 8));
	ASSERT_EQ(0, mcpage_write("lazyfree/partial", "split"));
	/* Splits a block with marks. */
	ASSERT_EQ(0, give(addr, 8, 4));
	ASSERT_EQ(0, mcpage_write("lazyfree/partial", "zap"));
	ASSERT_EQ(0, give(addr, 16 + 4, 8));
	EXPECT_EQ(4 + 4 + 8, squeeze(self->dir, NO_SWAP, addr, KB(192), 4 + 4 + 8));
	EXPECT_EQ(12, zeroes(addr, 0, 12));
	EXPECT_EQ(4, stamped(addr, 12, 4, FIRST));
	EXPECT_EQ(12, zeroes(addr, 16, 12));
	EXPECT_EQ(4, stamped(addr, 28, 4, FIRST));
	EXPECT_EQ(8, zeroes(addr, 32, 8));
	EXPECT_EQ(8, stamped(addr, 40, 8, FIRST));
}

FIXTURE(pages)
{
	char dir[128];
};

FIXTURE_SETUP(pages)
{
	const char *why = lazyfree_begin(self->dir, sizeof(self->dir), "pages", "mark");

	if (why)
		SKIP(return, "%s", why);
}

FIXTURE_TEARDOWN_PARENT(pages)
{
	lazyfree_end(self->dir);
}

/* Blocks of single pages are freed page by page, and are not counted. */
TEST_F(pages, page_by_page)
{
	struct stats before = stats(4);
	char *addr = map_region(KB(256));

	ASSERT_NE(NULL, addr);
	ASSERT_EQ(0, set_vma(addr, KB(256), BIT(4)));
	stamp(addr, 0, 64, FIRST);
	ASSERT_EQ(0, folio_order(addr));
	ASSERT_EQ(0, give(addr, 0, 16));
	ASSERT_EQ(0, give(addr, 20, 7));
	EXPECT_EQ(92, lazyfree_kb(addr, KB(256)));
	stamp(addr, 3, 1, SECOND);
	ASSERT_EQ(0, madvise(addr + KB(128), KB(32), MADV_COLD));
	EXPECT_EQ(64 - 22, squeeze(self->dir, NO_SWAP, addr, KB(256), 64 - 22));
	EXPECT_EQ(CONTENT_STAMP, look(addr, 3, SECOND));
	EXPECT_EQ(15, zeroes(addr, 0, 16));
	EXPECT_EQ(4, stamped(addr, 16, 4, FIRST));
	EXPECT_EQ(7, zeroes(addr, 20, 7));
	EXPECT_EQ(37, stamped(addr, 27, 37, FIRST));
	if (has_swap()) {
		ASSERT_EQ(0, madvise(addr + KB(128), KB(32), MADV_PAGEOUT));
		EXPECT_EQ(64 - 22 - 8, resident(addr, KB(256)));
		EXPECT_EQ(37, stamped(addr, 27, 37, FIRST));
	}
	EXPECT_STREQ("0 0 0 0", counted(4, &before));
}

TEST_HARNESS_MAIN
