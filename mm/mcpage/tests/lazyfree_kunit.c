// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage_lazyfree: MADV_FREE by blocks, and how what it frees is taken back.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pagewalk.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/uaccess.h>

#include "../../internal.h"
#include "helpers.h"

/* -------- runs of page table entries -------- */

#define PFN	0x1230UL

/* A page table that nothing walks. */
static pte_t *table(struct kunit *test)
{
	pte_t *ptes = kunit_kcalloc(test, PTRS_PER_PTE, sizeof(pte_t), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ptes);
	return ptes;
}

static pte_t entry(unsigned long pfn)
{
	return pte_mkclean(pte_mkold(pfn_pte(pfn, PAGE_COPY)));
}

static pte_t swapped(unsigned long offset)
{
	return swp_entry_to_pte(swp_entry(0, offset));
}

/* Entries that map the same consecutive pages wherever they are. */
static void fill(pte_t *ptes, unsigned int first, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < PTRS_PER_PTE; i++)
		ptes[i] = __pte(0);
	for (i = 0; i < nr; i++)
		ptes[first + i] = entry(PFN + i);
}

static const unsigned int lengths[] = { 1, 2, 3, 4, 7, 8, 15, 16, 17, 64, 255, 256, 511, 512 };

/* Every length at every place, up to the end of the table; never an entry behind it. */
static void ptes_lengths(struct kunit *test)
{
	pte_t *ptes = table(test);
	unsigned int i, first, nr;
	bool touched;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		nr = min_t(unsigned int, lengths[i], PTRS_PER_PTE);
		for (first = 0; first + nr <= PTRS_PER_PTE; first++) {
			unsigned int left = PTRS_PER_PTE - first;

			fill(ptes, first, nr);
			KUNIT_ASSERT_EQ(test, nr, mcpage_ptes_consecutive(ptes + first, left,
									  &touched));
			KUNIT_ASSERT_FALSE(test, touched);
			KUNIT_ASSERT_EQ(test, nr, mcpage_ptes_alike(ptes + first, left));
			/* Not all of them are asked for. */
			left = nr / 2 + 1;
			KUNIT_ASSERT_EQ(test, min(nr, left),
					mcpage_ptes_consecutive(ptes + first, left, &touched));
			KUNIT_ASSERT_EQ(test, min(nr, left),
					mcpage_ptes_alike(ptes + first, left));
		}
	}
}

struct odd_case {
	const char *name;
	pte_t (*odd)(unsigned long pfn);
	bool consecutive;
	bool touched;
	bool alike;
};

static pte_t odd_none(unsigned long pfn)
{
	return __pte(0);
}

static pte_t odd_swap(unsigned long pfn)
{
	return swapped(pfn);
}

static pte_t odd_pfn(unsigned long pfn)
{
	return pte_mkdirty(pte_mkyoung(entry(pfn + 1)));
}

static pte_t odd_young(unsigned long pfn)
{
	return pte_mkyoung(entry(pfn));
}

static pte_t odd_dirty(unsigned long pfn)
{
	return pte_mkdirty(entry(pfn));
}

static pte_t odd_write(unsigned long pfn)
{
	return pte_mkwrite_novma(entry(pfn));
}

static pte_t odd_soft_dirty(unsigned long pfn)
{
	return pte_mksoft_dirty(entry(pfn));
}

static pte_t odd_uffd_wp(unsigned long pfn)
{
	return pte_mkuffd_wp(entry(pfn));
}

/* One entry that differs from those before and behind it. */
static const struct odd_case odd_cases[] = {
	{ "none",	odd_none,	false,	false,	false },
	{ "swap",	odd_swap,	false,	false,	false },
	{ "other page",	odd_pfn,	false,	false,	false },
	{ "young",	odd_young,	true,	true,	true },
	{ "dirty",	odd_dirty,	true,	true,	false },
	{ "writable",	odd_write,	true,	false,	false },
	{ "soft-dirty",	odd_soft_dirty,	true,	false,	false },
	{ "uffd-wp",	odd_uffd_wp,	true,	false,	false },
};

KUNIT_ARRAY_PARAM_DESC(odd, odd_cases, name);

static void ptes_odd_one(struct kunit *test)
{
	const struct odd_case *c = test->param_value;
	pte_t *ptes = table(test);
	unsigned int at;
	bool touched;

	if (pte_same(c->odd(PFN), entry(PFN)))
		kunit_skip(test, "no such bit in this kernel");
	for (at = 1; at < 16; at++) {
		fill(ptes, 0, 16);
		ptes[at] = c->odd(PFN + at);
		KUNIT_EXPECT_EQ(test, c->consecutive ? 16 : at,
				mcpage_ptes_consecutive(ptes, PTRS_PER_PTE, &touched));
		KUNIT_EXPECT_EQ(test, c->touched, touched);
		KUNIT_EXPECT_EQ(test, c->alike ? 16 : at,
				mcpage_ptes_alike(ptes, PTRS_PER_PTE));
	}
}

