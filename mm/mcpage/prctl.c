// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: prctl(PR_SET_MCPAGE) and prctl(PR_GET_MCPAGE).
 */
#include <linux/atomic.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmap_lock.h>
#include <linux/sched.h>

#include "../internal.h"
#include "internal.h"

/* All that a VMA keeps of its policy. */
#define VM_MCPAGE_POLICY	(VM_MCPAGE | VM_MCPAGE_ORDERS | VM_MCPAGE_ADAPTIVE)

static int mcpage_process_set(unsigned long value)
{
	mcpage_policy_t *present = &current->mm->mcpage_policy;
	mcpage_policy_t old, new;
	int err;

	err = mcpage_policy_parse(value, PR_MCPAGE_INHERIT | PR_MCPAGE_SEAL |
				  PR_MCPAGE_ADAPTIVE, &new);
	if (err)
		return err;

	/* Two threads may race; a seal must not be lost between them. */
	old = READ_ONCE(*present);
	do {
		err = mcpage_policy_may_replace(old, new);
		if (err)
			return err;
		if (old == new)
			return 0;
		if (new)
			mcpage_policy_in_use(new);
	} while (!try_cmpxchg(present, &old, new));
	return 0;
}

/* Only memory whose faults mcpage serves can have a policy. */
static bool mcpage_vma_can_have_policy(struct vm_area_struct *vma)
{
	return vma_is_anonymous(vma) && !(vma->vm_flags & (VM_SPECIAL | VM_HUGETLB));
}

/*
 * Check a range and tell whether any VMA in it has other @flags.
 */
static int mcpage_range_check(struct mm_struct *mm, unsigned long start,
			      unsigned long end, unsigned long flags,
			      bool *changes)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;
	unsigned long next = start;

	*changes = false;
	for_each_vma_range(vmi, vma, end) {
		if (vma->vm_start > next)
			return -ENOMEM;
		if (!mcpage_vma_can_have_policy(vma))
			return -EINVAL;
		if ((vma->vm_flags & VM_MCPAGE_POLICY) != flags)
			*changes = true;
		next = vma->vm_end;
	}
	return next < end ? -ENOMEM : 0;
}

/*
 * Merge what can be merged in a range and at its ends. That it could not, for
 * lack of memory, costs a VMA and changes nothing else.
 */
static void mcpage_range_merge(struct mm_struct *mm, unsigned long start,
			       unsigned long end)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma, *prev, *merged;

	vma = vma_find(&vmi, end);
	if (!vma)
		return;
	prev = vma_prev(&vmi);
	for_each_vma_range(vmi, vma, end) {
		merged = vma_modify_flags(&vmi, prev, vma, vma->vm_start,
					  vma->vm_end, vma->vm_flags);
		if (!IS_ERR(merged))
			vma = merged;
		prev = vma;
	}
}

/* Make a VMA begin at @address if one spans it with other @flags. */
static int mcpage_split_at(struct mm_struct *mm, unsigned long address,
			   unsigned long flags)
{
	VMA_ITERATOR(vmi, mm, address);
	struct vm_area_struct *vma = vma_find(&vmi, address + 1);

	if (!vma || vma->vm_start >= address)
		return 0;
	if ((vma->vm_flags & VM_MCPAGE_POLICY) == flags)
		return 0;
	return split_vma(&vmi, vma, address, 1);
}

/*
 * All or nothing: the splits, which may fail, come before the first change.
 */
static int mcpage_range_set(struct mm_struct *mm, unsigned long start,
			    unsigned long end, unsigned long flags)
{
	VMA_ITERATOR(vmi, mm, start);
	struct vm_area_struct *vma;
	bool changes;
	int err;

	mmap_assert_write_locked(mm);

	err = mcpage_range_check(mm, start, end, flags, &changes);
	if (err || !changes)
		return err;

	err = mcpage_split_at(mm, start, flags);
	if (!err)
		err = mcpage_split_at(mm, end, flags);
	if (!err) {
		for_each_vma_range(vmi, vma, end) {
			/* May reach out of the range only if it has them already. */
			if ((vma->vm_flags & VM_MCPAGE_POLICY) == flags)
				continue;
			vma_start_write(vma);
			vm_flags_reset(vma, (vma->vm_flags &
					     ~VM_MCPAGE_POLICY) | flags);
		}
	}
	mcpage_range_merge(mm, start, end);
	return err;
}

