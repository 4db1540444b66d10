// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage_adaptive: the adaptive mode, as a table and with faults for real.
 */
#include <kunit/test.h>
#include <linux/log2.h>
#include <linux/mm.h>

#include "helpers.h"

struct order_param {
	unsigned long index;
	unsigned long below;
	unsigned long above;
	unsigned int order;
	const char *name;
};

/* What a block of each order asks for, beside the table of a few. */
#define NEED(order)	mcpage_adaptive_pages(order)

static const struct order_param order_params[] = {
	{ 0x1000, 0, 0, 0, "nothing beside it" },
	{ 0x1000, 3, 0, 0, "3 below, first page" },
	{ 0x1000, 4, 0, 2, "4 below, first page" },
	{ 0x1000, 7, 0, 2, "7 below, first page" },
	{ 0x1000, 8, 0, 3, "8 below, first page" },
	{ 0x1000, 16, 0, 4, "16 below, first page" },
	{ 0x1000, 127, 0, 4, "127 below, first page" },
	{ 0x1000, 128, 0, 5, "128 below, first page" },
	{ 0x1000, 512, 0, 6, "512 below, first page" },
	{ 0x1000, 2048, 0, 7, "2048 below, first page" },
	{ 0x1000, 8191, 0, 7, "8191 below, first page" },
	{ 0x1200, 8192, 0, 9, "8192 below, first page" },
	{ 0x1100, 8192, 0, 8, "8192 below, first of 256 only" },
	{ 0x1200, 99999, 0, 9, "more below than any block asks for" },
	{ 0x1000, 0, 8192, 0, "above, first page" },
	{ 0x1004, 512, 0, 2, "first of 4 only" },
	{ 0x1008, 512, 0, 3, "first of 8 only" },
	{ 0x1001, 512, 512, 0, "second page" },
	{ 0x1002, 512, 512, 0, "third page" },
	{ 0x1003, 512, 0, 0, "below, last page" },
	{ 0x1003, 0, 3, 0, "3 above, last page" },
	{ 0x1003, 0, 4, 2, "4 above, last page" },
	{ 0x1003, 0, 512, 2, "last of 4 only" },
	{ 0x1007, 0, 512, 3, "last of 8 only" },
	{ 0x11ff, 0, 8191, 7, "8191 above, last page" },
	{ 0x11ff, 0, 8192, 9, "8192 above, last page" },
	{ 0, 0, 0, 0, "address 0" },
	{ 3, 0, 4, 2, "first block, last page" },
	{ -1UL, 0, 0, 0, "last page of all" },
	{ -512UL, 8192, 0, 9, "last block of all, first page" },
};

KUNIT_ARRAY_PARAM_DESC(order, order_params, name);

static void order(struct kunit *test)
{
	const struct order_param *p = test->param_value;

	KUNIT_EXPECT_EQ(test, p->order,
			mcpage_adaptive_order(p->index, p->below, p->above));
}

/* A block never has more pages than are in use beside it, and asks for less if smaller. */
static void pages(struct kunit *test)
{
	unsigned int order;

	for (order = MCPAGE_MIN_ORDER; order < MCPAGE_NR_ORDERS; order++) {
		KUNIT_EXPECT_GE(test, NEED(order), 1UL << order);
		KUNIT_EXPECT_GE(test, NEED(order), NEED(order - 1));
	}
}

struct mode_param {
	enum mcpage_mode system;
	mcpage_policy_t process;
	mcpage_policy_t vma;
	bool adaptive;
	const char *name;
};

#define POLICY		(BIT(4) | MCPAGE_POLICY_SET)
#define ADAPTIVE	(POLICY | PR_MCPAGE_ADAPTIVE)

static const struct mode_param mode_params[] = {
	{ MCPAGE_FIXED,    0,        0,        false, "fixed" },
	{ MCPAGE_FIXED,    POLICY,   POLICY,   false, "fixed, policies" },
	{ MCPAGE_FIXED,    ADAPTIVE, 0,        true,  "fixed, process" },
	{ MCPAGE_FIXED,    0,        ADAPTIVE, true,  "fixed, vma" },
	{ MCPAGE_FIXED,    ADAPTIVE, POLICY,   true,  "fixed, process, vma without" },
	{ MCPAGE_FIXED,    POLICY,   ADAPTIVE, true,  "fixed, process without, vma" },
	{ MCPAGE_ADAPTIVE, 0,        0,        true,  "adaptive" },
	{ MCPAGE_ADAPTIVE, POLICY,   POLICY,   true,  "adaptive, policies without" },
	{ MCPAGE_ADAPTIVE, ADAPTIVE, ADAPTIVE, true,  "adaptive, all" },
};

