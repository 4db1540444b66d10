// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: MADV_FREE by blocks.
 *
 * A block that a range covers becomes lazyfree as a whole: clean in its page table
 * entries and not swapbacked, as any lazyfree folio.
 *
 * Of a block that is covered in part, the covered pages can be marked. A mark says
 * that what the page held at the time was no longer needed, and that its entry was
 * made clean then. As long as neither the entry nor the folio is dirty the page
 * has not been written since: every path that cleans an entry makes the folio
 * dirty, and it stays so until it is written to swap, or free lazily as a whole.
 * A clean entry without a mark says nothing; what a read fault brings back from
 * zram is clean, and the only copy. A folio in the swap cache has no marks that
 * count, and leaves it dirty.
 *
 * The block waits in the deferred split queue. Whoever splits it first discards
 * the marked pages that were not written.
 *
 * The mark of a page is a flag of its struct page that a tail page does not use;
 * that of the first page is in the second page, and the third page says whether
 * there are any. They vanish when the folio is freed, and with single pages. They
 * are set with the folio and the page table locked, and cleared with the folio
 * locked.
 */
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmu_notifier.h>
#include <linux/page-flags.h>
#include <linux/pagewalk.h>
#include <linux/rmap.h>
#include <linux/swap.h>
#include <linux/userfaultfd_k.h>
#include <asm/tlb.h>

#include <trace/events/mcpage.h>

#include "../internal.h"
#include "internal.h"

/* -------- marks -------- */

/* The word and the bit that have the mark of one page. */
static unsigned long *mcpage_mark_word(struct folio *folio, unsigned int index,
				       int *bit)
{
	*bit = index ? PG_owner_priv_1 : PG_swapbacked;
	return &folio_page(folio, index ?: 1)->flags;
}

/**
 * __mcpage_page_marked - is a page of a block with marks marked?
 * @folio: the block
 * @page: the page
 *
 * Context: any in which @folio stays a folio of this order.
 * Return: true if it is.
 */
bool __mcpage_page_marked(struct folio *folio, struct page *page)
{
	int bit;
	unsigned long *word = mcpage_mark_word(folio, folio_page_idx(folio, page), &bit);

	return test_bit(bit, word);
}

static void mcpage_mark_page(struct folio *folio, unsigned int index)
{
	int bit;
	unsigned long *word = mcpage_mark_word(folio, index, &bit);

	if (!test_bit(bit, word))
		set_bit(bit, word);
}

/**
 * mcpage_unmark - forget the marks of a block
 * @folio: the block, locked
 *
 * Context: any.
 */
void mcpage_unmark(struct folio *folio)
{
	unsigned int i;
	int bit;

	for (i = 0; i < folio_nr_pages(folio); i++) {
		unsigned long *word = mcpage_mark_word(folio, i, &bit);

		if (test_bit(bit, word))
			clear_bit(bit, word);
	}
	clear_bit(PG_swapbacked, &folio->_flags_2);
}

/* May a page be marked? Not where another mapping may need what it holds. */
static bool mcpage_page_unshared(struct folio *folio, unsigned int index)
{
	return atomic_read(&folio_page(folio, index)->_mapcount) == 0;
}

/**
 * mcpage_mark_clean - mark pages whose entries are clean, to be discarded later
 * @folio: the block, locked, neither dirty nor in the swap cache
 * @first: the first page, counted from the block's start
 * @ptep: its entry
 * @nr: the number of pages, all of them mapped by consecutive entries
 *
 * Not those that another process maps.
 *
 * Context: the page table is locked.
 */
void mcpage_mark_clean(struct folio *folio, unsigned int first, pte_t *ptep,
		       unsigned int nr)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (pte_dirty(ptep_get(ptep + i)) ||
		    !mcpage_page_unshared(folio, first + i))
			continue;
		mcpage_mark_page(folio, first + i);
		any = true;
	}
	if (!any)
		return;
	if (!mcpage_folio_marked(folio))
		set_bit(PG_swapbacked, &folio->_flags_2);
	if (!folio_test_partially_mapped(folio))
		deferred_split_folio(folio, true);
}

/* -------- madvise() -------- */

/**
 * struct mcpage_walk - where a walk of madvise() is
 * @tlb: what it gathers
 * @vma: the mapping
 * @pmd: the entry of the page table
 * @addr: the address
 * @pte: its entry, in a page table that is mapped and locked; NULL if it was gone
 *	when it should have been locked again
 * @ptl: the lock
 *
 * As long as the lock is dropped, anything may happen to the entries but for the
 * VMA: mmap_lock is held for reading.
 */
struct mcpage_walk {
	struct mmu_gather *tlb;
	struct vm_area_struct *vma;
	pmd_t *pmd;
	unsigned long addr;
	pte_t *pte;
	/* Of the page table. */
	spinlock_t *ptl;
};

