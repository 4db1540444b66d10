/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mcpage

#if !defined(_TRACE_MCPAGE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MCPAGE_H

#include <linux/mcpage.h>
#include <linux/mm.h>
#include <linux/tracepoint.h>

#define MCPAGE_STAT_ITEMS_TRACE						\
	EM(MCPAGE_STAT_ALLOC,			"alloc")		\
	EM(MCPAGE_STAT_FALLBACK,		"fallback")		\
	EM(MCPAGE_STAT_CHARGE_FAILED,		"charge_failed")	\
	EM(MCPAGE_STAT_PAGE_TABLE_POPULATED,	"page_table_populated")	\
	EM(MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE,	"unstable_address_space") \
	EM(MCPAGE_STAT_UNALIGNED,		"unaligned")		\
	EMe(MCPAGE_STAT_SHORT,			"short")

#define MCPAGE_PARTIALS_TRACE						\
	EM(MCPAGE_PARTIAL_MARK,			"mark")			\
	EM(MCPAGE_PARTIAL_ZAP,			"zap")			\
	EMe(MCPAGE_PARTIAL_SPLIT,		"split")

#undef EM
#undef EMe
#define EM(a, b)	TRACE_DEFINE_ENUM(a);
#define EMe(a, b)	TRACE_DEFINE_ENUM(a);
MCPAGE_STAT_ITEMS_TRACE
MCPAGE_PARTIALS_TRACE

#undef EM
#undef EMe
#define EM(a, b)	{ a, b },
#define EMe(a, b)	{ a, b }

/*
 * Why a fault tries the orders that it tries: what the policy allows, which in the
 * adaptive mode is what the neighbourhood justifies of it, of that what fits in the
 * VMA, and of that what has no page yet. The highest of the last set is tried first.
 */
TRACE_EVENT(mcpage_fault_orders,

	TP_PROTO(struct vm_area_struct *vma, unsigned long address,
		 unsigned long allowed, unsigned long fitting,
		 unsigned long empty),

	TP_ARGS(vma, address, allowed, fitting, empty),

	TP_STRUCT__entry(
		__field(unsigned long,	address)
		__field(unsigned long,	start)
		__field(unsigned long,	end)
		__field(unsigned int,	allowed)
		__field(unsigned int,	fitting)
		__field(unsigned int,	empty)
	),

	TP_fast_assign(
		__entry->address	= address;
		__entry->start		= vma->vm_start;
		__entry->end		= vma->vm_end;
		__entry->allowed	= allowed;
		__entry->fitting	= fitting;
		__entry->empty		= empty;
	),

	TP_printk("address=%lx vma=%lx-%lx allowed=%x fitting=%x empty=%x",
		  __entry->address, __entry->start, __entry->end,
		  __entry->allowed, __entry->fitting, __entry->empty)
);

/* What became of one block. */
TRACE_EVENT(mcpage_fault_result,

	TP_PROTO(unsigned long address, unsigned int order,
		 enum mcpage_stat_item result),

	TP_ARGS(address, order, result),

	TP_STRUCT__entry(
		__field(unsigned long,	address)
		__field(unsigned int,	order)
		__field(int,		result)
	),

	TP_fast_assign(
		__entry->address	= address;
		__entry->order		= order;
		__entry->result		= result;
	),

	TP_printk("address=%lx order=%u result=%s",
		  __entry->address, __entry->order,
		  __print_symbolic(__entry->result, MCPAGE_STAT_ITEMS_TRACE))
);

/* MADV_FREE has met a block that it covers in part. */
TRACE_EVENT(mcpage_madvise_free,

	TP_PROTO(unsigned long address, unsigned int order, unsigned int nr,
		 unsigned int way),

	TP_ARGS(address, order, nr, way),

	TP_STRUCT__entry(
		__field(unsigned long,	address)
		__field(unsigned int,	order)
		__field(unsigned int,	nr)
		__field(unsigned int,	way)
	),

	TP_fast_assign(
		__entry->address	= address;
		__entry->order		= order;
		__entry->nr		= nr;
		__entry->way		= way;
	),

	TP_printk("address=%lx order=%u pages=%u partial=%s",
		  __entry->address, __entry->order, __entry->nr,
		  __print_symbolic(__entry->way, MCPAGE_PARTIALS_TRACE))
);

/* The marked pages of a block were to be discarded. */
TRACE_EVENT(mcpage_discard,

	TP_PROTO(struct folio *folio, unsigned int nr, bool busy),

	TP_ARGS(folio, nr, busy),

	TP_STRUCT__entry(
		__field(unsigned long,	pfn)
		__field(unsigned int,	order)
		__field(unsigned int,	nr)
		__field(bool,		busy)
	),

	TP_fast_assign(
		__entry->pfn		= folio_pfn(folio);
		__entry->order		= folio_order(folio);
		__entry->nr		= nr;
		__entry->busy		= busy;
	),

	TP_printk("pfn=%lx order=%u pages=%u busy=%d",
		  __entry->pfn, __entry->order, __entry->nr, __entry->busy)
);

#endif /* _TRACE_MCPAGE_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
