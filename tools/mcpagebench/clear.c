// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast memory is cleared: as Linux 6.12 does, by memset(), by each method that
 * this CPU has, and as mcpage does, which chooses between these. Methods and plans
 * are built from the kernel's sources.
 *
 * It runs natively. A value is in GB/s, 10^9 bytes in a second of CPU time, and the
 * median of some rounds. In a round each way has its turn, so that whatever else
 * the machine does meets all alike.
 */
#include <argp.h>
#include <cpuid.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mcpage/clear.h>

#include "bench.h"

/* MAX_ORDER_NR_PAGES of x86: Linux clears what is longer in sequence. */
#define LINUX_MAX_PAGES	1024

#define MIN_EXTENT	PAGE_SIZE
#define MAX_EXTENT	(32UL << 20)
#define MIN_REGION	(64UL << 20)
#define MAX_ROUNDS	99

/*
 * A pass goes through this part of the region, after a lead-in of that part, for
 * which no time is taken: it should pay for writing back what it leaves in the
 * caches itself, and not for what the way before it left there.
 */
#define PASS_SHARE	4
#define LEAD_SHARE	16

/* 6.12, memset and mcpage. */
#define MAX_WAYS	(NR_MCPAGE_CLEAR_METHODS + 3)

/**
 * struct way - one way to clear an extent
 * @name: its name in the output
 * @clear: clears @len bytes from @extent on
 * @plan: handed on to @clear
 */
struct way {
	const char *name;
	void (*clear)(char *extent, unsigned long len,
		      const struct mcpage_clear_plan *plan);
	struct mcpage_clear_plan plan;
};

/* The extents as a mask of powers of 2; where in them the fault is. */
static struct {
	unsigned long extents;
	unsigned long region;
	unsigned long rounds;
	bool sequential;
	enum { FIRST, MIDDLE, LAST } fault;
} options = {
	.extents = 2 * MAX_EXTENT - MIN_EXTENT,
	.region = 1UL << 30,
	.rounds = 5,
};

static const char * const fault_names[] = {
	[FIRST] = "first", [MIDDLE] = "middle", [LAST] = "last",
};

static char *region;

/* -------- The CPU -------- */

/* Bits of cpuid's leaf 7 and of 0x80000008, in ebx. */
#define CPUID_ERMS	0x200
#define CPUID_CLZERO	0x1

static bool has_erms;
/* A mask of the methods. */
static unsigned int methods;

static void find_methods(void)
{
	unsigned int eax, ebx, ecx, edx;

	/* Every CPU of this time has REP_GOOD, which is not in cpuid. */
	has_erms = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && ebx & CPUID_ERMS;
	methods = MCPAGE_CLEAR_ALL & ~(1UL << MCPAGE_CLEAR_CLZERO);
	if (!has_erms)
		methods &= ~(1UL << MCPAGE_CLEAR_REP_STOSB);
	if (__get_cpuid(0x80000008, &eax, &ebx, &ecx, &edx) && ebx & CPUID_CLZERO)
		methods |= 1UL << MCPAGE_CLEAR_CLZERO;
}

/* The brand alone can be as little as "AMD EPYC" in a virtual machine. */
static void describe_cpu(struct json_object *doc)
{
	unsigned int words[12] = {}, eax, ebx, ecx, edx, family, model, i;
	char brand[sizeof(words) + 1] = "", *name = brand, *end;

	for (i = 0; i < 3; i++)
		__get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1],
			    &words[4 * i + 2], &words[4 * i + 3]);
	memcpy(brand, words, sizeof(words));
	name += strspn(name, " ");
	for (end = name + strlen(name); end > name && end[-1] == ' '; end--)
		end[-1] = '\0';
	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
		bench_fail("no cpuid");
	family = eax >> 8 & 0xf;
	model = eax >> 4 & 0xf;
	if (family == 0x6 || family == 0xf)
		model += eax >> 12 & 0xf0;
	if (family == 0xf)
		family += eax >> 20 & 0xff;
	json_object_object_add(doc, "cpu", json_object_new_string(name));
	json_object_object_add(doc, "family", json_object_new_int(family));
	json_object_object_add(doc, "model", json_object_new_int(model));
}

