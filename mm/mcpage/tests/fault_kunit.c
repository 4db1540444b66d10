// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage_fault: faults for real, with both backings.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/oom.h>
#include <linux/sched/coredump.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "helpers.h"

/* Parameters: every backing at every order that could be valid. */
struct block_param {
	enum mcpage_backing backing;
	unsigned int order;
};

static const struct block_param block_params[] = {
	{ MCPAGE_FOLIO, 2 }, { MCPAGE_FOLIO, 3 }, { MCPAGE_FOLIO, 4 },
	{ MCPAGE_FOLIO, 5 }, { MCPAGE_FOLIO, 6 }, { MCPAGE_FOLIO, 7 },
	{ MCPAGE_FOLIO, 8 }, { MCPAGE_FOLIO, 9 }, { MCPAGE_FOLIO, 10 },
	{ MCPAGE_PAGES, 2 }, { MCPAGE_PAGES, 3 }, { MCPAGE_PAGES, 4 },
	{ MCPAGE_PAGES, 5 }, { MCPAGE_PAGES, 6 }, { MCPAGE_PAGES, 7 },
	{ MCPAGE_PAGES, 8 }, { MCPAGE_PAGES, 9 }, { MCPAGE_PAGES, 10 },
};

static const void *block_gen_params(const void *prev, char *desc)
{
	const struct block_param *p = prev;

	p = p ? p + 1 : block_params;
	for (; p < block_params + ARRAY_SIZE(block_params); p++) {
		if (!(mcpage_valid_orders() & BIT(p->order)))
			continue;
		snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s, order %u",
			 mcpage_test_backing_name(p->backing), p->order);
		return p;
	}
	return NULL;
}

static void allow(unsigned long orders)
{
	mutex_lock(&mcpage_settings_lock);
	WRITE_ONCE(mcpage_settings.orders, orders);
	mutex_unlock(&mcpage_settings_lock);
}

/* The order of the folio that a page of a block of @order belongs to. */
static int folio_order_of(enum mcpage_backing backing, unsigned int order)
{
	return backing == MCPAGE_FOLIO ? order : 0;
}

/*
 * Free pages are dirty when a block is made of them: a fault that leaves out a
 * page would show it.
 */
static void dirty_free_memory(struct kunit *test, unsigned int order)
{
	struct page *page[4];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(page); i++) {
		page[i] = alloc_pages(GFP_KERNEL | __GFP_NOWARN, order);
		if (page[i])
			memset(page_address(page[i]), 0xa5, PAGE_SIZE << order);
	}
	KUNIT_EXPECT_NOT_NULL(test, page[0]);
	for (i = 0; i < ARRAY_SIZE(page); i++) {
		if (page[i])
			__free_pages(page[i], order);
	}
}

static void check_block(struct kunit *test, enum mcpage_backing backing,
			unsigned int order, unsigned long offset)
{
	unsigned long size = PAGE_SIZE << order;
	unsigned long allocs = mcpage_stat_read(order, MCPAGE_STAT_ALLOC);
	unsigned long addr = mcpage_test_mmap_aligned(test, size, order);
	unsigned long rss = mcpage_test_rss();
	unsigned long i;

	mcpage_test_write(test, addr + offset);

	KUNIT_EXPECT_EQ(test, 1U << order,
			mcpage_test_present(test, addr - size, addr + 2 * size));
	KUNIT_EXPECT_EQ(test, 1U << order, mcpage_test_present(test, addr, addr + size));
	KUNIT_EXPECT_EQ(test, rss + (1UL << order), mcpage_test_rss());
	KUNIT_EXPECT_EQ(test, allocs + 1, mcpage_stat_read(order, MCPAGE_STAT_ALLOC));
	for (i = 0; i < size; i += PAGE_SIZE)
		KUNIT_ASSERT_EQ(test, folio_order_of(backing, order),
				mcpage_test_order(test, addr + i));
	KUNIT_EXPECT_EQ(test, backing == MCPAGE_FOLIO && order == PMD_ORDER,
			mcpage_test_pmd_mapped(test, addr));
	KUNIT_EXPECT_TRUE(test, mcpage_test_zero(test, addr, addr + offset));
	KUNIT_EXPECT_TRUE(test, mcpage_test_zero(test, addr + offset + 1, addr + size));

	KUNIT_EXPECT_EQ(test, 0, vm_munmap(addr, size));
	KUNIT_EXPECT_EQ(test, rss, mcpage_test_rss());
}

