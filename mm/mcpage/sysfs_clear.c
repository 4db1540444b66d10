// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage: /sys/kernel/mm/mcpage/clear.
 */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/kobject.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "internal.h"

/* The names of the methods that there are, and "" for the others. */
static void mcpage_clear_choices(const char **names)
{
	unsigned int methods = mcpage_clear_methods(), i;

	for (i = 0; i < NR_MCPAGE_CLEAR_METHODS; i++)
		names[i] = methods & BIT(i) ? mcpage_clear_names[i] : "";
}

static ssize_t method_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	const char *names[NR_MCPAGE_CLEAR_METHODS];

	mcpage_clear_choices(names);
	return mcpage_choice_show(buf, names, NR_MCPAGE_CLEAR_METHODS,
				  READ_ONCE(mcpage_clear_settings.method));
}

static ssize_t method_store(struct kobject *kobj, struct kobj_attribute *attr,
			    const char *buf, size_t count)
{
	const char *names[NR_MCPAGE_CLEAR_METHODS];
	int method, err;

	mcpage_clear_choices(names);
	method = mcpage_choice_parse(buf, count, names, NR_MCPAGE_CLEAR_METHODS);
	if (method < 0)
		return method;
	err = mcpage_clear_set(method);
	return err ?: count;
}

/* A length in KiB, of whole pages. */
static ssize_t mcpage_kb_store(const char *buf, size_t count, unsigned int min_kb,
			       unsigned int max_kb, unsigned int *setting)
{
	unsigned int kb;
	int err;

	/* The parser takes text to end at a NUL, and a sign for part of a number. */
	if (!isdigit(*buf) || memchr(buf, '\0', count))
		return -EINVAL;
	err = kstrtouint(buf, 10, &kb);
	if (err)
		return -EINVAL;
	if (kb < min_kb || kb > max_kb || kb % (PAGE_SIZE / SZ_1K))
		return -EINVAL;
	mutex_lock(&mcpage_settings_lock);
	WRITE_ONCE(*setting, kb);
	mutex_unlock(&mcpage_settings_lock);
	return count;
}

static ssize_t cached_kb_show(struct kobject *kobj, struct kobj_attribute *attr,
			      char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(mcpage_clear_settings.cached_kb));
}

static ssize_t cached_kb_store(struct kobject *kobj, struct kobj_attribute *attr,
			       const char *buf, size_t count)
{
	return mcpage_kb_store(buf, count, 0, MCPAGE_CLEAR_MAX_KB,
			       &mcpage_clear_settings.cached_kb);
}

static ssize_t chunk_kb_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(mcpage_clear_settings.chunk_kb));
}

static ssize_t chunk_kb_store(struct kobject *kobj, struct kobj_attribute *attr,
			      const char *buf, size_t count)
{
	return mcpage_kb_store(buf, count, MCPAGE_CLEAR_PAGE_KB,
			       MCPAGE_CLEAR_MAX_KB,
			       &mcpage_clear_settings.chunk_kb);
}

static ssize_t stats_show(struct kobject *kobj, struct kobj_attribute *attr,
			  char *buf)
{
	unsigned int methods = mcpage_clear_methods() & MCPAGE_CLEAR_ALL, i;
	ssize_t len = 0;

	for (i = 0; i < NR_MCPAGE_CLEAR_METHODS; i++) {
		u64 calls, bytes;

		if (!(methods & BIT(i)))
			continue;
		mcpage_clear_stat_read(i, &calls, &bytes);
		len += sysfs_emit_at(buf, len, "%s %llu %llu\n", mcpage_clear_names[i],
				     calls, bytes);
	}
	return len;
}

static ssize_t measured_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	ssize_t len;

	mutex_lock(&mcpage_settings_lock);
	len = mcpage_clear_measured_show(buf);
	mutex_unlock(&mcpage_settings_lock);
	return len;
}

static struct kobj_attribute method_attr = __ATTR_RW(method);
static struct kobj_attribute cached_kb_attr = __ATTR_RW(cached_kb);
static struct kobj_attribute chunk_kb_attr = __ATTR_RW(chunk_kb);
static struct kobj_attribute stats_attr = __ATTR_RO(stats);
static struct kobj_attribute measured_attr = __ATTR_RO(measured);

static struct attribute *mcpage_clear_attrs[] = {
	&method_attr.attr,
	&cached_kb_attr.attr,
	&chunk_kb_attr.attr,
	&stats_attr.attr,
	&measured_attr.attr,
	NULL
};

const struct attribute_group mcpage_clear_group = {
	.name = "clear",
	.attrs = mcpage_clear_attrs,
};
