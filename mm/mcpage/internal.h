/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mcpage: shared by the files of mm/mcpage and their tests.
 *
 * Lock order:
 *	mcpage_settings_lock
 *	  cpu_hotplug_lock, inside the static keys' update
 *	mmap_lock
 *	  page table locks
 * mcpage_settings_lock and mmap_lock are never held together.
 *
 * Of a block: the folio's lock, the lock of its anon_vma, page table locks, and the
 * lock of the deferred split queue. Under a page table lock the folio is only
 * tried to be locked.
 */
#ifndef _MM_MCPAGE_INTERNAL_H
#define _MM_MCPAGE_INTERNAL_H

#include <linux/kobject.h>
#include <linux/log2.h>
#include <linux/mcpage.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/pgtable.h>

#include "clear.h"

/*
 * The smallest order of a block: a large anonymous folio of order 1 has no room
 * for the link of the deferred split list, which is in its third page.
 */
#define MCPAGE_MIN_ORDER	2
/* The size of tables indexed by order: what a page table can hold, at most. */
#define MCPAGE_NR_ORDERS	(ilog2(MAX_PTRS_PER_PTE) + 1)

/**
 * enum mcpage_enabled - where the system's order set applies
 * @MCPAGE_ALWAYS: to every anonymous mapping
 * @MCPAGE_ADVISE: where the process or the VMA has a policy
 * @MCPAGE_NEVER: nowhere; nothing overrides it
 * @NR_MCPAGE_ENABLED: how many there are
 */
enum mcpage_enabled {
	MCPAGE_ALWAYS,
	MCPAGE_ADVISE,
	MCPAGE_NEVER,
	NR_MCPAGE_ENABLED
};

/**
 * enum mcpage_class - kinds of mappings with order sets of their own
 * @MCPAGE_HEAP: the VMAs of brk()
 * @MCPAGE_STACK: VMAs that grow on demand
 * @MCPAGE_MMAP: every other anonymous VMA
 * @NR_MCPAGE_CLASSES: how many there are
 */
enum mcpage_class {
	MCPAGE_HEAP,
	MCPAGE_STACK,
	MCPAGE_MMAP,
	NR_MCPAGE_CLASSES
};

/**
 * enum mcpage_mode - how the order of a block is chosen
 * @MCPAGE_FIXED: the highest order that can be had
 * @MCPAGE_ADAPTIVE: an order that the use of the neighbouring pages justifies
 * @NR_MCPAGE_MODES: how many there are
 */
enum mcpage_mode {
	MCPAGE_FIXED,
	MCPAGE_ADAPTIVE,
	NR_MCPAGE_MODES
};

/**
 * enum mcpage_backing - what a block is made of
 * @MCPAGE_FOLIO: one large folio
 * @MCPAGE_PAGES: single pages, all mapped in one fault
 * @NR_MCPAGE_BACKINGS: how many there are
 */
enum mcpage_backing {
	MCPAGE_FOLIO,
	MCPAGE_PAGES,
	NR_MCPAGE_BACKINGS
};

/**
 * enum mcpage_effort - how hard a fault tries to get a block
 * @MCPAGE_LIGHT: wake kswapd, but neither reclaim nor compact
 * @MCPAGE_DIRECT: reclaim and compact, as THP does with defrag=always
 * @MCPAGE_FREE_ONLY: take what is free ("never")
 * @NR_MCPAGE_EFFORTS: how many there are
 */
enum mcpage_effort {
	MCPAGE_LIGHT,
	MCPAGE_DIRECT,
	MCPAGE_FREE_ONLY,
	NR_MCPAGE_EFFORTS
};

/**
 * struct mcpage_settings - the system's policy, as sysfs shows it
 * @orders: the system's order set; bit n allows blocks of 2^n pages
 * @class_orders: the same by class
 * @enabled: where @orders applies, an enum mcpage_enabled
 * @mode: how the order is chosen, an enum mcpage_mode
 * @backing: what blocks are made of, an enum mcpage_backing
 * @effort: how hard a fault tries, an enum mcpage_effort
 * @partial: how MADV_FREE treats parts of blocks, an enum mcpage_partial
 * @used: some process or VMA has had a policy since boot. Until then faults cost
 *	as little with "advise" as with "never".
 * @used_adaptive: one of them asked for the adaptive mode
 *
 * Each field is read on its own, without a lock, and written under
 * mcpage_settings_lock. A fault that runs while a field changes uses the old
 * value or the new one.
 */
struct mcpage_settings {
	unsigned long orders;
	unsigned long class_orders[NR_MCPAGE_CLASSES];
	unsigned int enabled;
	unsigned int mode;
	unsigned int backing;
	unsigned int effort;
	unsigned int partial;
	bool used;
	bool used_adaptive;
};

extern struct mcpage_settings mcpage_settings;
extern const char * const mcpage_enabled_names[NR_MCPAGE_ENABLED];
extern struct mutex mcpage_settings_lock;

/*
 * A policy as it is kept in mm_struct and handed about: the value of the
 * prctl() interface with bit 0, which no value has, for "there is one". All
 * bits zero, as a new mm_struct has them, is "no policy".
 */
