// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parsing and printing order sets.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "mcpagectl.h"
#include "orders.h"

/* Appends to what @buf holds; what does not fit is cut. */
static void __printf(3, 4)
append(char *buf, size_t len, const char *fmt, ...)
{
	size_t used = strlen(buf);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf + used, len - used, fmt, ap);
	va_end(ap);
}

/**
 * size_format() - print a size in the largest unit that leaves it whole
 * @bytes: the size
 * @buf: where to put the text
 * @len: room there
 */
void size_format(unsigned long long bytes, char *buf, size_t len)
{
	static const char unit[] = "\0KMGTPE";
	unsigned int i = 0;

	while (bytes && !(bytes % 1024) && unit[i + 1]) {
		bytes /= 1024;
		i++;
	}
	snprintf(buf, len, "%llu%.1s", bytes, unit + i);
}

static void order_format(const struct geom *g, unsigned int order, char *buf,
			 size_t len)
{
	size_format(1ULL << (g->page_shift + order), buf, len);
}

/* The last of the neighbouring orders that start at @order. */
static unsigned int run_end(unsigned int set, unsigned int order)
{
	while (set & (2U << order))
		order++;
	return order;
}

/**
 * orders_format() - print a set for people: "16K-64K,2M", or "none"
 * @g: the machine's page size
 * @set: the set
 * @buf: where to put the text
 * @len: room there
 */
void orders_format(const struct geom *g, unsigned int set, char *buf, size_t len)
{
	char lo[24], hi[24];
	unsigned int i, end;

	snprintf(buf, len, "%s", set ? "" : "none");
	for (i = 0; i <= ORDER_LIMIT; i = end + 1) {
		end = i;
		if (!(set & (1U << i)))
			continue;
		end = run_end(set, i);
		order_format(g, i, lo, sizeof(lo));
		order_format(g, end, hi, sizeof(hi));
		append(buf, len, "%s%s", *buf ? "," : "", lo);
		if (end > i)
			append(buf, len, "%s%s", end > i + 1 ? "-" : ",", hi);
	}
}

/**
 * orders_format_kernel() - print a set as sysfs has it: "2-4,9", or nothing
 * @set: the set
 * @buf: where to put the text
 * @len: room there
 */
void orders_format_kernel(unsigned int set, char *buf, size_t len)
{
	unsigned int i, end;

	*buf = '\0';
	for (i = 0; i <= ORDER_LIMIT; i = end + 1) {
		end = i;
		if (!(set & (1U << i)))
			continue;
		end = run_end(set, i);
		append(buf, len, "%s%u", *buf ? "," : "", i);
		if (end > i)
			append(buf, len, "-%u", end);
	}
}

/**
 * orders_parse_kernel() - read a set in the kernel's list format
 * @text: "2-4,9"; an empty line is the empty set
 * @set: the result
 *
 * Return: false if that is not what @text holds.
 */
bool orders_parse_kernel(const char *text, unsigned int *set)
{
	unsigned long lo, hi;
	char *end;

	*set = 0;
	if (!*text)
		return true;

	for (;;) {
		if (!isdigit((unsigned char)*text))
			return false;
		lo = strtoul(text, &end, 10);
		hi = lo;
		if (*end == '-' && isdigit((unsigned char)end[1]))
			hi = strtoul(end + 1, &end, 10);
		if (hi > ORDER_LIMIT || lo > hi)
			return false;
		*set |= order_bits(lo, hi);
		if (!*end)
			return true;
		if (*end != ',')
			return false;
		text = end + 1;
	}
}

static void valid_format(const struct geom *g, char *buf, size_t len)
{
	char orders[ORDERS_TEXT], size[24];
	unsigned int i;

	orders_format_kernel(g->valid, orders, sizeof(orders));
	*buf = '\0';
	for (i = 0; i <= ORDER_LIMIT; i++) {
		if (!(g->valid & (1U << i)))
			continue;
		order_format(g, i, size, sizeof(size));
		append(buf, len, "%s%s", *buf ? ", " : "", size);
	}
	append(buf, len, "%s (orders %s), or none",
	       *buf ? "" : "no block size", orders);
}

/* The order that a size in bytes has, or -1. */
static int size_order(const struct geom *g, unsigned long long bytes)
{
	unsigned int order;

	for (order = 0; order <= ORDER_LIMIT; order++) {
		if (bytes == 1ULL << (g->page_shift + order))
			return order;
	}
	return -1;
}

static bool refuse(const struct geom *g, const char *text, size_t n,
		   const char *what, char *why, size_t len)
{
	char valid[2 * ORDERS_TEXT];

	valid_format(g, valid, sizeof(valid));
	snprintf(why, len, "'%.*s' %s; valid here are %s",
		 (int)(n > 64 ? 64 : n), text, what, valid);
	return false;
}

