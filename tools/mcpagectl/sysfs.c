// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading and writing mcpage's sysfs files.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mcpagectl.h"
#include "policy.h"
#include "sysfs.h"

const char *sysfs_root = SYSFS_ROOT;

/* A file that is not here is shown and written as it is. */
static const struct {
	const char *pattern;
	enum kind kind;
} settings[] = {
	{ "enabled",			KIND_CHOICE },
	{ "orders",			KIND_ORDERS },
	{ "vma/*/orders",		KIND_ORDERS },
	{ "mode",			KIND_CHOICE },
	{ "backing",			KIND_CHOICE },
	{ "effort",			KIND_CHOICE },
	{ "features",			KIND_LINES },
	{ "order-[0-9]*/size_kb",	KIND_NUMBER },
	{ "order-[0-9]*/stats/*",	KIND_NUMBER },
};

enum kind setting_kind(const char *file)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(settings); i++) {
		if (!fnmatch(settings[i].pattern, file, FNM_PATHNAME))
			return settings[i].kind;
	}
	return KIND_RAW;
}

/**
 * choice_parse() - take a list of tokens apart
 * @text: "always [advise] never"; a lone token counts as the active one
 * @c: the result; give it to choice_free() in any case
 *
 * Return: false if not exactly one token is active.
 */
bool choice_parse(const char *text, struct choice *c)
{
	char *token, *save;
	size_t n;

	c->text = xstrdup(text);
	c->n = 0;
	c->active = -1;
	for (token = strtok_r(c->text, " ", &save); token;
	     token = strtok_r(NULL, " ", &save)) {
		if (c->n == CHOICES_MAX)
			return false;
		n = strlen(token);
		if (n > 2 && *token == '[' && token[n - 1] == ']') {
			if (c->active >= 0)
				return false;
			token[n - 1] = '\0';
			token++;
			c->active = c->n;
		}
		if (strpbrk(token, "[]"))
			return false;
		c->token[c->n++] = token;
	}
	if (c->n == 1)
		c->active = 0;
	return c->active >= 0;
}

void choice_free(struct choice *c)
{
	free(c->text);
	c->text = NULL;
}

/* @file is the user's: it must not lead out of the directory. */
static bool name_ok(const char *file)
{
	const char *p = file;

	if (!*file || *file == '/')
		return false;
	while (p) {
		if (*p == '/')
			p++;
		if (!strncmp(p, "..", 2) && (!p[2] || p[2] == '/'))
			return false;
		p = strchr(p, '/');
	}
	return true;
}

static int file_path(const char *file, char *path)
{
	struct stat st;

	if (!name_ok(file) ||
	    snprintf(path, PATH_MAX, "%s/%s", sysfs_root, file) >= PATH_MAX)
		return -ENOENT;
	if (stat(path, &st))
		return -errno;
	/* Neither a directory nor what would block, such as a FIFO. */
	return S_ISREG(st.st_mode) ? 0 : -ENOENT;
}

/**
 * sysfs_check() - see whether there is an mcpage to talk to
 *
 * Return: ST_OK, or the exit status of what it reported.
 */
int sysfs_check(void)
{
	unsigned long value;
	struct stat st;

	if (!stat(sysfs_root, &st) && S_ISDIR(st.st_mode))
		return ST_OK;
	/* In an initramfs it may be sysfs that is missing. */
	if (!policy_get(&value))
		return fail(ST_FAIL,
			    "this kernel has mcpage, but %s is not there; is sysfs mounted?",
			    sysfs_root);
	return fail(ST_UNSUPPORTED,
		    "this kernel has no mcpage: %s does not exist",
		    sysfs_root);
}

/**
 * sysfs_read() - read a file
 * @file: its name below the root
 * @text: takes the content without the newline at its end; to be freed
 *
 * Return: 0, or a negative error with @text unset.
 */
int sysfs_read(const char *file, char **text)
{
	size_t size = 4096, used = 0;
	char path[PATH_MAX], *buf;
	ssize_t n;
	int fd, ret;

	ret = file_path(file, path);
	if (ret)
		return ret;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;

	buf = xrealloc(NULL, size);
	while ((n = read(fd, buf + used, size - used - 1))) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			ret = -errno;
			break;
		}
		used += n;
		if (size - used < 2) {
			size *= 2;
			buf = xrealloc(buf, size);
		}
	}
	close(fd);
	if (ret) {
		free(buf);
		return ret;
	}
	while (used && buf[used - 1] == '\n')
		used--;
	buf[used] = '\0';
	*text = buf;
	return 0;
}

/**
 * sysfs_write() - write a value, in one write() as sysfs needs it
 * @file: its name below the root
 * @value: the value without a newline
 *
 * Return: 0, or a negative error.
 */
int sysfs_write(const char *file, const char *value)
{
	char path[PATH_MAX], *line;
	int fd, ret, len;
	ssize_t n;

	ret = file_path(file, path);
	if (ret)
		return ret;
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return -errno;

	len = asprintf(&line, "%s\n", value);
	if (len < 0) {
		close(fd);
		return -ENOMEM;
	}
	n = write(fd, line, len);
	if (n < 0)
		ret = -errno;
	else if (n != len)
		ret = -EIO;
	free(line);
	if (close(fd) && !ret)
		ret = -errno;
	return ret;
}

