// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the benchmark programs share: see bench.h.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/mcpage.h>

#include "bench.h"

#define MAX_ORDERS	(8 * sizeof(unsigned long))
/* A region is mapped with this much more, to be aligned. */
#define SLACK		BENCH_ALIGN

const char *bench_name;
long page_size;

static const char * const mode_names[] = {
	[BENCH_SINGLE] = "single",
	[BENCH_UNUSED] = "unused",
	[BENCH_NEVER] = "never",
	[BENCH_MTHP] = "mthp",
	[BENCH_FOLIO] = "folio",
	[BENCH_PAGES] = "pages",
	[BENCH_ADVISE] = "advise",
	[BENCH_EMPTY] = "empty",
};

struct options {
	const struct bench_program *program;
	unsigned long orders;
	const char *cases;
	const char *modes;
};

void bench_die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", bench_name, what, strerror(errno));
	exit(1);
}

void bench_fail(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", bench_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void bench_decimals(struct json_object *result, const char *key, double value,
		    int decimals)
{
	char text[64];

	snprintf(text, sizeof(text), "%.*f", decimals, value);
	json_object_object_add(result, key, json_object_new_double_s(value, text));
}

void bench_number(struct json_object *result, const char *key, double value)
{
	bench_decimals(result, key, value, 1);
}

void bench_value(struct json_object *result, double value)
{
	bench_number(result, "value", value);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void bench_sort(double *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), compare);
}

double bench_clock(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now))
		bench_die("clock_gettime");
	return now.tv_sec * 1e9 + now.tv_nsec;
}

double bench_now(void)
{
	return bench_clock(CLOCK_MONOTONIC);
}

char *bench_region(size_t size)
{
	char *map = mmap(NULL, size + SLACK, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *region;
	size_t head;

	if (map == MAP_FAILED)
		bench_die("mmap");
	region = (char *)(((uintptr_t)map + BENCH_ALIGN - 1) & ~(BENCH_ALIGN - 1));
	head = region - map;
	if ((head && munmap(map, head)) ||
	    (SLACK - head && munmap(region + size, SLACK - head)))
		bench_die("munmap");
	return region;
}

void bench_unmap(char *region, size_t size)
{
	if (munmap(region, size))
		bench_die("munmap");
}

void bench_write(char *region, size_t size)
{
	char *p;

	for (p = region; p < region + size; p += page_size)
		__atomic_store_n(p, 1, __ATOMIC_RELAXED);
}

void bench_read(const char *region, size_t size)
{
	const char *p;

	for (p = region; p < region + size; p += page_size)
		__atomic_load_n(p, __ATOMIC_RELAXED);
}

bool bench_has_mcpage(void)
{
	return !access(SYSFS_MCPAGE "enabled", F_OK);
}

void bench_put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		bench_die(path);
	close(fd);
}

void bench_get(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t n;

	if (fd < 0)
		bench_die(path);
	do {
		n = read(fd, buf + have, size - 1 - have);
		if (n < 0)
			bench_die(path);
		have += n;
	} while (n && have < size - 1);
	buf[have] = '\0';
	close(fd);
}

long long bench_vmstat(const char *name)
{
	FILE *file = fopen("/proc/vmstat", "re");
	char key[64];
	long long value, found = -1;

	if (!file)
		bench_die("/proc/vmstat");
	while (fscanf(file, "%63s %lld", key, &value) == 2)
		if (!strcmp(key, name))
			found = value;
	fclose(file);
	return found;
}

long bench_minor_faults(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		bench_die("getrusage");
	return usage.ru_minflt;
}

unsigned long bench_rollup_kib(const char *key)
{
	char text[4096], start[64], *line;
	unsigned long kib;

	bench_get("/proc/self/smaps_rollup", text, sizeof(text));
	snprintf(start, sizeof(start), "\n%s:", key);
	line = strstr(text, start);
	if (!line || sscanf(line + strlen(start), "%lu kB", &kib) != 1)
		bench_fail("no %s in smaps_rollup", key);
	return kib;
}

unsigned long bench_resident_kib(void)
{
	return bench_rollup_kib("Anonymous");
}

