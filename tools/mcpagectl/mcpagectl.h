/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the commands of mcpagectl share.
 */
#ifndef MCPAGECTL_H
#define MCPAGECTL_H

#include <stdbool.h>
#include <stddef.h>

#include "orders.h"

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define __printf(fmt, args)	__attribute((format(printf, fmt, args)))

struct json_object;

/* Exit statuses, a promise to scripts; `run` adds those of env(1). */
enum status {
	ST_OK		= 0,
	ST_FAIL		= 1,
	ST_USAGE	= 2,
	ST_UNSUPPORTED	= 3,	/* the kernel has no mcpage */
	ST_NOEXEC	= 126,
	ST_NOENT	= 127,
};

/* main.c: the table that parsing, help, completion and the tests go by */

/**
 * struct opt - an option
 * @name: its long name
 * @arg: how help calls its argument; NULL if it takes none
 * @help: one line
 * @key: what opt_next() returns for it; a letter is its short name too
 * @complete: prints the argument's candidates
 */
struct opt {
	const char *name;
	const char *arg;
	const char *help;
	int key;
	void (*complete)(void);
};

/**
 * struct cmd - a command
 * @name: its name, matched whole
 * @args: its arguments, for the usage line
 * @summary: one line for the list of commands
 * @text: more, for its own help; may be NULL
 * @opts: its options, ended by a nameless one; may be NULL
 * @run: gets its arguments, its own name first; returns enum status
 * @complete: prints candidates for argument @index, the first being 0; the
 *	arguments before it are in @argv; may be NULL
 * @starts: its arguments are another program's, with options that are not ours
 * @hidden: no part of help
 */
struct cmd {
	const char *name;
	const char *args;
	const char *summary;
	const char *text;
	const struct opt *opts;
	int (*run)(int argc, char **argv);
	void (*complete)(int index, char **argv);
	bool starts;
	bool hidden;
};

extern const struct cmd *const cmds[];
extern const struct opt global_opts[];

const struct cmd *cmd_find(const char *name);
int opt_next(int argc, char **argv, const struct cmd *cmd);
bool args_none(int argc, char **argv);

extern const struct cmd cmd_complete, cmd_features, cmd_get, cmd_help, cmd_run,
			cmd_set, cmd_stats, cmd_status, cmd_version;

/* cmd-complete.c: the candidates for an order set, and for one size */
void complete_orders(void);
void complete_size(void);

/* output.c */

extern bool json_output, json_pretty;

int fail(int status, const char *fmt, ...) __printf(2, 3);
void warn(const char *fmt, ...) __printf(1, 2);
void json_emit(struct json_object *doc);
void json_add_orders(struct json_object *doc, const char *key,
		     unsigned int set);
void json_add_string(struct json_object *doc, const char *key,
		     const char *value);
int output_close(int status);
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *s);

#endif /* MCPAGECTL_H */
