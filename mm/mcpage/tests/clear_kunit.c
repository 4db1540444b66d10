// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage_clear: what is cleared, by which method, and in which pieces.
 */
#include <kunit/static_stub.h>
#include <kunit/test.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/rwsem.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "helpers.h"

#define PATTERN	0xa5

/* What the stub of mcpage_clear_chunk() has seen. */
#define MAX_CHUNKS	1200

struct chunk {
	enum mcpage_clear_method method;
	void *addr;
	unsigned long len;
};

static struct chunk chunks[MAX_CHUNKS];
static unsigned int nr_chunks;

static void note_chunk(enum mcpage_clear_method method, void *addr, unsigned long len)
{
	if (nr_chunks < MAX_CHUNKS)
		chunks[nr_chunks] = (struct chunk){ method, addr, len };
	nr_chunks++;
}

/* From here on nothing is cleared, but noted. */
static void note_chunks(struct kunit *test)
{
	nr_chunks = 0;
	kunit_activate_static_stub(test, mcpage_clear_chunk, note_chunk);
}

static bool yes(void)
{
	return true;
}

static bool no(void)
{
	return false;
}

/* mcpage is on, and its methods are not in vain with init_on_alloc either. */
static void begin(struct kunit *test)
{
	if (!(mcpage_clear_methods() & MCPAGE_CLEAR_EXTENT))
		kunit_skip(test, "no method but clear_page() on this architecture");
	mcpage_test_settings(test);
	mcpage_test_set(MCPAGE_ALWAYS, MCPAGE_PAGES);
	kunit_activate_static_stub(test, mcpage_init_on_alloc, no);
}

static unsigned long bytes_cleared(void)
{
	unsigned long sum = 0;
	unsigned int i;
	u64 calls, bytes;

	for (i = 0; i < NR_MCPAGE_CLEAR_METHODS; i++) {
		mcpage_clear_stat_read(i, &calls, &bytes);
		sum += bytes;
	}
	return sum;
}

static void put_pages(void *data)
{
	struct page *page = data;

	__free_pages(page, compound_order(page));
}

/* Contiguous memory, until the case ends. */
static struct page *get_pages(struct kunit *test, unsigned int order)
{
	struct page *page = alloc_pages(GFP_KERNEL | __GFP_COMP, order);

	KUNIT_ASSERT_NOT_NULL(test, page);
	KUNIT_ASSERT_EQ(test, 0, kunit_add_action_or_reset(test, put_pages, page));
	return page;
}

/* -------- parameters: every method that there is, with every order -------- */

struct extent_param {
	enum mcpage_clear_method method;
	unsigned int order;
};

static struct extent_param extent_param;

static const void *extent_gen_params(const void *prev, char *desc)
{
	struct extent_param *p = &extent_param;

	if (!prev) {
		p->method = 0;
		p->order = MCPAGE_MIN_ORDER;
	} else if (++p->order > 9) {
		p->order = MCPAGE_MIN_ORDER;
		p->method++;
	}
	while (p->method < NR_MCPAGE_CLEAR_METHODS &&
	       (p->method == MCPAGE_CLEAR_PAGE ||
		!(mcpage_clear_methods() & BIT(p->method))))
		p->method++;
	if (p->method == NR_MCPAGE_CLEAR_METHODS)
		return NULL;
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s, order %u",
		 mcpage_clear_names[p->method], p->order);
	return p;
}

/* -------- what is cleared -------- */

/* All of the block and nothing beside it, wherever the fault was. */
static void whole_extent(struct kunit *test)
{
	static const unsigned int cached_kb[] = { 0, 4, 32, 2048 };
	struct extent_param p = *(const struct extent_param *)test->param_value;
	unsigned long len = PAGE_SIZE << p.order, i, j;
	const unsigned long offset[] = {
		0, 1, PAGE_SIZE - 1, PAGE_SIZE, len / 2 - 1, len / 2 + 123,
		len - PAGE_SIZE, len - 1,
	};
	struct page *page;
	void *start;

	begin(test);
	page = get_pages(test, p.order + 1);
	start = page_address(page) + len / 2;
	KUNIT_ASSERT_EQ(test, 0, mcpage_clear_set(p.method));
	for (i = 0; i < ARRAY_SIZE(cached_kb); i++) {
		WRITE_ONCE(mcpage_clear_settings.cached_kb, cached_kb[i]);
		for (j = 0; j < ARRAY_SIZE(offset); j++) {
			unsigned long before = bytes_cleared();

			memset(page_address(page), PATTERN, 2 * len);
			KUNIT_ASSERT_TRUE(test, mcpage_clear_pages(virt_to_page(start),
								   1 << p.order,
								   offset[j]));
			KUNIT_EXPECT_NULL(test, memchr_inv(start, 0, len));
			KUNIT_EXPECT_NULL(test, memchr_inv(page_address(page), PATTERN,
							   len / 2));
			KUNIT_EXPECT_NULL(test, memchr_inv(start + len, PATTERN, len / 2));
			KUNIT_EXPECT_EQ(test, before + len, bytes_cleared());
		}
	}
}

