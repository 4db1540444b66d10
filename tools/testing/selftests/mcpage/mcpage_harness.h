/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mcpage selftests: the test harness as they use it.
 */
#ifndef MCPAGE_HARNESS_H
#define MCPAGE_HARNESS_H

#include "mcpage_util.h"
#include "../kselftest_harness.h"

/*
 * The limit is for what hangs. A debug kernel in an emulator on a busy machine
 * may take its time.
 */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 300

#endif /* MCPAGE_HARNESS_H */