typedef u32 mcpage_policy_t;
#define MCPAGE_POLICY_SET	1U

/**
 * enum mcpage_fit - does an aligned block around an address fit in a range?
 * @MCPAGE_FITS: it does
 * @MCPAGE_BEGINS_BEFORE: its first page is before the range
 * @MCPAGE_ENDS_BEHIND: its last page is behind the range
 */
enum mcpage_fit {
	MCPAGE_FITS,
	MCPAGE_BEGINS_BEFORE,
	MCPAGE_ENDS_BEHIND,
};

/**
 * mcpage_is_pages - is a block made of single pages?
 * @backing: what it is made of
 *
 * Context: any.
 * Return: true if it is, as it always is without large folios.
 */
static inline bool mcpage_is_pages(enum mcpage_backing backing)
{
	return !IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) || backing == MCPAGE_PAGES;
}

/* policy.c: decisions without mm state */
unsigned long mcpage_valid_orders(void);
bool mcpage_policy_applies(enum mcpage_enabled enabled, mcpage_policy_t process,
			   mcpage_policy_t vma);
unsigned long mcpage_effective_orders(unsigned long system, unsigned long class,
				      mcpage_policy_t process,
				      mcpage_policy_t vma);
int mcpage_policy_parse(unsigned long value, unsigned long flags,
			mcpage_policy_t *policy);
unsigned long mcpage_policy_value(mcpage_policy_t policy);
int mcpage_policy_may_replace(mcpage_policy_t old, mcpage_policy_t new);
mcpage_policy_t mcpage_policy_after_exec(mcpage_policy_t old, bool privileged);
unsigned long mcpage_policy_to_vm_flags(mcpage_policy_t policy);
mcpage_policy_t mcpage_policy_from_vm_flags(unsigned long vm_flags);
enum mcpage_fit mcpage_block_fit(unsigned long start, unsigned long end,
				 unsigned long address, unsigned int order);
gfp_t mcpage_effort_gfp(enum mcpage_effort effort);

/* policy.c: the policy of a mapping */
enum mcpage_class mcpage_vma_class(const struct vm_area_struct *vma);
unsigned long mcpage_vma_orders(const struct vm_area_struct *vma,
				unsigned long vm_flags);
void mcpage_switch(struct static_key_false *key, bool on);
void mcpage_settings_changed(void);
void mcpage_policy_in_use(mcpage_policy_t policy);

/* adaptive.c */
unsigned long mcpage_adaptive_pages(unsigned int order);
unsigned int mcpage_adaptive_order(unsigned long index, unsigned long below,
				   unsigned long above);
unsigned int mcpage_adaptive_highest(struct vm_fault *vmf, unsigned int lowest);

/**
 * mcpage_mode_adaptive - is the mode of a mapping the adaptive one?
 * @system: the system's mode
 * @process: the policy of the process
 * @vma: the policy of the VMA
 *
 * Each scope narrows the one above, and the adaptive mode uses fewer blocks.
 *
 * Context: any.
 * Return: true if any of them asks for it.
 */
static inline bool mcpage_mode_adaptive(enum mcpage_mode system,
					mcpage_policy_t process,
					mcpage_policy_t vma)
{
	return system == MCPAGE_ADAPTIVE || ((process | vma) & PR_MCPAGE_ADAPTIVE);
}

/**
 * mcpage_vma_adaptive - is the mode of a mapping the adaptive one?
 * @vma: the mapping, governed by mcpage
 *
 * Context: @vma is stable.
 * Return: true if it is.
 */
static inline bool mcpage_vma_adaptive(const struct vm_area_struct *vma)
{
	return mcpage_mode_adaptive(READ_ONCE(mcpage_settings.mode),
				    READ_ONCE(vma->vm_mm->mcpage_policy),
				    mcpage_policy_from_vm_flags(vma->vm_flags));
}

/**
 * mcpage_at_edge - is a page the first or the last of an aligned block?
 * @index: the page's number: its address in pages
 * @order: the block's order
 *
 * Context: any.
 * Return: true if it is.
 */
static inline bool mcpage_at_edge(unsigned long index, unsigned int order)
{
	/* The bits below @order are all clear, or all set. */
	return ((index + 1) & (BIT(order) - 1)) <= 1;
}

/* zeropage.c */
bool mcpage_pte_replaceable(pte_t pte);

/* lazyfree_plan.c */
extern const char * const mcpage_partial_names[NR_MCPAGE_PARTIALS];
unsigned int mcpage_ptes_consecutive(pte_t *ptep, unsigned int max, bool *touched);
unsigned int mcpage_ptes_alike(pte_t *ptep, unsigned int max);
unsigned int mcpage_split_order(unsigned int order, unsigned long first,
				unsigned long nr);

/* lazyfree.c */
void mcpage_mark_clean(struct folio *folio, unsigned int first, pte_t *ptep,
		       unsigned int nr);
void mcpage_unmark(struct folio *folio);

/**
 * mcpage_markable - may pages of a block be marked?
 * @folio: the block
 *
 * Context: the block is locked, and so is the page table that maps it.
 * Return: false if a clean entry would not say that its page was not written.
 */
