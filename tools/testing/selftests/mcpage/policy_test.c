// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: the values that prctl() takes, refuses and gives back, and
 * the seal.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "mcpage_harness.h"

/* Both scopes by one name. */
struct scope {
	const char *name;
	char *addr;
	size_t len;
};

static long scope_set(const struct scope *s, unsigned long value)
{
	return s->addr ? set_vma(s->addr, s->len, value) : set_process(value);
}

static long scope_get(const struct scope *s)
{
	return s->addr ? get_vma(s->addr) : get_process();
}

FIXTURE(scope)
{
	struct scope s;
	unsigned long flags;
};

FIXTURE_VARIANT(scope)
{
	bool vma;
};

FIXTURE_VARIANT_ADD(scope, process)
{
	.vma = false,
};

FIXTURE_VARIANT_ADD(scope, vma)
{
	.vma = true,
};

FIXTURE_SETUP(scope)
{
	if (not_testable())
		SKIP(return, "%s", not_testable());
	ASSERT_EQ(0, settings_begin());
	if (variant->vma) {
		self->s.len = MB(1);
		self->s.addr = map_region(self->s.len);
		ASSERT_NE(NULL, self->s.addr);
	} else {
		self->flags = PR_MCPAGE_INHERIT;
	}
}

FIXTURE_TEARDOWN_PARENT(scope)
{
	settings_end();
}

TEST_F(scope, unset_at_first)
{
	EXPECT_EQ(PR_MCPAGE_UNSET, scope_get(&self->s));
}

/* What is set is what is read, and UNSET is not the empty set. */
TEST_F(scope, round_trip)
{
	for (unsigned int i = 0; i < 16; i++) {
		if (!(valid_orders & BIT(i)))
			continue;
		EXPECT_EQ(0, scope_set(&self->s, BIT(i)));
		EXPECT_EQ(BIT(i), scope_get(&self->s));
		EXPECT_EQ(0, scope_set(&self->s, valid_orders & ~BIT(i)));
		EXPECT_EQ(valid_orders & ~BIT(i), scope_get(&self->s));
	}
	EXPECT_EQ(0, scope_set(&self->s, valid_orders | self->flags));
	EXPECT_EQ(valid_orders | self->flags, scope_get(&self->s));
	EXPECT_EQ(0, scope_set(&self->s, self->flags));
	EXPECT_EQ(self->flags, scope_get(&self->s));
	EXPECT_EQ(0, scope_set(&self->s, 0));
	EXPECT_EQ(0, scope_get(&self->s));
	EXPECT_EQ(0, scope_set(&self->s, PR_MCPAGE_UNSET));
	EXPECT_EQ(PR_MCPAGE_UNSET, scope_get(&self->s));
}

/*
 * What is not understood is refused and leaves the policy as it was: bit 0,
 * order 1, which no folio can have, orders above PMD_ORDER, unknown flags, and
 * UNSET with anything else.
 */
TEST_F(scope, bad_values)
{
	unsigned long known = valid_orders | PR_MCPAGE_ADAPTIVE |
			      (self->s.addr ? 0 : PR_MCPAGE_INHERIT | PR_MCPAGE_SEAL);
	unsigned long keep = BIT(4) | self->flags;

	ASSERT_EQ(0, valid_orders & (BIT(0) | BIT(1)));
	ASSERT_EQ(0, scope_set(&self->s, keep));
	for (unsigned int i = 0; i < 64; i++) {
		unsigned long bit = BIT(i);

		if (!(known & bit) && bit != PR_MCPAGE_UNSET) {
			EXPECT_EQ(-EINVAL, scope_set(&self->s, bit))
				TH_LOG("bit %u alone", i);
			EXPECT_EQ(-EINVAL, scope_set(&self->s, bit | BIT(4)))
				TH_LOG("bit %u and an order", i);
		}
		if (bit != PR_MCPAGE_UNSET) {
			EXPECT_EQ(-EINVAL, scope_set(&self->s, bit | PR_MCPAGE_UNSET))
				TH_LOG("bit %u and UNSET", i);
		}
		EXPECT_EQ(keep, scope_get(&self->s));
	}
	EXPECT_EQ(-EINVAL, scope_set(&self->s, ~0UL));
	EXPECT_EQ(keep, scope_get(&self->s));
}

/* The mode comes and goes with the value, and needs no order beside it. */
TEST_F(scope, adaptive)
{
	unsigned long with = self->flags | PR_MCPAGE_ADAPTIVE;

	EXPECT_EQ(0, scope_set(&self->s, BIT(4) | with));
	EXPECT_EQ(BIT(4) | with, scope_get(&self->s));
	EXPECT_EQ(0, scope_set(&self->s, BIT(4) | self->flags));
	EXPECT_EQ(BIT(4) | self->flags, scope_get(&self->s));
	EXPECT_EQ(0, scope_set(&self->s, with));
	EXPECT_EQ(with, scope_get(&self->s));
}