static void pin(void)
{
	cpu_set_t cpus;
	int cpu = sched_getcpu();

	CPU_ZERO(&cpus);
	CPU_SET(cpu < 0 ? 0 : cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		bench_die("sched_setaffinity");
}

/* -------- The ways -------- */

static unsigned long fault_offset(unsigned long len)
{
	switch (options.fault) {
	case FIRST:
		return 0;
	case MIDDLE:
		return len / 2 & ~(PAGE_SIZE - 1);
	default:
		return len - PAGE_SIZE;
	}
}

/* As alternatives patch the kernel's. */
void clear_page(void *page)
{
	if (has_erms)
		mcpage_clear_rep_stosb(page, PAGE_SIZE);
	else
		mcpage_clear_rep_stosq(page, PAGE_SIZE);
}

/* The order of folio_zero_user() in Linux 6.12. */
static void clear_as_linux(char *extent, unsigned long len,
			   const struct mcpage_clear_plan *plan)
{
	unsigned long left = 0, right = len / PAGE_SIZE, pages = right;
	unsigned long fault = fault_offset(len) / PAGE_SIZE;

	if (pages > LINUX_MAX_PAGES) {
		while (left < pages)
			clear_page(extent + PAGE_SIZE * left++);
		return;
	}
	/* What one side has more than the other, from its far end on. */
	if (2 * fault <= pages)
		while (right > 2 * fault)
			clear_page(extent + PAGE_SIZE * --right);
	else
		while (left < 2 * fault - pages)
			clear_page(extent + PAGE_SIZE * left++);
	/* The rest from both ends; the page of the fault is the last one. */
	while (left < right) {
		clear_page(extent + PAGE_SIZE * left++);
		clear_page(extent + PAGE_SIZE * --right);
	}
}

static void clear_by_memset(char *extent, unsigned long len,
			    const struct mcpage_clear_plan *plan)
{
	memset(extent, 0, len);
}

static void clear_by_plan(char *extent, unsigned long len,
			  const struct mcpage_clear_plan *plan)
{
	mcpage_clear_extent(extent, len, plan);
}

/* Called for each chunk of mcpage_clear_extent(); the kernel reschedules here. */
void mcpage_clear_chunk(enum mcpage_clear_method method, void *addr, unsigned long len)
{
	mcpage_clear_by(method, addr, len);
}

static struct way way_of_method(enum mcpage_clear_method method)
{
	return (struct way){
		.name = mcpage_clear_names[method], .clear = clear_by_plan,
		.plan = { .method = method, .chunk = MCPAGE_CLEAR_CHUNK_KB * 1024UL },
	};
}

/* -------- A pass -------- */

/*
 * Scattered, so that each extent begins on its own, as that of a fault does. One
 * after the other they would be a single long stream of stores, which a processor
 * may make more of than of the extents.
 */
static void walk(const struct way *way, unsigned long len, bool read, char *part,
		 unsigned long size)
{
	unsigned long nr = size / len, i;

	for (i = 0; i < nr; i++) {
		/* An odd factor goes through all of a power of 2. */
		unsigned long turn = options.sequential ? i : i * 0x9e3779b1 % nr;
		char *extent = part + turn * len;

		way->clear(extent, len, &way->plan);
		if (read)
			mcpage_clear_read(extent, len);
	}
}

/* Another part of the region in each round, but the same one for all ways. */
static double pass(const struct way *way, unsigned long len, bool read,
		   unsigned int round)
{
	unsigned long size = options.region / PASS_SHARE, lead = options.region / LEAD_SHARE;
	unsigned long begin = round % PASS_SHARE * size;
	double ns;

	walk(way, len, read, region + (begin - lead) % options.region, lead);
	ns = bench_clock(CLOCK_PROCESS_CPUTIME_ID);
	walk(way, len, read, region + begin, size);
	return size / (bench_clock(CLOCK_PROCESS_CPUTIME_ID) - ns);
}

static bool all_are(const char *p, unsigned long len, int value)
{
	return *p == (char)value && !memcmp(p, p + 1, len - 1);
}

/* All of the extent, and nothing beside it. */
static void check(const struct way *way, unsigned long len)
{
	memset(region, 0xff, 3 * len);
	way->clear(region + len, len, &way->plan);
	if (!all_are(region, len, 0xff) || !all_are(region + len, len, 0) ||
	    !all_are(region + 2 * len, len, 0xff))
		bench_fail("%s did not clear %lu bytes, or others", way->name, len);
}

/* -------- What mcpage chooses -------- */

/* By class, as mcpage_clear_choose() takes it. */
static struct mcpage_clear_speed speeds[NR_MCPAGE_CLEAR_CLASSES][NR_MCPAGE_CLEAR_METHODS];

unsigned long mcpage_clear_now(void)
{
	return bench_now();
}

void mcpage_clear_pause(void)
{
}

/* As the kernel does it at boot, in as much memory. */
static void measure_methods(void)
{
	struct mcpage_clear_space space = {};

	for (; space.nr < MCPAGE_CLEAR_BLOCKS; space.nr++) {
		if ((space.nr + 1) * BENCH_ALIGN > options.region)
			break;
		space.block[space.nr] = region + space.nr * BENCH_ALIGN;
	}
	mcpage_clear_measure(&space, methods, speeds);
}

static struct way way_of_mcpage(unsigned long len)
{
	unsigned int class = mcpage_clear_class(len);
	struct way way = way_of_method(mcpage_clear_auto(speeds[class], class, methods));

	way.name = "mcpage";
	mcpage_clear_near(&way.plan, len, fault_offset(len), MCPAGE_CLEAR_CACHED_KB * 1024UL);
	return way;
}

static struct json_object *chosen(unsigned long len, const struct mcpage_clear_plan *plan)
{
	bool apart = plan->near_len < len;
	struct json_object *entry = json_object_new_object();

	json_object_object_add(entry, "extent", json_object_new_int64(len));
	json_object_object_add(entry, "method",
			       json_object_new_string(mcpage_clear_names[apart ? plan->method :
								   plan->near_method]));
	json_object_object_add(entry, "near_method",
			       json_object_new_string(mcpage_clear_names[plan->near_method]));
	json_object_object_add(entry, "near", json_object_new_int64(plan->near_len));
	return entry;
}

static struct json_object *measured_entry(unsigned int class, unsigned int method)
{
	const struct mcpage_clear_speed *speed = &speeds[class][method];
	struct json_object *entry = json_object_new_object();

	json_object_object_add(entry, "extent",
			       json_object_new_int64(mcpage_clear_class_len[class]));
	json_object_object_add(entry, "method",
			       json_object_new_string(mcpage_clear_names[method]));
	bench_decimals(entry, "clear", speed->clear / 1e3, 3);
	bench_decimals(entry, "clear_and_read", speed->used / 1e3, 3);
	return entry;
}

static struct json_object *measured(void)
{
	struct json_object *list = json_object_new_array();
	unsigned int class, method;

	for (class = 0; class < NR_MCPAGE_CLEAR_CLASSES; class++)
		for (method = 0; method < NR_MCPAGE_CLEAR_METHODS; method++)
			if (methods & (1UL << method))
				json_object_array_add(list, measured_entry(class, method));
	return list;
}

/* -------- The rounds -------- */

/* The first one is what the others are compared with. */
static unsigned int list_ways(struct way *ways, unsigned long len)
{
	enum mcpage_clear_method i;
	unsigned int nr = 0;

	ways[nr++] = (struct way){ .name = "6.12", .clear = clear_as_linux };
	ways[nr++] = (struct way){ .name = "memset", .clear = clear_by_memset };
	for (i = 0; i < NR_MCPAGE_CLEAR_METHODS; i++)
		if (methods & (1UL << i))
			ways[nr++] = way_of_method(i);
	ways[nr++] = way_of_mcpage(len);
	return nr;
}

/* Who comes first, or after whom, makes a difference; the same in every run. */
static void shuffle(unsigned int *order, unsigned int nr)
{
	unsigned int i, j;

	for (i = 0; i < nr; i++) {
		j = random() % (i + 1);
		order[i] = order[j];
		order[j] = i;
	}
}

static double median(const double *sorted, unsigned int nr)
{
	return (sorted[(nr - 1) / 2] + sorted[nr / 2]) / 2;
}

static void add_result(struct json_object *results, const char *name,
		       const struct way *way, unsigned long len, double *gbs,
		       double reference)
{
	struct json_object *result = json_object_new_object();

	json_object_object_add(result, "case", json_object_new_string(name));
	json_object_object_add(result, "config", json_object_new_string(way->name));
	json_object_object_add(result, "extent", json_object_new_int64(len));
	bench_decimals(result, "value", median(gbs, options.rounds), 3);
	bench_decimals(result, "min", gbs[0], 3);
	bench_decimals(result, "max", gbs[options.rounds - 1], 3);
	bench_decimals(result, "ratio", median(gbs, options.rounds) / reference, 4);
	json_object_array_add(results, result);
}

static void measure(struct json_object *results, const char *name, bool read,
		    const struct way *ways, unsigned int nr, unsigned long len)
{
	double gbs[MAX_WAYS][MAX_ROUNDS];
	unsigned int order[MAX_WAYS], round, i;

	for (round = 0; round < options.rounds; round++) {
		shuffle(order, nr);
		for (i = 0; i < nr; i++)
			gbs[order[i]][round] = pass(&ways[order[i]], len, read, round);
	}
	for (i = 0; i < nr; i++) {
		bench_sort(gbs[i], options.rounds);
		add_result(results, name, &ways[i], len, gbs[i],
			   median(gbs[0], options.rounds));
	}
}

static void measure_extent(struct json_object *results, struct json_object *choices,
			   unsigned long len)
{
	struct way ways[MAX_WAYS];
	unsigned int nr = list_ways(ways, len), i;

	for (i = 0; i < nr; i++)
		check(&ways[i], len);
	json_object_array_add(choices, chosen(len, &ways[nr - 1].plan));
	measure(results, "clear", false, ways, nr, len);
	measure(results, "clear_and_read", true, ways, nr, len);
}

/* Where there are no huge pages, the document says so. */
static void map_region(struct json_object *doc)
{
	region = bench_region(options.region);
	madvise(region, options.region, MADV_HUGEPAGE);
	bench_write(region, options.region);
	if (bench_rollup_kib("AnonHugePages") * 1024 < options.region)
		fprintf(stderr, "%s: not all of the region is in huge pages\n", bench_name);
	json_object_object_add(doc, "region_kib",
			       json_object_new_int64(options.region / 1024));
	json_object_object_add(doc, "huge_kib",
			       json_object_new_int64(bench_rollup_kib("AnonHugePages")));
}

/* -------- Options -------- */

/* As a power of 2. */
static bool extent_item(const char **text, unsigned long *value)
{
	const char *begin = *text;
	unsigned long len = strtoul(begin, (char **)text, 10);

	if (len > MAX_EXTENT)
		return false;
	if (**text == 'K')
		len <<= 10;
	else if (**text == 'M')
		len <<= 20;
	else
		return false;
	(*text)++;
	if (len < MIN_EXTENT || len > MAX_EXTENT || len & (len - 1))
		return false;
	*value = __builtin_ctzl(len);
	return true;
}

static unsigned long parse_count(const char *text, unsigned long max,
				 struct argp_state *state)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || !value || value > max)
		argp_error(state, "not a number from 1 to %lu: %s", max, text);
	return value;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	unsigned int i;

	switch (key) {
	case 'e':
		if (!bench_list(arg, extent_item, &options.extents))
			argp_error(state, "not a list of extents: %s", arg);
		return 0;
	case 'r':
		options.region = parse_count(arg, 1UL << 20, state) << 20;
		return 0;
	case 'n':
		options.rounds = parse_count(arg, MAX_ROUNDS, state);
		return 0;
	case 'f':
		for (i = FIRST; i <= LAST; i++) {
			if (!strcmp(arg, fault_names[i])) {
				options.fault = i;
				return 0;
			}
		}
		argp_error(state, "not first, middle or last: %s", arg);
		return 0;
	case 's':
		options.sequential = true;
		return 0;
	case ARGP_KEY_END:
		/* Of all that is walked through, so that it is whole extents. */
		if (options.region & (options.region - 1))
			argp_error(state, "the region is not a power of 2");
		if (options.region < MIN_REGION ||
		    2 * options.region / LEAD_SHARE <= options.extents)
			argp_error(state,
				   "the region is less than %lu MiB or %u of the longest extent",
				   MIN_REGION >> 20, LEAD_SHARE);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_table[] = {
	{ "extents", 'e', "LIST", 0, "only these lengths of 4K to 32M, such as 4K,64K-2M", 0 },
	{ "region", 'r', "MIB", 0, "walk through this much memory (1024)", 0 },
	{ "rounds", 'n', "N", 0, "how often each is measured (5)", 0 },
	{ "fault", 'f', "PAGE", 0, "the page of the fault: first, middle or last (first)", 0 },
	{ "sequential", 's', NULL, 0, "one extent after the other, not scattered", 0 },
	{ 0 }
};

int main(int argc, char **argv)
{
	const struct argp argp = {
		.options = option_table, .parser = parse_option,
		.doc = "How fast memory is cleared, alone and with reading it after that.",
	};
	struct json_object *doc, *results, *choices;
	unsigned long len;

	bench_name = "clear";
	page_size = PAGE_SIZE;
	argp_parse(&argp, argc, argv, 0, NULL, &options);

	pin();
	find_methods();
	doc = bench_document();
	results = json_object_new_array();
	choices = json_object_new_array();
	describe_cpu(doc);
	json_object_object_add(doc, "fault",
			       json_object_new_string(fault_names[options.fault]));
	json_object_object_add(doc, "sequential", json_object_new_boolean(options.sequential));
	json_object_object_add(doc, "rounds", json_object_new_int(options.rounds));
	map_region(doc);
	measure_methods();
	json_object_object_add(doc, "measured", measured());
	for (len = MIN_EXTENT; len <= MAX_EXTENT; len *= 2)
		if (options.extents & len)
			measure_extent(results, choices, len);
	json_object_object_add(doc, "chosen", choices);
	json_object_object_add(doc, "results", results);
	bench_print(doc);
	return 0;
}
