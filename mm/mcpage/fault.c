// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: find, allocate and map a block in an anonymous fault.
 *
 * With the "folio" backing this file chooses and allocates the folio, and
 * do_anonymous_page() maps it as it maps any other; folios that a PMD maps are
 * allocated and mapped by do_huge_pmd_anonymous_page(). With the "pages"
 * backing all of it is done here.
 */
#include <kunit/static_stub.h>
#include <linux/bitops.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/memcontrol.h>
#include <linux/mempolicy.h>
#include <linux/mm.h>
#include <linux/oom.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/sched/coredump.h>
#include <linux/swap.h>
#include <linux/userfaultfd_k.h>
#include <asm/tlbflush.h>
#include <kunit/visibility.h>

#include "../internal.h"
#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/mcpage.h>

static void mcpage_result(struct vm_fault *vmf, unsigned int order,
			  enum mcpage_stat_item item)
{
	mcpage_stat_add(order, item);
	trace_mcpage_fault_result(vmf->address, order, item);
}

/**
 * __mcpage_fault_result - the counting half of mcpage_fault_result()
 * @vmf: the fault
 * @order: the block's order, not 0
 * @item: the outcome
 *
 * Context: the mapping of @vmf is stable.
 */
void __mcpage_fault_result(struct vm_fault *vmf, unsigned int order,
			   enum mcpage_stat_item item)
{
	if (mcpage_governs(vmf->vma, vmf->vma->vm_flags))
		mcpage_result(vmf, order, item);
}

/**
 * mcpage_range_free - may the range of a block be given to it?
 * @pte: its first entry
 * @nr: its length in pages
 * @zero: the shared zero page may be mapped there, besides nothing
 *
 * Context: the page table is mapped; with its lock held the answer stays true.
 * Return: true if it may.
 */
bool mcpage_range_free(pte_t *pte, unsigned int nr, bool zero)
{
	while (nr--) {
		pte_t entry = ptep_get_lockless(pte++);

		if (!pte_none(entry) && !(zero && mcpage_pte_replaceable(entry)))
			return false;
	}
	return true;
}

/* Does the block around the fault fit in the VMA? Counts why it does not. */
static bool mcpage_fits(struct vm_fault *vmf, unsigned int order)
{
	struct vm_area_struct *vma = vmf->vma;

	switch (mcpage_block_fit(vma->vm_start, vma->vm_end, vmf->address, order)) {
	case MCPAGE_BEGINS_BEFORE:
		mcpage_result(vmf, order, MCPAGE_STAT_UNALIGNED);
		return false;
	case MCPAGE_ENDS_BEHIND:
		mcpage_result(vmf, order, MCPAGE_STAT_SHORT);
		return false;
	default:
		return true;
	}
}

/* Remove the orders whose block does not fit; within one that fits, all do. */
static unsigned long mcpage_fitting_orders(struct vm_fault *vmf,
					   unsigned long orders)
{
	while (orders && !mcpage_fits(vmf, __fls(orders)))
		orders &= ~BIT(__fls(orders));
	return orders;
}

/**
 * __mcpage_fault_unfit - the counting half of mcpage_fault_unfit()
 * @vmf: the fault
 * @order: the block's order
 *
 * Context: the mapping of @vmf is stable.
 */
void __mcpage_fault_unfit(struct vm_fault *vmf, unsigned int order)
{
	if (mcpage_governs(vmf->vma, vmf->vma->vm_flags))
		mcpage_fits(vmf, order);
}

/*
 * Remove the orders whose block around the fault is not free. No lock is held:
 * the range is looked at again before it is mapped.
 *
 * Return: false if the page table is gone, and the fault is to be retried.
 */
static bool mcpage_free_orders(struct vm_fault *vmf, unsigned long *orders,
			       bool zero)
{
	pte_t *table;

	table = pte_offset_map(vmf->pmd, vmf->address & PMD_MASK);
	if (!table)
		return false;
	/* pte_offset_map() did, out of sparse's sight. */
	__acquire(RCU);
	while (*orders) {
		unsigned int order = __fls(*orders);
		unsigned long addr = ALIGN_DOWN(vmf->address, PAGE_SIZE << order);

		if (mcpage_range_free(table + pte_index(addr), 1 << order, zero))
			break;
		mcpage_result(vmf, order, MCPAGE_STAT_PAGE_TABLE_POPULATED);
		*orders &= ~BIT(order);
	}
	pte_unmap(table);
	return true;
}

