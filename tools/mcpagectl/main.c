// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpagectl: see and set which block orders back anonymous memory.
 *
 * This file: the command table and the options, which are common to all.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mcpagectl.h"
#include "sysfs.h"

const struct cmd *const cmds[] = {
	&cmd_status, &cmd_features, &cmd_get, &cmd_set, &cmd_run, &cmd_stats,
	&cmd_help, &cmd_version, &cmd_complete, NULL
};

enum { KEY_SYSFS_ROOT = 0x100 };

const struct opt global_opts[] = {
	{ .name = "json", .key = 'j',
	  .help = "print one JSON document" },
	{ .name = "pretty", .key = 'p',
	  .help = "print it indented; implies --json" },
	{ .name = "sysfs-root", .key = KEY_SYSFS_ROOT, .arg = "DIR",
	  .help = "look for mcpage's files in DIR, not " SYSFS_ROOT },
	{ .name = "help", .key = 'h',
	  .help = "print help, also on the command before it" },
	{ .name = "version", .key = 'V',
	  .help = "print the version" },
	{ .name = NULL }
};

const struct cmd *cmd_find(const char *name)
{
	const struct cmd *const *c;

	for (c = cmds; *c; c++) {
		if (!strcmp((*c)->name, name))
			return *c;
	}
	return NULL;
}

static const struct opt *opt_find(const struct opt *opts, const char *name,
				  size_t n)
{
	for (; opts && opts->name; opts++) {
		if (strlen(opts->name) == n && !strncmp(opts->name, name, n))
			return opts;
	}
	return NULL;
}

#define OPTS_MAX	24

/* getopt's two tables, built from ours. */
struct opt_tables {
	struct option longs[OPTS_MAX + 1];
	char shorts[2 * OPTS_MAX + 3];
	int n;
};

static void opt_tables_add(struct opt_tables *t, const struct opt *opts)
{
	char *p = t->shorts + strlen(t->shorts);

	for (; opts && opts->name && t->n < OPTS_MAX; opts++) {
		t->longs[t->n++] = (struct option) {
			.name = opts->name,
			.has_arg = opts->arg ? required_argument : no_argument,
			.val = opts->key,
		};
		if (opts->key < 0x100) {
			*p++ = opts->key;
			if (opts->arg)
				*p++ = ':';
		}
	}
	*p = '\0';
}

/* Scripts would come to depend on the abbreviations that getopt takes. */
static bool opt_abbreviated(const char *word, const struct opt *opts)
{
	size_t n;

	if (!word || strncmp(word, "--", 2) || !word[2])
		return false;
	word += 2;
	n = strcspn(word, "=");
	return !opt_find(opts, word, n) && !opt_find(global_opts, word, n);
}

/* The word that getopt will look at next, if it is an option. */
static const char *next_option(char **argv, bool stop)
{
	while (*argv && (**argv != '-' || !(*argv)[1])) {
		if (stop)
			return NULL;
		argv++;
	}
	return *argv;
}

static int help_or_version(int key, const struct cmd *cmd)
{
	const char *argv[3] = { key == 'V' ? "version" : "help" };
	int status;

	if (key == 'V') {
		status = cmd_version.run(1, (char **)argv);
	} else {
		argv[1] = cmd ? cmd->name : NULL;
		status = cmd_help.run(cmd ? 2 : 1, (char **)argv);
	}
	exit(output_close(status));
}

/**
 * opt_next() - get a command's next option
 * @argc: of the command
 * @argv: of the command; parsing starts at its second word
 * @cmd: the command; NULL for the options before it
 *
 * Options that are common to all commands are dealt with here. Set optind
 * to 0 before the first call. Where the words may be another command's, parsing
 * stops at the first that is no option.
 *
 * Return: the option's key with optarg set, -1 at the end, or '?' after an
 * error was reported.
 */
int opt_next(int argc, char **argv, const struct cmd *cmd)
{
	const struct opt *opts = cmd ? cmd->opts : NULL;
	bool stop = !cmd || cmd->starts;
	struct opt_tables t = { .n = 0 };
	const char *word, *of = cmd ? cmd->name : "", *sp = cmd ? " " : "";
	int key;

	snprintf(t.shorts, sizeof(t.shorts), "%s:", stop ? "+" : "");
	opt_tables_add(&t, opts);
	opt_tables_add(&t, global_opts);
	opterr = 0;

	for (;;) {
		word = next_option(argv + (optind ? optind : 1), stop);
		if (opt_abbreviated(word, opts)) {
			fail(ST_USAGE,
			     "unknown option '%s'; see mcpagectl help%s%s",
			     word, sp, of);
			return '?';
		}
		key = getopt_long(argc, argv, t.shorts, t.longs, NULL);
		switch (key) {
		case 'j':
			json_output = true;
			break;
		case 'p':
			json_output = true;
			json_pretty = true;
			break;
		case KEY_SYSFS_ROOT:
			sysfs_root = optarg;
			break;
		case 'h':
		case 'V':
			help_or_version(key, cmd);
			break;
		case ':':
			fail(ST_USAGE,
			     "option '%s' needs an argument; see mcpagectl help%s%s",
			     argv[optind - 1], sp, of);
			return '?';
		case '?':
			/* A short one may sit in a word with others. */
			if (optopt && optopt < 0x100 &&
			    (!word || strncmp(word, "--", 2)))
				fail(ST_USAGE,
				     "unknown option '-%c'; see mcpagectl help%s%s",
				     optopt, sp, of);
			else
				fail(ST_USAGE,
				     "option '%s' takes no argument; see mcpagectl help%s%s",
				     word, sp, of);
			return '?';
		default:
			return key;
		}
	}
}

/**
 * args_none() - parse the words of a command that has only common options
 * @argc: of the command
 * @argv: of the command
 *
 * Return: false after an error was reported.
 */
bool args_none(int argc, char **argv)
{
	optind = 0;
	if (opt_next(argc, argv, cmd_find(argv[0])) != -1)
		return false;
	if (optind == argc)
		return true;
	fail(ST_USAGE, "%s takes no argument, but got '%s'", argv[0],
	     argv[optind]);
	return false;
}

/*
 * The error document must be JSON also where the option for it comes after
 * the word that is wrong, so look ahead; a program's own words are not ours.
 */
static void look_for_json(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], cmd_run.name))
			break;
		if (!strcmp(argv[i], "-j") || !strcmp(argv[i], "--json"))
			json_output = true;
	}
}

int main(int argc, char **argv)
{
	const struct cmd *cmd;

	look_for_json(argc, argv);
	optind = 0;
	if (opt_next(argc, argv, NULL) != -1)
		return output_close(ST_USAGE);
	argc -= optind;
	argv += optind;
	if (!argc)
		return output_close(fail(ST_USAGE,
					 "a command is missing; see mcpagectl help"));

	cmd = cmd_find(argv[0]);
	if (!cmd)
		return output_close(fail(ST_USAGE,
					 "unknown command '%s'; see mcpagectl help",
					 argv[0]));
	return output_close(cmd->run(argc, argv));
}
