/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the benchmark programs share.
 *
 * A program is a table of cases. bench_main() runs each of them with each way
 * of backing anonymous memory that the kernel has, in a process of its own so
 * that it begins with a fresh address space, and prints one JSON document.
 *
 * Time is that of the guest. Where its clocks count instructions (scripts/guest
 * --icount) a nanosecond is one instruction, and the same in every run.
 */
#ifndef MCPAGEBENCH_H
#define MCPAGEBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <json-c/json.h>

#define SYSFS_MCPAGE	"/sys/kernel/mm/mcpage/"
#define SYSFS_THP	"/sys/kernel/mm/transparent_hugepage/"

/* The largest block, and so the alignment of every region, in bytes. */
#define BENCH_ALIGN	(2UL << 20)

/**
 * enum bench_mode - who decides about the blocks of a process
 * @BENCH_SINGLE: nobody: single pages, THP and mTHP are off
 * @BENCH_MTHP: the kernel's own THP or mTHP of one order, for every process
 * @BENCH_FOLIO: a policy of the process, one order, folio backing
 * @BENCH_PAGES: a policy of the process, one order, pages backing
 *
 * The rest are further ways to have single pages on a kernel with mcpage:
 *
 * @BENCH_UNUSED: enabled=advise, and no policy was set since boot
 * @BENCH_NEVER: enabled=never
 * @BENCH_ADVISE: enabled=advise, other processes have had policies
 * @BENCH_EMPTY: a policy of the process that allows no blocks
 */
enum bench_mode {
	BENCH_SINGLE,
	BENCH_UNUSED,
	BENCH_NEVER,
	BENCH_MTHP,
	BENCH_FOLIO,
	BENCH_PAGES,
	BENCH_ADVISE,
	BENCH_EMPTY,
};

/**
 * struct bench_config - how the process of a case gets its memory
 * @mode: who decides
 * @name: the word for @mode in the output
 * @order: the one order of blocks, 0 for single pages
 * @flags: what the program's own configurations have besides
 * @data: that of the case
 */
struct bench_config {
	enum bench_mode mode;
	const char *name;
	unsigned int order;
	unsigned int flags;
	const void *data;
};

/**
 * struct bench_case - one thing to measure
 * @name: its name in the output
 * @per: what the value is for: "page" (4 KiB of the region), "call", ...
 * @run: measures, and puts its value into the result with bench_value();
 *	called in a process of its own, with @config in force. It ends the
 *	process with bench_die() where something fails.
 * @skip: if not NULL, says that @config makes no sense for this case
 * @data: handed on in @config
 */
struct bench_case {
	const char *name;
	const char *per;
	void (*run)(struct json_object *result, const struct bench_config *config);
	bool (*skip)(const struct bench_config *config);
	const void *data;
};

/**
 * struct bench_program - what bench_main() needs to know
 * @name: the program's name
 * @about: what it measures, for --help
 * @cases: ends with an entry without a name
 * @orders: a mask of the orders that are measured unless --orders says others
 * @setup: if not NULL, called once before all cases, in the parent
 * @before: if not NULL, called before each case, in the parent, before the
 *	configuration is in force
 * @configs: if not NULL, these instead of all that the kernel has; ends with
 *	an entry without a name. Those whose mode is that of the other kernel
 *	are left out. If @orders is 0, it is all of these unless --orders says
 *	others.
 */
struct bench_program {
	const char *name;
	const char *about;
	const struct bench_case *cases;
	unsigned long orders;
	void (*setup)(void);
	void (*before)(const struct bench_config *config);
	const struct bench_config *configs;
};

extern const char *bench_name;
extern long page_size;

int bench_main(const struct bench_program *program, int argc, char **argv);

/* For programs that have no such table: the beginning of a document, and its end. */
struct json_object *bench_document(void);
void bench_print(struct json_object *doc);

/* Read the number that @text begins with, and move that behind it. */
typedef bool (*bench_item_t)(const char **text, unsigned long *value);
/* A list with ranges as the kernel writes them, 2-4,9, as a mask. */
bool bench_list(const char *text, bench_item_t item, unsigned long *list);

/* Print "NAME: WHAT: STRERROR" and exit with 1. */
void __attribute__((noreturn)) bench_die(const char *what);
/* The same with a message of one's own. */
void __attribute__((noreturn, format(printf, 1, 2))) bench_fail(const char *fmt, ...);

/* The case's value: nanoseconds for each @per, kept to a tenth. */
void bench_value(struct json_object *result, double value);
/* Any other figure of the case. */
void bench_number(struct json_object *result, const char *key, double value);
/* The same with this many decimals. */
void bench_decimals(struct json_object *result, const char *key, double value,
		    int decimals);

/* The smallest one first. */
void bench_sort(double *values, size_t nr);

/* Nanoseconds of CLOCK_MONOTONIC, or of another clock. */
double bench_now(void);
double bench_clock(clockid_t clock);

/* A fresh private anonymous mapping, aligned to BENCH_ALIGN; ends with an error. */
char *bench_region(size_t size);
void bench_unmap(char *region, size_t size);
/* Write, or read, one byte of each page. */
void bench_write(char *region, size_t size);
void bench_read(const char *region, size_t size);

/* Is mcpage in this kernel? */
bool bench_has_mcpage(void);
/* Write to, or read from, a file of the kernel; ends with an error. */
void bench_put(const char *path, const char *text);
void bench_get(const char *path, char *buf, size_t size);
/* A counter of /proc/vmstat, -1 where there is none of this name. */
long long bench_vmstat(const char *name);
/* Page faults of this process that no device was needed for. */
long bench_minor_faults(void);
/* A line of /proc/self/smaps_rollup. */
unsigned long bench_rollup_kib(const char *key);
/* The anonymous memory of this process in KiB, page by page and not as counted. */
unsigned long bench_resident_kib(void);
/* How many blocks of this order faults were given since boot. */
long long bench_blocks(unsigned int order);
/* Let THP use folios of the orders in this mask, everywhere. */
void bench_thp_orders(unsigned long orders);
/* All orders of blocks up to this one. */
static inline unsigned long bench_orders_upto(unsigned int order)
{
	return (2UL << order) - (1UL << 2);
}

/* The policy of this process: a value for prctl(PR_SET_MCPAGE). */
void bench_policy(unsigned long value);

#endif