/* Sparse does not follow locks from one function to another: for it, both do nothing. */
static void mcpage_walk_unlock(struct mcpage_walk *walk)
{
	arch_leave_lazy_mmu_mode();
	__acquire(walk->ptl);
	__acquire(RCU);
	pte_unmap_unlock(walk->pte, walk->ptl);
}

static void mcpage_walk_lock(struct mcpage_walk *walk)
{
	struct mm_struct *mm = walk->vma->vm_mm;

	walk->pte = __pte_offset_map_lock(mm, walk->pmd, walk->addr, &walk->ptl);
	if (!walk->pte)
		return;
	flush_tlb_batched_pending(mm);
	arch_enter_lazy_mmu_mode();
}

/* The entries are clean and old from here on. */
static void mcpage_ptes_clean(struct mmu_gather *tlb, struct vm_area_struct *vma,
			      unsigned long addr, pte_t *ptep, unsigned int nr)
{
#ifdef CONFIG_X86_64
	unsigned int i;

	/* One instruction each, beside which the processor may set the bits again. */
	for (i = 0; i < nr; i++)
		atomic_long_and(~(_PAGE_ACCESSED | _PAGE_DIRTY_BITS),
				(atomic_long_t *)&ptep[i].pte);
#else
	clear_young_dirty_ptes(vma, addr, ptep, nr, CYDP_CLEAR_YOUNG | CYDP_CLEAR_DIRTY);
#endif
	tlb_remove_tlb_entries(tlb, ptep, nr, addr);
}

/*
 * May a block become lazyfree as a whole: do our entries, which are so many, map it and
 * no others?
 *
 * A split, a migration or a swap-out in another process takes entries out of the count
 * for a while. It has the folio locked then, and as it needs our page table's lock
 * as well to come to an end, it cannot have begun and ended between the two looks
 * at the lock.
 */
static bool mcpage_all_ours(struct folio *folio, unsigned int nr)
{
	bool ours;

	if (likely(!folio_test_dirty(folio) && !folio_test_swapcache(folio))) {
		if (folio_test_locked(folio))
			return false;
		/* Whoever has it out of the count had locked it before. */
		smp_rmb();
		ours = folio_mapcount(folio) == nr;
		/* And unlocks it once it is in the count again. */
		smp_rmb();
		return ours && !folio_test_locked(folio);
	}
	if (!folio_trylock(folio))
		return false;
	ours = folio_mapcount(folio) == nr &&
	       (!folio_test_swapcache(folio) || folio_free_swap(folio));
	if (ours)
		folio_clear_dirty(folio);
	folio_unlock(folio);
	return ours;
}

/**
 * __mcpage_madvise_free_pmd - MADV_FREE for a huge page as a whole
 * @tlb: what is gathered
 * @vma: the mapping, governed by mcpage
 * @pmd: the entry that maps it
 * @addr: its address
 * @folio: the huge page, locked
 *
 * The entry is never seen as empty, and the TLB is flushed once, later, where the
 * architecture has a way to exchange it.
 *
 * Context: @pmd is locked.
 */
void __mcpage_madvise_free_pmd(struct mmu_gather *tlb, struct vm_area_struct *vma,
			       pmd_t *pmd, unsigned long addr, struct folio *folio)
{
	if (folio_mapcount(folio) != 1)
		return;
	if (folio_test_dirty(folio))
		folio_clear_dirty(folio);
	if (pmd_young(*pmd) || pmd_dirty(*pmd)) {
#ifdef pmdp_establish
		pmdp_establish(vma, addr, pmd, pmd_mkold(pmd_mkclean(*pmd)));
#else
		set_pmd_at(vma->vm_mm, addr, pmd,
			   pmd_mkold(pmd_mkclean(pmdp_invalidate(vma, addr, pmd))));
#endif
		tlb_remove_pmd_tlb_entry(tlb, pmd, addr);
	}
	folio_mark_lazyfree(folio);
	mcpage_stat_add(HPAGE_PMD_ORDER, MCPAGE_STAT_LAZYFREE);
}

/* Returns false if there is another way to go: the block is dirty or in swap. */
static bool mcpage_free_mark(struct mcpage_walk *walk, struct folio *folio,
			     unsigned int first, unsigned int nr)
{
	bool done = true;
	unsigned int i;

	if (!folio_trylock(folio))
		return true;
	for (i = 0; i < nr; i++)
		if (!mcpage_page_unshared(folio, first + i))
			goto out;
	done = mcpage_markable(folio);
	if (!done)
		goto out;
	mcpage_ptes_clean(walk->tlb, walk->vma, walk->addr, walk->pte, nr);
	/* What is lazyfree as a whole needs no marks. */
	if (folio_test_swapbacked(folio))
		mcpage_mark_clean(folio, first, walk->pte, nr);
	mcpage_stat_add(folio_order(folio), MCPAGE_STAT_LAZYFREE_PARTIAL);
out:
	folio_unlock(folio);
	return done;
}