/* The first one counts, too, and what it has the others must have. */
static void ptes_first_one(struct kunit *test)
{
	pte_t *ptes = table(test);
	unsigned int i;
	bool touched;

	fill(ptes, 0, 8);
	ptes[0] = odd_dirty(PFN);
	KUNIT_EXPECT_EQ(test, 8, mcpage_ptes_consecutive(ptes, 8, &touched));
	KUNIT_EXPECT_TRUE(test, touched);
	KUNIT_EXPECT_EQ(test, 1, mcpage_ptes_alike(ptes, 8));
	for (i = 0; i < 8; i++)
		ptes[i] = pte_mkwrite_novma(odd_dirty(PFN + i));
	ptes[0] = pte_mkyoung(ptes[0]);
	KUNIT_EXPECT_EQ(test, 8, mcpage_ptes_alike(ptes, 8));
	/* Pages may be in sequence by chance: from the block's last one to another. */
	KUNIT_EXPECT_EQ(test, 3, mcpage_ptes_consecutive(ptes + 5, 3, &touched));
}

/* -------- into what a block is split -------- */

struct split_case {
	unsigned int order, first, nr, into;
};

static const struct split_case split_cases[] = {
	/* The halves, the quarters */
	{ 4, 0, 8, 3 }, { 4, 8, 8, 3 }, { 4, 0, 4, 2 }, { 4, 4, 4, 2 }, { 4, 8, 4, 2 },
	{ 4, 0, 12, 2 }, { 4, 4, 12, 2 }, { 4, 4, 8, 2 },
	{ 9, 0, 256, 8 }, { 9, 256, 256, 8 }, { 9, 128, 128, 7 }, { 9, 128, 256, 7 },
	{ 9, 496, 16, 4 }, { 9, 16, 480, 4 },
	/* Order 1 does not exist. */
	{ 4, 0, 2, 0 }, { 4, 2, 2, 0 }, { 4, 6, 4, 0 }, { 2, 0, 2, 0 }, { 2, 2, 2, 0 },
	/* Single pages */
	{ 2, 0, 1, 0 }, { 2, 3, 1, 0 }, { 2, 0, 3, 0 }, { 4, 1, 1, 0 }, { 4, 0, 7, 0 },
	{ 9, 1, 1, 0 }, { 9, 3, 255, 0 }, { 4, 1, 8, 0 },
	/* In steps, where most of it is covered */
	{ 3, 0, 7, 2 }, { 3, 1, 5, 2 }, { 4, 0, 15, 2 }, { 4, 1, 15, 2 }, { 4, 2, 9, 2 },
	{ 5, 0, 31, 2 }, { 6, 0, 63, 3 }, { 8, 1, 255, 4 }, { 9, 0, 511, 4 },
	{ 9, 255, 257, 4 },
	/* As a whole, which nobody asks for: smaller nevertheless */
	{ 4, 0, 16, 3 }, { 3, 0, 8, 2 }, { 2, 0, 4, 0 }, { 9, 0, 512, 8 },
};

static void split_desc(const struct split_case *c, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "order %u, %u pages from %u", c->order,
		 c->nr, c->first);
}

KUNIT_ARRAY_PARAM(split, split_cases, split_desc);

static void split_order(struct kunit *test)
{
	const struct split_case *c = test->param_value;

	KUNIT_EXPECT_EQ(test, c->into, mcpage_split_order(c->order, c->first, c->nr));
}

/* -------- real memory -------- */

/* What a page of the tests holds; never zero. */
static u8 content(unsigned int page)
{
	return page % 255 + 1;
}

static void write_page(struct kunit *test, unsigned long addr, unsigned int page)
{
	KUNIT_ASSERT_EQ(test, 0, put_user(content(page),
					  (u8 __user *)(addr + page * PAGE_SIZE + 77)));
}

static u8 read_page(struct kunit *test, unsigned long addr, unsigned int page)
{
	u8 byte = 0xff;

	KUNIT_ASSERT_EQ(test, 0, get_user(byte,
					  (u8 __user *)(addr + page * PAGE_SIZE + 77)));
	return byte;
}

static void write_pages(struct kunit *test, unsigned long addr, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		write_page(test, addr, i);
}

static int advise(unsigned long addr, unsigned long first, unsigned long nr, int advice)
{
	return do_madvise(current->mm, addr + first * PAGE_SIZE, nr * PAGE_SIZE, advice);
}

