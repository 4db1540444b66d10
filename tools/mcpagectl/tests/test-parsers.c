// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables for the pure parts: order sets, sizes, choices.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../mcpagectl.h"
#include "../sysfs.h"

/* The machines: x86 and arm64 with its three page sizes. */
static const struct geom p4k = { .page_shift = 12, .valid = 0x3fc };
static const struct geom p16k = { .page_shift = 14, .valid = 0xffc };
static const struct geom p64k = { .page_shift = 16, .valid = 0x3ffc };
/* Holes, and none at all. */
static const struct geom gaps = { .page_shift = 12, .valid = 0x214 };
static const struct geom empty = { .page_shift = 12 };

static int count, failed;

static void ok(bool good, const char *what, const char *input)
{
	count++;
	failed += !good;
	printf("%sok %d %s '", good ? "" : "not ", count, what);
	/* A name is one line. */
	for (; *input; input++)
		putchar(*input == '\n' ? '~' : *input);
	puts("'");
}

/* @why: a part of the sentence that says why it is refused; NULL if not */
static const struct {
	const struct geom *g;
	const char *text;
	unsigned int set;
	const char *why;
} orders[] = {
	{ &p4k, "none", 0 },
	{ &p4k, "0", 0 },
	{ &p4k, "4K", 0 },
	{ &p4k, "4096", 0, "no valid order" },
	{ &p4k, "all", 0x3fc },
	{ &p4k, "16K", 0x4 },
	{ &p4k, "16k", 0x4 },
	{ &p4k, "16KB", 0x4 },
	{ &p4k, "16kb", 0x4 },
	{ &p4k, "16KiB", 0x4 },
	{ &p4k, "2M", 0x200 },
	{ &p4k, "2048K", 0x200 },
	{ &p4k, "2MiB", 0x200 },
	{ &p4k, "2", 0x4 },
	{ &p4k, "9", 0x200 },
	{ &p4k, "016K", 0x4 },
	{ &p4k, "16K,64K", 0x14 },
	{ &p4k, "64K,16K,64K", 0x14 },
	{ &p4k, "2,4", 0x14 },
	{ &p4k, "2,64K", 0x14 },
	{ &p4k, "2-4", 0x1c },
	{ &p4k, "16K-64K", 0x1c },
	{ &p4k, "2-64K", 0x1c },
	{ &p4k, "3-3", 0x8 },
	{ &p4k, "2-4,9", 0x21c },
	{ &p4k, "2-9", 0x3fc },
	{ &p4k, "0,4", 0x10 },
	{ &p4k, "4K,64K", 0x10 },
	{ &p4k, "0-0", 0 },
	{ &p4k, "1", 0, "'1' is no valid order" },
	{ &p4k, "8K", 0, "'8K' is no block size" },
	{ &p4k, "0-4", 0, "orders that do not exist" },
	{ &p4k, "1-4", 0, "'1' is no valid order" },
	{ &p4k, "10", 0, "'10' is no valid order" },
	{ &p4k, "15", 0, "no valid order" },
	{ &p4k, "16", 0, "for the size write 16K" },
	{ &p4k, "64", 0, "for the size write 64K" },
	{ &p4k, "2048", 0, "for the size write 2048K" },
	{ &p4k, "4M", 0, "16K, 32K, 64K, 128K, 256K, 512K, 1M, 2M (orders 2-9), or none" },
	{ &p4k, "48K", 0, "'48K' is no block size" },
	{ &p4k, "17K", 0, "no block size" },
	{ &p4k, "2K", 0, "no block size" },
	{ &p4k, "0K", 0, "no block size" },
	{ &p4k, "1G", 0, "no block size" },
	{ &p4k, "1T", 0, "no block size" },
	{ &p4k, "17592186044417M", 0, "no block size" },
	{ &p4k, "18446744073709551616", 0, "no valid order" },
	{ &p4k, "18446744073709551616K", 0, "no block size" },
	{ &p4k, "4294967300", 0, "no valid order" },
	{ &p4k, "4-2", 0, "range that goes down" },
	{ &p4k, "2M-16K", 0, "range that goes down" },
	{ &p4k, "", 0, "no size or order" },
	{ &p4k, ",", 0, "no size or order" },
	{ &p4k, "2,", 0, "no size or order" },
	{ &p4k, ",2", 0, "no size or order" },
	{ &p4k, "2,,4", 0, "no size or order" },
	{ &p4k, "-", 0, "no size or order" },
	{ &p4k, "2-", 0, "no size or order" },
	{ &p4k, "-4", 0, "no size or order" },
	{ &p4k, "2--4", 0, "no size or order" },
	{ &p4k, "2-4-6", 0, "no size or order" },
	{ &p4k, "+2", 0, "no size or order" },
	{ &p4k, " 2", 0, "no size or order" },
	{ &p4k, "2 ", 0, "no size or order" },
	{ &p4k, "2, 4", 0, "no size or order" },
	{ &p4k, "2\n", 0, "no size or order" },
	{ &p4k, "16B", 0, "no size or order" },
	{ &p4k, "16Ki", 0, "no size or order" },
	{ &p4k, "16KBs", 0, "no size or order" },
	{ &p4k, "16Kx", 0, "no size or order" },
	{ &p4k, "0x4", 0, "no size or order" },
	{ &p4k, "2.5M", 0, "no size or order" },
	{ &p4k, "K", 0, "no size or order" },
	{ &p4k, "NONE", 0, "no size or order" },
	{ &p4k, "none,2", 0, "no size or order" },
	{ &p4k, "2,all", 0, "no size or order" },
	{ &p4k, "always", 0, "no size or order" },

	{ &p16k, "16K", 0 },
	{ &p16k, "64K", 0x4 },
	{ &p16k, "32M", 0x800 },
	{ &p16k, "64K-32M", 0xffc },
	{ &p16k, "4K", 0, "no block size" },
	{ &p16k, "32K", 0, "'32K' is no block size" },

	{ &p64k, "64K", 0 },
	{ &p64k, "256K", 0x4 },
	{ &p64k, "512M", 0x2000 },
	{ &p64k, "128K", 0, "no block size" },

	{ &gaps, "16K,64K,2M", 0x214 },
	{ &gaps, "all", 0x214 },
	{ &gaps, "32K", 0, "valid here are 16K, 64K, 2M (orders 2,4,9), or none" },
	{ &gaps, "2-4", 0, "orders that do not exist" },

	{ &empty, "none", 0 },
	{ &empty, "all", 0 },
	{ &empty, "2", 0, "no block size" },
};

