/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Order sets as people write them (16K,64K or 2-4) and as the kernel does.
 *
 * Pure functions: the page size and the valid orders are arguments, so that
 * one test covers every architecture's.
 */
#ifndef MCPAGECTL_ORDERS_H
#define MCPAGECTL_ORDERS_H

#include <stdbool.h>
#include <stddef.h>

/* The highest order that the policy's bit mask can express. */
#define ORDER_LIMIT	15
/* Enough for each formatter's longest output. */
#define ORDERS_TEXT	160

/**
 * struct geom - what block sizes this machine has
 * @page_shift: log2 of the page size
 * @valid: bit n is set if blocks of 2^n pages exist
 */
struct geom {
	unsigned int page_shift;
	unsigned int valid;
};

/* The bits from @lo to @hi, both included. */
static inline unsigned int order_bits(unsigned int lo, unsigned int hi)
{
	return (2U << hi) - (1U << lo);
}

bool orders_parse(const struct geom *g, const char *text, unsigned int *set,
		  char *why, size_t len);
bool orders_parse_max(const struct geom *g, const char *text, unsigned int *set,
		      char *why, size_t len);
bool orders_parse_kernel(const char *text, unsigned int *set);
void orders_format(const struct geom *g, unsigned int set, char *buf, size_t len);
void orders_format_kernel(unsigned int set, char *buf, size_t len);
void size_format(unsigned long long bytes, char *buf, size_t len);

#endif /* MCPAGECTL_ORDERS_H */
