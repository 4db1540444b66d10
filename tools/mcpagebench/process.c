// SPDX-License-Identifier: GPL-2.0-only
/*
 * What blocks mean for programs that are short, for a heap that brk() grows and
 * shrinks, and for memory that is mapped and unmapped as a whole.
 *
 * The program "hello" has to lie beside this one.
 */
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/mcpage.h>

#include "bench.h"

#define EXECS		1000
/* These fill the caches of the slab and page allocators. */
#define WARMUP_EXECS	20
/* Between two ways to start them, these many times. */
#define TURNS		10

#define HEAP_PIECE	(1024UL << 10)
#define HEAP_ROUNDS	32
#define SMALL_PIECE	(128UL << 10)
#define SMALL_HEAP	(32UL << 20)

#define REGION		(128UL << 20)
#define MMAP_CALLS	5000
/* How often malloc() is called for each place of its memory. */
#define MALLOC_CALLS	4

/* The page allocator's lists halve with every six of these. */
#define SETTLE_ROUNDS	64

#define RANDOM_PLACES	"/proc/sys/kernel/randomize_va_space"

/* -------- Blocks that were mapped -------- */

static long long counter(unsigned int order, const char *name)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), SYSFS_MCPAGE "order-%u/stats/%s", order, name);
	bench_get(path, text, sizeof(text));
	return atoll(text);
}

/* Blocks of all orders, or the pages in them. */
static double all_blocks(bool in_pages)
{
	double sum = 0;
	unsigned int order;

	for (order = 2; (unsigned long)page_size << order <= BENCH_ALIGN; order++)
		sum += bench_blocks(order) << (in_pages ? order : 0);
	return sum;
}

/* Pages that have come in blocks of the order that is measured, so far. */
static long long pages_in_blocks(const struct bench_config *config)
{
	return config->order ? bench_blocks(config->order) << config->order : 0;
}

static void check_blocks(const struct bench_config *config, long long before,
			 long long expected)
{
	long long pages = pages_in_blocks(config) - before;

	if (config->order && pages != expected)
		bench_fail("%lld pages came in blocks, not %lld", pages, expected);
}

/* -------- Starting a program -------- */

/**
 * struct starts - what starting programs came to
 * @ns: nanoseconds
 * @faults: page faults
 * @blocks: blocks of all orders
 * @block_pages: the pages in these
 */
struct starts {
	double ns;
	double faults;
	double blocks;
	double block_pages;
};

static char hello[PATH_MAX];
static int nowhere;
/* What RANDOM_PLACES was before. */
static char places[16];

/*
 * What was freed before lies on lists that are cut down bit by bit: have it
 * done now, and not while something is measured.
 */
static void settle(void)
{
	char text[16];
	int i;

	for (i = 0; i < SETTLE_ROUNDS; i++)
		bench_get("/proc/sys/vm/stat_refresh", text, sizeof(text));
}

static void find_hello(void)
{
	ssize_t len = readlink("/proc/self/exe", hello, sizeof(hello) - 1);
	char *name;

	if (len < 0)
		bench_die("/proc/self/exe");
	hello[len] = '\0';
	name = strrchr(hello, '/') + 1;
	snprintf(name, hello + sizeof(hello) - name, "hello");
	if (access(hello, X_OK))
		bench_die(hello);
}

static void start_hello(void)
{
	char * const argv[] = { hello, NULL };
	int status;
	pid_t pid = fork();

	if (pid < 0)
		bench_die("fork");
	if (!pid) {
		if (dup2(nowhere, STDOUT_FILENO) == STDOUT_FILENO)
			execv(hello, argv);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		bench_fail("%s failed", hello);
}

/*
 * How much of a small heap is in blocks depends on its place. The mean over many
 * places is what a system sees, even if this one has no random places otherwise.
 */
static void begin_starts(void)
{
	int i;

	nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (nowhere < 0)
		bench_die("/dev/null");
	find_hello();
	bench_get(RANDOM_PLACES, places, sizeof(places));
	bench_put(RANDOM_PLACES, "2");
	settle();
	for (i = 0; i < WARMUP_EXECS; i++)
		start_hello();
}

static void end_starts(void)
{
	bench_put(RANDOM_PLACES, places);
	close(nowhere);
}

static double faults_of_children(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_CHILDREN, &usage))
		bench_die("getrusage");
	return usage.ru_minflt;
}

/* Start @nr more programs. */
static void measure_starts(struct starts *sum, int nr)
{
	double ns;
	int i;

	sum->blocks -= all_blocks(false);
	sum->block_pages -= all_blocks(true);
	sum->faults -= faults_of_children();
	ns = bench_now();
	for (i = 0; i < nr; i++)
		start_hello();
	sum->ns += bench_now() - ns;
	sum->faults += faults_of_children();
	sum->block_pages += all_blocks(true);
	sum->blocks += all_blocks(false);
}