/* Each begins with a length, ends before the next one's, and the last has no end. */
static void classes(struct kunit *test)
{
	unsigned int class, i;

	for (class = 0; class < NR_MCPAGE_CLEAR_CLASSES; class++) {
		unsigned long len = mcpage_clear_class_len[class];

		KUNIT_EXPECT_EQ(test, class, mcpage_clear_class(len));
		if (class) {
			KUNIT_EXPECT_EQ(test, class - 1, mcpage_clear_class(len - 1));
			KUNIT_EXPECT_GT(test, len, mcpage_clear_class_len[class - 1]);
		}
	}
	KUNIT_EXPECT_EQ(test, PAGE_SIZE, mcpage_clear_class_len[0]);
	for (i = 9; i < 20; i++)
		KUNIT_EXPECT_EQ(test, class - 1, mcpage_clear_class(PAGE_SIZE << i));
}

/* -------- which method -------- */

#define ALL	MCPAGE_CLEAR_ALL
#define WITHOUT(m)	(ALL & ~BIT(MCPAGE_CLEAR_##m))

/* Clearing, and clearing and reading; the order is that of the enum. */
struct choose_param {
	const char *what;
	unsigned int methods;
	enum mcpage_clear_method choice;
	struct mcpage_clear_speed page, stosb, stosq, loop, clzero, movnti;
};

static const struct choose_param choose_params[] = {
	{ "nothing measured", ALL, MCPAGE_CLEAR_PAGE },
	{ "no method", 0, MCPAGE_CLEAR_PAGE,
	  { 90, 90 }, { 100, 100 }, { 100, 100 }, { 100, 100 }, { 900, 900 }, { 900, 900 } },
	{ "page was not measured", ALL, MCPAGE_CLEAR_PAGE,
	  { 90, 0 }, { 100, 100 }, { 100, 100 }, { 100, 100 }, { 900, 900 }, { 900, 900 } },
	{ "none is better", ALL, MCPAGE_CLEAR_PAGE,
	  { 100, 100 }, { 99, 99 }, { 99, 99 }, { 99, 99 }, { 99, 99 }, { 99, 99 } },
	{ "all the same", ALL, MCPAGE_CLEAR_PAGE,
	  { 100, 100 }, { 100, 100 }, { 100, 100 }, { 100, 100 }, { 100, 100 }, { 100, 100 } },
	{ "the fastest", ALL, MCPAGE_CLEAR_REP_STOSQ,
	  { 90, 90 }, { 100, 100 }, { 101, 100 }, { 90, 90 }, { 50, 50 }, { 50, 50 } },
	{ "the first of two", ALL, MCPAGE_CLEAR_REP_STOSB,
	  { 90, 90 }, { 100, 100 }, { 100, 100 }, { 90, 90 }, { 100, 100 }, { 50, 50 } },
	{ "what is read counts too", ALL, MCPAGE_CLEAR_LOOP,
	  { 50, 50 }, { 110, 50 }, { 100, 60 }, { 95, 95 }, { 50, 50 }, { 50, 50 } },
	{ "2M on Zen 3", ALL, MCPAGE_CLEAR_CLZERO,
	  { 14000, 8700 }, { 15000, 8900 }, { 15000, 8900 }, { 11000, 8000 },
	  { 47000, 13000 }, { 16000, 9000 } },
	{ "64K on Zen 3", ALL, MCPAGE_CLEAR_CLZERO,
	  { 13500, 9700 }, { 14000, 9800 }, { 14000, 9800 }, { 11000, 8000 },
	  { 29000, 10500 }, { 18000, 9000 } },
	{ "16K on Zen 3", ALL, MCPAGE_CLEAR_PAGE,
	  { 13500, 9400 }, { 14000, 9500 }, { 13000, 9500 }, { 11000, 8000 },
	  { 34000, 9300 }, { 15000, 8000 } },
	{ "4K on Zen 3", ALL, MCPAGE_CLEAR_PAGE,
	  { 14000, 10900 }, { 14000, 10900 }, { 13000, 10900 }, { 11000, 8000 },
	  { 18000, 4000 }, { 12000, 4000 } },
	{ "the better of the non-cached", ALL, MCPAGE_CLEAR_MOVNTI,
	  { 100, 100 }, { 100, 100 }, { 100, 100 }, { 100, 100 }, { 200, 107 }, { 201, 107 } },
	{ "a reader pays", ALL, MCPAGE_CLEAR_PAGE,
	  { 100, 100 }, { 900, 99 }, { 90, 90 }, { 90, 90 }, { 900, 99 }, { 900, 99 } },
	{ "a reader may pay", ALL, MCPAGE_CLEAR_PAGE,
	  { 100, 100 }, { 90, 90 }, { 90, 90 }, { 90, 90 }, { 900, 105 }, { 900, 105 } },
	{ "a reader gains, clearing pays", ALL, MCPAGE_CLEAR_PAGE,
	  { 100, 100 }, { 99, 900 }, { 90, 90 }, { 90, 90 }, { 99, 900 }, { 99, 900 } },
	{ "better, by chance maybe", ALL, MCPAGE_CLEAR_PAGE,
	  { 1000, 1000 }, { 1060, 1060 }, { 900, 900 }, { 900, 900 }, { 1100, 1000 }, { 0, 0 } },
	{ "better by more than that", ALL, MCPAGE_CLEAR_REP_STOSB,
	  { 1000, 1000 }, { 1070, 1070 }, { 900, 900 }, { 900, 900 }, { 1100, 1000 }, { 0, 0 } },
	{ "no clzero", WITHOUT(CLZERO), MCPAGE_CLEAR_REP_STOSB,
	  { 90, 90 }, { 100, 100 }, { 90, 90 }, { 90, 90 }, { 900, 900 }, { 50, 50 } },
	{ "no rep stosb", WITHOUT(REP_STOSB), MCPAGE_CLEAR_LOOP,
	  { 90, 90 }, { 900, 900 }, { 90, 90 }, { 100, 100 }, { 50, 50 }, { 50, 50 } },
	{ "cached ones only", MCPAGE_CLEAR_CACHED, MCPAGE_CLEAR_REP_STOSQ,
	  { 80, 80 }, { 90, 90 }, { 100, 100 }, { 90, 90 }, { 900, 900 }, { 900, 900 } },
	{ "one was not measured", ALL, MCPAGE_CLEAR_REP_STOSQ,
	  { 80, 80 }, { 0, 0 }, { 100, 100 }, { 90, 90 }, { 0, 0 }, { 900, 0 } },
	{ "very slow and very fast", ALL, MCPAGE_CLEAR_CLZERO,
	  { 1, 1 }, { 1000000, 1000000 }, { 1, 1 }, { 2, 2 }, { 4000000, 1000000 }, { 0, 0 } },
};