/* An order is valid by prctl() and in the order sets of sysfs, or by neither. */
TEST_F(scope, orders_as_in_sysfs)
{
	for (unsigned int i = 0; i < 16; i++) {
		bool valid = valid_orders & BIT(i);

		EXPECT_EQ(valid ? 0 : -EINVAL, scope_set(&self->s, BIT(i)));
		EXPECT_EQ(valid ? 0 : -EINVAL, mcpage_write_orders("orders", BIT(i)));
		EXPECT_EQ(valid ? 0 : -EINVAL,
			  mcpage_write_orders("vma/mmap/orders", BIT(i)));
	}
	EXPECT_EQ(BIT(pmd_order), valid_orders & BIT(pmd_order));
}

FIXTURE(process) {
	int unused;
};

FIXTURE_SETUP(process)
{
	if (not_testable())
		SKIP(return, "%s", not_testable());
	ASSERT_EQ(0, settings_begin());
}

FIXTURE_TEARDOWN_PARENT(process)
{
	settings_end();
}

static long raw(int option, unsigned long a2, unsigned long a3, unsigned long a4,
		unsigned long a5)
{
	return prctl(option, a2, a3, a4, a5) < 0 ? -errno : 0;
}

/* So that they can mean something later. */
TEST_F(process, unused_arguments)
{
	unsigned long addr = (unsigned long)map_region(MB(1));

	ASSERT_NE(0, addr);
	EXPECT_EQ(-EINVAL, raw(PR_SET_MCPAGE, PR_MCPAGE_PROCESS, BIT(4), 1, 0));
	EXPECT_EQ(-EINVAL, raw(PR_SET_MCPAGE, PR_MCPAGE_PROCESS, BIT(4), 0, 1));
	EXPECT_EQ(PR_MCPAGE_UNSET, get_process());
	EXPECT_EQ(-EINVAL, raw(PR_GET_MCPAGE, PR_MCPAGE_PROCESS, 1, 0, 0));
	EXPECT_EQ(-EINVAL, raw(PR_GET_MCPAGE, PR_MCPAGE_PROCESS, 0, 1, 0));
	EXPECT_EQ(-EINVAL, raw(PR_GET_MCPAGE, PR_MCPAGE_PROCESS, 0, 0, 1));
	EXPECT_EQ(-EINVAL, raw(PR_GET_MCPAGE, PR_MCPAGE_VMA, addr, page_size, 0));
	EXPECT_EQ(-EINVAL, raw(PR_GET_MCPAGE, PR_MCPAGE_VMA, addr, 0, 1));
	for (unsigned long scope = 2; scope; scope <<= 1) {
		EXPECT_EQ(-EINVAL, raw(PR_SET_MCPAGE, scope, 0, 0, 0));
		EXPECT_EQ(-EINVAL, raw(PR_GET_MCPAGE, scope, 0, 0, 0));
		EXPECT_EQ(-EINVAL, raw(PR_SET_MCPAGE, scope | 1, addr, MB(1), 16));
	}
	/* The upper half of the scope counts too. */
	EXPECT_EQ(-EINVAL, raw(PR_SET_MCPAGE, BIT(32), BIT(4), 0, 0));
	EXPECT_EQ(PR_MCPAGE_UNSET, get_process());
	EXPECT_EQ(PR_MCPAGE_UNSET, get_vma((void *)addr));
}

/* A launcher's limit cannot be undone, only narrowed. */
TEST_F(process, seal_narrows_only)
{
	unsigned long all = BIT(2) | BIT(4) | BIT(6) | PR_MCPAGE_SEAL;

	ASSERT_EQ(0, set_process(all));
	EXPECT_EQ(0, set_process(all));
	EXPECT_EQ(-EPERM, set_process(PR_MCPAGE_UNSET));
	EXPECT_EQ(-EPERM, set_process(all & ~PR_MCPAGE_SEAL));
	EXPECT_EQ(-EPERM, set_process(0));
	EXPECT_EQ(-EPERM, set_process(all | BIT(3)));
	EXPECT_EQ(-EPERM, set_process(BIT(9) | PR_MCPAGE_SEAL));
	EXPECT_EQ(-EINVAL, set_process(all | BIT(0)));
	EXPECT_EQ(all, get_process());

	EXPECT_EQ(0, set_process(BIT(2) | BIT(4) | PR_MCPAGE_SEAL));
	EXPECT_EQ(-EPERM, set_process(all));
	EXPECT_EQ(0, set_process(PR_MCPAGE_SEAL));
	EXPECT_EQ(-EPERM, set_process(BIT(2) | PR_MCPAGE_SEAL));
	EXPECT_EQ(PR_MCPAGE_SEAL, get_process());
}

