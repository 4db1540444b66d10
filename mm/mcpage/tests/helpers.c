// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: shared by the KUnit suites.
 *
 * Memory is faulted in for real: kunit_vm_mmap() gives the test's thread an mm,
 * and the kernel's user access functions touch it. The mm is the thread's own,
 * so nothing that a case sets in it needs to be undone.
 */
#include <kunit/test.h>
#include <linux/kernfs.h>
#include <linux/kobject.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pagewalk.h>
#include <linux/percpu_counter.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>

#include "helpers.h"

static const char * const backing_names[NR_MCPAGE_BACKINGS] = {
	[MCPAGE_FOLIO]	= "folio",
	[MCPAGE_PAGES]	= "pages",
};

static const enum mcpage_backing backings[] = { MCPAGE_FOLIO, MCPAGE_PAGES };

const char *mcpage_test_backing_name(enum mcpage_backing backing)
{
	return backing_names[backing];
}

static void backing_desc(const enum mcpage_backing *backing, char *desc)
{
	strscpy(desc, backing_names[*backing], KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(backing, backings, backing_desc);

const void *mcpage_test_backing_gen_params(const void *prev, char *desc)
{
	return backing_gen_params(prev, desc);
}

/* That of a case with these parameters. */
enum mcpage_backing mcpage_test_backing(struct kunit *test)
{
	return *(const enum mcpage_backing *)test->param_value;
}

struct saved {
	struct mcpage_settings settings;
	struct mcpage_clear_settings clear;
};

static void mcpage_test_restore(void *data)
{
	const struct saved *saved = data;

	mutex_lock(&mcpage_settings_lock);
	mcpage_settings = saved->settings;
	mcpage_clear_settings = saved->clear;
	mcpage_settings_changed();
	mutex_unlock(&mcpage_settings_lock);
}

/* Put the system's settings back when the case ends. */
void mcpage_test_settings(struct kunit *test)
{
	struct saved *saved;

	saved = kunit_kzalloc(test, sizeof(*saved), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, saved);
	saved->settings = mcpage_settings;
	saved->clear = mcpage_clear_settings;
	KUNIT_ASSERT_EQ(test, 0,
			kunit_add_action_or_reset(test, mcpage_test_restore, saved));
}

/* Everything is allowed, in every class, as far as @enabled goes. */
void mcpage_test_set(enum mcpage_enabled enabled, enum mcpage_backing backing)
{
	unsigned int i;

	mutex_lock(&mcpage_settings_lock);
	mcpage_settings.enabled = enabled;
	mcpage_settings.mode = MCPAGE_FIXED;
	mcpage_settings.backing = backing;
	mcpage_settings.effort = MCPAGE_LIGHT;
	mcpage_settings.partial = MCPAGE_PARTIAL_MARK;
	mcpage_settings.orders = mcpage_valid_orders();
	for (i = 0; i < NR_MCPAGE_CLASSES; i++)
		mcpage_settings.class_orders[i] = mcpage_valid_orders();
	mcpage_settings_changed();
	mutex_unlock(&mcpage_settings_lock);
}

/* How orders are chosen; mcpage_test_set() makes it "fixed". */
void mcpage_test_mode(enum mcpage_mode mode)
{
	mutex_lock(&mcpage_settings_lock);
	mcpage_settings.mode = mode;
	mcpage_settings_changed();
	mutex_unlock(&mcpage_settings_lock);
}

/* Only an absent feature is a reason to skip. */
void mcpage_test_need_backing(struct kunit *test, enum mcpage_backing backing)
{
	if (backing == MCPAGE_FOLIO && !IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE))
		kunit_skip(test, "no transparent huge pages in this kernel");
}

/* Every mapping is governed and everything allowed, until the case ends. */
void mcpage_test_start(struct kunit *test, enum mcpage_backing backing)
{
	mcpage_test_need_backing(test, backing);
	mcpage_test_settings(test);
	mcpage_test_set(MCPAGE_ALWAYS, backing);
}

unsigned long mcpage_test_mmap(struct kunit *test, unsigned long size)
{
	unsigned long addr;

	addr = kunit_vm_mmap(test, NULL, 0, size, PROT_READ | PROT_WRITE,
			     MAP_ANONYMOUS | MAP_PRIVATE, 0);
	KUNIT_ASSERT_NE(test, addr, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(addr));
	return addr;
}

/*
 * A mapping with at least a block of @order on both sides of the range whose
 * start is returned, which is aligned to the block.
 */
unsigned long mcpage_test_mmap_aligned(struct kunit *test, unsigned long size,
				       unsigned int order)
{
	unsigned long block = PAGE_SIZE << order;

	return ALIGN(mcpage_test_mmap(test, size + 3 * block) + block, block);
}

void mcpage_test_write(struct kunit *test, unsigned long addr)
{
	KUNIT_ASSERT_EQ(test, 0, put_user(0x5a, (u8 __user *)addr));
}

/* How many pages does a write map? */
unsigned long mcpage_test_taken(struct kunit *test, unsigned long addr)
{
	unsigned long rss = mcpage_test_rss();

	mcpage_test_write(test, addr);
	return mcpage_test_rss() - rss;
}

/* Read a byte of memory that nobody has written to. */
void mcpage_test_read_zero(struct kunit *test, unsigned long addr)
{
	u8 byte = 1;

	KUNIT_ASSERT_EQ(test, 0, get_user(byte, (u8 __user *)addr));
	KUNIT_ASSERT_EQ(test, 0, byte);
}

/* Give memory back, as MADV_DONTNEED does. */
int mcpage_test_zap(struct kunit *test, unsigned long addr, unsigned long size)
{
	return do_madvise(current->mm, addr, size, MADV_DONTNEED);
}

/* The number of pages of a range that are mapped, the zero page not counted. */
unsigned int mcpage_test_present(struct kunit *test, unsigned long start,
				 unsigned long end)
{
	struct mm_struct *mm = current->mm;
	unsigned int present = 0;
	unsigned long addr;

	mmap_read_lock(mm);
	for (addr = start; addr < end; addr += PAGE_SIZE) {
		struct vm_area_struct *vma = vma_lookup(mm, addr);
		struct folio_walk fw;

		if (!vma || !folio_walk_start(&fw, vma, addr, 0))
			continue;
		present++;
		folio_walk_end(&fw, vma);
	}
	mmap_read_unlock(mm);
	return present;
}

static int mcpage_test_look(unsigned long addr, bool *pmd_mapped)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	struct folio_walk fw;
	struct folio *folio;
	int order = -ENOENT;

	mmap_read_lock(mm);
	vma = vma_lookup(mm, addr);
	folio = vma ? folio_walk_start(&fw, vma, addr, 0) : NULL;
	if (folio) {
		order = folio_order(folio);
		*pmd_mapped = fw.level == FW_LEVEL_PMD;
		folio_walk_end(&fw, vma);
	}
	mmap_read_unlock(mm);
	return order;
}

