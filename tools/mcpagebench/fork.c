// SPDX-License-Identifier: GPL-2.0-only
/*
 * fork() with a region of anonymous memory, and writes to the region while a
 * child shares it, and when the child has gone.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

/* Large enough that what happens once does not show, and 32 blocks of 2 MiB. */
#define REGION		(64UL << 20)
#define SMALLEST_PAGE	4096
/* The middle one counts: how free memory lies makes a few percent in others. */
#define ROUNDS		3
/* The distance of writes that are far apart. */
#define SPAN		(64UL << 10)

/**
 * struct round - one round of a case, on a fresh region
 * @region: memory that has been written
 * @ns: out: nanoseconds of what is measured
 * @faults: out: the faults of it
 * @copied: out: the pages that it copied
 */
struct round {
	char *region;
	double ns;
	double faults;
	size_t copied;
};

/* A page in /proc/self/pagemap. */
struct entry {
	unsigned long long frame:55, unused:8, present:1;
};

/* Those of the region: before what is measured, and after it. */
static struct entry before[REGION / SMALLEST_PAGE], after[REGION / SMALLEST_PAGE];

/* Not the elapsed time: a child, or the kernel's threads, may run in between. */
static double cpu_time(void)
{
	return bench_clock(CLOCK_THREAD_CPUTIME_ID);
}

static size_t pages(void)
{
	return REGION / page_size;
}

static void read_pagemap(const char *region, struct entry *entries)
{
	off_t offset = (uintptr_t)region / page_size * sizeof(*entries);
	ssize_t size = pages() * sizeof(*entries);
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	size_t i;

	if (fd < 0 || pread(fd, entries, size, offset) != size)
		bench_die("/proc/self/pagemap");
	close(fd);
	for (i = 0; i < pages(); i++)
		if (!entries[i].present || !entries[i].frame)
			bench_fail("page %zu is not there, or its frame is secret", i);
}

/* Fail unless the region consists of blocks, each contiguous and aligned. */
static void check_blocks(const char *region, unsigned int order)
{
	size_t block = 1UL << order, i;

	read_pagemap(region, before);
	for (i = 0; i < pages(); i++) {
		size_t first = before[i - i % block].frame;

		if (first % block || before[i].frame != first + i % block)
			bench_fail("page %zu is not in a block of order %u", i, order);
	}
}

static int compare(const void *a, const void *b)
{
	const struct round *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

static struct round measure(const struct bench_config *config,
			    void (*body)(struct round *round))
{
	struct round rounds[ROUNDS] = { 0 };
	int i;

	for (i = 0; i < ROUNDS; i++) {
		rounds[i].region = bench_region(REGION);
		bench_write(rounds[i].region, REGION);
		check_blocks(rounds[i].region, config->order);
		body(&rounds[i]);
		bench_unmap(rounds[i].region, REGION);
	}
	qsort(rounds, ROUNDS, sizeof(*rounds), compare);
	return rounds[ROUNDS / 2];
}

/* -------- fork() -------- */

/* A child that ends at once, or first stops. */
static pid_t start(bool stop)
{
	pid_t pid = fork();

	if (pid < 0)
		bench_die("fork");
	if (pid)
		return pid;
	if (stop)
		raise(SIGSTOP);
	_exit(0);
}

static void await_stop(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		bench_fail("the child has not stopped");
}

static void await_end(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status)
		bench_fail("the child failed");
}

static void fork_alone(struct round *round)
{
	double ns = cpu_time();
	pid_t pid = start(false);

	round->ns = cpu_time() - ns;
	await_end(pid);
}

static void fork_and_exit(struct round *round)
{
	double ns = bench_now();

	await_end(start(false));
	round->ns = bench_now() - ns;
}

static void run_fork(struct json_object *result, const struct bench_config *config)
{
	bench_value(result, measure(config, fork_alone).ns / pages());
}

static void run_fork_exit(struct json_object *result, const struct bench_config *config)
{
	bench_value(result, measure(config, fork_and_exit).ns / pages());
}

/* -------- Writes after it -------- */

/* Write one byte of each @step bytes. */
static void write_steps(struct round *round, size_t step)
{
	double faults, ns;
	size_t i;

	read_pagemap(round->region, before);
	faults = bench_minor_faults();
	ns = cpu_time();
	for (i = 0; i < REGION; i += step)
		__atomic_store_n(&round->region[i], 1, __ATOMIC_RELAXED);
	ns = cpu_time() - ns;
	faults = bench_minor_faults() - faults;
	/* Not before: it may be in a page that is shared, too. */
	round->ns = ns;
	round->faults = faults;
	read_pagemap(round->region, after);
	for (i = 0; i < pages(); i++)
		round->copied += before[i].frame != after[i].frame;
}

static void write_shared(struct round *round, size_t step)
{
	pid_t pid = start(true);

	await_stop(pid);
	write_steps(round, step);
	if (round->copied < REGION / step)
		bench_fail("only %zu pages were copied", round->copied);
	if (kill(pid, SIGCONT))
		bench_die("kill");
	await_end(pid);
}

static void write_all(struct round *round)
{
	write_shared(round, page_size);
}

static void write_far_apart(struct round *round)
{
	write_shared(round, SPAN);
}

static void write_left(struct round *round)
{
	await_end(start(false));
	write_steps(round, page_size);
}

static void add_copied(struct json_object *result, const struct round *round)
{
	bench_number(result, "copied_kib", (double)round->copied * page_size / 1024);
}

static void run_write(struct json_object *result, const struct bench_config *config)
{
	bench_value(result, measure(config, write_all).ns / pages());
}

static void run_write_one(struct json_object *result, const struct bench_config *config)
{
	struct round round = measure(config, write_far_apart);

	bench_value(result, round.ns / round.faults);
	bench_number(result, "faults", round.faults);
	add_copied(result, &round);
}

static void run_write_left(struct json_object *result, const struct bench_config *config)
{
	struct round round = measure(config, write_left);

	if (!round.faults)
		bench_fail("the pages were not shared");
	bench_value(result, round.ns / pages());
	add_copied(result, &round);
}

static const struct bench_case cases[] = {
	{ "fork", "page", run_fork },
	{ "fork_exit", "page", run_fork_exit },
	{ "cow_write", "page", run_write },
	{ "cow_write_one", "fault", run_write_one },
	{ "cow_write_child_gone", "page", run_write_left },
	{ }
};

int main(int argc, char **argv)
{
	static const struct bench_program program = {
		.name = "fork",
		.about = "The cost of fork(), and of copying on write.",
		.cases = cases,
		.orders = 1UL << 2 | 1UL << 4 | 1UL << 6 | 1UL << 8 | 1UL << 9,
	};

	return bench_main(&program, argc, argv);
}
