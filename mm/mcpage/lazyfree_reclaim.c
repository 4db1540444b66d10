// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: how lazily freed memory is taken back: blocks that are lazyfree as a
 * whole, and the marked pages of others.
 *
 * Both go the way of try_to_unmap_one(): clear the entries; then, if nobody but the
 * entries holds the folio and it is not dirty, nobody has written or will write.
 * Get-user-pages takes its reference before it looks at the entry again, and whoever
 * wrote through it makes the folio dirty before the reference is dropped.
 */
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmu_notifier.h>
#include <linux/rmap.h>
#include <linux/swap.h>

#include <trace/events/mcpage.h>

#include "../internal.h"
#include "internal.h"
#include "ptes.h"

/*
 * Put entries back that mcpage_take_ptes() took. They were alike, but for the young
 * bit: what was young somewhere is so everywhere then.
 */
static void mcpage_return_ptes(const struct page_vma_mapped_walk *pvmw, pte_t first,
			       unsigned int nr)
{
	if (nr)
		set_ptes(pvmw->vma->vm_mm, pvmw->address, pvmw->pte, first, nr);
}

/* Clear entries that are alike and clean, up to one that was written meanwhile. */
static unsigned int mcpage_take_ptes(const struct page_vma_mapped_walk *pvmw,
				     pte_t *first, unsigned int nr)
{
	struct vm_area_struct *vma = pvmw->vma;
	unsigned long addr = pvmw->address;
	pte_t *ptep = pvmw->pte, pte;
	unsigned int i;

	flush_cache_range(vma, addr, addr + nr * PAGE_SIZE);
	*first = ptep_get(ptep);
	for (i = 0; i < nr; i++, ptep++, addr += PAGE_SIZE) {
		pte = mcpage_take_pte(vma, addr, ptep);
		if (unlikely(pte_dirty(pte))) {
			set_pte_at(vma->vm_mm, addr, ptep, pte);
			break;
		}
		if (pte_young(pte))
			*first = pte_mkyoung(*first);
	}
	if (i)
		mcpage_ptes_taken(pvmw, *first, i, TTU_BATCH_FLUSH);
	return i;
}

/* Entries were cleared: has nobody written, and will nobody write? */
static bool mcpage_discardable(struct folio *folio)
{
	int refs, maps;

	/* After the entries were cleared; see try_to_unmap_one(). */
	smp_mb();
	refs = folio_ref_count(folio);
	maps = folio_mapcount(folio);
	/* The folio is made dirty before the reference is dropped. */
	smp_rmb();
	return refs == maps + 1 && !folio_test_dirty(folio);
}

static void mcpage_drop_ptes(const struct page_vma_mapped_walk *pvmw,
			     struct folio *folio, unsigned int first, unsigned int nr)
{
	struct mm_struct *mm = pvmw->vma->vm_mm;

	update_hiwater_rss(mm);
	add_mm_counter(mm, MM_ANONPAGES, -(long)nr);
	folio_remove_rmap_ptes(folio, folio_page(folio, first), nr, pvmw->vma);
	folio_put_refs(folio, nr);
}

/* -------- blocks that are lazyfree as a whole -------- */

/* Not to be discarded. What was not written of it still can be, later. */
static void mcpage_redirtied(const struct page_vma_mapped_walk *pvmw,
			     struct folio *folio)
{
	folio_set_swapbacked(folio);
	mcpage_stat_add(folio_order(folio), MCPAGE_STAT_LAZYFREE_REDIRTIED);
	if (pvmw->pte && mcpage_markable(folio) &&
	    READ_ONCE(mcpage_settings.partial) == MCPAGE_PARTIAL_MARK)
		mcpage_mark_clean(folio, 0, pvmw->pte, folio_nr_pages(folio));
}

/* Do entries map all of a block, and is one of them dirty? */
static bool mcpage_any_dirty(pte_t *ptep, unsigned int nr)
{
	bool touched;

	if (mcpage_ptes_consecutive(ptep, nr, &touched) != nr || !touched)
		return false;
	while (nr--)
		if (pte_dirty(ptep_get(ptep++)))
			return true;
	return false;
}

/**
 * __mcpage_lazyfree_unmap - take a lazyfree block out of an address space
 * @folio: the block, large, anonymous, locked, not swapbacked
 * @pvmw: where it is mapped
 * @flags: what the caller of try_to_unmap() wants; only reclaim gets anything here
 *
 * All or nothing, so that it does not become a case for the deferred split queue
 * on its way out, and an entry that was not cleared does not have to be made anew.
 *
 * Context: as the body of try_to_unmap_one(): the page table is locked.
 * Return: 1 if it is not mapped there any more; -1 if it was written, and is an
 * ordinary block again; 0 if that is to be found out page by page.
 */
