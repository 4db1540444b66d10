// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpagectl get: a system setting or counter.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include <json-c/json.h>

#include "mcpagectl.h"
#include "sysfs.h"
#include "value.h"

static int do_get(int argc, char **argv)
{
	struct json_object *doc;
	const char *file;
	int status, ret;
	char *text;

	optind = 0;
	if (opt_next(argc, argv, &cmd_get) != -1)
		return ST_USAGE;
	if (argc - optind != 1)
		return fail(ST_USAGE,
			    "one file is needed, such as enabled; see mcpagectl help get");
	file = argv[optind];

	status = sysfs_check();
	if (status)
		return status;
	ret = sysfs_read(file, &text);
	if (ret)
		return sysfs_read_failed(file, ret);
	if (json_output) {
		doc = json_object_new_object();
		json_add_string(doc, "file", file);
		value_json(doc, file, text);
		json_emit(doc);
	} else {
		value_print(file, text);
	}
	free(text);
	return ST_OK;
}

static void complete(int index, char **argv)
{
	char **list, **p;

	if (index)
		return;
	list = sysfs_list(false);
	for (p = list; *p; p++)
		puts(*p);
	sysfs_list_free(list);
}

const struct cmd cmd_get = {
	.name = "get",
	.args = "FILE",
	.summary = "print a system setting or counter",
	.text = "FILE is a path below /sys/kernel/mm/mcpage, such as enabled,\n"
		"vma/stack/orders or order-4/stats/alloc. Of a choice the active token is\n"
		"printed, of an order set the sizes.",
	.run = do_get,
	.complete = complete,
};
