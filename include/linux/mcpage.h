/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mcpage: what core mm calls. Everything here is a stub without CONFIG_MCPAGE, and
 * a branch that is not taken until mcpage is on, mostly until a policy is in force.
 */
#ifndef _LINUX_MCPAGE_H
#define _LINUX_MCPAGE_H

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/jump_label.h>
#include <linux/mm_types.h>
#include <linux/page-flags.h>
#include <uapi/linux/mcpage.h>

struct mmu_gather;
struct page_vma_mapped_walk;
struct vm_fault;

/**
 * enum mcpage_stat_item - what became of an attempt to map one block, or of a block
 * @MCPAGE_STAT_ALLOC: the block was mapped
 * @MCPAGE_STAT_FALLBACK: no free block of this order could be had
 * @MCPAGE_STAT_CHARGE_FAILED: the memory cgroup refused the charge
 * @MCPAGE_STAT_PAGE_TABLE_POPULATED: part of the range was mapped already
 * @MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE: the process was being killed for memory
 * @MCPAGE_STAT_UNALIGNED: the block would have begun before the VMA
 * @MCPAGE_STAT_SHORT: the block would have ended behind the VMA
 * @MCPAGE_STAT_LAZYFREE: MADV_FREE made the block lazyfree as a whole
 * @MCPAGE_STAT_LAZYFREE_PARTIAL: MADV_FREE covered a part of the block, and this
 *	part was marked, freed, or split off
 * @MCPAGE_STAT_LAZYFREE_RECLAIMED: the block, or the marked pages of it that were
 *	not written again, were taken back
 * @MCPAGE_STAT_LAZYFREE_REDIRTIED: the block was lazyfree as a whole, but had been
 *	written again when it was to be taken back
 * @NR_MCPAGE_STAT_ITEMS: how many there are
 */
enum mcpage_stat_item {
	MCPAGE_STAT_ALLOC,
	MCPAGE_STAT_FALLBACK,
	MCPAGE_STAT_CHARGE_FAILED,
	MCPAGE_STAT_PAGE_TABLE_POPULATED,
	MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE,
	MCPAGE_STAT_UNALIGNED,
	MCPAGE_STAT_SHORT,
	MCPAGE_STAT_LAZYFREE,
	MCPAGE_STAT_LAZYFREE_PARTIAL,
	MCPAGE_STAT_LAZYFREE_RECLAIMED,
	MCPAGE_STAT_LAZYFREE_REDIRTIED,
	NR_MCPAGE_STAT_ITEMS
};

/**
 * enum mcpage_partial - what MADV_FREE does to a block that it covers in part
 * @MCPAGE_PARTIAL_MARK: note in the block which pages it covers
 * @MCPAGE_PARTIAL_ZAP: free these pages at once
 * @MCPAGE_PARTIAL_SPLIT: split the block, and have these pages free lazily
 * @NR_MCPAGE_PARTIALS: how many there are
 */
enum mcpage_partial {
	MCPAGE_PARTIAL_MARK,
	MCPAGE_PARTIAL_ZAP,
	MCPAGE_PARTIAL_SPLIT,
	NR_MCPAGE_PARTIALS
};

#ifdef CONFIG_MCPAGE

/*
 * The policy of a VMA lives in vm_flags, so that merge, split, fork and mremap
 * treat it as they treat any other flag. Bits 46 to 59 are orders 2 to 15,
 * bit 60 asks for the adaptive mode, bit 61 says that there is a policy. 32-bit
 * kernels have no room for it.
 */
#ifdef CONFIG_64BIT
#define VM_MCPAGE_SHIFT		44
#define VM_MCPAGE_ORDERS	GENMASK(VM_MCPAGE_SHIFT + 15, VM_MCPAGE_SHIFT + 2)
#define VM_MCPAGE_ADAPTIVE	BIT(60)
#define VM_MCPAGE		BIT(61)
/*
 * /proc/<pid>/smaps: a token for a VMA with a policy and one for the adaptive
 * mode, none for the orders.
 */
#define MCPAGE_VM_MNEMONICS						\
		[VM_MCPAGE_SHIFT + 2 ... VM_MCPAGE_SHIFT + 15] = "",	\
		[ilog2(VM_MCPAGE_ADAPTIVE)] = "ma",			\
		[ilog2(VM_MCPAGE)] = "mc",