static void choose_desc(const struct choose_param *p, char *desc)
{
	strscpy(desc, p->what, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(choose, choose_params, choose_desc);

static void choose(struct kunit *test)
{
	const struct choose_param *p = test->param_value;
	const struct mcpage_clear_speed speed[NR_MCPAGE_CLEAR_METHODS] = {
		[MCPAGE_CLEAR_PAGE]		= p->page,
		[MCPAGE_CLEAR_REP_STOSB]	= p->stosb,
		[MCPAGE_CLEAR_REP_STOSQ]	= p->stosq,
		[MCPAGE_CLEAR_LOOP]		= p->loop,
		[MCPAGE_CLEAR_CLZERO]		= p->clzero,
		[MCPAGE_CLEAR_MOVNTI]		= p->movnti,
	};

	KUNIT_EXPECT_EQ(test, p->choice, mcpage_clear_choose(speed, p->methods));
}

/* -------- in which pieces -------- */

struct near_param {
	unsigned long len, offset, cached, near, near_len;
};

static const struct near_param near_params[] = {
	/* A sixteenth, a page at least. */
	{ SZ_16K, 0, SZ_32K, 0, SZ_4K },
	{ SZ_16K, 5 * SZ_1K, SZ_32K, SZ_4K, SZ_4K },
	{ SZ_16K, SZ_16K - 1, SZ_32K, 3 * SZ_4K, SZ_4K },
	{ SZ_64K, SZ_32K, SZ_32K, SZ_32K, SZ_4K },
	{ SZ_256K, SZ_128K, SZ_32K, SZ_128K - SZ_8K, SZ_16K },
	{ SZ_2M, SZ_1M, SZ_32K, SZ_1M - SZ_16K, SZ_32K },
	{ SZ_2M, SZ_1M, SZ_2M, SZ_1M - SZ_64K, SZ_128K },
	/* As set, where that is less. */
	{ SZ_2M, SZ_1M, SZ_4K, SZ_1M, SZ_4K },
	{ SZ_2M, SZ_1M + 4095, SZ_8K, SZ_1M - SZ_4K, SZ_8K },
	/* Where there is no room on one side. */
	{ SZ_2M, 0, SZ_32K, 0, SZ_32K },
	{ SZ_2M, SZ_4K, SZ_32K, 0, SZ_32K },
	{ SZ_2M, SZ_16K, SZ_32K, 0, SZ_32K },
	{ SZ_2M, SZ_16K + SZ_4K, SZ_32K, SZ_4K, SZ_32K },
	{ SZ_2M, SZ_2M - 1, SZ_32K, SZ_2M - SZ_32K, SZ_32K },
	{ SZ_2M, SZ_2M - SZ_8K, SZ_32K, SZ_2M - SZ_32K, SZ_32K },
	{ SZ_32M, SZ_16M, SZ_32M, SZ_16M - SZ_1M, SZ_2M },
	/* Nothing apart. */
	{ SZ_2M, SZ_1M, 0, 0, 0 },
	{ SZ_16K, SZ_16K - 1, 0, 0, 0 },
};

static void near_desc(const struct near_param *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%luK, at %lu, up to %luK",
		 p->len / SZ_1K, p->offset, p->cached / SZ_1K);
}

KUNIT_ARRAY_PARAM(near, near_params, near_desc);

static void near(struct kunit *test)
{
	const struct near_param *p = test->param_value;
	struct mcpage_clear_plan plan = { .near = 0xdead, .near_len = 0xdead };

	if (PAGE_SIZE != SZ_4K)
		kunit_skip(test, "the table is that of 4K pages");
	mcpage_clear_near(&plan, p->len, p->offset, p->cached);
	KUNIT_EXPECT_EQ(test, p->near, plan.near);
	KUNIT_EXPECT_EQ(test, p->near_len, plan.near_len);
}

/*
 * Every byte once, in chunks of the length that is set or less, those around the
 * fault last and by a method that leaves them in the caches; by both ways in.
 */
static void pieces_of(struct kunit *test, struct page *page, unsigned long fault,
		      bool folio)
{
	unsigned long len = page_size(page), sum = 0, chunk, i;
	void *start = page_address(page);

	note_chunks(test);
	if (folio)
		KUNIT_ASSERT_TRUE(test, mcpage_zero_folio(page_folio(page), SZ_1G + fault));
	else
		KUNIT_ASSERT_TRUE(test, mcpage_clear_pages(page, compound_nr(page), fault));
	kunit_deactivate_static_stub(test, mcpage_clear_chunk);

	KUNIT_ASSERT_LE(test, nr_chunks, MAX_CHUNKS);
	chunk = mcpage_clear_settings.chunk_kb * SZ_1K;
	memset(start, PATTERN, len);
	for (i = 0; i < nr_chunks; i++) {
		KUNIT_EXPECT_LE(test, chunks[i].len, chunk);
		KUNIT_ASSERT_TRUE(test, chunks[i].addr >= start);
		KUNIT_ASSERT_TRUE(test, chunks[i].addr + chunks[i].len <= start + len);
		/* Once: what was cleared before would not be found. */
		KUNIT_EXPECT_NULL(test, memchr_inv(chunks[i].addr, PATTERN, chunks[i].len));
		memset(chunks[i].addr, 0, chunks[i].len);
		sum += chunks[i].len;
	}
	KUNIT_EXPECT_EQ(test, len, sum);
	KUNIT_EXPECT_EQ(test, MCPAGE_CLEAR_MOVNTI, chunks[0].method);

	i = nr_chunks - 1;
	if (!mcpage_clear_settings.cached_kb) {
		KUNIT_EXPECT_EQ(test, MCPAGE_CLEAR_MOVNTI, chunks[i].method);
		return;
	}
	KUNIT_EXPECT_TRUE(test, BIT(chunks[i].method) & MCPAGE_CLEAR_CACHED);
	while (i && chunks[i].method == chunks[i - 1].method)
		i--;
	/* Towards the fault, from both sides. */
	for (sum = 1; sum < i; sum++) {
		if (chunks[sum].addr <= start + fault)
			KUNIT_EXPECT_TRUE(test, chunks[sum].addr > chunks[sum - 1].addr);
		else if (chunks[sum - 1].addr > start + fault)
			KUNIT_EXPECT_TRUE(test, chunks[sum].addr < chunks[sum - 1].addr);
	}
	KUNIT_EXPECT_TRUE(test, chunks[i].addr <= start + fault);
	i = nr_chunks - 1;
	KUNIT_EXPECT_TRUE(test, chunks[i].addr + chunks[i].len > start + fault);
}

static const unsigned int piece_orders[] = { 2, 4, 9, 10 };

static void piece_desc(const unsigned int *order, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "order %u", *order);
}