/* Does nobody hold the block but for those who map it, and the swap cache? */
static bool mcpage_not_held(struct folio *folio)
{
	int refs = folio_mapcount(folio);

	if (folio_test_swapcache(folio))
		refs += folio_nr_pages(folio);
	return folio_ref_count(folio) == refs;
}

/* Unlike the others this can be done with a block that is shared, or locked. */
static void mcpage_free_zap(struct mcpage_walk *walk, struct folio *folio,
			    unsigned int first, unsigned int nr)
{
	struct mm_struct *mm = walk->vma->vm_mm;
	struct page *page = folio_page(folio, first);

	if (!mcpage_not_held(folio))
		return;
	mcpage_stat_add(folio_order(folio), MCPAGE_STAT_LAZYFREE_PARTIAL);
	get_and_clear_full_ptes(mm, walk->addr, walk->pte, nr, 0);
	tlb_remove_tlb_entries(walk->tlb, walk->pte, nr, walk->addr);
	add_mm_counter(mm, MM_ANONPAGES, -(long)nr);
	folio_remove_rmap_ptes(folio, page, nr, walk->vma);
	if (!__tlb_remove_folio_pages(walk->tlb, page, nr, false))
		return;
	/* No room to gather more. */
	mcpage_walk_unlock(walk);
	tlb_flush_mmu(walk->tlb);
	mcpage_walk_lock(walk);
}

/* Returns how many entries to go on by: none if the first one is to be looked at again. */
static unsigned int mcpage_free_split(struct mcpage_walk *walk, struct folio *folio,
				      unsigned int first, unsigned int nr)
{
	unsigned int order = folio_order(folio);
	int err;

	if (folio_likely_mapped_shared(folio) || !folio_trylock(folio))
		return nr;
	folio_get(folio);
	mcpage_walk_unlock(walk);
	err = split_folio_to_order(folio, __mcpage_split_to(folio, folio_page(folio, first), nr));
	folio_unlock(folio);
	folio_put(folio);
	if (!err)
		mcpage_stat_add(order, MCPAGE_STAT_LAZYFREE_PARTIAL);
	mcpage_walk_lock(walk);
	/* It is of a lower order now, so this comes to an end. */
	return err ? nr : 0;
}

/**
 * __mcpage_split_to - into what a block is split for madvise()
 * @folio: the block, locked
 * @page: the first page of the part that the advice is about
 * @nr: the number of its pages
 *
 * Context: any.
 * Return: the order; 0 for single pages.
 */
unsigned int __mcpage_split_to(struct folio *folio, struct page *page,
			       unsigned long nr)
{
	/* The swap cache has no other way. */
	if (folio_test_swapcache(folio))
		return 0;
	return mcpage_split_order(folio_order(folio), folio_page_idx(folio, page), nr);
}

/**
 * __mcpage_free_whole - MADV_FREE for a block that the range covers
 * @tlb: what is gathered
 * @vma: the mapping, governed by mcpage
 * @addr: an address
 * @end: where the range ends, in the same page table
 * @folio: the large folio that is mapped at @addr
 * @ptep: the entry of @addr
 *
 * Context: the page table is locked.
 * Return: how many entries were dealt with; as a negative number how many there are
 * of a block that is covered in part, and was left as it is.
 */
int __mcpage_free_whole(struct mmu_gather *tlb, struct vm_area_struct *vma,
			unsigned long addr, unsigned long end, struct folio *folio,
			pte_t *ptep)
{
	unsigned long all = folio_nr_pages(folio);
	/* Physically it is aligned. */
	unsigned long first = pte_pfn(ptep_get(ptep)) & (all - 1);
	bool touched;
	int nr;

	nr = mcpage_ptes_consecutive(ptep, min((end - addr) >> PAGE_SHIFT, all - first),
				     &touched);
	if (nr != all)
		return -nr;
	if (!mcpage_all_ours(folio, nr))
		return nr;
	if (touched)
		mcpage_ptes_clean(tlb, vma, addr, ptep, nr);
	folio_mark_lazyfree(folio);
	mcpage_stat_inc(folio_order(folio), MCPAGE_STAT_LAZYFREE);
	return nr;
}