KUNIT_ARRAY_PARAM_DESC(mode, mode_params, name);

static void mode(struct kunit *test)
{
	const struct mode_param *p = test->param_value;

	KUNIT_EXPECT_EQ(test, p->adaptive,
			mcpage_mode_adaptive(p->system, p->process, p->vma));
}

#define REGION	(4 * PMD_SIZE)

/* Everything is allowed. */
static void begin(struct kunit *test, enum mcpage_backing backing)
{
	mcpage_test_start(test, backing);
	mcpage_test_mode(MCPAGE_ADAPTIVE);
}

/* A region of whole PMDs with one on both sides. */
static unsigned long start(struct kunit *test)
{
	begin(test, mcpage_test_backing(test));
	return mcpage_test_mmap_aligned(test, REGION, PMD_ORDER);
}

static void only(unsigned long orders)
{
	WRITE_ONCE(mcpage_settings.orders, orders);
}

/* Populate pages, one by one. */
static void fill(struct kunit *test, unsigned long addr, unsigned int nr)
{
	unsigned long orders = READ_ONCE(mcpage_settings.orders);
	unsigned int i;

	only(0);
	for (i = 0; i < nr; i++)
		mcpage_test_write(test, addr + i * PAGE_SIZE);
	only(orders);
}

/*
 * A sweep: single pages first, then larger and larger blocks, each justified by
 * what is there already; in the end nothing but the region is populated.
 */
static void sweep(struct kunit *test, bool upward)
{
	unsigned long addr = start(test);
	unsigned long rss = mcpage_test_rss();
	unsigned long done = 0, total = REGION / PAGE_SIZE, last = 0, nr;

	while (done < total) {
		unsigned long page = upward ? done : total - 1 - done;

		nr = mcpage_test_taken(test, addr + page * PAGE_SIZE);
		KUNIT_ASSERT_NE(test, 0, nr);
		KUNIT_ASSERT_TRUE(test, is_power_of_2(nr));
		KUNIT_EXPECT_GE(test, nr, last);
		if (nr > 1)
			KUNIT_EXPECT_LE(test, NEED(ilog2(nr)), done);
		/* The next order is taken as soon as it is justified and aligned. */
		if (IS_ALIGNED(done, 2 * nr) && ilog2(nr) + 1 < MCPAGE_NR_ORDERS &&
		    nr > 1)
			KUNIT_EXPECT_GT(test, NEED(ilog2(nr) + 1), done);
		last = nr;
		done += nr;
	}
	KUNIT_EXPECT_EQ(test, total, done);
	KUNIT_EXPECT_LE(test, 64, last);
	KUNIT_EXPECT_EQ(test, rss + total, mcpage_test_rss());
}

static void upward(struct kunit *test)
{
	sweep(test, true);
}

static void downward(struct kunit *test)
{
	sweep(test, false);
}

/*
 * Each order that a page table has room for, with what it asks for and with less:
 * the farthest page, or where not all are looked at the farther half.
 */
static void threshold(struct kunit *test)
{
	unsigned long addr = start(test);
	unsigned long below = addr + 2 * PMD_SIZE, above = addr + 3 * PMD_SIZE - PAGE_SIZE;
	unsigned int order;

	for (order = MCPAGE_MIN_ORDER; order <= 6; order++) {
		unsigned long nr = NEED(order), less = nr > 16 ? nr / 2 : nr - 1;

		only(BIT(order));
		KUNIT_ASSERT_EQ(test, 0, mcpage_test_zap(test, addr, REGION));
		fill(test, below - less * PAGE_SIZE, less);
		fill(test, above + PAGE_SIZE, less);
		KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, below));
		KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, above));
		KUNIT_ASSERT_EQ(test, 0, mcpage_test_zap(test, below, PAGE_SIZE));
		KUNIT_ASSERT_EQ(test, 0, mcpage_test_zap(test, above, PAGE_SIZE));
		fill(test, below - nr * PAGE_SIZE, nr - less);
		fill(test, above + (less + 1) * PAGE_SIZE, nr - less);
		KUNIT_EXPECT_EQ(test, 1UL << order, mcpage_test_taken(test, below));
		KUNIT_EXPECT_EQ(test, 1UL << order, mcpage_test_taken(test, above));
	}
}

