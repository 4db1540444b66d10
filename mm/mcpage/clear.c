// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: clear blocks, and all that folio_zero_user() clears.
 *
 * On x86-64, where memory can be cleared in several ways and an extent of pages
 * is contiguous in the kernel's address space. Elsewhere, and with the method
 * "page", it is left to what clears it without mcpage.
 */
#define pr_fmt(fmt) "mcpage: clear: " fmt

#include <kunit/static_stub.h>
#include <linux/init.h>
#include <linux/kmsan-checks.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <kunit/visibility.h>
#ifdef CONFIG_X86_64
#include <linux/processor.h>
#include <asm/cpufeatures.h>
#endif

#include "internal.h"

/* Read in the fault path, written under mcpage_settings_lock. */
struct mcpage_clear_settings mcpage_clear_settings = {
	.cached_kb = MCPAGE_CLEAR_CACHED_KB,
	.chunk_kb = MCPAGE_CLEAR_CHUNK_KB,
};

DEFINE_STATIC_KEY_FALSE(mcpage_clear_key);

static DEFINE_PER_CPU(struct mcpage_clear_stats, mcpage_clear_stats);

#ifdef CONFIG_X86_64
/* boot_cpu_has(), in a way that is there on UML too. */
static bool mcpage_cpu_has(unsigned int feature)
{
	return test_bit(feature, (unsigned long *)boot_cpu_data.x86_capability);
}
#endif

/**
 * mcpage_clear_methods - what can be written to clear/method
 *
 * Context: any.
 * Return: a mask of the methods that this CPU has.
 */
unsigned int mcpage_clear_methods(void)
{
	unsigned int methods = BIT(MCPAGE_CLEAR_AUTO) | BIT(MCPAGE_CLEAR_PAGE);

	KUNIT_STATIC_STUB_REDIRECT(mcpage_clear_methods);
#ifdef CONFIG_X86_64
	methods |= BIT(MCPAGE_CLEAR_LOOP) | BIT(MCPAGE_CLEAR_MOVNTI);
	if (mcpage_cpu_has(X86_FEATURE_ERMS))
		methods |= BIT(MCPAGE_CLEAR_REP_STOSB);
	if (mcpage_cpu_has(X86_FEATURE_REP_GOOD))
		methods |= BIT(MCPAGE_CLEAR_REP_STOSQ);
	if (mcpage_cpu_has(X86_FEATURE_CLZERO))
		methods |= BIT(MCPAGE_CLEAR_CLZERO);
#endif
	return methods;
}

/* -------- measuring -------- */

/* The part of all memory that measuring may use for a moment. */
#define MCPAGE_CLEAR_SHARE	16

/* In force; by class, a method of MCPAGE_CLEAR_ALL. */
static u8 mcpage_clear_chosen[NR_MCPAGE_CLEAR_CLASSES];

static struct mcpage_clear_speed
mcpage_clear_speed[NR_MCPAGE_CLEAR_CLASSES][NR_MCPAGE_CLEAR_METHODS];
/* That it has been tried, even if in vain. */
static bool mcpage_clear_measured;
/* Clocks are good enough to measure with. */
static bool mcpage_clear_can_measure;

unsigned long mcpage_clear_now(void)
{
	return ktime_get_ns();
}

void mcpage_clear_pause(void)
{
	cond_resched();
}

static void mcpage_clear_space_put(struct mcpage_clear_space *space)
{
	unsigned int order = get_order(MCPAGE_CLEAR_BLOCK_LEN);

	while (space->nr)
		free_pages((unsigned long)space->block[--space->nr], order);
}