/* One write maps the whole block, zeroed but for that write, and nothing else. */
static void write_fault(struct kunit *test)
{
	const struct block_param *p = test->param_value;
	unsigned long size = PAGE_SIZE << p->order;

	mcpage_test_start(test, p->backing);
	allow(BIT(p->order));
	dirty_free_memory(test, p->order);
	check_block(test, p->backing, p->order, 0);
	check_block(test, p->backing, p->order, size / 2 + 123);
	check_block(test, p->backing, p->order, size - 1);
}

/* A read maps the zero page, as without mcpage; a write then gets a block. */
static void read_fault(struct kunit *test)
{
	enum mcpage_backing backing = mcpage_test_backing(test);
	unsigned long addr;
	u8 byte = 1;

	mcpage_test_start(test, backing);
	allow(BIT(4));
	addr = mcpage_test_mmap_aligned(test, PAGE_SIZE << 4, 4);
	KUNIT_ASSERT_EQ(test, 0, get_user(byte, (u8 __user *)addr));
	KUNIT_EXPECT_EQ(test, 0, byte);
	KUNIT_EXPECT_EQ(test, 0, mcpage_test_present(test, addr, addr + (PAGE_SIZE << 4)));
	mcpage_test_write(test, addr);
	KUNIT_EXPECT_EQ(test, 16, mcpage_test_present(test, addr, addr + (PAGE_SIZE << 4)));
}

/* Of several orders the highest that fits is taken. */
static void highest_order_first(struct kunit *test)
{
	enum mcpage_backing backing = mcpage_test_backing(test);
	unsigned long addr;

	mcpage_test_start(test, backing);
	allow(BIT(2) | BIT(3) | BIT(5));
	addr = mcpage_test_mmap_aligned(test, PAGE_SIZE << 5, 5);
	mcpage_test_write(test, addr + 3 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, 1 << 5,
			mcpage_test_present(test, addr, addr + (PAGE_SIZE << 5)));
}

/* A VMA with an odd start and a short tail: smaller blocks, and the reason. */
static void vma_edges(struct kunit *test)
{
	enum mcpage_backing backing = mcpage_test_backing(test);
	unsigned long block = PAGE_SIZE << 4;
	unsigned long addr, first, unaligned, too_short;

	mcpage_test_start(test, backing);
	allow(BIT(2) | BIT(4));
	addr = mcpage_test_mmap_aligned(test, 3 * block, 4);
	/* What is left is pages 1 to 39 of three blocks of 16. */
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(addr - block, block + PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(addr + 39 * PAGE_SIZE, 2 * block));
	unaligned = mcpage_stat_read(4, MCPAGE_STAT_UNALIGNED);
	too_short = mcpage_stat_read(4, MCPAGE_STAT_SHORT);
	first = addr + PAGE_SIZE;

	/* Neither the block of 16 nor that of 4 begins in the VMA. */
	mcpage_test_write(test, first);
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_present(test, addr, addr + block));
	KUNIT_EXPECT_EQ(test, unaligned + 1, mcpage_stat_read(4, MCPAGE_STAT_UNALIGNED));
	/* Here that of 4 does. */
	mcpage_test_write(test, addr + 5 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, 5, mcpage_test_present(test, addr, addr + block));
	KUNIT_EXPECT_EQ(test, unaligned + 2, mcpage_stat_read(4, MCPAGE_STAT_UNALIGNED));
	/* The second block fits. */
	mcpage_test_write(test, addr + block);
	KUNIT_EXPECT_EQ(test, 16, mcpage_test_present(test, addr + block, addr + 2 * block));
	KUNIT_EXPECT_EQ(test, too_short, mcpage_stat_read(4, MCPAGE_STAT_SHORT));
	/* The third ends behind the VMA; the last three pages are short of 4 too. */
	mcpage_test_write(test, addr + 33 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, 4, mcpage_test_present(test, addr + 2 * block, addr + 3 * block));
	KUNIT_EXPECT_EQ(test, too_short + 1, mcpage_stat_read(4, MCPAGE_STAT_SHORT));
	mcpage_test_write(test, addr + 38 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, 5, mcpage_test_present(test, addr + 2 * block, addr + 3 * block));
	KUNIT_EXPECT_EQ(test, too_short + 2, mcpage_stat_read(4, MCPAGE_STAT_SHORT));
	KUNIT_EXPECT_EQ(test, unaligned + 2, mcpage_stat_read(4, MCPAGE_STAT_UNALIGNED));
}

