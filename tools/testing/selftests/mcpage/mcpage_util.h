/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mcpage selftests: settings, a process's mappings and its blocks.
 */
#ifndef MCPAGE_UTIL_H
#define MCPAGE_UTIL_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <linux/mcpage.h>

#include "../kselftest.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif
#ifndef MADV_COLD
#define MADV_COLD 20
#define MADV_PAGEOUT 21
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

#define BIT(n)		(1UL << (n))
#define KB(n)		((size_t)(n) << 10)
#define MB(n)		((size_t)(n) << 20)

#define MCPAGE_DIR	"/sys/kernel/mm/mcpage/"
#define THP_DIR		"/sys/kernel/mm/transparent_hugepage/"
#define KSM_DIR		"/sys/kernel/mm/ksm/"
#define NOBODY		65534

extern size_t page_size;
extern unsigned int pmd_order;
/* Every order that a set may hold. */
extern unsigned long valid_orders;

static inline size_t block_size(unsigned int order)
{
	return page_size << order;
}

static inline unsigned int highest(unsigned long orders)
{
	return orders ? 63 - __builtin_clzl(orders) : 0;
}

/* One access to memory, that the compiler neither moves nor removes. */
static inline void poke(char *addr, char value)
{
	__atomic_store_n(addr, value, __ATOMIC_RELAXED);
}

static inline char peek(const char *addr)
{
	return __atomic_load_n(addr, __ATOMIC_RELAXED);
}

/* prctl(), with 0 or -errno as the kernel has it. */
long set_process(unsigned long value);
long get_process(void);
long set_vma(const void *addr, size_t len, unsigned long value);
long get_vma(const void *addr);

/* Files; 0 or -errno. What is read loses its newline. */
int read_text(const char *path, char *buf, size_t size);
int write_text(const char *path, const char *text);
unsigned long read_number(const char *path);
/* The same below MCPAGE_DIR. */
int mcpage_read(const char *name, char *buf, size_t size);
int mcpage_write(const char *name, const char *text);
int mcpage_write_orders(const char *name, unsigned long orders);
unsigned long mcpage_stat(unsigned int order, const char *name);
/* Line @name of /proc/vmstat; of those that begin with it, if it ends in '*'. */
unsigned long vm_event(const char *name);

/* Why nothing can be tested here; NULL if it can. */
const char *not_testable(void);
/* Set what each test may rely on; remembers what was there before. */
int settings_begin(void);
/* Back to what was there before; runs at exit as well. */
void settings_end(void);

/*
 * A private anonymous mapping that begins at a multiple of PMD size and never
 * merges with what is beside it. NULL on failure.
 */
void *map_region(size_t size);
void *map_region_flags(size_t size, int prot, int flags);
void unmap_region(void *addr, size_t size);

/* How many VMAs there are between two addresses, from /proc/self/maps. */
int count_vmas(const void *addr, size_t size);
/* Line @field of the VMA at @addr in /proc/self/smaps, without the name. */
int smaps_field(const void *addr, const char *field, char *buf, size_t size);
long smaps_kb(const void *addr, const char *field);
bool has_vm_flag(const void *addr, const char *flag);
/* Sum of @field, kB, over the VMAs between two addresses. */
long smaps_sum_kb(const void *addr, size_t size, const char *field);
long rss_kb(void);
/* What is resident of the VMAs in a range, in pages; the zero page is not. */
size_t resident(const void *addr, size_t size);

/* Page frames, by /proc/self/pagemap and /proc/kpageflags. */
int present_pages(const void *addr, size_t size);
/* One bit of the entry of /proc/self/pagemap. */
bool pagemap_bit(const void *addr, unsigned int bit);
#define soft_dirty(addr)	pagemap_bit(addr, 55)
#define uffd_protected(addr)	pagemap_bit(addr, 57)
unsigned long long page_frame(const void *addr);
/* The order of the folio at @addr; 0 for a single page, -1 if not present. */
int folio_order(const void *addr);
/* The highest folio_order() in a range; -1 if nothing is present. */
int max_folio_order(const void *addr, size_t size);

/*
 * Touch a byte in an empty, PMD-sized and PMD-aligned window and return the
 * order of the one block that is mapped there afterwards: aligned, around the
 * byte, of consecutive frames and zero but for the byte; a large folio or
 * single pages as @backing says. -1, with a message, for anything else.
 */
int touch_order(char *addr, const char *backing);
/*
 * touch_order() at @offset in a new mapping with VMA policy @value. In an old
 * one the page table may be left, and no PMD-mapped folio fits.
 */
int probe_order(size_t offset, unsigned long value, const char *backing);

/*
 * A page that is full of what @tag makes, and what there is in a page: nothing,
 * that, or anything else. No tag makes zeroes.
 */
enum content {
	CONTENT_ZERO,
	CONTENT_STAMP,
	CONTENT_OTHER,
};

void stamp_page(void *page, unsigned long tag);
enum content page_content(const void *page, unsigned long tag);

/* Is a write refused? One that is not leaves all as it is. For threads, too. */
bool write_faults(char *addr);
/* Move what the CPUs keep back to the LRU lists. */
void drain_lru(void);
bool has_swap(void);

/* A child that runs @fn(@arg); its exit status, or 128 + signal. */
int run_child(int (*fn)(void *arg), void *arg);
/* Become an ordinary user. */
int drop_privileges(void);
/* The directory that this program is in. */
const char *program_dir(void);
/* The path of helper program _mcpage_show. */
const char *show_path(void);

/* Files of a control group; what one says at line @key of a flat keyed file. */
int group_write(const char *dir, const char *file, const char *text);
long group_read(const char *dir, const char *file, const char *key);
/* Make a group with a limit; why it cannot be, if so. */
const char *group_make(char *dir, size_t size, const char *max);
/*
 * For the tests of lazyfree: blocks of that backing, treated that way if a part
 * is freed, and this process in a group of its own. Why it cannot be, if so.
 */
const char *lazyfree_begin(char *dir, size_t size, const char *backing,
			   const char *partial);
void lazyfree_end(const char *dir);

/* Let khugepaged look at all memory @passes more times. */
void khugepaged_passes(unsigned int passes);
/* khugepaged without pauses; THP as in "always". */
int khugepaged_hurry(void);
/*
 * Let khugepaged pass ten times at least, and until it has collapsed what no
 * policy protects: one page of @control, PMD-sized memory that may all become huge.
 */
bool khugepaged_has_seen_it(char *control);

#endif /* MCPAGE_UTIL_H */
