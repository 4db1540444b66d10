// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: /sys/kernel/mm/mcpage.
 *
 * Every file is described in Documentation/ABI/testing/sysfs-kernel-mm-mcpage.
 */
#define pr_fmt(fmt) "mcpage: " fmt

#include <linux/bitmap.h>
#include <linux/init.h>
#include <linux/kobject.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <kunit/visibility.h>

#include "internal.h"

/* The widest set that a list may name: the orders of a prctl() value. */
#define MCPAGE_LIST_BITS	16

/**
 * mcpage_orders_parse - read an order set in the kernel's list format
 * @buf: the text, ended by a NUL
 * @len: its length in bytes, without the NUL
 * @valid: the orders that may be in the set
 * @orders: set to the set on success
 *
 * An empty line is the empty set. One newline may end the text.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL for what is no list or names an order out of @valid;
 * -ENOMEM.
 */
int mcpage_orders_parse(const char *buf, size_t len, unsigned long valid,
			unsigned long *orders)
{
	DECLARE_BITMAP(set, MCPAGE_LIST_BITS) = {};
	char *text;
	int err;

	/* The list parser stops at the first newline and ignores the rest. */
	if (len && buf[len - 1] == '\n')
		len--;
	if (memchr(buf, '\n', len) || memchr(buf, '\0', len))
		return -EINVAL;

	text = kmemdup_nul(buf, len, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	err = bitmap_parselist(text, set, MCPAGE_LIST_BITS);
	kfree(text);
	if (err == -ENOMEM)
		return err;
	if (err || (set[0] & ~valid))
		return -EINVAL;
	*orders = set[0];
	return 0;
}

static ssize_t mcpage_orders_show(char *buf, unsigned long orders)
{
	return sysfs_emit(buf, "%*pbl\n", MCPAGE_LIST_BITS, &orders);
}

static ssize_t mcpage_orders_store(const char *buf, size_t count,
				   unsigned long *setting)
{
	unsigned long orders;
	int err;

	err = mcpage_orders_parse(buf, count, mcpage_valid_orders(), &orders);
	if (err)
		return err;
	mutex_lock(&mcpage_settings_lock);
	WRITE_ONCE(*setting, orders);
	mutex_unlock(&mcpage_settings_lock);
	return count;
}

/**
 * mcpage_choice_show - show choices, with brackets around the active one
 * @buf: a page
 * @names: their names; those whose name is empty are not available
 * @nr: how many there are
 * @active: the active one
 *
 * Context: any.
 * Return: how many bytes were written to @buf.
 */
ssize_t mcpage_choice_show(char *buf, const char * const *names, int nr, int active)
{
	const char *space = "";
	ssize_t len = 0;
	int i;

	for (i = 0; i < nr; i++) {
		if (!*names[i])
			continue;
		len += sysfs_emit_at(buf, len, i == active ? "%s[%s]" : "%s%s",
				     space, names[i]);
		space = " ";
	}
	return len + sysfs_emit_at(buf, len, "\n");
}

/**
 * mcpage_choice_parse - read the name of a choice
 * @buf: the text, ended by a NUL; one newline may end it
 * @count: its length in bytes
 * @names: the names; those that are empty are not available
 * @nr: how many there are
 *
 * Context: any.
 * Return: the choice, or -EINVAL.
 */
int mcpage_choice_parse(const char *buf, size_t count, const char * const *names,
			int nr)
{
	int i = __sysfs_match_string(names, nr, buf);

	/* Neither what is not available nor text behind a NUL. */
	if (i >= 0 && (!*names[i] || memchr(buf, '\0', count)))
		return -EINVAL;
	return i;
}

static ssize_t mcpage_choice_store(const char *buf, size_t count,
				   const char * const *names, int nr,
				   unsigned int *setting)
{
	int choice = mcpage_choice_parse(buf, count, names, nr);

	if (choice < 0)
		return choice;
	mutex_lock(&mcpage_settings_lock);
	WRITE_ONCE(*setting, choice);
	mcpage_settings_changed();
	mutex_unlock(&mcpage_settings_lock);
	return count;
}

/* -------- the files of the top directory -------- */

static const char * const mcpage_mode_names[NR_MCPAGE_MODES] = {
	[MCPAGE_FIXED]		= "fixed",
	[MCPAGE_ADAPTIVE]	= "adaptive",
};

static const char * const mcpage_backing_names[NR_MCPAGE_BACKINGS] = {
	[MCPAGE_FOLIO]	= IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) ? "folio" : "",
	[MCPAGE_PAGES]	= "pages",
};