/* A page that is there already stays, and smaller blocks go around it. */
static void populated(struct kunit *test)
{
	enum mcpage_backing backing = mcpage_test_backing(test);
	unsigned long block = PAGE_SIZE << 4;
	unsigned long addr, count;
	u8 byte = 0;

	mcpage_test_start(test, backing);
	addr = mcpage_test_mmap_aligned(test, block, 4);
	allow(0);
	KUNIT_ASSERT_EQ(test, 0, put_user(0x77, (u8 __user *)(addr + 6 * PAGE_SIZE)));
	KUNIT_ASSERT_EQ(test, 1, mcpage_test_present(test, addr, addr + block));
	allow(BIT(2) | BIT(4));
	count = mcpage_stat_read(4, MCPAGE_STAT_PAGE_TABLE_POPULATED);

	mcpage_test_write(test, addr);
	KUNIT_EXPECT_EQ(test, 4 + 1, mcpage_test_present(test, addr, addr + block));
	KUNIT_EXPECT_EQ(test, count + 1,
			mcpage_stat_read(4, MCPAGE_STAT_PAGE_TABLE_POPULATED));
	/* The block of 4 around the page is not empty either. */
	mcpage_test_write(test, addr + 4 * PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, 4 + 2, mcpage_test_present(test, addr, addr + block));
	KUNIT_ASSERT_EQ(test, 0, get_user(byte, (u8 __user *)(addr + 6 * PAGE_SIZE)));
	KUNIT_EXPECT_EQ(test, 0x77, byte);
}

/* The rest of a page table behind the block is not looked at. */
static void last_block_of_page_table(struct kunit *test)
{
	enum mcpage_backing backing = mcpage_test_backing(test);
	unsigned long block = PAGE_SIZE << 4;
	unsigned long addr;

	mcpage_test_start(test, backing);
	allow(BIT(4));
	addr = mcpage_test_mmap_aligned(test, 2 * PMD_SIZE, PMD_ORDER) + PMD_SIZE;
	mcpage_test_write(test, addr);
	mcpage_test_write(test, addr - 1);
	KUNIT_EXPECT_EQ(test, 32, mcpage_test_present(test, addr - 2 * block, addr + 2 * block));
}

static unsigned int fail_from;

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
static struct folio *no_folio(gfp_t gfp, unsigned int order,
			      struct vm_area_struct *vma, unsigned long addr)
{
	return order < fail_from ? vma_alloc_folio(gfp, order, vma, addr, true) : NULL;
}
#endif

static struct page *no_pages(gfp_t gfp, unsigned int order,
			     struct vm_area_struct *vma, unsigned long addr)
{
	struct page *page;

	if (order >= fail_from)
		return NULL;
	page = alloc_pages(gfp & ~__GFP_COMP, order);
	if (page)
		split_page(page, order);
	return page;
}

static void fail_allocations(struct kunit *test, enum mcpage_backing backing,
			     unsigned int from)
{
	fail_from = from;
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	if (backing == MCPAGE_FOLIO)
		kunit_activate_static_stub(test, mcpage_folio_alloc, no_folio);
#endif
	if (backing == MCPAGE_PAGES)
		kunit_activate_static_stub(test, mcpage_pages_alloc, no_pages);
}