/* With single pages the same calls work page by page, and nothing is counted. */
static void pages_backing(struct kunit *test)
{
	unsigned long addr, before[NR_MCPAGE_STAT_ITEMS];
	unsigned int i;

	mcpage_test_start(test, MCPAGE_PAGES);
	WRITE_ONCE(mcpage_settings.orders, BIT(4));
	addr = mcpage_test_mmap_aligned(test, 4 * (PAGE_SIZE << 4), 4);
	write_pages(test, addr, 16);
	for (i = 0; i < NR_MCPAGE_STAT_ITEMS; i++)
		before[i] = mcpage_stat_read(4, i);
	KUNIT_ASSERT_EQ(test, 0, advise(addr, 3, 5, MADV_FREE));
	KUNIT_ASSERT_EQ(test, 0, advise(addr, 9, 2, MADV_COLD));
	KUNIT_EXPECT_EQ(test, 16, mcpage_test_present(test, addr, addr + 16 * PAGE_SIZE));
	for (i = 0; i < 16; i++) {
		u8 byte = read_page(test, addr, i);

		if (i >= 3 && i < 8 && !byte)
			continue;
		KUNIT_EXPECT_EQ(test, content(i), byte);
	}
	for (i = 0; i < NR_MCPAGE_STAT_ITEMS; i++)
		KUNIT_EXPECT_EQ(test, before[i], mcpage_stat_read(4, i));
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE

/**
 * struct block - one block of a case
 * @addr: where it is mapped
 * @order: its order
 * @nr: the number of its pages
 */
struct block {
	unsigned long addr;
	unsigned int order;
	unsigned int nr;
};

static unsigned long stat(const struct block *b, enum mcpage_stat_item item)
{
	return mcpage_stat_read(b->order, item);
}

/* A reference to the folio of a page. */
static struct folio *folio_of(struct kunit *test, const struct block *b,
			      unsigned int page)
{
	unsigned long addr = b->addr + page * PAGE_SIZE;
	struct folio *folio = NULL;
	struct vm_area_struct *vma;
	struct folio_walk fw;

	mmap_read_lock(current->mm);
	vma = vma_lookup(current->mm, addr);
	if (vma && folio_walk_start(&fw, vma, addr, 0)) {
		folio = page_folio(fw.page);
		folio_get(folio);
		folio_walk_end(&fw, vma);
	}
	mmap_read_unlock(current->mm);
	return folio;
}

struct entry_bits {
	bool present, young, dirty, write;
};

static struct entry_bits bits_of(const struct block *b, unsigned int page)
{
	unsigned long addr = b->addr + page * PAGE_SIZE;
	struct entry_bits bits = {};
	struct vm_area_struct *vma;
	struct folio_walk fw;

	mmap_read_lock(current->mm);
	vma = vma_lookup(current->mm, addr);
	if (vma && folio_walk_start(&fw, vma, addr, 0)) {
		bits.present = true;
		if (fw.level == FW_LEVEL_PTE) {
			bits.young = pte_young(fw.pte);
			bits.dirty = pte_dirty(fw.pte);
			bits.write = pte_write(fw.pte);
		} else {
			bits.young = pmd_young(fw.pmd);
			bits.dirty = pmd_dirty(fw.pmd);
			bits.write = pmd_write(fw.pmd);
		}
		folio_walk_end(&fw, vma);
	}
	mmap_read_unlock(current->mm);
	return bits;
}

static unsigned int present(struct kunit *test, const struct block *b)
{
	return mcpage_test_present(test, b->addr, b->addr + b->nr * PAGE_SIZE);
}

/* One block, written on every page, between two ranges of the mapping. */
static struct block block_begin(struct kunit *test, unsigned int order,
				enum mcpage_partial partial)
{
	struct block b = { .order = order, .nr = BIT(order) };

	mcpage_test_start(test, MCPAGE_FOLIO);
	WRITE_ONCE(mcpage_settings.orders, BIT(order));
	WRITE_ONCE(mcpage_settings.partial, partial);
	b.addr = mcpage_test_mmap_aligned(test, PAGE_SIZE << order, order);
	write_pages(test, b.addr, b.nr);
	KUNIT_ASSERT_EQ(test, order, mcpage_test_order(test, b.addr));
	KUNIT_ASSERT_EQ(test, order == PMD_ORDER, mcpage_test_pmd_mapped(test, b.addr));
	lru_add_drain_all();
	return b;
}

static bool marked(struct kunit *test, const struct block *b, unsigned int page)
{
	struct folio *folio = folio_of(test, b, page);
	bool ret;

	if (!folio)
		return false;
	ret = mcpage_page_marked(folio, folio_page(folio, page));
	folio_put(folio);
	return ret;
}

/* Split the block into single pages, as anyone may. */
static int split(struct kunit *test, const struct block *b, unsigned int page)
{
	struct folio *folio = folio_of(test, b, page);
	int err;

	KUNIT_ASSERT_NOT_NULL(test, folio);
	folio_lock(folio);
	err = split_folio(folio);
	folio_unlock(folio);
	folio_put(folio);
	return err;
}

static bool swapbacked(struct kunit *test, const struct block *b)
{
	struct folio *folio = folio_of(test, b, 0);
	bool ret;

	KUNIT_ASSERT_NOT_NULL(test, folio);
	lru_add_drain_all();
	ret = folio_test_swapbacked(folio);
	folio_put(folio);
	return ret;
}

/* Have reclaim look at the folio of a page, as memory pressure would. */
static void reclaim(struct kunit *test, const struct block *b, unsigned int page)
{
	struct folio *folio;
	LIST_HEAD(list);

	lru_add_drain_all();
	folio = folio_of(test, b, page);
	KUNIT_ASSERT_NOT_NULL(test, folio);
	KUNIT_ASSERT_TRUE(test, folio_isolate_lru(folio));
	/* That has taken another one. */
	folio_put(folio);
	list_add(&folio->lru, &list);
	reclaim_pages(&list);
}

static const unsigned int orders[] = { 2, 3, 4, 5, 6, 7, 8, 9 };

static void order_desc(const unsigned int *order, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "order %u", *order);
}