KUNIT_ARRAY_PARAM(piece, piece_orders, piece_desc);

static void pieces(struct kunit *test)
{
	static const unsigned int chunk_kb[] = { 4, 12, 64, 128, 32 * 1024 };
	static const unsigned int cached_kb[] = { 0, 32 };
	struct page *page;
	unsigned int a, b, folio;

	begin(test);
	page = get_pages(test, *(const unsigned int *)test->param_value);
	KUNIT_ASSERT_EQ(test, 0, mcpage_clear_set(MCPAGE_CLEAR_MOVNTI));
	for (a = 0; a < ARRAY_SIZE(chunk_kb); a++) {
		for (b = 0; b < ARRAY_SIZE(cached_kb); b++) {
			WRITE_ONCE(mcpage_clear_settings.chunk_kb, chunk_kb[a]);
			WRITE_ONCE(mcpage_clear_settings.cached_kb, cached_kb[b]);
			for (folio = 0; folio < 2; folio++) {
				pieces_of(test, page, 0, folio);
				pieces_of(test, page, page_size(page) / 2 + 123, folio);
				pieces_of(test, page, page_size(page) - 1, folio);
			}
		}
	}
}

/* -------- when -------- */

/* A block, taken by a write to the byte in its middle. */
static unsigned long fault_block(struct kunit *test, unsigned int order)
{
	unsigned long size = PAGE_SIZE << order;
	unsigned long addr = mcpage_test_mmap_aligned(test, size, order);

	WRITE_ONCE(mcpage_settings.orders, BIT(order));
	KUNIT_ASSERT_EQ(test, BIT(order), mcpage_test_taken(test, addr + size / 2));
	return addr;
}