/* What cannot be had is tried at the next lower order, down to a page. */
static void allocation_fails(struct kunit *test)
{
	enum mcpage_backing backing = mcpage_test_backing(test);
	unsigned long block = PAGE_SIZE << 4;
	unsigned long addr, at4, at3, at2, alloc2;

	mcpage_test_start(test, backing);
	allow(BIT(2) | BIT(3) | BIT(4));
	addr = mcpage_test_mmap_aligned(test, 2 * block, 4);
	at4 = mcpage_stat_read(4, MCPAGE_STAT_FALLBACK);
	at3 = mcpage_stat_read(3, MCPAGE_STAT_FALLBACK);
	at2 = mcpage_stat_read(2, MCPAGE_STAT_FALLBACK);
	alloc2 = mcpage_stat_read(2, MCPAGE_STAT_ALLOC);

	fail_allocations(test, backing, 3);
	mcpage_test_write(test, addr);
	KUNIT_EXPECT_EQ(test, 4, mcpage_test_present(test, addr, addr + block));
	KUNIT_EXPECT_EQ(test, at4 + 1, mcpage_stat_read(4, MCPAGE_STAT_FALLBACK));
	KUNIT_EXPECT_EQ(test, at3 + 1, mcpage_stat_read(3, MCPAGE_STAT_FALLBACK));
	KUNIT_EXPECT_EQ(test, at2, mcpage_stat_read(2, MCPAGE_STAT_FALLBACK));
	KUNIT_EXPECT_EQ(test, alloc2 + 1, mcpage_stat_read(2, MCPAGE_STAT_ALLOC));

	fail_from = 0;
	mcpage_test_write(test, addr + block);
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_present(test, addr + block, addr + 2 * block));
	KUNIT_EXPECT_EQ(test, at4 + 2, mcpage_stat_read(4, MCPAGE_STAT_FALLBACK));
	KUNIT_EXPECT_EQ(test, at2 + 1, mcpage_stat_read(2, MCPAGE_STAT_FALLBACK));
}

static unsigned int charges_left;
static bool charge_failed;

/* Fails once, when more than charges_left pages are asked for in all. */
static int charge(struct folio *folio, struct mm_struct *mm, gfp_t gfp)
{
	if (!charge_failed && folio_nr_pages(folio) > charges_left) {
		charge_failed = true;
		return -ENOMEM;
	}
	charges_left -= folio_nr_pages(folio);
	return mem_cgroup_charge(folio, mm, gfp);
}

/* A charge that fails gives the whole block back, and costs no more than that. */
static void charge_fails(struct kunit *test)
{
	enum mcpage_backing backing = mcpage_test_backing(test);
	unsigned long block = PAGE_SIZE << 4;
	unsigned long addr, failed, fallback, rss;

	mcpage_test_start(test, backing);
	allow(BIT(2) | BIT(4));
	addr = mcpage_test_mmap_aligned(test, block, 4);
	failed = mcpage_stat_read(4, MCPAGE_STAT_CHARGE_FAILED);
	fallback = mcpage_stat_read(4, MCPAGE_STAT_FALLBACK);
	rss = mcpage_test_rss();

	/* Not enough for a large folio, nor for the last of the pages. */
	charges_left = 15;
	charge_failed = false;
	kunit_activate_static_stub(test, mcpage_charge, charge);
	mcpage_test_write(test, addr);
	KUNIT_EXPECT_EQ(test, 4, mcpage_test_present(test, addr, addr + block));
	KUNIT_EXPECT_EQ(test, rss + 4, mcpage_test_rss());
	KUNIT_EXPECT_EQ(test, failed + 1, mcpage_stat_read(4, MCPAGE_STAT_CHARGE_FAILED));
	KUNIT_EXPECT_EQ(test, fallback, mcpage_stat_read(4, MCPAGE_STAT_FALLBACK));
}

static vm_fault_t unstable(struct mm_struct *mm)
{
	return VM_FAULT_SIGBUS;
}

