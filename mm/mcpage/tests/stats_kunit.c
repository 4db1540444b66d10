// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage_stats: the counters.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmstat.h>

#include "helpers.h"

static void item_desc(const enum mcpage_stat_item *item, char *desc)
{
	strscpy(desc, mcpage_stat_names[*item], KUNIT_PARAM_DESC_SIZE);
}

static const enum mcpage_stat_item items[] = {
	MCPAGE_STAT_ALLOC,
	MCPAGE_STAT_FALLBACK,
	MCPAGE_STAT_CHARGE_FAILED,
	MCPAGE_STAT_PAGE_TABLE_POPULATED,
	MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE,
	MCPAGE_STAT_UNALIGNED,
	MCPAGE_STAT_SHORT,
	MCPAGE_STAT_LAZYFREE,
	MCPAGE_STAT_LAZYFREE_PARTIAL,
	MCPAGE_STAT_LAZYFREE_RECLAIMED,
	MCPAGE_STAT_LAZYFREE_REDIRTIED,
};

static_assert(ARRAY_SIZE(items) == NR_MCPAGE_STAT_ITEMS);
KUNIT_ARRAY_PARAM(item, items, item_desc);

/* One event moves one counter of one order, and its sum in /proc/vmstat. */
static void stat_add(struct kunit *test)
{
	enum mcpage_stat_item item = *(const enum mcpage_stat_item *)test->param_value;
	unsigned long valid = mcpage_valid_orders();
	unsigned long before[NR_MCPAGE_STAT_ITEMS], after[NR_MCPAGE_STAT_ITEMS];
	unsigned int order, i;

	for_each_set_bit(order, &valid, BITS_PER_LONG) {
		for (i = 0; i < NR_MCPAGE_STAT_ITEMS; i++)
			before[i] = mcpage_stat_read(order, i);
		mcpage_stat_add(order, item);
		for (i = 0; i < NR_MCPAGE_STAT_ITEMS; i++) {
			after[i] = mcpage_stat_read(order, i);
			KUNIT_EXPECT_EQ(test, before[i] + (i == item), after[i]);
		}
	}
}

static void vmstat_sums(struct kunit *test)
{
	enum mcpage_stat_item item = *(const enum mcpage_stat_item *)test->param_value;
	unsigned long *events = kunit_kzalloc(test, sizeof(*events) * NR_VM_EVENT_ITEMS,
					      GFP_KERNEL);
	unsigned long before, sum = 0;
	unsigned long valid = mcpage_valid_orders();
	unsigned int order;

	if (!IS_ENABLED(CONFIG_VM_EVENT_COUNTERS))
		kunit_skip(test, "no event counters in this kernel");
	if (item > MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE)
		return;
	KUNIT_ASSERT_NOT_NULL(test, events);
	all_vm_events(events);
	before = events[MCPAGE_ANON_FAULT_ALLOC + item];
	mcpage_stat_add(MCPAGE_MIN_ORDER, item);
	mcpage_stat_add(PMD_ORDER, item);
	all_vm_events(events);
	KUNIT_EXPECT_EQ(test, before + 2, events[MCPAGE_ANON_FAULT_ALLOC + item]);

	for_each_set_bit(order, &valid, BITS_PER_LONG)
		sum += mcpage_stat_read(order, item);
	KUNIT_EXPECT_EQ(test, sum, events[MCPAGE_ANON_FAULT_ALLOC + item]);
}

static void vmstat_names(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_VM_EVENT_COUNTERS))
		kunit_skip(test, "no event counters in this kernel");
#ifdef CONFIG_VM_EVENT_COUNTERS
	KUNIT_EXPECT_STREQ(test, "mcpage_anon_fault_alloc",
			   vm_event_name(MCPAGE_ANON_FAULT_ALLOC));
	KUNIT_EXPECT_STREQ(test, "mcpage_anon_fault_fallback",
			   vm_event_name(MCPAGE_ANON_FAULT_FALLBACK));
	KUNIT_EXPECT_STREQ(test, "mcpage_anon_fault_charge_failed",
			   vm_event_name(MCPAGE_ANON_FAULT_CHARGE_FAILED));
	KUNIT_EXPECT_STREQ(test, "mcpage_anon_fault_page_table_populated",
			   vm_event_name(MCPAGE_ANON_FAULT_PAGE_TABLE_POPULATED));
	KUNIT_EXPECT_STREQ(test, "mcpage_anon_fault_instable_address_space",
			   vm_event_name(MCPAGE_ANON_FAULT_INSTABLE_ADDRESS_SPACE));
#endif
}

static struct kunit_case mcpage_stats_cases[] = {
	KUNIT_CASE_PARAM(stat_add, item_gen_params),
	KUNIT_CASE_PARAM(vmstat_sums, item_gen_params),
	KUNIT_CASE(vmstat_names),
	{}
};

static struct kunit_suite mcpage_stats_suite = {
	.name = "mcpage_stats",
	.test_cases = mcpage_stats_cases,
};

kunit_test_suite(mcpage_stats_suite);

MODULE_DESCRIPTION("mcpage statistics tests");
MODULE_LICENSE("GPL");
