// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that does next to nothing: what it costs is what it costs to start
 * and end a program.
 */
#include <stdio.h>

int main(void)
{
	return puts("hello, world") < 0;
}