#else
#define VM_MCPAGE_SHIFT		0
#define VM_MCPAGE_ORDERS	0UL
#define VM_MCPAGE_ADAPTIVE	0UL
#define VM_MCPAGE		0UL
#define MCPAGE_VM_MNEMONICS
#endif

DECLARE_STATIC_KEY_FALSE(mcpage_key);
DECLARE_STATIC_KEY_FALSE(mcpage_pages_key);
DECLARE_STATIC_KEY_FALSE(mcpage_adaptive_key);
DECLARE_STATIC_KEY_FALSE(mcpage_clear_key);
extern u32 mcpage_always;

unsigned long mcpage_thp_orders(struct vm_area_struct *vma,
				unsigned long vm_flags, unsigned long tva_flags,
				unsigned long orders);
gfp_t mcpage_gfp_mask(void);
struct folio *mcpage_alloc_anon_folio(struct vm_fault *vmf,
				      unsigned long orders);
bool __mcpage_fault_wants_page(struct vm_fault *vmf);
bool __mcpage_fault_wants_pmd(struct vm_fault *vmf);
unsigned int __mcpage_max_ptes_none(struct vm_area_struct *vma, unsigned int max);
vm_fault_t __mcpage_fault_zero_page(struct vm_fault *vmf);
bool __mcpage_drop_huge_zero_page(struct vm_fault *vmf);
void __mcpage_fault_unfit(struct vm_fault *vmf, unsigned int order);
vm_fault_t __mcpage_fault_pages(struct vm_fault *vmf);
void __mcpage_fault_result(struct vm_fault *vmf, unsigned int order,
			   enum mcpage_stat_item item);
void __mcpage_zero_folio(struct folio *folio, unsigned long addr_hint);
void __mcpage_collapse_zero(struct folio *folio, unsigned int unused);
int __mcpage_free_whole(struct mmu_gather *tlb, struct vm_area_struct *vma,
			unsigned long addr, unsigned long end, struct folio *folio,
			pte_t *ptep);
unsigned int __mcpage_free_part(struct mmu_gather *tlb, struct vm_area_struct *vma,
				pmd_t *pmd, unsigned long addr, unsigned int nr,
				struct folio *folio, pte_t **pte, spinlock_t **ptl);
void __mcpage_madvise_free_pmd(struct mmu_gather *tlb, struct vm_area_struct *vma,
			       pmd_t *pmd, unsigned long addr, struct folio *folio);
bool __mcpage_madvise_cold(struct mmu_gather *tlb, struct vm_area_struct *vma,
			   unsigned long addr, struct folio *folio, pte_t *ptep,
			   unsigned int nr);
void __mcpage_map_by_ptes(struct vm_area_struct *vma, pmd_t *pmd, unsigned long addr,
			  struct folio *folio, spinlock_t *ptl);
unsigned int __mcpage_split_to(struct folio *folio, struct page *page,
			       unsigned long nr);
bool __mcpage_page_marked(struct folio *folio, struct page *page);
bool __mcpage_discard_marked(struct folio *folio);
bool __mcpage_in_use_again(struct folio *folio);
int __mcpage_lazyfree_unmap(struct folio *folio, struct page_vma_mapped_walk *pvmw,
			    unsigned int flags);
bool __mcpage_lazyfree_young(struct folio *folio, struct page_vma_mapped_walk *pvmw,
			     int *mapcount, int *referenced);
void mcpage_exec(struct mm_struct *mm, bool privileged);
int mcpage_prctl_set(unsigned long scope, unsigned long arg3,
		     unsigned long arg4, unsigned long arg5);
int mcpage_prctl_get(unsigned long scope, unsigned long arg3,
		     unsigned long arg4, unsigned long arg5);

/**
 * mcpage_governs - does mcpage choose the block orders of this mapping?
 * @vma: the mapping
 * @vm_flags: the flags to go by, which may differ from @vma's present ones
 *
 * Context: @vma must be stable: the mmap lock or the VMA lock is held.
 * Return: true for an anonymous mapping that a policy in force applies to.
 */
static inline bool mcpage_governs(const struct vm_area_struct *vma,
				  unsigned long vm_flags)
{
	if (!static_branch_unlikely(&mcpage_key))
		return false;
	/* Not anonymous; the gate area, which has no mm, is not either. */
	if (vma->vm_ops)
		return false;
	return (vm_flags & VM_MCPAGE) ||
	       (READ_ONCE(vma->vm_mm->mcpage_policy) | READ_ONCE(mcpage_always));
}