/* One page that is not there beside the fault, wherever it is. */
static void hole(struct kunit *test)
{
	unsigned long addr = start(test) + PMD_SIZE;
	unsigned int nr = NEED(4), i;

	only(BIT(4));
	for (i = 1; i <= nr; i++) {
		KUNIT_ASSERT_EQ(test, 0, mcpage_test_zap(test, addr - PMD_SIZE, REGION));
		fill(test, addr - nr * PAGE_SIZE, nr);
		KUNIT_ASSERT_EQ(test, 0,
				mcpage_test_zap(test, addr - i * PAGE_SIZE, PAGE_SIZE));
		KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr));
	}
}

/* A fault inside a block is by itself, whatever is around. */
static void inside(struct kunit *test)
{
	unsigned long addr = start(test) + PMD_SIZE;

	only(BIT(2));
	fill(test, addr, 8);
	fill(test, addr + 12 * PAGE_SIZE, 8);
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr + 9 * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr + 10 * PAGE_SIZE));
}

/* The neighbouring block is in another page table. */
static void page_table_edge(struct kunit *test)
{
	unsigned long addr = start(test) + 2 * PMD_SIZE;

	only(BIT(4));
	fill(test, addr - NEED(4) * PAGE_SIZE, NEED(4));
	KUNIT_EXPECT_EQ(test, 16, mcpage_test_taken(test, addr));
	KUNIT_ASSERT_EQ(test, 0, mcpage_test_zap(test, addr - PMD_SIZE, 2 * PMD_SIZE));
	fill(test, addr, NEED(4));
	KUNIT_EXPECT_EQ(test, 16, mcpage_test_taken(test, addr - PAGE_SIZE));
	/* Where there is none at all. */
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr - PMD_SIZE));
}

/* What is next to the fault but in another mapping does not count. */
static void mapping_edge(struct kunit *test)
{
	unsigned long addr = start(test) + PMD_SIZE;
	unsigned long size = 16 * PAGE_SIZE;

	if (!VM_MCPAGE)
		kunit_skip(test, "a policy for a mapping needs a 64-bit kernel");
	only(BIT(2));
	fill(test, addr - NEED(2) * PAGE_SIZE, NEED(2));
	fill(test, addr + size, NEED(2));
	KUNIT_ASSERT_EQ(test, 0, mcpage_prctl_set(PR_MCPAGE_VMA, addr, size, BIT(2)));
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr));
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr + size - PAGE_SIZE));
}

/* Memory that is given back counts no more. */
static void refault(struct kunit *test)
{
	unsigned long addr = start(test) + PMD_SIZE;

	only(BIT(2));
	fill(test, addr, 8);
	KUNIT_ASSERT_EQ(test, 0, mcpage_test_zap(test, addr + 4 * PAGE_SIZE, 4 * PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr + 8 * PAGE_SIZE));
	/* What surrounds the gap says that it is in use: it is filled as one. */
	KUNIT_EXPECT_EQ(test, 4, mcpage_test_taken(test, addr + 4 * PAGE_SIZE));
}

/* The zero page is no use of memory, and a page in it ends what counts. */
static void zero_page(struct kunit *test)
{
	unsigned long addr = start(test) + PMD_SIZE;
	unsigned int i;

	only(BIT(2));
	for (i = 0; i < 4; i++)
		mcpage_test_read_zero(test, addr + i * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr + 4 * PAGE_SIZE));
}

/* Each scope can ask for it; none of those below can refuse. */
static void scopes(struct kunit *test)
{
	unsigned long addr = start(test);
	unsigned long block = PAGE_SIZE << 4;

	only(BIT(4));
	mcpage_test_mode(MCPAGE_FIXED);
	KUNIT_EXPECT_EQ(test, 16, mcpage_test_taken(test, addr + block));
	if (VM_MCPAGE) {
		KUNIT_ASSERT_EQ(test, 0,
				mcpage_prctl_set(PR_MCPAGE_VMA, addr + 4 * block, block,
						 BIT(4) | PR_MCPAGE_ADAPTIVE));
		KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr + 4 * block));
		KUNIT_EXPECT_EQ(test, 16, mcpage_test_taken(test, addr + 6 * block));
	}
	KUNIT_ASSERT_EQ(test, 0, mcpage_prctl_set(PR_MCPAGE_PROCESS,
						  BIT(4) | PR_MCPAGE_ADAPTIVE, 0, 0));
	/* Whoever asks first turns the hooks on. */
	KUNIT_EXPECT_TRUE(test, static_key_enabled(&mcpage_adaptive_key));
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr + 9 * block));
	KUNIT_ASSERT_EQ(test, 0, mcpage_prctl_set(PR_MCPAGE_PROCESS, BIT(4), 0, 0));
	KUNIT_EXPECT_EQ(test, 16, mcpage_test_taken(test, addr + 12 * block));
	mcpage_test_mode(MCPAGE_ADAPTIVE);
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr + 15 * block));
}