/* A fault clears what it maps, once; and nothing where the allocator did. */
static void once(struct kunit *test)
{
	enum mcpage_backing backing = mcpage_test_backing(test);
	unsigned long valid = mcpage_valid_orders(), before;
	unsigned int order;

	mcpage_test_need_backing(test, backing);
	begin(test);
	mcpage_test_set(MCPAGE_ALWAYS, backing);
	for_each_set_bit(order, &valid, PMD_ORDER + 1) {
		before = bytes_cleared();
		fault_block(test, order);
		KUNIT_EXPECT_EQ(test, before + (PAGE_SIZE << order), bytes_cleared());
	}
	kunit_activate_static_stub(test, mcpage_init_on_alloc, yes);
	before = bytes_cleared();
	for_each_set_bit(order, &valid, PMD_ORDER + 1)
		fault_block(test, order);
	KUNIT_EXPECT_EQ(test, before, bytes_cleared());
}

/* The same with what this kernel was booted with; init_on_alloc=1 is worth a boot. */
static void by_allocator(struct kunit *test)
{
	unsigned long before, size = PAGE_SIZE << 4, addr;

	begin(test);
	kunit_deactivate_static_stub(test, mcpage_init_on_alloc);
	before = bytes_cleared();
	addr = fault_block(test, 4);
	KUNIT_EXPECT_TRUE(test, mcpage_test_zero(test, addr, addr + size / 2));
	KUNIT_EXPECT_TRUE(test, mcpage_test_zero(test, addr + size / 2 + 1, addr + size));
	KUNIT_EXPECT_EQ(test, before + (want_init_on_alloc(0) ? 0 : size),
			bytes_cleared());
}