/**
 * mcpage_fault_pages - handle a write fault with the "pages" backing
 * @vmf: the fault, with its page table allocated and the anon_vma prepared
 *
 * Context: as do_anonymous_page(): page table not mapped, no PTE lock held.
 * Return: the fault's result, or VM_FAULT_FALLBACK to go on with other backings.
 */
static inline vm_fault_t mcpage_fault_pages(struct vm_fault *vmf)
{
	if (static_branch_unlikely(&mcpage_pages_key))
		return __mcpage_fault_pages(vmf);
	return VM_FAULT_FALLBACK;
}

/**
 * mcpage_fault_zero_page - handle a write to the shared zero page with a block
 * @vmf: the fault, on a private mapping of a page without a struct page to copy;
 *	@vmf->orig_pte is its entry
 *
 * Context: as wp_page_copy(): page table not mapped, no PTE lock held.
 * Return: the fault's result, or VM_FAULT_FALLBACK to go on with a single page.
 */
static inline vm_fault_t mcpage_fault_zero_page(struct vm_fault *vmf)
{
	if (static_branch_unlikely(&mcpage_key))
		return __mcpage_fault_zero_page(vmf);
	return VM_FAULT_FALLBACK;
}

/**
 * mcpage_drop_huge_zero_page - make way for a block before a write
 * @vmf: the fault, on a mapping of the huge zero page; @vmf->orig_pmd is its entry
 *
 * Context: as do_huge_pmd_wp_page(): no page table lock held.
 * Return: true if the access is to be retried, false to go on with a single page.
 */
static inline bool mcpage_drop_huge_zero_page(struct vm_fault *vmf)
{
	if (static_branch_unlikely(&mcpage_key))
		return __mcpage_drop_huge_zero_page(vmf);
	return false;
}

/**
 * mcpage_fault_wants_page - is it known before all else that it is a single page?
 * @vmf: the fault
 *
 * Context: any in which the mapping of @vmf is stable.
 * Return: true where the adaptive mode asks for no block.
 */
static inline bool mcpage_fault_wants_page(struct vm_fault *vmf)
{
	if (static_branch_unlikely(&mcpage_adaptive_key))
		return __mcpage_fault_wants_page(vmf);
	return false;
}

/**
 * mcpage_fault_wants_pmd - may a fault be served with a folio that a PMD maps?
 * @vmf: the fault, where there is no page table yet
 *
 * Context: any in which the mapping of @vmf is stable.
 * Return: false where the adaptive mode asks for less.
 */
static inline bool mcpage_fault_wants_pmd(struct vm_fault *vmf)
{
	if (static_branch_unlikely(&mcpage_adaptive_key))
		return __mcpage_fault_wants_pmd(vmf);
	return true;
}

/**
 * mcpage_max_ptes_none - how many unused pages khugepaged may fill in
 * @vma: the mapping that it looks at
 * @max: what its own setting says, in pages
 *
 * Context: any in which @vma is stable.
 * Return: the number of pages for one huge page; none in the adaptive mode.
 */
static inline unsigned int mcpage_max_ptes_none(struct vm_area_struct *vma,
						unsigned int max)
{
	if (static_branch_unlikely(&mcpage_adaptive_key))
		return __mcpage_max_ptes_none(vma, max);
	return max;
}

/**
 * mcpage_zero_folio - clear a folio that will be mapped to user space
 * @folio: the folio, fresh from the page allocator unless it is one of hugetlb
 * @addr_hint: the address that will be accessed, or the one that it will start at
 *
 * Context: process context, may sleep.
 * Return: true if it is cleared, false if it has to be done in another way.
 */
static inline bool mcpage_zero_folio(struct folio *folio, unsigned long addr_hint)
{
	if (!static_branch_unlikely(&mcpage_clear_key))
		return false;
	__mcpage_zero_folio(folio, addr_hint);
	return true;
}

/**
 * mcpage_collapse_zero - clear a huge page while nobody has to wait for it
 * @folio: the folio that pages will be collapsed into, marked up-to-date if
 *	all of it is cleared
 * @unused: how many of its pages will have nothing copied to them
 *
 * Context: process context, may sleep; mmap_lock is not held.
 */
static inline void mcpage_collapse_zero(struct folio *folio, unsigned int unused)
{
	if (static_branch_unlikely(&mcpage_clear_key))
		__mcpage_collapse_zero(folio, unused);
}

