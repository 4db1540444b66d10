// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage_zeropage: the first write to memory that was only read so far.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sched/coredump.h>
#include <linux/uaccess.h>

#include "helpers.h"

/* The tests' block, in pages and bytes. */
#define ORDER	4
#define NR	BIT(ORDER)
#define BLOCK	(PAGE_SIZE << ORDER)

/* Blocks of one order are allowed. */
static void begin(struct kunit *test, enum mcpage_backing backing)
{
	mcpage_test_start(test, backing);
	WRITE_ONCE(mcpage_settings.orders, BIT(ORDER));
}

/* Four blocks, aligned. */
static unsigned long start(struct kunit *test)
{
	begin(test, mcpage_test_backing(test));
	return mcpage_test_mmap_aligned(test, 4 * BLOCK, ORDER);
}

static void read_pages(struct kunit *test, unsigned long addr, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		mcpage_test_read_zero(test, addr + i * PAGE_SIZE);
}

/* All of the block is replaced, on every page of it, and nothing beside it. */
static void whole_block(struct kunit *test)
{
	unsigned long addr = start(test), first = addr + BLOCK, i;
	unsigned long allocs = mcpage_stat_read(ORDER, MCPAGE_STAT_ALLOC);
	unsigned long offset[] = { 0, 7 * PAGE_SIZE + 123, BLOCK - 1 };

	for (i = 0; i < ARRAY_SIZE(offset); i++) {
		read_pages(test, addr, 3 * NR);
		KUNIT_ASSERT_EQ(test, 0, mcpage_test_present(test, addr, addr + 3 * BLOCK));
		KUNIT_EXPECT_EQ(test, NR, mcpage_test_taken(test, first + offset[i]));
		KUNIT_EXPECT_EQ(test, NR, mcpage_test_present(test, addr, addr + 3 * BLOCK));
		KUNIT_EXPECT_EQ(test, NR, mcpage_test_present(test, first, first + BLOCK));
		KUNIT_EXPECT_EQ(test, allocs + i + 1,
				mcpage_stat_read(ORDER, MCPAGE_STAT_ALLOC));
		KUNIT_EXPECT_EQ(test, mcpage_test_backing(test) == MCPAGE_FOLIO ? ORDER : 0,
				mcpage_test_order(test, first));
		KUNIT_EXPECT_TRUE(test, mcpage_test_zero(test, addr, first + offset[i]));
		KUNIT_EXPECT_TRUE(test, mcpage_test_zero(test, first + offset[i] + 1,
							 addr + 3 * BLOCK));
		KUNIT_ASSERT_EQ(test, 0, mcpage_test_zap(test, addr, 3 * BLOCK));
	}
}

/* Pages that were not even read are no obstacle. */
static void partly_read(struct kunit *test)
{
	unsigned long addr = start(test);

	read_pages(test, addr + 3 * PAGE_SIZE, 1);
	KUNIT_EXPECT_EQ(test, NR, mcpage_test_taken(test, addr + 3 * PAGE_SIZE));
	KUNIT_EXPECT_TRUE(test, mcpage_test_zero(test, addr, addr + 3 * PAGE_SIZE));
}

/* A page with data stays, and the write gets one page of its own. */
static void page_with_data(struct kunit *test)
{
	unsigned long addr = start(test), populated;
	u8 byte = 0;

	WRITE_ONCE(mcpage_settings.orders, 0);
	KUNIT_ASSERT_EQ(test, 0, put_user(0x77, (u8 __user *)(addr + 9 * PAGE_SIZE)));
	WRITE_ONCE(mcpage_settings.orders, BIT(ORDER));
	populated = mcpage_stat_read(ORDER, MCPAGE_STAT_PAGE_TABLE_POPULATED);
	read_pages(test, addr, 4);
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr));
	KUNIT_EXPECT_EQ(test, populated + 1,
			mcpage_stat_read(ORDER, MCPAGE_STAT_PAGE_TABLE_POPULATED));
	KUNIT_ASSERT_EQ(test, 0, get_user(byte, (u8 __user *)(addr + 9 * PAGE_SIZE)));
	KUNIT_EXPECT_EQ(test, 0x77, byte);
}

