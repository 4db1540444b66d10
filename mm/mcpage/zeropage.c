// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: write to memory that was only read so far, one block at a time.
 *
 * A read maps the shared zero page. The first write behind it gets a page of its
 * own; a block that maps nothing but the zero page can take all of them at once.
 */
#include <linux/cacheflush.h>
#include <linux/hugetlb.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/oom.h>
#include <linux/pgalloc.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/sched/coredump.h>
#include <linux/swap.h>
#include <linux/userfaultfd_k.h>
#include <asm/tlbflush.h>

#include "../internal.h"
#include "internal.h"

/**
 * mcpage_pte_replaceable - may a block take the place of this entry?
 * @pte: the entry
 *
 * Only of the shared zero page as a read maps it. One that KSM has put in place
 * of a page of zeroes is dirty, and stays for what it saves; a userfaultfd may
 * wait for the write.
 *
 * Context: any.
 * Return: true if it may.
 */
bool mcpage_pte_replaceable(pte_t pte)
{
	return pte_present(pte) && is_zero_pfn(pte_pfn(pte)) && !pte_dirty(pte) &&
	       !pte_uffd_wp(pte);
}

/* May a write have more than the page that it is to? */
static bool mcpage_zero_page_eligible(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;

	if (!mcpage_governs(vma, vma->vm_flags))
		return false;
	/* A pin for reading wants one page; a debugger may write where none may. */
	if ((vmf->flags & FAULT_FLAG_UNSHARE) || !(vma->vm_flags & VM_WRITE))
		return false;
	/* Who tracks writes page by page is to see no more than there are. */
	return !userfaultfd_armed(vma) && !vma_soft_dirty_enabled(vma);
}

/**
 * struct mcpage_block - a block that is not mapped yet
 * @page: its first page
 * @addr: its first address
 * @order: its order
 * @backing: what it is made of
 */
struct mcpage_block {
	struct page *page;
	unsigned long addr;
	unsigned int order;
	enum mcpage_backing backing;
};

static bool mcpage_block_get(struct vm_fault *vmf, unsigned long orders,
			     struct mcpage_block *block)
{
	if (mcpage_is_pages(block->backing)) {
		block->page = mcpage_pages_get(vmf, orders, &block->order);
		if (!block->page)
			return false;
	} else {
		struct folio *folio = mcpage_folio_get(vmf, orders);

		if (!folio)
			return false;
		__folio_mark_uptodate(folio);
		block->page = &folio->page;
		block->order = folio_order(folio);
	}
	block->addr = ALIGN_DOWN(vmf->address, PAGE_SIZE << block->order);
	return true;
}

static void mcpage_block_free(const struct mcpage_block *block)
{
	if (mcpage_is_pages(block->backing))
		mcpage_pages_free(block->page, 1 << block->order);
	else
		folio_put(page_folio(block->page));
}

static void mcpage_folio_map(struct vm_fault *vmf, struct folio *folio,
			     unsigned long addr, unsigned int nr)
{
	struct vm_area_struct *vma = vmf->vma;
	pte_t entry = mk_pte(&folio->page, vma->vm_page_prot);

	entry = pte_mkwrite(pte_mkdirty(pte_sw_mkyoung(entry)), vma);
	folio_ref_add(folio, nr - 1);
	add_mm_counter(vma->vm_mm, MM_ANONPAGES, nr);
	count_mthp_stat(folio_order(folio), MTHP_STAT_ANON_FAULT_ALLOC);
	folio_add_new_anon_rmap(folio, vma, addr, RMAP_EXCLUSIVE);
	folio_add_lru_vma(folio, vma);
	set_ptes(vma->vm_mm, addr, vmf->pte, entry, nr);
	update_mmu_cache_range(vmf, vma, addr, vmf->pte, nr);
}

/* No CPU may still read the zero page when another can write to the block. */
static void mcpage_unmap_zero_pages(struct vm_fault *vmf, unsigned long addr,
				    unsigned int nr)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long end = addr + nr * PAGE_SIZE;
	unsigned int i;

	flush_cache_range(vma, addr, end);
	for (i = 0; i < nr; i++) {
		if (!pte_none(ptep_get(vmf->pte + i)))
			ptep_get_and_clear(vma->vm_mm, addr + i * PAGE_SIZE,
					   vmf->pte + i);
	}
	flush_tlb_range(vma, addr, end);
}

/* With the page table locked. Return: what becomes of the block. */
static enum mcpage_stat_item mcpage_block_map(struct vm_fault *vmf,
					      const struct mcpage_block *block)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned int nr = 1 << block->order;

	if (!mcpage_range_free(vmf->pte, nr, true)) {
		/* Another thread was faster; the access is retried. */
		update_mmu_tlb_range(vma, block->addr, vmf->pte, nr);
		return MCPAGE_STAT_PAGE_TABLE_POPULATED;
	}
	if (check_stable_address_space(vma->vm_mm))
		return MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE;
	mcpage_unmap_zero_pages(vmf, block->addr, nr);
	if (mcpage_is_pages(block->backing))
		mcpage_pages_map(vmf, block->page, block->addr, nr);
	else
		mcpage_folio_map(vmf, page_folio(block->page), block->addr, nr);
	return MCPAGE_STAT_ALLOC;
}