int __mcpage_lazyfree_unmap(struct folio *folio, struct page_vma_mapped_walk *pvmw,
			    unsigned int flags)
{
	unsigned int nr = folio_nr_pages(folio), taken;
	struct vm_area_struct *vma = pvmw->vma;
	pte_t first;

	if ((flags & (TTU_BATCH_FLUSH | TTU_HWPOISON)) != TTU_BATCH_FLUSH ||
	    (vma->vm_flags & VM_DROPPABLE) || !mcpage_governs(vma, vma->vm_flags))
		return 0;
	if (!pvmw->pte) {
		if (!unmap_huge_pmd_locked(vma, pvmw->address, pvmw->pmd, folio))
			goto redirtied;
		goto unmapped;
	}
	first = ptep_get(pvmw->pte);
	if (!pte_present(first) || pte_pfn(first) != folio_pfn(folio) ||
	    nr > mcpage_ptes_left(pvmw))
		return 0;
	/* None of those that are like a clean one is dirty. */
	if (pte_dirty(first) || mcpage_ptes_alike(pvmw->pte, nr) != nr) {
		if (mcpage_any_dirty(pvmw->pte, nr))
			goto redirtied;
		return 0;
	}
	taken = mcpage_take_ptes(pvmw, &first, nr);
	if (taken < nr || !mcpage_discardable(folio)) {
		mcpage_return_ptes(pvmw, first, taken);
		goto redirtied;
	}
	mcpage_drop_ptes(pvmw, folio, 0, nr);
unmapped:
	/* Not for each of those who share it. */
	if (!folio_mapped(folio))
		mcpage_stat_add(folio_order(folio), MCPAGE_STAT_LAZYFREE_RECLAIMED);
	return 1;

redirtied:
	mcpage_redirtied(pvmw, folio);
	return -1;
}

/**
 * __mcpage_lazyfree_young - was a lazyfree block used?
 * @folio: the block
 * @pvmw: where it is mapped; on success moved to the last of its entries
 * @mapcount: less by the entries that were looked at
 * @referenced: more by one if any of them was young; none is afterwards
 *
 * Context: as the body of folio_referenced_one(): the page table is locked.
 * Return: false if it is to be found out page by page.
 */
bool __mcpage_lazyfree_young(struct folio *folio, struct page_vma_mapped_walk *pvmw,
			     int *mapcount, int *referenced)
{
	struct vm_area_struct *vma = pvmw->vma;
	unsigned long nr = folio_nr_pages(folio), addr = pvmw->address, i;
	pte_t *ptep = pvmw->pte;
	bool touched, young;

	if (!ptep || !mcpage_governs(vma, vma->vm_flags) ||
	    !pte_present(ptep_get(ptep)) || pte_pfn(ptep_get(ptep)) != folio_pfn(folio) ||
	    nr > mcpage_ptes_left(pvmw) ||
	    mcpage_ptes_consecutive(ptep, nr, &touched) != nr)
		return false;
	/* That would look at what is around. */
	if (touched && lru_gen_enabled())
		return false;
	young = mmu_notifier_clear_flush_young(vma->vm_mm, addr, addr + nr * PAGE_SIZE);
	if (touched)
		for (i = 0; i < nr; i++)
			if (pte_young(ptep_get(ptep + i)))
				young |= ptep_clear_flush_young(vma, addr + i * PAGE_SIZE,
								ptep + i);
	mcpage_walk_forward(pvmw, nr);
	*mapcount -= nr;
	*referenced += young;
	return true;
}

/* -------- the marked pages of others -------- */

/**
 * struct mcpage_discard - what the walk over a block's mappings finds
 * @pages: how many marked pages were discarded
 * @busy: some could not be, as somebody holds the block
 */
struct mcpage_discard {
	unsigned int pages;
	bool busy;
};

static bool mcpage_may_discard(struct folio *folio, unsigned int index)
{
	struct page *page = folio_page(folio, index);

	return __mcpage_page_marked(folio, page) && !PageHWPoison(page);
}

/* Discard what can be from here on. Returns how many entries were dealt with. */
static unsigned int mcpage_discard_run(struct folio *folio,
				       const struct page_vma_mapped_walk *pvmw,
				       struct mcpage_discard *discard)
{
	pte_t first = ptep_get(pvmw->pte);
	unsigned long index, max, nr = 0, all = folio_nr_pages(folio);

