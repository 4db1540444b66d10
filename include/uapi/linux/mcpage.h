/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * mcpage: which block orders back anonymous memory, per process and mapping.
 *
 * A program can include this file alone. Documentation and examples:
 * Documentation/admin-guide/mm/mcpage.rst
 */
#ifndef _UAPI_LINUX_MCPAGE_H
#define _UAPI_LINUX_MCPAGE_H

/*
 * prctl() options, far from the sequential range, as PR_SET_VMA is.
 *
 *	prctl(PR_SET_MCPAGE, PR_MCPAGE_PROCESS, value, 0, 0)
 *	prctl(PR_GET_MCPAGE, PR_MCPAGE_PROCESS, 0, 0, 0)
 *	prctl(PR_SET_MCPAGE, PR_MCPAGE_VMA, addr, len, value)
 *	prctl(PR_GET_MCPAGE, PR_MCPAGE_VMA, addr, 0, 0)
 */
#define PR_SET_MCPAGE		0x4d435047
#define PR_GET_MCPAGE		0x4d435048

/* The scope, second argument of both. */
# define PR_MCPAGE_PROCESS	0
# define PR_MCPAGE_VMA		1

/*
 * A value: bits 1 to 15 are the order set (bit n allows blocks of 2^n pages;
 * none set means single pages only), bits from 16 on are flags. Any other
 * bit is refused with EINVAL.
 */
#define PR_MCPAGE_ORDERS	0xfffeUL
/* Process scope: the policy survives an execve() that gains no privilege. */
#define PR_MCPAGE_INHERIT	(1UL << 16)
/* Process scope: this process and its children may only narrow; EPERM else. */
#define PR_MCPAGE_SEAL		(1UL << 17)
/* Use a block only where the neighbouring block is already populated. */
#define PR_MCPAGE_ADAPTIVE	(1UL << 18)
/* Alone: back to having no policy. Read back where there is none. */
#define PR_MCPAGE_UNSET		(1UL << 19)

#endif /* _UAPI_LINUX_MCPAGE_H */