/**
 * mcpage_fault_result - count and trace what became of one block
 * @vmf: the fault
 * @order: the block's order; order 0, a single page, is not counted
 * @item: the outcome
 *
 * Nothing is counted in a mapping that mcpage does not govern.
 *
 * Context: any in which the mapping of @vmf is stable.
 */
static inline void mcpage_fault_result(struct vm_fault *vmf, unsigned int order,
				       enum mcpage_stat_item item)
{
	if (static_branch_unlikely(&mcpage_key) && order)
		__mcpage_fault_result(vmf, order, item);
}

/**
 * mcpage_fault_unfit - count a block that does not fit in its VMA
 * @vmf: the fault
 * @order: the block's order
 *
 * Context: any in which the mapping of @vmf is stable.
 */
static inline void mcpage_fault_unfit(struct vm_fault *vmf, unsigned int order)
{
	if (static_branch_unlikely(&mcpage_key))
		__mcpage_fault_unfit(vmf, order);
}

/**
 * mcpage_governs_folios - does mcpage choose the orders, and are blocks folios?
 * @vma: the mapping
 *
 * Context: @vma is stable.
 * Return: true if a large folio that is mapped there is one of mcpage's.
 */
static inline bool mcpage_governs_folios(const struct vm_area_struct *vma)
{
	return IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) &&
	       mcpage_governs(vma, vma->vm_flags);
}

/**
 * mcpage_madvise_free - MADV_FREE for one block
 * @tlb: what is gathered
 * @vma: the mapping
 * @pmd: the entry of the page table
 * @addr: an address
 * @end: where the range ends, in the same page table
 * @folio: the large folio that is mapped at @addr
 * @pte: the entry of @addr. The page table may be unlocked and locked again; it is
 *	NULL afterwards if it has vanished meanwhile.
 * @ptl: the lock of the page table
 * @nr: set to by how many entries to go on, 0 if the first one is to be looked at
 *	again
 *
 * Context: the page table is mapped and locked, mmap_lock is held for reading.
 * May sleep.
 * Return: true if it is done, false if mcpage has no say in it.
 */
static inline bool mcpage_madvise_free(struct mmu_gather *tlb,
				       struct vm_area_struct *vma, pmd_t *pmd,
				       unsigned long addr, unsigned long end,
				       struct folio *folio, pte_t **pte,
				       spinlock_t **ptl, int *nr)
{
	if (!mcpage_governs_folios(vma))
		return false;
	*nr = __mcpage_free_whole(tlb, vma, addr, end, folio, *pte);
	if (*nr < 0)
		*nr = __mcpage_free_part(tlb, vma, pmd, addr, -*nr, folio, pte, ptl);
	return true;
}

/**
 * mcpage_madvise_free_pmd - MADV_FREE for a huge page as a whole
 * @tlb: what is gathered
 * @vma: the mapping
 * @pmd: the entry that maps it
 * @addr: its address
 * @folio: the huge page, locked
 *
 * Context: @pmd is locked.
 * Return: true if it is done, false if mcpage has no say in it.
 */
static inline bool mcpage_madvise_free_pmd(struct mmu_gather *tlb,
					   struct vm_area_struct *vma, pmd_t *pmd,
					   unsigned long addr, struct folio *folio)
{
	if (!mcpage_governs_folios(vma))
		return false;
	__mcpage_madvise_free_pmd(tlb, vma, pmd, addr, folio);
	return true;
}

/**
 * mcpage_madvise_cold - MADV_COLD for a part of a block
 * @tlb: what is gathered
 * @vma: the mapping
 * @addr: the part's address
 * @folio: the block, not shared
 * @ptep: the entry of @addr
 * @nr: how many entries map the part
 *
 * Context: the page table is mapped and locked.
 * Return: true if it is done, false if the block is to be split.
 */
static inline bool mcpage_madvise_cold(struct mmu_gather *tlb,
				       struct vm_area_struct *vma, unsigned long addr,
				       struct folio *folio, pte_t *ptep, int nr)
{
	return mcpage_governs_folios(vma) &&
	       __mcpage_madvise_cold(tlb, vma, addr, folio, ptep, nr);
}

/**
 * mcpage_map_by_ptes - have a huge page mapped by a page table, for its parts
 * @vma: the mapping
 * @pmd: the entry that maps it
 * @addr: an address in it
 * @folio: the huge page, locked and not shared; the caller has one reference
 * @ptl: the lock of @pmd, held; released if it is done
 *
 * Context: mmap_lock is held for reading. May sleep if it is done.
 * Return: true if it is done, or must not be done as somebody holds the huge page;
 * false if it is to be split.
 */
