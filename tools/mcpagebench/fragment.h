/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that is free in single pages only.
 */
#ifndef MCPAGEBENCH_FRAGMENT_H
#define MCPAGEBENCH_FRAGMENT_H

/*
 * Take all memory and give back every second page: half of it is free then, and
 * no two free pages can be joined. Called again, it does nothing as long as that
 * holds, and repairs it otherwise: after compaction, or where others had blocks
 * and freed them. Ends with an error if it does not come to that.
 *
 * What compaction remembers is not undone by that: where it found nothing, and how
 * often it failed. Who measures it does so first thing after boot.
 *
 * The memory belongs to the caller; its children do not share it. For a guest
 * without swap.
 */
void fragment_memory(void);

struct bench_config;

/*
 * Some blocks were spared for the kernel. Use them up too, in a child that is to
 * measure, which has what was needed to start it. @allow is called to let it have
 * blocks of some orders, the last time of all. An effort that makes no blocks must
 * be in force.
 */
void fragment_spare(void (*allow)(const struct bench_config *config, unsigned long orders),
		    const struct bench_config *config);

#endif