/* A process that the OOM killer reaps gets no memory any more. */
static void address_space_unstable(struct kunit *test)
{
	unsigned long block = PAGE_SIZE << 4;
	unsigned long addr, count;

	mcpage_test_start(test, MCPAGE_PAGES);
	allow(BIT(4));
	addr = mcpage_test_mmap_aligned(test, block, 4);
	count = mcpage_stat_read(4, MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE);
	kunit_activate_static_stub(test, mcpage_check_stable, unstable);
	KUNIT_EXPECT_NE(test, 0, put_user(1, (u8 __user *)addr));
	kunit_deactivate_static_stub(test, mcpage_check_stable);
	KUNIT_EXPECT_EQ(test, 0, mcpage_test_present(test, addr, addr + block));
	KUNIT_EXPECT_EQ(test, 0, mcpage_test_rss());
	KUNIT_EXPECT_LT(test, count,
			mcpage_stat_read(4, MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE));
}

/* The same for what core mm maps: the flag that the OOM reaper sets. */
static void address_space_unstable_folio(struct kunit *test)
{
	static const unsigned int orders[] = { 4, PMD_ORDER };
	unsigned int i;

	mcpage_test_start(test, MCPAGE_FOLIO);
	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		unsigned int order = orders[i];
		unsigned long addr, count;

		allow(BIT(order));
		addr = mcpage_test_mmap_aligned(test, PAGE_SIZE << order, order);
		count = mcpage_stat_read(order, MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE);
		set_bit(MMF_UNSTABLE, &current->mm->flags);
		KUNIT_EXPECT_NE(test, 0, put_user(1, (u8 __user *)addr));
		clear_bit(MMF_UNSTABLE, &current->mm->flags);
		KUNIT_EXPECT_EQ(test, 0, mcpage_test_present(test, addr,
							     addr + (PAGE_SIZE << order)));
		KUNIT_EXPECT_LT(test, count,
				mcpage_stat_read(order, MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE));
	}
}

static unsigned int present_after_write(struct kunit *test, unsigned long addr)
{
	unsigned long block = PAGE_SIZE << 4;

	mcpage_test_write(test, addr);
	return mcpage_test_present(test, addr, addr + block);
}

/* The scopes, seen from a fault. */
static void scopes(struct kunit *test)
{
	enum mcpage_backing backing = mcpage_test_backing(test);
	unsigned long block = PAGE_SIZE << 4;
	unsigned long addr;

	mcpage_test_start(test, backing);
	mcpage_test_set(MCPAGE_ADVISE, backing);
	allow(BIT(2) | BIT(4));
	addr = mcpage_test_mmap_aligned(test, 16 * block, 4);

	/* advise: nothing without a policy. */
	KUNIT_EXPECT_EQ(test, 1, present_after_write(test, addr));
	KUNIT_ASSERT_EQ(test, 0, mcpage_prctl_set(PR_MCPAGE_PROCESS, BIT(2) | BIT(4), 0, 0));
	KUNIT_EXPECT_EQ(test, 16, present_after_write(test, addr + block));
	/* A set that allows nothing more than the system's is allowed, and no more. */
	KUNIT_ASSERT_EQ(test, 0, mcpage_prctl_set(PR_MCPAGE_PROCESS, BIT(3) | BIT(2), 0, 0));
	KUNIT_EXPECT_EQ(test, 4, present_after_write(test, addr + 2 * block));
	KUNIT_ASSERT_EQ(test, 0, mcpage_prctl_set(PR_MCPAGE_PROCESS, 0, 0, 0));
	KUNIT_EXPECT_EQ(test, 1, present_after_write(test, addr + 3 * block));
	KUNIT_ASSERT_EQ(test, 0,
			mcpage_prctl_set(PR_MCPAGE_PROCESS, PR_MCPAGE_UNSET, 0, 0));

	if (VM_MCPAGE) {
		KUNIT_ASSERT_EQ(test, 0, mcpage_prctl_set(PR_MCPAGE_VMA, addr + 4 * block,
							  2 * block, BIT(4)));
		KUNIT_EXPECT_EQ(test, 16, present_after_write(test, addr + 4 * block));
		KUNIT_EXPECT_EQ(test, 1, present_after_write(test, addr + 6 * block));
		/* The process narrows the VMA. */
		KUNIT_ASSERT_EQ(test, 0,
				mcpage_prctl_set(PR_MCPAGE_PROCESS, BIT(2), 0, 0));
		KUNIT_EXPECT_EQ(test, 1, present_after_write(test, addr + 5 * block));
	}

	/* always: without a policy too. never: nothing overrides it. */
	KUNIT_ASSERT_EQ(test, 0,
			mcpage_prctl_set(PR_MCPAGE_PROCESS, PR_MCPAGE_UNSET, 0, 0));
	mcpage_test_set(MCPAGE_ALWAYS, backing);
	allow(BIT(4));
	KUNIT_EXPECT_EQ(test, 16, present_after_write(test, addr + 8 * block));
	KUNIT_ASSERT_EQ(test, 0, mcpage_prctl_set(PR_MCPAGE_PROCESS, BIT(4), 0, 0));
	mcpage_test_set(MCPAGE_NEVER, backing);
	KUNIT_EXPECT_EQ(test, 1, present_after_write(test, addr + 9 * block));
}

