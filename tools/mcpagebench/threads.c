// SPDX-License-Identifier: GPL-2.0-only
/*
 * Faults of several threads of one process at a time.
 *
 * The time is that of a clock on the wall, and differs from run to run. A value
 * is what one thread spends for each of its pages while the others are at work
 * too: if they are not in each other's way, it does not depend on how many they
 * are. (Where emulated processors take turns, it is times as much.) It is the
 * median of some rounds, and "fastest" the best of them.
 */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define MAX_THREADS	2
#define ROUNDS		7

/* What a thread uses in a round. */
#define REGION		(16UL << 20)

/* malloc() is asked for these sizes in turn, multiples of the first. */
#define MALLOC_STEP	(128UL << 10)
#define MALLOC_SIZES	8
#define MALLOC_TURNS	4
#define MALLOC_TURN	(MALLOC_STEP * MALLOC_SIZES * (MALLOC_SIZES + 1) / 2)

/**
 * struct work - what the threads do
 * @use: one round of a thread
 * @size: how many bytes it uses
 * @prepare: if not NULL, called before each round, before the time is taken
 * @finish: the same after each round
 * @aligned: all of the memory can be in blocks
 */
struct work {
	void (*use)(unsigned int thread);
	size_t size;
	void (*prepare)(void);
	void (*finish)(void);
	bool aligned;
};

/**
 * struct worker - one thread
 * @work: what it does
 * @index: its number
 * @thread: its handle
 * @begin: when it began the round
 * @end: and when it ended that
 */
struct worker {
	const struct work *work;
	unsigned int index;
	pthread_t thread;
	double begin;
	double end;
};

/* All of them and the main thread, before and after each round. */
static pthread_barrier_t barrier;
/* MAX_THREADS times REGION, and a gap after each of these. */
static char *region;

/* -------- What a thread does -------- */

/* Apart, so that the threads' mappings do not become one. */
static char *place_of(unsigned int thread)
{
	return region + thread * (REGION + BENCH_ALIGN);
}

static void map_and_use(unsigned int thread)
{
	char *p = mmap(place_of(thread), REGION, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (p != place_of(thread))
		bench_die("mmap");
	bench_write(p, REGION);
	bench_unmap(p, REGION);
}

static void allocate_and_use(unsigned int thread)
{
	int i;

	for (i = 0; i < MALLOC_TURNS * MALLOC_SIZES; i++) {
		/* The threads have different sizes at the same time. */
		size_t size = MALLOC_STEP * ((i + thread) % MALLOC_SIZES + 1);
		char *p = malloc(size);

		if (!p)
			bench_die("malloc");
		bench_write(p, size);
		free(p);
	}
}

static void use_alternate_pieces(unsigned int thread)
{
	size_t done = thread * BENCH_ALIGN;

	for (; done < MAX_THREADS * REGION; done += MAX_THREADS * BENCH_ALIGN)
		bench_write(region + done, BENCH_ALIGN);
}

static void map_shared(void)
{
	region = bench_region(MAX_THREADS * REGION);
}

static void unmap_shared(void)
{
	bench_unmap(region, MAX_THREADS * REGION);
}

/* -------- The rounds -------- */

static void wait_for_all(void)
{
	int err = pthread_barrier_wait(&barrier);

	if (err && err != PTHREAD_BARRIER_SERIAL_THREAD) {
		errno = err;
		bench_die("pthread_barrier_wait");
	}
}

static void *run_thread(void *data)
{
	struct worker *worker = data;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		wait_for_all();
		worker->begin = bench_now();
		worker->work->use(worker->index);
		worker->end = bench_now();
		wait_for_all();
	}
	return NULL;
}

/* Each on a processor of its own. */
static void start_thread(struct worker *worker)
{
	pthread_attr_t attr;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(worker->index, &cpus);
	errno = pthread_attr_init(&attr);
	if (!errno)
		errno = pthread_attr_setaffinity_np(&attr, sizeof(cpus), &cpus);
	if (!errno)
		errno = pthread_create(&worker->thread, &attr, run_thread, worker);
	if (errno)
		bench_die("a thread");
	pthread_attr_destroy(&attr);
}

/* From when the first thread begins until the last one is done. */
static double run_round(const struct work *work, const struct worker *workers, int nr)
{
	double begin, end;
	int i;

	if (work->prepare)
		work->prepare();
	wait_for_all();
	wait_for_all();
	if (work->finish)
		work->finish();
	begin = workers[0].begin;
	end = workers[0].end;
	for (i = 1; i < nr; i++) {
		if (workers[i].begin < begin)
			begin = workers[i].begin;
		if (workers[i].end > end)
			end = workers[i].end;
	}
	return end - begin;
}

