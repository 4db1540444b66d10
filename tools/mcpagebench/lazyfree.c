// SPDX-License-Identifier: GPL-2.0-only
/*
 * What MADV_FREE costs for blocks and for parts of them, writing there again, and
 * reclaim of what was freed. mcpage knows several ways to free a part of a block;
 * each is a configuration of its own. Needs zram swap and the memory controller of
 * cgroup v2.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "region.h"

#define PARTIAL		SYSFS_MCPAGE "lazyfree/partial"
#define WHOLE_REGION	(1024UL << 20)
/* For parts, where many calls are made: 32 blocks of 2 MiB. */
#define REGION		(64UL << 20)

#define MIN_ORDER	2
#define MAX_ORDER	9
/* Several pages, for which a call is made each. */
#define RUN		(16UL << 10)

/* In bench_config.flags: the way of mcpage, by its name in PARTIAL */
enum way {
	NO_WAY,
	MARK,
	ZAP,
	SPLIT,
	NR_WAYS,
};

static const struct {
	const char *name, *config;
} ways[NR_WAYS] = {
	[MARK] = { "mark", "folio_mark" },
	[ZAP] = { "zap", "folio_zap" },
	[SPLIT] = { "split", "folio_split" },
};

/* That of this process. */
static enum way way;
/* In bytes, of the cgroup: before reclaim, and what that gave back. */
static unsigned long usage, given_back;

static void choose_way(const struct bench_config *config)
{
	way = config->flags;
	if (way != NO_WAY)
		bench_put(PARTIAL, ways[way].name);
}

/* Of the region. */
static double per_page(const struct region *region, double value)
{
	return value / region_pages(region);
}

/* -------- As a whole -------- */

static void run_whole(struct json_object *result, const struct bench_config *config)
{
	struct region region = { .size = WHOLE_REGION };
	double ns = region_measure(&region, config, config->data);

	/* Of huge pages it is so little that a tenth is percents. */
	bench_decimals(result, "value", per_page(&region, ns), 3);
}

static void run_reclaim(struct json_object *result, const struct bench_config *config)
{
	struct region region = { .size = REGION };
	double ns = region_measure(&region, config, config->data);

	bench_value(result, per_page(&region, ns));
}

static bool any_way(const struct bench_config *config)
{
	return config->flags != NO_WAY;
}

/* -------- Parts of blocks -------- */

static void run_part(struct json_object *result, const struct bench_config *config)
{
	struct region region = { .size = REGION };
	double ns;

	choose_way(config);
	ns = region_measure(&region, config, config->data);
	bench_value(result, per_page(&region, ns));
	bench_decimals(result, "faults", per_page(&region, region.faults), 3);
	bench_number(result, "present_kib", region.present * page_size / 1024.0);
}

static void free_alternate_runs(struct region *region)
{
	region_advise_each(region, 2 * RUN, RUN, MADV_FREE);
}

static void check_freed(struct region *region)
{
	size_t freed = region_advised(region);

	region_check_lazyfree_bytes(way == ZAP ? 0 : freed);
	region_check_pages(region, (region->size - (way == ZAP ? freed : 0)) / page_size,
			   0);
}

static void refault_half(struct region *region)
{
	region_free_half(region);
	region_write_advised(region);
}

static void refault_all_but_one(struct region *region)
{
	region_free_all_but_one(region);
	region_write_advised(region);
}

static void refault_alternate(struct region *region)
{
	region_free_alternate(region);
	region_write_advised(region);
}

static void refault_alternate_runs(struct region *region)
{
	free_alternate_runs(region);
	region_write_advised(region);
}

static void check_refaulted(struct region *region)
{
	region_check_lazyfree_bytes(0);
	region_check_whole(region);
}

/* Not all orders: the cases are many. */
static const unsigned long part_orders = 1UL << 2 | 1UL << 4 | 1UL << 6 | 1UL << 8 | 1UL << 9;

static bool no_part(const struct bench_config *config)
{
	return !(part_orders & (1UL << config->order)) ||
	       (config->mode == BENCH_FOLIO && config->flags == NO_WAY);
}

/* A run that is a whole block is no part. */
static bool no_part_of_runs(const struct bench_config *config)
{
	return no_part(config) || (unsigned long)page_size << config->order <= RUN;
}

/* -------- Reclaim of parts -------- */

static unsigned long cgroup_usage(void)
{
	char text[32];

	bench_get(CGROUP "memory.current", text, sizeof(text));
	return strtoul(text, NULL, 10);
}

