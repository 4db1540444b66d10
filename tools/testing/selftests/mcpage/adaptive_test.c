// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: the adaptive mode gives blocks to memory that is used
 * densely, and single pages to the rest.
 */
#include <pthread.h>
#include <sys/resource.h>

#include "mcpage_harness.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

FIXTURE(adaptive)
{
	char *addr;
	size_t size;
};

FIXTURE_VARIANT(adaptive)
{
	const char *backing;
};

FIXTURE_VARIANT_ADD(adaptive, folio)
{
	.backing = "folio",
};

FIXTURE_VARIANT_ADD(adaptive, pages)
{
	.backing = "pages",
};

FIXTURE_SETUP(adaptive)
{
	if (not_testable())
		SKIP(return, "%s", not_testable());
	ASSERT_EQ(0, settings_begin());
	if (mcpage_write("backing", variant->backing)) {
		settings_end();
		SKIP(return, "no %s backing in this kernel", variant->backing);
	}
	ASSERT_EQ(0, mcpage_write("mode", "adaptive"));
	/* Blocks of every size are to be had. */
	write_text("/proc/sys/vm/compact_memory", "1");
	self->size = MB(16);
	self->addr = map_region(self->size);
	ASSERT_NE(NULL, self->addr);
	ASSERT_EQ(0, set_vma(self->addr, self->size, valid_orders));
}

FIXTURE_TEARDOWN_PARENT(adaptive)
{
	settings_end();
}

static long faults(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? -1 : usage.ru_minflt;
}

/*
 * Write the pages of a range without blocks. By the system's set, as a mapping that
 * was split for it need not merge again.
 */
static void fill_singly(char *addr, size_t size)
{
	mcpage_write_orders("orders", 0);
	for (size_t i = 0; i < size; i += page_size)
		poke(addr + i, 1);
	mcpage_write_orders("orders", valid_orders);
}

/*
 * In sequence, up or down: larger and larger blocks, and far fewer faults than there
 * are blocks of 64 KiB. Nothing but what is written is resident.
 */
TEST_F(adaptive, up)
{
	long before = faults();

	for (size_t i = 0; i < self->size; i += page_size)
		poke(self->addr + i, 1);
	EXPECT_GT(before + (long)(self->size / KB(128)), faults());
	EXPECT_EQ(self->size / page_size, resident(self->addr, self->size));
	if (!strcmp(variant->backing, "folio"))
		EXPECT_LT(6, folio_order(self->addr + self->size - 1));
}

TEST_F(adaptive, down)
{
	long before = faults();

	for (size_t i = self->size; i; i -= page_size)
		poke(self->addr + i - 1, 1);
	EXPECT_GT(before + (long)(self->size / KB(128)), faults());
	EXPECT_EQ(self->size / page_size, resident(self->addr, self->size));
	if (!strcmp(variant->backing, "folio"))
		EXPECT_LT(6, folio_order(self->addr));
}

/* At equal distances, whatever they are: single pages, and no page more. */
TEST_F(adaptive, strides)
{
	static const size_t strides[] = { 2, 3, 4, 5, 8, 12, 13, 16, 33, 64, 511, 512 };

	for (size_t i = 0; i < ARRAY_SIZE(strides); i++) {
		size_t pages = 0;

		for (size_t at = 0; at < self->size; at += strides[i] * page_size) {
			poke(self->addr + at, 1);
			pages++;
		}
		EXPECT_EQ(pages, resident(self->addr, self->size))
			TH_LOG("1 page in %zu", strides[i]);
		ASSERT_EQ(0, madvise(self->addr, self->size, MADV_DONTNEED));
	}
}

/* At random: what is resident beyond what is written stays within 1%. */
TEST_F(adaptive, random_sparse)
{
	size_t nr = self->size / page_size, pages = 0;
	bool *written = calloc(nr, sizeof(*written));

	ASSERT_NE(NULL, written);
	srandom(1);
	while (pages < nr / 4) {
		size_t page = random() % nr;

		poke(self->addr + page * page_size, 1);
		pages += !written[page];
		written[page] = true;
	}
	EXPECT_GE(pages + pages / 100, resident(self->addr, self->size));
	free(written);
}

#define THREADS	8

struct arena {
	char *addr;
	size_t size;
	pthread_barrier_t *start;
	bool ok;
};

