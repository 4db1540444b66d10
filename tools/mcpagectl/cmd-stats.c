// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpagectl stats: the counters of each order.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "mcpagectl.h"
#include "sysfs.h"

#define COUNTERS_MAX	32

/* The order of columns; a counter that is not known here comes after them. */
static const char *const known[] = {
	"alloc", "fallback", "charge_failed", "page_table_populated",
	"unstable_address_space", "unaligned", "short",
};

struct stats {
	char *name[COUNTERS_MAX];
	unsigned int n;
	/* Which counters each order has, and their values. */
	unsigned int have[ORDER_LIMIT + 1];
	unsigned long long value[ORDER_LIMIT + 1][COUNTERS_MAX];
};

static int counter_index(struct stats *s, const char *name)
{
	unsigned int i;

	for (i = 0; i < s->n; i++) {
		if (!strcmp(s->name[i], name))
			return i;
	}
	if (s->n == COUNTERS_MAX)
		return -1;
	s->name[s->n] = xstrdup(name);
	return s->n++;
}

static int load_one(struct stats *s, const char *file)
{
	char name[64], *text, *end;
	unsigned int order;
	int i, ret, len;

	if (sscanf(file, "order-%2u/stats/%63[^/]%n", &order, name, &len) != 2 ||
	    file[len] || order > ORDER_LIMIT)
		return ST_OK;
	i = counter_index(s, name);
	if (i < 0)
		return ST_OK;
	ret = sysfs_read(file, &text);
	if (ret)
		return sysfs_read_failed(file, ret);
	errno = 0;
	s->value[order][i] = strtoull(text, &end, 10);
	if (errno || end == text || *end)
		ret = fail(ST_FAIL, "%s holds '%s', which is no number", file,
			   text);
	else
		s->have[order] |= 1U << i;
	free(text);
	return ret;
}

static int load(struct stats *s)
{
	char **list, **p;
	int status = ST_OK;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		s->name[s->n++] = xstrdup(known[i]);
	list = sysfs_list(false);
	for (p = list; *p && !status; p++)
		status = load_one(s, *p);
	sysfs_list_free(list);
	return status;
}

static bool counter_exists(const struct stats *s, unsigned int i)
{
	unsigned int order;

	for (order = 0; order <= ORDER_LIMIT; order++) {
		if (s->have[order] & (1U << i))
			return true;
	}
	return false;
}

static unsigned long long total(const struct stats *s, unsigned int i)
{
	unsigned long long sum = 0;
	unsigned int order;

	for (order = 0; order <= ORDER_LIMIT; order++)
		sum += s->value[order][i];
	return sum;
}

static int width(const struct stats *s, unsigned int i)
{
	char number[24];
	int a = strlen(s->name[i]);
	int b = snprintf(number, sizeof(number), "%llu", total(s, i));

	return a > b ? a : b;
}

static void print_text(const struct stats *s, const struct geom *g)
{
	unsigned int order, i;
	char size[24];

	printf("%5s %5s", "order", "size");
	for (i = 0; i < s->n; i++) {
		if (counter_exists(s, i))
			printf("  %*s", width(s, i), s->name[i]);
	}
	putchar('\n');
	for (order = 0; order <= ORDER_LIMIT; order++) {
		if (!s->have[order])
			continue;
		size_format(1ULL << (g->page_shift + order), size,
			    sizeof(size));
		printf("%5u %5s", order, size);
		for (i = 0; i < s->n; i++) {
			if (s->have[order] & (1U << i))
				printf("  %*llu", width(s, i),
				       s->value[order][i]);
			else if (counter_exists(s, i))
				printf("  %*s", width(s, i), "-");
		}
		putchar('\n');
	}
	printf("%11s", "total");
	for (i = 0; i < s->n; i++) {
		if (counter_exists(s, i))
			printf("  %*llu", width(s, i), total(s, i));
	}
	putchar('\n');
}

static void print_json(const struct stats *s, const struct geom *g)
{
	struct json_object *doc = json_object_new_object();
	struct json_object *list = json_object_new_array(), *o;
	unsigned int order, i;

	for (order = 0; order <= ORDER_LIMIT; order++) {
		if (!s->have[order])
			continue;
		o = json_object_new_object();
		json_object_object_add(o, "order", json_object_new_int(order));
		json_object_object_add(o, "size",
				       json_object_new_uint64(1ULL << (g->page_shift + order)));
		for (i = 0; i < s->n; i++) {
			if (s->have[order] & (1U << i))
				json_object_object_add(o, s->name[i],
						       json_object_new_uint64(s->value[order][i]));
		}
		json_object_array_add(list, o);
	}
	json_object_object_add(doc, "orders", list);
	o = json_object_new_object();
	for (i = 0; i < s->n; i++) {
		if (counter_exists(s, i))
			json_object_object_add(o, s->name[i],
					       json_object_new_uint64(total(s, i)));
	}
	json_object_object_add(doc, "total", o);
	json_emit(doc);
}

static int do_stats(int argc, char **argv)
{
	struct stats s = { .n = 0 };
	struct geom g;
	int status;

	if (!args_none(argc, argv))
		return ST_USAGE;
	status = sysfs_check();
	if (status)
		return status;
	geom_load(&g);
	status = load(&s);
	if (!status && json_output)
		print_json(&s, &g);
	else if (!status)
		print_text(&s, &g);
	while (s.n)
		free(s.name[--s.n]);
	return status;
}

const struct cmd cmd_stats = {
	.name = "stats",
	.args = "",
	.summary = "print how faults at each order ended, since boot",
	.text = "Each counter is of fault attempts at the order of its line: alloc got a\n"
		"block, the others say why one did not.",
	.run = do_stats,
};
