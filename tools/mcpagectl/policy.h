/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The policy of the calling process.
 */
#ifndef MCPAGECTL_POLICY_H
#define MCPAGECTL_POLICY_H

int policy_get(unsigned long *value);
int policy_set(unsigned long value);

#endif /* MCPAGECTL_POLICY_H */
