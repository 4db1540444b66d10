// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: every allocation of an operation fails once, by
 * /proc/thread-self/fail-nth. A range keeps its old policy or has the new one,
 * whole; nothing is lost and nothing is left over.
 */
#include <limits.h>

#include "mcpage_harness.h"

#define DEBUGFS "/sys/kernel/debug/"

/* Every allocation may fail, and none needs a line in the log. */
static const struct knob {
	const char *path;
	const char *value;
} knobs[] = {
	{ DEBUGFS "failslab/ignore-gfp-wait", "N" },
	{ DEBUGFS "failslab/verbose", "0" },
	{ DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N" },
	{ DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N" },
	{ DEBUGFS "fail_page_alloc/min-order", "0" },
	{ DEBUGFS "fail_page_alloc/verbose", "0" },
};

FIXTURE(failure)
{
	char before[ARRAY_SIZE(knobs)][32];
	char *addr;
	size_t size;
	int fd;
};

FIXTURE_SETUP(failure)
{
	if (not_testable())
		SKIP(return, "%s", not_testable());
	self->fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	if (self->fd < 0)
		SKIP(return, "no fault injection in this kernel");
	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++) {
		if (read_text(knobs[i].path, self->before[i],
			      sizeof(self->before[i])))
			SKIP(return, "no %s", knobs[i].path);
	}
	ASSERT_EQ(0, settings_begin());
	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++)
		ASSERT_EQ(0, write_text(knobs[i].path, knobs[i].value));
	self->size = MB(4);
	self->addr = map_region(self->size);
	ASSERT_NE(NULL, self->addr);
}

FIXTURE_TEARDOWN_PARENT(failure)
{
	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++)
		write_text(knobs[i].path, self->before[i]);
	settings_end();
}

static void fail_nth(int fd, unsigned int nth)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", nth);

	if (pwrite(fd, text, len, 0) != len)
		ksft_print_msg("cannot write fail-nth\n");
}

/* Did an allocation fail? Ends the injection in any case. */
static bool has_failed(int fd)
{
	char text[16] = "";

	if (pread(fd, text, sizeof(text) - 1, 0) < 1)
		return false;
	fail_nth(fd, 0);
	return !atoi(text);
}

/* A set that has to split at both ends, and to merge what was apart. */
TEST_F(failure, set_is_all_or_nothing)
{
	char *addr = self->addr, *range = addr + MB(1);
	unsigned int nth, failed = 0;
	int vmas = 0;

	for (nth = 1; nth < 100; nth++) {
		bool injected;
		long ret;

		ASSERT_EQ(0, set_vma(addr, self->size, PR_MCPAGE_UNSET));
		ASSERT_EQ(1, count_vmas(addr, self->size));
		ASSERT_EQ(0, set_vma(range + KB(512), KB(512), BIT(2)));
		vmas = count_vmas(addr, self->size);
		ASSERT_EQ(3, vmas);

		fail_nth(self->fd, nth);
		ret = set_vma(range, KB(768), BIT(4));
		injected = has_failed(self->fd);
		if (!ret) {
			EXPECT_EQ(BIT(4), get_vma(range));
			EXPECT_EQ(BIT(4), get_vma(range + KB(512)));
			EXPECT_EQ(BIT(4), get_vma(range + KB(768) - 1));
		} else {
			EXPECT_EQ(-ENOMEM, ret);
			EXPECT_TRUE(injected);
			EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(range));
			EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(range + KB(512) - 1));
			EXPECT_EQ(BIT(2), get_vma(range + KB(512)));
			/* What was split for nothing is whole again. */
			EXPECT_EQ(vmas, count_vmas(addr, self->size));
			failed++;
		}
		/* Beside it nothing changes in any case. */
		EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(range - 1));
		EXPECT_EQ(BIT(2), get_vma(range + KB(768)));
		EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(range + MB(1)));
		if (!injected)
			break;
	}
	TH_LOG("%u of %u injected failures were reported", failed, nth - 1);
	/* Two splits: two VMAs at least. */
	EXPECT_LE(2, failed);
	EXPECT_GT(100, nth);
}

/* The same where all that may fail is a merge: that cannot be an error. */
TEST_F(failure, merge_never_fails)
{
	char *addr = self->addr;
	unsigned int nth;

	memset(addr, 1, self->size);
	for (nth = 1; nth < 100; nth++) {
		bool injected;
		long ret;

		ASSERT_EQ(0, set_vma(addr, self->size, PR_MCPAGE_UNSET));
		ASSERT_EQ(0, set_vma(addr + MB(1), MB(1), BIT(4)));
		ASSERT_EQ(3, count_vmas(addr, self->size));
		fail_nth(self->fd, nth);
		ret = set_vma(addr + MB(1), MB(1), PR_MCPAGE_UNSET);
		injected = has_failed(self->fd);
		EXPECT_EQ(0, ret);
		EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(addr + MB(1)));
		/* A merge that had no memory is made up for by the next call. */
		EXPECT_GE(3, count_vmas(addr, self->size));
		if (!injected)
			break;
	}
	EXPECT_EQ(1, count_vmas(addr, self->size));
	EXPECT_GT(100, nth);
}