/* Huge pages beside the fault, mapped by one entry each, are full; zero ones not. */
static void huge_neighbour(struct kunit *test)
{
	unsigned int nr = NEED(PMD_ORDER) >> PMD_ORDER, i;
	unsigned long addr, size = (nr + 1) * PMD_SIZE;

	/* Pages are never mapped by one entry. */
	begin(test, MCPAGE_FOLIO);
	only(BIT(PMD_ORDER));
	addr = mcpage_test_mmap_aligned(test, size, PMD_ORDER);
	mcpage_test_mode(MCPAGE_FIXED);
	for (i = 0; i < nr; i++)
		KUNIT_ASSERT_EQ(test, 1 << PMD_ORDER, mcpage_test_taken(test, addr + i * PMD_SIZE));
	KUNIT_ASSERT_TRUE(test, mcpage_test_pmd_mapped(test, addr));
	mcpage_test_mode(MCPAGE_ADAPTIVE);
	KUNIT_EXPECT_EQ(test, 1 << PMD_ORDER, mcpage_test_taken(test, addr + nr * PMD_SIZE));
	KUNIT_EXPECT_TRUE(test, mcpage_test_pmd_mapped(test, addr + nr * PMD_SIZE));

	/* One of them is missing. */
	KUNIT_ASSERT_EQ(test, 0, mcpage_test_zap(test, addr, PMD_SIZE));
	KUNIT_ASSERT_EQ(test, 0, mcpage_test_zap(test, addr + nr * PMD_SIZE, PMD_SIZE));
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr + nr * PMD_SIZE));

	/* The huge zero page, which reads have in this mode too, is no use. */
	addr = mcpage_test_mmap_aligned(test, size, PMD_ORDER);
	for (i = 0; i < nr; i++) {
		mcpage_test_read_zero(test, addr + i * PMD_SIZE);
		KUNIT_EXPECT_TRUE(test, mcpage_test_huge_zero(test, addr + i * PMD_SIZE));
	}
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr + nr * PMD_SIZE));
	/* A write to it that justifies no huge page leaves the rest mapped. */
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr));
	KUNIT_EXPECT_TRUE(test, mcpage_test_zero_mapped(test, addr + PAGE_SIZE));
}

/* khugepaged fills in nothing. */
static void khugepaged_max(struct kunit *test)
{
	unsigned long addr = start(test);
	struct vm_area_struct *vma;

	mmap_read_lock(current->mm);
	vma = vma_lookup(current->mm, addr);
	KUNIT_EXPECT_EQ(test, 0, mcpage_max_ptes_none(vma, 511));
	mmap_read_unlock(current->mm);

	mcpage_test_mode(MCPAGE_FIXED);
	mmap_read_lock(current->mm);
	vma = vma_lookup(current->mm, addr);
	KUNIT_EXPECT_EQ(test, 511, mcpage_max_ptes_none(vma, 511));
	mmap_read_unlock(current->mm);
}

static struct kunit_case mcpage_adaptive_cases[] = {
	KUNIT_CASE_PARAM(order, order_gen_params),
	KUNIT_CASE(pages),
	KUNIT_CASE_PARAM(mode, mode_gen_params),
	KUNIT_CASE_PARAM(upward, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(downward, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(threshold, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(hole, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(inside, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(page_table_edge, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(mapping_edge, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(refault, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(zero_page, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(scopes, mcpage_test_backing_gen_params),
	KUNIT_CASE(huge_neighbour),
	KUNIT_CASE_PARAM(khugepaged_max, mcpage_test_backing_gen_params),
	{}
};

static struct kunit_suite mcpage_adaptive_suite = {
	.name = "mcpage_adaptive",
	.test_cases = mcpage_adaptive_cases,
};

kunit_test_suite(mcpage_adaptive_suite);

MODULE_DESCRIPTION("mcpage adaptive mode tests");
MODULE_LICENSE("GPL");