static void put_starts(struct json_object *result, const struct starts *sum)
{
	bench_value(result, sum->ns / EXECS);
	bench_number(result, "faults", sum->faults / EXECS);
	bench_number(result, "blocks", sum->blocks / EXECS);
	bench_number(result, "block_pages", sum->block_pages / EXECS);
}

static void measure_exec(struct json_object *result)
{
	struct starts sum = { 0 };

	begin_starts();
	measure_starts(&sum, EXECS);
	end_starts();
	put_starts(result, &sum);
}

/* Faults that tried to use a block of the order, with or without success. */
static long long attempts(unsigned int order)
{
	static const char * const outcomes[] = {
		"alloc", "fallback", "charge_failed", "page_table_populated",
		"unaligned", "short",
	};
	long long sum = 0;
	size_t i;

	for (i = 0; i < sizeof(outcomes) / sizeof(*outcomes); i++)
		sum += counter(order, outcomes[i]);
	return sum;
}

/*
 * Each program has a fault that tries the order, if the policy is on the programs.
 * A huge page is not tried where there is a page table, which some of the heaps
 * share with the program's other memory.
 */
static void check_attempts(unsigned int order, long long before)
{
	if (attempts(order) - before < EXECS / 2)
		bench_fail("the policy was not that of the programs");
}

static bool has_policy(const struct bench_config *config)
{
	return config->mode == BENCH_FOLIO || config->mode == BENCH_PAGES;
}

/* The policy goes from process to process. */
static void run_exec(struct json_object *result, const struct bench_config *config)
{
	long long before;

	if (has_policy(config)) {
		bench_policy(1UL << config->order | PR_MCPAGE_INHERIT);
		before = attempts(config->order);
		measure_exec(result);
		check_attempts(config->order, before);
		return;
	}
	if (config->mode == BENCH_EMPTY)
		bench_policy(PR_MCPAGE_INHERIT);
	measure_exec(result);
}

/* The word in brackets of a file that shows all its words. */
static void get_choice(const char *path, char *choice, size_t size)
{
	char text[128], *word;

	bench_get(path, text, sizeof(text));
	word = strchr(text, '[');
	if (!word)
		bench_fail("%s: nothing is chosen", path);
	word[strcspn(word, "]")] = '\0';
	snprintf(choice, size, "%s", word + 1);
}

static void put_orders(unsigned long orders)
{
	char list[128];
	size_t len = 0;
	unsigned int order;

	list[0] = '\0';
	for (order = 2; orders >> order; order++)
		if (orders & (1UL << order))
			len += snprintf(list + len, sizeof(list) - len, "%s%u",
					len ? "," : "", order);
	bench_put(SYSFS_MCPAGE "orders", list);
}

/* Let all processes use blocks of these orders, or none at all. */
static void set_system(unsigned long orders)
{
	if (bench_has_mcpage())
		bench_put(SYSFS_MCPAGE "enabled", orders ? "always" : "never");
	else
		bench_thp_orders(orders);
}

/*
 * A system ages as it starts programs. So that both are of the same age, they are
 * started without and with blocks by turns.
 */
static void measure_system(struct json_object *result, unsigned long orders)
{
	struct starts off = { 0 }, on = { 0 };
	int turn;

	begin_starts();
	for (turn = 0; turn < TURNS; turn++) {
		set_system(0);
		measure_starts(&off, EXECS / TURNS);
		set_system(orders);
		measure_starts(&on, EXECS / TURNS);
	}
	end_starts();
	if (off.blocks)
		bench_fail("there were blocks without a policy");
	put_starts(result, &on);
	bench_number(result, "off", off.ns / EXECS);
	bench_number(result, "percent_over_off", 100 * (on.ns - off.ns) / off.ns);
}

/* The policy is the system's, and no process has one. */
static void measure_mcpage(struct json_object *result, unsigned long orders,
			   unsigned int order)
{
	char enabled[32], list[128];
	long long before = attempts(order);

	get_choice(SYSFS_MCPAGE "enabled", enabled, sizeof(enabled));
	bench_get(SYSFS_MCPAGE "orders", list, sizeof(list));
	bench_policy(PR_MCPAGE_UNSET);
	put_orders(orders);
	measure_system(result, orders);
	bench_put(SYSFS_MCPAGE "enabled", enabled);
	bench_put(SYSFS_MCPAGE "orders", list);
	check_attempts(order, before);
}

/* As an administrator caps the size of blocks: the smaller ones are allowed. */
static void run_exec_system(struct json_object *result, const struct bench_config *config)
{
	unsigned long orders = (2UL << config->order) - (1UL << 2);

	if (has_policy(config)) {
		measure_mcpage(result, orders, config->order);
	} else if (config->mode == BENCH_MTHP) {
		measure_system(result, orders);
		bench_thp_orders(1UL << config->order);
	} else {
		measure_exec(result);
	}
}

