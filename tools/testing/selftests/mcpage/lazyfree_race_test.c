// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: threads free parts of the same blocks lazily, and write them,
 * while others reclaim, compact and fork. Counted in rounds, not in time.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "mcpage_harness.h"

#define WORKERS		4
/* Each begins with whole blocks. */
#define EPOCHS		4
#define STEPS		80
#define REGION		MB(4)
#define NR_PAGES	(REGION / 4096)

#define ZSWAP		"/sys/module/zswap/parameters/enabled"

/* -------- what disturbs -------- */

static atomic_int running;
static atomic_int wrong;
static pthread_barrier_t barrier;

static void *pressure(void *arg)
{
	for (unsigned int step = 0; running; step++)
		group_write(arg, "memory.reclaim",
			    step & 1 ? "2M" : "2M swappiness=0");
	return NULL;
}

/* A child has all pages too for a time. */
static void *compact_and_fork(void *arg)
{
	const char *addr = arg;

	for (unsigned int step = 0; running; step++) {
		pid_t pid = fork();
		int status = 0;

		if (!pid) {
			for (size_t i = 0; i < REGION && step & 1; i += 3 * 4096)
				peek(addr + i);
			_exit(0);
		}
		if (pid > 0 && (waitpid(pid, &status, 0) != pid || status))
			wrong++;
		if (!(step % 8))
			write_text("/proc/sys/vm/compact_memory", "1");
		usleep(20000);
	}
	return NULL;
}

static unsigned int next_random(unsigned int *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed >> 3;
}

/* -------- free and write -------- */

/*
 * Parts of the region: from where on, in blocks of what order, and how many pages
 * that follow each other are one worker's.
 */
static const struct layout {
	size_t from;
	unsigned int order;
	size_t run;
} layout[] = {
	{ 0, 4, 1 },
	{ KB(512), 4, 4 },
	{ KB(1024), 6, 16 },
	{ KB(1536), 4, 16 },
	{ KB(2048), 9, 128 },
	{ REGION, 0, 0 },
};

enum state {
	/* It reads as zeroes. */
	EMPTY,
	/* It has what was written last. */
	WRITTEN,
	/* The one or the other; and once it is empty it stays so. */
	GIVEN,
};

/* The page's owner alone looks at it. */
static struct {
	enum state state;
	unsigned long round;
} states[NR_PAGES];

struct worker {
	pthread_t thread;
	char *addr;
	unsigned int number;
	unsigned int seed;
	/* The first thing that was wrong. */
	const char *what;
	size_t page;
};

static unsigned long tag(size_t page)
{
	return states[page].round << 32 | page;
}

static void complain(struct worker *w, const char *what, size_t page)
{
	if (!w->what) {
		w->what = what;
		w->page = page;
	}
	wrong++;
}

static void check(struct worker *w, size_t page)
{
	char *at = w->addr + page * page_size;
	enum content content = page_content(at, tag(page));

	/* It can vanish halfway. */
	if (states[page].state == GIVEN && content == CONTENT_OTHER) {
		content = page_content(at, tag(page));
		if (content == CONTENT_STAMP)
			complain(w, "came back", page);
	}
	if (content == CONTENT_OTHER)
		complain(w, "has what nobody wrote", page);
	else if (content == CONTENT_ZERO && states[page].state == WRITTEN)
		complain(w, "was lost", page);
	else if (content == CONTENT_STAMP && states[page].state == EMPTY)
		complain(w, "came back", page);
	if (content == CONTENT_ZERO)
		states[page].state = EMPTY;
}

static void fill(struct worker *w, size_t page)
{
	states[page].round++;
	states[page].state = WRITTEN;
	stamp_page(w->addr + page * page_size, tag(page));
}

static void advise(struct worker *w, size_t first, size_t nr, int advice)
{
	if (madvise(w->addr + first * page_size, nr * page_size, advice))
		complain(w, "does not take advice", first);
}

