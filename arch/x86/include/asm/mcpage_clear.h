/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mcpage: ways to clear an extent of memory. User space can include this too.
 */
#ifndef _ASM_X86_MCPAGE_CLEAR_H
#define _ASM_X86_MCPAGE_CLEAR_H

void mcpage_clear_rep_stosb(void *addr, unsigned long len);
void mcpage_clear_rep_stosq(void *addr, unsigned long len);
void mcpage_clear_clzero(void *addr, unsigned long len);
void mcpage_clear_movnti(void *addr, unsigned long len);
void mcpage_clear_loop(void *addr, unsigned long len);

#endif /* _ASM_X86_MCPAGE_CLEAR_H */