/* The class of the mapping narrows like any scope. */
static void class_scope(struct kunit *test)
{
	enum mcpage_backing backing = mcpage_test_backing(test);
	unsigned long block = PAGE_SIZE << 4;
	unsigned long addr;

	mcpage_test_start(test, backing);
	addr = mcpage_test_mmap_aligned(test, 2 * block, 4);
	mutex_lock(&mcpage_settings_lock);
	mcpage_settings.class_orders[MCPAGE_MMAP] = BIT(2);
	mutex_unlock(&mcpage_settings_lock);
	KUNIT_EXPECT_EQ(test, 4, present_after_write(test, addr));
	mutex_lock(&mcpage_settings_lock);
	mcpage_settings.class_orders[MCPAGE_MMAP] = 0;
	mutex_unlock(&mcpage_settings_lock);
	KUNIT_EXPECT_EQ(test, 1, present_after_write(test, addr + block));
}

/* What users have refused blocks with keeps its meaning. */
static void refusals(struct kunit *test)
{
	enum mcpage_backing backing = mcpage_test_backing(test);
	unsigned long block = PAGE_SIZE << 4;
	struct vm_area_struct *vma;
	unsigned long addr;

	mcpage_test_start(test, backing);
	allow(BIT(4));
	addr = mcpage_test_mmap_aligned(test, 4 * block, 4);
	KUNIT_EXPECT_EQ(test, 16, present_after_write(test, addr));

	mmap_write_lock(current->mm);
	vma = vma_lookup(current->mm, addr);
	vm_flags_set(vma, VM_NOHUGEPAGE);
	mmap_write_unlock(current->mm);
	KUNIT_EXPECT_EQ(test, 1, present_after_write(test, addr + block));

	mmap_write_lock(current->mm);
	vma = vma_lookup(current->mm, addr);
	vm_flags_clear(vma, VM_NOHUGEPAGE);
	mmap_write_unlock(current->mm);
	set_bit(MMF_DISABLE_THP, &current->mm->flags);
	KUNIT_EXPECT_EQ(test, 1, present_after_write(test, addr + 2 * block));
	clear_bit(MMF_DISABLE_THP, &current->mm->flags);
	KUNIT_EXPECT_EQ(test, 16, present_after_write(test, addr + 3 * block));
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
static unsigned long thp_answer(unsigned long addr, unsigned long more_flags,
				unsigned long tva_flags)
{
	struct vm_area_struct *vma;
	unsigned long orders;

	mmap_read_lock(current->mm);
	vma = vma_lookup(current->mm, addr);
	orders = thp_vma_allowable_orders(vma, vma->vm_flags | more_flags, tva_flags,
					  THP_ORDERS_ALL_ANON);
	mmap_read_unlock(current->mm);
	return orders;
}

/* Where mcpage governs, its set is THP's answer on every path; else it is not. */
static void thp_orders(struct kunit *test)
{
	static const unsigned long paths[] = {
		TVA_IN_PF | TVA_ENFORCE_SYSFS,	/* fault, swap-in */
		TVA_SMAPS | TVA_ENFORCE_SYSFS,	/* smaps */
		TVA_ENFORCE_SYSFS,		/* khugepaged */
		0,				/* MADV_COLLAPSE */
	};
	unsigned long set = BIT(3) | BIT(PMD_ORDER);
	unsigned long addr;
	unsigned int i;

	mcpage_test_start(test, MCPAGE_FOLIO);
	addr = mcpage_test_mmap_aligned(test, 4 * PMD_SIZE, PMD_ORDER);
	mcpage_test_write(test, addr);
	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		mcpage_test_set(MCPAGE_ALWAYS, MCPAGE_FOLIO);
		allow(set);
		KUNIT_EXPECT_EQ(test, set, thp_answer(addr, 0, paths[i]));
		KUNIT_EXPECT_EQ(test, 0, thp_answer(addr, VM_NOHUGEPAGE, paths[i]));
		allow(0);
		KUNIT_EXPECT_EQ(test, 0, thp_answer(addr, 0, paths[i]));
		KUNIT_EXPECT_EQ(test, 0, thp_answer(addr, VM_HUGEPAGE, paths[i]));
		/* Single pages: no path makes a large folio of them. */
		mcpage_test_set(MCPAGE_ALWAYS, MCPAGE_PAGES);
		KUNIT_EXPECT_EQ(test, 0, thp_answer(addr, 0, paths[i]));
	}
	/* Off: THP's own settings, "madvise" in this configuration. */
	mcpage_test_set(MCPAGE_NEVER, MCPAGE_FOLIO);
	KUNIT_EXPECT_EQ(test, 0, thp_answer(addr, 0, paths[0]));
	KUNIT_EXPECT_EQ(test, BIT(PMD_ORDER), thp_answer(addr, VM_HUGEPAGE, paths[0]));
}