static int raise_cap(void *arg)
{
	(void)arg;
	return set_process(BIT(4) | BIT(6) | PR_MCPAGE_SEAL) == -EPERM &&
	       set_process(PR_MCPAGE_UNSET) == -EPERM &&
	       !set_process(PR_MCPAGE_SEAL) && get_process() == PR_MCPAGE_SEAL ?
	       0 : 1;
}

TEST_F(process, seal_holds_children)
{
	ASSERT_EQ(0, set_process(BIT(4) | PR_MCPAGE_SEAL));
	EXPECT_EQ(0, run_child(raise_cap, NULL));
	/* The child narrowed its own. */
	EXPECT_EQ(BIT(4) | PR_MCPAGE_SEAL, get_process());
}

/* Not even root, which could write the system's setting instead. */
TEST_F(process, seal_holds_root_and_others)
{
	ASSERT_EQ(0, geteuid());
	ASSERT_EQ(0, set_process(BIT(4) | PR_MCPAGE_SEAL));
	EXPECT_EQ(0, run_child(raise_cap, NULL));
	ASSERT_EQ(0, drop_privileges());
	EXPECT_EQ(0, run_child(raise_cap, NULL));
}

/* The VMA scope is below the process's and stays free. */
TEST_F(process, seal_leaves_vmas_alone)
{
	char *addr = map_region(MB(2));

	ASSERT_NE(NULL, addr);
	ASSERT_EQ(0, set_process(BIT(4) | PR_MCPAGE_SEAL));
	EXPECT_EQ(0, set_vma(addr, MB(2), valid_orders));
	EXPECT_EQ(valid_orders, get_vma(addr));
	/* ... and narrows what the process allows. */
	EXPECT_EQ(4, touch_order(addr, "folio"));
	EXPECT_EQ(0, set_vma(addr, MB(2), PR_MCPAGE_UNSET));
}

static atomic_bool stop;

static void *set_without_end(void *arg)
{
	unsigned long value = (unsigned long)arg;

	while (!stop)
		set_process(value);
	return NULL;
}

/* A seal that loses against a thread which sets at the same time is none. */
TEST_F(process, seal_races_with_threads)
{
	pthread_t wide, none;
	bool kept = true;

	ASSERT_EQ(0, pthread_create(&wide, NULL, set_without_end,
				    (void *)valid_orders));
	ASSERT_EQ(0, pthread_create(&none, NULL, set_without_end,
				    (void *)PR_MCPAGE_UNSET));
	for (int i = 0; i < 200; i++)
		EXPECT_EQ(0, set_process(BIT(4)));
	EXPECT_EQ(0, set_process(BIT(4) | PR_MCPAGE_SEAL));
	for (int i = 0; i < 2000; i++)
		kept &= get_process() == (long)(BIT(4) | PR_MCPAGE_SEAL);
	EXPECT_TRUE(kept);
	stop = true;
	pthread_join(wide, NULL);
	pthread_join(none, NULL);
	EXPECT_EQ(BIT(4) | PR_MCPAGE_SEAL, get_process());
}

static bool system_files_are_closed(void)
{
	return mcpage_write("enabled", "always") == -EACCES &&
	       mcpage_write("orders", "4") == -EACCES &&
	       mcpage_write("vma/mmap/orders", "4") == -EACCES;
}

/* Without root: its own policy, not the system's. */
TEST_F(process, ordinary_user)
{
	char text[64], *addr;

	ASSERT_EQ(0, drop_privileges());
	EXPECT_EQ(0, set_process(BIT(4) | PR_MCPAGE_INHERIT));
	addr = map_region(MB(2));
	ASSERT_NE(NULL, addr);
	EXPECT_EQ(0, set_vma(addr, MB(2), BIT(3)));
	EXPECT_TRUE(system_files_are_closed());
	EXPECT_EQ(0, mcpage_read("enabled", text, sizeof(text)));
}

/* Root in a user namespace is an ordinary user to the host's files. */
TEST_F(process, user_namespace)
{
	char *addr;

	ASSERT_EQ(0, drop_privileges());
	if (unshare(CLONE_NEWUSER))
		SKIP(return, "no user namespaces: %s", strerror(errno));
	write_text("/proc/self/setgroups", "deny");
	ASSERT_EQ(0, write_text("/proc/self/uid_map", "0 65534 1"));
	ASSERT_EQ(0, write_text("/proc/self/gid_map", "0 65534 1"));
	ASSERT_EQ(0, geteuid());
	EXPECT_EQ(0, set_process(BIT(4) | PR_MCPAGE_SEAL));
	EXPECT_EQ(-EPERM, set_process(valid_orders | PR_MCPAGE_SEAL));
	EXPECT_TRUE(system_files_are_closed());
	/* It takes effect there as anywhere. */
	addr = map_region(MB(2));
	ASSERT_NE(NULL, addr);
	*addr = 1;
	EXPECT_EQ(16, present_pages(addr, MB(2)));
}

TEST_HARNESS_MAIN