KUNIT_ARRAY_PARAM(order, orders, order_desc);

static unsigned int order_param(struct kunit *test)
{
	return *(const unsigned int *)test->param_value;
}

/* As a whole: one pass, the folio stays what it is, and comes back in one piece. */
static void whole(struct kunit *test)
{
	struct block b = block_begin(test, order_param(test), MCPAGE_PARTIAL_MARK);
	unsigned long lazyfree = stat(&b, MCPAGE_STAT_LAZYFREE);
	unsigned long partial = stat(&b, MCPAGE_STAT_LAZYFREE_PARTIAL);
	unsigned long reclaimed = stat(&b, MCPAGE_STAT_LAZYFREE_RECLAIMED);
	unsigned int i;

	KUNIT_ASSERT_EQ(test, 0, advise(b.addr, 0, b.nr, MADV_FREE));
	KUNIT_EXPECT_FALSE(test, swapbacked(test, &b));
	KUNIT_EXPECT_EQ(test, b.order, mcpage_test_order(test, b.addr));
	for (i = 0; i < b.nr; i++) {
		KUNIT_EXPECT_FALSE(test, bits_of(&b, i).dirty);
		KUNIT_EXPECT_FALSE(test, marked(test, &b, i));
		KUNIT_EXPECT_EQ(test, content(i), read_page(test, b.addr, i));
	}
	KUNIT_EXPECT_EQ(test, lazyfree + 1, stat(&b, MCPAGE_STAT_LAZYFREE));
	KUNIT_EXPECT_EQ(test, partial, stat(&b, MCPAGE_STAT_LAZYFREE_PARTIAL));
	reclaim(test, &b, 0);
	KUNIT_EXPECT_EQ(test, 0, present(test, &b));
	KUNIT_EXPECT_EQ(test, reclaimed + 1, stat(&b, MCPAGE_STAT_LAZYFREE_RECLAIMED));
	KUNIT_EXPECT_TRUE(test, mcpage_test_zero(test, b.addr, b.addr + b.nr * PAGE_SIZE));
}

/* Written again in one place: it stays as it is, entries included. */
static void redirtied(struct kunit *test)
{
	unsigned int order = order_param(test), i, at = BIT(order) - 2;
	struct block b = block_begin(test, order, MCPAGE_PARTIAL_MARK);
	unsigned long redirty = stat(&b, MCPAGE_STAT_LAZYFREE_REDIRTIED);

	KUNIT_ASSERT_EQ(test, 0, advise(b.addr, 0, b.nr, MADV_FREE));
	write_page(test, b.addr, at);
	reclaim(test, &b, 0);
	KUNIT_EXPECT_EQ(test, b.nr, present(test, &b));
	KUNIT_EXPECT_EQ(test, redirty + 1, stat(&b, MCPAGE_STAT_LAZYFREE_REDIRTIED));
	KUNIT_EXPECT_TRUE(test, swapbacked(test, &b));
	KUNIT_EXPECT_EQ(test, b.order, mcpage_test_order(test, b.addr));
	for (i = 0; i < b.nr; i++) {
		KUNIT_EXPECT_TRUE(test, bits_of(&b, i).write);
		KUNIT_EXPECT_EQ(test, content(i), read_page(test, b.addr, i));
		/* What was not written can still be had. */
		if (b.order < PMD_ORDER)
			KUNIT_EXPECT_EQ(test, i != at, marked(test, &b, i));
	}
}

struct part_case {
	const char *name;
	/* Of a block of 2^order pages: from where, how many, in how many calls. */
	unsigned int (*first)(unsigned int nr);
	unsigned int (*pages)(unsigned int nr);
};

static unsigned int none(unsigned int nr)
{
	return 0;
}

static unsigned int one(unsigned int nr)
{
	return 1;
}

static unsigned int half(unsigned int nr)
{
	return nr / 2;
}

static unsigned int last(unsigned int nr)
{
	return nr - 1;
}

static const struct part_case parts[] = {
	{ "first page",		none,	one },
	{ "middle page",	half,	one },
	{ "last page",		last,	one },
	{ "first half",		none,	half },
	{ "last half",		half,	half },
	{ "all but the first",	one,	last },
	{ "all but the last",	none,	last },
};

KUNIT_ARRAY_PARAM_DESC(part, parts, name);