static gfp_t thp_gfp_answer(unsigned long addr)
{
	gfp_t gfp;

	mmap_read_lock(current->mm);
	gfp = vma_thp_gfp_mask(vma_lookup(current->mm, addr));
	mmap_read_unlock(current->mm);
	return gfp;
}

/* The effort is mcpage's where it governs, and THP's "defrag" elsewhere. */
static void thp_gfp(struct kunit *test)
{
	unsigned long addr;
	gfp_t plain;

	mcpage_test_start(test, MCPAGE_FOLIO);
	addr = mcpage_test_mmap(test, PAGE_SIZE);
	mcpage_test_set(MCPAGE_NEVER, MCPAGE_FOLIO);
	plain = thp_gfp_answer(addr);
	mcpage_test_set(MCPAGE_ALWAYS, MCPAGE_FOLIO);
	KUNIT_EXPECT_TRUE(test, mcpage_effort_gfp(MCPAGE_LIGHT) == thp_gfp_answer(addr));
	WRITE_ONCE(mcpage_settings.effort, MCPAGE_DIRECT);
	KUNIT_EXPECT_TRUE(test, mcpage_effort_gfp(MCPAGE_DIRECT) == thp_gfp_answer(addr));
	KUNIT_EXPECT_TRUE(test, plain == vma_thp_gfp_mask(NULL));
}
#else
static void thp_orders(struct kunit *test)
{
	mcpage_test_need_backing(test, MCPAGE_FOLIO);
}

static void thp_gfp(struct kunit *test)
{
	mcpage_test_need_backing(test, MCPAGE_FOLIO);
}
#endif

static struct kunit_case mcpage_fault_cases[] = {
	KUNIT_CASE_PARAM(write_fault, block_gen_params),
	KUNIT_CASE_PARAM(read_fault, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(highest_order_first, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(vma_edges, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(populated, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(last_block_of_page_table, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(allocation_fails, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(charge_fails, mcpage_test_backing_gen_params),
	KUNIT_CASE(address_space_unstable),
	KUNIT_CASE(address_space_unstable_folio),
	KUNIT_CASE_PARAM(scopes, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(class_scope, mcpage_test_backing_gen_params),
	KUNIT_CASE_PARAM(refusals, mcpage_test_backing_gen_params),
	KUNIT_CASE(thp_orders),
	KUNIT_CASE(thp_gfp),
	{}
};

static struct kunit_suite mcpage_fault_suite = {
	.name = "mcpage_fault",
	.test_cases = mcpage_fault_cases,
};

kunit_test_suite(mcpage_fault_suite);

MODULE_DESCRIPTION("mcpage fault tests");
MODULE_LICENSE("GPL");