static const char * const mcpage_effort_names[NR_MCPAGE_EFFORTS] = {
	[MCPAGE_LIGHT]		= "light",
	[MCPAGE_DIRECT]		= "direct",
	[MCPAGE_FREE_ONLY]	= "never",
};

static ssize_t enabled_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return mcpage_choice_show(buf, mcpage_enabled_names, NR_MCPAGE_ENABLED,
				  READ_ONCE(mcpage_settings.enabled));
}

static ssize_t enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	return mcpage_choice_store(buf, count, mcpage_enabled_names, NR_MCPAGE_ENABLED,
				   &mcpage_settings.enabled);
}

static ssize_t orders_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	return mcpage_orders_show(buf, READ_ONCE(mcpage_settings.orders));
}

static ssize_t orders_store(struct kobject *kobj, struct kobj_attribute *attr,
			    const char *buf, size_t count)
{
	return mcpage_orders_store(buf, count, &mcpage_settings.orders);
}

static ssize_t mode_show(struct kobject *kobj, struct kobj_attribute *attr,
			 char *buf)
{
	return mcpage_choice_show(buf, mcpage_mode_names, NR_MCPAGE_MODES,
				  READ_ONCE(mcpage_settings.mode));
}

static ssize_t mode_store(struct kobject *kobj, struct kobj_attribute *attr,
			  const char *buf, size_t count)
{
	return mcpage_choice_store(buf, count, mcpage_mode_names, NR_MCPAGE_MODES,
				   &mcpage_settings.mode);
}

static ssize_t backing_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return mcpage_choice_show(buf, mcpage_backing_names, NR_MCPAGE_BACKINGS,
				  READ_ONCE(mcpage_settings.backing));
}

static ssize_t backing_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	return mcpage_choice_store(buf, count, mcpage_backing_names, NR_MCPAGE_BACKINGS,
				   &mcpage_settings.backing);
}

static ssize_t effort_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	return mcpage_choice_show(buf, mcpage_effort_names, NR_MCPAGE_EFFORTS,
				  READ_ONCE(mcpage_settings.effort));
}

static ssize_t effort_store(struct kobject *kobj, struct kobj_attribute *attr,
			    const char *buf, size_t count)
{
	return mcpage_choice_store(buf, count, mcpage_effort_names, NR_MCPAGE_EFFORTS,
				   &mcpage_settings.effort);
}

static ssize_t features_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	int len = sysfs_emit(buf, "process\n");

	if (VM_MCPAGE)
		len += sysfs_emit_at(buf, len, "vma\n");
	if (IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE))
		len += sysfs_emit_at(buf, len, "folio\nlazyfree\n");
	len += sysfs_emit_at(buf, len, "pages\nadaptive\nzeropage\n");
	if (mcpage_clear_methods() & MCPAGE_CLEAR_EXTENT)
		len += sysfs_emit_at(buf, len, "clear\n");
	if (IS_ENABLED(CONFIG_VM_EVENT_COUNTERS))
		len += sysfs_emit_at(buf, len, "vmstat\n");
	return len;
}

static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);
static struct kobj_attribute orders_attr = __ATTR_RW(orders);
static struct kobj_attribute mode_attr = __ATTR_RW(mode);
static struct kobj_attribute backing_attr = __ATTR_RW(backing);
static struct kobj_attribute effort_attr = __ATTR_RW(effort);
static struct kobj_attribute features_attr = __ATTR_RO(features);

