// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: what a program gets is clear, by whatever method, and nothing
 * else is; huge pages and those of hugetlb too.
 */
#include <sys/klog.h>

#include "mcpage_harness.h"

#define SYSLOG_ACTION_READ_ALL	3

/* Memory whose pages are to be found again, dirty. */
#define DIRTY	MB(16)
#define PATTERN	0xa5

/* The methods that this CPU has; returns how many. */
static int methods(char names[8][16])
{
	char text[128], *word, *next = text;
	int nr = 0;

	if (mcpage_read("clear/method", text, sizeof(text)))
		return 0;
	while (nr < 8 && (word = strsep(&next, " []"))) {
		if (*word)
			snprintf(names[nr++], sizeof(names[0]), "%s", word);
	}
	return nr;
}

/* Bytes that mcpage has cleared since boot, by all methods. */
static unsigned long bytes_cleared(void)
{
	char text[4096], *line, *next = text;
	unsigned long sum = 0, bytes;

	if (mcpage_read("clear/stats", text, sizeof(text)))
		return 0;
	while ((line = strsep(&next, "\n"))) {
		if (sscanf(line, "%*s %*u %lu", &bytes) == 1)
			sum += bytes;
	}
	return sum;
}

/* With init_on_alloc there is nothing left to clear; the boot log says so. */
static bool by_allocator(void)
{
	static char log[1 << 20];
	int len = klogctl(SYSLOG_ACTION_READ_ALL, log, sizeof(log) - 1);

	return len > 0 && strstr(log, "heap alloc:on");
}

/* Other architectures have no method but clear_page(), which is not counted. */
static bool has_methods(void)
{
	char names[8][16];

	return methods(names) > 2;
}

static bool all_are(const char *p, size_t len, char value)
{
	return *p == value && !memcmp(p, p + 1, len - 1);
}

/* Leave dirty pages to be taken by the faults that follow. */
static void dirty_free_memory(void)
{
	char *addr = map_region(DIRTY);

	if (!addr)
		return;
	memset(addr, PATTERN, DIRTY);
	unmap_region(addr, DIRTY);
}

FIXTURE(clear)
{
};

FIXTURE_VARIANT(clear)
{
	const char *backing;
};

FIXTURE_VARIANT_ADD(clear, folio)
{
	.backing = "folio",
};

FIXTURE_VARIANT_ADD(clear, pages)
{
	.backing = "pages",
};

FIXTURE_SETUP(clear)
{
	if (not_testable())
		SKIP(return, "%s", not_testable());
	ASSERT_EQ(0, settings_begin());
	ASSERT_EQ(0, mcpage_write("backing", variant->backing));
}

FIXTURE_TEARDOWN_PARENT(clear)
{
	settings_end();
}

/* Whatever the method, the order, and where in the block the fault is. */
TEST_F(clear, whole_block)
{
	static const unsigned int orders[] = { 2, 4, 9 };
	char names[8][16];
	int nr = methods(names);

	ASSERT_LT(0, nr);
	for (int m = 0; m < nr; m++) {
		ASSERT_EQ(0, mcpage_write("clear/method", names[m]));
		for (size_t o = 0; o < ARRAY_SIZE(orders); o++) {
			size_t size = block_size(orders[o]);
			const size_t offset[] = { 0, size / 2 + 123, size - 1 };

			dirty_free_memory();
			for (size_t i = 0; i < ARRAY_SIZE(offset); i++) {
				EXPECT_EQ((int)orders[o],
					  probe_order(offset[i], BIT(orders[o]),
						      variant->backing))
					TH_LOG("%s, order %u, at %zu", names[m],
					       orders[o], offset[i]);
			}
		}
	}
}

/* Blocks between blocks in use: every other one is given back and taken again. */
TEST_F(clear, neighbours_keep_their_data)
{
	char names[8][16];
	size_t size = MB(16), block = KB(64);
	int nr = methods(names);
	char *addr = map_region(size);

	ASSERT_LT(0, nr);
	ASSERT_NE(NULL, addr);
	ASSERT_EQ(0, set_vma(addr, size, BIT(4)));
	memset(addr, PATTERN, size);
	for (int m = 0; m < nr; m++) {
		unsigned long blocks = mcpage_stat(4, "alloc");
		size_t wrong = 0;

		ASSERT_EQ(0, mcpage_write("clear/method", names[m]));
		for (size_t i = m % 2 * block; i < size; i += 2 * block)
			ASSERT_EQ(0, madvise(addr + i, block, MADV_DONTNEED));
		for (size_t i = m % 2 * block; i < size; i += 2 * block) {
			poke(addr + i + (i / block * 4711) % block, 0);
			wrong += !all_are(addr + i, block, 0);
			memset(addr + i, PATTERN, block);
		}
		EXPECT_EQ(0, wrong)
			TH_LOG("%s", names[m]);
		EXPECT_EQ(blocks + size / block / 2, mcpage_stat(4, "alloc"));
		EXPECT_TRUE(all_are(addr, size, (char)PATTERN))
			TH_LOG("%s", names[m]);
	}
}

