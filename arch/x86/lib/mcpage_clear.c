// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: ways to clear an extent of memory.
 *
 * For all of them address and length are multiples of 64 bytes, the length of a
 * cache line of every CPU that has CLZERO. None uses a register that the kernel
 * would have to save, so they may be called in any context, and in user space.
 *
 * The stores of CLZERO and MOVNTI are weakly ordered: each call ends with a fence,
 * so that they cannot become visible after a later store of this CPU, such as
 * that of a page table entry.
 */
#include <asm/mcpage_clear.h>

#define LINE	64UL

/**
 * mcpage_clear_rep_stosb - clear with the string instruction for bytes
 * @addr: the first byte
 * @len: how many bytes
 *
 * Fast where the CPU says so (ERMS), and slow elsewhere.
 *
 * Context: any.
 */
void mcpage_clear_rep_stosb(void *addr, unsigned long len)
{
	asm volatile("rep stosb" : "+D" (addr), "+c" (len) : "a" (0) : "memory");
}

/**
 * mcpage_clear_rep_stosq - clear with the string instruction for words
 * @addr: the first byte
 * @len: how many bytes
 *
 * Context: any.
 */
void mcpage_clear_rep_stosq(void *addr, unsigned long len)
{
	unsigned long words = len / 8;

	asm volatile("rep stosq" : "+D" (addr), "+c" (words) : "a" (0UL) : "memory");
}

/**
 * mcpage_clear_clzero - clear line by line, past the caches
 * @addr: the first byte
 * @len: how many bytes
 *
 * Context: any, on a CPU that has CLZERO.
 */
void mcpage_clear_clzero(void *addr, unsigned long len)
{
	void *end = addr + len;

	for (; addr != end; addr += LINE)
		/* clzero, which older assemblers do not know */
		asm volatile(".byte 0x0f, 0x01, 0xfc" : : "a" (addr) : "memory");
	asm volatile("sfence" : : : "memory");
}

/**
 * mcpage_clear_movnti - clear with non-temporal stores, past the caches
 * @addr: the first byte
 * @len: how many bytes
 *
 * Context: any, on a CPU that has SSE2.
 */
void mcpage_clear_movnti(void *addr, unsigned long len)
{
	void *end = addr + len;

	for (; addr != end; addr += LINE)
		asm volatile("movnti %1, (%0)\n\t"
			     "movnti %1, 8(%0)\n\t"
			     "movnti %1, 16(%0)\n\t"
			     "movnti %1, 24(%0)\n\t"
			     "movnti %1, 32(%0)\n\t"
			     "movnti %1, 40(%0)\n\t"
			     "movnti %1, 48(%0)\n\t"
			     "movnti %1, 56(%0)"
			     : : "r" (addr), "r" (0UL) : "memory");
	asm volatile("sfence" : : : "memory");
}

/**
 * mcpage_clear_loop - clear with ordinary stores
 * @addr: the first byte
 * @len: how many bytes
 *
 * Context: any.
 */
void mcpage_clear_loop(void *addr, unsigned long len)
{
	void *end = addr + len;

	for (; addr != end; addr += LINE)
		asm volatile("movq %1, (%0)\n\t"
			     "movq %1, 8(%0)\n\t"
			     "movq %1, 16(%0)\n\t"
			     "movq %1, 24(%0)\n\t"
			     "movq %1, 32(%0)\n\t"
			     "movq %1, 40(%0)\n\t"
			     "movq %1, 48(%0)\n\t"
			     "movq %1, 56(%0)"
			     : : "r" (addr), "r" (0UL) : "memory");
}