static void *fill_arena(void *arg)
{
	struct arena *arena = arg;

	pthread_barrier_wait(arena->start);
	for (size_t i = 0; i < arena->size; i += sizeof(long))
		*(unsigned long *)(arena->addr + i) = i ^ (unsigned long)arena->addr;
	arena->ok = true;
	for (size_t i = 0; i < arena->size; i += sizeof(long))
		arena->ok &= *(unsigned long *)(arena->addr + i) ==
			     (i ^ (unsigned long)arena->addr);
	return NULL;
}

/*
 * Threads that fill one region from different points: each climbs by itself, and
 * where they meet nobody loses what he has written.
 */
TEST_F(adaptive, threads)
{
	struct arena arenas[THREADS];
	pthread_t threads[THREADS];
	pthread_barrier_t barrier;
	long before = faults();

	ASSERT_EQ(0, pthread_barrier_init(&barrier, NULL, THREADS));
	for (int i = 0; i < THREADS; i++) {
		arenas[i].size = self->size / THREADS;
		arenas[i].addr = self->addr + i * arenas[i].size;
		arenas[i].start = &barrier;
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, fill_arena, &arenas[i]));
	}
	for (int i = 0; i < THREADS; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		EXPECT_TRUE(arenas[i].ok);
	}
	EXPECT_EQ(self->size / page_size, resident(self->addr, self->size));
	EXPECT_GT(before + (long)(self->size / page_size) / 8, faults());
}

/*
 * Holes of 64 KiB in dense memory stay holes until they are written to; each is
 * then surrounded by use, and comes back with one fault.
 */
TEST_F(adaptive, holes)
{
	size_t hole = KB(64), nr = self->size / page_size;
	char *control = map_region(MB(2));
	long before;

	ASSERT_NE(NULL, control);
	for (size_t i = 0; i < self->size; i += page_size)
		poke(self->addr + i, 1);
	for (size_t at = hole; at < self->size; at += 2 * hole)
		ASSERT_EQ(0, madvise(self->addr + at, hole, MADV_DONTNEED));
	ASSERT_EQ(nr / 2, resident(self->addr, self->size));
	ASSERT_TRUE(khugepaged_has_seen_it(control));
	EXPECT_EQ(nr / 2, resident(self->addr, self->size));
	before = faults();
	for (size_t at = hole; at < self->size; at += 2 * hole)
		poke(self->addr + at, 2);
	/* A few may be the test's own. */
	EXPECT_GE(before + (long)(self->size / (2 * hole)) + 8, faults());
	EXPECT_EQ(nr, resident(self->addr, self->size));
	for (size_t at = hole; at < self->size; at += 2 * hole) {
		EXPECT_EQ(1, peek(self->addr + at - page_size));
		EXPECT_EQ(2, peek(self->addr + at));
		EXPECT_EQ(0, peek(self->addr + at + page_size));
	}
}

/* khugepaged makes huge pages of what is full, and fills in nothing. */
TEST_F(adaptive, khugepaged)
{
	size_t pmd = block_size(pmd_order), pages = 0;
	char *control = map_region(MB(2));

	ASSERT_NE(NULL, control);
	if (strcmp(variant->backing, "folio"))
		SKIP(return, "it leaves this backing alone");
	/* The first is full, of the second all but one page, of the rest one. */
	fill_singly(self->addr, 2 * pmd - page_size);
	for (size_t at = 2 * pmd; at < self->size; at += pmd) {
		poke(self->addr + at + 7 * page_size, 1);
		pages++;
	}
	pages += 2 * pmd / page_size - 1;
	ASSERT_EQ(pages, resident(self->addr, self->size));
	ASSERT_EQ(0, max_folio_order(self->addr, self->size));
	ASSERT_TRUE(khugepaged_has_seen_it(control));
	EXPECT_EQ(pages, resident(self->addr, self->size));
	EXPECT_EQ(pmd_order, folio_order(self->addr));
	EXPECT_EQ(0, max_folio_order(self->addr + pmd, self->size - pmd));
}

/* What 1 MiB in use justifies, in pages. */
#define BEHIND_MB	(KB(128) / page_size)

static int go_on(void *arg)
{
	char *addr = arg;

	poke(addr, 1);
	return present_pages(addr, MB(1)) == BEHIND_MB ? 0 : 1;
}