long long bench_blocks(unsigned int order)
{
	char path[128], text[32];

	if (bench_has_mcpage())
		snprintf(path, sizeof(path), SYSFS_MCPAGE "order-%u/stats/alloc", order);
	else
		snprintf(path, sizeof(path),
			 SYSFS_THP "hugepages-%lukB/stats/anon_fault_alloc",
			 ((unsigned long)page_size << order) / 1024);
	bench_get(path, text, sizeof(text));
	return atoll(text);
}

void bench_thp_orders(unsigned long orders)
{
	char path[128];
	unsigned int i;

	for (i = 2; (unsigned long)page_size << i <= BENCH_ALIGN; i++) {
		snprintf(path, sizeof(path), SYSFS_THP "hugepages-%lukB/enabled",
			 ((unsigned long)page_size << i) / 1024);
		bench_put(path, orders & (1UL << i) ? "always" : "never");
	}
}

void bench_policy(unsigned long value)
{
	if (prctl(PR_SET_MCPAGE, PR_MCPAGE_PROCESS, value, 0, 0))
		bench_die("prctl(PR_SET_MCPAGE)");
}

/* What is set for all processes; the rest is in run_child(). */
static void prepare(const struct bench_config *config)
{
	bench_thp_orders(config->mode == BENCH_MTHP ? 1UL << config->order : 0);
	if (!bench_has_mcpage())
		return;
	bench_put(SYSFS_MCPAGE "enabled",
		  config->mode == BENCH_NEVER || config->mode == BENCH_MTHP ?
			  "never" : "advise");
	bench_put(SYSFS_MCPAGE "backing",
		  config->mode == BENCH_PAGES ? "pages" : "folio");
}

static void run_child(const struct bench_case *c, const struct bench_config *config,
		      int fd)
{
	struct json_object *result = json_object_new_object();
	FILE *out = fdopen(fd, "w");

	if (!out || !result)
		bench_die("result");
	if (config->mode == BENCH_FOLIO || config->mode == BENCH_PAGES)
		bench_policy(1UL << config->order);
	else if (config->mode == BENCH_EMPTY)
		bench_policy(0);
	json_object_object_add(result, "case", json_object_new_string(c->name));
	json_object_object_add(result, "config", json_object_new_string(config->name));
	json_object_object_add(result, "order", json_object_new_int(config->order));
	json_object_object_add(result, "per", json_object_new_string(c->per));
	c->run(result, config);
	if (fputs(json_object_to_json_string(result), out) < 0 || fclose(out))
		bench_die("result");
	exit(0);
}

static struct json_object *run(const struct bench_case *c,
			       const struct bench_config *config)
{
	struct json_object *result;
	int pipes[2], status;
	pid_t pid;

	prepare(config);
	if (pipe(pipes))
		bench_die("pipe");
	pid = fork();
	if (pid < 0)
		bench_die("fork");
	if (!pid) {
		close(pipes[0]);
		run_child(c, config, pipes[1]);
	}
	close(pipes[1]);
	result = json_object_from_fd(pipes[0]);
	close(pipes[0]);
	if (waitpid(pid, &status, 0) != pid || status || !result)
		bench_fail("%s, %s, order %u failed", c->name, config->name,
			   config->order);
	return result;
}

/* Is @name one of the words of the comma separated @list? */
static bool listed(const char *list, const char *name)
{
	size_t len = strlen(name);
	const char *p;

	for (p = list; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (!strncmp(p, name, len) && (!p[len] || p[len] == ','))
			return true;
	}
	return false;
}

static void run_config(const struct options *options, struct bench_config config,
		       struct json_object *results)
{
	const struct bench_program *program = options->program;
	const struct bench_case *c;

	if (options->modes && !listed(options->modes, config.name))
		return;
	for (c = program->cases; c->name; c++) {
		config.data = c->data;
		if ((options->cases && !listed(options->cases, c->name)) ||
		    (c->skip && c->skip(&config)))
			continue;
		if (program->before)
			program->before(&config);
		json_object_array_add(results, run(c, &config));
	}
}

static void run_mode(const struct options *options, enum bench_mode mode,
		     unsigned int order, struct json_object *results)
{
	const struct bench_config config = {
		.mode = mode, .name = mode_names[mode], .order = order,
	};

	run_config(options, config, results);
}

static void run_orders(const struct options *options, enum bench_mode mode,
		       struct json_object *results)
{
	unsigned int order;

