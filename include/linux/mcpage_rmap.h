/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mcpage: what the walks over the reverse map call, for a block at once.
 */
#ifndef _LINUX_MCPAGE_RMAP_H
#define _LINUX_MCPAGE_RMAP_H

#include <linux/mcpage.h>
#include <linux/page-flags.h>
#include <linux/rmap.h>

#if defined(CONFIG_MCPAGE) && defined(CONFIG_TRANSPARENT_HUGEPAGE)

int __mcpage_to_migration(struct folio *folio, struct page_vma_mapped_walk *pvmw,
			  enum ttu_flags flags);
bool __mcpage_from_migration(struct folio *folio, struct page *page,
			     struct page_vma_mapped_walk *pvmw);

/**
 * mcpage_to_migration - put migration entries in place of a run of entries
 * @folio: the folio, locked
 * @pvmw: where it is mapped; on success moved to the last entry of the run
 * @flags: what the caller of try_to_migrate() wants
 *
 * Context: as the body of try_to_migrate_one(): the page table is locked.
 * Return: 1 if it is done; 0 if it is to be done for the one entry; -1 if the folio is
 * pinned, and all is as it was.
 */
static inline int mcpage_to_migration(struct folio *folio,
				      struct page_vma_mapped_walk *pvmw,
				      enum ttu_flags flags)
{
	if (!static_branch_unlikely(&mcpage_key) || !folio_test_large(folio) ||
	    !folio_test_anon(folio) || folio_test_hugetlb(folio))
		return 0;
	return __mcpage_to_migration(folio, pvmw, flags);
}

/**
 * mcpage_from_migration - map what a run of migration entries stands for
 * @folio: the folio that is to be mapped, locked
 * @page: the page of it that the first entry is for
 * @pvmw: where; on success moved to the last entry of the run
 *
 * Context: as the body of remove_migration_pte(): the page table is locked.
 * Return: true if it is done, false if it is to be done for the one entry.
 */
static inline bool mcpage_from_migration(struct folio *folio, struct page *page,
					 struct page_vma_mapped_walk *pvmw)
{
	if (!static_branch_unlikely(&mcpage_key) || !folio_test_large(folio) ||
	    !folio_test_anon(folio) || folio_test_hugetlb(folio))
		return false;
	return __mcpage_from_migration(folio, page, pvmw);
}

#else

static inline int mcpage_to_migration(struct folio *folio,
				      struct page_vma_mapped_walk *pvmw,
				      enum ttu_flags flags)
{
	return 0;
}

static inline bool mcpage_from_migration(struct folio *folio, struct page *page,
					 struct page_vma_mapped_walk *pvmw)
{
	return false;
}

#endif

#endif /* _LINUX_MCPAGE_RMAP_H */