static const struct {
	const struct geom *g;
	const char *text;
	unsigned int set;
	bool bad;
} max[] = {
	{ &p4k, "64K", 0x1c },
	{ &p4k, "4", 0x1c },
	{ &p4k, "2M", 0x3fc },
	{ &p4k, "16K", 0x4 },
	{ &p4k, "4K", 0 },
	{ &p4k, "0", 0 },
	{ &p4k, "none", 0 },
	{ &p4k, "8K", 0, true },
	{ &p4k, "4M", 0, true },
	{ &p4k, "16K,64K", 0, true },
	{ &p4k, "2-4", 0, true },
	{ &p4k, "all", 0, true },
	{ &p4k, "", 0, true },
	{ &p16k, "64K", 0x4 },
	{ &p16k, "16K", 0 },
	{ &gaps, "2M", 0x214 },
	{ &gaps, "64K", 0x14 },
};

/* @back: how it is printed again */
static const struct {
	const char *text;
	unsigned int set;
	const char *back;
} kernel[] = {
	{ "", 0, "" },
	{ "2", 0x4, "2" },
	{ "2-4,9", 0x21c, "2-4,9" },
	{ "2,3,4", 0x1c, "2-4" },
	{ "9,2", 0x204, "2,9" },
	{ "2-15", 0xfffc, "2-15" },
	{ "15", 0x8000, "15" },
	{ "0-15", 0xffff, "0-15" },
	{ "2-3,5-6", 0x6c, "2-3,5-6" },
	{ "16" },
	{ "2-16" },
	{ "4-2" },
	{ "99999999999999999999" },
	{ "2,", },
	{ ",2", },
	{ "2-", },
	{ "-2", },
	{ "2--3", },
	{ "2 3", },
	{ "x", },
	{ " ", },
	{ "16K", },
};

static const struct {
	const struct geom *g;
	unsigned int set;
	const char *text;
} format[] = {
	{ &p4k, 0, "none" },
	{ &p4k, 0x4, "16K" },
	{ &p4k, 0xc, "16K,32K" },
	{ &p4k, 0x1c, "16K-64K" },
	{ &p4k, 0x21c, "16K-64K,2M" },
	{ &p4k, 0x3fc, "16K-2M" },
	{ &p4k, 0x8000, "128M" },
	{ &p4k, 0x5554, "16K,64K,256K,1M,4M,16M,64M" },
	{ &p16k, 0x14, "64K,256K" },
	{ &p64k, 0x2000, "512M" },
};

static const struct {
	unsigned long long bytes;
	const char *text;
} size[] = {
	{ 0, "0" },
	{ 1, "1" },
	{ 1023, "1023" },
	{ 1024, "1K" },
	{ 1536, "1536" },
	{ 65536, "64K" },
	{ 2097152, "2M" },
	{ 1ULL << 30, "1G" },
	{ 1ULL << 63, "8E" },
	{ ULLONG_MAX, "18446744073709551615" },
};