/* 1 to 3 letters: K, KB and KiB all mean 1024 here, as in the kernel. */
static bool unit_shift(const char *unit, size_t n, unsigned int *shift)
{
	static const char letters[] = "kmgt";
	const char *p;

	if (!n || n > 3)
		return false;
	p = strchr(letters, tolower((unsigned char)*unit));
	if (!p || !*p)
		return false;
	*shift = 10 * (p - letters + 1);
	return n == 1 || !strncasecmp(unit + 1, n == 2 ? "b" : "ib", n - 1);
}

/* One order or size, @n characters of @text; 0 is the single page. */
static bool parse_one(const struct geom *g, const char *text, size_t n,
		      unsigned int *order, char *why, size_t len)
{
	unsigned int shift = 0;
	char hint[80], *end;
	unsigned long long number;
	int found;

	if (!n || !isdigit((unsigned char)*text))
		return refuse(g, text, n, "is no size or order", why, len);
	errno = 0;
	number = strtoull(text, &end, 10);
	if ((size_t)(end - text) < n) {
		if (!unit_shift(end, text + n - end, &shift))
			return refuse(g, text, n, "is no size or order",
				      why, len);
		if (errno || number > ULLONG_MAX >> shift)
			return refuse(g, text, n, "is no block size",
				      why, len);
		found = size_order(g, number << shift);
		if (found > 0 && !(g->valid & (1U << found)))
			found = -1;
		if (found < 0)
			return refuse(g, text, n, "is no block size",
				      why, len);
		*order = found;
		return true;
	}

	if (!errno && (!number || (number <= ORDER_LIMIT &&
				   g->valid & (1U << number)))) {
		*order = number;
		return true;
	}
	/* 64 for 64K is the likely slip. */
	found = errno || number > UINT_MAX ? -1 :
		size_order(g, number << 10);
	if (found > 0 && g->valid & (1U << found))
		snprintf(hint, sizeof(hint),
			 "is no order (for the size write %lluK)", number);
	else
		snprintf(hint, sizeof(hint), "is no valid order");
	return refuse(g, text, n, hint, why, len);
}

static bool parse_item(const struct geom *g, const char *text, size_t n,
		       unsigned int *set, char *why, size_t len)
{
	const char *dash = memchr(text, '-', n);
	unsigned int lo, hi;

	if (!dash) {
		if (!parse_one(g, text, n, &lo, why, len))
			return false;
		hi = lo;
	} else if (!parse_one(g, text, dash - text, &lo, why, len) ||
		   !parse_one(g, dash + 1, text + n - dash - 1, &hi, why,
			      len)) {
		return false;
	}
	if (lo > hi)
		return refuse(g, text, n, "is a range that goes down", why,
			      len);
	if (order_bits(lo, hi) & ~g->valid & ~1U)
		return refuse(g, text, n, "has orders that do not exist", why,
			      len);
	*set |= order_bits(lo, hi);
	return true;
}

/**
 * orders_parse() - read a set as a person writes it
 * @g: what is valid on this machine
 * @text: sizes (64K), orders (4) and ranges (2-4, 16K-64K) with commas
 *	between; none, 0 or the page size for the empty set; all for each
 *	valid order
 * @set: the result
 * @why: takes a sentence on failure
 * @len: room there
 *
 * A size that is not exactly a block's is refused, never rounded: a rounded
 * one would measure something else than was asked for.
 *
 * Return: false if @text is not understood or names what does not exist.
 */
bool orders_parse(const struct geom *g, const char *text, unsigned int *set,
		  char *why, size_t len)
{
	unsigned int found = 0;
	size_t n;

	if (!strcmp(text, "none")) {
		*set = 0;
		return true;
	}
	if (!strcmp(text, "all")) {
		*set = g->valid;
		return true;
	}

	for (;;) {
		n = strcspn(text, ",");
		if (!parse_item(g, text, n, &found, why, len))
			return false;
		if (!text[n])
			break;
		text += n + 1;
	}
	/* Single pages are always allowed and have no bit. */
	*set = found & ~1U;
	return true;
}

/**
 * orders_parse_max() - read one size or order and give all up to it
 * @g: what is valid on this machine
 * @text: a size or order, or none
 * @set: the result
 * @why: takes a sentence on failure
 * @len: room there
 *
 * Return: false if @text is not one valid size or order.
 */
bool orders_parse_max(const struct geom *g, const char *text, unsigned int *set,
		      char *why, size_t len)
{
	unsigned int order = 0;

	if (strcmp(text, "none") &&
	    !parse_one(g, text, strlen(text), &order, why, len))
		return false;
	*set = order_bits(0, order) & g->valid;
	return true;
}
