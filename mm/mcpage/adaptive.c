// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: the adaptive mode, a block where its neighbourhood is in use.
 *
 * As readahead does for files, but without a state: what the page table holds
 * next to the fault says how the memory is used. A fault on the first page of a
 * block looks at the pages below it, one on the last page at those above. Use in
 * sequence, in either direction, so climbs to the largest blocks in a few faults;
 * use here and there stays with single pages, for the price of one look.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/swap.h>
#include <linux/swapops.h>

#include "../internal.h"
#include "internal.h"

/* Up to this order a block may have as many pages as are in use beside it. */
#define MCPAGE_DOUBLING_ORDER	4
/* More than 2 to the power of this many pages in use are not asked for. */
#define MCPAGE_ENOUGH_ORDER	13

/**
 * mcpage_adaptive_pages - how many pages in use justify a block
 * @order: the block's order
 *
 * What is behind the fault may never be used: that many pages are what a block may
 * waste. Small blocks are where most faults are saved, and waste little, so they
 * double what is in use. Each size above is to waste a smaller share, 2^-2 of the
 * row for order 5, 2^-3 for order 6 and so on, as one tail of a large heap would
 * else be seen in RSS. The limit lets memory of some size have the largest block,
 * which a single entry maps; without it 64 MiB that are filled in sequence would
 * cost 3% more instructions than with huge pages, with it 1.7% (make
 * bench-adaptive).
 *
 * Context: any.
 * Return: the number of pages, which are to be next to the block.
 */
unsigned long mcpage_adaptive_pages(unsigned int order)
{
	unsigned int row;

	if (order <= MCPAGE_DOUBLING_ORDER)
		return 1UL << order;
	row = min(2 * order - 3, MCPAGE_ENOUGH_ORDER);
	return 1UL << max(row, order);
}

/**
 * mcpage_adaptive_order - the largest block that a neighbourhood justifies
 * @index: number of the page that faults: its address in pages
 * @below: how many pages right below it are in use
 * @above: how many pages right above it are in use
 *
 * The page has to be the block's first, with use below it, or its last, with
 * use above.
 *
 * Context: any.
 * Return: the block's order; 0 for a single page.
 */
unsigned int mcpage_adaptive_order(unsigned long index, unsigned long below,
				   unsigned long above)
{
	unsigned int order;

	if (max(below, above) < mcpage_adaptive_pages(MCPAGE_MIN_ORDER))
		return 0;
	for (order = MCPAGE_NR_ORDERS - 1; order >= MCPAGE_MIN_ORDER; order--) {
		unsigned long pages = mcpage_adaptive_pages(order);

		if (IS_ALIGNED(index, 1UL << order) && below >= pages)
			return order;
		if (IS_ALIGNED(index + 1, 1UL << order) && above >= pages)
			return order;
	}
	return 0;
}

/*
 * Is a page in use? One in swap or on its way to another place is; the shared
 * zero page is not, as nothing has been written there.
 */
static bool mcpage_pte_used(pte_t pte)
{
	if (pte_present(pte))
		return !is_zero_pfn(pte_pfn(pte));
	return !pte_none_mostly(pte);
}

/* The same for all that an entry maps which is no page table. */
static bool mcpage_pmd_used(pmd_t pmd)
{
	if (is_swap_pmd(pmd))
		return true;
	return pmd_trans_huge(pmd) && !is_huge_zero_pmd(pmd);
}

/* Far from the fault this part of the distance is passed over between two looks. */
#define MCPAGE_PASS_OVER	16

/* The distance of the next page to look at; up to twice MCPAGE_PASS_OVER, each. */
static unsigned long mcpage_next_distance(unsigned long distance)
{
	return distance + max(1, distance / MCPAGE_PASS_OVER);
}

/*
 * From the page at @addr, which is @distance pages from the fault, go on upward
 * or downward to @last, all within the page table of @pmd.
 *
 * Return: the distance of the first page that is not in use; more than @last if
 * there is none.
 */
static unsigned long mcpage_used_in_table(pmd_t *pmd, unsigned long addr,
					  unsigned long distance,
					  unsigned long last, bool upward)
{
	unsigned long first = distance;
	long step = upward ? 1 : -1;
	pte_t *pte;

	pte = pte_offset_map(pmd, addr);
	if (!pte)
		return mcpage_pmd_used(pmdp_get_lockless(pmd)) ? last + 1 : distance;
	/* pte_offset_map() did, out of sparse's sight. */
	__acquire(RCU);
	while (distance <= last) {
		long offset = step * (long)(distance - first);

		if (!mcpage_pte_used(ptep_get_lockless(pte + offset)))
			break;
		distance = mcpage_next_distance(distance);
	}
	pte_unmap(pte);
	return distance;
}

