// SPDX-License-Identifier: GPL-2.0-only
/*
 * Answers mcpage's prctl() calls as a kernel would, so that the tests need
 * none. The environment's MCPAGE_STUB says which kernel:
 *
 *	none	one without mcpage (also if it is unset)
 *	ok	one where the process has no policy
 *	sealed	one where it has a sealed policy of orders 2 to 4
 *	refuse	one that takes no policy
 *	fixed	one that does not have the adaptive mode
 *	denied	one that a system call filter stands before
 *	lost	one that forgets a policy's flags
 *
 * What was set goes to the file MCPAGE_STUB_LOG.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "linux/mcpage.h"

#include "stub-prctl.h"

#define SEALED_ORDERS	0x1cUL

static unsigned long policy = PR_MCPAGE_UNSET;

static int refuse(int error)
{
	errno = error;
	return -1;
}

static void log_value(unsigned long value)
{
	const char *path = getenv("MCPAGE_STUB_LOG");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (f) {
		fprintf(f, "%#lx\n", value);
		fclose(f);
	}
}

static int set(const char *kernel, unsigned long value)
{
	if (!strcmp(kernel, "refuse") ||
	    (!strcmp(kernel, "fixed") && value & PR_MCPAGE_ADAPTIVE))
		return refuse(EINVAL);
	if (!strcmp(kernel, "sealed") &&
	    (!(value & PR_MCPAGE_SEAL) ||
	     value & PR_MCPAGE_ORDERS & ~SEALED_ORDERS))
		return refuse(EPERM);
	policy = value;
	if (!strcmp(kernel, "lost"))
		policy &= PR_MCPAGE_ORDERS;
	log_value(value);
	return 0;
}

int __wrap_prctl(int option, ...)
{
	const char *kernel = getenv("MCPAGE_STUB");
	unsigned long arg[4];
	va_list ap;
	int i;

	va_start(ap, option);
	for (i = 0; i < 4; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);

	if (option != PR_GET_MCPAGE && option != PR_SET_MCPAGE)
		return __real_prctl(option, arg[0], arg[1], arg[2], arg[3]);
	if (!kernel || !strcmp(kernel, "none") ||
	    arg[0] != PR_MCPAGE_PROCESS || arg[2] || arg[3])
		return refuse(EINVAL);
	if (!strcmp(kernel, "denied"))
		return refuse(EPERM);
	if (!strcmp(kernel, "sealed") && policy == PR_MCPAGE_UNSET)
		policy = SEALED_ORDERS | PR_MCPAGE_INHERIT | PR_MCPAGE_SEAL;
	if (option == PR_GET_MCPAGE)
		return arg[1] ? refuse(EINVAL) : (int)policy;
	return set(kernel, arg[1]);
}