/* Of @orders, those that the mode asks for. */
static unsigned long mcpage_justified_orders(struct vm_fault *vmf, unsigned long orders)
{
	unsigned int highest;

	if (!orders || !mcpage_vma_adaptive(vmf->vma))
		return orders;
	highest = mcpage_adaptive_highest(vmf, MCPAGE_MIN_ORDER);
	return highest ? orders & GENMASK(highest, 0) : 0;
}

/**
 * mcpage_allowed_orders - the orders that a fault may use with a page table
 * @vmf: the fault, in a mapping that mcpage governs
 * @backing: what the block is to be made of
 *
 * Context: the mapping of @vmf is stable; the page table is not mapped.
 * Return: what the policy allows, the mode asks for, and neither users nor the
 * system refuse by other means.
 */
unsigned long mcpage_allowed_orders(struct vm_fault *vmf, enum mcpage_backing backing)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long orders;

	orders = mcpage_justified_orders(vmf, mcpage_vma_orders(vma, vma->vm_flags));
	if (!orders)
		return 0;
	if (!mcpage_is_pages(backing))
		return mcpage_thp_orders(vma, vma->vm_flags,
					 TVA_IN_PF | TVA_ENFORCE_SYSFS,
					 orders & (BIT(PMD_ORDER) - 1));
	if (userfaultfd_armed(vma) || vma_is_temporary_stack(vma))
		return 0;
	/* They mean the memory, whatever it is made of. */
	if ((vma->vm_flags & VM_NOHUGEPAGE) ||
	    test_bit(MMF_DISABLE_THP, &vma->vm_mm->flags))
		return 0;
	return orders;
}

/**
 * mcpage_choose_orders - the orders that a fault is to try
 * @vmf: the fault, in a mapping that mcpage governs
 * @allowed: the orders that it may use
 * @zero: the block may take the place of the shared zero page
 * @orders: set to the orders, the highest to be tried first
 *
 * Counts why an order cannot be had.
 *
 * Context: the mapping of @vmf is stable; the page table is not mapped.
 * Return: false if the page table is gone, and the fault is to be retried.
 */
bool mcpage_choose_orders(struct vm_fault *vmf, unsigned long allowed, bool zero,
			  unsigned long *orders)
{
	unsigned long fitting = mcpage_fitting_orders(vmf, allowed);
	bool done = true;

	*orders = fitting;
	if (fitting)
		done = mcpage_free_orders(vmf, orders, zero);
	trace_mcpage_fault_orders(vmf->vma, vmf->address, allowed, fitting, *orders);
	return done;
}

VISIBLE_IF_KUNIT int mcpage_charge(struct folio *folio, struct mm_struct *mm,
				   gfp_t gfp)
{
	KUNIT_STATIC_STUB_REDIRECT(mcpage_charge, folio, mm, gfp);
	return mem_cgroup_charge(folio, mm, gfp);
}