static void mcpage_clear_space_get(struct mcpage_clear_space *space)
{
	unsigned int order = get_order(MCPAGE_CLEAR_BLOCK_LEN), nr = 0;
	unsigned int want = totalram_pages() / MCPAGE_CLEAR_SHARE >> order;

	for (want = clamp(want, 1, MCPAGE_CLEAR_BLOCKS); nr < want; nr++) {
		/*
		 * What is free, on this node: not worth reclaiming anything for, and
		 * at boot the policy still is to take all nodes in turn.
		 */
		struct page *page = alloc_pages_node(numa_node_id(),
						     __GFP_NOWARN | __GFP_THISNODE, order);
		void *block;

		if (!page)
			break;
		block = page_address(page);
		/* A hypervisor may still have to find the memory. */
		memset(block, 0, MCPAGE_CLEAR_BLOCK_LEN);
		space->block[nr] = block;
		cond_resched();
	}
	/* Those beyond a power of 2 are not needed. */
	while (nr && !is_power_of_2(nr))
		free_pages((unsigned long)space->block[--nr], order);
	space->nr = nr;
}

static void mcpage_clear_try(unsigned int methods)
{
	struct mcpage_clear_space *space;

	if (ktime_get_resolution_ns() > MCPAGE_CLEAR_CLOCK_NS) {
		pr_info("not measured: the clock is too coarse\n");
		return;
	}
	space = kzalloc(sizeof(*space), GFP_KERNEL);
	if (!space)
		return;
	/* The same caches throughout. */
	migrate_disable();
	mcpage_clear_space_get(space);
	if (!space->nr) {
		pr_info("not measured: no memory\n");
	} else if (IS_ENABLED(CONFIG_X86_64)) {
		pr_info("measured in %lu MiB:\n",
			space->nr * MCPAGE_CLEAR_BLOCK_LEN / SZ_1M);
		mcpage_clear_measure(space, methods, mcpage_clear_speed);
	}
	mcpage_clear_space_put(space);
	migrate_enable();
	kfree(space);
}

static void mcpage_clear_print(unsigned int methods)
{
	unsigned int class, method;
	char line[160];

	for (class = 0; class < NR_MCPAGE_CLEAR_CLASSES; class++) {
		const struct mcpage_clear_speed *speed = mcpage_clear_speed[class];
		int len = 0;

		for (method = 0; method < NR_MCPAGE_CLEAR_METHODS; method++)
			if (speed[method].clear)
				len += scnprintf(line + len, sizeof(line) - len,
						 " %s %u.%u/%u.%u",
						 mcpage_clear_names[method],
						 speed[method].clear / 1000,
						 speed[method].clear % 1000 / 100,
						 speed[method].used / 1000,
						 speed[method].used % 1000 / 100);
		if (len)
			pr_info("%luK: %s, of%s GB/s\n",
				mcpage_clear_class_len[class] / SZ_1K,
				mcpage_clear_names[mcpage_clear_auto(speed, class, methods)],
				line);
	}
}

/**
 * mcpage_clear_measured_show - what was measured, a line for each class and method
 * @buf: a page
 *
 * Context: mcpage_settings_lock is held.
 * Return: how many bytes were written to @buf.
 */
ssize_t mcpage_clear_measured_show(char *buf)
{
	unsigned int methods = mcpage_clear_methods(), class, method;
	ssize_t len = 0;

	for (class = 0; class < NR_MCPAGE_CLEAR_CLASSES; class++) {
		const struct mcpage_clear_speed *speed = mcpage_clear_speed[class];
		unsigned int chosen = mcpage_clear_auto(speed, class, methods);

		for (method = 0; method < NR_MCPAGE_CLEAR_METHODS; method++)
			if (speed[method].clear)
				len += sysfs_emit_at(buf, len, "%lu %s %u %u%s\n",
						     mcpage_clear_class_len[class] / SZ_1K,
						     mcpage_clear_names[method],
						     speed[method].clear,
						     speed[method].used,
						     method == chosen ? " auto" : "");
	}
	return len;
}

/* -------- settings -------- */

/**
 * mcpage_clear_changed - let what clears memory see what has been set
 *
 * Measures when a method is to be chosen for the first time.
 *
 * Context: process context, may sleep; mcpage_settings_lock is held.
 */
