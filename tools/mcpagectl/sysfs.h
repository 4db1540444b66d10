/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files below /sys/kernel/mm/mcpage and what they hold.
 */
#ifndef MCPAGECTL_SYSFS_H
#define MCPAGECTL_SYSFS_H

#include "mcpagectl.h"

#define SYSFS_ROOT	"/sys/kernel/mm/mcpage"
#define CHOICES_MAX	32

/* Other values are printed and written as they are. */
enum kind {
	KIND_RAW,
	KIND_CHOICE,		/* always [advise] never */
	KIND_ORDERS,		/* 2-4,9 */
	KIND_NUMBER,
	KIND_LINES,		/* one token a line */
};

/**
 * struct choice - the content of a file with a list of tokens
 * @text: holds the tokens
 * @token: each of them
 * @n: how many there are
 * @active: index of the one in brackets
 */
struct choice {
	char *text;
	char *token[CHOICES_MAX];
	int n;
	int active;
};

extern const char *sysfs_root;

enum kind setting_kind(const char *file);
bool choice_parse(const char *text, struct choice *c);
void choice_free(struct choice *c);

int sysfs_check(void);
int sysfs_read(const char *file, char **text);
int sysfs_write(const char *file, const char *value);
bool sysfs_writable(const char *file);
char **sysfs_list(bool settings_only);
void sysfs_list_free(char **list);
int sysfs_read_failed(const char *file, int error);
bool sysfs_read_choice(const char *file, struct choice *c);
bool sysfs_read_orders(const char *file, unsigned int *set);
void geom_load(struct geom *g);

#endif /* MCPAGECTL_SYSFS_H */
