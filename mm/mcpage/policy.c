// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: which block orders a fault may use, and who decides it.
 *
 * The first half of this file are decisions that see only their arguments. The
 * second half looks up the arguments of a mapping.
 */
#define pr_fmt(fmt) "mcpage: " fmt

#include <linux/build_bug.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/string.h>

#include "internal.h"

/* Values are bits 1 to 15 and flags from 16 on; bit 0 is ours. */
static_assert(!(PR_MCPAGE_ORDERS & MCPAGE_POLICY_SET));
static_assert(PR_MCPAGE_UNSET <= U32_MAX);
#ifdef CONFIG_64BIT
/* No flag that core mm or an architecture uses. */
static_assert(!((VM_MCPAGE | VM_MCPAGE_ORDERS | VM_MCPAGE_ADAPTIVE) &
		(VM_SEALED | VM_DROPPABLE | VM_ALLOW_ANY_UNCACHED |
		 VM_UFFD_MINOR | VM_SHADOW_STACK)));
#endif

DEFINE_STATIC_KEY_FALSE(mcpage_key);
DEFINE_STATIC_KEY_FALSE(mcpage_pages_key);
DEFINE_STATIC_KEY_FALSE(mcpage_adaptive_key);
u32 mcpage_always __read_mostly;

/* Serializes writers of mcpage_settings and of the static keys. */
DEFINE_MUTEX(mcpage_settings_lock);
struct mcpage_settings mcpage_settings __read_mostly = {
	.enabled = MCPAGE_ADVISE,
	.backing = IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) ? MCPAGE_FOLIO :
							     MCPAGE_PAGES,
	.effort = MCPAGE_LIGHT,
};

/**
 * mcpage_valid_orders - every order that a set may hold
 *
 * Orders from 2 on, as far as a page table, the page allocator and a value of
 * the prctl() interface reach.
 *
 * Context: any.
 * Return: the set, bit n for order n.
 */
unsigned long mcpage_valid_orders(void)
{
	unsigned int max = min3(PMD_ORDER, MAX_PAGE_ORDER, 15);

	BUILD_BUG_ON(MCPAGE_NR_ORDERS > BITS_PER_LONG);
	return GENMASK(max, MCPAGE_MIN_ORDER);
}

/**
 * mcpage_policy_applies - does mcpage choose the orders of a mapping?
 * @enabled: the system's setting
 * @process: the policy of the process
 * @vma: the policy of the VMA
 *
 * Context: any.
 * Return: true if it does, false if the mapping is as without mcpage.
 */
bool mcpage_policy_applies(enum mcpage_enabled enabled, mcpage_policy_t process,
			   mcpage_policy_t vma)
{
	switch (enabled) {
	case MCPAGE_ALWAYS:
		return true;
	case MCPAGE_ADVISE:
		return process || vma;
	default:
		return false;
	}
}

/**
 * mcpage_effective_orders - what the scopes allow together
 * @system: the system's order set
 * @class: the order set of the mapping's class
 * @process: the policy of the process
 * @vma: the policy of the VMA
 *
 * Each scope narrows the one above. A scope without a policy changes nothing.
 *
 * Context: any.
 * Return: the order set; empty for single pages only.
 */
unsigned long mcpage_effective_orders(unsigned long system, unsigned long class,
				      mcpage_policy_t process,
				      mcpage_policy_t vma)
{
	unsigned long orders = system & class;

	if (process)
		orders &= process & PR_MCPAGE_ORDERS;
	if (vma)
		orders &= vma & PR_MCPAGE_ORDERS;
	return orders;
}

/**
 * mcpage_policy_parse - check a value of the prctl() interface
 * @value: the value
 * @flags: the flags that the scope knows, besides PR_MCPAGE_UNSET
 * @policy: set to the policy on success
 *
 * Context: any.
 * Return: 0, or -EINVAL for an order that is never valid, an unknown flag, or
 * PR_MCPAGE_UNSET with anything else.
 */