static void mark_part(struct kunit *test)
{
	const struct part_case *c = test->param_value;
	unsigned int order, first, nr, i;

	for (order = MCPAGE_MIN_ORDER; order <= PMD_ORDER; order++) {
		struct block b = block_begin(test, order, MCPAGE_PARTIAL_MARK);
		unsigned long partial = stat(&b, MCPAGE_STAT_LAZYFREE_PARTIAL);
		unsigned long reclaimed = stat(&b, MCPAGE_STAT_LAZYFREE_RECLAIMED);
		unsigned int written;

		first = c->first(b.nr);
		nr = c->pages(b.nr);
		KUNIT_ASSERT_EQ(test, 0, advise(b.addr, first, nr, MADV_FREE));
		KUNIT_EXPECT_EQ(test, partial + 1, stat(&b, MCPAGE_STAT_LAZYFREE_PARTIAL));
		KUNIT_EXPECT_EQ(test, order, mcpage_test_order(test, b.addr));
		KUNIT_EXPECT_EQ(test, b.nr, present(test, &b));
		for (i = 0; i < b.nr; i++) {
			bool covered = i >= first && i < first + nr;

			KUNIT_ASSERT_EQ(test, covered, marked(test, &b, i));
			KUNIT_ASSERT_EQ(test, !covered, bits_of(&b, i).dirty);
			KUNIT_ASSERT_TRUE(test, bits_of(&b, i).write);
			KUNIT_ASSERT_EQ(test, content(i), read_page(test, b.addr, i));
		}
		/* Written again, it stays; what is only read goes. */
		written = first + nr / 2;
		write_page(test, b.addr, written);
		KUNIT_ASSERT_EQ(test, 0, split(test, &b, 0));
		KUNIT_EXPECT_EQ(test, b.nr - nr + 1, present(test, &b));
		if (nr > 1)
			KUNIT_EXPECT_EQ(test, reclaimed + 1,
					stat(&b, MCPAGE_STAT_LAZYFREE_RECLAIMED));
		for (i = 0; i < b.nr; i++) {
			bool kept = i < first || i >= first + nr || i == written;

			KUNIT_ASSERT_EQ(test, kept ? content(i) : 0,
					read_page(test, b.addr, i));
		}
		KUNIT_ASSERT_EQ(test, 0, vm_munmap(b.addr, b.nr * PAGE_SIZE));
	}
}

static void zap_part(struct kunit *test)
{
	const struct part_case *c = test->param_value;
	unsigned int order, first, nr, i;

	for (order = MCPAGE_MIN_ORDER; order <= PMD_ORDER; order++) {
		struct block b = block_begin(test, order, MCPAGE_PARTIAL_ZAP);
		unsigned long partial = stat(&b, MCPAGE_STAT_LAZYFREE_PARTIAL);

		first = c->first(b.nr);
		nr = c->pages(b.nr);
		KUNIT_ASSERT_EQ(test, 0, advise(b.addr, first, nr, MADV_FREE));
		KUNIT_EXPECT_EQ(test, partial + 1, stat(&b, MCPAGE_STAT_LAZYFREE_PARTIAL));
		KUNIT_EXPECT_EQ(test, b.nr - nr, present(test, &b));
		for (i = 0; i < b.nr; i++) {
			bool covered = i >= first && i < first + nr;

			if (!covered)
				KUNIT_ASSERT_EQ(test, order,
						mcpage_test_order(test, b.addr +
								  i * PAGE_SIZE));
			KUNIT_ASSERT_EQ(test, covered ? 0 : content(i),
					read_page(test, b.addr, i));
		}
		KUNIT_ASSERT_EQ(test, 0, vm_munmap(b.addr, b.nr * PAGE_SIZE));
	}
}

/* What becomes of a page's block when a part of it is split off, step by step. */
static unsigned int order_after(unsigned int order, unsigned int first, unsigned int nr,
				unsigned int page)
{
	unsigned int start = 0, from, to;

	for (;;) {
		from = max(first, start);
		to = min(first + nr, start + (unsigned int)BIT(order));
		if (from >= to || to - from == BIT(order))
			return order;
		order = mcpage_split_order(order, from - start, to - from);
		start = round_down(page, BIT(order));
	}
}

static void split_part(struct kunit *test)
{
	const struct part_case *c = test->param_value;
	unsigned int order, first, nr, i;

	for (order = MCPAGE_MIN_ORDER; order <= PMD_ORDER; order++) {
		struct block b = block_begin(test, order, MCPAGE_PARTIAL_SPLIT);
		unsigned long partial = stat(&b, MCPAGE_STAT_LAZYFREE_PARTIAL);

		first = c->first(b.nr);
		nr = c->pages(b.nr);
		KUNIT_ASSERT_EQ(test, 0, advise(b.addr, first, nr, MADV_FREE));
		KUNIT_EXPECT_EQ(test, partial + 1, stat(&b, MCPAGE_STAT_LAZYFREE_PARTIAL));
		KUNIT_EXPECT_EQ(test, b.nr, present(test, &b));
		lru_add_drain_all();
		for (i = 0; i < b.nr; i++) {
			bool covered = i >= first && i < first + nr;
			struct folio *folio = folio_of(test, &b, i);

			KUNIT_ASSERT_NOT_NULL(test, folio);
			KUNIT_ASSERT_EQ(test, order_after(order, first, nr, i),
					folio_order(folio));
			KUNIT_ASSERT_EQ(test, !covered, folio_test_swapbacked(folio));
			folio_put(folio);
			KUNIT_ASSERT_EQ(test, !covered, bits_of(&b, i).dirty);
			KUNIT_ASSERT_EQ(test, content(i), read_page(test, b.addr, i));
		}
		KUNIT_ASSERT_EQ(test, 0, vm_munmap(b.addr, b.nr * PAGE_SIZE));
	}
}

