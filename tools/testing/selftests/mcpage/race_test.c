// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: policies change while other threads fault, protect, migrate
 * and fork. Counted in rounds, not in time. What the kernel finds wrong at the
 * end of a process (a counter that is off) it says in its log.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "mcpage_harness.h"

#define WORKERS		8
#define SLICE		MB(2)
#define REGION		(WORKERS * SLICE)
#define ROUNDS		4

FIXTURE(race)
{
	char *addr;
};

FIXTURE_SETUP(race)
{
	if (not_testable())
		SKIP(return, "%s", not_testable());
	ASSERT_EQ(0, settings_begin());
	self->addr = map_region(REGION);
	ASSERT_NE(NULL, self->addr);
}

FIXTURE_TEARDOWN_PARENT(race)
{
	settings_end();
}

static atomic_int running;
static atomic_int wrong;

struct worker {
	pthread_t thread;
	char *addr;
	int number;
};

/* Fill, look, and give back, again and again; a page is new or as it was left. */
static void *worker(void *arg)
{
	struct worker *w = arg;

	for (int round = 0; round < ROUNDS; round++) {
		unsigned long tag = (unsigned long)w->number << 32 | round << 16;

		for (size_t i = 0; i < SLICE; i += page_size) {
			/* From both ends, so that blocks meet in the middle. */
			size_t at = i / page_size & 1 ? SLICE - i : i;
			unsigned long *word = (unsigned long *)(w->addr + at);

			if (*word)
				wrong++;
			*word = tag | at / page_size | BIT(63);
		}
		for (size_t i = 0; i < SLICE; i += page_size) {
			unsigned long *word = (unsigned long *)(w->addr + i);

			if (*word != (tag | i / page_size | BIT(63)) ||
			    word[1] || word[page_size / sizeof(*word) - 1])
				wrong++;
		}
		if (madvise(w->addr, SLICE, MADV_DONTNEED))
			wrong++;
	}
	running--;
	return NULL;
}

/* One step of the one who cannot make up his mind. */
static void change_something(char *addr, unsigned int step)
{
	static const char * const enabled[] = { "always", "advise", "never" };
	static const char * const efforts[] = { "light", "direct", "never" };
	static const unsigned long orders[] = { 0x3fc, 0x10, 0x14, 0, 0x200, 0x44 };
	unsigned long value = orders[step / 8 % ARRAY_SIZE(orders)];
	char *half = addr + step / 8 * 5 % (REGION / KB(64)) * KB(64);

	switch (step % 8) {
	case 0:
		set_process(step & 64 ? PR_MCPAGE_UNSET : value);
		break;
	case 1:
	case 2:
	case 3:
		/* Alternating halves of 128K. */
		set_vma(half, KB(64), step & 32 ? value : PR_MCPAGE_UNSET);
		break;
	case 4:
		set_vma(half, MB(1) < (size_t)(addr + REGION - half) ? MB(1) : KB(64),
			value);
		break;
	case 5:
		mcpage_write("enabled", enabled[step / 8 % 3]);
		break;
	case 6:
		mcpage_write("backing", step & 8 ? "pages" : "folio");
		mcpage_write("effort", efforts[step / 16 % 3]);
		break;
	case 7:
		mcpage_write_orders("orders", step & 8 ? valid_orders : value);
		if (!(step / 8 % 64))
			set_vma(addr, REGION, PR_MCPAGE_UNSET);
		break;
	}
}

/* Each fault uses the policy from before or from after, never a mix. */
TEST_F(race, faults_and_changes)
{
	struct worker workers[WORKERS];
	unsigned int step = 0;

	running = WORKERS;
	for (int i = 0; i < WORKERS; i++) {
		workers[i].number = i;
		workers[i].addr = self->addr + i * SLICE;
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, worker,
					    &workers[i]));
	}
	while (running)
		change_something(self->addr, step++);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	EXPECT_EQ(0, wrong);
	TH_LOG("%u changes", step);
	EXPECT_LT(0, step);

	/* Nothing is left, neither pages nor splits. */
	EXPECT_EQ(0, smaps_sum_kb(self->addr, REGION, "Rss"));
	EXPECT_EQ(0, set_vma(self->addr, REGION, PR_MCPAGE_UNSET));
	EXPECT_EQ(1, count_vmas(self->addr, REGION));
	unmap_region(self->addr, REGION);
}

/* All threads fault in the same blocks, at the same time. */
static pthread_barrier_t barrier;

static void *touch_all(void *arg)
{
	struct worker *w = arg;

	for (int round = 0; round < 12; round++) {
		pthread_barrier_wait(&barrier);
		for (size_t i = 0; i < KB(512); i += KB(16)) {
			/* Each thread has a byte of its own in each page. */
			w->addr[i + w->number * page_size / 2] = w->number + 1;
		}
		pthread_barrier_wait(&barrier);
		for (size_t i = 0; i < KB(512); i += KB(16)) {
			for (int t = 0; t < WORKERS; t++) {
				if (w->addr[i + t * page_size / 2] != t + 1)
					wrong++;
			}
		}
		pthread_barrier_wait(&barrier);
		if (!w->number && madvise(w->addr, KB(512), MADV_DONTNEED))
			wrong++;
	}
	running--;
	return NULL;
}

