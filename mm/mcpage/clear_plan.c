// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: which method clears what part of an extent, without mm state.
 */
#include "clear.h"

const char * const mcpage_clear_names[NR_MCPAGE_CLEAR_METHODS] = {
	[MCPAGE_CLEAR_AUTO]		= "auto",
	[MCPAGE_CLEAR_PAGE]		= "page",
	[MCPAGE_CLEAR_REP_STOSB]	= "rep_stosb",
	[MCPAGE_CLEAR_REP_STOSQ]	= "rep_stosq",
	[MCPAGE_CLEAR_LOOP]		= "loop",
	[MCPAGE_CLEAR_CLZERO]		= "clzero",
	[MCPAGE_CLEAR_MOVNTI]		= "movnti",
};

const unsigned long mcpage_clear_class_len[NR_MCPAGE_CLEAR_CLASSES] = {
	PAGE_SIZE, PAGE_SIZE << 2, PAGE_SIZE << 4, PAGE_SIZE << 6, PAGE_SIZE << 9,
};

/**
 * mcpage_clear_class - the class of an extent
 * @len: its length in bytes, a page at least
 *
 * Context: any.
 * Return: the index of the longest class that is not longer than @len.
 */
unsigned int mcpage_clear_class(unsigned long len)
{
	unsigned int class = NR_MCPAGE_CLEAR_CLASSES - 1;

	while (class && mcpage_clear_class_len[class] > len)
		class--;
	return class;
}

/* Two samples of the same may differ by this part, a sixteenth. */
#define MCPAGE_CLEAR_NOISE	16

/* The time for clearing, and for clearing and reading, of as much as fits in it. */
static unsigned long mcpage_clear_cost(const struct mcpage_clear_speed *speed)
{
	const unsigned long much = 1UL << 30;

	return much / speed->clear + much / speed->used;
}

/**
 * mcpage_clear_choose - the method for the extents of one class
 * @speed: what was measured there, by method
 * @methods: a mask of the methods that may be used
 *
 * Nobody knows how much of an extent will be read at once. So a method must not be
 * slower than clear_page(), neither for clearing alone nor when all of the extent is
 * read after it, which is the worst for those that go past the caches: they have to
 * be faster even then, by more than what may be chance. Of the methods for which that
 * holds, the one whose times add up to the least is used, if that is less than
 * clear_page()'s by as much.
 *
 * Context: any.
 * Return: the method; MCPAGE_CLEAR_PAGE also if nothing was measured.
 */
enum mcpage_clear_method
mcpage_clear_choose(const struct mcpage_clear_speed *speed, unsigned int methods)
{
	const struct mcpage_clear_speed *page = &speed[MCPAGE_CLEAR_PAGE];
	enum mcpage_clear_method best = MCPAGE_CLEAR_PAGE, i;
	unsigned long least, cost, used;

	if (!page->clear || !page->used)
		return MCPAGE_CLEAR_PAGE;
	least = mcpage_clear_cost(page);
	least -= least / MCPAGE_CLEAR_NOISE;
	for (i = 0; i < NR_MCPAGE_CLEAR_METHODS; i++) {
		used = page->used;
		if (MCPAGE_CLEAR_NON_CACHED & BIT(i))
			used += used / MCPAGE_CLEAR_NOISE;
		if (!(methods & MCPAGE_CLEAR_ALL & BIT(i)) ||
		    speed[i].clear < page->clear || speed[i].used < used)
			continue;
		cost = mcpage_clear_cost(&speed[i]);
		if (cost < least) {
			least = cost;
			best = i;
		}
	}
	return best;
}

/**
 * mcpage_clear_auto - the method that "auto" uses for one class
 * @speed: what was measured there, by method
 * @class: the class
 * @methods: a mask of the methods that may be used
 *
 * Of the shortest class, only the part around a fault is: that is to be cached.
 *
 * Context: any.
 * Return: the method.
 */
enum mcpage_clear_method
mcpage_clear_auto(const struct mcpage_clear_speed *speed, unsigned int class,
		  unsigned int methods)
{
	methods &= MCPAGE_CLEAR_CHOICE;
	if (!class)
		methods &= MCPAGE_CLEAR_CACHED;
	return mcpage_clear_choose(speed, methods);
}

/**
 * mcpage_clear_near - plan for the part around the fault
 * @plan: its @near, @near_len and @near_method are set; that by its @method
 * @len: the extent's length in bytes, a multiple of pages
 * @offset: where in it the fault was, in bytes
 * @cached: the most that may be treated apart, in bytes; 0 for nothing
 *
 * The page that faulted and its neighbours, up to a sixteenth of the extent: clearing
 * that in another way costs the extent little. With the method of the rest if that
 * leaves memory in the caches, else with clear_page().
 *
 * Context: any.
 */
void mcpage_clear_near(struct mcpage_clear_plan *plan, unsigned long len,
		       unsigned long offset, unsigned long cached)
{
	const unsigned long mask = ~(PAGE_SIZE - 1);
	unsigned long near_len = len / 16, before;

	plan->near_method = BIT(plan->method) & MCPAGE_CLEAR_CACHED ? plan->method :
								      MCPAGE_CLEAR_PAGE;
	if (!cached) {
		plan->near = 0;
		plan->near_len = 0;
		return;
	}
	if (near_len > cached)
		near_len = cached;
	near_len &= mask;
	if (!near_len)
		near_len = PAGE_SIZE;

	/* As much before the fault as behind it, where there is as much. */
	offset &= mask;
	before = near_len / 2 & mask;
	plan->near = offset < before ? 0 : offset - before;
	if (plan->near > len - near_len)
		plan->near = len - near_len;
	plan->near_len = near_len;
}

static void mcpage_clear_part(enum mcpage_clear_method method, void *addr,
			      unsigned long len, unsigned long chunk, bool from_end)
{
	while (len) {
		unsigned long now = len < chunk ? len : chunk;

		len -= now;
		if (from_end) {
			mcpage_clear_chunk(method, addr + len, now);
		} else {
			mcpage_clear_chunk(method, addr, now);
			addr += now;
		}
	}
}

/**
 * mcpage_clear_extent - clear an extent
 * @addr: its first byte
 * @len: its length in bytes
 * @plan: what to do
 *
 * Towards the fault from both ends, as folio_zero_user() does without mcpage, and the
 * part around it last, so that this is what the caches hold.
 *
 * Context: may sleep, where mcpage_clear_chunk() does.
 */
void mcpage_clear_extent(void *addr, unsigned long len,
			 const struct mcpage_clear_plan *plan)
{
	unsigned long behind = plan->near + plan->near_len;

	mcpage_clear_part(plan->method, addr, plan->near, plan->chunk, false);
	mcpage_clear_part(plan->method, addr + behind, len - behind, plan->chunk, true);
	mcpage_clear_part(plan->near_method, addr + plan->near, plan->near_len,
			  plan->chunk, false);
}