int mcpage_policy_parse(unsigned long value, unsigned long flags,
			mcpage_policy_t *policy)
{
	if (value == PR_MCPAGE_UNSET) {
		*policy = 0;
		return 0;
	}
	if (value & ~(mcpage_valid_orders() | flags))
		return -EINVAL;
	*policy = value | MCPAGE_POLICY_SET;
	return 0;
}

/**
 * mcpage_policy_value - a policy as the prctl() interface shows it
 * @policy: the policy
 *
 * Context: any.
 * Return: the value that mcpage_policy_parse() turns into @policy.
 */
unsigned long mcpage_policy_value(mcpage_policy_t policy)
{
	return policy ? policy & ~MCPAGE_POLICY_SET : PR_MCPAGE_UNSET;
}

/**
 * mcpage_policy_may_replace - may a process replace its policy?
 * @old: the present policy
 * @new: the policy that is asked for
 *
 * A sealed policy stays sealed and can only lose orders; one with the adaptive
 * mode keeps it, as the fixed one uses more blocks.
 *
 * Context: any.
 * Return: 0 or -EPERM.
 */
int mcpage_policy_may_replace(mcpage_policy_t old, mcpage_policy_t new)
{
	if (!(old & PR_MCPAGE_SEAL))
		return 0;
	if (!(new & PR_MCPAGE_SEAL))
		return -EPERM;
	if (new & ~old & PR_MCPAGE_ORDERS)
		return -EPERM;
	if (old & ~new & PR_MCPAGE_ADAPTIVE)
		return -EPERM;
	return 0;
}

/**
 * mcpage_policy_after_exec - the policy that a new program starts with
 * @old: the policy before
 * @privileged: the program gains privileges by the exec (AT_SECURE)
 *
 * A sealed policy is kept too, as a seal that an exec breaks would be none. A
 * program with more privileges than its caller must not be held to what the
 * caller chose.
 *
 * Context: any.
 * Return: the policy.
 */
mcpage_policy_t mcpage_policy_after_exec(mcpage_policy_t old, bool privileged)
{
	if (privileged || !(old & (PR_MCPAGE_INHERIT | PR_MCPAGE_SEAL)))
		return 0;
	return old;
}

/**
 * mcpage_policy_to_vm_flags - a policy as a VMA keeps it
 * @policy: the policy
 *
 * Context: any. Only where VM_MCPAGE is not 0.
 * Return: the bits of vm_flags, within VM_MCPAGE, VM_MCPAGE_ORDERS and
 * VM_MCPAGE_ADAPTIVE.
 */
unsigned long mcpage_policy_to_vm_flags(mcpage_policy_t policy)
{
	unsigned long orders = policy & PR_MCPAGE_ORDERS;

	if (!policy)
		return 0;
	return VM_MCPAGE | ((orders << VM_MCPAGE_SHIFT) & VM_MCPAGE_ORDERS) |
	       (policy & PR_MCPAGE_ADAPTIVE ? VM_MCPAGE_ADAPTIVE : 0);
}

/**
 * mcpage_policy_from_vm_flags - the policy that a VMA keeps
 * @vm_flags: its flags
 *
 * Context: any.
 * Return: the policy; 0 if there is none.
 */
mcpage_policy_t mcpage_policy_from_vm_flags(unsigned long vm_flags)
{
	if (!(vm_flags & VM_MCPAGE))
		return 0;
	return ((vm_flags & VM_MCPAGE_ORDERS) >> VM_MCPAGE_SHIFT) |
	       (vm_flags & VM_MCPAGE_ADAPTIVE ? PR_MCPAGE_ADAPTIVE : 0) |
	       MCPAGE_POLICY_SET;
}

/**
 * mcpage_block_fit - does the aligned block around an address fit in a range?
 * @start: first byte of the range
 * @end: first byte behind the range
 * @address: an address in the range
 * @order: the block's order
 *
 * Context: any.
 * Return: whether it does, or on which side it does not; of two, the lower.
 */
enum mcpage_fit mcpage_block_fit(unsigned long start, unsigned long end,
				 unsigned long address, unsigned int order)
{
	unsigned long size = PAGE_SIZE << order;
	unsigned long block = ALIGN_DOWN(address, size);

	if (block < start)
		return MCPAGE_BEGINS_BEFORE;
	/* The block may be the last one of the address space. */
	if (end - block < size)
		return MCPAGE_ENDS_BEHIND;
	return MCPAGE_FITS;
}

