// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage_migrate: a block that is split or migrated has the same entries afterwards.
 */
#include <kunit/test.h>
#include <linux/migrate.h>
#include <linux/mm.h>
#include <linux/pagewalk.h>
#include <linux/pgtable.h>
#include <linux/swap.h>
#include <linux/uaccess.h>

#include "../../internal.h"
#include "helpers.h"

#ifdef CONFIG_TRANSPARENT_HUGEPAGE

/* The bits of an entry that a split must keep, and where its page is exclusive. */
enum {
	HAS_YOUNG = 1,
	HAS_DIRTY = 2,
	HAS_WRITE = 4,
	HAS_SOFT_DIRTY = 8,
	HAS_UFFD_WP = 16,
	HAS_EXCLUSIVE = 32,
};

struct pattern_case {
	const char *name;
	unsigned int (*bits)(unsigned int page);
};

static unsigned int all_alike(unsigned int page)
{
	return HAS_YOUNG | HAS_DIRTY | HAS_WRITE | HAS_SOFT_DIRTY;
}

static unsigned int some_young(unsigned int page)
{
	return HAS_DIRTY | HAS_WRITE | (page % 3 ? 0 : HAS_YOUNG);
}

static unsigned int some_dirty(unsigned int page)
{
	return HAS_WRITE | HAS_YOUNG | (page / 3 % 2 ? HAS_DIRTY : 0);
}

static unsigned int some_writable(unsigned int page)
{
	return HAS_DIRTY | (page % 5 ? HAS_WRITE : 0);
}

static unsigned int some_soft_dirty(unsigned int page)
{
	return HAS_DIRTY | HAS_WRITE | (page / 2 % 2 ? HAS_SOFT_DIRTY : 0);
}

static unsigned int some_protected(unsigned int page)
{
	return page % 4 ? HAS_DIRTY | HAS_WRITE : HAS_DIRTY | HAS_UFFD_WP;
}

static unsigned int none_alike(unsigned int page)
{
	unsigned int bits = page * 2654435761U >> 27;

	return bits & HAS_UFFD_WP ? bits & ~HAS_WRITE : bits;
}

static unsigned int clean_and_old(unsigned int page)
{
	return HAS_WRITE;
}

static const struct pattern_case patterns[] = {
	{ "all alike",		all_alike },
	{ "some young",		some_young },
	{ "some dirty",		some_dirty },
	{ "some writable",	some_writable },
	{ "some soft-dirty",	some_soft_dirty },
	{ "some protected",	some_protected },
	{ "none alike",		none_alike },
	{ "clean and old",	clean_and_old },
};

KUNIT_ARRAY_PARAM_DESC(pattern, patterns, name);

static bool walk_start(unsigned long addr, struct vm_area_struct **vma,
		       struct folio_walk *fw)
{
	mmap_read_lock(current->mm);
	*vma = vma_lookup(current->mm, addr);
	if (*vma && folio_walk_start(fw, *vma, addr, 0))
		return true;
	mmap_read_unlock(current->mm);
	return false;
}

static void walk_end(struct vm_area_struct *vma, struct folio_walk *fw)
{
	folio_walk_end(fw, vma);
	mmap_read_unlock(current->mm);
}

/* What this kernel can keep of these bits. */
static unsigned int kept(unsigned int bits)
{
	if (!IS_ENABLED(CONFIG_MEM_SOFT_DIRTY))
		bits &= ~HAS_SOFT_DIRTY;
	if (!IS_ENABLED(CONFIG_HAVE_ARCH_USERFAULTFD_WP))
		bits &= ~HAS_UFFD_WP;
	return bits;
}

static void set_bits(struct kunit *test, unsigned long addr, unsigned int bits)
{
	struct vm_area_struct *vma;
	struct folio_walk fw;
	pte_t pte;

	KUNIT_ASSERT_TRUE(test, walk_start(addr, &vma, &fw));
	KUNIT_ASSERT_EQ(test, FW_LEVEL_PTE, fw.level);
	pte = ptep_get_and_clear(vma->vm_mm, addr, fw.ptep);
	pte = bits & HAS_YOUNG ? pte_mkyoung(pte) : pte_mkold(pte);
	pte = bits & HAS_DIRTY ? pte_mkdirty(pte) : pte_mkclean(pte);
	pte = bits & HAS_WRITE ? pte_mkwrite(pte, vma) : pte_wrprotect(pte);
	pte = bits & HAS_SOFT_DIRTY ? pte_mksoft_dirty(pte) : pte_clear_soft_dirty(pte);
	pte = bits & HAS_UFFD_WP ? pte_mkuffd_wp(pte) : pte_clear_uffd_wp(pte);
	set_pte_at(vma->vm_mm, addr, fw.ptep, pte);
	walk_end(vma, &fw);
}

