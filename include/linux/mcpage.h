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
#include <uapi/linux/mcpage.h>

struct folio;
struct vm_fault;

/**
 * enum mcpage_stat_item - what became of an attempt to map one block
 * @MCPAGE_STAT_ALLOC: the block was mapped
 * @MCPAGE_STAT_FALLBACK: no free block of this order could be had
 * @MCPAGE_STAT_CHARGE_FAILED: the memory cgroup refused the charge
 * @MCPAGE_STAT_PAGE_TABLE_POPULATED: part of the range was mapped already
 * @MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE: the process was being killed for memory
 * @MCPAGE_STAT_UNALIGNED: the block would have begun before the VMA
 * @MCPAGE_STAT_SHORT: the block would have ended behind the VMA
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
	NR_MCPAGE_STAT_ITEMS
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

static inline void mcpage_fault_unfit(struct vm_fault *vmf, unsigned int order)
{
}

static inline void mcpage_fault_result(struct vm_fault *vmf, unsigned int order,
				       enum mcpage_stat_item item)
{
}

#endif /* CONFIG_MCPAGE */

#endif /* _LINUX_MCPAGE_H */