/* A clean entry says nothing where the folio is dirty: it may be the only copy. */
static void dirty_folio(struct kunit *test)
{
	struct block b = block_begin(test, 4, MCPAGE_PARTIAL_MARK);
	struct folio *folio = folio_of(test, &b, 0);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, folio);
	/* Marked first, dirty later: written through another way than the entry. */
	KUNIT_ASSERT_EQ(test, 0, advise(b.addr, 0, 4, MADV_FREE));
	KUNIT_ASSERT_TRUE(test, marked(test, &b, 0));
	folio_mark_dirty(folio);
	folio_put(folio);
	/* Split, as marks do not count now; the part at hand is free all the same. */
	KUNIT_ASSERT_EQ(test, 0, advise(b.addr, 8, 4, MADV_FREE));
	KUNIT_EXPECT_EQ(test, 16, present(test, &b));
	KUNIT_EXPECT_EQ(test, 2, mcpage_test_order(test, b.addr));
	lru_add_drain_all();
	for (i = 0; i < 16; i++) {
		folio = folio_of(test, &b, i);
		KUNIT_ASSERT_NOT_NULL(test, folio);
		KUNIT_EXPECT_EQ(test, i < 8 || i >= 12, folio_test_swapbacked(folio));
		KUNIT_EXPECT_FALSE(test, mcpage_folio_marked(folio));
		folio_put(folio);
		KUNIT_EXPECT_EQ(test, content(i), read_page(test, b.addr, i));
	}
}

/* A mark must not outlive the block; a new one begins without. */
static void marks_are_forgotten(struct kunit *test)
{
	struct block b = block_begin(test, 4, MCPAGE_PARTIAL_MARK);
	unsigned int i, round;

	for (round = 0; round < 8; round++) {
		KUNIT_ASSERT_EQ(test, 0, advise(b.addr, 0, 15, MADV_FREE));
		KUNIT_ASSERT_TRUE(test, marked(test, &b, 0));
		KUNIT_ASSERT_EQ(test, 0, mcpage_test_zap(test, b.addr, b.nr * PAGE_SIZE));
		write_pages(test, b.addr, b.nr);
		KUNIT_ASSERT_EQ(test, 4, mcpage_test_order(test, b.addr));
		for (i = 0; i < b.nr; i++)
			KUNIT_EXPECT_FALSE(test, marked(test, &b, i));
		lru_add_drain_all();
	}
}

/* Somebody holds the block: it is left alone, and the loop goes on behind it. */
static void held(struct kunit *test)
{
	static const enum mcpage_partial ways[] = {
		MCPAGE_PARTIAL_MARK, MCPAGE_PARTIAL_SPLIT
	};
	unsigned int w, i;

	for (w = 0; w < ARRAY_SIZE(ways); w++) {
		struct block b = block_begin(test, 4, ways[w]);
		struct block next = { .addr = b.addr + (PAGE_SIZE << 4), .order = 4, .nr = 16 };
		struct folio *folio = folio_of(test, &b, 0);

		KUNIT_ASSERT_NOT_NULL(test, folio);
		write_pages(test, next.addr, 16);
		KUNIT_ASSERT_EQ(test, 4, mcpage_test_order(test, next.addr));
		lru_add_drain_all();
		/* From the middle of the one to the middle of the other. */
		KUNIT_ASSERT_EQ(test, 0, advise(b.addr, 8, 16, MADV_FREE));
		KUNIT_EXPECT_EQ(test, 4, folio_order(folio));
		KUNIT_EXPECT_FALSE(test, bits_of(&next, 0).dirty);
		KUNIT_EXPECT_TRUE(test, bits_of(&next, 8).dirty);
		/* Marked it can be; but nothing is discarded as long as it is held. */
		KUNIT_EXPECT_EQ(test, ways[w] == MCPAGE_PARTIAL_MARK,
				mcpage_folio_marked(folio));
		KUNIT_EXPECT_NE(test, 0, split(test, &b, 0));
		KUNIT_EXPECT_EQ(test, 16, present(test, &b));
		KUNIT_EXPECT_EQ(test, ways[w] == MCPAGE_PARTIAL_MARK,
				mcpage_folio_marked(folio));
		for (i = 0; i < 16; i++)
			KUNIT_EXPECT_EQ(test, content(i), read_page(test, b.addr, i));
		folio_put(folio);
		KUNIT_ASSERT_EQ(test, 0, vm_munmap(b.addr, 2 * (PAGE_SIZE << 4)));
	}
}