/* A block that another thread was faster to map must not replace its pages. */
TEST_F(race, same_block)
{
	static const unsigned long orders[] = { 0x10, 0x3fc, 0x1c, 0x4 };
	struct worker workers[WORKERS];
	unsigned int step = 0;

	ASSERT_EQ(0, mcpage_write("enabled", "always"));
	running = WORKERS;
	pthread_barrier_init(&barrier, NULL, WORKERS);
	for (int i = 0; i < WORKERS; i++) {
		workers[i].number = i;
		workers[i].addr = self->addr;
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, touch_all,
					    &workers[i]));
	}
	while (running) {
		set_process(orders[step % ARRAY_SIZE(orders)]);
		if (!(step % 64))
			mcpage_write("backing", step & 64 ? "pages" : "folio");
		step++;
		sched_yield();
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	EXPECT_EQ(0, wrong);
}

static void *toggle_halves(void *arg)
{
	char *addr = arg;

	for (unsigned int step = 0; running; step++) {
		char *half = addr + step * 2 % 32 * KB(64);

		set_vma(half + (step & 16 ? KB(64) : 0), KB(64),
			step & 32 ? PR_MCPAGE_UNSET : BIT(4) | BIT(2));
	}
	return NULL;
}

/* To the other node, where there is one, and wherever compaction likes. */
static void *migrate(void *arg)
{
	bool two = !access("/sys/devices/system/node/node1", F_OK);
	void *pages[512];
	int nodes[512], status[512];
	char *addr = arg;

	for (unsigned int step = 0; running; step++) {
		if (two) {
			for (int i = 0; i < 512; i++) {
				pages[i] = addr + i * page_size;
				nodes[i] = (step + i / 16) & 1;
			}
			syscall(SYS_move_pages, 0, 512UL, pages, nodes, status, 2);
		}
		if (!two || !(step % 8))
			write_text("/proc/sys/vm/compact_memory", "1");
	}
	return NULL;
}

/*
 * Policies on alternating halves while the pages migrate: no entry may end up
 * with the wrong permission, whichever VMA it belongs to at the time.
 */
TEST_F(race, protection_and_migration)
{
	pthread_t threads[2];
	unsigned int too_open = 0, too_closed = 0;
	char *addr = self->addr;

	memset(addr, 1, MB(2));
	running = 1;
	ASSERT_EQ(0, pthread_create(&threads[0], NULL, toggle_halves, addr));
	ASSERT_EQ(0, pthread_create(&threads[1], NULL, migrate, addr));
	for (int i = 0; i < 120; i++) {
		char *part = addr + i * 7 % 32 * KB(64) + (i & 1 ? KB(32) : 0);
		size_t size = KB(32);

		if (mprotect(part, size, PROT_READ))
			continue;
		too_open += !write_faults(part);
		too_open += !write_faults(part + size - page_size);
		if (mprotect(part, size, PROT_READ | PROT_WRITE))
			break;
		too_closed += write_faults(part);
		too_closed += write_faults(part + size - page_size);
		if (!(i % 16)) {
			madvise(part, size, MADV_DONTNEED);
			memset(part, 1, size);
		}
	}
	running = 0;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	EXPECT_EQ(0, too_open);
	EXPECT_EQ(0, too_closed);
	EXPECT_EQ(0, set_vma(addr, REGION, PR_MCPAGE_UNSET));
	EXPECT_EQ(1, count_vmas(addr, REGION));
}

static int look_and_write(void *arg)
{
	char *addr = arg;

	for (size_t i = 0; i < MB(2); i += KB(32)) {
		if (addr[i] != 1)
			return 1;
		addr[i] = 2;
	}
	/* One of the two values at any place, and settable. */
	for (size_t i = 0; i < MB(2); i += KB(64)) {
		long value = get_vma(addr + i);

		if (value != PR_MCPAGE_UNSET && value != (BIT(4) | BIT(2)))
			return 2;
	}
	return set_vma(addr, MB(2), BIT(3)) || get_vma(addr) != BIT(3) ? 3 : 0;
}

TEST_F(race, fork_and_changes)
{
	pthread_t thread;

	ASSERT_EQ(0, set_process(valid_orders));
	memset(self->addr, 1, MB(2));
	running = 1;
	ASSERT_EQ(0, pthread_create(&thread, NULL, toggle_halves, self->addr));
	for (int i = 0; i < 15; i++)
		EXPECT_EQ(0, run_child(look_and_write, self->addr));
	running = 0;
	pthread_join(thread, NULL);
	EXPECT_EQ(1, self->addr[0]);
}

TEST_HARNESS_MAIN
