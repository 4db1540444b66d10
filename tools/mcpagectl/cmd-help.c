// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpagectl help: what the tables in main.c and in the commands say.
 */
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>

#include <json-c/json.h>

#include "mcpagectl.h"

static void print_opts(const struct opt *opts)
{
	char name[64];

	for (; opts && opts->name; opts++) {
		snprintf(name, sizeof(name), "--%s%s%s", opts->name,
			 opts->arg ? " " : "", opts->arg ? opts->arg : "");
		if (opts->key < 0x100)
			printf("  -%c, %-18s %s\n", opts->key, name,
			       opts->help);
		else
			printf("      %-18s %s\n", name, opts->help);
	}
}

static void print_all(void)
{
	const struct cmd *const *c;

	puts("Usage: mcpagectl [OPTION...] COMMAND [ARGUMENT...]\n\n"
	     "See and set which block orders back anonymous memory.\n\n"
	     "Commands:");
	for (c = cmds; *c; c++) {
		if (!(*c)->hidden)
			printf("  %-10s %s\n", (*c)->name, (*c)->summary);
	}
	puts("\nOptions, before or after COMMAND:");
	print_opts(global_opts);
	puts("\nSizes (64K, 2M) and orders (4, 9) are both understood, in lists (16K,64K)\n"
	     "and ranges (2-4).\n\n"
	     "Exit status: 0 done, 1 failed, 2 wrong usage, 3 this kernel has no mcpage.\n\n"
	     "mcpagectl help COMMAND tells more about one command.");
}

static void print_cmd(const struct cmd *cmd)
{
	printf("Usage: mcpagectl [OPTION...] %s%s%s\n\n%c%s.\n", cmd->name,
	       *cmd->args ? " " : "", cmd->args, toupper(*cmd->summary),
	       cmd->summary + 1);
	if (cmd->text)
		printf("\n%s\n", cmd->text);
	if (cmd->opts) {
		puts("\nOptions:");
		print_opts(cmd->opts);
	}
	puts("\nCommon options:");
	print_opts(global_opts);
}

static void json_opts(struct json_object *doc, const struct opt *opts)
{
	struct json_object *list = json_object_new_array(), *o;
	char letter[2] = "";

	for (; opts && opts->name; opts++) {
		o = json_object_new_object();
		json_add_string(o, "name", opts->name);
		if (opts->key < 0x100) {
			*letter = opts->key;
			json_add_string(o, "short", letter);
		}
		if (opts->arg)
			json_add_string(o, "argument", opts->arg);
		json_add_string(o, "help", opts->help);
		json_object_array_add(list, o);
	}
	json_object_object_add(doc, "options", list);
}

static struct json_object *json_cmd(const struct cmd *cmd)
{
	struct json_object *o = json_object_new_object();

	json_add_string(o, "name", cmd->name);
	json_add_string(o, "arguments", cmd->args);
	json_add_string(o, "summary", cmd->summary);
	if (cmd->text)
		json_add_string(o, "text", cmd->text);
	json_opts(o, cmd->opts);
	return o;
}

static void json_all(void)
{
	struct json_object *doc = json_object_new_object();
	struct json_object *list = json_object_new_array();
	const struct cmd *const *c;

	for (c = cmds; *c; c++) {
		if (!(*c)->hidden)
			json_object_array_add(list, json_cmd(*c));
	}
	json_object_object_add(doc, "commands", list);
	json_opts(doc, global_opts);
	json_emit(doc);
}

static int do_help(int argc, char **argv)
{
	const struct cmd *cmd;

	optind = 0;
	if (opt_next(argc, argv, &cmd_help) != -1)
		return ST_USAGE;
	if (argc - optind > 1)
		return fail(ST_USAGE, "help takes one command");
	if (optind == argc) {
		if (json_output)
			json_all();
		else
			print_all();
		return ST_OK;
	}

	cmd = cmd_find(argv[optind]);
	if (!cmd || cmd->hidden)
		return fail(ST_USAGE,
			    "unknown command '%s'; see mcpagectl help",
			    argv[optind]);
	if (json_output)
		json_emit(json_cmd(cmd));
	else
		print_cmd(cmd);
	return ST_OK;
}

static void complete(int index, char **argv)
{
	const struct cmd *const *c;

	for (c = cmds; *c && !index; c++) {
		if (!(*c)->hidden)
			puts((*c)->name);
	}
}

const struct cmd cmd_help = {
	.name = "help",
	.args = "[COMMAND]",
	.summary = "list the commands, or explain one",
	.run = do_help,
	.complete = complete,
};
