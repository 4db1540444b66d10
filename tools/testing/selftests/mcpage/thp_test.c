// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: beside THP's own settings and helpers. Where mcpage governs
 * a mapping its set replaces THP's choice in every path; elsewhere THP is as it
 * ever was.
 */
#include "mcpage_harness.h"

FIXTURE(thp)
{
	char *addr;
	size_t size;
};

FIXTURE_SETUP(thp)
{
	if (not_testable())
		SKIP(return, "%s", not_testable());
	if (access(THP_DIR "enabled", F_OK))
		SKIP(return, "no THP in this kernel");
	ASSERT_EQ(0, settings_begin());
	write_text("/proc/sys/vm/compact_memory", "1");
	self->size = MB(16);
	self->addr = map_region(self->size);
	ASSERT_NE(NULL, self->addr);
}

FIXTURE_TEARDOWN_PARENT(thp)
{
	settings_end();
}

static int probe(unsigned long value)
{
	return probe_order(KB(96), value, "folio");
}

/* Where mcpage does not govern, the system is as THP's files have it. */
TEST_F(thp, not_governed)
{
	unsigned long before;

	ASSERT_EQ(0, write_text(THP_DIR "hugepages-64kB/enabled", "always"));
	/* No policy, by advice; a policy, but switched off: all the same. */
	EXPECT_EQ(4, probe(PR_MCPAGE_UNSET));
	EXPECT_EQ(2, probe(BIT(2)));
	before = vm_event("mcpage_anon_fault_*");
	ASSERT_EQ(0, mcpage_write("enabled", "never"));
	EXPECT_EQ(4, probe(BIT(2)));
	ASSERT_EQ(0, set_process(0));
	EXPECT_EQ(4, probe(BIT(2)));
	ASSERT_EQ(0, write_text(THP_DIR "enabled", "always"));
	ASSERT_EQ(0, mcpage_write("orders", "\n"));
	EXPECT_EQ(9, probe(0));
	/* Nothing is counted that is not mcpage's. */
	EXPECT_EQ(before, vm_event("mcpage_anon_fault_*"));
}

/* Where it governs, THP's files have no say: neither "never" nor "always". */
TEST_F(thp, governed)
{
	EXPECT_EQ(4, probe(BIT(4) | BIT(3)));
	ASSERT_EQ(0, write_text(THP_DIR "enabled", "always"));
	ASSERT_EQ(0, write_text(THP_DIR "hugepages-16kB/enabled", "always"));
	EXPECT_EQ(4, probe(BIT(4) | BIT(3)));
	EXPECT_EQ(0, probe(0));
	EXPECT_EQ(9, probe(PR_MCPAGE_UNSET));
	/* For the whole process: none at all. */
	ASSERT_EQ(0, set_process(0));
	EXPECT_EQ(0, probe(PR_MCPAGE_UNSET));
}

/* A program's own wish for huge pages is held to the cap, too. */
TEST_F(thp, madvise_hugepage)
{
	ASSERT_EQ(0, write_text(THP_DIR "enabled", "always"));
	ASSERT_EQ(0, madvise(self->addr, self->size, MADV_HUGEPAGE));
	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(4)));
	EXPECT_EQ(4, touch_order(self->addr, "folio"));
	ASSERT_EQ(0, set_vma(self->addr, self->size, 0));
	EXPECT_EQ(0, touch_order(self->addr + MB(2), "folio"));
	ASSERT_EQ(0, set_vma(self->addr, self->size, PR_MCPAGE_UNSET));
	EXPECT_EQ(9, touch_order(self->addr + MB(4), "folio"));
}

/* Blocks below PMD size are not what AnonHugePages counts; those of it are. */
TEST_F(thp, anon_huge_pages)
{
	ASSERT_EQ(0, set_vma(self->addr, MB(4), BIT(4)));
	for (int i = 0; i < 64; i++)
		self->addr[i * KB(64)] = 1;
	EXPECT_EQ(0, smaps_kb(self->addr, "AnonHugePages"));
	EXPECT_EQ(4096, smaps_kb(self->addr, "Rss"));
	EXPECT_EQ(4, folio_order(self->addr + MB(4) - 1));
	ASSERT_EQ(0, set_vma(self->addr + MB(4), MB(4), BIT(9)));
	self->addr[MB(4)] = 1;
	EXPECT_EQ(2048, smaps_kb(self->addr + MB(4), "AnonHugePages"));
}

