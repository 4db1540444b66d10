// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpagectl run: start a program with a process policy.
 *
 * There is no fork: the policy is set here and the program takes this
 * process over, so that its pid, signals and exit status are its own. That
 * is also why the policy is always one that survives exec.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "linux/mcpage.h"

#include "mcpagectl.h"
#include "policy.h"
#include "sysfs.h"

enum { KEY_ORDERS = 0x200, KEY_MAX, KEY_INHERIT, KEY_SEAL, KEY_ADAPTIVE };

static const struct opt opts[] = {
	{ .name = "orders", .key = KEY_ORDERS, .arg = "LIST",
	  .help = "allow blocks of these sizes; none, 0 or 4K: single pages only",
	  .complete = complete_orders },
	{ .name = "max", .key = KEY_MAX, .arg = "SIZE",
	  .help = "allow blocks of each size up to this",
	  .complete = complete_size },
	{ .name = "inherit", .key = KEY_INHERIT,
	  .help = "what CMD starts keeps the policy (always so)" },
	{ .name = "seal", .key = KEY_SEAL,
	  .help = "CMD and what it starts may only narrow the policy" },
	{ .name = "adaptive", .key = KEY_ADAPTIVE,
	  .help = "grow blocks as memory is used in sequence" },
	{ .name = NULL }
};

/* What the user asked for. */
struct request {
	const char *orders;
	const char *max;
	unsigned long flags;
};

static bool parse_opts(int argc, char **argv, struct request *req)
{
	int key;

	optind = 0;
	while ((key = opt_next(argc, argv, &cmd_run)) != -1) {
		switch (key) {
		case KEY_ORDERS:
			req->orders = optarg;
			break;
		case KEY_MAX:
			req->max = optarg;
			break;
		case KEY_INHERIT:
			break;
		case KEY_SEAL:
			req->flags |= PR_MCPAGE_SEAL;
			break;
		case KEY_ADAPTIVE:
			req->flags |= PR_MCPAGE_ADAPTIVE;
			break;
		default:
			return false;
		}
	}
	if (req->orders && req->max) {
		fail(ST_USAGE, "--orders and --max exclude each other");
		return false;
	}
	if (optind < argc)
		return true;
	fail(ST_USAGE, "run needs a command to start; see mcpagectl help run");
	return false;
}

static bool parse_set(const struct geom *g, const struct request *req,
		      unsigned int *set)
{
	char why[512];
	bool ok = true;

	if (req->orders)
		ok = orders_parse(g, req->orders, set, why, sizeof(why));
	else if (req->max)
		ok = orders_parse_max(g, req->max, set, why, sizeof(why));
	else
		*set = g->valid;
	if (!ok)
		fail(ST_USAGE, "%s", why);
	return ok;
}

/* A policy that the system's settings make void must not go unnoticed. */
static int check_enabled(void)
{
	struct choice c;
	bool never;

	if (!sysfs_read_choice("enabled", &c))
		return ST_OK;
	never = !strcmp(c.token[c.active], "never");
	choice_free(&c);
	if (!never)
		return ST_OK;
	return fail(ST_FAIL,
		    "not permitted: mcpage is switched off on this system (enabled is never), so no policy would have effect");
}

static void warn_narrower(const struct geom *g, unsigned int want,
			  bool explicit)
{
	/* The stack's set is empty by default: no news. */
	static const char *const class[] = { "heap", "mmap" };
	char a[ORDERS_TEXT], b[ORDERS_TEXT], file[32];
	unsigned int set, left = want;
	size_t i;

	if (!sysfs_read_orders("orders", &set))
		return;
	left &= set;
	orders_format(g, want, a, sizeof(a));
	orders_format(g, left, b, sizeof(b));
	if (left != want && (explicit || !left))
		warn("of %s the system's orders allow %s", a, b);

	for (i = 0; i < ARRAY_SIZE(class); i++) {
		snprintf(file, sizeof(file), "vma/%s/orders", class[i]);
		if (!sysfs_read_orders(file, &set) || !(left & ~set))
			continue;
		orders_format(g, left & set, b, sizeof(b));
		if (explicit || !(left & set))
			warn("of %s the orders for %s memory allow %s", a,
			     class[i], b);
	}
}

static bool has_adaptive(void)
{
	struct choice c;
	bool found = false;
	int i;

	if (!sysfs_read_choice("mode", &c))
		return true;
	for (i = 0; i < c.n; i++)
		found |= !strcmp(c.token[i], "adaptive");
	choice_free(&c);
	return found;
}