/* Locked: left alone, whole or in part. */
static void locked(struct kunit *test)
{
	static const enum mcpage_partial ways[] = {
		MCPAGE_PARTIAL_MARK, MCPAGE_PARTIAL_SPLIT
	};
	unsigned int w;

	for (w = 0; w < ARRAY_SIZE(ways); w++) {
		struct block b = block_begin(test, 4, ways[w]);
		struct folio *folio = folio_of(test, &b, 0);

		KUNIT_ASSERT_NOT_NULL(test, folio);
		folio_lock(folio);
		KUNIT_EXPECT_EQ(test, 0, advise(b.addr, 0, 8, MADV_FREE));
		KUNIT_EXPECT_EQ(test, 4, folio_order(folio));
		KUNIT_EXPECT_FALSE(test, mcpage_folio_marked(folio));
		KUNIT_EXPECT_TRUE(test, bits_of(&b, 0).dirty);
		folio_mark_dirty(folio);
		KUNIT_EXPECT_EQ(test, 0, advise(b.addr, 0, 16, MADV_FREE));
		KUNIT_EXPECT_TRUE(test, folio_test_dirty(folio));
		KUNIT_EXPECT_TRUE(test, swapbacked(test, &b));
		folio_unlock(folio);
		folio_put(folio);
		KUNIT_ASSERT_EQ(test, 0, vm_munmap(b.addr, PAGE_SIZE << 4));
	}
}

/* All that was marked is in use again: nothing to gain from a split. */
static void in_use_again(struct kunit *test)
{
	struct block b = block_begin(test, 4, MCPAGE_PARTIAL_MARK);
	struct folio *folio = folio_of(test, &b, 0);

	KUNIT_ASSERT_NOT_NULL(test, folio);
	KUNIT_ASSERT_EQ(test, 0, advise(b.addr, 3, 5, MADV_FREE));
	write_pages(test, b.addr, 16);
	lru_add_drain_all();
	KUNIT_EXPECT_TRUE(test, folio_test_partially_mapped(folio));
	folio_lock(folio);
	KUNIT_EXPECT_TRUE(test, mcpage_in_use_again(folio));
	KUNIT_EXPECT_FALSE(test, folio_test_partially_mapped(folio));
	KUNIT_EXPECT_FALSE(test, mcpage_folio_marked(folio));
	/* It has nothing to do with folios that are not marked. */
	KUNIT_EXPECT_FALSE(test, mcpage_in_use_again(folio));
	folio_unlock(folio);
	/* A part is free still: it is taken, and the rest is for the split. */
	KUNIT_ASSERT_EQ(test, 0, advise(b.addr, 3, 5, MADV_FREE));
	write_page(test, b.addr, 4);
	folio_lock(folio);
	KUNIT_EXPECT_FALSE(test, mcpage_in_use_again(folio));
	KUNIT_EXPECT_TRUE(test, folio_test_partially_mapped(folio));
	folio_unlock(folio);
	KUNIT_EXPECT_EQ(test, 12, present(test, &b));
	KUNIT_EXPECT_EQ(test, content(4), read_page(test, b.addr, 4));
	KUNIT_EXPECT_EQ(test, 0, read_page(test, b.addr, 5));
	folio_put(folio);
}

/* Unmapped in part as well, it is split even if all that was marked is in use. */
static void in_use_but_partial(struct kunit *test)
{
	struct block b = block_begin(test, 4, MCPAGE_PARTIAL_MARK);
	struct folio *folio = folio_of(test, &b, 0);

	KUNIT_ASSERT_NOT_NULL(test, folio);
	KUNIT_ASSERT_EQ(test, 0, advise(b.addr, 0, 4, MADV_FREE));
	write_pages(test, b.addr, 4);
	KUNIT_ASSERT_EQ(test, 0, mcpage_test_zap(test, b.addr + 8 * PAGE_SIZE, PAGE_SIZE));
	folio_lock(folio);
	KUNIT_EXPECT_FALSE(test, mcpage_in_use_again(folio));
	KUNIT_EXPECT_TRUE(test, folio_test_partially_mapped(folio));
	folio_unlock(folio);
	folio_put(folio);
	KUNIT_EXPECT_EQ(test, 15, present(test, &b));
}

/* MADV_COLD leaves the block whole; as a part is young still, so is the block. */
static void cold_part(struct kunit *test)
{
	struct block b = block_begin(test, 4, MCPAGE_PARTIAL_MARK);

	KUNIT_ASSERT_EQ(test, 0, advise(b.addr, 0, 8, MADV_COLD));
	KUNIT_EXPECT_EQ(test, 4, mcpage_test_order(test, b.addr));
	KUNIT_EXPECT_FALSE(test, bits_of(&b, 7).young);
	KUNIT_EXPECT_TRUE(test, bits_of(&b, 7).dirty);
	KUNIT_EXPECT_TRUE(test, bits_of(&b, 8).young);
	KUNIT_EXPECT_FALSE(test, marked(test, &b, 0));
	WRITE_ONCE(mcpage_settings.partial, MCPAGE_PARTIAL_SPLIT);
	KUNIT_ASSERT_EQ(test, 0, advise(b.addr, 0, 8, MADV_COLD));
	KUNIT_EXPECT_EQ(test, 3, mcpage_test_order(test, b.addr));
	KUNIT_EXPECT_EQ(test, 16, present(test, &b));
}