static inline bool mcpage_map_by_ptes(struct vm_area_struct *vma, pmd_t *pmd,
				      unsigned long addr, struct folio *folio,
				      spinlock_t *ptl)
{
	if (!mcpage_governs_folios(vma))
		return false;
	__mcpage_map_by_ptes(vma, pmd, addr, folio, ptl);
	return true;
}

/**
 * mcpage_split_to - into what a block is split for madvise()
 * @vma: the mapping
 * @folio: the block, locked
 * @page: the first page of the part that the advice is about
 * @nr: the number of its pages
 *
 * Context: any in which @vma is stable.
 * Return: the order; 0 for single pages.
 */
static inline unsigned int mcpage_split_to(struct vm_area_struct *vma,
					   struct folio *folio, struct page *page,
					   unsigned long nr)
{
	return mcpage_governs_folios(vma) ? __mcpage_split_to(folio, page, nr) : 0;
}

/**
 * mcpage_folio_marked - were parts of a folio marked by MADV_FREE?
 * @folio: the folio
 *
 * No static key: what is marked stays so when mcpage is switched off.
 *
 * Context: @folio is stable.
 * Return: true if they were.
 */
static inline bool mcpage_folio_marked(struct folio *folio)
{
	/* An anonymous folio that is large has the three pages at least. */
	return IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) && folio_test_large(folio) &&
	       folio_test_anon(folio) && test_bit(PG_swapbacked, &folio->_flags_2);
}

/**
 * mcpage_page_marked - was a page marked by MADV_FREE?
 * @folio: the folio that it is in
 * @page: the page
 *
 * Context: @folio is stable.
 * Return: true if it was. What was written since is not free, though.
 */
static inline bool mcpage_page_marked(struct folio *folio, struct page *page)
{
	return mcpage_folio_marked(folio) && !folio_test_swapcache(folio) &&
	       __mcpage_page_marked(folio, page);
}

/**
 * mcpage_discard_marked - discard the marked pages of a folio that is to be split
 * @folio: the folio, locked; the caller has one reference
 *
 * Context: the anon_vma of @folio is locked for writing. May sleep.
 * Return: false if somebody holds the folio, so that it cannot be split.
 */
static inline bool mcpage_discard_marked(struct folio *folio)
{
	return !mcpage_folio_marked(folio) || __mcpage_discard_marked(folio);
}

/**
 * mcpage_in_use_again - is there nothing to gain from the split of a folio, as all
 *	that was marked has been written since?
 * @folio: the folio, partially mapped, locked; the caller has one reference
 *
 * Context: no lock of the reverse map is held. May sleep.
 * Return: true if it is; it does not count as partially mapped any more.
 */
static inline bool mcpage_in_use_again(struct folio *folio)
{
	return mcpage_folio_marked(folio) && __mcpage_in_use_again(folio);
}

/**
 * mcpage_is_lazyfree - is a folio a lazyfree block, and may mcpage have a say in it?
 * @folio: the folio
 *
 * Context: @folio is stable.
 * Return: true if it is.
 */
static inline bool mcpage_is_lazyfree(struct folio *folio)
{
	return static_branch_unlikely(&mcpage_key) &&
	       IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) && !folio_test_swapbacked(folio) &&
	       folio_test_large(folio) && folio_test_anon(folio);
}

/**
 * mcpage_lazyfree_young - was a lazyfree folio used?
 * @folio: the folio
 * @pvmw: where it is mapped; on success moved to the last of its entries
 * @mapcount: less by the entries that were looked at
 * @referenced: more by one if any of them was young; none is afterwards
 *
 * Context: as the body of folio_referenced_one(): the page table is locked.
 * Return: false if it is to be found out page by page.
 */
static inline bool mcpage_lazyfree_young(struct folio *folio,
					 struct page_vma_mapped_walk *pvmw,
					 int *mapcount, int *referenced)
{
	return mcpage_is_lazyfree(folio) &&
	       __mcpage_lazyfree_young(folio, pvmw, mapcount, referenced);
}

/**
 * mcpage_lazyfree_unmap - take a lazyfree folio out of an address space at once
 * @folio: the folio, locked
 * @pvmw: where it is mapped
 * @flags: what the caller of try_to_unmap() wants
 *
 * Context: as the body of try_to_unmap_one(): the page table is locked.
 * Return: 1 if it is not mapped there any more; -1 if it was written, and is an
 * ordinary folio again; 0 if that is to be found out page by page.
 */