static void protect(struct worker *w, size_t first, size_t nr)
{
	char *at = w->addr + first * page_size, *last = at + (nr - 1) * page_size;

	if (mprotect(at, nr * page_size, PROT_READ)) {
		complain(w, "cannot be protected", first);
		return;
	}
	if (!write_faults(at) || !write_faults(last))
		complain(w, "is not protected", first);
	if (mprotect(at, nr * page_size, PROT_READ | PROT_WRITE))
		complain(w, "stays protected", first);
}

/* One step with a run of pages, or a part of one. */
static void step(struct worker *w, size_t first, size_t nr)
{
	unsigned int action = next_random(&w->seed) % 16;
	size_t skip = 0;

	if (nr > 1 && next_random(&w->seed) % 2) {
		skip = next_random(&w->seed) % nr;
		first += skip;
		nr = 1 + next_random(&w->seed) % (nr - skip);
	}
	switch (action) {
	case 0 ... 5:
		advise(w, first, nr, MADV_FREE);
		for (size_t i = first; i < first + nr; i++) {
			if (states[i].state == WRITTEN)
				states[i].state = GIVEN;
		}
		break;
	case 6 ... 9:
		for (size_t i = first; i < first + nr; i++) {
			if (nr <= 4 || next_random(&w->seed) % 4 == 0)
				fill(w, i);
		}
		break;
	case 10:
		advise(w, first, nr, MADV_DONTNEED);
		for (size_t i = first; i < first + nr; i++)
			states[i].state = EMPTY;
		break;
	case 11:
		advise(w, first, nr, MADV_PAGEOUT);
		break;
	case 12:
		advise(w, first, nr, MADV_COLD);
		break;
	case 13:
		protect(w, first, nr);
		break;
	default:
		for (size_t i = first; i < first + nr; i++)
			check(w, i);
		break;
	}
}

/* Call @fn for each run that is the worker's; for one in @some of them. */
static void own_runs(struct worker *w, unsigned int some,
		     void (*fn)(struct worker *w, size_t first, size_t nr))
{
	for (const struct layout *l = layout; l->run; l++) {
		size_t bytes = l->run * page_size;

		for (size_t at = l->from, i = 0; at < l[1].from; at += bytes, i++) {
			if (i % WORKERS == w->number && !(next_random(&w->seed) % some))
				fn(w, at / page_size, l->run);
		}
	}
}

static void fill_run(struct worker *w, size_t first, size_t nr)
{
	for (size_t i = first; i < first + nr; i++)
		fill(w, i);
}

static void check_run(struct worker *w, size_t first, size_t nr)
{
	for (size_t i = first; i < first + nr; i++)
		check(w, i);
}

static void *worker(void *arg)
{
	struct worker *w = arg;

	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		pthread_barrier_wait(&barrier);
		if (!w->number)
			advise(w, 0, NR_PAGES, MADV_DONTNEED);
		pthread_barrier_wait(&barrier);
		own_runs(w, 1, fill_run);
		for (int i = 0; i < STEPS; i++)
			own_runs(w, 20, step);
		own_runs(w, 1, check_run);
	}
	running--;
	return NULL;
}

FIXTURE(race)
{
	char dir[128];
	char *addr;
};

FIXTURE_VARIANT(race)
{
	const char *way;
};

FIXTURE_VARIANT_ADD(race, mark)
{
	.way = "mark",
};

FIXTURE_VARIANT_ADD(race, zap)
{
	.way = "zap",
};

FIXTURE_VARIANT_ADD(race, split)
{
	.way = "split",
};

FIXTURE_SETUP(race)
{
	const char *why = lazyfree_begin(self->dir, sizeof(self->dir), "folio",
					 variant->way);

	if (why)
		SKIP(return, "%s", why);
	self->addr = map_region(REGION);
	ASSERT_NE(NULL, self->addr);
}

FIXTURE_TEARDOWN_PARENT(race)
{
	lazyfree_end(self->dir);
}