/*
 * How long is the row of pages in use right above or below the fault, as far as
 * @nr pages, and as the mapping goes? Page tables that map it are not freed
 * while it is stable; what is in them may change meanwhile, and the answer be of
 * the past.
 */
static unsigned long mcpage_used_beside(struct vm_fault *vmf, unsigned long nr,
					bool upward)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long distance = 1;

	nr = min(nr, upward ? ((vma->vm_end - vmf->address) >> PAGE_SHIFT) - 1 :
			      (vmf->address - vma->vm_start) >> PAGE_SHIFT);
	while (distance <= nr) {
		unsigned long offset = distance * PAGE_SIZE;
		unsigned long addr = upward ? vmf->address + offset :
					      vmf->address - offset;
		unsigned long last = distance + (upward ?
						 PTRS_PER_PTE - 1 - pte_index(addr) :
						 pte_index(addr));
		pmd_t *pmd = vmf->pmd;

		last = min(last, nr);
		if ((addr ^ vmf->address) & PMD_MASK)
			pmd = mm_find_pmd(vma->vm_mm, addr);
		if (!pmd)
			return distance - 1;
		distance = mcpage_used_in_table(pmd, addr, distance, last, upward);
		if (distance <= last)
			return distance - 1;
	}
	return nr;
}

/**
 * mcpage_adaptive_highest - the largest block that a fault's neighbours justify
 * @vmf: the fault
 * @lowest: the lowest order of interest, at least MCPAGE_MIN_ORDER
 *
 * Context: the mapping of @vmf is stable; no page table lock is held.
 * Return: the block's order, @lowest or higher; 0 if there is none.
 */
unsigned int mcpage_adaptive_highest(struct vm_fault *vmf, unsigned int lowest)
{
	unsigned long index = vmf->address >> PAGE_SHIFT;
	unsigned long below = 0, above = 0;
	unsigned int order;

	if (!mcpage_at_edge(index, lowest))
		return 0;
	/* No order is beyond the last bit that is looked at. */
	if (index & 1) {
		order = __ffs((index + 1) | BIT(MCPAGE_NR_ORDERS - 1));
		above = mcpage_used_beside(vmf, mcpage_adaptive_pages(order), true);
	} else {
		order = __ffs(index | BIT(MCPAGE_NR_ORDERS - 1));
		below = mcpage_used_beside(vmf, mcpage_adaptive_pages(order), false);
	}
	order = mcpage_adaptive_order(index, below, above);
	return order >= lowest ? order : 0;
}

static bool mcpage_governs_adaptively(const struct vm_area_struct *vma)
{
	return mcpage_governs(vma, vma->vm_flags) && mcpage_vma_adaptive(vma);
}

/**
 * __mcpage_fault_wants_page - the working half of mcpage_fault_wants_page()
 * @vmf: the fault
 *
 * Looks at no more than one page, as what is left is mostly in sequence.
 *
 * Context: the mapping of @vmf is stable; no page table lock is held.
 * Return: true if no block can be justified.
 */
bool __mcpage_fault_wants_page(struct vm_fault *vmf)
{
	unsigned long index = vmf->address >> PAGE_SHIFT;

	if (!mcpage_governs_adaptively(vmf->vma))
		return false;
	return !mcpage_at_edge(index, MCPAGE_MIN_ORDER) ||
	       !mcpage_used_beside(vmf, 1, index & 1);
}

/**
 * __mcpage_fault_wants_pmd - the working half of mcpage_fault_wants_pmd()
 * @vmf: the fault
 *
 * A read may have the huge zero page, which takes no memory.
 *
 * Context: the mapping of @vmf is stable; no page table lock is held.
 * Return: false if the neighbourhood asks for less.
 */
bool __mcpage_fault_wants_pmd(struct vm_fault *vmf)
{
	if (!(vmf->flags & FAULT_FLAG_WRITE) || !mcpage_governs_adaptively(vmf->vma))
		return true;
	return mcpage_adaptive_highest(vmf, PMD_ORDER);
}

/**
 * __mcpage_max_ptes_none - the working half of mcpage_max_ptes_none()
 * @vma: the mapping that khugepaged looks at
 * @max: what its own setting says, in pages
 *
 * Context: @vma is stable.
 * Return: the number of pages.
 */
unsigned int __mcpage_max_ptes_none(struct vm_area_struct *vma, unsigned int max)
{
	return mcpage_governs_adaptively(vma) ? 0 : max;
}