/**
 * mcpage_effort_gfp - allocation flags for a block
 * @effort: how hard to try
 *
 * The flags serve the memory cgroup charge too: where they do not allow
 * blocking, or forbid retries, a failed charge never invokes the OOM killer.
 *
 * Context: any.
 * Return: the flags, for a large folio.
 */
gfp_t mcpage_effort_gfp(enum mcpage_effort effort)
{
	switch (effort) {
	case MCPAGE_DIRECT:
		return GFP_TRANSHUGE | __GFP_NORETRY;
	case MCPAGE_LIGHT:
		return GFP_TRANSHUGE_LIGHT | __GFP_KSWAPD_RECLAIM;
	default:
		return GFP_TRANSHUGE_LIGHT;
	}
}

/**
 * mcpage_gfp_mask - allocation flags for a block by the system's setting
 *
 * Context: any.
 * Return: the flags, for a large folio.
 */
gfp_t mcpage_gfp_mask(void)
{
	return mcpage_effort_gfp(READ_ONCE(mcpage_settings.effort));
}

/**
 * mcpage_vma_class - the class of a mapping
 * @vma: the mapping, anonymous
 *
 * Context: @vma is stable.
 * Return: its class.
 */
enum mcpage_class mcpage_vma_class(const struct vm_area_struct *vma)
{
	if ((vma->vm_flags & VM_STACK) || vma_is_initial_stack(vma))
		return MCPAGE_STACK;
	if (vma_is_initial_heap(vma))
		return MCPAGE_HEAP;
	return MCPAGE_MMAP;
}

/**
 * mcpage_vma_orders - the effective order set of a mapping
 * @vma: the mapping, governed by mcpage
 * @vm_flags: the flags to go by
 *
 * Context: @vma is stable.
 * Return: the order set.
 */