static inline int mcpage_lazyfree_unmap(struct folio *folio,
					struct page_vma_mapped_walk *pvmw,
					unsigned int flags)
{
	return mcpage_is_lazyfree(folio) ? __mcpage_lazyfree_unmap(folio, pvmw, flags) : 0;
}

#else /* !CONFIG_MCPAGE */

#define MCPAGE_VM_MNEMONICS

static inline unsigned long mcpage_thp_orders(struct vm_area_struct *vma,
					      unsigned long vm_flags,
					      unsigned long tva_flags,
					      unsigned long orders)
{
	return 0;
}

static inline gfp_t mcpage_gfp_mask(void)
{
	return 0;
}

static inline struct folio *mcpage_alloc_anon_folio(struct vm_fault *vmf,
						    unsigned long orders)
{
	return NULL;
}

static inline void mcpage_exec(struct mm_struct *mm, bool privileged)
{
}

static inline int mcpage_prctl_set(unsigned long scope, unsigned long arg3,
				   unsigned long arg4, unsigned long arg5)
{
	return -EINVAL;
}

static inline int mcpage_prctl_get(unsigned long scope, unsigned long arg3,
				   unsigned long arg4, unsigned long arg5)
{
	return -EINVAL;
}

static inline bool mcpage_governs(const struct vm_area_struct *vma,
				  unsigned long vm_flags)
{
	return false;
}

static inline vm_fault_t mcpage_fault_pages(struct vm_fault *vmf)
{
	return VM_FAULT_FALLBACK;
}

static inline vm_fault_t mcpage_fault_zero_page(struct vm_fault *vmf)
{
	return VM_FAULT_FALLBACK;
}

static inline bool mcpage_drop_huge_zero_page(struct vm_fault *vmf)
{
	return false;
}

static inline bool mcpage_fault_wants_page(struct vm_fault *vmf)
{
	return false;
}

static inline bool mcpage_fault_wants_pmd(struct vm_fault *vmf)
{
	return true;
}

static inline unsigned int mcpage_max_ptes_none(struct vm_area_struct *vma,
						unsigned int max)
{
	return max;
}

static inline bool mcpage_zero_folio(struct folio *folio, unsigned long addr_hint)
{
	return false;
}

static inline void mcpage_collapse_zero(struct folio *folio, unsigned int unused)
{
}

static inline bool mcpage_madvise_free(struct mmu_gather *tlb,
				       struct vm_area_struct *vma, pmd_t *pmd,
				       unsigned long addr, unsigned long end,
				       struct folio *folio, pte_t **pte,
				       spinlock_t **ptl, int *nr)
{
	return false;
}

static inline bool mcpage_madvise_free_pmd(struct mmu_gather *tlb,
					   struct vm_area_struct *vma, pmd_t *pmd,
					   unsigned long addr, struct folio *folio)
{
	return false;
}

static inline bool mcpage_madvise_cold(struct mmu_gather *tlb,
				       struct vm_area_struct *vma, unsigned long addr,
				       struct folio *folio, pte_t *ptep, int nr)
{
	return false;
}

static inline bool mcpage_map_by_ptes(struct vm_area_struct *vma, pmd_t *pmd,
				      unsigned long addr, struct folio *folio,
				      spinlock_t *ptl)
{
	return false;
}

static inline unsigned int mcpage_split_to(struct vm_area_struct *vma,
					   struct folio *folio, struct page *page,
					   unsigned long nr)
{
	return 0;
}

static inline bool mcpage_page_marked(struct folio *folio, struct page *page)
{
	return false;
}

static inline bool mcpage_discard_marked(struct folio *folio)
{
	return true;
}

static inline bool mcpage_in_use_again(struct folio *folio)
{
	return false;
}

static inline bool mcpage_lazyfree_young(struct folio *folio,
					 struct page_vma_mapped_walk *pvmw,
					 int *mapcount, int *referenced)
{
	return false;
}

static inline int mcpage_lazyfree_unmap(struct folio *folio,
					struct page_vma_mapped_walk *pvmw,
					unsigned int flags)
{
	return 0;
}

static inline void mcpage_fault_unfit(struct vm_fault *vmf, unsigned int order)
{
}

static inline void mcpage_fault_result(struct vm_fault *vmf, unsigned int order,
				       enum mcpage_stat_item item)
{
}

#endif /* CONFIG_MCPAGE */

#endif /* _LINUX_MCPAGE_H */