bool sysfs_writable(const char *file)
{
	char path[PATH_MAX];
	struct stat st;

	return !file_path(file, path) && !stat(path, &st) &&
	       st.st_mode & 0222;
}

struct list {
	char **names;
	size_t n;
};

static void list_add(struct list *list, const char *name)
{
	list->names = xrealloc(list->names,
			       (list->n + 2) * sizeof(*list->names));
	list->names[list->n++] = xstrdup(name);
	list->names[list->n] = NULL;
}

static void list_dir(struct list *list, const char *sub, bool settings_only)
{
	char path[PATH_MAX], name[PATH_MAX];
	struct dirent *entry;
	struct stat st;
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s/%s", sysfs_root, sub) >=
	    PATH_MAX)
		return;
	dir = opendir(path);
	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		if (snprintf(name, sizeof(name), "%s%s%s", sub,
			     *sub ? "/" : "", entry->d_name) >= PATH_MAX ||
		    snprintf(path, sizeof(path), "%s/%s", sysfs_root, name) >=
		    PATH_MAX || lstat(path, &st))
			continue;
		if (S_ISDIR(st.st_mode)) {
			if (!settings_only || strncmp(name, "order-", 6))
				list_dir(list, name, settings_only);
		} else if (S_ISREG(st.st_mode)) {
			if (!settings_only || st.st_mode & 0222)
				list_add(list, name);
		}
	}
	closedir(dir);
}

static int name_cmp(const void *a, const void *b)
{
	/* By version, so that order-10 comes after order-9. */
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

/**
 * sysfs_list() - list the files
 * @settings_only: only those that can be written
 *
 * Return: their names below the root, sorted, with NULL at the end; give it
 * to sysfs_list_free().
 */
char **sysfs_list(bool settings_only)
{
	struct list list = { .names = NULL };

	list.names = xrealloc(NULL, sizeof(*list.names));
	list.names[0] = NULL;
	list_dir(&list, "", settings_only);
	qsort(list.names, list.n, sizeof(*list.names), name_cmp);
	return list.names;
}

void sysfs_list_free(char **list)
{
	char **p;

	for (p = list; *p; p++)
		free(*p);
	free(list);
}

/**
 * sysfs_read_failed() - report that a file could not be read
 * @file: its name
 * @error: what sysfs_read() returned
 *
 * Return: ST_FAIL.
 */
int sysfs_read_failed(const char *file, int error)
{
	char **list, **p, *names;
	size_t len = 1;
	int ret;

	if (error != -ENOENT && error != -ENOTDIR)
		return fail(ST_FAIL, "cannot read %s/%s: %s", sysfs_root,
			    file, strerror(-error));

	list = sysfs_list(true);
	for (p = list; *p; p++)
		len += strlen(*p) + 2;
	names = xrealloc(NULL, len);
	*names = '\0';
	for (p = list; *p; p++) {
		strcat(names, p == list ? "" : ", ");
		strcat(names, *p);
	}
	ret = fail(ST_FAIL, "this kernel has no mcpage file '%s'; the settings are %s",
		   file, *names ? names : "none");
	free(names);
	sysfs_list_free(list);
	return ret;
}

/* Both are for files that a kernel may not have: no report. */
bool sysfs_read_choice(const char *file, struct choice *c)
{
	char *text;
	bool ok;

	c->text = NULL;
	if (sysfs_read(file, &text))
		return false;
	ok = choice_parse(text, c);
	free(text);
	if (!ok)
		choice_free(c);
	return ok;
}

bool sysfs_read_orders(const char *file, unsigned int *set)
{
	char *text;
	bool ok;

	if (sysfs_read(file, &text))
		return false;
	ok = orders_parse_kernel(text, set);
	free(text);
	return ok;
}

/* The highest order a huge page of the page table's next level has. */
static unsigned int pmd_order(unsigned int page_shift)
{
	unsigned long size = 0;
	unsigned int order = 2;
	char path[PATH_MAX];
	FILE *f;

	if (snprintf(path, sizeof(path),
		     "%s/../transparent_hugepage/hpage_pmd_size",
		     sysfs_root) < PATH_MAX) {
		f = fopen(path, "re");
		if (f) {
			if (fscanf(f, "%lu", &size) != 1)
				size = 0;
			fclose(f);
		}
	}
	if (!size)
		size = 2UL << 20;
	while (order < ORDER_LIMIT && 1UL << (page_shift + order) < size)
		order++;
	return order;
}

/**
 * geom_load() - learn the page size and the valid orders
 * @g: takes them
 *
 * The kernel has a directory for each valid order. Where there is none, as
 * without sysfs, all up to a huge page's are taken.
 */
void geom_load(struct geom *g)
{
	struct dirent *entry;
	unsigned long order;
	char *end;
	DIR *dir;

	g->page_shift = __builtin_ctzl(sysconf(_SC_PAGESIZE));
	g->valid = 0;
	dir = opendir(sysfs_root);
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "order-", 6))
			continue;
		order = strtoul(entry->d_name + 6, &end, 10);
		if (!*end && order >= 2 && order <= ORDER_LIMIT)
			g->valid |= 1U << order;
	}
	if (dir)
		closedir(dir);
	if (!g->valid)
		g->valid = order_bits(2, pmd_order(g->page_shift));
}