static int set_failed(const struct geom *g, unsigned long before,
		      unsigned long value, int error)
{
	char orders[ORDERS_TEXT];

	if (error == -EINVAL && value & PR_MCPAGE_ADAPTIVE && !has_adaptive())
		return fail(ST_FAIL,
			    "this kernel does not have the adaptive mode");
	orders_format(g, before & PR_MCPAGE_ORDERS, orders, sizeof(orders));
	if (error == -EPERM && before & PR_MCPAGE_SEAL &&
	    !(before & PR_MCPAGE_UNSET))
		return fail(ST_FAIL,
			    "not permitted: the policy of this process is sealed and can only be narrowed (it allows %s)",
			    orders);
	return fail(ST_FAIL, "the kernel refuses the policy: %s",
		    strerror(-error));
}

static int set_policy(const struct geom *g, unsigned long value)
{
	unsigned long before, after;
	int ret;

	ret = policy_get(&before);
	if (ret == -EINVAL)
		return fail(ST_UNSUPPORTED,
			    "unsupported: this kernel has no mcpage");
	if (ret)
		return fail(ST_FAIL, "cannot ask for the policy: %s",
			    strerror(-ret));
	ret = check_enabled();
	if (ret)
		return ret;

	/* A sealed policy can be replaced by a sealed one only. */
	if (!(before & PR_MCPAGE_UNSET))
		value |= before & PR_MCPAGE_SEAL;
	ret = policy_set(value);
	if (ret)
		return set_failed(g, before, value, ret);
	ret = policy_get(&after);
	if (ret)
		return fail(ST_FAIL, "cannot verify the policy: %s",
			    strerror(-ret));
	if (after != value)
		return fail(ST_FAIL,
			    "the policy did not take: %#lx was set, but the kernel has %#lx",
			    value, after);
	return ST_OK;
}

/* As execvp() finds it. */
static bool find_program(const char *name, char *path, size_t len)
{
	const char *dir = getenv("PATH"), *end;

	if (strchr(name, '/'))
		return snprintf(path, len, "%s", name) < (int)len;
	for (dir = dir ? dir : "/bin:/usr/bin"; ; dir = end + 1) {
		end = strchrnul(dir, ':');
		if (snprintf(path, len, "%.*s%s%s", (int)(end - dir), dir,
			     end > dir ? "/" : "", name) < (int)len &&
		    !access(path, X_OK))
			return true;
		if (!*end)
			return false;
	}
}

/* The kernel drops a policy that the caller would force on such a program. */
static void warn_privileged(const char *name)
{
	char path[4096];
	struct stat st;

	if (!find_program(name, path, sizeof(path)) || stat(path, &st) ||
	    prctl(PR_GET_NO_NEW_PRIVS, 0UL, 0UL, 0UL, 0UL) == 1)
		return;
	if ((st.st_mode & S_ISUID && st.st_uid != getuid()) ||
	    (st.st_mode & S_ISGID && st.st_mode & 0010 &&
	     st.st_gid != getgid()) ||
	    (getuid() && getxattr(path, "security.capability", NULL, 0) > 0))
		warn("%s gains privileges when it starts, so it will run without the policy",
		     path);
}

static int do_run(int argc, char **argv)
{
	struct request req = { .flags = PR_MCPAGE_INHERIT };
	unsigned int set;
	struct geom g;
	int status;

	if (!parse_opts(argc, argv, &req))
		return ST_USAGE;
	geom_load(&g);
	if (!parse_set(&g, &req, &set))
		return ST_USAGE;
	status = set_policy(&g, set | req.flags);
	if (status)
		return status;
	warn_narrower(&g, set, req.orders || req.max);
	warn_privileged(argv[optind]);

	execvp(argv[optind], argv + optind);
	status = errno == ENOENT ? ST_NOENT : ST_NOEXEC;
	return fail(status, "cannot run '%s': %s", argv[optind],
		    strerror(errno));
}

const struct cmd cmd_run = {
	.name = "run",
	.args = "[--orders LIST | --max SIZE] [--inherit] [--seal] [--adaptive] -- CMD [ARG...]",
	.summary = "start CMD with a policy of its own",
	.text = "CMD takes the place of mcpagectl: its pid, arguments, environment, signals and\n"
		"exit status are its own. It and all that it starts keep the policy, which\n"
		"can only narrow what the system allows. Without --orders and --max each\n"
		"valid size is allowed.\n\n"
		"  mcpagectl run --orders 16K,64K -- redis-server\n"
		"  mcpagectl run --max 64K --seal -- make\n"
		"  mcpagectl run --orders none -- CMD        single pages only\n\n"
		"The policy is read back before CMD starts; if it is not what was set, or if\n"
		"the system has mcpage switched off, CMD is not started. The exit status is\n"
		"then 1, 2 or 3 as for other commands; 126 if CMD was found but cannot be\n"
		"run, 127 if it was not found.",
	.opts = opts,
	.starts = true,
	.run = do_run,
};
