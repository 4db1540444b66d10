/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mcpage: how an extent is cleared. User space can build this, clear_plan.c and
 * clear_measure.c too; the benchmark does.
 */
#ifndef _MM_MCPAGE_CLEAR_H
#define _MM_MCPAGE_CLEAR_H

#ifdef __KERNEL__
#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/page.h>
#else
#include <stdbool.h>
#define CONFIG_X86_64	1
#define PAGE_SIZE	4096UL
#define BIT(nr)		(1UL << (nr))
#define READ_ONCE(x)	__atomic_load_n(&(x), __ATOMIC_RELAXED)
/* Whoever includes this has it. */
void clear_page(void *page);
#endif
#ifdef CONFIG_X86_64
#include <asm/mcpage_clear.h>
#endif

/**
 * enum mcpage_clear_method - how memory can be cleared
 * @MCPAGE_CLEAR_AUTO: as the measurement says, for each length
 * @MCPAGE_CLEAR_PAGE: page by page with clear_page(), as without mcpage
 * @MCPAGE_CLEAR_REP_STOSB: the string instruction, by bytes
 * @MCPAGE_CLEAR_REP_STOSQ: the string instruction, by words
 * @MCPAGE_CLEAR_LOOP: ordinary stores
 * @MCPAGE_CLEAR_CLZERO: AMD's instruction for a line, past the caches
 * @MCPAGE_CLEAR_MOVNTI: non-temporal stores, past the caches
 * @NR_MCPAGE_CLEAR_METHODS: how many there are
 *
 * The order is that of preference where two are equally fast.
 */
enum mcpage_clear_method {
	MCPAGE_CLEAR_AUTO,
	MCPAGE_CLEAR_PAGE,
	MCPAGE_CLEAR_REP_STOSB,
	MCPAGE_CLEAR_REP_STOSQ,
	MCPAGE_CLEAR_LOOP,
	MCPAGE_CLEAR_CLZERO,
	MCPAGE_CLEAR_MOVNTI,
	NR_MCPAGE_CLEAR_METHODS
};

extern const char * const mcpage_clear_names[NR_MCPAGE_CLEAR_METHODS];

/* Those that go past the caches, all others that clear, and both. */
#define MCPAGE_CLEAR_NON_CACHED	(BIT(MCPAGE_CLEAR_CLZERO) | BIT(MCPAGE_CLEAR_MOVNTI))
#define MCPAGE_CLEAR_CACHED	(BIT(MCPAGE_CLEAR_PAGE) | BIT(MCPAGE_CLEAR_REP_STOSB) | \
				 BIT(MCPAGE_CLEAR_REP_STOSQ) | BIT(MCPAGE_CLEAR_LOOP))
#define MCPAGE_CLEAR_ALL	(MCPAGE_CLEAR_CACHED | MCPAGE_CLEAR_NON_CACHED)
/*
 * What "auto" chooses from. Of the methods that leave the memory in the caches only
 * clear_page(): the others can be faster or slower than that by a little, as memory
 * is busy or not, which a measurement at boot cannot know.
 */
#define MCPAGE_CLEAR_CHOICE	(MCPAGE_CLEAR_NON_CACHED | BIT(MCPAGE_CLEAR_PAGE))
/* What there is on x86-64 only. */
#define MCPAGE_CLEAR_EXTENT	(MCPAGE_CLEAR_ALL & ~BIT(MCPAGE_CLEAR_PAGE))

/*
 * Classes of extents by length, each from one of these up to the next: the powers
 * of 4 from a page on, and then the huge page. What fits in which cache differs
 * between them; finer ones only add to the time that is spent measuring.
 */
#define NR_MCPAGE_CLEAR_CLASSES	5
extern const unsigned long mcpage_clear_class_len[NR_MCPAGE_CLEAR_CLASSES];
#define MCPAGE_CLEAR_BLOCK_LEN	mcpage_clear_class_len[NR_MCPAGE_CLEAR_CLASSES - 1]

/* The defaults of clear/cached_kb and clear/chunk_kb, and the most of either. */
#define MCPAGE_CLEAR_PAGE_KB		((unsigned int)(PAGE_SIZE / 1024))
#define MCPAGE_CLEAR_CACHED_KB		(MCPAGE_CLEAR_PAGE_KB > 32 ? MCPAGE_CLEAR_PAGE_KB : 32U)
#define MCPAGE_CLEAR_CHUNK_KB		(MCPAGE_CLEAR_PAGE_KB > 128 ? MCPAGE_CLEAR_PAGE_KB : 128U)
#define MCPAGE_CLEAR_MAX_KB		(32U * 1024)