/* Without a policy in force, or with single pages only: one page, as ever. */
static void not_governed(struct kunit *test)
{
	unsigned long addr = start(test);

	read_pages(test, addr, 2 * NR);
	mcpage_test_set(MCPAGE_ADVISE, mcpage_test_backing(test));
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr));
	mcpage_test_set(MCPAGE_ALWAYS, mcpage_test_backing(test));
	WRITE_ONCE(mcpage_settings.orders, 0);
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr + BLOCK));
}

/* In the adaptive mode it takes a neighbourhood in use, as any write does. */
static void adaptive(struct kunit *test)
{
	unsigned long addr = start(test);

	mcpage_test_mode(MCPAGE_ADAPTIVE);
	read_pages(test, addr, 2 * NR);
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr + BLOCK));
	KUNIT_ASSERT_EQ(test, 0, mcpage_test_zap(test, addr, 2 * BLOCK));
	mcpage_test_mode(MCPAGE_FIXED);
	KUNIT_ASSERT_EQ(test, NR, mcpage_test_taken(test, addr));
	mcpage_test_mode(MCPAGE_ADAPTIVE);
	read_pages(test, addr + BLOCK, NR);
	KUNIT_EXPECT_EQ(test, NR, mcpage_test_taken(test, addr + BLOCK));
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
static struct folio *no_folio(gfp_t gfp, unsigned int order,
			      struct vm_area_struct *vma, unsigned long addr)
{
	return NULL;
}
#endif

static struct page *no_pages(gfp_t gfp, unsigned int order,
			     struct vm_area_struct *vma, unsigned long addr)
{
	return NULL;
}

/* No block is to be had: a single page. */
static void allocation_fails(struct kunit *test)
{
	unsigned long addr = start(test);
	unsigned long fallback = mcpage_stat_read(ORDER, MCPAGE_STAT_FALLBACK);

	read_pages(test, addr, NR);
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	kunit_activate_static_stub(test, mcpage_folio_alloc, no_folio);
#endif
	kunit_activate_static_stub(test, mcpage_pages_alloc, no_pages);
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_taken(test, addr));
	KUNIT_EXPECT_EQ(test, fallback + 1, mcpage_stat_read(ORDER, MCPAGE_STAT_FALLBACK));
}

/* A process that the OOM killer reaps gets no memory any more. */
static void address_space_unstable(struct kunit *test)
{
	unsigned long addr = start(test), rss = mcpage_test_rss();
	unsigned long count = mcpage_stat_read(ORDER, MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE);

	read_pages(test, addr, NR);
	set_bit(MMF_UNSTABLE, &current->mm->flags);
	KUNIT_EXPECT_NE(test, 0, put_user(1, (u8 __user *)addr));
	clear_bit(MMF_UNSTABLE, &current->mm->flags);
	KUNIT_EXPECT_EQ(test, rss, mcpage_test_rss());
	KUNIT_EXPECT_LT(test, count,
			mcpage_stat_read(ORDER, MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE));
}

static void make_read_only(unsigned long addr)
{
	mmap_write_lock(current->mm);
	vm_flags_clear(vma_lookup(current->mm, addr), VM_WRITE);
	mmap_write_unlock(current->mm);
}

/* A debugger's write to what the process itself may not write: one page. */
static void forced_write(struct kunit *test)
{
	unsigned long addr = start(test), rss;
	u8 byte = 1;

	read_pages(test, addr, NR);
	make_read_only(addr);
	rss = mcpage_test_rss();
	KUNIT_EXPECT_EQ(test, 1, access_remote_vm(current->mm, addr, &byte, 1,
						  FOLL_WRITE | FOLL_FORCE));
	KUNIT_EXPECT_EQ(test, rss + 1, mcpage_test_rss());
}

static struct page *pin(struct kunit *test, unsigned long addr, unsigned int flags)
{
	struct page *page = NULL;

	mmap_read_lock(current->mm);
	KUNIT_EXPECT_EQ(test, 1, pin_user_pages(addr, 1, flags, &page));
	mmap_read_unlock(current->mm);
	KUNIT_ASSERT_NOT_NULL(test, page);
	return page;
}

