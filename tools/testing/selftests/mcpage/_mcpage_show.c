// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the tests execute: prints the policy that a program starts with and
 * whether the kernel took the exec for a privileged one. With an argument, what
 * becomes of an attempt to set that value first.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include <linux/mcpage.h>

int main(int argc, char **argv)
{
	unsigned long value;
	int ret, err = 0;

	if (argc > 1) {
		value = strtoul(argv[1], NULL, 0);
		if (prctl(PR_SET_MCPAGE, (unsigned long)PR_MCPAGE_PROCESS, value,
			  0UL, 0UL))
			err = errno;
	}
	ret = prctl(PR_GET_MCPAGE, (unsigned long)PR_MCPAGE_PROCESS, 0UL, 0UL, 0UL);
	printf("%#x %d %lu\n", ret, err, getauxval(AT_SECURE));
	return 0;
}
