// SPDX-License-Identifier: GPL-2.0-only
/*
 * Printing the value of a sysfs file by its kind.
 *
 * A file whose content is not what its kind says, as a newer kernel's may
 * be, is printed as it is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "mcpagectl.h"
#include "sysfs.h"
#include "value.h"

/**
 * value_print() - print a value so that it can be given to `set`
 * @file: where it comes from
 * @text: what the file holds
 */
void value_print(const char *file, const char *text)
{
	char orders[ORDERS_TEXT];
	struct choice c;
	unsigned int set;
	struct geom g;

	switch (setting_kind(file)) {
	case KIND_CHOICE:
		if (choice_parse(text, &c))
			puts(c.token[c.active]);
		else
			puts(text);
		choice_free(&c);
		break;
	case KIND_ORDERS:
		geom_load(&g);
		if (orders_parse_kernel(text, &set)) {
			orders_format(&g, set, orders, sizeof(orders));
			puts(orders);
		} else {
			puts(text);
		}
		break;
	default:
		puts(text);
	}
}

static void json_lines(struct json_object *doc, const char *text)
{
	struct json_object *list = json_object_new_array();
	char *copy = xstrdup(text), *token, *save;

	for (token = strtok_r(copy, "\n", &save); token;
	     token = strtok_r(NULL, "\n", &save))
		json_object_array_add(list, json_object_new_string(token));
	free(copy);
	json_object_object_add(doc, "value", list);
}

static bool json_choice(struct json_object *doc, const char *text)
{
	struct json_object *list;
	struct choice c;
	bool ok;
	int i;

	ok = choice_parse(text, &c);
	if (ok) {
		json_add_string(doc, "value", c.token[c.active]);
		list = json_object_new_array();
		for (i = 0; i < c.n; i++)
			json_object_array_add(list, json_object_new_string(c.token[i]));
		json_object_object_add(doc, "choices", list);
	}
	choice_free(&c);
	return ok;
}

static bool json_number(struct json_object *doc, const char *text)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno || end == text || *end)
		return false;
	json_object_object_add(doc, "value", json_object_new_uint64(number));
	return true;
}

/**
 * value_json() - add a value to a document, as "value"
 * @doc: the document
 * @file: where it comes from
 * @text: what the file holds
 */
void value_json(struct json_object *doc, const char *file, const char *text)
{
	unsigned int set;

	switch (setting_kind(file)) {
	case KIND_CHOICE:
		if (json_choice(doc, text))
			return;
		break;
	case KIND_ORDERS:
		if (orders_parse_kernel(text, &set)) {
			json_add_orders(doc, "value", set);
			return;
		}
		break;
	case KIND_NUMBER:
		if (json_number(doc, text))
			return;
		break;
	case KIND_LINES:
		json_lines(doc, text);
		return;
	case KIND_RAW:
		break;
	}
	json_add_string(doc, "value", text);
}
