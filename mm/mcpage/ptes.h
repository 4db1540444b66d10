/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mcpage: runs of page table entries in a walk over the reverse map.
 */
#ifndef _MM_MCPAGE_PTES_H
#define _MM_MCPAGE_PTES_H

#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>

#include "../internal.h"

/**
 * mcpage_ptes_left - how many entries from this one on the page table has in store
 * @pvmw: the walk, at an entry
 *
 * Context: the page table is locked.
 * Return: the number of entries, within the VMA, this one included.
 */
static inline unsigned long mcpage_ptes_left(const struct page_vma_mapped_walk *pvmw)
{
	return (pmd_addr_end(pvmw->address, pvmw->vma->vm_end) - pvmw->address) >>
	       PAGE_SHIFT;
}

/**
 * mcpage_walk_forward - go on to the last entry of a run that has been dealt with
 * @pvmw: the walk, at the first entry
 * @nr: the number of entries
 *
 * Context: the page table is locked.
 */
static inline void mcpage_walk_forward(struct page_vma_mapped_walk *pvmw,
				       unsigned long nr)
{
	pvmw->pte += nr - 1;
	pvmw->address += (nr - 1) * PAGE_SIZE;
}

/**
 * mcpage_take_pte - clear an entry of a run
 * @vma: the mapping
 * @addr: the address
 * @ptep: the entry, present
 *
 * To be followed by mcpage_ptes_taken() for the run. Where unmapping may flush the TLB
 * in batches, a processor that knows a clean entry looks at it again before it writes.
 *
 * Context: the page table is locked.
 * Return: what it was.
 */
static inline pte_t mcpage_take_pte(struct vm_area_struct *vma, unsigned long addr,
				    pte_t *ptep)
{
	if (IS_ENABLED(CONFIG_ARCH_WANT_BATCHED_UNMAP_TLB_FLUSH))
		return ptep_get_and_clear(vma->vm_mm, addr, ptep);
	return ptep_clear_flush(vma, addr, ptep);
}

/**
 * mcpage_ptes_taken - flush the TLB of a run of entries that were cleared
 * @pvmw: the walk, at the first entry
 * @pte: what that was; dirty if any of them was
 * @nr: the number of entries
 * @flags: with TTU_BATCH_FLUSH it can be done later, by try_to_unmap_flush(), and is if
 *	other processors have to be told
 *
 * Context: the page table is locked.
 */
static inline void mcpage_ptes_taken(const struct page_vma_mapped_walk *pvmw, pte_t pte,
				     unsigned int nr, enum ttu_flags flags)
{
	struct vm_area_struct *vma = pvmw->vma;
	unsigned long addr = pvmw->address, end = addr + nr * PAGE_SIZE;

	if (!IS_ENABLED(CONFIG_ARCH_WANT_BATCHED_UNMAP_TLB_FLUSH))
		return;
	if (!should_defer_flush(vma->vm_mm, flags)) {
		flush_tlb_range(vma, addr, end);
		return;
	}
	/* x86 notes who uses the address space, now that no entry is left to cache. */
	if (IS_ENABLED(CONFIG_X86))
		end = addr + PAGE_SIZE;
	for (; addr < end; addr += PAGE_SIZE)
		set_tlb_ubc_flush_pending(vma->vm_mm, pte, addr);
}

#endif /* _MM_MCPAGE_PTES_H */