void mcpage_clear_changed(void)
{
	unsigned int methods = mcpage_clear_methods(), class;
	unsigned int set = mcpage_clear_settings.method;
	bool active = mcpage_clear_can_measure && (methods & MCPAGE_CLEAR_EXTENT) &&
		      set != MCPAGE_CLEAR_PAGE &&
		      mcpage_settings.enabled != MCPAGE_NEVER;

	lockdep_assert_held(&mcpage_settings_lock);

	if (active && set == MCPAGE_CLEAR_AUTO && !mcpage_clear_measured) {
		mcpage_clear_measured = true;
		mcpage_clear_try(methods);
		mcpage_clear_print(methods);
	}
	for (class = 0; class < NR_MCPAGE_CLEAR_CLASSES; class++) {
		const struct mcpage_clear_speed *speed = mcpage_clear_speed[class];
		unsigned int chosen = set;

		if (set == MCPAGE_CLEAR_AUTO)
			chosen = mcpage_clear_auto(speed, class, methods);
		WRITE_ONCE(mcpage_clear_chosen[class], chosen);
	}
	mcpage_switch(&mcpage_clear_key, active);
}

/**
 * mcpage_clear_set - choose the method
 * @method: the method
 *
 * Context: process context, may sleep; mcpage_settings_lock is not held.
 * Return: 0; -EINVAL if this CPU does not have it.
 */
int mcpage_clear_set(enum mcpage_clear_method method)
{
	if (!(mcpage_clear_methods() & BIT(method)))
		return -EINVAL;
	mutex_lock(&mcpage_settings_lock);
	/* There may be more memory now, or less else to do. */
	if (method == MCPAGE_CLEAR_AUTO)
		mcpage_clear_measured = false;
	WRITE_ONCE(mcpage_clear_settings.method, method);
	mcpage_clear_changed();
	mutex_unlock(&mcpage_settings_lock);
	return 0;
}

static char mcpage_clear_boot[64] __initdata;
static bool mcpage_clear_given __initdata;

static int __init mcpage_clear_setup(char *str)
{
	strscpy(mcpage_clear_boot, str ?: "");
	mcpage_clear_given = true;
	return 0;
}
early_param("mcpage_clear", mcpage_clear_setup);

static int __init mcpage_clear_init(void)
{
	int method = MCPAGE_CLEAR_AUTO;

	if (mcpage_clear_given)
		method = match_string(mcpage_clear_names, NR_MCPAGE_CLEAR_METHODS,
				      mcpage_clear_boot);
	if (method < 0)
		pr_warn("mcpage_clear=%s is not known\n", mcpage_clear_boot);
	else if (!(mcpage_clear_methods() & BIT(method)))
		pr_warn("mcpage_clear=%s: this CPU does not have it\n", mcpage_clear_boot);
	mcpage_clear_can_measure = true;
	if (method < 0 || mcpage_clear_set(method))
		mcpage_clear_set(MCPAGE_CLEAR_AUTO);
	return 0;
}
late_initcall(mcpage_clear_init);

/* -------- clearing -------- */

/**
 * mcpage_clear_chunk - clear what may be cleared without a pause
 * @method: how
 * @addr: the first byte
 * @len: how many bytes
 *
 * Context: process context, may sleep where the kernel is not preemptible.
 */
void mcpage_clear_chunk(enum mcpage_clear_method method, void *addr,
			unsigned long len)
{
	KUNIT_STATIC_STUB_REDIRECT(mcpage_clear_chunk, method, addr, len);

	cond_resched();
	/* As clear_page(): KMSAN cannot see what the instructions write. */
	kmsan_unpoison_memory(addr, len);
	mcpage_clear_by(method, addr, len);
	this_cpu_inc(mcpage_clear_stats.calls[method]);
	this_cpu_add(mcpage_clear_stats.bytes[method], len);
}

/**
 * mcpage_clear_stat_read - sum up the counters of a method
 * @method: the method
 * @calls: set to the number of chunks since boot
 * @bytes: set to the number of bytes
 *
 * Context: any.
 */
