// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage_sysfs: the files below /sys/kernel/mm/mcpage.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "helpers.h"

/* As on x86_64 with 4K pages, whatever the test runs on. */
#define VALID	GENMASK(9, 2)

struct parse_param {
	const char *text;
	int err;
	unsigned long orders;
};

static const struct parse_param parse_params[] = {
	{ "2", 0, BIT(2) },
	{ "2\n", 0, BIT(2) },
	{ "9", 0, BIT(9) },
	{ "2-4", 0, GENMASK(4, 2) },
	{ "2-4\n", 0, GENMASK(4, 2) },
	{ "2-4,9", 0, GENMASK(4, 2) | BIT(9) },
	{ "9,2-4", 0, GENMASK(4, 2) | BIT(9) },
	{ "4,4,4", 0, BIT(4) },
	{ "2-9", 0, VALID },
	{ "2-9:1/2", 0, BIT(2) | BIT(4) | BIT(6) | BIT(8) },
	{ "", 0, 0 },
	{ "\n", 0, 0 },
	{ "0", -EINVAL },
	{ "1", -EINVAL },
	{ "1-4", -EINVAL },
	{ "0-9", -EINVAL },
	{ "10", -EINVAL },
	{ "2-10", -EINVAL },
	{ "15", -EINVAL },
	{ "16", -EINVAL },
	{ "4294967298", -EINVAL },
	{ "99999999999999999999", -EINVAL },
	{ "4-2", -EINVAL },
	{ "-2", -EINVAL },
	{ "2-", -EINVAL },
	{ "2-4-6", -EINVAL },
	{ "+2", -EINVAL },
	{ "0x2", -EINVAL },
	{ "2.5", -EINVAL },
	{ "64K", -EINVAL },
	{ "two", -EINVAL },
	{ "all", -EINVAL },
	{ "always", -EINVAL },
	{ "2;3", -EINVAL },
	{ "2/3", -EINVAL },
	{ "2\n3", -EINVAL },
	{ "\n2", -EINVAL },
	{ "2\n\n", -EINVAL },
};

static void parse_desc(const struct parse_param *p, char *desc)
{
	char *end = desc + snprintf(desc, KUNIT_PARAM_DESC_SIZE, "'%s'", p->text);

	strreplace(desc, '\n', '|');
	WARN_ON(end > desc + KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(parse, parse_params, parse_desc);

static void orders_parse(struct kunit *test)
{
	const struct parse_param *p = test->param_value;
	unsigned long orders = 0xdead;

	KUNIT_ASSERT_EQ(test, p->err,
			mcpage_orders_parse(p->text, strlen(p->text), VALID, &orders));
	KUNIT_EXPECT_EQ(test, p->err ? 0xdeadUL : p->orders, orders);
}

/* A NUL ends neither the list nor the check of it. */
static void orders_parse_nul(struct kunit *test)
{
	unsigned long orders = 0xdead;

	KUNIT_EXPECT_EQ(test, -EINVAL, mcpage_orders_parse("2\0x", 3, VALID, &orders));
	KUNIT_EXPECT_EQ(test, -EINVAL, mcpage_orders_parse("2\0", 2, VALID, &orders));
	KUNIT_EXPECT_EQ(test, 0xdeadUL, orders);
}

static const char * const orders_files[] = {
	"orders", "vma/heap/orders", "vma/stack/orders", "vma/mmap/orders",
};

static void file_desc(const char * const *path, char *desc)
{
	strscpy(desc, *path, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(orders_file, orders_files, file_desc);

/* What is read can be written back, and what is refused changes nothing. */
static void orders_store(struct kunit *test)
{
	static const char * const bad[] = { "1", "0-4", "31", "2-99", "x", "2\n3" };
	const char *path = *(const char * const *)test->param_value;
	unsigned int i;

	mcpage_test_settings(test);
	KUNIT_EXPECT_EQ(test, 4, mcpage_test_store(test, path, "2-4\n"));
	KUNIT_EXPECT_STREQ(test, "2-4\n", mcpage_test_show(test, path));
	KUNIT_EXPECT_EQ(test, 3, mcpage_test_store(test, path, "2,4"));
	KUNIT_EXPECT_STREQ(test, "2,4\n", mcpage_test_show(test, path));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, mcpage_test_store(test, path, bad[i]),
				    "%s", bad[i]);
		KUNIT_EXPECT_STREQ(test, "2,4\n", mcpage_test_show(test, path));
	}
	KUNIT_EXPECT_EQ(test, 1, mcpage_test_store(test, path, "\n"));
	KUNIT_EXPECT_STREQ(test, "\n", mcpage_test_show(test, path));
}

struct choice_param {
	const char *path;
	const char *token;
	const char *shown;
	bool folio;
};

static const struct choice_param choice_params[] = {
	{ "enabled", "always", "[always] advise never\n" },
	{ "enabled", "advise", "always [advise] never\n" },
	{ "enabled", "never", "always advise [never]\n" },
	{ "mode", "fixed", "[fixed] adaptive\n" },
	{ "mode", "adaptive", "fixed [adaptive]\n" },
	{ "effort", "light", "[light] direct never\n" },
	{ "effort", "direct", "light [direct] never\n" },
	{ "effort", "never", "light direct [never]\n" },
	{ "lazyfree/partial", "mark", "[mark] zap split\n" },
	{ "lazyfree/partial", "zap", "mark [zap] split\n" },
	{ "lazyfree/partial", "split", "mark zap [split]\n" },
	{ "backing", "folio", "[folio] pages\n", .folio = true },
	{ "backing", "pages", IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) ?
			      "folio [pages]\n" : "[pages]\n" },
};

static void choice_desc(const struct choice_param *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s %s", p->path, p->token);
}

KUNIT_ARRAY_PARAM(choice, choice_params, choice_desc);

static void choice_store(struct kunit *test)
{
	const struct choice_param *p = test->param_value;
	char line[16];

	snprintf(line, sizeof(line), "%s\n", p->token);
	if (p->folio)
		mcpage_test_need_backing(test, MCPAGE_FOLIO);
	mcpage_test_settings(test);
	KUNIT_EXPECT_EQ(test, (ssize_t)strlen(line),
			mcpage_test_store(test, p->path, line));
	KUNIT_EXPECT_STREQ(test, p->shown, mcpage_test_show(test, p->path));
	KUNIT_EXPECT_EQ(test, (ssize_t)strlen(p->token),
			mcpage_test_store(test, p->path, p->token));
	KUNIT_EXPECT_STREQ(test, p->shown, mcpage_test_show(test, p->path));
}

static const char * const choice_files[] = {
	"enabled", "mode", "backing", "effort", "lazyfree/partial",
};

KUNIT_ARRAY_PARAM(choice_file, choice_files, file_desc);

static void choice_store_bad(struct kunit *test)
{
	static const char * const bad[] = {
		"", "\n", " ", "x", "0", "1", "[advise]", "ALWAYS", "always advise",
		"nev", "neverever", "never\n\n", " never", "madvise",
	};
	const char *path = *(const char * const *)test->param_value;
	const char *before;
	unsigned int i;

	mcpage_test_settings(test);
	before = mcpage_test_show(test, path);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_EQ_MSG(test, -EINVAL, mcpage_test_store(test, path, bad[i]),
				    "'%s'", bad[i]);
		KUNIT_EXPECT_STREQ(test, before, mcpage_test_show(test, path));
	}
	KUNIT_EXPECT_EQ(test, -EINVAL,
			mcpage_test_store_len(test, path, "never\0x", 7));
	KUNIT_EXPECT_STREQ(test, before, mcpage_test_show(test, path));
}