/* Where mcpage does not govern, all is as without it. */
static void not_governed(struct kunit *test)
{
	struct block b = block_begin(test, 4, MCPAGE_PARTIAL_MARK);
	unsigned long partial = stat(&b, MCPAGE_STAT_LAZYFREE_PARTIAL);

	WRITE_ONCE(mcpage_settings.enabled, MCPAGE_NEVER);
	mutex_lock(&mcpage_settings_lock);
	mcpage_settings_changed();
	mutex_unlock(&mcpage_settings_lock);
	KUNIT_ASSERT_EQ(test, 0, advise(b.addr, 0, 8, MADV_FREE));
	KUNIT_EXPECT_EQ(test, 0, mcpage_test_order(test, b.addr));
	KUNIT_EXPECT_EQ(test, partial, stat(&b, MCPAGE_STAT_LAZYFREE_PARTIAL));
}

/* Marks are good for the discard also once mcpage is off. */
static void off_after_mark(struct kunit *test)
{
	struct block b = block_begin(test, 4, MCPAGE_PARTIAL_MARK);

	KUNIT_ASSERT_EQ(test, 0, advise(b.addr, 0, 8, MADV_FREE));
	mcpage_test_set(MCPAGE_NEVER, MCPAGE_FOLIO);
	KUNIT_ASSERT_EQ(test, 0, split(test, &b, 0));
	KUNIT_EXPECT_EQ(test, 8, present(test, &b));
}

/* The last block of a page table, and the first of the next one. */
static void end_of_table(struct kunit *test)
{
	struct block b = { .order = 4, .nr = 16 }, behind = { .order = 4, .nr = 16 };
	unsigned int i;

	mcpage_test_start(test, MCPAGE_FOLIO);
	WRITE_ONCE(mcpage_settings.orders, BIT(4));
	behind.addr = mcpage_test_mmap_aligned(test, 2 * PMD_SIZE, PMD_ORDER) + PMD_SIZE;
	b.addr = behind.addr - (PAGE_SIZE << 4);
	write_pages(test, b.addr, 32);
	KUNIT_ASSERT_EQ(test, 4, mcpage_test_order(test, b.addr));
	lru_add_drain_all();
	KUNIT_ASSERT_EQ(test, 0, advise(b.addr, 0, 16, MADV_FREE));
	for (i = 0; i < 16; i++) {
		KUNIT_EXPECT_FALSE(test, bits_of(&b, i).dirty);
		KUNIT_EXPECT_TRUE(test, bits_of(&behind, i).dirty);
		KUNIT_EXPECT_TRUE(test, bits_of(&behind, i).young);
	}
	/* Over the end of the table, by halves. */
	KUNIT_ASSERT_EQ(test, 0, advise(b.addr, 8, 16, MADV_FREE));
	for (i = 0; i < 16; i++)
		KUNIT_EXPECT_EQ(test, i >= 8, bits_of(&behind, i).dirty);
	for (i = 0; i < 32; i++)
		KUNIT_EXPECT_EQ(test, content(i), read_page(test, b.addr, i));
}

#define FOLIO_CASE	KUNIT_CASE
#define FOLIO_CASE_PARAM	KUNIT_CASE_PARAM

#else /* !CONFIG_TRANSPARENT_HUGEPAGE */

static void no_folios(struct kunit *test)
{
	mcpage_test_need_backing(test, MCPAGE_FOLIO);
}

#define FOLIO_CASE(_name, ...)	{ .run_case = no_folios, .name = #_name }
#define FOLIO_CASE_PARAM	FOLIO_CASE

#endif /* CONFIG_TRANSPARENT_HUGEPAGE */

static struct kunit_case mcpage_lazyfree_cases[] = {
	KUNIT_CASE(ptes_lengths),
	KUNIT_CASE_PARAM(ptes_odd_one, odd_gen_params),
	KUNIT_CASE(ptes_first_one),
	KUNIT_CASE_PARAM(split_order, split_gen_params),
	KUNIT_CASE(pages_backing),
	FOLIO_CASE_PARAM(whole, order_gen_params),
	FOLIO_CASE_PARAM(redirtied, order_gen_params),
	FOLIO_CASE_PARAM(mark_part, part_gen_params),
	FOLIO_CASE_PARAM(zap_part, part_gen_params),
	FOLIO_CASE_PARAM(split_part, part_gen_params),
	FOLIO_CASE(dirty_folio),
	FOLIO_CASE(marks_are_forgotten),
	FOLIO_CASE(held),
	FOLIO_CASE(locked),
	FOLIO_CASE(in_use_again),
	FOLIO_CASE(in_use_but_partial),
	FOLIO_CASE(cold_part),
	FOLIO_CASE(not_governed),
	FOLIO_CASE(off_after_mark),
	FOLIO_CASE(end_of_table),
	{}
};

static struct kunit_suite mcpage_lazyfree_suite = {
	.name = "mcpage_lazyfree",
	.test_cases = mcpage_lazyfree_cases,
};

kunit_test_suite(mcpage_lazyfree_suite);

MODULE_DESCRIPTION("mcpage lazyfree tests");
MODULE_LICENSE("GPL");
