// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpagectl status: what is on, and what is not and why.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "linux/mcpage.h"

#include "mcpagectl.h"
#include "policy.h"
#include "sysfs.h"

static const char *const class_name[] = { "heap", "stack", "mmap" };

/* The tokens that mcpage has at most; a kernel may lack some. */
static const struct {
	const char *file;
	const char *token;
	const char *why;
} tokens[] = {
	{ "mode", "adaptive", "this kernel does not have it" },
	{ "backing", "folio",
	  "this kernel is built without transparent huge pages" },
	{ "backing", "pages", "this kernel does not have it" },
	{ "effort", "direct", "this kernel does not have it" },
	{ "effort", "never", "this kernel does not have it" },
};

enum { CH_ENABLED, CH_MODE, CH_BACKING, CH_EFFORT, CH_COUNT };

static const char *const choice_file[CH_COUNT] = {
	"enabled", "mode", "backing", "effort",
};

struct state {
	struct geom g;
	struct choice choice[CH_COUNT];
	unsigned int orders;
	unsigned int class[ARRAY_SIZE(class_name)];
	char *features;
	unsigned long policy;
	bool has_policy;		/* that it could be asked for */
	struct json_object *inactive;
};

static void __printf(3, 4) inactive(struct state *s, const char *what,
				    const char *fmt, ...)
{
	struct json_object *o = json_object_new_object();
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	json_add_string(o, "what", what);
	json_add_string(o, "why", why);
	json_object_array_add(s->inactive, o);
}

static bool choice_is(const struct choice *c, const char *token)
{
	return c->text && !strcmp(c->token[c->active], token);
}

static bool choice_has(const struct choice *c, const char *token)
{
	int i;

	for (i = 0; c->text && i < c->n; i++) {
		if (!strcmp(c->token[i], token))
			return true;
	}
	return false;
}

/* A file that a kernel does not have is no error; one that is bad is. */
static int load_choice(const char *file, struct choice *c)
{
	char *text;
	int ret;

	ret = sysfs_read(file, &text);
	if (ret)
		return ret == -ENOENT ? ST_OK : sysfs_read_failed(file, ret);
	if (choice_parse(text, c)) {
		free(text);
		return ST_OK;
	}
	choice_free(c);
	ret = fail(ST_FAIL, "%s holds '%s', which has no active token", file,
		   text);
	free(text);
	return ret;
}

static int load_orders(const char *file, unsigned int *set)
{
	char *text;
	int ret;

	ret = sysfs_read(file, &text);
	if (ret)
		return sysfs_read_failed(file, ret);
	ret = ST_OK;
	if (!orders_parse_kernel(text, set))
		ret = fail(ST_FAIL, "%s holds '%s', which is no list of orders",
			   file, text);
	free(text);
	return ret;
}

static int load(struct state *s)
{
	char file[32];
	int status;
	size_t i;

	geom_load(&s->g);
	for (i = 0; i < CH_COUNT; i++) {
		status = load_choice(choice_file[i], &s->choice[i]);
		if (status)
			return status;
	}
	if (!s->choice[CH_ENABLED].text)
		return sysfs_read_failed("enabled", -ENOENT);
	status = load_orders("orders", &s->orders);
	for (i = 0; i < ARRAY_SIZE(class_name) && !status; i++) {
		snprintf(file, sizeof(file), "vma/%s/orders", class_name[i]);
		status = load_orders(file, &s->class[i]);
	}
	if (status)
		return status;
	if (sysfs_read("features", &s->features))
		s->features = NULL;
	s->has_policy = !policy_get(&s->policy);
	return ST_OK;
}

static void find_inactive_classes(struct state *s)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(class_name); i++) {
		if (s->class[i] & s->orders)
			continue;
		if (!s->class[i])
			inactive(s, class_name[i], "its set of orders is empty");
		else
			inactive(s, class_name[i],
				 "its set has no order of the system's");
	}
}

static void find_inactive(struct state *s)
{
	const struct choice *c = s->choice;
	size_t i, j;

	if (choice_is(&c[CH_ENABLED], "never"))
		inactive(s, "all", "enabled is never, and nothing overrides that");
	else if (!s->orders)
		inactive(s, "all", "the system's set of orders is empty");
	else
		find_inactive_classes(s);
	if (choice_is(&c[CH_ENABLED], "advise"))
		inactive(s, "memory without a policy",
			 "enabled is advise: a process (mcpagectl run) or a mapping must ask");

	for (i = CH_MODE; i < CH_COUNT; i++) {
		for (j = 0; j < ARRAY_SIZE(tokens); j++) {
			char what[32];

			if (strcmp(choice_file[i], tokens[j].file) ||
			    choice_has(&c[i], tokens[j].token))
				continue;
			snprintf(what, sizeof(what), "%s %s", tokens[j].file,
				 tokens[j].token);
			inactive(s, what, "%s", tokens[j].why);
		}
	}
}

static void add_choice(struct json_object *doc, const char *key,
		       const struct choice *c)
{
	if (c->text)
		json_add_string(doc, key, c->token[c->active]);
	else
		json_object_object_add(doc, key, NULL);
}

static void add_flag(struct json_object *doc, const char *key, bool value)
{
	json_object_object_add(doc, key, json_object_new_boolean(value));
}

static struct json_object *json_policy(const struct state *s)
{
	struct json_object *o;