/* Without large folios the choice is not offered, and cannot be made. */
static void backing_without_thp(struct kunit *test)
{
	if (IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE)) {
		KUNIT_EXPECT_NOT_NULL(test, strstr(mcpage_test_show(test, "features"),
						   "folio\n"));
		return;
	}
	mcpage_test_settings(test);
	KUNIT_EXPECT_EQ(test, -EINVAL, mcpage_test_store(test, "backing", "folio"));
	KUNIT_EXPECT_STREQ(test, "[pages]\n", mcpage_test_show(test, "backing"));
	KUNIT_EXPECT_NULL(test, strstr(mcpage_test_show(test, "features"), "folio\n"));
}

static void order_dirs(struct kunit *test)
{
	unsigned long valid = mcpage_valid_orders();
	unsigned int order, item;

	for_each_set_bit(order, &valid, BITS_PER_LONG) {
		char path[64], kb[32];

		snprintf(path, sizeof(path), "order-%u/size_kb", order);
		snprintf(kb, sizeof(kb), "%lu\n", (PAGE_SIZE << order) / 1024);
		KUNIT_EXPECT_STREQ(test, kb, mcpage_test_show(test, path));
		for (item = 0; item < NR_MCPAGE_STAT_ITEMS; item++) {
			snprintf(path, sizeof(path), "order-%u/stats/%s", order,
				 mcpage_stat_names[item]);
			snprintf(kb, sizeof(kb), "%lu\n",
				 mcpage_stat_read(order, item));
			KUNIT_EXPECT_STREQ(test, kb, mcpage_test_show(test, path));
		}
	}
}

static struct kunit_case mcpage_sysfs_cases[] = {
	KUNIT_CASE_PARAM(orders_parse, parse_gen_params),
	KUNIT_CASE(orders_parse_nul),
	KUNIT_CASE_PARAM(orders_store, orders_file_gen_params),
	KUNIT_CASE_PARAM(choice_store, choice_gen_params),
	KUNIT_CASE_PARAM(choice_store_bad, choice_file_gen_params),
	KUNIT_CASE(backing_without_thp),
	KUNIT_CASE(order_dirs),
	{}
};

static struct kunit_suite mcpage_sysfs_suite = {
	.name = "mcpage_sysfs",
	.test_cases = mcpage_sysfs_cases,
};

kunit_test_suite(mcpage_sysfs_suite);

MODULE_DESCRIPTION("mcpage sysfs tests");
MODULE_LICENSE("GPL");