static int mcpage_vma_set(unsigned long start, unsigned long len,
			  unsigned long value)
{
	struct mm_struct *mm = current->mm;
	mcpage_policy_t policy;
	unsigned long end;
	int err;

	if (!VM_MCPAGE)
		return -EOPNOTSUPP;
	err = mcpage_policy_parse(value, PR_MCPAGE_ADAPTIVE, &policy);
	if (err)
		return err;

	start = untagged_addr(start);
	if (!PAGE_ALIGNED(start))
		return -EINVAL;
	end = start + PAGE_ALIGN(len);
	/* As madvise(): a length that wraps is refused, none is no range. */
	if (end < start || PAGE_ALIGN(len) < len)
		return -EINVAL;
	if (end == start)
		return 0;

	if (policy)
		mcpage_policy_in_use(policy);
	if (mmap_write_lock_killable(mm))
		return -EINTR;
	err = mcpage_range_set(mm, start, end, mcpage_policy_to_vm_flags(policy));
	mmap_write_unlock(mm);
	return err;
}

static int mcpage_vma_get(unsigned long address)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	int ret;

	if (!VM_MCPAGE)
		return -EOPNOTSUPP;
	address = untagged_addr(address);
	if (mmap_read_lock_killable(mm))
		return -EINTR;
	vma = vma_lookup(mm, address);
	if (!vma)
		ret = -ENOMEM;
	else if (!mcpage_vma_can_have_policy(vma))
		ret = -EINVAL;
	else
		ret = mcpage_policy_value(mcpage_policy_from_vm_flags(vma->vm_flags));
	mmap_read_unlock(mm);
	return ret;
}

/**
 * mcpage_prctl_set - prctl(PR_SET_MCPAGE)
 * @scope: PR_MCPAGE_PROCESS or PR_MCPAGE_VMA
 * @arg3: the value, or the start of the range in bytes
 * @arg4: 0, or the length of the range in bytes
 * @arg5: 0, or the value
 *
 * Context: process context, takes the mmap lock.
 * Return: 0; -EINVAL for what is not understood, or a VMA that cannot have a
 * policy; -EPERM where the policy is sealed; -ENOMEM for a hole in the range or
 * if there is no memory or no room in the process's limit for another VMA;
 * -EOPNOTSUPP for the VMA scope on 32-bit; -EINTR if killed. Nothing has
 * changed then.
 */
int mcpage_prctl_set(unsigned long scope, unsigned long arg3,
		     unsigned long arg4, unsigned long arg5)
{
	switch (scope) {
	case PR_MCPAGE_PROCESS:
		if (arg4 || arg5)
			return -EINVAL;
		return mcpage_process_set(arg3);
	case PR_MCPAGE_VMA:
		return mcpage_vma_set(arg3, arg4, arg5);
	default:
		return -EINVAL;
	}
}

/**
 * mcpage_prctl_get - prctl(PR_GET_MCPAGE)
 * @scope: PR_MCPAGE_PROCESS or PR_MCPAGE_VMA
 * @arg3: 0, or an address in the VMA
 * @arg4: 0
 * @arg5: 0
 *
 * Context: process context, takes the mmap lock.
 * Return: the value, or an error as mcpage_prctl_set().
 */
int mcpage_prctl_get(unsigned long scope, unsigned long arg3,
		     unsigned long arg4, unsigned long arg5)
{
	if (arg4 || arg5)
		return -EINVAL;
	switch (scope) {
	case PR_MCPAGE_PROCESS:
		if (arg3)
			return -EINVAL;
		return mcpage_policy_value(READ_ONCE(current->mm->mcpage_policy));
	case PR_MCPAGE_VMA:
		return mcpage_vma_get(arg3);
	default:
		return -EINVAL;
	}
}
