/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Printing the value of a sysfs file by its kind.
 */
#ifndef MCPAGECTL_VALUE_H
#define MCPAGECTL_VALUE_H

struct json_object;

void value_print(const char *file, const char *text);
void value_json(struct json_object *doc, const char *file, const char *text);

#endif /* MCPAGECTL_VALUE_H */