static void run_rounds(struct json_object *result, const struct work *work,
		       const struct worker *workers, int nr)
{
	double pages = work->size / page_size;
	double ns[ROUNDS];
	int round;

	for (round = 0; round < ROUNDS; round++)
		ns[round] = run_round(work, workers, nr);
	bench_sort(ns, ROUNDS);
	bench_value(result, ns[ROUNDS / 2] / pages);
	bench_number(result, "fastest", ns[0] / pages);
}

static void run_threads(struct json_object *result, const struct work *work, int nr)
{
	size_t places = MAX_THREADS * (REGION + BENCH_ALIGN);
	struct worker workers[MAX_THREADS];
	int i;

	if (sysconf(_SC_NPROCESSORS_ONLN) < nr)
		bench_fail("%d threads need as many processors", nr);
	errno = pthread_barrier_init(&barrier, NULL, nr + 1);
	if (errno)
		bench_die("pthread_barrier_init");
	/* Taken until the threads have their stacks. */
	region = bench_region(places);
	for (i = 0; i < nr; i++) {
		workers[i].work = work;
		workers[i].index = i;
		start_thread(&workers[i]);
	}
	bench_unmap(region, places);
	run_rounds(result, work, workers, nr);
	for (i = 0; i < nr; i++)
		pthread_join(workers[i].thread, NULL);
}

/* Run the threads, and see how much of their memory was in blocks. */
static void run(struct json_object *result, const struct bench_config *config,
		const struct work *work, int nr)
{
	double pages = (double)ROUNDS * nr * work->size / page_size;
	long long blocks;

	if (!config->order) {
		run_threads(result, work, nr);
		return;
	}
	blocks = bench_blocks(config->order);
	run_threads(result, work, nr);
	blocks = bench_blocks(config->order) - blocks;
	/* More where mTHP is everybody's, and somebody else had one. */
	if (work->aligned && blocks << config->order < pages)
		bench_fail("only %lld blocks for %.0f pages", blocks, pages);
	bench_number(result, "percent_in_blocks", 100 * (blocks << config->order) / pages);
}

/* -------- The cases -------- */

static void run_page_fault(struct json_object *result, const struct bench_config *config,
			   int nr)
{
	static const struct work work = {
		.use = map_and_use, .size = REGION, .aligned = true,
	};

	run(result, config, &work, nr);
}

static void run_page_fault1_1(struct json_object *result,
			      const struct bench_config *config)
{
	run_page_fault(result, config, 1);
}

static void run_page_fault1_2(struct json_object *result,
			      const struct bench_config *config)
{
	run_page_fault(result, config, 2);
}

static void run_malloc(struct json_object *result, const struct bench_config *config,
		       int nr)
{
	static const struct work work = {
		.use = allocate_and_use, .size = MALLOC_TURNS * MALLOC_TURN,
	};

	/* All of it is mapped and unmapped: what is free is not kept. */
	if (!mallopt(M_MMAP_THRESHOLD, MALLOC_STEP))
		bench_fail("mallopt failed");
	run(result, config, &work, nr);
}

static void run_malloc1_1(struct json_object *result, const struct bench_config *config)
{
	run_malloc(result, config, 1);
}

static void run_malloc1_2(struct json_object *result, const struct bench_config *config)
{
	run_malloc(result, config, 2);
}

static void run_page_fault_shared_2(struct json_object *result,
				    const struct bench_config *config)
{
	static const struct work work = {
		.use = use_alternate_pieces, .size = REGION,
		.prepare = map_shared, .finish = unmap_shared, .aligned = true,
	};

	run(result, config, &work, 2);
}

/* As for many threads, these are no different from "unused" and "never". */
static bool skip(const struct bench_config *config)
{
	return config->mode == BENCH_ADVISE || config->mode == BENCH_EMPTY;
}

static const struct bench_case cases[] = {
	{ "page_fault1_1", "page", run_page_fault1_1, skip },
	{ "page_fault1_2", "page", run_page_fault1_2, skip },
	{ "malloc1_1", "page", run_malloc1_1, skip },
	{ "malloc1_2", "page", run_malloc1_2, skip },
	{ "page_fault_shared_2", "page", run_page_fault_shared_2, skip },
	{ }
};

int main(int argc, char **argv)
{
	static const struct bench_program program = {
		.name = "threads",
		.about = "The faults of threads that run at the same time.",
		.cases = cases,
		.orders = 1UL << 4 | 1UL << 9,
	};

	return bench_main(&program, argc, argv);
}