TEST_F(thp, eligible_in_smaps)
{
	char *addr = self->addr;

	EXPECT_EQ(0, smaps_kb(addr, "THPeligible"));
	ASSERT_EQ(0, set_vma(addr, self->size, BIT(4)));
	EXPECT_EQ(1, smaps_kb(addr, "THPeligible"));
	ASSERT_EQ(0, mcpage_write("backing", "pages"));
	EXPECT_EQ(0, smaps_kb(addr, "THPeligible"));
	ASSERT_EQ(0, mcpage_write("backing", "folio"));
	ASSERT_EQ(0, mcpage_write("enabled", "never"));
	EXPECT_EQ(0, smaps_kb(addr, "THPeligible"));
	ASSERT_EQ(0, mcpage_write("enabled", "advise"));
	ASSERT_EQ(0, mcpage_write("orders", "3"));
	EXPECT_EQ(0, smaps_kb(addr, "THPeligible"));
	ASSERT_EQ(0, mcpage_write("orders", "4"));
	EXPECT_EQ(1, smaps_kb(addr, "THPeligible"));
	ASSERT_EQ(0, madvise(addr, self->size, MADV_NOHUGEPAGE));
	EXPECT_EQ(0, smaps_kb(addr, "THPeligible"));
	ASSERT_EQ(0, madvise(addr, self->size, MADV_HUGEPAGE));
	ASSERT_EQ(0, write_text(THP_DIR "enabled", "always"));
	ASSERT_EQ(0, set_vma(addr, self->size, 0));
	EXPECT_EQ(0, smaps_kb(addr, "THPeligible"));
	ASSERT_EQ(0, set_vma(addr, self->size, PR_MCPAGE_UNSET));
	EXPECT_EQ(1, smaps_kb(addr, "THPeligible"));
}

static int collapse(char *addr)
{
	return madvise(addr, MB(2), MADV_COLLAPSE) ? -errno : 0;
}

static void fill(char *addr, size_t size)
{
	for (size_t i = 0; i < size; i += page_size)
		*(size_t *)(addr + i) = i;
}

static bool filled(char *addr, size_t size)
{
	for (size_t i = 0; i < size; i += page_size) {
		if (*(size_t *)(addr + i) != i)
			return false;
	}
	return true;
}

/* An explicit request for a huge page is held to the cap as well. */
TEST_F(thp, madvise_collapse)
{
	char *addr = self->addr;

	ASSERT_EQ(0, write_text(THP_DIR "enabled", "always"));
	ASSERT_EQ(0, set_vma(addr, self->size, BIT(4)));
	fill(addr, MB(2));
	EXPECT_EQ(-EINVAL, collapse(addr));
	EXPECT_EQ(4, max_folio_order(addr, MB(2)));
	ASSERT_EQ(0, set_vma(addr, self->size, PR_MCPAGE_UNSET));
	ASSERT_EQ(0, set_process(0));
	EXPECT_EQ(-EINVAL, collapse(addr));
	EXPECT_EQ(0, smaps_kb(addr, "AnonHugePages"));
	/* Nor with single pages asked for by the administrator, */
	ASSERT_EQ(0, set_process(valid_orders));
	ASSERT_EQ(0, mcpage_write("orders", "2-4"));
	EXPECT_EQ(-EINVAL, collapse(addr));
	ASSERT_EQ(0, mcpage_write_orders("orders", valid_orders));
	/* nor with a backing that has no large folios. */
	ASSERT_EQ(0, mcpage_write("backing", "pages"));
	EXPECT_EQ(-EINVAL, collapse(addr));
	ASSERT_EQ(0, mcpage_write("backing", "folio"));
	EXPECT_EQ(4, max_folio_order(addr, MB(2)));
	EXPECT_TRUE(filled(addr, MB(2)));
	/* Allowed by every scope, it works, as it does where THP is off. */
	ASSERT_EQ(0, write_text(THP_DIR "enabled", "never"));
	EXPECT_EQ(0, collapse(addr));
	EXPECT_EQ(2048, smaps_kb(addr, "AnonHugePages"));
	EXPECT_TRUE(filled(addr, MB(2)));
}