/* A pin that is to last gets a page of its own for it, and no block. */
static void pinned_for_long(struct kunit *test)
{
	unsigned long addr = start(test);
	unsigned long rss = mcpage_test_rss();
	struct page *page;

	read_pages(test, addr, NR);
	page = pin(test, addr, FOLL_LONGTERM);
	KUNIT_EXPECT_FALSE(test, is_zero_page(page));
	KUNIT_EXPECT_EQ(test, rss + 1, mcpage_test_rss());
	KUNIT_EXPECT_EQ(test, 0, mcpage_test_taken(test, addr));
	KUNIT_EXPECT_EQ(test, 0x5a, *(u8 *)page_address(page));
	unpin_user_page(page);
}

/* Any other pin of the zero page sees zeroes, whatever is written then. */
static void pinned(struct kunit *test)
{
	unsigned long addr = start(test);
	struct page *page;

	read_pages(test, addr, NR);
	page = pin(test, addr, 0);
	KUNIT_EXPECT_TRUE(test, is_zero_page(page));
	KUNIT_EXPECT_EQ(test, NR, mcpage_test_taken(test, addr));
	KUNIT_EXPECT_NULL(test, memchr_inv(page_address(page), 0, PAGE_SIZE));
	unpin_user_page(page);
}

/* The huge zero page makes way as a whole, for a huge page or for smaller blocks. */
static void huge_zero_page(struct kunit *test)
{
	static const unsigned int orders[] = { PMD_ORDER, ORDER, 0 };
	unsigned long addr;
	unsigned int i;

	/* With the other backing there is none. */
	begin(test, MCPAGE_FOLIO);
	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		unsigned int order = orders[i];

		addr = mcpage_test_mmap_aligned(test, PMD_SIZE, PMD_ORDER);
		WRITE_ONCE(mcpage_settings.orders, BIT(PMD_ORDER));
		read_pages(test, addr, 1);
		KUNIT_ASSERT_EQ(test, 0, mcpage_test_present(test, addr, addr + PMD_SIZE));
		/* None: order 0 is not in a set. */
		WRITE_ONCE(mcpage_settings.orders, BIT(order) & ~1UL);
		KUNIT_EXPECT_EQ(test, 1UL << order, mcpage_test_taken(test, addr + BLOCK + 5));
		KUNIT_EXPECT_EQ(test, order == PMD_ORDER,
				mcpage_test_pmd_mapped(test, addr + BLOCK));
		KUNIT_EXPECT_TRUE(test, mcpage_test_zero(test, addr, addr + BLOCK + 5));
		KUNIT_EXPECT_TRUE(test, mcpage_test_zero(test, addr + BLOCK + 6,
							 addr + PMD_SIZE));
	}
}

/* What may be replaced, and what looks like it. */
static void replaceable(struct kunit *test)
{
	pte_t zero = pte_mkspecial(pfn_pte(my_zero_pfn(0), PAGE_READONLY));
	struct page *page = alloc_page(GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_EXPECT_TRUE(test, mcpage_pte_replaceable(zero));
	KUNIT_EXPECT_TRUE(test, mcpage_pte_replaceable(pte_mkyoung(zero)));
	/* As KSM maps it. */
	KUNIT_EXPECT_FALSE(test, mcpage_pte_replaceable(pte_mkdirty(zero)));
	if (IS_ENABLED(CONFIG_HAVE_ARCH_USERFAULTFD_WP))
		KUNIT_EXPECT_FALSE(test, mcpage_pte_replaceable(pte_mkuffd_wp(zero)));
	KUNIT_EXPECT_FALSE(test, mcpage_pte_replaceable(__pte(0)));
	KUNIT_EXPECT_FALSE(test, mcpage_pte_replaceable(mk_pte(page, PAGE_READONLY)));
	__free_page(page);
}

static struct kunit_case mcpage_zeropage_cases[] = {
	KUNIT_CASE_PARAM(whole_block, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(partly_read, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(page_with_data, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(not_governed, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(adaptive, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(allocation_fails, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(address_space_unstable, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(forced_write, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(pinned, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(pinned_for_long, mcpage_test_backing_gen_params),
	KUNIT_CASE(huge_zero_page),
	KUNIT_CASE(replaceable),
	{}
};

static struct kunit_suite mcpage_zeropage_suite = {
	.name = "mcpage_zeropage",
	.test_cases = mcpage_zeropage_cases,
};

kunit_test_suite(mcpage_zeropage_suite);

MODULE_DESCRIPTION("mcpage zero page tests");
MODULE_LICENSE("GPL");