/**
 * __mcpage_free_part - MADV_FREE for a part of a block
 * @tlb: what is gathered
 * @vma: the mapping, governed by mcpage
 * @pmd: the entry of the page table
 * @addr: the part's address
 * @nr: how many entries map it
 * @folio: the block
 * @pte: the entry of @addr. The page table may be unlocked and locked again; it is
 *	NULL afterwards if it has vanished meanwhile.
 * @ptl: the lock of the page table
 *
 * What somebody holds stays as it is, and so does what is locked or shared unless its
 * pages are to be freed at once.
 *
 * Context: the page table is mapped and locked, mmap_lock is held for reading.
 * May sleep.
 * Return: by how many entries to go on. None if the first one is to be looked at
 * again, which happens no more often than the block can be split.
 */
unsigned int __mcpage_free_part(struct mmu_gather *tlb, struct vm_area_struct *vma,
				pmd_t *pmd, unsigned long addr, unsigned int nr,
				struct folio *folio, pte_t **pte, spinlock_t **ptl)
{
	struct mcpage_walk walk = {
		.tlb = tlb, .vma = vma, .pmd = pmd, .addr = addr, .pte = *pte, .ptl = *ptl,
	};
	unsigned int first = pte_pfn(ptep_get(*pte)) - folio_pfn(folio);
	unsigned int way = READ_ONCE(mcpage_settings.partial);

	trace_mcpage_madvise_free(addr, folio_order(folio), nr, way);
	if (way == MCPAGE_PARTIAL_MARK && mcpage_free_mark(&walk, folio, first, nr))
		return nr;
	/* What userfaultfd protects is not to become something that it does not see. */
	if (way == MCPAGE_PARTIAL_ZAP && !userfaultfd_wp(vma))
		mcpage_free_zap(&walk, folio, first, nr);
	else
		nr = mcpage_free_split(&walk, folio, first, nr);
	*pte = walk.pte;
	*ptl = walk.ptl;
	return nr;
}

/**
 * __mcpage_map_by_ptes - have a huge page mapped by a page table, for its parts
 * @vma: the mapping, governed by mcpage
 * @pmd: the entry that maps it
 * @addr: its address
 * @folio: the huge page, locked and not shared; the caller has one reference
 * @ptl: the lock of @pmd, held; released on return
 *
 * Not if somebody holds the huge page.
 *
 * The split of the entry makes a folio dirty if the entry was, and so would end
 * all marking. But what was written is then dirty in each of the new entries, and
 * the folio does not have to be. A driver that holds a page tells of what it wrote
 * with the folio locked, which is later than this.
 *
 * Context: mmap_lock is held for reading. May sleep.
 */
void __mcpage_map_by_ptes(struct vm_area_struct *vma, pmd_t *pmd, unsigned long addr,
			  struct folio *folio, spinlock_t *ptl)
	__releases(ptl)
{
	bool clean = pmd_dirty(*pmd) && !folio_test_dirty(folio);
	bool held = !can_split_folio(folio, 1, NULL);

	spin_unlock(ptl);
	if (held)
		return;
	__split_huge_pmd(vma, pmd, addr, false, folio);
	if (clean)
		folio_clear_dirty(folio);
}

/**
 * __mcpage_madvise_cold - MADV_COLD for a part of a block
 * @tlb: what is gathered
 * @vma: the mapping, governed by mcpage
 * @addr: the part's address
 * @folio: the block
 * @ptep: the entry of @addr
 * @nr: how many entries map the part
 *
 * The part becomes old, and the block as a whole goes to where it is reclaimed
 * next once no part of it is in use.
 *
 * Context: the page table is mapped and locked.
 * Return: true if that is all; false if the block is to be split.
 */
bool __mcpage_madvise_cold(struct mmu_gather *tlb, struct vm_area_struct *vma,
			   unsigned long addr, struct folio *folio, pte_t *ptep,
			   unsigned int nr)
{
	unsigned long before = pte_pfn(ptep_get(ptep)) - folio_pfn(folio);
	unsigned long all = folio_nr_pages(folio), i;

	if (READ_ONCE(mcpage_settings.partial) != MCPAGE_PARTIAL_MARK)
		return false;
	clear_young_dirty_ptes(vma, addr, ptep, nr, CYDP_CLEAR_YOUNG);
	tlb_remove_tlb_entries(tlb, ptep, nr, addr);

	/* Not all of it is in sight. By distances: an address could wrap. */
	if (before > (addr - max(vma->vm_start, addr & PMD_MASK)) >> PAGE_SHIFT ||
	    all - before > (pmd_addr_end(addr, vma->vm_end) - addr) >> PAGE_SHIFT)
		return true;
	for (ptep -= before, i = 0; i < all; i++, ptep++)
		if (pte_present(ptep_get(ptep)) && pte_young(ptep_get(ptep)))
			return true;
	folio_clear_referenced(folio);
	folio_test_clear_young(folio);
	if (folio_test_active(folio))
		folio_set_workingset(folio);
	folio_deactivate(folio);
	return true;
}