/* Fork that fails half way, with a policy on each of many VMAs. */
TEST_F(failure, fork)
{
	char *addr = self->addr;
	unsigned int failed = 0, nth;
	int vmas;

	ASSERT_EQ(0, set_process(BIT(4) | BIT(2)));
	for (int i = 0; i < 50; i++) {
		ASSERT_EQ(0, set_vma(addr + i * KB(64), KB(64),
				     i & 1 ? BIT(2) : BIT(3)));
		addr[i * KB(64)] = i;
	}
	vmas = count_vmas(addr, self->size);
	/* Closer at the start, where it is about the process and the first VMAs. */
	for (nth = 1; nth < 1000; nth += nth < 60 ? 1 : 13) {
		bool injected;
		int status;
		pid_t pid;

		fail_nth(self->fd, nth);
		pid = fork();
		if (!pid) {
			bool ok = true;

			for (int i = 0; i < 50; i++)
				ok &= get_vma(addr + i * KB(64)) ==
				      (i & 1 ? BIT(2) : BIT(3)) &&
				      addr[i * KB(64)] == i;
			ok &= get_process() == (BIT(4) | BIT(2));
			_exit(!ok);
		}
		injected = has_failed(self->fd);
		if (pid < 0) {
			failed++;
			continue;
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
		if (!injected)
			break;
	}
	TH_LOG("%u forks failed, up to allocation %u", failed, nth);
	EXPECT_LT(20, failed);
	EXPECT_EQ(vmas, count_vmas(addr, self->size));
	for (int i = 0; i < 50; i++)
		EXPECT_EQ(i & 1 ? BIT(2) : BIT(3), get_vma(addr + i * KB(64)));
}

/*
 * A block that cannot be allocated: counted once at the order that was asked
 * for, and the next lower one is used.
 */
static void fault_steps_down(struct __test_metadata *_metadata, char *addr,
			     size_t size, int fd, const char *backing)
{
	ASSERT_EQ(0, mcpage_write("backing", backing));
	ASSERT_EQ(0, mcpage_write("effort", "never"));
	ASSERT_EQ(0, set_vma(addr, size, BIT(4) | BIT(2)));
	/* The page table and the anon_vma come first; they are not meant. */
	addr[0] = 1;
	for (unsigned int nth = 1; nth <= 3; nth++) {
		char *block = addr + nth * KB(64);
		unsigned long fallback4 = mcpage_stat(4, "fallback");
		unsigned long fallback2 = mcpage_stat(2, "fallback");
		unsigned long alloc4 = mcpage_stat(4, "alloc");
		unsigned long alloc2 = mcpage_stat(2, "alloc");
		bool injected;
		int present;

		fail_nth(fd, nth);
		poke(block, 1);
		injected = has_failed(fd);
		present = present_pages(block, KB(64));
		if (nth == 1) {
			EXPECT_TRUE(injected);
			EXPECT_EQ(4, present);
			EXPECT_EQ(fallback4 + 1, mcpage_stat(4, "fallback"));
			EXPECT_EQ(fallback2, mcpage_stat(2, "fallback"));
			EXPECT_EQ(alloc4, mcpage_stat(4, "alloc"));
			EXPECT_EQ(alloc2 + 1, mcpage_stat(2, "alloc"));
		} else if (!injected) {
			EXPECT_EQ(16, present);
			EXPECT_EQ(alloc4 + 1, mcpage_stat(4, "alloc"));
			EXPECT_EQ(fallback4, mcpage_stat(4, "fallback"));
		}
		for (int i = 1; i < (int)KB(64); i++) {
			if (block[i]) {
				EXPECT_EQ(0, block[i]);
				break;
			}
		}
	}
}

TEST_F(failure, fault_folio)
{
	fault_steps_down(_metadata, self->addr, self->size, self->fd, "folio");
}

TEST_F(failure, fault_pages)
{
	fault_steps_down(_metadata, self->addr, self->size, self->fd, "pages");
}

/* A huge page that cannot be had, and its counter. */
TEST_F(failure, fault_huge)
{
	unsigned long before = mcpage_stat(9, "fallback");
	unsigned long sum = vm_event("mcpage_anon_fault_fallback");

	ASSERT_EQ(9, pmd_order);
	ASSERT_EQ(0, mcpage_write("effort", "never"));
	self->addr[0] = 1;
	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(9)));
	fail_nth(self->fd, 1);
	poke(self->addr + MB(2), 1);
	EXPECT_TRUE(has_failed(self->fd));
	EXPECT_EQ(1, present_pages(self->addr + MB(2), MB(2)));
	EXPECT_EQ(before + 1, mcpage_stat(9, "fallback"));
	EXPECT_EQ(sum + 1, vm_event("mcpage_anon_fault_fallback"));
}

TEST_HARNESS_MAIN
