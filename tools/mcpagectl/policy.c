// SPDX-License-Identifier: GPL-2.0-only
/*
 * The policy of the calling process, by prctl().
 */
#include <errno.h>
#include <sys/prctl.h>

#include "linux/mcpage.h"

#include "policy.h"

/**
 * policy_get() - ask for the process policy
 * @value: takes it; PR_MCPAGE_UNSET if there is none
 *
 * Return: 0, or a negative error; -EINVAL is a kernel without mcpage.
 */
int policy_get(unsigned long *value)
{
	int ret = prctl(PR_GET_MCPAGE, (unsigned long)PR_MCPAGE_PROCESS, 0UL,
			0UL, 0UL);

	if (ret < 0)
		return -errno;
	*value = ret;
	return 0;
}

/**
 * policy_set() - set the process policy
 * @value: orders and flags
 *
 * Return: 0, or a negative error.
 */
int policy_set(unsigned long value)
{
	if (prctl(PR_SET_MCPAGE, (unsigned long)PR_MCPAGE_PROCESS, value, 0UL,
		  0UL))
		return -errno;
	return 0;
}