TEST_F(race, parts_of_blocks)
{
	struct worker workers[WORKERS] = {};
	pthread_t threads[2];

	ASSERT_EQ(NR_PAGES, REGION / page_size);
	for (const struct layout *l = layout; l->run; l++)
		ASSERT_EQ(0, set_vma(self->addr + l->from, l[1].from - l->from,
				     BIT(l->order)));
	pthread_barrier_init(&barrier, NULL, WORKERS);
	running = WORKERS;
	for (unsigned int i = 0; i < WORKERS; i++) {
		workers[i].addr = self->addr;
		workers[i].number = i;
		workers[i].seed = 0x9e3779b9 * (i + 1);
		ASSERT_EQ(0, pthread_create(&workers[i].thread, NULL, worker,
					    &workers[i]));
	}
	ASSERT_EQ(0, pthread_create(&threads[0], NULL, pressure, self->dir));
	ASSERT_EQ(0, pthread_create(&threads[1], NULL, compact_and_fork, self->addr));
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(workers[i].thread, NULL);
		if (workers[i].what)
			TH_LOG("page %zu %s", workers[i].page, workers[i].what);
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, madvise(self->addr, REGION, MADV_DONTNEED));
	EXPECT_EQ(0, resident(self->addr, REGION));
}

/* -------- protection -------- */

#define FLIPS	100

/* Gives and writes the second half of each block. */
static void *free_halves(void *arg)
{
	char *addr = arg;

	for (unsigned long round = 1; running; round++) {
		for (size_t i = KB(32); i < MB(1); i += KB(64)) {
			if (madvise(addr + i, KB(32), MADV_FREE))
				wrong++;
			stamp_page(addr + i + KB(8), round);
			if (page_content(addr + i + KB(8), round) != CONTENT_STAMP)
				wrong++;
		}
	}
	return NULL;
}

/* A stale entry that is still writable lets a write through to what is read-only. */
TEST_F(race, protection)
{
	pthread_t threads[2];
	int too_open = 0, too_closed = 0;
	char *addr = self->addr;

	ASSERT_EQ(0, set_vma(addr, MB(1), BIT(4)));
	for (size_t i = 0; i < MB(1); i += page_size)
		stamp_page(addr + i, i);
	running = 1;
	ASSERT_EQ(0, pthread_create(&threads[0], NULL, pressure, self->dir));
	ASSERT_EQ(0, pthread_create(&threads[1], NULL, free_halves, addr));
	for (int i = 0; i < FLIPS; i++) {
		char *part = addr + i * 7 % 16 * KB(64), *page = part + i % 8 * KB(4);

		/* Again a block as a whole, and writable. */
		if (!(i % 16)) {
			ASSERT_EQ(0, madvise(part, KB(32), MADV_DONTNEED));
			for (size_t at = 0; at < KB(32); at += page_size)
				stamp_page(part + at, part + at - addr);
		}
		too_closed += write_faults(page);
		ASSERT_EQ(0, mprotect(part, KB(32), PROT_READ));
		too_open += !write_faults(page);
		too_open += !write_faults(part + KB(32) - page_size);
		ASSERT_EQ(0, mprotect(part, KB(32), PROT_READ | PROT_WRITE));
		too_closed += write_faults(part + KB(32) - page_size);
		for (size_t at = 0; at < KB(32); at += page_size)
			wrong += page_content(part + at, part + at - addr) !=
				 CONTENT_STAMP;
	}
	running = 0;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	EXPECT_EQ(0, too_open);
	EXPECT_EQ(0, too_closed);
	EXPECT_EQ(0, wrong);
}

/* -------- swap -------- */

#define BLOCKS		16
#define READ_ROUNDS	100

FIXTURE(swap)
{
	char dir[128];
	char zswap[16];
	char *addr;
};

FIXTURE_VARIANT(swap)
{
	const char *zswap;
};

FIXTURE_VARIANT_ADD(swap, zram)
{
	.zswap = NULL,
};

/* Last: once zswap has been on, no large folio is read from swap any more. */
FIXTURE_VARIANT_ADD(swap, zswap)
{
	.zswap = "Y",
};