/* The order of the folio at an address; -ENOENT if there is none. */
int mcpage_test_order(struct kunit *test, unsigned long addr)
{
	bool pmd_mapped;

	return mcpage_test_look(addr, &pmd_mapped);
}

bool mcpage_test_pmd_mapped(struct kunit *test, unsigned long addr)
{
	bool pmd_mapped = false;

	mcpage_test_look(addr, &pmd_mapped);
	return pmd_mapped;
}

/* Is the shared zero page, small or huge, mapped at an address? */
static bool mcpage_test_look_zero(unsigned long addr, enum folio_walk_level want)
{
	struct mm_struct *mm = current->mm;
	struct vm_area_struct *vma;
	struct folio_walk fw;
	bool zero = false;

	mmap_read_lock(mm);
	vma = vma_lookup(mm, addr);
	if (vma && folio_walk_start(&fw, vma, addr, FW_ZEROPAGE)) {
		zero = fw.level == want && (want == FW_LEVEL_PMD ?
					    is_huge_zero_pmd(fw.pmd) :
					    is_zero_pfn(pte_pfn(fw.pte)));
		folio_walk_end(&fw, vma);
	}
	mmap_read_unlock(mm);
	return zero;
}

bool mcpage_test_huge_zero(struct kunit *test, unsigned long addr)
{
	return mcpage_test_look_zero(addr, FW_LEVEL_PMD);
}

bool mcpage_test_zero_mapped(struct kunit *test, unsigned long addr)
{
	return mcpage_test_look_zero(addr, FW_LEVEL_PTE);
}

/* Is all of a range zero? Reading it maps nothing that is mapped already. */
bool mcpage_test_zero(struct kunit *test, unsigned long start, unsigned long end)
{
	u8 *buf = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
	unsigned long addr;
	bool zero = true;

	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (addr = start; addr < end && zero; addr += PAGE_SIZE) {
		unsigned long nr = min(PAGE_SIZE, end - addr);

		KUNIT_ASSERT_EQ(test, 0,
				copy_from_user(buf, (void __user *)addr, nr));
		zero = !memchr_inv(buf, 0, nr);
	}
	kunit_kfree(test, buf);
	return zero;
}

/* Anonymous pages of the test's mm, exactly: get_mm_counter() may lag behind. */
unsigned long mcpage_test_rss(void)
{
	return percpu_counter_sum(&current->mm->rss_stat[MM_ANONPAGES]);
}

struct mcpage_test_file {
	struct kernfs_node *kn;
	struct kobject *kobj;
	struct attribute *attr;
};

static void mcpage_test_open(struct kunit *test, const char *path,
			     struct mcpage_test_file *file)
{
	KUNIT_ASSERT_NOT_NULL(test, mcpage_kobj);
	file->kn = kernfs_walk_and_get(mcpage_kobj->sd, path);
	KUNIT_ASSERT_NOT_NULL_MSG(test, file->kn, "no file %s", path);
	file->attr = file->kn->priv;
	file->kobj = file->kn->parent->priv;
}

/* Write to a file of the mcpage directory, as write() does. */
ssize_t mcpage_test_store_len(struct kunit *test, const char *path,
			      const char *text, size_t len)
{
	struct mcpage_test_file file;
	char *buf;
	ssize_t ret;

	buf = kunit_kzalloc(test, MCPAGE_TEST_BUF, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_ASSERT_LT(test, len, MCPAGE_TEST_BUF);
	memcpy(buf, text, len);
	mcpage_test_open(test, path, &file);
	ret = file.kobj->ktype->sysfs_ops->store(file.kobj, file.attr, buf, len);
	kernfs_put(file.kn);
	return ret;
}

ssize_t mcpage_test_store(struct kunit *test, const char *path, const char *text)
{
	return mcpage_test_store_len(test, path, text, strlen(text));
}

/* Read a file of the mcpage directory; the text lives as long as the case. */
const char *mcpage_test_show(struct kunit *test, const char *path)
{
	struct mcpage_test_file file;
	char *buf;
	ssize_t ret;

	/* sysfs hands out whole pages, and sysfs_emit() insists on it. */
	buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	mcpage_test_open(test, path, &file);
	ret = file.kobj->ktype->sysfs_ops->show(file.kobj, file.attr, buf);
	kernfs_put(file.kn);
	KUNIT_ASSERT_GE(test, ret, 0);
	KUNIT_ASSERT_LT(test, ret, PAGE_SIZE);
	return buf;
}