/**
 * struct mcpage_clear_speed - what was measured of one method in one class
 * @clear: MB/s of clearing alone, 0 if it was not measured
 * @used: MB/s of clearing extents and reading each line after it
 */
struct mcpage_clear_speed {
	unsigned int clear;
	unsigned int used;
};

/*
 * The most memory to measure in, in blocks of the longest class: 128 MiB are more
 * than the last level of cache holds for a core on most CPUs, so that most of it is
 * in no cache when its turn comes.
 */
#define MCPAGE_CLEAR_BLOCKS	64

/* What the clock must be able to tell apart, in ns: a 25th of a sample. */
#define MCPAGE_CLEAR_CLOCK_NS	10000

/**
 * struct mcpage_clear_space - memory to measure in
 * @block: the blocks, each as long as the longest class
 * @nr: how many there are, a power of 2
 * @turn: how many extents have been cleared
 */
struct mcpage_clear_space {
	void *block[MCPAGE_CLEAR_BLOCKS];
	unsigned int nr;
	unsigned int turn;
};

/**
 * struct mcpage_clear_plan - what to do with an extent
 * @near: where the part around the fault begins, in bytes from the extent's start
 * @near_len: its length in bytes; 0 if it is not treated apart
 * @near_method: how it is cleared
 * @method: how all the rest is cleared, before it
 * @chunk: the most that is cleared in one go, in bytes
 */
struct mcpage_clear_plan {
	unsigned long near;
	unsigned long near_len;
	enum mcpage_clear_method near_method;
	enum mcpage_clear_method method;
	unsigned long chunk;
};

unsigned int mcpage_clear_class(unsigned long len);
enum mcpage_clear_method
mcpage_clear_choose(const struct mcpage_clear_speed *speed, unsigned int methods);
enum mcpage_clear_method
mcpage_clear_auto(const struct mcpage_clear_speed *speed, unsigned int class,
		  unsigned int methods);
void mcpage_clear_near(struct mcpage_clear_plan *plan, unsigned long len,
		       unsigned long offset, unsigned long cached);
void mcpage_clear_extent(void *addr, unsigned long len,
			 const struct mcpage_clear_plan *plan);

void mcpage_clear_read(const void *addr, unsigned long len);
void mcpage_clear_measure(struct mcpage_clear_space *space, unsigned int methods,
			  struct mcpage_clear_speed
			  speed[NR_MCPAGE_CLEAR_CLASSES][NR_MCPAGE_CLEAR_METHODS]);

/* For mcpage_clear_measure(): nanoseconds of any clock; called between samples. */
unsigned long mcpage_clear_now(void);
void mcpage_clear_pause(void);

/* For mcpage_clear_extent(): clear a chunk, and whatever has to be done before. */
void mcpage_clear_chunk(enum mcpage_clear_method method, void *addr,
			unsigned long len);

/**
 * mcpage_clear_by - clear with a method
 * @method: one of MCPAGE_CLEAR_ALL that this CPU has
 * @addr: the first byte of a page
 * @len: how many bytes, whole pages
 *
 * Not by a table of functions: indirect calls cost more than these branches.
 *
 * Context: any.
 */
static inline void mcpage_clear_by(enum mcpage_clear_method method, void *addr,
				   unsigned long len)
{
#ifdef CONFIG_X86_64
	switch (method) {
	case MCPAGE_CLEAR_PAGE:
		/* Backwards, as folio_zero_user() does from the far end. */
		while (len) {
			len -= PAGE_SIZE;
			clear_page(addr + len);
		}
		break;
	case MCPAGE_CLEAR_REP_STOSB:
		mcpage_clear_rep_stosb(addr, len);
		break;
	case MCPAGE_CLEAR_REP_STOSQ:
		mcpage_clear_rep_stosq(addr, len);
		break;
	case MCPAGE_CLEAR_CLZERO:
		mcpage_clear_clzero(addr, len);
		break;
	case MCPAGE_CLEAR_MOVNTI:
		mcpage_clear_movnti(addr, len);
		break;
	default:
		mcpage_clear_loop(addr, len);
	}
#endif
}

#endif /* _MM_MCPAGE_CLEAR_H */