/* Off, and with the method "page", all is as without mcpage. */
static void off(struct kunit *test)
{
	begin(test);
	KUNIT_ASSERT_EQ(test, 0, mcpage_clear_set(MCPAGE_CLEAR_AUTO));
	KUNIT_EXPECT_TRUE(test, static_key_enabled(&mcpage_clear_key));
	KUNIT_ASSERT_EQ(test, 0, mcpage_clear_set(MCPAGE_CLEAR_PAGE));
	KUNIT_EXPECT_FALSE(test, static_key_enabled(&mcpage_clear_key));
	note_chunks(test);
	fault_block(test, 4);
	KUNIT_EXPECT_EQ(test, 0, nr_chunks);
	KUNIT_ASSERT_EQ(test, 0, mcpage_clear_set(MCPAGE_CLEAR_LOOP));
	KUNIT_EXPECT_TRUE(test, static_key_enabled(&mcpage_clear_key));
	mcpage_test_set(MCPAGE_NEVER, MCPAGE_PAGES);
	KUNIT_EXPECT_FALSE(test, static_key_enabled(&mcpage_clear_key));
	/* A huge page that nobody has a policy for is cleared by mcpage too. */
	mcpage_test_set(MCPAGE_ADVISE, MCPAGE_PAGES);
	KUNIT_EXPECT_TRUE(test, static_key_enabled(&mcpage_clear_key));
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
static unsigned long unlocked, locked, longest;

/*
 * Is mmap_lock held meanwhile? The pattern stays in what nothing is copied to, unless
 * it is cleared once more.
 */
static void note_lock(enum mcpage_clear_method method, void *addr, unsigned long len)
{
	if (rwsem_is_locked(&current->mm->mmap_lock))
		locked += len;
	else
		unlocked += len;
	longest = max(longest, len);
	memset(addr, PATTERN, len);
}
#endif

/* A huge page with little to copy is cleared before mmap_lock is taken for it. */
static void collapse(struct kunit *test)
{
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	const unsigned long nr = HPAGE_PMD_NR;
	/* How many pages are in use, and is it worth clearing the huge page? */
	const struct { unsigned long used; bool worth; } cases[] = {
		{ 1, true }, { nr / 2, true }, { nr / 2 + 1, false }, { nr - 1, false },
	};
	unsigned int i, j;

	begin(test);
	mcpage_test_set(MCPAGE_ALWAYS, MCPAGE_FOLIO);
	kunit_activate_static_stub(test, mcpage_clear_chunk, note_lock);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned long addr = mcpage_test_mmap_aligned(test, HPAGE_PMD_SIZE,
							      PMD_ORDER);
		unsigned long cleared = 0;
		u8 byte;

		WRITE_ONCE(mcpage_settings.orders, 0);
		for (j = 0; j < cases[i].used; j++)
			KUNIT_ASSERT_EQ(test, 0, put_user(j | 1, (u8 __user *)
							  (addr + j * PAGE_SIZE)));
		WRITE_ONCE(mcpage_settings.orders, mcpage_valid_orders());
		unlocked = 0;
		locked = 0;
		longest = 0;
		KUNIT_ASSERT_EQ(test, 0, do_madvise(current->mm, addr, HPAGE_PMD_SIZE,
						    MADV_COLLAPSE));
		KUNIT_EXPECT_TRUE(test, mcpage_test_pmd_mapped(test, addr));
		KUNIT_EXPECT_EQ(test, 0, locked);
		KUNIT_EXPECT_LE(test, longest, MCPAGE_CLEAR_CHUNK_KB * SZ_1K);
		if (cases[i].worth)
			cleared = HPAGE_PMD_SIZE;
		KUNIT_EXPECT_EQ(test, cleared, unlocked);
		for (j = 0; j < nr; j++) {
			u8 expected = 0;

			if (j < cases[i].used)
				expected = j | 1;
			else if (cases[i].worth)
				expected = PATTERN;
			KUNIT_ASSERT_EQ(test, 0, get_user(byte, (u8 __user *)
							  (addr + j * PAGE_SIZE)));
			KUNIT_EXPECT_EQ(test, expected, byte);
		}
	}
#else
	kunit_skip(test, "no transparent huge pages in this kernel");
#endif
}

/* Without a need to clear it, or with one that is worth while, it is up-to-date. */
static void collapse_uptodate(struct kunit *test)
{
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	struct folio *folio[3];
	unsigned int i;

	begin(test);
	for (i = 0; i < ARRAY_SIZE(folio); i++)
		folio[i] = page_folio(get_pages(test, HPAGE_PMD_ORDER));
	mcpage_collapse_zero(folio[0], HPAGE_PMD_NR / 2 - 1);
	KUNIT_EXPECT_FALSE(test, folio_test_uptodate(folio[0]));
	memset(folio_address(folio[1]), PATTERN, HPAGE_PMD_SIZE);
	mcpage_collapse_zero(folio[1], HPAGE_PMD_NR / 2);
	KUNIT_EXPECT_TRUE(test, folio_test_uptodate(folio[1]));
	KUNIT_EXPECT_NULL(test, memchr_inv(folio_address(folio[1]), 0, HPAGE_PMD_SIZE));
	note_chunks(test);
	kunit_activate_static_stub(test, mcpage_init_on_alloc, yes);
	mcpage_collapse_zero(folio[2], 1);
	KUNIT_EXPECT_TRUE(test, folio_test_uptodate(folio[2]));
	KUNIT_EXPECT_EQ(test, 0, nr_chunks);
#else
	kunit_skip(test, "no transparent huge pages in this kernel");
#endif
}

/* -------- the files -------- */