FIXTURE_SETUP(swap)
{
	const char *why;

	if (!has_swap())
		SKIP(return, "no swap");
	why = lazyfree_begin(self->dir, sizeof(self->dir), "folio", "split");
	if (why)
		SKIP(return, "%s", why);
	if (variant->zswap && (read_text(ZSWAP, self->zswap, sizeof(self->zswap)) ||
			       write_text(ZSWAP, variant->zswap))) {
		lazyfree_end(self->dir);
		SKIP(return, "no zswap in this kernel");
	}
	self->addr = map_region(BLOCKS * KB(64));
	ASSERT_NE(NULL, self->addr);
	ASSERT_EQ(0, set_vma(self->addr, BLOCKS * KB(64), BIT(4)));
}

FIXTURE_TEARDOWN_PARENT(swap)
{
	if (*self->zswap)
		write_text(ZSWAP, self->zswap);
	lazyfree_end(self->dir);
}

struct reader {
	pthread_t thread;
	char *addr;
	bool backwards;
};

/* Some are only zeroes, which swap does not store. */
static bool has_pattern(size_t page)
{
	return page % 5;
}

static void fill_block(char *addr, size_t block)
{
	for (size_t i = block * 16; i < block * 16 + 16; i++) {
		if (has_pattern(i))
			stamp_page(addr + i * page_size, i);
		else
			memset(addr + i * page_size, 0, page_size);
	}
}

static void read_block(const char *addr, size_t block, bool backwards)
{
	for (size_t i = 0; i < 16; i++) {
		size_t page = block * 16 + (backwards ? 15 - i : i);

		if (page_content(addr + page * page_size, page) !=
		    (has_pattern(page) ? CONTENT_STAMP : CONTENT_ZERO))
			wrong++;
	}
}

/* All fault in the same block, once it is in swap. */
static void *reader(void *arg)
{
	struct reader *r = arg;

	for (size_t round = 0; round < READ_ROUNDS; round++) {
		pthread_barrier_wait(&barrier);
		read_block(r->addr, round % BLOCKS, r->backwards);
		pthread_barrier_wait(&barrier);
		read_block(r->addr, (round + BLOCKS / 2) % BLOCKS, r->backwards);
	}
	return NULL;
}

static void *page_out_parts(void *arg)
{
	unsigned int seed = 0x12345;
	char *addr = arg;

	while (running) {
		size_t page = next_random(&seed) % (BLOCKS * 16 - 24);

		madvise(addr + page * page_size,
			(1 + next_random(&seed) % 24) * page_size, MADV_PAGEOUT);
		usleep(1000);
	}
	return NULL;
}

TEST_F(swap, same_block)
{
	struct reader readers[2];
	pthread_t threads[2];

	for (size_t i = 0; i < BLOCKS; i++)
		fill_block(self->addr, i);
	pthread_barrier_init(&barrier, NULL, ARRAY_SIZE(readers) + 1);
	running = 1;
	ASSERT_EQ(0, pthread_create(&threads[0], NULL, pressure, self->dir));
	ASSERT_EQ(0, pthread_create(&threads[1], NULL, page_out_parts, self->addr));
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		readers[i].addr = self->addr;
		readers[i].backwards = i;
		ASSERT_EQ(0, pthread_create(&readers[i].thread, NULL, reader,
					    &readers[i]));
	}
	for (size_t round = 0; round < READ_ROUNDS; round++) {
		char *block = self->addr + round % BLOCKS * KB(64);

		/* A block as a whole again; nobody looks at it now. */
		if (round / BLOCKS & 1) {
			EXPECT_EQ(0, madvise(block, KB(64), MADV_DONTNEED));
			fill_block(self->addr, round % BLOCKS);
		}
		EXPECT_EQ(0, madvise(block, KB(64), MADV_PAGEOUT));
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
	}
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		pthread_join(readers[i].thread, NULL);
	running = 0;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, group_read(self->dir, "memory.events", "oom"));
}

TEST_HARNESS_MAIN