/* @active: -1 if it is refused */
static const struct {
	const char *text;
	int n;
	int active;
} choices[] = {
	{ "always [advise] never", 3, 1 },
	{ "[fixed]", 1, 0 },
	{ "[folio] pages", 2, 0 },
	{ "folio [pages]", 2, 1 },
	{ "always", 1, 0 },
	{ "[a]  b", 2, 0 },
	{ "always advise", 0, -1 },
	{ "[a] [b]", 0, -1 },
	{ "[[a]] b", 0, -1 },
	{ "[a b]", 0, -1 },
	{ "[] b", 0, -1 },
	{ "", 0, -1 },
};

static void test_orders(void)
{
	char why[512], text[ORDERS_TEXT];
	unsigned int set, again;
	bool good;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		*why = '\0';
		good = orders_parse(orders[i].g, orders[i].text, &set, why,
				    sizeof(why));
		if (orders[i].why) {
			ok(!good && strstr(why, orders[i].why),
			   "orders_parse refuses", orders[i].text);
			continue;
		}
		ok(good && set == orders[i].set && !*why, "orders_parse",
		   orders[i].text);
		if (!good)
			continue;
		/* What is printed can be given back. */
		orders_format(orders[i].g, set, text, sizeof(text));
		ok(orders_parse(orders[i].g, text, &again, why,
				sizeof(why)) && again == set,
		   "orders_parse of orders_format", text);
	}
}

static void test_max(void)
{
	unsigned int set;
	char why[512];
	bool good;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(max); i++) {
		*why = '\0';
		good = orders_parse_max(max[i].g, max[i].text, &set, why,
					sizeof(why));
		ok(max[i].bad ? !good && *why : good && set == max[i].set,
		   "orders_parse_max", max[i].text);
	}
}

static void test_kernel(void)
{
	char text[ORDERS_TEXT];
	unsigned int set;
	bool good;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kernel); i++) {
		good = orders_parse_kernel(kernel[i].text, &set);
		if (!kernel[i].back) {
			ok(!good, "orders_parse_kernel refuses",
			   kernel[i].text);
			continue;
		}
		orders_format_kernel(set, text, sizeof(text));
		ok(good && set == kernel[i].set &&
		   !strcmp(text, kernel[i].back),
		   "orders_parse_kernel", kernel[i].text);
	}
}

static void test_format(void)
{
	char text[ORDERS_TEXT];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(format); i++) {
		orders_format(format[i].g, format[i].set, text, sizeof(text));
		ok(!strcmp(text, format[i].text), "orders_format",
		   format[i].text);
	}
	for (i = 0; i < ARRAY_SIZE(size); i++) {
		size_format(size[i].bytes, text, sizeof(text));
		ok(!strcmp(text, size[i].text), "size_format", size[i].text);
	}
}

/* Every set must fit the buffers and survive a round trip. */
static void test_every_set(void)
{
	const struct geom g = { .page_shift = 12, .valid = 0xfffc };
	char text[ORDERS_TEXT], why[512];
	unsigned int set, back, bad = 0;

	for (set = 0; set <= 0xfffc; set += 4) {
		orders_format(&g, set, text, sizeof(text));
		bad += strlen(text) >= sizeof(text) - 1 ||
		       !orders_parse(&g, text, &back, why, sizeof(why)) ||
		       back != set;
		orders_format_kernel(set, text, sizeof(text));
		bad += !orders_parse_kernel(text, &back) || back != set;
	}
	ok(!bad, "round trip", "every set");
}

static void test_choices(void)
{
	struct choice c;
	bool good;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(choices); i++) {
		good = choice_parse(choices[i].text, &c);
		ok(choices[i].active < 0 ? !good :
		   good && c.n == choices[i].n && c.active == choices[i].active,
		   "choice_parse", choices[i].text);
		choice_free(&c);
	}
}

static void test_kinds(void)
{
	ok(setting_kind("enabled") == KIND_CHOICE, "setting_kind", "enabled");
	ok(setting_kind("vma/heap/orders") == KIND_ORDERS, "setting_kind",
	   "vma/heap/orders");
	ok(setting_kind("order-4/stats/alloc") == KIND_NUMBER, "setting_kind",
	   "order-4/stats/alloc");
	ok(setting_kind("align") == KIND_RAW, "setting_kind", "align");
}

int main(void)
{
	test_orders();
	test_max();
	test_kernel();
	test_format();
	test_every_set();
	test_choices();
	test_kinds();
	printf("1..%d\n", count);
	return !!failed;
}