static unsigned int without_clzero(void)
{
	return BIT(MCPAGE_CLEAR_AUTO) | BIT(MCPAGE_CLEAR_PAGE) |
	       BIT(MCPAGE_CLEAR_LOOP) | BIT(MCPAGE_CLEAR_MOVNTI);
}

static unsigned int none(void)
{
	return BIT(MCPAGE_CLEAR_AUTO) | BIT(MCPAGE_CLEAR_PAGE);
}

/* What a CPU does not have can neither be seen nor set. */
static void absent_method(struct kunit *test)
{
	begin(test);
	KUNIT_ASSERT_EQ(test, 0, mcpage_clear_set(MCPAGE_CLEAR_LOOP));
	kunit_activate_static_stub(test, mcpage_clear_methods, without_clzero);
	KUNIT_EXPECT_STREQ(test, "auto page [loop] movnti\n",
			   mcpage_test_show(test, "clear/method"));
	KUNIT_EXPECT_EQ(test, -EINVAL, mcpage_test_store(test, "clear/method", "clzero"));
	KUNIT_EXPECT_EQ(test, -EINVAL, mcpage_clear_set(MCPAGE_CLEAR_CLZERO));
	KUNIT_EXPECT_STREQ(test, "auto page [loop] movnti\n",
			   mcpage_test_show(test, "clear/method"));
	KUNIT_EXPECT_EQ(test, 5, mcpage_test_store(test, "clear/method", "page\n"));
	KUNIT_EXPECT_STREQ(test, "auto [page] loop movnti\n",
			   mcpage_test_show(test, "clear/method"));

	/* As on an architecture without any. */
	kunit_activate_static_stub(test, mcpage_clear_methods, none);
	KUNIT_EXPECT_EQ(test, -EINVAL, mcpage_test_store(test, "clear/method", "loop"));
	KUNIT_EXPECT_EQ(test, 5, mcpage_test_store(test, "clear/method", "auto\n"));
	KUNIT_EXPECT_FALSE(test, static_key_enabled(&mcpage_clear_key));
	KUNIT_EXPECT_NULL(test, strstr(mcpage_test_show(test, "clear/stats"), "loop"));
	KUNIT_EXPECT_NULL(test, strstr(mcpage_test_show(test, "features"), "clear\n"));
}

struct kb_param {
	const char *path;
	const char *text;
	unsigned int kb;
};

/* Where @kb is 0 for "chunk_kb", and 1 for "cached_kb", the text is refused. */
static const struct kb_param kb_params[] = {
	{ "clear/chunk_kb", "4", 4 }, { "clear/chunk_kb", "128\n", 128 },
	{ "clear/chunk_kb", "32768", 32768 }, { "clear/chunk_kb", "12", 12 },
	{ "clear/chunk_kb", "0", 0 }, { "clear/chunk_kb", "2", 0 },
	{ "clear/chunk_kb", "6", 0 }, { "clear/chunk_kb", "32772", 0 },
	{ "clear/chunk_kb", "-4", 0 }, { "clear/chunk_kb", "", 0 },
	{ "clear/chunk_kb", "+4", 0 }, { "clear/chunk_kb", " 4", 0 },
	{ "clear/chunk_kb", "64K", 0 }, { "clear/chunk_kb", "0x40", 0 },
	{ "clear/chunk_kb", "64 128", 0 }, { "clear/chunk_kb", "4294967300", 0 },
	{ "clear/cached_kb", "0", 0 }, { "clear/cached_kb", "4\n", 4 },
	{ "clear/cached_kb", "32768", 32768 }, { "clear/cached_kb", "2", 1 },
	{ "clear/cached_kb", "32772", 1 }, { "clear/cached_kb", "all", 1 },
};

static void kb_desc(const struct kb_param *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s: '%s'", p->path, p->text);
	strreplace(desc, '\n', '|');
}

KUNIT_ARRAY_PARAM(kb, kb_params, kb_desc);

static void kb(struct kunit *test)
{
	const struct kb_param *p = test->param_value;
	bool refused = p->kb == (strstr(p->path, "chunk") ? 0 : 1);
	char expected[16];

	if (PAGE_SIZE != SZ_4K)
		kunit_skip(test, "the table is that of 4K pages");
	mcpage_test_settings(test);
	KUNIT_ASSERT_EQ(test, 3, mcpage_test_store(test, p->path, "60\n"));
	snprintf(expected, sizeof(expected), "%u\n", refused ? 60 : p->kb);
	KUNIT_EXPECT_EQ(test, refused ? -EINVAL : (ssize_t)strlen(p->text),
			mcpage_test_store(test, p->path, p->text));
	KUNIT_EXPECT_STREQ(test, expected, mcpage_test_show(test, p->path));
}