/* A child goes on where its parent was: memory that they share is in use. */
TEST_F(adaptive, fork)
{
	fill_singly(self->addr, MB(1));
	EXPECT_EQ(0, run_child(go_on, self->addr + MB(1)));
	EXPECT_EQ(MB(1) / page_size, resident(self->addr, self->size));
	poke(self->addr + MB(1), 1);
	EXPECT_EQ(MB(1) / page_size + BEHIND_MB, resident(self->addr, self->size));
}

/* What is in swap is in use, and what comes back is what went. */
TEST_F(adaptive, swap)
{
	fill_singly(self->addr, MB(1));
	/* It may take reclaim more than one attempt. */
	for (int n = 0; n < 100 && present_pages(self->addr, MB(1)); n++)
		madvise(self->addr, MB(1), MADV_PAGEOUT);
	if (present_pages(self->addr, MB(1)))
		SKIP(return, "no swap");
	poke(self->addr + MB(1), 1);
	EXPECT_EQ(BEHIND_MB, present_pages(self->addr + MB(1), self->size - MB(1)));
	for (size_t i = 0; i < MB(1); i += page_size)
		EXPECT_EQ(1, peek(self->addr + i));
}

/* A mapping that grows downward takes the pages that are touched. */
TEST_F(adaptive, grows_down)
{
	size_t room = MB(4), used = MB(1);
	char *top = map_region(room) + room;
	char *stack;

	ASSERT_EQ(0, mcpage_write_orders("vma/stack/orders", valid_orders));
	ASSERT_EQ(0, mcpage_write("enabled", "always"));
	ASSERT_EQ(0, munmap(top - room, room));
	stack = mmap(top - page_size, page_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED_NOREPLACE,
		     -1, 0);
	ASSERT_EQ(top - page_size, stack);
	for (size_t i = page_size; i <= used; i += page_size)
		poke(top - i, 1);
	EXPECT_EQ(used / page_size, resident(top - used, used));
	for (size_t i = page_size; i <= used; i += page_size)
		EXPECT_EQ(1, peek(top - i));
	munmap(top - used, used);
}

/* Each scope can ask for it; a seal keeps it. */
static int seal(void *arg)
{
	unsigned long value = BIT(4) | PR_MCPAGE_SEAL | PR_MCPAGE_ADAPTIVE;

	if (set_process(value) || get_process() != (long)value)
		return 1;
	if (set_process(BIT(4) | PR_MCPAGE_SEAL) != -EPERM)
		return 2;
	if (get_process() != (long)value)
		return 3;
	return set_process(PR_MCPAGE_SEAL | PR_MCPAGE_ADAPTIVE) ? 4 : 0;
}

TEST_F(adaptive, sealed)
{
	EXPECT_EQ(0, run_child(seal, NULL));
}

TEST_F(adaptive, scopes)
{
	unsigned long with = BIT(4) | PR_MCPAGE_ADAPTIVE;

	ASSERT_EQ(0, mcpage_write("mode", "fixed"));
	EXPECT_EQ(4, probe_order(0, BIT(4), variant->backing));
	EXPECT_EQ(0, probe_order(0, with, variant->backing));
	ASSERT_EQ(0, set_process(with));
	EXPECT_EQ(0, probe_order(0, BIT(4), variant->backing));
	ASSERT_EQ(0, set_process(PR_MCPAGE_UNSET));
	ASSERT_EQ(0, mcpage_write("mode", "adaptive"));
	EXPECT_EQ(0, probe_order(0, BIT(4), variant->backing));
}

/* The mode is part of a mapping's policy: it splits, merges and shows in smaps. */
TEST_F(adaptive, mapping)
{
	EXPECT_FALSE(has_vm_flag(self->addr, "ma"));
	ASSERT_EQ(0, set_vma(self->addr + MB(4), MB(4), valid_orders | PR_MCPAGE_ADAPTIVE));
	EXPECT_EQ(3, count_vmas(self->addr, self->size));
	EXPECT_TRUE(has_vm_flag(self->addr + MB(4), "ma"));
	EXPECT_TRUE(has_vm_flag(self->addr + MB(4), "mc"));
	EXPECT_EQ(valid_orders | PR_MCPAGE_ADAPTIVE, get_vma(self->addr + MB(4)));
	ASSERT_EQ(0, set_vma(self->addr + MB(4), MB(4), valid_orders));
	EXPECT_EQ(1, count_vmas(self->addr, self->size));
}

TEST_HARNESS_MAIN
