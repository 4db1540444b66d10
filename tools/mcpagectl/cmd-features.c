// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpagectl features: the integrations that this kernel has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "mcpagectl.h"
#include "sysfs.h"

static int do_features(int argc, char **argv)
{
	struct json_object *doc, *list;
	char *text, *token, *save;
	int status, ret;

	if (!args_none(argc, argv))
		return ST_USAGE;
	status = sysfs_check();
	if (status)
		return status;
	ret = sysfs_read("features", &text);
	if (ret)
		return sysfs_read_failed("features", ret);

	if (!json_output) {
		if (*text)
			puts(text);
		free(text);
		return ST_OK;
	}
	list = json_object_new_array();
	for (token = strtok_r(text, "\n", &save); token;
	     token = strtok_r(NULL, "\n", &save))
		json_object_array_add(list, json_object_new_string(token));
	doc = json_object_new_object();
	json_object_object_add(doc, "features", list);
	json_emit(doc);
	free(text);
	return ST_OK;
}

const struct cmd cmd_features = {
	.name = "features",
	.args = "",
	.summary = "list the integrations that this kernel has, one a line",
	.run = do_features,
};