/* The system allows blocks, or has nothing to do with them. */
static bool not_of_the_system(const struct bench_config *config)
{
	return config->mode == BENCH_UNUSED || config->mode == BENCH_ADVISE ||
	       config->mode == BENCH_EMPTY;
}

/* -------- A heap -------- */

static void move_break(intptr_t by)
{
	if (sbrk(by) == (void *)-1)
		bench_die("sbrk");
}

/* Grow by @piece, and use it, until the heap has @size more; then shrink. */
static void use_heap(size_t piece, size_t size)
{
	size_t done;

	for (done = 0; done < size; done += piece) {
		char *p = sbrk(piece);

		if (p == (void *)-1)
			bench_die("sbrk");
		bench_write(p, piece);
	}
	move_break(-size);
}

static void measure_heap(struct json_object *result, const struct bench_config *config,
			 size_t piece, size_t size, int rounds)
{
	size_t pages = rounds * size / page_size;
	/* So that the place of the heap does not matter. */
	size_t odd = -(uintptr_t)sbrk(0) & (BENCH_ALIGN - 1);
	long long before;
	double ns;
	int i;

	move_break(odd);
	use_heap(piece, size);
	before = pages_in_blocks(config);
	ns = bench_now();
	for (i = 0; i < rounds; i++)
		use_heap(piece, size);
	ns = bench_now() - ns;
	/* A block that is larger than what is added never fits. */
	check_blocks(config, before,
		     (unsigned long)page_size << config->order <= piece ? pages : 0);
	move_break(-odd);
	bench_value(result, ns / pages);
}

static void run_brk(struct json_object *result, const struct bench_config *config)
{
	measure_heap(result, config, HEAP_PIECE, HEAP_PIECE, HEAP_ROUNDS);
}

static void run_brk_small(struct json_object *result, const struct bench_config *config)
{
	measure_heap(result, config, SMALL_PIECE, SMALL_HEAP, 1);
}

/* -------- A large region -------- */

static char *map_region(void)
{
	char *p = mmap(NULL, REGION, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		bench_die("mmap");
	return p;
}

static double map_and_use(void)
{
	double ns = bench_now();
	char *p = map_region();

	bench_write(p, REGION);
	bench_unmap(p, REGION);
	return bench_now() - ns;
}

static void run_page_fault(struct json_object *result, const struct bench_config *config)
{
	size_t pages = REGION / page_size;
	long long before;
	double ns;

	map_and_use();
	before = pages_in_blocks(config);
	ns = map_and_use();
	check_blocks(config, before, pages);
	bench_value(result, ns / pages);
}

static void run_mmap(struct json_object *result, const struct bench_config *config)
{
	double ns;
	int i;

	bench_unmap(map_region(), REGION);
	ns = bench_now();
	for (i = 0; i < MMAP_CALLS; i++)
		bench_unmap(map_region(), REGION);
	ns = bench_now() - ns;
	bench_value(result, ns / MMAP_CALLS);
}

/* @from and @to: where the memory was. */
static double allocate_and_free(char **from, char **to)
{
	double ns = bench_now();
	int i;

	for (i = 0; i < MALLOC_CALLS; i++) {
		*from = malloc(REGION);
		if (!*from)
			bench_die("malloc");
		*to = *from + malloc_usable_size(*from);
		free(*from);
	}
	return bench_now() - ns;
}

/* Keep others off this page. */
static void occupy(void *page)
{
	if (mmap(page, page_size, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != page)
		bench_die("mmap");
}

/*
 * malloc() writes to the first page of its memory, and it depends on the place
 * of that whether a block fits: each place within the largest block has its
 * turn. What lies above the memory moves it, page by page.
 */
static void run_malloc(struct json_object *result, const struct bench_config *config)
{
	long places = BENCH_ALIGN / page_size, i;
	char *first, *from, *to;
	double ns = 0;

	allocate_and_free(&first, &to);
	for (i = 1; i <= places; i++) {
		occupy(to - page_size);
		ns += allocate_and_free(&from, &to);
		if (from != first - i * page_size)
			bench_fail("malloc() does not move by a page");
	}
	bench_value(result, ns / (places * MALLOC_CALLS));
}

static const struct bench_case cases[] = {
	{ "exec_hello", "exec", run_exec },
	{ "exec_hello_system", "exec", run_exec_system, not_of_the_system },
	{ "brk", "page", run_brk },
	{ "brk_small", "page", run_brk_small },
	{ "page_fault1", "page", run_page_fault },
	{ "malloc1", "call", run_malloc },
	{ "mmap1", "call", run_mmap },
	{ }
};

int main(int argc, char **argv)
{
	static const struct bench_program program = {
		.name = "process",
		.about = "The cost of short programs, of a heap and of whole mappings.",
		.cases = cases,
		.orders = 1UL << 2 | 1UL << 4 | 1UL << 6 | 1UL << 8 | 1UL << 9,
	};

	return bench_main(&program, argc, argv);
}
