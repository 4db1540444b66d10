// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpagectl version
 */
#include <stdio.h>

#include <json-c/json.h>

#include "mcpagectl.h"

static int do_version(int argc, char **argv)
{
	struct json_object *doc;

	if (!args_none(argc, argv))
		return ST_USAGE;
	if (!json_output) {
		puts("mcpagectl " MCPAGECTL_VERSION);
		return ST_OK;
	}
	doc = json_object_new_object();
	json_add_string(doc, "version", MCPAGECTL_VERSION);
	json_emit(doc);
	return ST_OK;
}

const struct cmd cmd_version = {
	.name = "version",
	.args = "",
	.summary = "print the version of mcpagectl",
	.run = do_version,
};
