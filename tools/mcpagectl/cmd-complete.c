// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpagectl __complete: what the shell's completion asks.
 *
 * It goes by the tables that parsing goes by, so that the shell's script
 * knows no command, option or setting.
 */
#include <stdio.h>
#include <string.h>

#include "mcpagectl.h"
#include "sysfs.h"

void complete_size(void)
{
	struct geom g;
	char size[24];
	int i;

	geom_load(&g);
	for (i = 2; i <= ORDER_LIMIT; i++) {
		if (!(g.valid & (1U << i)))
			continue;
		size_format(1ULL << (g.page_shift + i), size, sizeof(size));
		puts(size);
	}
	puts("none");
}

void complete_orders(void)
{
	complete_size();
	puts("all");
}

static void print_opts(const struct opt *opts)
{
	for (; opts && opts->name; opts++)
		printf("--%s\n", opts->name);
}

static const struct opt *find_opt(const struct opt *opts, const char *word)
{
	for (; opts && opts->name; opts++) {
		if (!strncmp(word, "--", 2) && !strcmp(word + 2, opts->name))
			return opts;
	}
	return NULL;
}

/* The option whose argument comes after @word, if any. */
static const struct opt *takes_arg(const struct cmd *cmd, const char *word)
{
	const struct opt *opt = find_opt(global_opts, word);

	if (!opt && cmd)
		opt = find_opt(cmd->opts, word);
	return opt && opt->arg ? opt : NULL;
}

static void complete_arg(const struct opt *opt)
{
	if (opt->complete)
		opt->complete();
	else
		puts(":directory");
}

static void complete_word(const struct cmd *cmd, const char *word, int args,
			  char **argv)
{
	if (*word == '-') {
		if (cmd)
			print_opts(cmd->opts);
		print_opts(global_opts);
	} else if (!cmd) {
		cmd_help.complete(0, NULL);
	} else if (cmd->complete) {
		cmd->complete(args, argv);
	}
}

/*
 * The words are those of the command line up to the cursor, the last one
 * unfinished. Candidates are printed one a line, or ":directory", or
 * ":command N" where word N is another program's name or comes after it.
 */
static int do_complete(int argc, char **argv)
{
	const struct cmd *cmd = NULL;
	const struct opt *opt;
	char *args[8];
	int i, n = 0;

	for (i = 1; i < argc - 1; i++) {
		const char *word = argv[i];

		opt = takes_arg(cmd, word);
		if (opt && i == argc - 2) {
			complete_arg(opt);
			return ST_OK;
		}
		if (opt) {
			if (!strcmp(word, "--sysfs-root"))
				sysfs_root = argv[i + 1];
			i++;
		} else if (cmd == &cmd_run && !strcmp(word, "--")) {
			printf(":command %d\n", i + 1);
			return ST_OK;
		} else if (cmd == &cmd_run && *word != '-') {
			printf(":command %d\n", i);
			return ST_OK;
		} else if (!cmd && *word != '-') {
			cmd = cmd_find(word);
			if (!cmd)
				return ST_OK;
		} else if (cmd && *word != '-' && n < (int)ARRAY_SIZE(args)) {
			args[n++] = argv[i];
		}
	}
	if (argc > 1 && cmd == &cmd_run && *argv[argc - 1] != '-')
		printf(":command %d\n", argc - 1);
	else if (argc > 1)
		complete_word(cmd, argv[argc - 1], n, args);
	return ST_OK;
}

const struct cmd cmd_complete = {
	.name = "__complete",
	.args = "WORD...",
	.summary = "print candidates for the last WORD of a command line",
	.starts = true,
	.run = do_complete,
	.hidden = true,
};
