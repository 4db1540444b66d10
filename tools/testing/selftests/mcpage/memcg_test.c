// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: a charge that fails for a block is a smaller block, never
 * an OOM kill.
 */
#include "mcpage_harness.h"

FIXTURE(memcg)
{
	char dir[128];
};

FIXTURE_VARIANT(memcg)
{
	const char *backing;
	const char *effort;
	int pages;
};

FIXTURE_VARIANT_ADD(memcg, folio)
{
	.backing = "folio",
	.effort = "light",
	.pages = 300,
};

FIXTURE_VARIANT_ADD(memcg, pages)
{
	.backing = "pages",
	.effort = "light",
	.pages = 80,
};

/*
 * By direct reclaim every block is of 2 MiB, and swap has to hold all that the
 * group may not have.
 */
FIXTURE_VARIANT_ADD(memcg, folio_direct)
{
	.backing = "folio",
	.effort = "direct",
	.pages = 40,
};

FIXTURE_VARIANT_ADD(memcg, pages_direct)
{
	.backing = "pages",
	.effort = "direct",
	.pages = 40,
};

FIXTURE_SETUP(memcg)
{
	const char *why;

	if (not_testable())
		SKIP(return, "%s", not_testable());
	why = group_make(self->dir, sizeof(self->dir), "32M");
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, settings_begin());
	if (mcpage_write("backing", variant->backing)) {
		settings_end();
		rmdir(self->dir);
		SKIP(return, "no %s backing in this kernel", variant->backing);
	}
	ASSERT_EQ(0, mcpage_write("effort", variant->effort));
	ASSERT_EQ(0, mcpage_write("enabled", "always"));
}

FIXTURE_TEARDOWN_PARENT(memcg)
{
	settings_end();
	rmdir(self->dir);
}

static unsigned long charge_failed(void)
{
	unsigned long sum = 0;

	for (unsigned int order = 2; order <= pmd_order; order++)
		sum += mcpage_stat(order, "charge_failed");
	return sum;
}

/* A group, and how many pages to touch in it. */
struct job {
	const char *dir;
	int pages;
};

static int touch_sparsely(void *arg)
{
	const struct job *job = arg;
	char *addr;

	if (group_write(job->dir, "cgroup.procs", "0"))
		return 1;
	addr = map_region(job->pages * MB(2));
	if (!addr)
		return 2;
	for (int i = 0; i < job->pages; i++)
		addr[i * MB(2) + page_size] = i + 1;
	for (int i = 0; i < job->pages; i++) {
		if (addr[i * MB(2) + page_size] != (char)(i + 1))
			return 3;
	}
	return 0;
}

/*
 * A short job in a small container touches 300 pages, each 2 MiB from the last.
 * A block of 2 MiB for each would take 600 MiB of the 32 it may have. It ends
 * well: blocks become smaller and the group is reclaimed, as for any program.
 */
TEST_F(memcg, sparse_in_a_small_group)
{
	struct job job = { self->dir, variant->pages };
	unsigned long before = charge_failed();
	unsigned long sum = vm_event("mcpage_anon_fault_charge_failed");

	if (!has_swap())
		SKIP(return, "no swap: single pages would have no room either");
	EXPECT_EQ(0, run_child(touch_sparsely, &job));
	EXPECT_EQ(0, group_read(self->dir, "memory.events", "oom"));
	EXPECT_EQ(0, group_read(self->dir, "memory.events", "oom_kill"));
	/* With effort the charge may well succeed, at the cost of reclaim. */
	EXPECT_TRUE(before < charge_failed() || !strcmp(variant->effort, "direct"));
	EXPECT_EQ(charge_failed() - before,
		  vm_event("mcpage_anon_fault_charge_failed") - sum);
}

static int fill_exactly(void *arg)
{
	char *addr;
	bool ok = true;

	if (group_write(arg, "cgroup.procs", "0"))
		return 1;
	addr = map_region(MB(24));
	if (!addr)
		return 2;
	for (size_t i = 0; i < MB(24); i += page_size)
		addr[i] = 1;
	ok &= present_pages(addr, MB(24)) == MB(24) / page_size;
	ok &= group_read(arg, "memory.stat", "anon") >= (long)MB(23);
	ok &= group_read(arg, "memory.stat", "anon") < (long)MB(30);
	ok &= !madvise(addr, MB(24), MADV_DONTNEED);
	ok &= group_read(arg, "memory.stat", "anon") < (long)MB(6);
	return ok ? 0 : 3;
}

/* What fits is charged to the last page, and uncharged. */
TEST_F(memcg, charged_and_uncharged)
{
	ASSERT_EQ(0, group_write(self->dir, "memory.max", "40M"));
	EXPECT_EQ(0, run_child(fill_exactly, self->dir));
	EXPECT_EQ(0, group_read(self->dir, "memory.events", "oom"));
}

/* The same without swap, where underused huge folios can be split again. */
FIXTURE(no_swap)
{
	char dir[128];
};

FIXTURE_SETUP(no_swap)
{
	const char *why;

	if (not_testable())
		SKIP(return, "%s", not_testable());
	why = group_make(self->dir, sizeof(self->dir), "32M");
	if (why)
		SKIP(return, "%s", why);
	ASSERT_EQ(0, settings_begin());
	if (write_text(THP_DIR "khugepaged/max_ptes_none", "64")) {
		settings_end();
		rmdir(self->dir);
		SKIP(return, "no huge folios in this kernel");
	}
	group_write(self->dir, "memory.swap.max", "0");
}

FIXTURE_TEARDOWN_PARENT(no_swap)
{
	settings_end();
	rmdir(self->dir);
}

TEST_F(no_swap, underused_are_split)
{
	struct job job = { self->dir, 100 };

	ASSERT_EQ(0, mcpage_write("enabled", "always"));
	ASSERT_EQ(0, mcpage_write("effort", "light"));
	ASSERT_EQ(0, mcpage_write("orders", "9"));
	EXPECT_EQ(0, run_child(touch_sparsely, &job));
	EXPECT_EQ(0, group_read(self->dir, "memory.events", "oom_kill"));
}

TEST_HARNESS_MAIN