	for (order = 2; (unsigned long)page_size << order <= BENCH_ALIGN; order++)
		if (options->orders & (1UL << order))
			run_mode(options, mode, order, results);
}

static bool order_wanted(const struct options *options, unsigned int order)
{
	return !order || !options->orders || options->orders & (1UL << order);
}

/* The program's own configurations, as far as they are for this kernel. */
static void run_configs(const struct options *options, struct json_object *results)
{
	const struct bench_config *config;

	for (config = options->program->configs; config->name; config++) {
		bool plain = config->mode == BENCH_SINGLE || config->mode == BENCH_MTHP;

		if (plain != bench_has_mcpage() && order_wanted(options, config->order))
			run_config(options, *config, results);
	}
}

bool bench_list(const char *text, bench_item_t item, unsigned long *list)
{
	unsigned long first, last;

	for (*list = 0;; text++) {
		if (!item(&text, &first))
			return false;
		last = first;
		if (*text == '-') {
			text++;
			if (!item(&text, &last))
				return false;
		}
		if (last < first || last >= MAX_ORDERS)
			return false;
		for (; first <= last; first++)
			*list |= 1UL << first;
		if (*text != ',')
			return !*text;
	}
}

static bool order_item(const char **text, unsigned long *order)
{
	const char *begin = *text;

	*order = strtoul(begin, (char **)text, 10);
	return *text != begin;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	const struct bench_case *c;

	switch (key) {
	case 'o':
		if (!bench_list(arg, order_item, &options->orders))
			argp_error(state, "not a list of orders: %s", arg);
		return 0;
	case 'c':
		options->cases = arg;
		for (c = options->program->cases; c->name; c++)
			if (listed(arg, c->name))
				return 0;
		argp_error(state, "no such case: %s", arg);
		return 0;
	case 'm':
		options->modes = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_table[] = {
	{ "orders", 'o', "LIST", 0, "only blocks of these orders, such as 2,4-6", 0 },
	{ "cases", 'c', "LIST", 0, "only these cases", 0 },
	{ "modes", 'm', "LIST", 0,
	  "only these of single, unused, never, mthp, folio, pages, advise, empty", 0 },
	{ 0 }
};

struct json_object *bench_document(void)
{
	struct json_object *doc = json_object_new_object();
	struct utsname uts;

	if (uname(&uts))
		bench_die("uname");
	json_object_object_add(doc, "program", json_object_new_string(bench_name));
	json_object_object_add(doc, "kernel", json_object_new_string(uts.release));
	return doc;
}

void bench_print(struct json_object *doc)
{
	if (puts(json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PRETTY)) < 0 ||
	    fclose(stdout))
		bench_die("stdout");
	json_object_put(doc);
}

int bench_main(const struct bench_program *program, int argc, char **argv)
{
	const struct argp argp = {
		.options = option_table, .parser = parse_option,
		.doc = program->about,
	};
	struct options options = {
		.program = program, .orders = program->orders,
	};
	struct json_object *doc, *results;

	bench_name = program->name;
	page_size = sysconf(_SC_PAGESIZE);
	argp_parse(&argp, argc, argv, 0, NULL, &options);

	doc = bench_document();
	results = json_object_new_array();
	json_object_object_add(doc, "mcpage", json_object_new_boolean(bench_has_mcpage()));
	json_object_object_add(doc, "results", results);

	bench_put(SYSFS_THP "enabled", "never");
	bench_thp_orders(0);
	if (program->setup)
		program->setup();
	if (program->configs) {
		run_configs(&options, results);
	} else if (bench_has_mcpage()) {
		/* In this order: the first policy ends "unused". */
		run_mode(&options, BENCH_UNUSED, 0, results);
		run_mode(&options, BENCH_NEVER, 0, results);
		run_orders(&options, BENCH_FOLIO, results);
		run_orders(&options, BENCH_PAGES, results);
		run_mode(&options, BENCH_EMPTY, 0, results);
		run_mode(&options, BENCH_ADVISE, 0, results);
	} else {
		run_mode(&options, BENCH_SINGLE, 0, results);
		run_orders(&options, BENCH_MTHP, results);
	}
	if (!json_object_array_length(results))
		bench_fail("nothing was measured");
	bench_print(doc);
	return 0;
}