/* Text that goes on behind its end is not understood. */
static void kb_nul(struct kunit *test)
{
	mcpage_test_settings(test);
	KUNIT_EXPECT_EQ(test, -EINVAL,
			mcpage_test_store_len(test, "clear/chunk_kb", "64\0", 3));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			mcpage_test_store_len(test, "clear/method", "page\0x", 6));
}

/* Chunks and bytes, by method. */
static void counters(struct kunit *test)
{
	struct page *page;
	u64 calls, bytes, calls_then, bytes_then;
	char line[80];

	begin(test);
	page = get_pages(test, 6);
	KUNIT_ASSERT_EQ(test, 0, mcpage_clear_set(MCPAGE_CLEAR_LOOP));
	WRITE_ONCE(mcpage_clear_settings.chunk_kb, 64);
	WRITE_ONCE(mcpage_clear_settings.cached_kb, 0);
	mcpage_clear_stat_read(MCPAGE_CLEAR_LOOP, &calls, &bytes);
	KUNIT_ASSERT_TRUE(test, mcpage_clear_pages(page, 64, 0));
	mcpage_clear_stat_read(MCPAGE_CLEAR_LOOP, &calls_then, &bytes_then);
	KUNIT_EXPECT_EQ(test, calls + DIV_ROUND_UP(64 * PAGE_SIZE, SZ_64K), calls_then);
	KUNIT_EXPECT_EQ(test, bytes + 64 * PAGE_SIZE, bytes_then);
	snprintf(line, sizeof(line), "loop %llu %llu\n", calls_then, bytes_then);
	KUNIT_EXPECT_NOT_NULL(test, strstr(mcpage_test_show(test, "clear/stats"), line));
}

/* What was measured at boot, on whatever this runs; nothing with a coarse clock. */
static void measurement(struct kunit *test)
{
	unsigned int methods = mcpage_clear_methods() & MCPAGE_CLEAR_ALL;
	const char *text, *line;
	unsigned int lines = 0, chosen = 0;

	begin(test);
	KUNIT_ASSERT_EQ(test, 0, mcpage_clear_set(MCPAGE_CLEAR_AUTO));
	text = mcpage_test_show(test, "clear/measured");
	if (ktime_get_resolution_ns() > MCPAGE_CLEAR_CLOCK_NS) {
		KUNIT_EXPECT_STREQ(test, "", text);
		return;
	}
	for (line = text; *line; line = strchrnul(line, '\n') + 1) {
		unsigned long kb, clear, used;
		char method[16], word[8] = "";
		int n = sscanf(line, "%lu %15s %lu %lu %7s", &kb, method, &clear, &used,
			       word);

		kunit_info(test, "%.*s", (int)(strchrnul(line, '\n') - line), line);
		KUNIT_ASSERT_GE(test, n, 4);
		KUNIT_EXPECT_GT(test, clear, 0);
		KUNIT_EXPECT_GT(test, used, 0);
		KUNIT_EXPECT_GE(test, match_string(mcpage_clear_names,
						   NR_MCPAGE_CLEAR_METHODS, method), 0);
		chosen += !strncmp(word, "auto", 4);
		lines++;
	}
	KUNIT_EXPECT_EQ(test, NR_MCPAGE_CLEAR_CLASSES * hweight_long(methods), lines);
	KUNIT_EXPECT_EQ(test, NR_MCPAGE_CLEAR_CLASSES, chosen);
}

static struct kunit_case mcpage_clear_cases[] = {
	KUNIT_CASE_PARAM(whole_extent, extent_gen_params),
	KUNIT_CASE(classes),
	KUNIT_CASE_PARAM(choose, choose_gen_params),
	KUNIT_CASE_PARAM(near, near_gen_params),
	KUNIT_CASE_PARAM(pieces, piece_gen_params),
	KUNIT_CASE_PARAM(once, mcpage_test_backing_gen_params),
	KUNIT_CASE(by_allocator),
	KUNIT_CASE(off),
	KUNIT_CASE(collapse),
	KUNIT_CASE(collapse_uptodate),
	KUNIT_CASE(absent_method),
	KUNIT_CASE_PARAM(kb, kb_gen_params),
	KUNIT_CASE(kb_nul),
	KUNIT_CASE(counters),
	KUNIT_CASE(measurement),
	{}
};

static struct kunit_suite mcpage_clear_suite = {
	.name = "mcpage_clear",
	.test_cases = mcpage_clear_cases,
};

kunit_test_suite(mcpage_clear_suite);

MODULE_DESCRIPTION("mcpage clearing tests");
MODULE_LICENSE("GPL");
