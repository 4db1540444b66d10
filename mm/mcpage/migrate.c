// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: unmap a block for a split or a migration, and map it or its parts again, by
 * runs of page table entries.
 *
 * What try_to_migrate_one() and remove_migration_pte() do to an entry is done to each.
 * What they do to the folio, its references and the TLB is done once for the run.
 */
#include <linux/hugetlb.h>
#include <linux/mcpage_rmap.h>
#include <linux/mm.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include <trace/events/migrate.h>

#include "../internal.h"
#include "internal.h"
#include "ptes.h"

/* The most in a run: the block of a huge page with pages of 4K. */
#define MCPAGE_RUN	512UL

/* Where the tags of a page have to be saved first, which may fail, there are none. */
#ifdef __HAVE_ARCH_UNMAP_ONE
#define MCPAGE_RUNS	false
#else
#define MCPAGE_RUNS	true
#endif

/* What the pages of a run have in common. */
static bool mcpage_run_page(struct page *page, bool exclusive)
{
	return !PageHWPoison(page) && PageAnonExclusive(page) == exclusive;
}

/* As folio_try_share_anon_rmap_pte(), for pages whose entries were all cleared. */
static bool mcpage_try_share(struct folio *folio, unsigned int first, unsigned int nr)
{
	if (IS_ENABLED(CONFIG_HAVE_GUP_FAST)) {
		/* GUP-fast sees that an entry is gone, or we see its pin. */
		smp_mb();
	}
	if (unlikely(folio_maybe_dma_pinned(folio)))
		return false;
	while (nr--)
		ClearPageAnonExclusive(folio_page(folio, first + nr));
	if (IS_ENABLED(CONFIG_HAVE_GUP_FAST)) {
		/* Pairs with that of gup_must_unshare(). */
		smp_mb__after_atomic();
	}
	return true;
}

/* The migration entry in place of an entry. */
static pte_t mcpage_migration_pte(pte_t pte, bool exclusive)
{
	unsigned long pfn = pte_pfn(pte);
	swp_entry_t entry;
	pte_t swp_pte;

	if (pte_write(pte))
		entry = make_writable_migration_entry(pfn);
	else if (exclusive)
		entry = make_readable_exclusive_migration_entry(pfn);
	else
		entry = make_readable_migration_entry(pfn);
	if (pte_young(pte))
		entry = make_migration_entry_young(entry);
	if (pte_dirty(pte))
		entry = make_migration_entry_dirty(entry);
	swp_pte = swp_entry_to_pte(entry);
	if (pte_soft_dirty(pte))
		swp_pte = pte_swp_mksoft_dirty(swp_pte);
	if (pte_uffd_wp(pte))
		swp_pte = pte_swp_mkuffd_wp(swp_pte);
	return swp_pte;
}

/**
 * __mcpage_to_migration - put migration entries in place of a run of entries
 * @folio: the block, locked
 * @pvmw: where it is mapped; on success moved to the last entry of the run
 * @flags: what the caller of try_to_migrate() wants
 *
 * Context: as the body of try_to_migrate_one(): the page table is locked.
 * Return: 1 if it is done; 0 if it is to be done for the one entry; -1 if the block is
 * pinned, and all is as it was.
 */
int __mcpage_to_migration(struct folio *folio, struct page_vma_mapped_walk *pvmw,
			  enum ttu_flags flags)
{
	unsigned long first, nr = 0, max, i, addr = pvmw->address;
	pte_t *ptep = pvmw->pte, pte = ptep_get(ptep), old;
	DECLARE_BITMAP(young, MCPAGE_RUN);
	struct vm_area_struct *vma = pvmw->vma;
	bool exclusive, pinned;

	if (!MCPAGE_RUNS || !mcpage_governs(vma, vma->vm_flags) ||
	    !pte_present(pte) || pte_unused(pte))
		return 0;
	first = pte_pfn(pte) - folio_pfn(folio);
	exclusive = PageAnonExclusive(folio_page(folio, first));
	max = min3((unsigned long)folio_nr_pages(folio) - first, mcpage_ptes_left(pvmw),
		   MCPAGE_RUN);
	while (nr < max && mcpage_run_page(folio_page(folio, first + nr), exclusive))
		nr++;
	if (nr < 2)
		return 0;
	nr = mcpage_ptes_alike(ptep, nr);
	if (nr < 2)
		return 0;
	flush_cache_range(vma, addr, addr + nr * PAGE_SIZE);