void mcpage_clear_stat_read(enum mcpage_clear_method method, u64 *calls, u64 *bytes)
{
	int cpu;

	*calls = 0;
	*bytes = 0;
	for_each_possible_cpu(cpu) {
		*calls += READ_ONCE(per_cpu(mcpage_clear_stats, cpu).calls[method]);
		*bytes += READ_ONCE(per_cpu(mcpage_clear_stats, cpu).bytes[method]);
	}
}

/* Does the page allocator clear all that it hands out? */
VISIBLE_IF_KUNIT bool mcpage_init_on_alloc(void)
{
	KUNIT_STATIC_STUB_REDIRECT(mcpage_init_on_alloc);
	return want_init_on_alloc(0);
}

static bool mcpage_cleared_by_allocator(struct page *page, unsigned long len)
{
	if (!mcpage_init_on_alloc())
		return false;
	/* Nobody asked it to, so KMSAN takes it for a measure against mistakes. */
	kmsan_unpoison_memory(page_address(page), len);
	return true;
}

/* The most around a fault that is cached, in bytes. */
static unsigned long mcpage_clear_cached(void)
{
	return READ_ONCE(mcpage_clear_settings.cached_kb) * (unsigned long)SZ_1K;
}

static void mcpage_clear_range(struct page *page, unsigned long len,
			       unsigned long offset, unsigned long cached)
{
	unsigned long chunk_kb = READ_ONCE(mcpage_clear_settings.chunk_kb);
	struct mcpage_clear_plan plan = {
		.method = READ_ONCE(mcpage_clear_chosen[mcpage_clear_class(len)]),
		.chunk = chunk_kb * SZ_1K,
	};

	mcpage_clear_near(&plan, len, offset, cached);
	mcpage_clear_extent(page_address(page), len, &plan);
}

/**
 * __mcpage_clear_pages - the working half of mcpage_clear_pages()
 * @page: the first page, fresh from the page allocator
 * @nr: how many pages
 * @offset: where among them the fault was, in bytes
 *
 * A page that turns out to be bad meanwhile is cleared like any other: it might
 * still be mapped, and must not show what was in it.
 *
 * Context: process context, may sleep.
 */
void __mcpage_clear_pages(struct page *page, unsigned int nr, unsigned long offset)
{
	if (mcpage_cleared_by_allocator(page, nr * PAGE_SIZE))
		return;
	mcpage_clear_range(page, nr * PAGE_SIZE, offset, mcpage_clear_cached());
}

/**
 * __mcpage_zero_folio - the working half of mcpage_zero_folio()
 * @folio: the folio
 * @addr_hint: an address within it, or of its start
 *
 * Context: process context, may sleep.
 */
void __mcpage_zero_folio(struct folio *folio, unsigned long addr_hint)
{
	struct page *page = folio_page(folio, 0);
	unsigned long len = folio_size(folio);

	/* Those of hugetlb come from a pool, where they were put in any state. */
	if (!folio_test_hugetlb(folio) && mcpage_cleared_by_allocator(page, len))
		return;
	mcpage_clear_range(page, len, addr_hint & (len - 1), mcpage_clear_cached());
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
/**
 * __mcpage_collapse_zero - the working half of mcpage_collapse_zero()
 * @folio: the new folio
 * @unused: how many of its pages will have nothing copied to them
 *
 * Where that is less than half of them, it is not worth clearing the others too.
 *
 * Context: process context, may sleep.
 */
void __mcpage_collapse_zero(struct folio *folio, unsigned int unused)
{
	struct page *page = folio_page(folio, 0);
	unsigned long len = folio_size(folio);

	if (!mcpage_cleared_by_allocator(page, len)) {
		if (unused < HPAGE_PMD_NR / 2)
			return;
		mcpage_clear_range(page, len, 0, 0);
	}
	__folio_mark_uptodate(folio);
}
#endif
