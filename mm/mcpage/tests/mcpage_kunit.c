// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: the whole subsystem once, end to end, the way that an administrator
 * and a program use it: sysfs, prctl, fault, counters, exec, unmap.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "helpers.h"

static unsigned long stat(struct kunit *test, unsigned int order, const char *name)
{
	unsigned long value = 0;
	char path[64];

	snprintf(path, sizeof(path), "order-%u/stats/%s", order, name);
	KUNIT_ASSERT_EQ(test, 0, kstrtoul(mcpage_test_show(test, path), 10, &value));
	return value;
}

static void store(struct kunit *test, const char *path, const char *text)
{
	KUNIT_ASSERT_EQ_MSG(test, (ssize_t)strlen(text),
			    mcpage_test_store(test, path, text), "%s", path);
}

static void end_to_end(struct kunit *test, const char *backing, int folio_order)
{
	unsigned long block = PAGE_SIZE << 4;
	struct mm_struct *mm = current->mm;
	unsigned long addr, rss, allocs, populated;
	struct mm_struct *next;
	int count;

	mcpage_test_settings(test);

	/* The administrator allows blocks of 4 to 16 pages to who asks for them. */
	store(test, "enabled", "advise\n");
	store(test, "backing", backing);
	store(test, "mode", "fixed\n");
	store(test, "orders", "2-4\n");
	KUNIT_EXPECT_STREQ(test, "2-4\n", mcpage_test_show(test, "orders"));

	addr = mcpage_test_mmap_aligned(test, 8 * block, 4);
	mm = current->mm;
	rss = mcpage_test_rss();
	allocs = stat(test, 4, "alloc");

	/* Nobody has asked yet. */
	mcpage_test_write(test, addr);
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_present(test, addr, addr + block));
	KUNIT_EXPECT_EQ(test, allocs, stat(test, 4, "alloc"));

	/* The process asks, and gets no more than the system allows. */
	KUNIT_ASSERT_EQ(test, 0, mcpage_prctl_set(PR_MCPAGE_PROCESS, BIT(4) | BIT(5) |
						  PR_MCPAGE_INHERIT, 0, 0));
	mcpage_test_write(test, addr + block + 5);
	KUNIT_EXPECT_EQ(test, 16, mcpage_test_present(test, addr + block, addr + 2 * block));
	KUNIT_EXPECT_EQ(test, folio_order, mcpage_test_order(test, addr + block));
	KUNIT_EXPECT_TRUE(test, mcpage_test_zero(test, addr + block + 6, addr + 2 * block));
	KUNIT_EXPECT_EQ(test, allocs + 1, stat(test, 4, "alloc"));
	KUNIT_EXPECT_EQ(test, rss + 1 + 16, mcpage_test_rss());

	/* A mapping is held to single pages, then set free again. */
	if (VM_MCPAGE) {
		count = mm->map_count;
		KUNIT_ASSERT_EQ(test, 0, mcpage_prctl_set(PR_MCPAGE_VMA, addr + 2 * block,
							  block, 0));
		KUNIT_EXPECT_EQ(test, count + 2, mm->map_count);
		mcpage_test_write(test, addr + 2 * block);
		KUNIT_EXPECT_EQ(test, 1, mcpage_test_present(test, addr + 2 * block,
							     addr + 3 * block));
		KUNIT_ASSERT_EQ(test, 0, mcpage_prctl_set(PR_MCPAGE_VMA, addr + 2 * block,
							  block, PR_MCPAGE_UNSET));
		KUNIT_EXPECT_EQ(test, count, mm->map_count);
	}

	/* What is populated stays, and is counted as the reason. */
	populated = stat(test, 4, "page_table_populated");
	mcpage_test_write(test, addr + PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, populated + 1, stat(test, 4, "page_table_populated"));

	/* Adaptive: a block in use justifies the next; what lies by itself does not. */
	store(test, "mode", "adaptive\n");
	mcpage_test_write(test, addr + 6 * block);
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_present(test, addr + 5 * block,
						     addr + 7 * block));
	store(test, "mode", "fixed\n");
	mcpage_test_write(test, addr + 3 * block);
	KUNIT_EXPECT_EQ(test, 16, mcpage_test_present(test, addr + 3 * block,
						      addr + 4 * block));
	store(test, "mode", "adaptive\n");
	mcpage_test_write(test, addr + 4 * block);
	KUNIT_EXPECT_EQ(test, 16, mcpage_test_present(test, addr + 4 * block,
						      addr + 5 * block));

	/* The policy goes where it was told to go. */
	next = mm_alloc();
	KUNIT_ASSERT_NOT_NULL(test, next);
	mcpage_exec(next, false);
	KUNIT_EXPECT_EQ(test, mm->mcpage_policy, next->mcpage_policy);
	mcpage_exec(next, true);
	KUNIT_EXPECT_EQ(test, 0, next->mcpage_policy);
	mmput(next);

	/* Off is off, at once, whatever anyone has asked for. */
	store(test, "enabled", "never\n");
	allocs = stat(test, 4, "alloc");
	mcpage_test_write(test, addr + 7 * block);
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_present(test, addr + 7 * block,
						     addr + 8 * block));
	KUNIT_EXPECT_EQ(test, allocs, stat(test, 4, "alloc"));

	/* And all is given back. */
	KUNIT_EXPECT_EQ(test, 0, vm_munmap(addr, 8 * block));
	KUNIT_EXPECT_EQ(test, rss, mcpage_test_rss());
}

static void pages_end_to_end(struct kunit *test)
{
	end_to_end(test, "pages\n", 0);
}

static void folio_end_to_end(struct kunit *test)
{
	mcpage_test_need_backing(test, MCPAGE_FOLIO);
	end_to_end(test, "folio\n", 4);
}

static struct kunit_case mcpage_cases[] = {
	KUNIT_CASE(pages_end_to_end),
	KUNIT_CASE(folio_end_to_end),
	{}
};

static struct kunit_suite mcpage_suite = {
	.name = "mcpage",
	.test_cases = mcpage_cases,
};

kunit_test_suite(mcpage_suite);

MODULE_DESCRIPTION("mcpage end-to-end test");
MODULE_LICENSE("GPL");
