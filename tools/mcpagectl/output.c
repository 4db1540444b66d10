// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages, and the one JSON document that a command prints.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "mcpagectl.h"

bool json_output, json_pretty;

/* A kernel tool has nothing better to do without memory than to say so. */
void *xrealloc(void *p, size_t size)
{
	p = realloc(p, size);
	if (!p) {
		fputs("mcpagectl: out of memory\n", stderr);
		exit(ST_FAIL);
	}
	return p;
}

char *xstrdup(const char *s)
{
	size_t n = strlen(s) + 1;

	return memcpy(xrealloc(NULL, n), s, n);
}

/**
 * json_emit() - print @doc as the whole output and free it
 * @doc: the document
 */
void json_emit(struct json_object *doc)
{
	int flags = JSON_C_TO_STRING_NOSLASHESCAPE;

	if (json_pretty)
		flags |= JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED;
	puts(json_object_to_json_string_ext(doc, flags));
	json_object_put(doc);
}

void json_add_string(struct json_object *doc, const char *key,
		     const char *value)
{
	json_object_object_add(doc, key, json_object_new_string(value));
}

void json_add_orders(struct json_object *doc, const char *key,
		     unsigned int set)
{
	struct json_object *list = json_object_new_array();
	int i;

	for (i = 0; i <= ORDER_LIMIT; i++) {
		if (set & (1U << i))
			json_object_array_add(list, json_object_new_int(i));
	}
	json_object_object_add(doc, key, list);
}

/**
 * fail() - report the error that ends the command
 * @status: the exit status
 * @fmt: a sentence without a full stop
 *
 * With --json, what failed is the document, so that a program need not read
 * stderr as well.
 *
 * Return: @status.
 */
int fail(int status, const char *fmt, ...)
{
	struct json_object *doc;
	char *text;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = xstrdup(fmt);
	va_end(ap);

	fprintf(stderr, "mcpagectl: %s\n", text);
	if (json_output) {
		doc = json_object_new_object();
		json_add_string(doc, "error", text);
		json_emit(doc);
	}
	free(text);
	return status;
}

/**
 * warn() - say on stderr what the user should know; the command goes on
 * @fmt: a sentence without a full stop
 */
void warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("mcpagectl: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

/**
 * output_close() - make sure that what was printed has arrived
 * @status: the exit status so far
 *
 * Return: @status, or a failure if stdout is full or closed.
 */
int output_close(int status)
{
	if (!ferror(stdout) && !fflush(stdout))
		return status;
	/* Not fail(): the document that it would print has nowhere to go. */
	warn("cannot write the output: %s", strerror(errno));
	return status ? status : ST_FAIL;
}
