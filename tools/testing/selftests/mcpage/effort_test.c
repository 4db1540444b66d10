// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: on fragmented memory a fault takes what is free and does
 * not stall for more, unless it is told to.
 */
#include "mcpage_harness.h"

#define BLOCK_ORDER 4

struct hog {
	char *addr;
	size_t size;
};

FIXTURE(effort)
{
	struct hog hog;
	char *addr;
	size_t size;
};

FIXTURE_VARIANT(effort)
{
	const char *backing;
};

FIXTURE_VARIANT_ADD(effort, folio)
{
	.backing = "folio",
};

FIXTURE_VARIANT_ADD(effort, pages)
{
	.backing = "pages",
};

FIXTURE_SETUP(effort)
{
	if (not_testable())
		SKIP(return, "%s", not_testable());
	ASSERT_EQ(0, settings_begin());
	if (mcpage_write("backing", variant->backing)) {
		settings_end();
		SKIP(return, "no %s backing in this kernel", variant->backing);
	}
	self->size = MB(8);
	self->addr = map_region(self->size);
	ASSERT_NE(NULL, self->addr);
}

FIXTURE_TEARDOWN_PARENT(effort)
{
	settings_end();
}

static unsigned long big_orders(void)
{
	return valid_orders & ~(BIT(BLOCK_ORDER) - 1);
}

static unsigned long free_kb(void)
{
	char text[4096], *line;

	if (read_text("/proc/meminfo", text, sizeof(text)))
		return 0;
	line = strstr(text, "MemFree:");
	return line ? strtoul(line + strlen("MemFree:"), NULL, 10) : 0;
}

/* Set all but @keep kB of the free memory aside, for nobody: that is quick. */
static void set_aside(unsigned long keep)
{
	unsigned long kb = free_kb();
	char text[32];

	if (kb < keep)
		return;
	snprintf(text, sizeof(text), "%lu", (kb - keep) >> 11);
	write_text("/proc/sys/vm/nr_hugepages", text);
}

/*
 * Take every free block of 64K or more, then give 15 of its 16 pages back. Much
 * is free then, hardly any of it in one piece. Again until there is next to nothing
 * to take: a few blocks come back all the time, as the kernel frees its own.
 */
static bool fragment(struct hog *hog)
{
	size_t pmd = block_size(pmd_order), block = block_size(BLOCK_ORDER);
	size_t at = 0, from;

	set_aside(128 << 10);
	/* What is locked stays where it is: nobody makes blocks of it meanwhile. */
	write_text("/proc/sys/vm/compact_unevictable_allowed", "0");
	hog->size = (free_kb() << 11) / pmd * pmd;
	hog->addr = map_region(hog->size);
	if (!hog->addr || set_vma(hog->addr, hog->size, big_orders()) ||
	    mlock2(hog->addr, hog->size, MLOCK_ONFAULT) ||
	    mcpage_write("backing", "pages") || mcpage_write("effort", "never"))
		return false;
	for (int round = 0; round < 20; round++) {
		int present;

		from = at;
		do {
			if (at == hog->size)
				return false;
			for (size_t i = 0; i < pmd; i += block)
				poke(hog->addr + at + i, 1);
			present = present_pages(hog->addr + at, pmd);
			at += pmd;
		} while (present == (int)(pmd / page_size));
		for (size_t i = from; i < at; i += block)
			madvise(hog->addr + i + page_size, block - page_size,
				MADV_DONTNEED_LOCKED);
		/* Nearly each touch of the last round got a single page. */
		if (at - from == pmd && present < (int)(pmd / page_size / 4))
			return true;
	}
	return false;
}

struct events {
	unsigned long stalls;
	unsigned long wakes;
	unsigned long blocks;
	unsigned long fallbacks;
};

static struct events events(void)
{
	struct events e = {
		.stalls = vm_event("compact_stall") + vm_event("allocstall_*"),
		.wakes = vm_event("pageoutrun") + vm_event("compact_daemon_wake"),
	};

	for (unsigned int order = BLOCK_ORDER; order <= pmd_order; order++) {
		e.blocks += mcpage_stat(order, "alloc");
		e.fallbacks += mcpage_stat(order, "fallback");
	}
	return e;
}

/* Fault it in from empty; what happened meanwhile. */
static struct events fault_in(char *addr, size_t size)
{
	struct events before, after;

	madvise(addr, size, MADV_DONTNEED);
	before = events();
	for (size_t i = 0; i < size; i += page_size)
		addr[i] = 1;
	after = events();
	return (struct events){
		.stalls = after.stalls - before.stalls,
		.wakes = after.wakes - before.wakes,
		.blocks = after.blocks - before.blocks,
		.fallbacks = after.fallbacks - before.fallbacks,
	};
}

TEST_F(effort, fragmented_memory)
{
	static const char * const efforts[] = { "never", "light" };
	struct events e;

	ASSERT_EQ(0, set_vma(self->addr, self->size, big_orders()));
	ASSERT_TRUE(fragment(&self->hog));
	/* In this order: kcompactd, once awake, makes more free blocks. */
	for (size_t i = 0; i < ARRAY_SIZE(efforts); i++) {
		ASSERT_EQ(0, mcpage_write("backing", variant->backing));
		ASSERT_EQ(0, mcpage_write("effort", efforts[i]));
		e = fault_in(self->addr, self->size);
		TH_LOG("%s: %lu stalls, %lu wakes, %lu blocks, %lu fallbacks",
		       efforts[i], e.stalls, e.wakes, e.blocks, e.fallbacks);
		EXPECT_EQ(0, e.stalls);
		/* With "light" kcompactd may be fast enough to leave none. */
		EXPECT_TRUE(e.fallbacks || strcmp(efforts[i], "never"));
		for (size_t at = 0; at < self->size; at += page_size)
			ASSERT_EQ(1, self->addr[at]);
	}
}

/* No effort is not no blocks: what is free is taken. */
TEST_F(effort, fresh_memory)
{
	static const char * const efforts[] = { "never", "light", "direct" };

	write_text("/proc/sys/vm/compact_memory", "1");
	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(BLOCK_ORDER)));
	for (size_t i = 0; i < ARRAY_SIZE(efforts); i++) {
		ASSERT_EQ(0, mcpage_write("effort", efforts[i]));
		EXPECT_EQ(BLOCK_ORDER, touch_order(self->addr, variant->backing));
		ASSERT_EQ(0, madvise(self->addr, MB(2), MADV_DONTNEED));
	}
}

TEST_HARNESS_MAIN
