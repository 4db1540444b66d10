// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage_prctl: the calls, in an mm of the test's own.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mman.h>

#include "helpers.h"

#define NR_PAGES	64

static int set_process(unsigned long value)
{
	return mcpage_prctl_set(PR_MCPAGE_PROCESS, value, 0, 0);
}

static int get_process(void)
{
	return mcpage_prctl_get(PR_MCPAGE_PROCESS, 0, 0, 0);
}

static int set_vma(unsigned long addr, unsigned long len, unsigned long value)
{
	return mcpage_prctl_set(PR_MCPAGE_VMA, addr, len, value);
}

static int get_vma(unsigned long addr)
{
	return mcpage_prctl_get(PR_MCPAGE_VMA, addr, 0, 0);
}

static unsigned long pages(unsigned long nr)
{
	return nr * PAGE_SIZE;
}

/* A mapping with no neighbour that it could merge with. */
static unsigned long map(struct kunit *test)
{
	unsigned long addr;

	mcpage_test_settings(test);
	addr = mcpage_test_mmap(test, pages(NR_PAGES + 2));
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(addr, PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(addr + pages(NR_PAGES + 1), PAGE_SIZE));
	return addr + PAGE_SIZE;
}

static void need_vma_scope(struct kunit *test)
{
	if (!VM_MCPAGE)
		kunit_skip(test, "no VMA scope on 32-bit");
}

static void process(struct kunit *test)
{
	map(test);
	KUNIT_EXPECT_EQ(test, PR_MCPAGE_UNSET, get_process());
	KUNIT_EXPECT_EQ(test, 0, set_process(BIT(2) | PR_MCPAGE_INHERIT));
	KUNIT_EXPECT_EQ(test, BIT(2) | PR_MCPAGE_INHERIT, get_process());
	KUNIT_EXPECT_EQ(test, 0, set_process(0));
	KUNIT_EXPECT_EQ(test, 0, get_process());
	KUNIT_EXPECT_EQ(test, 0, set_process(PR_MCPAGE_UNSET));
	KUNIT_EXPECT_EQ(test, PR_MCPAGE_UNSET, get_process());
}

static void process_seal(struct kunit *test)
{
	unsigned long sealed = BIT(2) | BIT(3) | PR_MCPAGE_SEAL;

	map(test);
	KUNIT_ASSERT_EQ(test, 0, set_process(sealed));
	KUNIT_EXPECT_EQ(test, -EPERM, set_process(PR_MCPAGE_UNSET));
	KUNIT_EXPECT_EQ(test, -EPERM, set_process(BIT(2)));
	KUNIT_EXPECT_EQ(test, -EPERM, set_process(sealed | BIT(4)));
	KUNIT_EXPECT_EQ(test, sealed, get_process());
	KUNIT_EXPECT_EQ(test, 0, set_process(sealed));
	KUNIT_EXPECT_EQ(test, 0, set_process(BIT(3) | PR_MCPAGE_SEAL));
	KUNIT_EXPECT_EQ(test, BIT(3) | PR_MCPAGE_SEAL, get_process());
}

