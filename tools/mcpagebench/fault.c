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
 * kernel's own large folios of that order.
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
/* The first round warms up what is allocated once; the lowest is the result. */
#define ROUNDS	4

static long page_size;

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

/* Let THP use folios of one order everywhere; 0 for none. */
static void thp_only(unsigned int order)
{
	char path[128];
	unsigned int i;

	for (i = 2; (unsigned long)page_size << i <= ALIGN; i++) {
		snprintf(path, sizeof(path), THP "hugepages-%lukB/enabled",
			 ((unsigned long)page_size << i) / 1024);
		put(path, i == order ? "always" : "never");
	}
}

static double touch(void)
{
	struct timespec start, end;
	double best = 0;
	int round;

	for (round = 0; round < ROUNDS; round++) {
		char *map, *region, *p;
		double ns;

		map = mmap(NULL, REGION + ALIGN, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (map == MAP_FAILED)
			die("mmap");
		region = (char *)(((uintptr_t)map + ALIGN - 1) & ~(ALIGN - 1));
		clock_gettime(CLOCK_MONOTONIC, &start);
		for (p = region; p < region + REGION; p += page_size)
			__atomic_store_n(p, 1, __ATOMIC_RELAXED);
		clock_gettime(CLOCK_MONOTONIC, &end);
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

int main(void)
{
	static const char * const backings[] = { "folio", "pages" };
	bool mcpage = !access(MCPAGE "enabled", F_OK);
	unsigned int order, i;

	page_size = sysconf(_SC_PAGESIZE);
	put(THP "enabled", "never");
	thp_only(0);

	/* Before any policy was set, and with mcpage off. */
	run("default", 0, -1);
	if (mcpage)
		put(MCPAGE "enabled", "never");
	run("off", 0, -1);
	for (order = 2; (unsigned long)page_size << order <= ALIGN; order++) {
		thp_only(order);
		run("mthp", order, -1);
	}
	thp_only(0);
	if (!mcpage)
		return 0;

	put(MCPAGE "enabled", "advise");
	for (i = 0; i < 2; i++) {
		put(MCPAGE "backing", backings[i]);
		for (order = 2; (unsigned long)page_size << order <= ALIGN; order++)
			run(backings[i], order, 1L << order);
	}
	/* Others have had policies; this process has none, or an empty one. */
	put(MCPAGE "backing", "folio");
	run("advise", 0, -1);
	run("empty", 0, 0);
	return 0;
}
