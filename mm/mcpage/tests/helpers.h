/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mcpage: shared by the KUnit suites.
 */
#ifndef _MM_MCPAGE_TESTS_HELPERS_H
#define _MM_MCPAGE_TESTS_HELPERS_H

#include <kunit/test.h>
#include <linux/types.h>

#include "../internal.h"

/* What a test writes to a file, at most. */
#define MCPAGE_TEST_BUF	256

/* Parameters: both backings. */
const void *mcpage_test_backing_gen_params(const void *prev, char *desc);
enum mcpage_backing mcpage_test_backing(struct kunit *test);
const char *mcpage_test_backing_name(enum mcpage_backing backing);

void mcpage_test_start(struct kunit *test, enum mcpage_backing backing);
void mcpage_test_settings(struct kunit *test);
void mcpage_test_set(enum mcpage_enabled enabled, enum mcpage_backing backing);
void mcpage_test_mode(enum mcpage_mode mode);
unsigned long mcpage_test_mmap(struct kunit *test, unsigned long size);
unsigned long mcpage_test_mmap_aligned(struct kunit *test, unsigned long size,
				       unsigned int order);
void mcpage_test_write(struct kunit *test, unsigned long addr);
unsigned long mcpage_test_taken(struct kunit *test, unsigned long addr);
void mcpage_test_read_zero(struct kunit *test, unsigned long addr);
unsigned int mcpage_test_present(struct kunit *test, unsigned long start,
				 unsigned long end);
int mcpage_test_zap(struct kunit *test, unsigned long addr, unsigned long size);
int mcpage_test_order(struct kunit *test, unsigned long addr);
bool mcpage_test_pmd_mapped(struct kunit *test, unsigned long addr);
bool mcpage_test_huge_zero(struct kunit *test, unsigned long addr);
bool mcpage_test_zero_mapped(struct kunit *test, unsigned long addr);
bool mcpage_test_zero(struct kunit *test, unsigned long start, unsigned long end);
unsigned long mcpage_test_rss(void);
void mcpage_test_need_backing(struct kunit *test, enum mcpage_backing backing);

ssize_t mcpage_test_store(struct kunit *test, const char *path, const char *text);
ssize_t mcpage_test_store_len(struct kunit *test, const char *path,
			      const char *text, size_t len);
const char *mcpage_test_show(struct kunit *test, const char *path);

#endif /* _MM_MCPAGE_TESTS_HELPERS_H */