/* Each block once: not by the allocator and then again. */
TEST_F(clear, once)
{
	if (!has_methods())
		SKIP(return, "no method but clear_page()");
	for (unsigned int order = 2; order <= 9; order++) {
		unsigned long before = bytes_cleared();

		ASSERT_EQ((int)order, probe_order(0, BIT(order), variant->backing));
		EXPECT_EQ(before + (by_allocator() ? 0 : block_size(order)),
			  bytes_cleared());
	}
}

FIXTURE(huge)
{
};

FIXTURE_SETUP(huge)
{
	if (not_testable())
		SKIP(return, "%s", not_testable());
	ASSERT_EQ(0, settings_begin());
}

FIXTURE_TEARDOWN_PARENT(huge)
{
	settings_end();
}

/* One write to a huge page that is nobody's policy, and is all of it clear? */
static bool huge_page_clear(size_t offset)
{
	char *addr = map_region(MB(2));
	bool clear = false;

	if (!addr)
		return false;
	madvise(addr, MB(2), MADV_HUGEPAGE);
	poke(addr + offset, 0);
	if (smaps_kb(addr, "AnonHugePages") == 2048)
		clear = all_are(addr, MB(2), 0);
	unmap_region(addr, MB(2));
	return clear;
}

/* THP gains by it too, unless mcpage is off or the method says to leave it. */
TEST_F(huge, thp)
{
	const size_t offset[] = { 0, MB(1) + 123, MB(2) - 1 };
	unsigned long before, size = by_allocator() ? 0 : MB(2);

	if (access(THP_DIR "enabled", F_OK) || !has_methods())
		SKIP(return, "no THP in this kernel, or no method but clear_page()");
	ASSERT_EQ(0, write_text(THP_DIR "enabled", "madvise"));
	for (size_t i = 0; i < ARRAY_SIZE(offset); i++) {
		dirty_free_memory();
		before = bytes_cleared();
		EXPECT_TRUE(huge_page_clear(offset[i]));
		EXPECT_EQ(before + size, bytes_cleared());
	}
	before = bytes_cleared();
	ASSERT_EQ(0, mcpage_write("clear/method", "page"));
	EXPECT_TRUE(huge_page_clear(0));
	EXPECT_EQ(before, bytes_cleared());
	ASSERT_EQ(0, mcpage_write("clear/method", "auto"));
	ASSERT_EQ(0, mcpage_write("enabled", "never"));
	EXPECT_TRUE(huge_page_clear(0));
	EXPECT_EQ(before, bytes_cleared());
}

/* Those of hugetlb come back from its pool as they were put there. */
TEST_F(huge, hugetlb)
{
	unsigned long before;
	char *addr;

	if (!has_methods())
		SKIP(return, "no method but clear_page()");
	if (write_text("/proc/sys/vm/nr_hugepages", "1") ||
	    read_number("/proc/sys/vm/nr_hugepages") != 1)
		SKIP(return, "no hugetlb pages");
	for (int i = 0; i < 3; i++) {
		addr = mmap(NULL, MB(2), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
		ASSERT_NE(MAP_FAILED, addr);
		before = bytes_cleared();
		poke(addr + i * (MB(1) - 1), 0);
		EXPECT_EQ(before + MB(2), bytes_cleared());
		EXPECT_TRUE(all_are(addr, MB(2), 0));
		memset(addr, PATTERN, MB(2));
		ASSERT_EQ(0, munmap(addr, MB(2)));
	}
}

/* A range of which little, or much, is in use becomes a huge page. */
TEST_F(huge, collapse)
{
	const size_t used[] = { 1, 255, 256, 257, 511 };

	if (access(THP_DIR "enabled", F_OK))
		SKIP(return, "no THP in this kernel");
	for (size_t i = 0; i < ARRAY_SIZE(used); i++) {
		char *addr = map_region(MB(2));
		size_t wrong = 0;

		ASSERT_NE(NULL, addr);
		for (size_t j = 0; j < used[i]; j++)
			memset(addr + j * 509 % 512 * page_size, PATTERN, page_size);
		dirty_free_memory();
		ASSERT_EQ(0, madvise(addr, MB(2), MADV_COLLAPSE));
		EXPECT_EQ(2048, smaps_kb(addr, "AnonHugePages"));
		for (size_t j = 0; j < 512; j++)
			wrong += !all_are(addr + j * 509 % 512 * page_size, page_size,
					  j < used[i] ? (char)PATTERN : 0);
		EXPECT_EQ(0, wrong)
			TH_LOG("%zu pages in use", used[i]);
		unmap_region(addr, MB(2));
	}
}

TEST_HARNESS_MAIN
