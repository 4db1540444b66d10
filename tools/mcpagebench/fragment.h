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

#endif