	for (i = 0; i < nr; i++) {
		old = mcpage_take_pte(vma, addr + i * PAGE_SIZE, ptep + i);
		/* Written since. */
		if (unlikely(pte_dirty(old) != pte_dirty(pte))) {
			set_pte_at(vma->vm_mm, addr + i * PAGE_SIZE, ptep + i, old);
			break;
		}
		__assign_bit(i, young, pte_young(old));
	}
	nr = i;
	if (!nr)
		return 0;
	mcpage_ptes_taken(pvmw, pte, nr, flags);
	if (pte_dirty(pte))
		folio_mark_dirty(folio);
	update_hiwater_rss(vma->vm_mm);

	pinned = exclusive && !mcpage_try_share(folio, first, nr);
	for (i = 0; i < nr; i++, addr += PAGE_SIZE, pte = pte_next_pfn(pte)) {
		pte_t new;

		pte = test_bit(i, young) ? pte_mkyoung(pte) : pte_mkold(pte);
		new = pte;
		if (!pinned) {
			new = mcpage_migration_pte(pte, exclusive);
			trace_set_migration_pte(addr, pte_val(new), folio_order(folio));
		}
		set_pte_at(vma->vm_mm, addr, ptep + i, new);
	}
	if (pinned)
		return -1;
	folio_remove_rmap_ptes(folio, folio_page(folio, first), nr, vma);
	if (vma->vm_flags & VM_LOCKED)
		mlock_drain_local();
	folio_put_refs(folio, nr);
	mcpage_walk_forward(pvmw, nr);
	return 1;
}

/* How many migration entries continue a first one, but for young and dirty bits? */
static unsigned int mcpage_migration_run(pte_t *ptep, unsigned long max)
{
	pte_t first = ptep_get(ptep), pte;
	swp_entry_t begin = pte_to_swp_entry(first), entry;
	unsigned int nr;

	for (nr = 1; nr < max; nr++) {
		pte = ptep_get(ptep + nr);
		if (!is_swap_pte(pte) ||
		    pte_swp_soft_dirty(pte) != pte_swp_soft_dirty(first) ||
		    pte_swp_uffd_wp(pte) != pte_swp_uffd_wp(first))
			break;
		entry = pte_to_swp_entry(pte);
		if (swp_type(entry) != swp_type(begin) ||
		    swp_offset_pfn(entry) != swp_offset_pfn(begin) + nr)
			break;
	}
	return nr;
}

/**
 * __mcpage_from_migration - map what a run of migration entries stands for
 * @folio: the block that is to be mapped, locked
 * @page: the page of it that the first entry is for
 * @pvmw: where; on success moved to the last entry of the run
 *
 * Context: as the body of remove_migration_pte(): the page table is locked.
 * Return: true if it is done, false if it is to be done for the one entry.
 */
bool __mcpage_from_migration(struct folio *folio, struct page *page,
			     struct page_vma_mapped_walk *pvmw)
{
	unsigned long first = folio_page_idx(folio, page), addr = pvmw->address, nr, i;
	struct vm_area_struct *vma = pvmw->vma;
	pte_t *ptep = pvmw->pte, old, pte;
	swp_entry_t entry;

	if (!mcpage_governs(vma, vma->vm_flags) ||
	    !is_migration_entry(pte_to_swp_entry(ptep_get(ptep))))
		return false;
	nr = mcpage_migration_run(ptep, min((unsigned long)folio_nr_pages(folio) - first,
					    mcpage_ptes_left(pvmw)));
	if (nr < 2)
		return false;
	entry = pte_to_swp_entry(ptep_get(ptep));
	folio_ref_add(folio, nr);
	folio_add_anon_rmap_ptes(folio, page, nr, vma, addr,
				 is_readable_migration_entry(entry) ? RMAP_NONE :
								      RMAP_EXCLUSIVE);
	for (i = 0; i < nr; i++, addr += PAGE_SIZE) {
		old = ptep_get(ptep + i);
		entry = pte_to_swp_entry(old);
		pte = mk_pte(folio_page(folio, first + i), READ_ONCE(vma->vm_page_prot));
		if (!is_migration_entry_young(entry))
			pte = pte_mkold(pte);
		if (folio_test_dirty(folio) && is_migration_entry_dirty(entry))
			pte = pte_mkdirty(pte);
		pte = pte_swp_soft_dirty(old) ? pte_mksoft_dirty(pte) :
						pte_clear_soft_dirty(pte);
		if (is_writable_migration_entry(entry))
			pte = pte_mkwrite(pte, vma);
		else if (pte_swp_uffd_wp(old))
			pte = pte_mkuffd_wp(pte);
		set_pte_at(vma->vm_mm, addr, ptep + i, pte);
		trace_remove_migration_pte(addr, pte_val(pte), folio_order(folio));
	}
	update_mmu_cache_range(NULL, vma, pvmw->address, ptep, nr);
	if (vma->vm_flags & VM_LOCKED)
		mlock_drain_local();
	mcpage_walk_forward(pvmw, nr);
	return true;
}