/* Any call that is not understood fails, so that it can mean something later. */
static void bad_calls(struct kunit *test)
{
	unsigned long addr = map(test);
	unsigned long len = pages(NR_PAGES);
	unsigned int bit;

	KUNIT_ASSERT_EQ(test, 0, set_process(BIT(2)));
	for (bit = 0; bit < BITS_PER_LONG; bit++) {
		unsigned long value = BIT(bit);

		if (value & (mcpage_valid_orders() | PR_MCPAGE_INHERIT |
			     PR_MCPAGE_SEAL | PR_MCPAGE_ADAPTIVE |
			     PR_MCPAGE_UNSET))
			continue;
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, set_process(value), "bit %u", bit);
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, set_process(value | BIT(2)),
				    "bit %u", bit);
		KUNIT_EXPECT_EQ_MSG(test, VM_MCPAGE ? -EINVAL : -EOPNOTSUPP,
				    set_vma(addr, len, value), "bit %u", bit);
	}
	KUNIT_EXPECT_EQ(test, -EINVAL, set_process(PR_MCPAGE_UNSET | BIT(2)));
	KUNIT_EXPECT_EQ(test, -EINVAL, mcpage_prctl_set(PR_MCPAGE_PROCESS, 0, 1, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, mcpage_prctl_set(PR_MCPAGE_PROCESS, 0, 0, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, mcpage_prctl_get(PR_MCPAGE_PROCESS, 1, 0, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, mcpage_prctl_get(PR_MCPAGE_PROCESS, 0, 1, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, mcpage_prctl_get(PR_MCPAGE_PROCESS, 0, 0, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, mcpage_prctl_get(PR_MCPAGE_VMA, addr, 1, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, mcpage_prctl_get(PR_MCPAGE_VMA, addr, 0, 1));
	KUNIT_EXPECT_EQ(test, -EINVAL, mcpage_prctl_set(2, 0, 0, 0));
	KUNIT_EXPECT_EQ(test, -EINVAL, mcpage_prctl_get(2, 0, 0, 0));
	KUNIT_EXPECT_EQ(test, BIT(2), get_process());
}

static void vma_bad_ranges(struct kunit *test)
{
	unsigned long addr = map(test);

	need_vma_scope(test);
	KUNIT_EXPECT_EQ(test, -EINVAL, set_vma(addr + 1, PAGE_SIZE, BIT(2)));
	KUNIT_EXPECT_EQ(test, -EINVAL, set_vma(addr, -1UL, BIT(2)));
	KUNIT_EXPECT_EQ(test, -EINVAL, set_vma(addr, -PAGE_SIZE, BIT(2)));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			set_vma(addr, PAGE_SIZE, BIT(2) | PR_MCPAGE_INHERIT));
	KUNIT_EXPECT_EQ(test, -EINVAL, set_vma(addr, PAGE_SIZE, BIT(2) | PR_MCPAGE_SEAL));
	KUNIT_EXPECT_EQ(test, -ENOMEM, set_vma(addr - PAGE_SIZE, pages(2), BIT(2)));
	KUNIT_EXPECT_EQ(test, -ENOMEM, set_vma(addr, pages(NR_PAGES + 1), BIT(2)));
	KUNIT_EXPECT_EQ(test, -ENOMEM, get_vma(addr - PAGE_SIZE));
	/* As madvise(): an empty range is no mistake. */
	KUNIT_EXPECT_EQ(test, 0, set_vma(addr, 0, BIT(2)));
	KUNIT_EXPECT_EQ(test, PR_MCPAGE_UNSET, get_vma(addr));
	/* A length is rounded up to whole pages. */
	KUNIT_EXPECT_EQ(test, 0, set_vma(addr, 1, BIT(2)));
	KUNIT_EXPECT_EQ(test, BIT(2), get_vma(addr + PAGE_SIZE - 1));
	KUNIT_EXPECT_EQ(test, PR_MCPAGE_UNSET, get_vma(addr + PAGE_SIZE));
}

static void vma_split_and_merge(struct kunit *test)
{
	unsigned long addr = map(test);
	int count = current->mm->map_count;

	need_vma_scope(test);
	/* The middle: three VMAs. */
	KUNIT_ASSERT_EQ(test, 0, set_vma(addr + pages(16), pages(16), BIT(2)));
	KUNIT_EXPECT_EQ(test, count + 2, current->mm->map_count);
	KUNIT_EXPECT_EQ(test, PR_MCPAGE_UNSET, get_vma(addr));
	KUNIT_EXPECT_EQ(test, BIT(2), get_vma(addr + pages(16)));
	KUNIT_EXPECT_EQ(test, BIT(2), get_vma(addr + pages(32) - 1));
	KUNIT_EXPECT_EQ(test, PR_MCPAGE_UNSET, get_vma(addr + pages(32)));
	/* The same again, and a part of it: nothing to do. */
	KUNIT_EXPECT_EQ(test, 0, set_vma(addr + pages(16), pages(16), BIT(2)));
	KUNIT_EXPECT_EQ(test, 0, set_vma(addr + pages(20), pages(4), BIT(2)));
	KUNIT_EXPECT_EQ(test, count + 2, current->mm->map_count);
	/* Grow it downwards, over what has the value already. */
	KUNIT_EXPECT_EQ(test, 0, set_vma(addr + pages(8), pages(16), BIT(2)));
	KUNIT_EXPECT_EQ(test, count + 2, current->mm->map_count);
	KUNIT_EXPECT_EQ(test, BIT(2), get_vma(addr + pages(8)));
	KUNIT_EXPECT_EQ(test, PR_MCPAGE_UNSET, get_vma(addr + pages(7)));
	/* Another value over a boundary. */
	KUNIT_EXPECT_EQ(test, 0, set_vma(addr + pages(24), pages(16), 0));
	KUNIT_EXPECT_EQ(test, count + 3, current->mm->map_count);
	KUNIT_EXPECT_EQ(test, 0, get_vma(addr + pages(24)));
	KUNIT_EXPECT_EQ(test, 0, get_vma(addr + pages(39)));
	KUNIT_EXPECT_EQ(test, PR_MCPAGE_UNSET, get_vma(addr + pages(40)));
	/* Back to no policy: one VMA, as at the start. */
	KUNIT_EXPECT_EQ(test, 0, set_vma(addr, pages(NR_PAGES), PR_MCPAGE_UNSET));
	KUNIT_EXPECT_EQ(test, count, current->mm->map_count);
	KUNIT_EXPECT_EQ(test, PR_MCPAGE_UNSET, get_vma(addr + pages(20)));
}

static void vma_unset_keeps_flags(struct kunit *test)
{
	unsigned long addr = map(test);
	struct vm_area_struct *vma;
	unsigned long flags;

	need_vma_scope(test);
	mmap_read_lock(current->mm);
	flags = vma_lookup(current->mm, addr)->vm_flags;
	mmap_read_unlock(current->mm);
	KUNIT_EXPECT_EQ(test, 0, set_vma(addr, pages(NR_PAGES), mcpage_valid_orders()));
	KUNIT_EXPECT_EQ(test, 0, set_vma(addr, pages(NR_PAGES), PR_MCPAGE_UNSET));
	mmap_read_lock(current->mm);
	vma = vma_lookup(current->mm, addr);
	KUNIT_EXPECT_EQ(test, flags, vma->vm_flags);
	mmap_read_unlock(current->mm);
}

static void restore_max_map_count(void *data)
{
	sysctl_max_map_count = (long)data;
}

/* No room for the second of two splits: the range keeps its old policy whole. */
static void vma_all_or_nothing(struct kunit *test)
{
	unsigned long addr = map(test);
	int count = current->mm->map_count;

	need_vma_scope(test);
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, restore_max_map_count,
						  (void *)(long)sysctl_max_map_count));
	sysctl_max_map_count = count + 1;
	KUNIT_EXPECT_EQ(test, -ENOMEM, set_vma(addr + pages(16), pages(16), BIT(2)));
	KUNIT_EXPECT_EQ(test, count, current->mm->map_count);
	KUNIT_EXPECT_EQ(test, PR_MCPAGE_UNSET, get_vma(addr));
	KUNIT_EXPECT_EQ(test, PR_MCPAGE_UNSET, get_vma(addr + pages(16)));
	KUNIT_EXPECT_EQ(test, PR_MCPAGE_UNSET, get_vma(addr + pages(32)));
	/* One split is enough for the end of the mapping. */
	KUNIT_EXPECT_EQ(test, 0, set_vma(addr + pages(48), pages(16), BIT(2)));
}

/* A hole behind a good part: not even that part is changed. */
static void vma_hole_changes_nothing(struct kunit *test)
{
	unsigned long addr = map(test);

	need_vma_scope(test);
	KUNIT_ASSERT_EQ(test, 0, vm_munmap(addr + pages(20), PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, -ENOMEM, set_vma(addr, pages(NR_PAGES), BIT(2)));
	KUNIT_EXPECT_EQ(test, PR_MCPAGE_UNSET, get_vma(addr));
	KUNIT_EXPECT_EQ(test, PR_MCPAGE_UNSET, get_vma(addr + pages(21)));
}

static void vma_special(struct kunit *test)
{
	unsigned long addr = map(test);
	struct vm_area_struct *vma;

	need_vma_scope(test);
	mmap_write_lock(current->mm);
	vma = vma_lookup(current->mm, addr);
	vm_flags_set(vma, VM_PFNMAP);
	mmap_write_unlock(current->mm);
	KUNIT_EXPECT_EQ(test, -EINVAL, set_vma(addr, PAGE_SIZE, BIT(2)));
	KUNIT_EXPECT_EQ(test, -EINVAL, get_vma(addr));
	mmap_write_lock(current->mm);
	vma = vma_lookup(current->mm, addr);
	vm_flags_clear(vma, VM_PFNMAP);
	mmap_write_unlock(current->mm);
}

static void vma_scope_on_32bit(struct kunit *test)
{
	unsigned long addr = map(test);

	if (VM_MCPAGE)
		return;
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, set_vma(addr, PAGE_SIZE, BIT(2)));
	KUNIT_EXPECT_EQ(test, -EOPNOTSUPP, get_vma(addr));
}

/* The fault path is patched in by the first policy, not before. */
static void first_policy_switches_on(struct kunit *test)
{
	map(test);
	mutex_lock(&mcpage_settings_lock);
	mcpage_settings.enabled = MCPAGE_ADVISE;
	mcpage_settings.used = false;
	mcpage_settings_changed();
	mutex_unlock(&mcpage_settings_lock);

	KUNIT_EXPECT_FALSE(test, static_key_enabled(&mcpage_key));
	KUNIT_EXPECT_EQ(test, 0, set_process(PR_MCPAGE_UNSET));
	KUNIT_EXPECT_FALSE(test, static_key_enabled(&mcpage_key));
	KUNIT_EXPECT_EQ(test, 0, set_process(BIT(2)));
	KUNIT_EXPECT_TRUE(test, static_key_enabled(&mcpage_key));
	mcpage_test_set(MCPAGE_NEVER, MCPAGE_PAGES);
	KUNIT_EXPECT_FALSE(test, static_key_enabled(&mcpage_key));
	KUNIT_EXPECT_FALSE(test, static_key_enabled(&mcpage_pages_key));
}

static struct kunit_case mcpage_prctl_cases[] = {
	KUNIT_CASE(process),
	KUNIT_CASE(process_seal),
	KUNIT_CASE(bad_calls),
	KUNIT_CASE(vma_bad_ranges),
	KUNIT_CASE(vma_split_and_merge),
	KUNIT_CASE(vma_unset_keeps_flags),
	KUNIT_CASE(vma_all_or_nothing),
	KUNIT_CASE(vma_hole_changes_nothing),
	KUNIT_CASE(vma_special),
	KUNIT_CASE(vma_scope_on_32bit),
	KUNIT_CASE(first_policy_switches_on),
	{}
};

static struct kunit_suite mcpage_prctl_suite = {
	.name = "mcpage_prctl",
	.test_cases = mcpage_prctl_cases,
};

kunit_test_suite(mcpage_prctl_suite);

MODULE_DESCRIPTION("mcpage prctl tests");
MODULE_LICENSE("GPL");