VISIBLE_IF_KUNIT vm_fault_t mcpage_check_stable(struct mm_struct *mm)
{
	KUNIT_STATIC_STUB_REDIRECT(mcpage_check_stable, mm);
	return check_stable_address_space(mm);
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
VISIBLE_IF_KUNIT struct folio *mcpage_folio_alloc(gfp_t gfp, unsigned int order,
						  struct vm_area_struct *vma,
						  unsigned long addr)
{
	KUNIT_STATIC_STUB_REDIRECT(mcpage_folio_alloc, gfp, order, vma, addr);
	return vma_alloc_folio(gfp, order, vma, addr, true);
}

/**
 * mcpage_folio_get - allocate, charge and clear the folio of a block
 * @vmf: the fault
 * @orders: the orders to try, the highest first
 *
 * Context: as do_anonymous_page(): page table not mapped, no PTE lock held. May
 * sleep.
 * Return: the folio; NULL if none is to be had.
 */
struct folio *mcpage_folio_get(struct vm_fault *vmf, unsigned long orders)
{
	struct vm_area_struct *vma = vmf->vma;
	gfp_t gfp = mcpage_gfp_mask();

	while (orders) {
		unsigned int order = __fls(orders);
		unsigned long addr = ALIGN_DOWN(vmf->address, PAGE_SIZE << order);
		struct folio *folio = mcpage_folio_alloc(gfp, order, vma, addr);

		if (!folio) {
			mcpage_result(vmf, order, MCPAGE_STAT_FALLBACK);
		} else if (mcpage_charge(folio, vma->vm_mm, gfp)) {
			folio_put(folio);
			mcpage_result(vmf, order, MCPAGE_STAT_CHARGE_FAILED);
		} else {
			folio_throttle_swaprate(folio, gfp);
			folio_zero_user(folio, vmf->address);
			return folio;
		}
		orders &= ~BIT(order);
	}
	return NULL;
}

/**
 * mcpage_alloc_anon_folio - allocate the folio for an anonymous write fault
 * @vmf: the fault, in a mapping that mcpage governs
 * @allowed: the orders below PMD_ORDER that are allowed, not empty
 *
 * Tries the highest order whose block fits in the VMA and is empty, and in the
 * adaptive mode is justified by its neighbourhood; then the next lower one, and
 * so on.
 *
 * Context: as do_anonymous_page(): page table not mapped, no PTE lock held. May
 * sleep.
 * Return: the folio, charged and cleared; NULL to go on with a single page;
 * ERR_PTR(-EAGAIN) if the fault is to be retried.
 */
struct folio *mcpage_alloc_anon_folio(struct vm_fault *vmf, unsigned long allowed)
{
	unsigned long orders;

	allowed = mcpage_justified_orders(vmf, allowed);
	if (!mcpage_choose_orders(vmf, allowed, false, &orders))
		return ERR_PTR(-EAGAIN);
	return mcpage_folio_get(vmf, orders);
}
#endif

VISIBLE_IF_KUNIT struct page *mcpage_pages_alloc(gfp_t gfp, unsigned int order,
						 struct vm_area_struct *vma,
						 unsigned long addr)
{
	struct mempolicy *pol;
	struct page *page;
	pgoff_t ilx;

	KUNIT_STATIC_STUB_REDIRECT(mcpage_pages_alloc, gfp, order, vma, addr);

	pol = get_vma_policy(vma, addr, order, &ilx);
	page = alloc_pages_mpol(gfp & ~__GFP_COMP, order, pol, ilx, numa_node_id());
	mpol_cond_put(pol);
	if (page)
		split_page(page, order);
	return page;
}

/**
 * mcpage_pages_free - give back a block that is not mapped
 * @page: its first page
 * @nr: its length in pages
 *
 * Context: any that may free pages.
 */
void mcpage_pages_free(struct page *page, unsigned int nr)
{
	while (nr--)
		folio_put(page_folio(page++));
}

/* Each page is charged on its own, as each is reclaimed on its own later. */
static int mcpage_pages_charge(struct page *page, unsigned int nr,
			       struct mm_struct *mm, gfp_t gfp)
{
	int err;

	while (nr--) {
		err = mcpage_charge(page_folio(page++), mm, gfp);
		if (err)
			return err;
	}
	return 0;
}

/* The page that faulted comes last, so that it is the one left in the cache. */
static void mcpage_pages_clear_each(struct page *page, unsigned int nr,
				    unsigned long addr, unsigned int faulting)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		if (i == faulting)
			continue;
		cond_resched();
		clear_user_highpage(page + i, addr + i * PAGE_SIZE);
	}
	clear_user_highpage(page + faulting, addr + faulting * PAGE_SIZE);
}

static void mcpage_pages_clear(struct page *page, unsigned int nr,
			       unsigned long addr, unsigned long fault)
{
	unsigned int i;

	if (!mcpage_clear_pages(page, nr, fault - addr))
		mcpage_pages_clear_each(page, nr, addr, (fault - addr) >> PAGE_SHIFT);
	for (i = 0; i < nr; i++)
		__folio_mark_uptodate(page_folio(page + i));
}

/**
 * mcpage_pages_get - allocate, charge and clear the pages of a block
 * @vmf: the fault
 * @orders: the orders to try, the highest first
 * @orderp: set to the block's order on success
 *
 * Context: as do_anonymous_page(): page table not mapped, no PTE lock held. May
 * sleep.
 * Return: the first page; NULL if none is to be had.
 */