/* Off is off: requests are THP's to grant, by its own rules. */
TEST_F(thp, madvise_collapse_when_off)
{
	char *addr = self->addr;

	ASSERT_EQ(0, set_vma(addr, self->size, 0));
	fill(addr, MB(2));
	ASSERT_EQ(0, mcpage_write("enabled", "never"));
	EXPECT_EQ(0, collapse(addr));
	EXPECT_EQ(2048, smaps_kb(addr, "AnonHugePages"));
	EXPECT_TRUE(filled(addr, MB(2)));
}

/*
 * An allocator gives back every other block; khugepaged must not fill the holes
 * again.
 */
TEST_F(thp, khugepaged_and_purged_blocks)
{
	char *control = map_region(MB(2));

	ASSERT_NE(NULL, control);
	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(4)));
	memset(self->addr, 1, self->size);
	for (size_t i = 0; i < self->size; i += KB(128))
		ASSERT_EQ(0, madvise(self->addr + i, KB(64), MADV_DONTNEED));
	ASSERT_EQ(8192, smaps_kb(self->addr, "Rss"));
	ASSERT_TRUE(khugepaged_has_seen_it(control));
	EXPECT_EQ(8192, smaps_kb(self->addr, "Rss"));
	EXPECT_EQ(0, smaps_kb(self->addr, "AnonHugePages"));
	EXPECT_EQ(4, max_folio_order(self->addr, MB(2)));
}

static int other_process(void *arg)
{
	return set_process(PR_MCPAGE_UNSET) || !khugepaged_has_seen_it(arg);
}

/*
 * A page in each 2 MiB, of a process that does not want more than 64K for it on
 * a machine where all may be huge.
 */
TEST_F(thp, khugepaged_and_sparse_memory)
{
	char *control = map_region(MB(2));

	ASSERT_NE(NULL, control);
	/* khugepaged knows of the process from before it had the policy. */
	ASSERT_EQ(0, khugepaged_hurry());
	ASSERT_EQ(0, madvise(self->addr, self->size, MADV_HUGEPAGE));
	ASSERT_EQ(0, set_process(BIT(4)));
	for (size_t i = 0; i < self->size; i += MB(2))
		self->addr[i] = 1;
	EXPECT_EQ(8 * 64, smaps_kb(self->addr, "Rss"));
	EXPECT_EQ(0, run_child(other_process, control));
	EXPECT_EQ(8 * 64, smaps_kb(self->addr, "Rss"));
	EXPECT_EQ(0, smaps_kb(self->addr, "AnonHugePages"));
}

/* What swap brings back obeys the policy of then, not that of before. */
TEST_F(thp, swap_in)
{
	static const struct {
		unsigned long policy;
		int order;
	} steps[] = {
		/* The control: THP's own choice. */
		{ PR_MCPAGE_UNSET, 4 }, { BIT(4), 4 }, { BIT(2), 2 }, { 0, 0 },
	};

	ASSERT_EQ(0, write_text(THP_DIR "hugepages-64kB/enabled", "always"));
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(4)));
		ASSERT_EQ(4, touch_order(self->addr, "folio"));
		fill(self->addr, KB(64));
		/* It may take reclaim more than one attempt. */
		for (int n = 0; n < 100 && present_pages(self->addr, KB(64)); n++)
			madvise(self->addr, KB(64), MADV_PAGEOUT);
		if (present_pages(self->addr, KB(64)))
			SKIP(return, "no swap");
		ASSERT_EQ(0, set_vma(self->addr, self->size, steps[i].policy));
		EXPECT_EQ(KB(16), *(size_t *)(self->addr + KB(16)));
		if (!i && folio_order(self->addr + KB(16)) != 4)
			SKIP(return, "no large folios from this swap");
		EXPECT_EQ(steps[i].order, folio_order(self->addr + KB(16)));
		EXPECT_TRUE(filled(self->addr, KB(64)));
		EXPECT_GE(steps[i].order, max_folio_order(self->addr, KB(64)));
		ASSERT_EQ(0, madvise(self->addr, MB(2), MADV_DONTNEED));
	}
}

TEST_HARNESS_MAIN