static enum mcpage_stat_item mcpage_block_lock_map(struct vm_fault *vmf,
						   const struct mcpage_block *block)
{
	enum mcpage_stat_item result;
	/* The page table's. */
	spinlock_t *ptl;
	pte_t *pte;

	pte = pte_offset_map_lock(vmf->vma->vm_mm, vmf->pmd, block->addr, &ptl);
	if (!pte)
		return MCPAGE_STAT_PAGE_TABLE_POPULATED;
	/* It began an RCU section too, out of sparse's sight. */
	__acquire(RCU);
	vmf->pte = pte;
	vmf->ptl = ptl;
	result = mcpage_block_map(vmf, block);
	pte_unmap_unlock(pte, ptl);
	return result;
}

/**
 * __mcpage_fault_zero_page - the working half of mcpage_fault_zero_page()
 * @vmf: the fault
 *
 * Context: as wp_page_copy(): page table not mapped, no PTE lock held. May sleep.
 * Return: the fault's result, or VM_FAULT_FALLBACK to go on with a single page.
 */
vm_fault_t __mcpage_fault_zero_page(struct vm_fault *vmf)
{
	struct mcpage_block block = { .backing = READ_ONCE(mcpage_settings.backing) };
	enum mcpage_stat_item result;
	struct mmu_notifier_range range;
	unsigned long orders;
	vm_fault_t ret;

	if (!mcpage_zero_page_eligible(vmf) || !mcpage_pte_replaceable(vmf->orig_pte))
		return VM_FAULT_FALLBACK;
	orders = mcpage_allowed_orders(vmf, block.backing);
	if (!orders)
		return VM_FAULT_FALLBACK;
	ret = vmf_anon_prepare(vmf);
	if (ret)
		return ret;
	if (!mcpage_choose_orders(vmf, orders, true, &orders))
		return 0;
	if (!mcpage_block_get(vmf, orders, &block))
		return VM_FAULT_FALLBACK;

	mmu_notifier_range_init(&range, MMU_NOTIFY_CLEAR, 0, vmf->vma->vm_mm, block.addr,
				block.addr + (PAGE_SIZE << block.order));
	mmu_notifier_invalidate_range_start(&range);
	result = mcpage_block_lock_map(vmf, &block);
	mmu_notifier_invalidate_range_end(&range);
	if (result != MCPAGE_STAT_ALLOC)
		mcpage_block_free(&block);
	__mcpage_fault_result(vmf, block.order, result);
	return result == MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE ? VM_FAULT_SIGBUS : 0;
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
/**
 * __mcpage_drop_huge_zero_page - the working half of mcpage_drop_huge_zero_page()
 * @vmf: the fault
 *
 * With the entry gone the access is a write to memory that is not there yet, and
 * gets a huge page as such. Where it would not, the entry is split as ever, so that
 * what is read only stays mapped; a smaller block then takes the place of some of
 * the zero pages.
 *
 * Context: as do_huge_pmd_wp_page(): no page table lock held. May sleep.
 * Return: true if the access is to be retried, false to go on with a single page.
 */
bool __mcpage_drop_huge_zero_page(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long addr = vmf->address & HPAGE_PMD_MASK;
	struct mmu_notifier_range range;
	pgtable_t table = NULL;

	if (!mcpage_zero_page_eligible(vmf) || pmd_uffd_wp(vmf->orig_pmd) ||
	    !mcpage_fault_wants_pmd(vmf) ||
	    !mcpage_thp_orders(vma, vma->vm_flags, TVA_IN_PF | TVA_ENFORCE_SYSFS,
			       BIT(PMD_ORDER)))
		return false;

	mmu_notifier_range_init(&range, MMU_NOTIFY_CLEAR, 0, vma->vm_mm, addr,
				addr + HPAGE_PMD_SIZE);
	mmu_notifier_invalidate_range_start(&range);
	vmf->ptl = pmd_lock(vma->vm_mm, vmf->pmd);
	/* Else another thread was faster. */
	if (pmd_same(*vmf->pmd, vmf->orig_pmd)) {
		pmdp_huge_clear_flush(vma, addr, vmf->pmd);
		table = pgtable_trans_huge_withdraw(vma->vm_mm, vmf->pmd);
		mm_dec_nr_ptes(vma->vm_mm);
	}
	spin_unlock(vmf->ptl);
	mmu_notifier_invalidate_range_end(&range);
	if (table)
		pte_free(vma->vm_mm, table);
	return true;
}
#endif