static struct attribute *mcpage_attrs[] = {
	&enabled_attr.attr,
	&orders_attr.attr,
	&mode_attr.attr,
	&backing_attr.attr,
	&effort_attr.attr,
	&features_attr.attr,
	NULL
};

static const struct attribute_group mcpage_group = {
	.attrs = mcpage_attrs,
};

/* -------- lazyfree/ -------- */

static ssize_t partial_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return mcpage_choice_show(buf, mcpage_partial_names, NR_MCPAGE_PARTIALS,
				  READ_ONCE(mcpage_settings.partial));
}

static ssize_t partial_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	return mcpage_choice_store(buf, count, mcpage_partial_names, NR_MCPAGE_PARTIALS,
				   &mcpage_settings.partial);
}

static struct kobj_attribute partial_attr = __ATTR_RW(partial);

static struct attribute *mcpage_lazyfree_attrs[] = {
	&partial_attr.attr,
	NULL
};

static const struct attribute_group mcpage_lazyfree_group = {
	.name = "lazyfree",
	.attrs = mcpage_lazyfree_attrs,
};

static const struct attribute_group *mcpage_groups[] = {
	&mcpage_group,
	&mcpage_lazyfree_group,
	&mcpage_clear_group,
	NULL
};

/* -------- vma/<class>/ and order-<N>/ -------- */

/**
 * struct mcpage_dir - a directory for one class or one order
 * @kobj: the directory
 * @index: the class, or the order
 */
struct mcpage_dir {
	struct kobject kobj;
	unsigned int index;
};

static unsigned int mcpage_dir_index(struct kobject *kobj)
{
	return container_of(kobj, struct mcpage_dir, kobj)->index;
}

static void mcpage_dir_release(struct kobject *kobj)
{
	kfree(container_of(kobj, struct mcpage_dir, kobj));
}

static ssize_t class_orders_show(struct kobject *kobj,
				 struct kobj_attribute *attr, char *buf)
{
	unsigned int class = mcpage_dir_index(kobj);

	return mcpage_orders_show(buf, READ_ONCE(mcpage_settings.class_orders[class]));
}

static ssize_t class_orders_store(struct kobject *kobj,
				  struct kobj_attribute *attr, const char *buf,
				  size_t count)
{
	unsigned int class = mcpage_dir_index(kobj);

	return mcpage_orders_store(buf, count, &mcpage_settings.class_orders[class]);
}

static struct kobj_attribute class_orders_attr =
	__ATTR(orders, 0644, class_orders_show, class_orders_store);

static struct attribute *mcpage_class_attrs[] = {
	&class_orders_attr.attr,
	NULL
};
ATTRIBUTE_GROUPS(mcpage_class);

static const struct kobj_type mcpage_class_ktype = {
	.release = mcpage_dir_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = mcpage_class_groups,
};

static ssize_t size_kb_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%lu\n", (PAGE_SIZE << mcpage_dir_index(kobj)) / SZ_1K);
}

static struct kobj_attribute size_kb_attr = __ATTR_RO(size_kb);

static struct attribute *mcpage_size_attrs[] = {
	&size_kb_attr.attr,
	NULL
};

static const struct attribute_group mcpage_size_group = {
	.attrs = mcpage_size_attrs,
};

#define MCPAGE_STAT_ATTR(_name, _item)					\
static ssize_t _name##_show(struct kobject *kobj,			\
			    struct kobj_attribute *attr, char *buf)	\
{									\
	return sysfs_emit(buf, "%lu\n",					\
			  mcpage_stat_read(mcpage_dir_index(kobj), _item)); \
}									\
static struct kobj_attribute _name##_attr = __ATTR_RO(_name)

