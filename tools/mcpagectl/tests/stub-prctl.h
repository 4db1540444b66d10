/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the linker's --wrap=prctl makes of calls and definition.
 */
#ifndef MCPAGECTL_STUB_PRCTL_H
#define MCPAGECTL_STUB_PRCTL_H

int __real_prctl(int option, ...);
int __wrap_prctl(int option, ...);

#endif /* MCPAGECTL_STUB_PRCTL_H */