	/* A userfaultfd that protects a page would not see that it is gone. */
	if (!pte_present(first) || pte_dirty(first) || pte_uffd_wp(first))
		return 1;
	index = pte_pfn(first) - folio_pfn(folio);
	max = min(all - index, mcpage_ptes_left(pvmw));
	while (nr < max && mcpage_may_discard(folio, index + nr))
		nr++;
	if (!nr)
		return 1;
	nr = mcpage_ptes_alike(pvmw->pte, nr);
	nr = mcpage_take_ptes(pvmw, &first, nr);
	if (!nr)
		return 1;
	if (mcpage_discardable(folio)) {
		mcpage_drop_ptes(pvmw, folio, index, nr);
		discard->pages += nr;
	} else {
		mcpage_return_ptes(pvmw, first, nr);
		discard->busy = true;
	}
	return nr;
}

static bool mcpage_discard_one(struct folio *folio, struct vm_area_struct *vma,
			       unsigned long address, void *arg)
{
	DEFINE_FOLIO_VMA_WALK(pvmw, folio, vma, address, 0);
	struct mcpage_discard *discard = arg;
	struct mmu_notifier_range range;

	if (vma->vm_flags & VM_LOCKED)
		return true;
	mmu_notifier_range_init(&range, MMU_NOTIFY_CLEAR, 0, vma->vm_mm, address,
				vma_address_end(&pvmw));
	mmu_notifier_invalidate_range_start(&range);
	while (page_vma_mapped_walk(&pvmw)) {
		/* A huge page that a PMD maps has no marks. */
		if (pvmw.pte)
			mcpage_walk_forward(&pvmw, mcpage_discard_run(folio, &pvmw,
								      discard));
	}
	mmu_notifier_invalidate_range_end(&range);
	return !discard->busy;
}

static struct mcpage_discard mcpage_discard(struct folio *folio, bool rmap_locked)
{
	struct mcpage_discard discard = {};
	struct rmap_walk_control rwc = {
		.rmap_one = mcpage_discard_one,
		.arg = &discard,
		.anon_lock = folio_lock_anon_vma_read,
	};

	/* What the marks say does not count any more. */
	if (folio_test_dirty(folio) || folio_test_swapcache(folio))
		goto out;
	if (rmap_locked)
		rmap_walk_locked(folio, &rwc);
	else
		rmap_walk(folio, &rwc);
	try_to_unmap_flush();
	if (discard.pages)
		mcpage_stat_add(folio_order(folio), MCPAGE_STAT_LAZYFREE_RECLAIMED);
	trace_mcpage_discard(folio, discard.pages, discard.busy);
	if (discard.busy)
		return discard;
out:
	mcpage_unmark(folio);
	return discard;
}

/**
 * __mcpage_discard_marked - discard the marked pages of a block that is to be split
 * @folio: the block, locked; the caller has one reference
 *
 * Context: the anon_vma of @folio is locked for writing. May sleep.
 * Return: false if somebody holds the block, so that it cannot be split. It still has
 * its marks then, and else none.
 */
bool __mcpage_discard_marked(struct folio *folio)
{
	return !mcpage_discard(folio, true).busy;
}

static bool mcpage_mapped_as_whole(struct folio *folio)
{
	int mapped = atomic_read(&folio->_nr_pages_mapped) & FOLIO_PAGES_MAPPED;

	return folio_entire_mapcount(folio) || mapped == folio_nr_pages(folio);
}

/**
 * __mcpage_in_use_again - is there nothing to gain from the split of a marked block?
 * @folio: the block, in the deferred split queue, locked; the caller has one reference
 *
 * If all that was marked has been written since, and all pages are mapped, the
 * block is as it was before it was marked.
 *
 * Context: no lock of the reverse map is held. May sleep.
 * Return: true if it is; it does not count as partially mapped any more.
 */
bool __mcpage_in_use_again(struct folio *folio)
{
	struct mcpage_discard discard;

	if (!mcpage_mapped_as_whole(folio) || !can_split_folio(folio, 1, NULL))
		return false;
	discard = mcpage_discard(folio, false);
	if (discard.pages || discard.busy)
		return false;
	if (folio_test_partially_mapped(folio)) {
		folio_clear_partially_mapped(folio);
		mod_mthp_stat(folio_order(folio), MTHP_STAT_NR_ANON_PARTIALLY_MAPPED, -1);
	}
	/*
	 * A part that was unmapped meanwhile found it set, and did not set it. Where
	 * that is missed, the block is not split until more of it is unmapped.
	 */
	smp_mb__after_atomic();
	if (mcpage_mapped_as_whole(folio))
		return true;
	deferred_split_folio(folio, true);
	return false;
}
