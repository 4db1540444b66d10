// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: what lazyfree.c goes by, without mm state: runs of page table entries,
 * and into what a block is split.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/pgtable.h>

#include "internal.h"

const char * const mcpage_partial_names[NR_MCPAGE_PARTIALS] = {
	[MCPAGE_PARTIAL_MARK]	= "mark",
	[MCPAGE_PARTIAL_ZAP]	= "zap",
	[MCPAGE_PARTIAL_SPLIT]	= "split",
};

/**
 * mcpage_ptes_consecutive - how many entries map consecutive pages
 * @ptep: the first entry, present
 * @max: how many entries may be read; they are in one page table
 * @touched: set to whether any of them is young or dirty
 *
 * Other bits may differ.
 *
 * Context: the page table lock is held.
 * Return: the number of entries, at least 1.
 */
unsigned int mcpage_ptes_consecutive(pte_t *ptep, unsigned int max, bool *touched)
{
	pte_t pte = ptep_get(ptep), expected = pte_mkold(pte);
	bool any = pte_young(pte) || pte_dirty(pte);
	unsigned int nr;

	for (nr = 1; nr < max; nr++) {
		expected = pte_next_pfn(expected);
		pte = ptep_get(++ptep);
		/* Mostly they differ in nothing but that. */
		if (likely(pte_same(pte_mkold(pte), expected))) {
			any |= pte_young(pte);
			continue;
		}
		if (!pte_present(pte) || pte_pfn(pte) != pte_pfn(expected))
			break;
		any |= pte_young(pte) || pte_dirty(pte);
		expected = pte_mkold(pte);
	}
	*touched = any;
	return nr;
}

/**
 * mcpage_ptes_alike - how many entries are a first one's continuation
 * @ptep: the first entry, present
 * @max: how many entries may be read; they are in one page table
 *
 * They map consecutive pages and have the same bits but for the young one. So
 * set_ptes() with the first one makes them all, as good as they were.
 *
 * Context: the page table lock is held.
 * Return: the number of entries, at least 1.
 */
unsigned int mcpage_ptes_alike(pte_t *ptep, unsigned int max)
{
	pte_t expected = pte_mkold(ptep_get(ptep));
	unsigned int nr = 0;

	do {
		if (++nr == max)
			break;
		expected = pte_next_pfn(expected);
	} while (pte_same(pte_mkold(ptep_get(++ptep)), expected));
	return nr;
}

/**
 * mcpage_split_order - into what a block is split, so that a part is by itself
 * @order: the block's order
 * @first: the first page of the part, counted from the block's start
 * @nr: the number of its pages
 *
 * All parts of a split have the same order. Where that would be single pages and most
 * of the block is covered, it is split into parts that are about as many as their pages
 * are, and then those that are not covered as a whole: so there are fewer parts to make,
 * and to take back. Where less is covered, a single page say, more like it are likely to
 * follow, and to do so for each would unmap and map its pages several times.
 *
 * Context: any.
 * Return: an order below @order; 0 for single pages, as a large anonymous folio of
 * order 1 does not exist.
 */
unsigned int mcpage_split_order(unsigned int order, unsigned long first,
				unsigned long nr)
{
	unsigned int fits = __ffs(first | nr | BIT(order - 1));

	if (fits >= MCPAGE_MIN_ORDER)
		return fits;
	if (order <= MCPAGE_MIN_ORDER || nr <= BIT(order) / 2)
		return 0;
	return max(order / 2, MCPAGE_MIN_ORDER);
}
