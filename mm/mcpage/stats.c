// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: event counters, per block order and summed in /proc/vmstat.
 */
#include <linux/cpumask.h>
#include <linux/mm.h>

#include "internal.h"

DEFINE_PER_CPU(struct mcpage_stats, mcpage_stats);

/* The files of order-N/stats in sysfs. */
const char * const mcpage_stat_names[NR_MCPAGE_STAT_ITEMS] = {
	[MCPAGE_STAT_ALLOC]			= "alloc",
	[MCPAGE_STAT_FALLBACK]			= "fallback",
	[MCPAGE_STAT_CHARGE_FAILED]		= "charge_failed",
	[MCPAGE_STAT_PAGE_TABLE_POPULATED]	= "page_table_populated",
	[MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE]	= "unstable_address_space",
	[MCPAGE_STAT_UNALIGNED]			= "unaligned",
	[MCPAGE_STAT_SHORT]			= "short",
	[MCPAGE_STAT_LAZYFREE]			= "lazyfree",
	[MCPAGE_STAT_LAZYFREE_PARTIAL]		= "lazyfree_partial",
	[MCPAGE_STAT_LAZYFREE_RECLAIMED]	= "lazyfree_reclaimed",
	[MCPAGE_STAT_LAZYFREE_REDIRTIED]	= "lazyfree_redirtied",
};

/*
 * The sums in /proc/vmstat begin with the items that are an attempt's outcome,
 * in the same order. A block that does not fit was not attempted.
 */
static_assert(MCPAGE_ANON_FAULT_INSTABLE_ADDRESS_SPACE - MCPAGE_ANON_FAULT_ALLOC ==
	      MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE);

/**
 * mcpage_stat_add - count one event
 * @order: the block's order
 * @item: what happened
 *
 * Context: any.
 */
void mcpage_stat_add(unsigned int order, enum mcpage_stat_item item)
{
	if (WARN_ON_ONCE(order >= MCPAGE_NR_ORDERS))
		return;
	mcpage_stat_inc(order, item);
	if (item <= MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE)
		count_vm_event(MCPAGE_ANON_FAULT_ALLOC + item);
}

/**
 * mcpage_stat_read - read one counter
 * @order: the block's order
 * @item: which counter
 *
 * Context: any.
 * Return: the number of events since boot, on all CPUs. Events that happen
 * meanwhile may be counted or not.
 */
unsigned long mcpage_stat_read(unsigned int order, enum mcpage_stat_item item)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(mcpage_stats, cpu).events[order][item]);
	return sum;
}
