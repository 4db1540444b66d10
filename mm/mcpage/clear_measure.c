// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: measure how fast each method is with extents of each class.
 */
#include "clear.h"

/*
 * A sample lasts so long, or one extent if that is longer: at 20 GB/s that is 10 MB,
 * more than what the caches of a single core hold. As many rounds are measured, of
 * which the best counts, but none is begun after the budget is used up.
 */
#define SAMPLE_NS	500000UL
#define ROUNDS		4
#define BUDGET_NS	100000000UL

/*
 * Before its samples, a method fills the last level of cache with what it leaves
 * there: what it then writes has to drive out that, and not what another method left.
 * No more than so long, for slow machines.
 */
#define FILL_BYTES	(32UL * 1024 * 1024)
#define FILL_NS		10000000UL
#define FILL_CLASS	2
/* So much is cleared before the clock is started, and between two looks at it. */
#define LEAD_BYTES	(1024UL * 1024)
#define BATCH_BYTES	(64UL * 1024)

#define LINE_LEN	64

/**
 * mcpage_clear_read - read a word of each line
 * @addr: the first byte
 * @len: how many bytes, whole lines
 *
 * Context: any.
 */
void mcpage_clear_read(const void *addr, unsigned long len)
{
	const void *end = addr + len;

	for (; addr != end; addr += LINE_LEN)
		READ_ONCE(*(const unsigned long *)addr);
}

/*
 * Clear so much or an extent, and read it if @read. Extents are scattered, as those of
 * faults are: one after the other would be one long extent.
 */
static unsigned long clear_some(struct mcpage_clear_space *space,
				enum mcpage_clear_method method, unsigned long extent,
				bool read, unsigned long much)
{
	unsigned long done = 0, in_block = MCPAGE_CLEAR_BLOCK_LEN / extent;

	while (done < much) {
		/* An odd factor permutes what there is a power of 2 of. */
		unsigned int turn = space->turn++ * 0x9e3779b1U % (space->nr * in_block);
		void *addr = space->block[turn / in_block] + turn % in_block * extent;

		mcpage_clear_by(method, addr, extent);
		if (read)
			mcpage_clear_read(addr, extent);
		done += extent;
	}
	return done;
}

/* MB/s of one sample. */
static unsigned int sample(struct mcpage_clear_space *space,
			   enum mcpage_clear_method method, unsigned long extent,
			   bool read)
{
	unsigned long bytes = 0, start, ns;

	mcpage_clear_pause();
	clear_some(space, method, extent, read, LEAD_BYTES);
	start = mcpage_clear_now();
	do {
		bytes += clear_some(space, method, extent, read, BATCH_BYTES);
		ns = mcpage_clear_now() - start;
	} while (ns < SAMPLE_NS);
	return bytes * 1000 / ns;
}

static void fill(struct mcpage_clear_space *space, enum mcpage_clear_method method)
{
	unsigned long start = mcpage_clear_now(), bytes = 0;

	while (bytes < FILL_BYTES && mcpage_clear_now() - start < FILL_NS) {
		mcpage_clear_pause();
		bytes += clear_some(space, method, mcpage_clear_class_len[FILL_CLASS],
				    false, LEAD_BYTES);
	}
}

/* All classes, with one method. */
static void measure_method(struct mcpage_clear_space *space,
			   enum mcpage_clear_method method,
			   struct mcpage_clear_speed
			   speed[NR_MCPAGE_CLEAR_CLASSES][NR_MCPAGE_CLEAR_METHODS])
{
	unsigned int class, now;

	fill(space, method);
	for (class = 0; class < NR_MCPAGE_CLEAR_CLASSES; class++) {
		struct mcpage_clear_speed *best = &speed[class][method];
		unsigned long extent = mcpage_clear_class_len[class];

		now = sample(space, method, extent, false);
		if (now > best->clear)
			best->clear = now;
		now = sample(space, method, extent, true);
		if (now > best->used)
			best->used = now;
	}
}

/**
 * mcpage_clear_measure - measure all methods in all classes
 * @space: memory to do it in, which is overwritten
 * @methods: a mask of the methods, others are left out
 * @speed: set to what was measured, by class and method
 *
 * Context: process context; sleeps where mcpage_clear_pause() does.
 */
void mcpage_clear_measure(struct mcpage_clear_space *space, unsigned int methods,
			  struct mcpage_clear_speed
			  speed[NR_MCPAGE_CLEAR_CLASSES][NR_MCPAGE_CLEAR_METHODS])
{
	unsigned long start = mcpage_clear_now();
	unsigned int round, method;

	for (round = 0; round < ROUNDS; round++) {
		if (round && mcpage_clear_now() - start > BUDGET_NS)
			break;
		for (method = 0; method < NR_MCPAGE_CLEAR_METHODS; method++)
			if (methods & MCPAGE_CLEAR_ALL & BIT(method))
				measure_method(space, method, speed);
	}
}