static unsigned int get_bits(struct kunit *test, unsigned long addr)
{
	struct vm_area_struct *vma;
	struct folio_walk fw;
	unsigned int bits;

	if (!walk_start(addr, &vma, &fw))
		return 0;
	bits = (pte_young(fw.pte) ? HAS_YOUNG : 0) | (pte_dirty(fw.pte) ? HAS_DIRTY : 0) |
	       (pte_write(fw.pte) ? HAS_WRITE : 0) | (pte_soft_dirty(fw.pte) ? HAS_SOFT_DIRTY : 0) |
	       (pte_uffd_wp(fw.pte) ? HAS_UFFD_WP : 0) |
	       (PageAnonExclusive(fw.page) ? HAS_EXCLUSIVE : 0);
	walk_end(vma, &fw);
	return bits;
}

static struct folio *get_folio(struct kunit *test, unsigned long addr)
{
	struct vm_area_struct *vma;
	struct folio_walk fw;
	struct folio *folio;

	KUNIT_ASSERT_TRUE(test, walk_start(addr, &vma, &fw));
	folio = page_folio(fw.page);
	folio_get(folio);
	walk_end(vma, &fw);
	return folio;
}

/* What a page holds. A split would replace one of zeroes. */
static u8 content(unsigned int page)
{
	return page % 255 + 1;
}

/* A block with a byte in each page, its entries by the pattern. */
static unsigned long begin(struct kunit *test, unsigned int order)
{
	const struct pattern_case *c = test->param_value;
	unsigned long addr;
	unsigned int i;

	mcpage_test_start(test, MCPAGE_FOLIO);
	WRITE_ONCE(mcpage_settings.orders, BIT(order));
	addr = mcpage_test_mmap_aligned(test, PAGE_SIZE << order, order);
	for (i = 0; i < BIT(order); i++)
		KUNIT_ASSERT_EQ(test, 0, put_user(content(i),
						  (u8 __user *)(addr + i * PAGE_SIZE)));
	KUNIT_ASSERT_EQ(test, order, mcpage_test_order(test, addr));
	lru_add_drain_all();
	for (i = 0; i < BIT(order); i++)
		set_bits(test, addr + i * PAGE_SIZE, c->bits(i));
	return addr;
}

static void check(struct kunit *test, unsigned long addr, unsigned int order)
{
	const struct pattern_case *c = test->param_value;
	unsigned long rss = mcpage_test_rss();
	unsigned int i;
	u8 byte;

	for (i = 0; i < BIT(order); i++)
		KUNIT_EXPECT_EQ_MSG(test, kept(c->bits(i)) | HAS_EXCLUSIVE,
				    get_bits(test, addr + i * PAGE_SIZE), "page %u", i);
	for (i = 0; i < BIT(order); i++) {
		KUNIT_ASSERT_EQ(test, 0, get_user(byte, (u8 __user *)(addr + i * PAGE_SIZE)));
		KUNIT_EXPECT_EQ(test, content(i), byte);
	}
	KUNIT_EXPECT_EQ(test, rss, mcpage_test_rss());
	KUNIT_EXPECT_EQ(test, BIT(order), rss);
}

static int split_to(struct kunit *test, unsigned long addr, unsigned int into)
{
	struct folio *folio = get_folio(test, addr);
	int err;

	folio_lock(folio);
	err = split_folio_to_order(folio, into);
	folio_unlock(folio);
	folio_put(folio);
	return err;
}

/* Of each order to each that a split can make; from huge pages on, not by entries. */
static void split(struct kunit *test)
{
	unsigned int order, into;

	for (order = MCPAGE_MIN_ORDER; order < PMD_ORDER; order++) {
		for (into = 0; into < order; into = max(into + 1, MCPAGE_MIN_ORDER)) {
			unsigned long addr = begin(test, order);

			KUNIT_ASSERT_EQ(test, 0, split_to(test, addr, into));
			KUNIT_EXPECT_EQ(test, into, mcpage_test_order(test, addr));
			check(test, addr, order);
			KUNIT_ASSERT_EQ(test, 0, vm_munmap(addr, PAGE_SIZE << order));
		}
	}
}