MCPAGE_STAT_ATTR(alloc, MCPAGE_STAT_ALLOC);
MCPAGE_STAT_ATTR(fallback, MCPAGE_STAT_FALLBACK);
MCPAGE_STAT_ATTR(charge_failed, MCPAGE_STAT_CHARGE_FAILED);
MCPAGE_STAT_ATTR(page_table_populated, MCPAGE_STAT_PAGE_TABLE_POPULATED);
MCPAGE_STAT_ATTR(unstable_address_space, MCPAGE_STAT_UNSTABLE_ADDRESS_SPACE);
MCPAGE_STAT_ATTR(unaligned, MCPAGE_STAT_UNALIGNED);
MCPAGE_STAT_ATTR(short, MCPAGE_STAT_SHORT);
MCPAGE_STAT_ATTR(lazyfree, MCPAGE_STAT_LAZYFREE);
MCPAGE_STAT_ATTR(lazyfree_partial, MCPAGE_STAT_LAZYFREE_PARTIAL);
MCPAGE_STAT_ATTR(lazyfree_reclaimed, MCPAGE_STAT_LAZYFREE_RECLAIMED);
MCPAGE_STAT_ATTR(lazyfree_redirtied, MCPAGE_STAT_LAZYFREE_REDIRTIED);

static struct attribute *mcpage_stats_attrs[] = {
	&alloc_attr.attr,
	&fallback_attr.attr,
	&charge_failed_attr.attr,
	&page_table_populated_attr.attr,
	&unstable_address_space_attr.attr,
	&unaligned_attr.attr,
	&short_attr.attr,
	&lazyfree_attr.attr,
	&lazyfree_partial_attr.attr,
	&lazyfree_reclaimed_attr.attr,
	&lazyfree_redirtied_attr.attr,
	NULL
};

static const struct attribute_group mcpage_stats_group = {
	.name = "stats",
	.attrs = mcpage_stats_attrs,
};

static const struct attribute_group *mcpage_order_groups[] = {
	&mcpage_size_group,
	&mcpage_stats_group,
	NULL
};

static const struct kobj_type mcpage_order_ktype = {
	.release = mcpage_dir_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = mcpage_order_groups,
};

static int __init mcpage_add_dir(struct kobject *parent,
				 const struct kobj_type *type, unsigned int index,
				 const char *name)
{
	struct mcpage_dir *dir = kzalloc(sizeof(*dir), GFP_KERNEL);
	int err;

	if (!dir)
		return -ENOMEM;
	dir->index = index;
	err = kobject_init_and_add(&dir->kobj, type, parent, "%s", name);
	if (err)
		kobject_put(&dir->kobj);
	return err;
}

VISIBLE_IF_KUNIT struct kobject *mcpage_kobj;

static int __init mcpage_sysfs_init(void)
{
	static const char * const classes[NR_MCPAGE_CLASSES] = {
		[MCPAGE_HEAP]	= "heap",
		[MCPAGE_STACK]	= "stack",
		[MCPAGE_MMAP]	= "mmap",
	};
	unsigned long orders = mcpage_valid_orders();
	struct kobject *vma_kobj;
	char name[sizeof("order-63")];
	unsigned int i;
	int err;

	mcpage_kobj = kobject_create_and_add("mcpage", mm_kobj);
	if (!mcpage_kobj)
		return -ENOMEM;
	err = sysfs_create_groups(mcpage_kobj, mcpage_groups);
	if (err)
		goto fail;

	err = -ENOMEM;
	vma_kobj = kobject_create_and_add("vma", mcpage_kobj);
	if (!vma_kobj)
		goto fail;
	for (i = 0; i < NR_MCPAGE_CLASSES; i++) {
		err = mcpage_add_dir(vma_kobj, &mcpage_class_ktype, i, classes[i]);
		if (err)
			goto fail;
	}
	for_each_set_bit(i, &orders, BITS_PER_LONG) {
		snprintf(name, sizeof(name), "order-%u", i);
		err = mcpage_add_dir(mcpage_kobj, &mcpage_order_ktype, i, name);
		if (err)
			goto fail;
	}
	return 0;

fail:
	/*
	 * At boot, with the directories added so far left in place: they work,
	 * and this much memory is missing only if nothing else will run.
	 */
	pr_err("sysfs: incomplete, error %d\n", err);
	return err;
}
subsys_initcall(mcpage_sysfs_init);