unsigned long mcpage_vma_orders(const struct vm_area_struct *vma,
				unsigned long vm_flags)
{
	enum mcpage_class class = mcpage_vma_class(vma);

	return mcpage_effective_orders(READ_ONCE(mcpage_settings.orders),
			READ_ONCE(mcpage_settings.class_orders[class]),
			READ_ONCE(vma->vm_mm->mcpage_policy),
			mcpage_policy_from_vm_flags(vm_flags));
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
/**
 * mcpage_thp_orders - thp_vma_allowable_orders() where mcpage governs
 * @vma: the mapping
 * @vm_flags: the flags to go by
 * @tva_flags: which path asks
 * @orders: the orders to consider
 *
 * The policy stands in for the choice of THP's sysfs files; all other refusals
 * stand. With the "pages" backing no path makes large folios.
 *
 * Context: @vma is stable.
 * Return: those of @orders that are allowed.
 */
unsigned long mcpage_thp_orders(struct vm_area_struct *vma,
				unsigned long vm_flags, unsigned long tva_flags,
				unsigned long orders)
{
	if (READ_ONCE(mcpage_settings.backing) == MCPAGE_PAGES)
		return 0;
	orders &= mcpage_vma_orders(vma, vm_flags);
	if (!orders)
		return 0;
	return __thp_vma_allowable_orders(vma, vm_flags, tva_flags, orders);
}
#endif

/**
 * mcpage_exec - give a new program the policy that it starts with
 * @mm: the new program's mm, not visible to others yet
 * @privileged: the program gains privileges by the exec
 *
 * Context: exec, past the point of no return; current is the only thread.
 */
void mcpage_exec(struct mm_struct *mm, bool privileged)
{
	mcpage_policy_t old;

	/* A user mode helper of the kernel comes from no program. */
	if (!current->mm)
		return;
	old = READ_ONCE(current->mm->mcpage_policy);
	mm->mcpage_policy = mcpage_policy_after_exec(old, privileged);
}

/* What mcpage_settings_changed() has done since boot, which is never undone. */
#define MCPAGE_READY		BIT(0)
#define MCPAGE_READY_ADAPTIVE	BIT(1)
static unsigned long mcpage_ready;

/**
 * mcpage_switch - switch a static key, if it is not as it should be
 * @key: the key
 * @on: how it should be
 *
 * Context: process context, may sleep; mcpage_settings_lock is held.
 */
void mcpage_switch(struct static_key_false *key, bool on)
{
	if (on == static_key_enabled(&key->key))
		return;
	if (on)
		static_branch_enable(key);
	else
		static_branch_disable(key);
}

/**
 * mcpage_settings_changed - let the fault path see what has been set
 *
 * Context: process context, may sleep; mcpage_settings_lock is held.
 */
void mcpage_settings_changed(void)
{
	const struct mcpage_settings *s = &mcpage_settings;
	bool active;

	lockdep_assert_held(&mcpage_settings_lock);

	active = s->enabled == MCPAGE_ALWAYS ||
		 (s->enabled == MCPAGE_ADVISE && s->used);

	WRITE_ONCE(mcpage_always, s->enabled == MCPAGE_ALWAYS);
	mcpage_switch(&mcpage_key, active);
	mcpage_switch(&mcpage_pages_key, active && s->backing == MCPAGE_PAGES);
	mcpage_switch(&mcpage_adaptive_key, active &&
		      (s->mode == MCPAGE_ADAPTIVE || s->used_adaptive));
	mcpage_clear_changed();
	/* Pairs with mcpage_policy_in_use(). */
	smp_store_release(&mcpage_ready, (s->used ? MCPAGE_READY : 0) |
			  (s->used_adaptive ? MCPAGE_READY_ADAPTIVE : 0));
}

/**
 * mcpage_policy_in_use - a process or a VMA is about to have a policy
 * @policy: the policy, maybe the first of all, or the first of its kind
 *
 * Context: process context, may sleep; mmap_lock is not held.
 */
void mcpage_policy_in_use(mcpage_policy_t policy)
{
	bool adaptive = policy & PR_MCPAGE_ADAPTIVE;
	unsigned long need = MCPAGE_READY | (adaptive ? MCPAGE_READY_ADAPTIVE : 0);

	/* Not before the static keys are on, which another may still be at. */
	if (likely((smp_load_acquire(&mcpage_ready) & need) == need))
		return;
	mutex_lock(&mcpage_settings_lock);
	WRITE_ONCE(mcpage_settings.used, true);
	if (adaptive)
		WRITE_ONCE(mcpage_settings.used_adaptive, true);
	mcpage_settings_changed();
	mutex_unlock(&mcpage_settings_lock);
}

/* What sysfs and the command line call them. */
const char * const mcpage_enabled_names[NR_MCPAGE_ENABLED] = {
	[MCPAGE_ALWAYS]	= "always",
	[MCPAGE_ADVISE]	= "advise",
	[MCPAGE_NEVER]	= "never",
};

static unsigned int mcpage_boot_enabled __initdata = MCPAGE_ADVISE;

static int __init mcpage_setup(char *str)
{
	int choice = str ? match_string(mcpage_enabled_names, NR_MCPAGE_ENABLED, str) :
			   -EINVAL;

	if (choice >= 0)
		mcpage_boot_enabled = choice;
	else
		pr_warn("mcpage= takes always, advise or never\n");
	return 0;
}
early_param("mcpage", mcpage_setup);

static int __init mcpage_init(void)
{
	unsigned long valid = mcpage_valid_orders();

	mutex_lock(&mcpage_settings_lock);
	mcpage_settings.orders = valid;
	mcpage_settings.class_orders[MCPAGE_HEAP] = valid;
	mcpage_settings.class_orders[MCPAGE_MMAP] = valid;
	/* Stacks are rarely dense, and every process has one. */
	mcpage_settings.class_orders[MCPAGE_STACK] = 0;
	mcpage_settings.enabled = mcpage_boot_enabled;
	mcpage_settings_changed();
	mutex_unlock(&mcpage_settings_lock);
	return 0;
}
core_initcall(mcpage_init);
