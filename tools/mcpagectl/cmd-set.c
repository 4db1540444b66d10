// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpagectl set: change a system setting.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "mcpagectl.h"
#include "sysfs.h"
#include "value.h"

static int choice_value(const char *file, const char *old, const char *value)
{
	char tokens[1024] = "";
	struct choice c;
	int i, status = ST_OK;

	/* Where only one token is seen the kernel must decide. */
	if (choice_parse(old, &c) && c.n > 1) {
		for (i = 0; i < c.n && strcmp(c.token[i], value); i++) {
			strncat(tokens, i ? ", " : "",
				sizeof(tokens) - strlen(tokens) - 1);
			strncat(tokens, c.token[i],
				sizeof(tokens) - strlen(tokens) - 1);
		}
		if (i == c.n)
			status = fail(ST_USAGE,
				      "'%s' is no value of %s here; valid are %s",
				      value, file, tokens);
	}
	choice_free(&c);
	return status;
}

/* What the kernel shall be given for what the user wrote. */
static int kernel_value(const char *file, const char *old, const char *value,
			char *buf, size_t len)
{
	char why[512];
	unsigned int set;
	struct geom g;

	switch (setting_kind(file)) {
	case KIND_ORDERS:
		geom_load(&g);
		if (!orders_parse(&g, value, &set, why, sizeof(why)))
			return fail(ST_USAGE, "%s", why);
		orders_format_kernel(set, buf, len);
		return ST_OK;
	case KIND_CHOICE:
		if (choice_value(file, old, value))
			return ST_USAGE;
		break;
	default:
		break;
	}
	if (snprintf(buf, len, "%s", value) >= (int)len)
		return fail(ST_USAGE, "the value of %s is too long", file);
	return ST_OK;
}

static bool same_value(const char *file, const char *written,
		       const char *text)
{
	unsigned int a, b;
	struct choice c;
	bool same;

	switch (setting_kind(file)) {
	case KIND_ORDERS:
		return orders_parse_kernel(written, &a) &&
		       orders_parse_kernel(text, &b) && a == b;
	case KIND_CHOICE:
		same = choice_parse(text, &c) &&
		       !strcmp(c.token[c.active], written);
		choice_free(&c);
		return same;
	default:
		/* A number may read back in another form. */
		return true;
	}
}

static int write_failed(const char *file, const char *value, int error)
{
	if (error == -EINVAL)
		return fail(ST_FAIL,
			    "the kernel refuses '%s' for %s; the old value stays",
			    value, file);
	if (error == -EACCES || error == -EPERM)
		return fail(ST_FAIL,
			    "no permission to write %s/%s: system settings are root's to change",
			    sysfs_root, file);
	return fail(ST_FAIL, "cannot write %s/%s: %s", sysfs_root, file,
		    strerror(-error));
}

static int write_verified(const char *file, const char *old,
			  const char *value)
{
	char buf[1024], *text;
	struct json_object *doc;
	int status, ret;

	status = kernel_value(file, old, value, buf, sizeof(buf));
	if (status)
		return status;
	ret = sysfs_write(file, buf);
	if (ret)
		return write_failed(file, value, ret);
	ret = sysfs_read(file, &text);
	if (ret)
		return sysfs_read_failed(file, ret);

	if (!same_value(file, buf, text)) {
		status = fail(ST_FAIL, "%s was set to '%s' but reads '%s'",
			      file, buf, text);
	} else if (json_output) {
		doc = json_object_new_object();
		json_add_string(doc, "file", file);
		value_json(doc, file, text);
		json_emit(doc);
	}
	free(text);
	return status;
}

static int do_set(int argc, char **argv)
{
	const char *file, *value;
	int status, ret;
	char *old;

	optind = 0;
	if (opt_next(argc, argv, &cmd_set) != -1)
		return ST_USAGE;
	if (argc - optind != 2)
		return fail(ST_USAGE,
			    "a file and a value are needed, such as enabled always; see mcpagectl help set");
	file = argv[optind];
	value = argv[optind + 1];

	status = sysfs_check();
	if (status)
		return status;
	ret = sysfs_read(file, &old);
	if (ret)
		return sysfs_read_failed(file, ret);
	if (!sysfs_writable(file))
		status = fail(ST_FAIL, "%s can be read only", file);
	else if (strchr(value, '\n'))
		status = fail(ST_USAGE, "a value is one line");
	else
		status = write_verified(file, old, value);
	free(old);
	return status;
}

static void complete_value(const char *file)
{
	struct choice c;
	int i;

	switch (setting_kind(file)) {
	case KIND_ORDERS:
		complete_orders();
		break;
	case KIND_CHOICE:
		if (!sysfs_read_choice(file, &c))
			break;
		for (i = 0; i < c.n; i++)
			puts(c.token[i]);
		choice_free(&c);
		break;
	default:
		break;
	}
}

static void complete(int index, char **argv)
{
	char **list, **p;

	if (index == 1)
		complete_value(argv[0]);
	if (index)
		return;
	list = sysfs_list(true);
	for (p = list; *p; p++)
		puts(*p);
	sysfs_list_free(list);
}

const struct cmd cmd_set = {
	.name = "set",
	.args = "FILE VALUE",
	.summary = "change a system setting",
	.text = "FILE is a path below /sys/kernel/mm/mcpage. An order set is given as sizes\n"
		"or orders, or as all or none:\n\n"
		"  mcpagectl set enabled always\n"
		"  mcpagectl set orders 16K,64K\n"
		"  mcpagectl set vma/stack/orders 2-4\n\n"
		"A value that the kernel does not take leaves the old one. Memory that is\n"
		"already there stays as it is.",
	.run = do_set,
	.complete = complete,
};