static void free_half_for_reclaim(struct region *region)
{
	region_free_half(region);
	usage = cgroup_usage();
}

/* Pages that the split of a block sets free do not count as found. */
static void reclaim_freed(struct region *region)
{
	region_reclaim(region_advised(region), NO_SWAP);
}

static void check_reclaimed(struct region *region)
{
	unsigned long left = cgroup_usage(), freed = region_advised(region);
	size_t at;

	given_back = left < usage ? usage - left : 0;
	/* A block that is busy may stay as it is. */
	if (given_back < freed / 8 * 7)
		bench_fail("%lu of %lu bytes were given back", given_back, freed);
	for (at = 0; at < region->size; at += page_size)
		if (at % region->step >= region->part && region->start[at] != 1)
			bench_fail("a page that was kept has lost its content");
	region_count(region);
	if (region->swapped || region->present * page_size < region->size - freed)
		bench_fail("pages that were kept are not present");
}

static void run_reclaim_part(struct json_object *result, const struct bench_config *config)
{
	struct region region = { .size = REGION };
	double ns;

	choose_way(config);
	ns = region_measure(&region, config, config->data);
	bench_value(result, ns * page_size / given_back);
	bench_number(result, "given_back_kib", given_back / 1024.0);
	bench_number(result, "present_kib", region.present * page_size / 1024.0);
}

#define STEPS(...)	(&(const struct region_steps){ __VA_ARGS__ })

static const struct bench_case cases[] = {
	{ "madvise_free", "page", run_whole, any_way,
	  STEPS(region_free_all, region_check_lazyfree) },
	{ "reclaim_lazyfree", "page", run_reclaim, any_way,
	  STEPS(region_reclaim_lazyfree, region_check_gone, region_free_all,
		region_enter_cgroup, .frees = true) },
	{ "free_half", "page", run_part, no_part, STEPS(region_free_half, check_freed) },
	{ "free_half_refault", "page", run_part, no_part,
	  STEPS(refault_half, check_refaulted) },
	{ "free_all_but_one", "page", run_part, no_part,
	  STEPS(region_free_all_but_one, check_freed) },
	{ "free_all_but_one_refault", "page", run_part, no_part,
	  STEPS(refault_all_but_one, check_refaulted) },
	{ "free_alternate", "page", run_part, no_part,
	  STEPS(region_free_alternate, check_freed) },
	{ "free_alternate_refault", "page", run_part, no_part,
	  STEPS(refault_alternate, check_refaulted) },
	{ "free_alternate_16K", "page", run_part, no_part_of_runs,
	  STEPS(free_alternate_runs, check_freed) },
	{ "free_alternate_16K_refault", "page", run_part, no_part_of_runs,
	  STEPS(refault_alternate_runs, check_refaulted) },
	{ "reclaim_half", "page given back", run_reclaim_part, no_part,
	  STEPS(reclaim_freed, check_reclaimed, free_half_for_reclaim,
		region_enter_cgroup, .frees = true) },
	{ }
};

/* One for single pages on each kernel, all others by order, and an empty one. */
static struct bench_config configs[2 + (1 + NR_WAYS) * (MAX_ORDER - MIN_ORDER + 1) + 1];

static struct bench_config *add_orders(struct bench_config *next, enum bench_mode mode,
				       const char *name, enum way flags)
{
	unsigned int order;

	for (order = MIN_ORDER; order <= MAX_ORDER; order++)
		*next++ = (struct bench_config){ mode, name, order, flags };
	return next;
}

static void list_configs(void)
{
	struct bench_config *next = configs;
	enum way other;

	*next++ = (struct bench_config){ BENCH_SINGLE, "single" };
	/* First of all with mcpage: a policy ends it. */
	*next++ = (struct bench_config){ BENCH_UNUSED, "unused" };
	next = add_orders(next, BENCH_MTHP, "mthp", NO_WAY);
	next = add_orders(next, BENCH_FOLIO, "folio", NO_WAY);
	/* A kernel may be without them. */
	if (access(PARTIAL, F_OK))
		return;
	for (other = MARK; other < NR_WAYS; other++)
		next = add_orders(next, BENCH_FOLIO, ways[other].config, other);
}

int main(int argc, char **argv)
{
	static const struct bench_program program = {
		.name = "lazyfree",
		.about = "MADV_FREE of blocks and of their parts, and its reclaim.",
		.cases = cases,
		.configs = configs,
		.setup = region_setup,
	};

	list_configs();
	return bench_main(&program, argc, argv);
}