struct page *mcpage_pages_get(struct vm_fault *vmf, unsigned long orders,
			      unsigned int *orderp)
{
	struct vm_area_struct *vma = vmf->vma;
	gfp_t gfp = mcpage_gfp_mask();

	while (orders) {
		unsigned int order = __fls(orders), nr = 1 << order;
		unsigned long addr = ALIGN_DOWN(vmf->address, PAGE_SIZE << order);
		struct page *page = mcpage_pages_alloc(gfp, order, vma, addr);

		if (!page) {
			mcpage_result(vmf, order, MCPAGE_STAT_FALLBACK);
		} else if (mcpage_pages_charge(page, nr, vma->vm_mm, gfp)) {
			mcpage_pages_free(page, nr);
			mcpage_result(vmf, order, MCPAGE_STAT_CHARGE_FAILED);
		} else {
			folio_throttle_swaprate(page_folio(page), gfp);
			mcpage_pages_clear(page, nr, addr, vmf->address);
			*orderp = order;
			return page;
		}
		orders &= ~BIT(order);
	}
	return NULL;
}

/**
 * mcpage_pages_map - map the pages of a block
 * @vmf: the fault, with its page table mapped at the block and locked
 * @page: the first page
 * @addr: the block's first address
 * @nr: its length in pages
 *
 * Context: atomic; nothing is mapped there.
 */
void mcpage_pages_map(struct vm_fault *vmf, struct page *page, unsigned long addr,
		      unsigned int nr)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct folio *folio = page_folio(page + i);
		pte_t entry = mk_pte(page + i, vma->vm_page_prot);

		entry = pte_sw_mkyoung(entry);
		if (vma->vm_flags & VM_WRITE)
			entry = pte_mkwrite(pte_mkdirty(entry), vma);
		folio_add_new_anon_rmap(folio, vma, addr + i * PAGE_SIZE,
					RMAP_EXCLUSIVE);
		folio_add_lru_vma(folio, vma);
		/* Not set_ptes(): the entries are of folios of their own. */
		set_pte_at(vma->vm_mm, addr + i * PAGE_SIZE, vmf->pte + i, entry);
	}
	add_mm_counter(vma->vm_mm, MM_ANONPAGES, nr);
	update_mmu_cache_range(vmf, vma, addr, vmf->pte, nr);
}

/**
 * __mcpage_fault_pages - the working half of mcpage_fault_pages()
 * @vmf: the fault, a write, with its page table allocated and the anon_vma
 *	prepared
 *
 * Context: as do_anonymous_page(): page table not mapped, no PTE lock held. May
 * sleep.
 * Return: the fault's result, or VM_FAULT_FALLBACK to go on with a single page.
 */
vm_fault_t __mcpage_fault_pages(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long allowed, orders, addr;
	unsigned int order, nr;
	struct page *page;
	vm_fault_t ret = 0;

	if (!mcpage_governs(vma, vma->vm_flags))
		return VM_FAULT_FALLBACK;

	allowed = mcpage_allowed_orders(vmf, MCPAGE_PAGES);
	if (!allowed)
		return VM_FAULT_FALLBACK;
	if (!mcpage_choose_orders(vmf, allowed, false, &orders))
		return 0;
	page = mcpage_pages_get(vmf, orders, &order);
	if (!page)
		return VM_FAULT_FALLBACK;

	nr = 1 << order;
	addr = ALIGN_DOWN(vmf->address, PAGE_SIZE << order);
	vmf->pte = pte_offset_map_lock(vma->vm_mm, vmf->pmd, addr, &vmf->ptl);
	if (!vmf->pte)
		goto free;
	if (!mcpage_range_free(vmf->pte, nr, false)) {
		/* Another thread was faster; the access is retried. */
		update_mmu_tlb_range(vma, addr, vmf->pte, nr);
		mcpage_result(vmf, order, MCPAGE_STAT_PAGE_TABLE_POPULATED);
		goto unlock;
	}
	ret = mcpage_check_stable(vma->vm_mm);
	if (ret) {
		mcpage_result(vmf, order, MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE);
		goto unlock;
	}
	mcpage_pages_map(vmf, page, addr, nr);
	pte_unmap_unlock(vmf->pte, vmf->ptl);
	mcpage_result(vmf, order, MCPAGE_STAT_ALLOC);
	return 0;

unlock:
	pte_unmap_unlock(vmf->pte, vmf->ptl);
free:
	mcpage_pages_free(page, nr);
	return ret;
}
