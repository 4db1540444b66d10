// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of an anonymous write fault, by block order.
 *
 * Touches one byte in each page of a region and prints the time per page, one
 * line a case: name, order, nanoseconds per page. In a guest whose clock counts
 * instructions (scripts/guest --icount) these are instructions, and the same in
 * every run.
 *
 * Each case is a process of its own, so that it begins with a fresh address
 * space. Runs on kernels with and without mcpage; on both, "mthp" is the
 * kernel's own large folios of that order. "fresh" measures in the memory of a
 * guest that has just booted, "fragmented" in memory without large free blocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/mcpage.h>

#define MCPAGE	"/sys/kernel/mm/mcpage/"
#define THP	"/sys/kernel/mm/transparent_hugepage/"

/* Large enough that what happens once does not show, and 32 blocks of 2 MiB. */
#define REGION	(64UL << 20)
#define ALIGN	(2UL << 20)
/* Kept free by fragment(), so that nothing is reclaimed... */
#define RESERVE	(32L << 20)
/* ... and then used up by each case, so that no large block is left in it. */
#define USE_UP	(64UL << 20)
/* The first round warms up what is allocated once; the lowest is the result. */
#define ROUNDS	4

static long page_size;
/* Where kernel threads work too, the time of this process alone. */
static clockid_t clock_id = CLOCK_MONOTONIC;
static bool fragmented;

static void die(const char *what)
{
	fprintf(stderr, "fault: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		die(path);
	close(fd);
}

/* Let THP use folios of these orders everywhere. */
static void thp_orders(unsigned long orders)
{
	char path[128];
	unsigned int i;

	for (i = 2; (unsigned long)page_size << i <= ALIGN; i++) {
		snprintf(path, sizeof(path), THP "hugepages-%lukB/enabled",
			 ((unsigned long)page_size << i) / 1024);
		put(path, orders & (1UL << i) ? "always" : "never");
	}
}

/*
 * Leave no free block larger than a page: take nearly all memory in single
 * pages, then give back those whose frame number is odd.
 */
static void fragment(void)
{
	long size = sysconf(_SC_AVPHYS_PAGES) * page_size - RESERVE;
	int pagemap = open("/proc/self/pagemap", O_RDONLY);
	unsigned long long entry;
	char *map, *p;

	/* Or the kernel puts the pieces together again in the background. */
	put("/proc/sys/vm/compaction_proactiveness", "0");
	if (pagemap < 0)
		die("pagemap");
	map = mmap(NULL, size, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		die("mmap");
	for (p = map; p < map + size; p += page_size)
		*p = 1;
	for (p = map; p < map + size; p += page_size) {
		if (pread(pagemap, &entry, sizeof(entry), (uintptr_t)p /
			  page_size * sizeof(entry)) != sizeof(entry))
			die("pagemap");
		if ((entry & 1) && madvise(p, page_size, MADV_DONTNEED))
			die("madvise");
	}
	close(pagemap);
}

static double touch(void)
{
	struct timespec start, end;
	double best = 0;
	int round;

	if (fragmented && mmap(NULL, USE_UP, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
			       0) == MAP_FAILED)
		die("mmap");

	for (round = 0; round < ROUNDS; round++) {
		char *map, *region, *p;
		double ns;

		map = mmap(NULL, REGION + ALIGN, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (map == MAP_FAILED)
			die("mmap");
		region = (char *)(((uintptr_t)map + ALIGN - 1) & ~(ALIGN - 1));
		clock_gettime(clock_id, &start);
		for (p = region; p < region + REGION; p += page_size)
			__atomic_store_n(p, 1, __ATOMIC_RELAXED);
		clock_gettime(clock_id, &end);
		munmap(map, REGION + ALIGN);
		ns = (end.tv_sec - start.tv_sec) * 1e9 +
		     (end.tv_nsec - start.tv_nsec);
		if (round == 1 || (round > 1 && ns < best))
			best = ns;
	}
	return best / (REGION / page_size);
}

/* @policy is a prctl() value, or -1 for a process without a policy. */
static void run(const char *name, unsigned int order, long policy)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		if (policy >= 0 &&
		    prctl(PR_SET_MCPAGE, PR_MCPAGE_PROCESS, policy, 0, 0))
			die("prctl");
		printf("%s\t%u\t%.1f\n", name, order, touch());
		exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		exit(1);
}

/* Every order allowed, and none to be had. */
static void run_fragmented(bool mcpage)
{
	static const char * const efforts[] = { "light", "never" };
	unsigned int order, i;
	long all = 0;

	clock_id = CLOCK_PROCESS_CPUTIME_ID;
	fragment();
	fragmented = true;
	run("fragmented", 0, -1);
	for (order = 2; (unsigned long)page_size << order <= ALIGN; order++)
		all |= 1L << order;
	thp_orders(~0UL);
	run("fragmented-mthp", 0, -1);
	thp_orders(0);
	for (i = 0; mcpage && i < 2; i++) {
		char name[32];

		put(MCPAGE "effort", efforts[i]);
		snprintf(name, sizeof(name), "fragmented-%s", efforts[i]);
		run(name, 0, all);
	}
}

static void run_fresh(bool mcpage)
{
	static const char * const backings[] = { "folio", "pages" };
	unsigned int order, i;

	/* Before any policy was set, and with mcpage off. */
	run("default", 0, -1);
	if (mcpage)
		put(MCPAGE "enabled", "never");
	run("off", 0, -1);
	for (order = 2; (unsigned long)page_size << order <= ALIGN; order++) {
		thp_orders(1UL << order);
		run("mthp", order, -1);
	}
	thp_orders(0);
	if (!mcpage)
		return;

	put(MCPAGE "enabled", "advise");
	for (i = 0; i < 2; i++) {
		put(MCPAGE "backing", backings[i]);
		for (order = 2; (unsigned long)page_size << order <= ALIGN; order++)
			run(backings[i], order, 1L << order);
	}
	put(MCPAGE "backing", "folio");
	/* Others have had policies; this process has none, or an empty one. */
	run("advise", 0, -1);
	run("empty", 0, 0);
}

int main(int argc, char **argv)
{
	bool mcpage = !access(MCPAGE "enabled", F_OK);

	page_size = sysconf(_SC_PAGESIZE);
	put(THP "enabled", "never");
	thp_orders(0);
	if (argc == 2 && !strcmp(argv[1], "fresh")) {
		run_fresh(mcpage);
	} else if (argc == 2 && !strcmp(argv[1], "fragmented")) {
		run_fragmented(mcpage);
	} else {
		fprintf(stderr, "usage: fault fresh|fragmented\n");
		return 2;
	}
	return 0;
}