static inline bool mcpage_markable(struct folio *folio)
{
	return !folio_test_dirty(folio) && !folio_test_swapcache(folio) &&
	       !folio_entire_mapcount(folio);
}

/* stats.c */

/**
 * struct mcpage_stats - event counters of one CPU
 * @events: by block order and outcome
 */
struct mcpage_stats {
	unsigned long events[MCPAGE_NR_ORDERS][NR_MCPAGE_STAT_ITEMS];
};

DECLARE_PER_CPU(struct mcpage_stats, mcpage_stats);
extern const char * const mcpage_stat_names[NR_MCPAGE_STAT_ITEMS];
void mcpage_stat_add(unsigned int order, enum mcpage_stat_item item);
unsigned long mcpage_stat_read(unsigned int order, enum mcpage_stat_item item);

/**
 * mcpage_stat_inc - count one event, of a kind that has no sum in /proc/vmstat
 * @order: the block's order, valid
 * @item: what happened
 *
 * Context: any.
 */
static inline void mcpage_stat_inc(unsigned int order, enum mcpage_stat_item item)
{
	this_cpu_inc(mcpage_stats.events[order][item]);
}

/* fault.c */
bool mcpage_range_free(pte_t *pte, unsigned int nr, bool zero);
unsigned long mcpage_allowed_orders(struct vm_fault *vmf, enum mcpage_backing backing);
bool mcpage_choose_orders(struct vm_fault *vmf, unsigned long allowed, bool zero,
			  unsigned long *orders);
struct folio *mcpage_folio_get(struct vm_fault *vmf, unsigned long orders);
struct page *mcpage_pages_get(struct vm_fault *vmf, unsigned long orders,
			      unsigned int *order);
void mcpage_pages_free(struct page *page, unsigned int nr);
void mcpage_pages_map(struct vm_fault *vmf, struct page *page,
		      unsigned long addr, unsigned int nr);
#if IS_ENABLED(CONFIG_KUNIT)
struct folio *mcpage_folio_alloc(gfp_t gfp, unsigned int order,
				 struct vm_area_struct *vma, unsigned long addr);
struct page *mcpage_pages_alloc(gfp_t gfp, unsigned int order,
				struct vm_area_struct *vma, unsigned long addr);
int mcpage_charge(struct folio *folio, struct mm_struct *mm, gfp_t gfp);
vm_fault_t mcpage_check_stable(struct mm_struct *mm);
#endif

/**
 * struct mcpage_clear_settings - how memory is cleared, as sysfs shows it
 * @method: an enum mcpage_clear_method
 * @cached_kb: the most around a fault that is left in the caches, in KiB
 * @chunk_kb: the most that is cleared without a pause, in KiB
 *
 * Each field is read on its own, without a lock, and written under
 * mcpage_settings_lock.
 */
struct mcpage_clear_settings {
	unsigned int method;
	unsigned int cached_kb;
	unsigned int chunk_kb;
};

/**
 * struct mcpage_clear_stats - what one CPU has cleared
 * @calls: chunks, by method
 * @bytes: bytes, by method
 */
struct mcpage_clear_stats {
	unsigned long calls[NR_MCPAGE_CLEAR_METHODS];
	unsigned long bytes[NR_MCPAGE_CLEAR_METHODS];
};

/* clear.c */
extern struct mcpage_clear_settings mcpage_clear_settings;
unsigned int mcpage_clear_methods(void);
int mcpage_clear_set(enum mcpage_clear_method method);
void mcpage_clear_changed(void);
void mcpage_clear_stat_read(enum mcpage_clear_method method, u64 *calls, u64 *bytes);
ssize_t mcpage_clear_measured_show(char *buf);
void __mcpage_clear_pages(struct page *page, unsigned int nr, unsigned long offset);
#if IS_ENABLED(CONFIG_KUNIT)
bool mcpage_init_on_alloc(void);
#endif

/**
 * mcpage_clear_pages - clear contiguous pages that will be mapped to user space
 * @page: the first page, fresh from the page allocator
 * @nr: how many pages
 * @offset: where among them the fault was, in bytes
 *
 * Context: process context, may sleep.
 * Return: true if they are cleared, false if it has to be done in another way.
 */
static inline bool mcpage_clear_pages(struct page *page, unsigned int nr,
				      unsigned long offset)
{
	if (!static_branch_unlikely(&mcpage_clear_key))
		return false;
	__mcpage_clear_pages(page, nr, offset);
	return true;
}

/* sysfs.c */
int mcpage_orders_parse(const char *buf, size_t len, unsigned long valid,
			unsigned long *orders);
ssize_t mcpage_choice_show(char *buf, const char * const *names, int nr, int active);
int mcpage_choice_parse(const char *buf, size_t count, const char * const *names,
			int nr);
#if IS_ENABLED(CONFIG_KUNIT)
extern struct kobject *mcpage_kobj;
#endif

/* sysfs_clear.c */
extern const struct attribute_group mcpage_clear_group;

#endif /* _MM_MCPAGE_INTERNAL_H */