	if (!s->has_policy || s->policy & PR_MCPAGE_UNSET)
		return NULL;
	o = json_object_new_object();
	json_object_object_add(o, "value", json_object_new_uint64(s->policy));
	json_add_orders(o, "orders", s->policy & PR_MCPAGE_ORDERS);
	add_flag(o, "inherit", s->policy & PR_MCPAGE_INHERIT);
	add_flag(o, "seal", s->policy & PR_MCPAGE_SEAL);
	add_flag(o, "adaptive", s->policy & PR_MCPAGE_ADAPTIVE);
	return o;
}

static void print_json(struct state *s)
{
	struct json_object *doc = json_object_new_object();
	struct json_object *classes = json_object_new_object();
	struct json_object *list = json_object_new_array(), *o;
	char *token, *save = NULL;
	size_t i;

	add_choice(doc, "enabled", &s->choice[CH_ENABLED]);
	json_object_object_add(doc, "page_size",
			       json_object_new_uint64(1ULL << s->g.page_shift));
	json_add_orders(doc, "valid_orders", s->g.valid);
	json_add_orders(doc, "orders", s->orders);
	for (i = 0; i < ARRAY_SIZE(class_name); i++) {
		o = json_object_new_object();
		json_add_orders(o, "orders", s->class[i]);
		json_add_orders(o, "effective", s->class[i] & s->orders);
		json_object_object_add(classes, class_name[i], o);
	}
	json_object_object_add(doc, "classes", classes);
	for (i = CH_MODE; i < CH_COUNT; i++)
		add_choice(doc, choice_file[i], &s->choice[i]);
	for (token = s->features ? strtok_r(s->features, "\n", &save) : NULL;
	     token; token = strtok_r(NULL, "\n", &save))
		json_object_array_add(list, json_object_new_string(token));
	json_object_object_add(doc, "features", list);
	json_object_object_add(doc, "policy", json_policy(s));
	json_object_object_add(doc, "inactive", json_object_get(s->inactive));
	json_emit(doc);
}

static void print_choice(const char *file, const struct choice *c)
{
	const char *sep = "";
	int i;

	if (!c->text)
		return;
	printf("%-9s %s", file, c->token[c->active]);
	if (c->n > 1)
		printf(" (or ");
	for (i = 0; i < c->n; i++) {
		if (i == c->active)
			continue;
		printf("%s%s", sep, c->token[i]);
		sep = ", ";
	}
	puts(c->n > 1 ? ")" : "");
}

static void print_policy(const struct state *s)
{
	char orders[ORDERS_TEXT];

	if (!s->has_policy)
		return;
	if (s->policy & PR_MCPAGE_UNSET) {
		puts("policy    none for this process");
		return;
	}
	orders_format(&s->g, s->policy & PR_MCPAGE_ORDERS, orders,
		      sizeof(orders));
	printf("policy    %s for this process%s%s\n", orders,
	       s->policy & PR_MCPAGE_SEAL ? ", sealed" : "",
	       s->policy & PR_MCPAGE_ADAPTIVE ? ", adaptive" : "");
}

static void print_inactive(const struct state *s)
{
	struct json_object *o;
	size_t i, n = json_object_array_length(s->inactive);

	if (n)
		puts("\nInactive:");
	for (i = 0; i < n; i++) {
		o = json_object_array_get_idx(s->inactive, i);
		printf("  %s: %s\n",
		       json_object_get_string(json_object_object_get(o, "what")),
		       json_object_get_string(json_object_object_get(o, "why")));
	}
}

static void print_text(struct state *s)
{
	char a[ORDERS_TEXT], b[24];
	char *p;
	size_t i;

	print_choice("enabled", &s->choice[CH_ENABLED]);
	orders_format(&s->g, s->orders, a, sizeof(a));
	printf("orders    %s\n", a);
	for (i = 0; i < ARRAY_SIZE(class_name); i++) {
		orders_format(&s->g, s->class[i] & s->orders, a, sizeof(a));
		printf("  %-7s %s\n", class_name[i], a);
	}
	for (i = CH_MODE; i < CH_COUNT; i++)
		print_choice(choice_file[i], &s->choice[i]);
	size_format(1ULL << s->g.page_shift, b, sizeof(b));
	orders_format(&s->g, s->g.valid, a, sizeof(a));
	printf("sizes     %s on pages of %s\n", a, b);
	print_policy(s);
	for (p = s->features; p && *p; p++) {
		if (*p == '\n')
			*p = ' ';
	}
	if (s->features)
		printf("features  %s\n", *s->features ? s->features : "none");
	print_inactive(s);
}

static int do_status(int argc, char **argv)
{
	struct state s = { .features = NULL };
	int ret, i;

	if (!args_none(argc, argv))
		return ST_USAGE;
	ret = sysfs_check();
	if (ret)
		return ret;
	s.inactive = json_object_new_array();
	ret = load(&s);
	if (!ret) {
		find_inactive(&s);
		if (json_output)
			print_json(&s);
		else
			print_text(&s);
	}
	for (i = 0; i < CH_COUNT; i++)
		choice_free(&s.choice[i]);
	free(s.features);
	json_object_put(s.inactive);
	return ret;
}

const struct cmd cmd_status = {
	.name = "status",
	.args = "",
	.summary = "show what is on, for which sizes, and what is inactive and why",
	.text = "For heap, stack and mmap memory the sizes shown are those that the system's set\n"
		"and their own both allow. The policy is that of mcpagectl itself, as its\n"
		"parent handed it down.",
	.run = do_status,
};