/* Somebody takes a reference in the middle of it: all is as it was. */
static void split_fails(struct kunit *test)
{
	unsigned long addr = begin(test, 4);
	struct folio *folio = get_folio(test, addr);
	enum ttu_flags flags = TTU_RMAP_LOCKED | TTU_SYNC | TTU_BATCH_FLUSH;
	struct anon_vma *anon_vma = folio_get_anon_vma(folio);

	KUNIT_ASSERT_NOT_NULL(test, anon_vma);
	folio_lock(folio);
	anon_vma_lock_write(anon_vma);
	try_to_migrate(folio, flags);
	try_to_unmap_flush();
	KUNIT_EXPECT_EQ(test, 0, folio_mapcount(folio));
	KUNIT_EXPECT_EQ(test, 1, folio_ref_count(folio));
	remove_migration_ptes(folio, folio, RMP_LOCKED);
	KUNIT_EXPECT_EQ(test, 16, folio_mapcount(folio));
	KUNIT_EXPECT_EQ(test, 17, folio_ref_count(folio));
	anon_vma_unlock_write(anon_vma);
	put_anon_vma(anon_vma);
	folio_unlock(folio);
	folio_put(folio);
	KUNIT_EXPECT_EQ(test, 4, mcpage_test_order(test, addr));
	check(test, addr, 4);
}

/* Pinned: nothing is unmapped. */
static void pinned(struct kunit *test)
{
	unsigned long addr = begin(test, 4);
	struct folio *folio = get_folio(test, addr);
	struct page *page;

	KUNIT_ASSERT_EQ(test, 1, pin_user_pages_fast(addr + 5 * PAGE_SIZE, 1, FOLL_LONGTERM,
						     &page));
	folio_lock(folio);
	try_to_migrate(folio, TTU_BATCH_FLUSH);
	try_to_unmap_flush();
	KUNIT_EXPECT_EQ(test, 16, folio_mapcount(folio));
	folio_unlock(folio);
	unpin_user_page(page);
	folio_put(folio);
	check(test, addr, 4);
}

/* To another place in memory. */
static void migrate(struct kunit *test)
{
	struct migration_target_control target = {
		.nid = NUMA_NO_NODE,
		.gfp_mask = GFP_HIGHUSER_MOVABLE,
		.reason = MR_SYSCALL,
	};
	static const enum migrate_mode modes[] = { MIGRATE_SYNC, MIGRATE_ASYNC };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		unsigned long addr = begin(test, 4);
		struct folio *folio = get_folio(test, addr), *moved;
		LIST_HEAD(list);

		KUNIT_ASSERT_TRUE(test, folio_isolate_lru(folio));
		folio_put(folio);
		list_add(&folio->lru, &list);
		target.nid = folio_nid(folio);
		KUNIT_EXPECT_EQ(test, 0, migrate_pages(&list, alloc_migration_target, NULL,
						       (unsigned long)&target, modes[i],
						       MR_SYSCALL, NULL));
		moved = get_folio(test, addr);
		KUNIT_EXPECT_PTR_NE(test, folio, moved);
		KUNIT_EXPECT_EQ(test, 4, folio_order(moved));
		folio_put(moved);
		check(test, addr, 4);
		KUNIT_ASSERT_EQ(test, 0, vm_munmap(addr, PAGE_SIZE << 4));
	}
}

#define FOLIO_CASE_PARAM	KUNIT_CASE_PARAM

#else /* !CONFIG_TRANSPARENT_HUGEPAGE */

static void no_folios(struct kunit *test)
{
	mcpage_test_need_backing(test, MCPAGE_FOLIO);
}

#define FOLIO_CASE_PARAM(_name, ...)	{ .run_case = no_folios, .name = #_name }

#endif /* CONFIG_TRANSPARENT_HUGEPAGE */

static struct kunit_case mcpage_migrate_cases[] = {
	FOLIO_CASE_PARAM(split, pattern_gen_params),
	FOLIO_CASE_PARAM(split_fails, pattern_gen_params),
	FOLIO_CASE_PARAM(pinned, pattern_gen_params),
	FOLIO_CASE_PARAM(migrate, pattern_gen_params),
	{}
};

static struct kunit_suite mcpage_migrate_suite = {
	.name = "mcpage_migrate",
	.test_cases = mcpage_migrate_cases,
};

kunit_test_suite(mcpage_migrate_suite);

MODULE_DESCRIPTION("mcpage tests of splits and migration");
MODULE_LICENSE("GPL");
