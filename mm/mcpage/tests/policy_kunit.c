// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage_policy: the decisions that see only their arguments.
 */
#include <kunit/test.h>
#include <linux/gfp.h>
#include <linux/mm.h>

#include "helpers.h"

#define SET(orders)	((orders) | MCPAGE_POLICY_SET)
#define NONE		0
/* Three sets that overlap in part: 16K to 64K, 64K to 256K, 2M on 4K pages. */
#define LOW		(BIT(2) | BIT(3) | BIT(4))
#define HIGH		(BIT(4) | BIT(5) | BIT(6))
#define TOP		BIT(9)
#define ALL		(LOW | HIGH | TOP)

static void valid_orders(struct kunit *test)
{
	unsigned long valid = mcpage_valid_orders();

	KUNIT_EXPECT_FALSE(test, valid & (BIT(0) | BIT(1)));
	KUNIT_EXPECT_TRUE(test, valid & BIT(2));
	KUNIT_EXPECT_TRUE(test, valid & BIT(PMD_ORDER));
	KUNIT_EXPECT_FALSE(test, valid & ~(BIT(PMD_ORDER + 1) - 1));
	KUNIT_EXPECT_FALSE(test, valid & ~PR_MCPAGE_ORDERS);
}

struct applies_param {
	enum mcpage_enabled enabled;
	mcpage_policy_t process;
	mcpage_policy_t vma;
	bool applies;
	const char *name;
};

static const struct applies_param applies_params[] = {
	{ MCPAGE_ALWAYS, NONE,     NONE,     true,  "always" },
	{ MCPAGE_ALWAYS, SET(0),   NONE,     true,  "always, process" },
	{ MCPAGE_ALWAYS, NONE,     SET(LOW), true,  "always, VMA" },
	{ MCPAGE_ALWAYS, SET(LOW), SET(0),   true,  "always, both" },
	{ MCPAGE_ADVISE, NONE,     NONE,     false, "advise" },
	{ MCPAGE_ADVISE, SET(0),   NONE,     true,  "advise, process, empty" },
	{ MCPAGE_ADVISE, SET(LOW), NONE,     true,  "advise, process" },
	{ MCPAGE_ADVISE, NONE,     SET(0),   true,  "advise, VMA, empty" },
	{ MCPAGE_ADVISE, NONE,     SET(LOW), true,  "advise, VMA" },
	{ MCPAGE_ADVISE, SET(LOW), SET(LOW), true,  "advise, both" },
	{ MCPAGE_NEVER,  NONE,     NONE,     false, "never" },
	{ MCPAGE_NEVER,  SET(LOW), NONE,     false, "never, process" },
	{ MCPAGE_NEVER,  NONE,     SET(LOW), false, "never, VMA" },
	{ MCPAGE_NEVER,  SET(LOW), SET(LOW), false, "never, both" },
};

KUNIT_ARRAY_PARAM_DESC(applies, applies_params, name);

static void policy_applies(struct kunit *test)
{
	const struct applies_param *p = test->param_value;

	KUNIT_EXPECT_EQ(test, p->applies,
			mcpage_policy_applies(p->enabled, p->process, p->vma));
}

#define ANY_FLAG	(PR_MCPAGE_INHERIT | PR_MCPAGE_SEAL | PR_MCPAGE_ADAPTIVE)

struct effective_param {
	unsigned long system;
	unsigned long class;
	mcpage_policy_t process;
	mcpage_policy_t vma;
	unsigned long orders;
};

/* System, process and VMA in every combination, with a class that allows all. */
static const struct effective_param effective_params[] = {
	{ 0,   ALL, NONE,      NONE,      0 },
	{ 0,   ALL, NONE,      SET(0),    0 },
	{ 0,   ALL, NONE,      SET(LOW),  0 },
	{ 0,   ALL, SET(0),    NONE,      0 },
	{ 0,   ALL, SET(0),    SET(0),    0 },
	{ 0,   ALL, SET(0),    SET(LOW),  0 },
	{ 0,   ALL, SET(LOW),  NONE,      0 },
	{ 0,   ALL, SET(LOW),  SET(0),    0 },
	{ 0,   ALL, SET(LOW),  SET(LOW),  0 },
	{ LOW, ALL, NONE,      NONE,      LOW },
	{ LOW, ALL, NONE,      SET(0),    0 },
	{ LOW, ALL, NONE,      SET(HIGH), BIT(4) },
	{ LOW, ALL, SET(0),    NONE,      0 },
	{ LOW, ALL, SET(0),    SET(0),    0 },
	{ LOW, ALL, SET(0),    SET(HIGH), 0 },
	{ LOW, ALL, SET(HIGH), NONE,      BIT(4) },
	{ LOW, ALL, SET(HIGH), SET(0),    0 },
	{ LOW, ALL, SET(HIGH), SET(ALL),  BIT(4) },
	{ ALL, ALL, NONE,      NONE,      ALL },
	{ ALL, ALL, NONE,      SET(0),    0 },
	{ ALL, ALL, NONE,      SET(HIGH), HIGH },
	{ ALL, ALL, SET(0),    NONE,      0 },
	{ ALL, ALL, SET(0),    SET(0),    0 },
	{ ALL, ALL, SET(0),    SET(HIGH), 0 },
	{ ALL, ALL, SET(LOW),  NONE,      LOW },
	{ ALL, ALL, SET(LOW),  SET(0),    0 },
	{ ALL, ALL, SET(LOW),  SET(HIGH), BIT(4) },
	/* The class narrows too, and nothing below it widens it again. */
	{ ALL, 0,   NONE,      NONE,      0 },
	{ ALL, 0,   SET(ALL),  SET(ALL),  0 },
	{ ALL, LOW, NONE,      NONE,      LOW },
	{ ALL, LOW, SET(ALL),  SET(ALL),  LOW },
	{ ALL, TOP, SET(LOW),  NONE,      0 },
	{ TOP, TOP, SET(TOP),  SET(TOP),  TOP },
};

static void effective_desc(const struct effective_param *p, char *desc)
{
	snprintf(desc, KUNIT_PARAM_DESC_SIZE,
		 "system %lx class %lx process %x vma %x",
		 p->system, p->class, p->process, p->vma);
}

KUNIT_ARRAY_PARAM(effective, effective_params, effective_desc);

static void effective_orders(struct kunit *test)
{
	const struct effective_param *p = test->param_value;

	KUNIT_EXPECT_EQ(test, p->orders,
			mcpage_effective_orders(p->system, p->class, p->process,
						p->vma));
}

/* Flags beside the orders never leak into the set. */
static void effective_orders_flags(struct kunit *test)
{
	mcpage_policy_t policy = SET(LOW) | ANY_FLAG;

	KUNIT_EXPECT_EQ(test, (unsigned long)LOW,
			mcpage_effective_orders(~0UL, ~0UL, policy, policy));
}

struct parse_param {
	unsigned long value;
	unsigned long flags;
	int err;
	const char *name;
};

static const struct parse_param parse_params[] = {
	{ 0, 0, 0, "empty set" },
	{ BIT(2), 0, 0, "lowest order" },
	{ BIT(PMD_ORDER), 0, 0, "highest order" },
	{ BIT(2) | BIT(4), 0, 0, "two orders" },
	{ BIT(2) | PR_MCPAGE_INHERIT, ANY_FLAG, 0, "inherit" },
	{ BIT(2) | ANY_FLAG, ANY_FLAG, 0, "inherit, seal" },
	{ PR_MCPAGE_SEAL, ANY_FLAG, 0, "seal, empty" },
	{ PR_MCPAGE_UNSET, 0, 0, "unset" },
	{ PR_MCPAGE_UNSET, ANY_FLAG, 0, "unset, flags known" },
	{ BIT(0), 0, -EINVAL, "bit 0" },
	{ BIT(1), 0, -EINVAL, "order 1" },
	{ BIT(1) | BIT(2), 0, -EINVAL, "order 1 and another" },
	{ BIT(PMD_ORDER + 1), 0, -EINVAL, "beyond the highest order" },
	{ PR_MCPAGE_INHERIT, 0, -EINVAL, "inherit, not known" },
	{ PR_MCPAGE_SEAL, 0, -EINVAL, "seal, not known" },
	{ PR_MCPAGE_ADAPTIVE, 0, -EINVAL, "adaptive, not known" },
	{ BIT(2) | PR_MCPAGE_ADAPTIVE, ANY_FLAG, 0, "adaptive" },
	{ PR_MCPAGE_UNSET | PR_MCPAGE_ADAPTIVE, ANY_FLAG, -EINVAL, "unset, adaptive" },
	{ PR_MCPAGE_UNSET | BIT(2), ANY_FLAG, -EINVAL, "unset, order" },
	{ PR_MCPAGE_UNSET | PR_MCPAGE_SEAL, ANY_FLAG, -EINVAL, "unset, flag" },
	{ BIT(20), ANY_FLAG, -EINVAL, "bit 20" },
	{ BIT(31), ANY_FLAG, -EINVAL, "bit 31" },
	{ BIT(BITS_PER_LONG - 1), ANY_FLAG, -EINVAL, "highest bit" },
	{ ~0UL, ANY_FLAG, -EINVAL, "all bits" },
};

KUNIT_ARRAY_PARAM_DESC(parse, parse_params, name);

static void policy_parse(struct kunit *test)
{
	const struct parse_param *p = test->param_value;
	mcpage_policy_t policy = 0xdead;

	KUNIT_ASSERT_EQ(test, p->err,
			mcpage_policy_parse(p->value, p->flags, &policy));
	if (p->err)
		KUNIT_EXPECT_EQ(test, 0xdead, policy);
	else
		KUNIT_EXPECT_EQ(test, p->value, mcpage_policy_value(policy));
}

/* "No policy" and "single pages only" are two things. */
static void policy_parse_unset_is_not_empty(struct kunit *test)
{
	mcpage_policy_t unset, empty;

	KUNIT_ASSERT_EQ(test, 0, mcpage_policy_parse(PR_MCPAGE_UNSET, 0, &unset));
	KUNIT_ASSERT_EQ(test, 0, mcpage_policy_parse(0, 0, &empty));
	KUNIT_EXPECT_EQ(test, 0, unset);
	KUNIT_EXPECT_NE(test, 0, empty);
}

struct replace_param {
	mcpage_policy_t old;
	mcpage_policy_t new;
	int err;
	const char *name;
};

#define SEALED(orders)	(SET(orders) | PR_MCPAGE_SEAL)

static const struct replace_param replace_params[] = {
	{ NONE, SET(LOW), 0, "first" },
	{ SET(LOW), SET(ALL), 0, "wider, not sealed" },
	{ SET(LOW), NONE, 0, "unset, not sealed" },
	{ SET(LOW), SEALED(ALL), 0, "seal and widen at once" },
	{ SEALED(LOW), SEALED(LOW), 0, "sealed, same" },
	{ SEALED(LOW), SEALED(BIT(2)), 0, "sealed, narrower" },
	{ SEALED(LOW), SEALED(0), 0, "sealed, to empty" },
	{ SEALED(LOW), SEALED(LOW) | PR_MCPAGE_INHERIT, 0, "sealed, inherit" },
	{ SEALED(LOW), SEALED(ALL), -EPERM, "sealed, wider" },
	{ SEALED(LOW), SEALED(HIGH), -EPERM, "sealed, partly wider" },
	{ SEALED(0), SEALED(BIT(2)), -EPERM, "sealed empty, wider" },
	{ SEALED(LOW), SET(BIT(2)), -EPERM, "sealed, seal dropped" },
	{ SEALED(LOW), NONE, -EPERM, "sealed, unset" },
	{ SEALED(LOW), SEALED(LOW) | PR_MCPAGE_ADAPTIVE, 0, "sealed, to adaptive" },
	{ SEALED(LOW) | PR_MCPAGE_ADAPTIVE, SEALED(BIT(2)) | PR_MCPAGE_ADAPTIVE, 0,
	  "sealed adaptive, narrower" },
	{ SEALED(LOW) | PR_MCPAGE_ADAPTIVE, SEALED(BIT(2)), -EPERM,
	  "sealed adaptive, to fixed" },
};

KUNIT_ARRAY_PARAM_DESC(replace, replace_params, name);

static void policy_may_replace(struct kunit *test)
{
	const struct replace_param *p = test->param_value;

	KUNIT_EXPECT_EQ(test, p->err, mcpage_policy_may_replace(p->old, p->new));
}

struct exec_param {
	mcpage_policy_t old;
	bool privileged;
	mcpage_policy_t new;
	const char *name;
};

static const struct exec_param exec_params[] = {
	{ NONE, false, NONE, "none" },
	{ SET(LOW), false, NONE, "plain" },
	{ SET(LOW) | PR_MCPAGE_INHERIT, false, SET(LOW) | PR_MCPAGE_INHERIT,
	  "inherit" },
	{ SET(0) | PR_MCPAGE_INHERIT, false, SET(0) | PR_MCPAGE_INHERIT,
	  "inherit, empty" },
	{ SEALED(LOW), false, SEALED(LOW), "sealed" },
	{ SET(LOW) | PR_MCPAGE_INHERIT | PR_MCPAGE_ADAPTIVE, false,
	  SET(LOW) | PR_MCPAGE_INHERIT | PR_MCPAGE_ADAPTIVE, "inherit, adaptive" },
	{ NONE, true, NONE, "none, privileged" },
	{ SET(LOW) | PR_MCPAGE_INHERIT, true, NONE, "inherit, privileged" },
	{ SEALED(LOW) | PR_MCPAGE_INHERIT, true, NONE, "sealed, privileged" },
};

KUNIT_ARRAY_PARAM_DESC(exec, exec_params, name);

static void policy_after_exec(struct kunit *test)
{
	const struct exec_param *p = test->param_value;

	KUNIT_EXPECT_EQ(test, p->new,
			mcpage_policy_after_exec(p->old, p->privileged));
}

static void policy_vm_flags(struct kunit *test)
{
	unsigned long valid = mcpage_valid_orders();
	unsigned long orders;

	if (!VM_MCPAGE)
		kunit_skip(test, "no room in vm_flags on 32-bit");

	KUNIT_EXPECT_EQ(test, 0, mcpage_policy_from_vm_flags(0));
	KUNIT_EXPECT_EQ(test, 0,
			mcpage_policy_from_vm_flags(~(VM_MCPAGE | VM_MCPAGE_ORDERS)));
	KUNIT_EXPECT_EQ(test, SET(LOW) | PR_MCPAGE_ADAPTIVE,
			mcpage_policy_from_vm_flags(mcpage_policy_to_vm_flags(SET(LOW) |
							PR_MCPAGE_ADAPTIVE)));
	KUNIT_EXPECT_EQ(test, 0, mcpage_policy_to_vm_flags(0));
	for (orders = 0; orders <= valid; orders += BIT(MCPAGE_MIN_ORDER)) {
		unsigned long flags = mcpage_policy_to_vm_flags(SET(orders));

		KUNIT_ASSERT_FALSE(test, flags & ~(VM_MCPAGE | VM_MCPAGE_ORDERS));
		KUNIT_ASSERT_EQ(test, SET(orders),
				mcpage_policy_from_vm_flags(flags | VM_READ | VM_MAYREAD));
	}
}

struct fit_param {
	unsigned long start;
	unsigned long end;
	unsigned long address;
	unsigned int order;
	enum mcpage_fit fit;
	const char *name;
};

#define PG(n)	((unsigned long)(n) * PAGE_SIZE)

static const struct fit_param fit_params[] = {
	{ PG(16), PG(32), PG(16),     4, MCPAGE_FITS, "exact, first byte" },
	{ PG(16), PG(32), PG(32) - 1, 4, MCPAGE_FITS, "exact, last byte" },
	{ PG(16), PG(32), PG(20) + 5, 2, MCPAGE_FITS, "inside" },
	{ PG(17), PG(64), PG(17),     4, MCPAGE_BEGINS_BEFORE, "odd start" },
	{ PG(17), PG(64), PG(31),     4, MCPAGE_BEGINS_BEFORE, "odd start, last page" },
	{ PG(17), PG(64), PG(32),     4, MCPAGE_FITS, "odd start, next block" },
	{ PG(16), PG(31), PG(16),     4, MCPAGE_ENDS_BEHIND, "short by a page" },
	{ PG(16), PG(33), PG(32),     4, MCPAGE_ENDS_BEHIND, "tail of one page" },
	{ PG(17), PG(31), PG(20),     4, MCPAGE_BEGINS_BEFORE, "both" },
	{ PG(17), PG(31), PG(20),     2, MCPAGE_FITS, "both, smaller block" },
	{ 0,      PG(4),  PG(3),      2, MCPAGE_FITS, "address zero" },
	{ -PG(16), 0,     -PG(1),     4, MCPAGE_FITS, "end of the address space" },
};

KUNIT_ARRAY_PARAM_DESC(fit, fit_params, name);

static void block_fit(struct kunit *test)
{
	const struct fit_param *p = test->param_value;

	KUNIT_EXPECT_EQ(test, p->fit,
			mcpage_block_fit(p->start, p->end, p->address, p->order));
}

static void effort_gfp(struct kunit *test)
{
	gfp_t light = mcpage_effort_gfp(MCPAGE_LIGHT);
	gfp_t direct = mcpage_effort_gfp(MCPAGE_DIRECT);
	gfp_t never = mcpage_effort_gfp(MCPAGE_FREE_ONLY);

	KUNIT_EXPECT_FALSE(test, light & __GFP_DIRECT_RECLAIM);
	KUNIT_EXPECT_TRUE(test, light & __GFP_KSWAPD_RECLAIM);
	KUNIT_EXPECT_TRUE(test, direct & __GFP_DIRECT_RECLAIM);
	KUNIT_EXPECT_FALSE(test, never & __GFP_RECLAIM);
	/* A block is never worth the OOM killer, nor a line in the log. */
	KUNIT_EXPECT_TRUE(test, direct & __GFP_NORETRY);
	KUNIT_EXPECT_FALSE(test, (light | direct | never) & __GFP_NOFAIL);
	KUNIT_EXPECT_TRUE(test, light & direct & never & __GFP_NOWARN);
	KUNIT_EXPECT_TRUE(test, light & direct & never & __GFP_COMP);
}

static void vma_class(struct kunit *test)
{
	struct mm_struct *mm = kunit_kzalloc(test, sizeof(*mm), GFP_KERNEL);
	struct vm_area_struct *vma = kunit_kzalloc(test, sizeof(*vma), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, mm);
	KUNIT_ASSERT_NOT_NULL(test, vma);
	mm->start_brk = PG(0x1000);
	mm->brk = PG(0x1100);
	mm->start_stack = PG(0x9010);
	vma->vm_mm = mm;

	vma->vm_start = PG(0x1000);
	vma->vm_end = PG(0x1080);
	KUNIT_EXPECT_EQ(test, MCPAGE_HEAP, mcpage_vma_class(vma));
	vma->vm_start = PG(0x5000);
	vma->vm_end = PG(0x5080);
	KUNIT_EXPECT_EQ(test, MCPAGE_MMAP, mcpage_vma_class(vma));
	vm_flags_init(vma, VM_STACK);
	KUNIT_EXPECT_EQ(test, MCPAGE_STACK, mcpage_vma_class(vma));
	vm_flags_init(vma, 0);
	vma->vm_start = PG(0x9000);
	vma->vm_end = PG(0x9020);
	KUNIT_EXPECT_EQ(test, MCPAGE_STACK, mcpage_vma_class(vma));
}

static struct kunit_case mcpage_policy_cases[] = {
	KUNIT_CASE(valid_orders),
	KUNIT_CASE_PARAM(policy_applies, applies_gen_params),
	KUNIT_CASE_PARAM(effective_orders, effective_gen_params),
	KUNIT_CASE(effective_orders_flags),
	KUNIT_CASE_PARAM(policy_parse, parse_gen_params),
	KUNIT_CASE(policy_parse_unset_is_not_empty),
	KUNIT_CASE_PARAM(policy_may_replace, replace_gen_params),
	KUNIT_CASE_PARAM(policy_after_exec, exec_gen_params),
	KUNIT_CASE(policy_vm_flags),
	KUNIT_CASE_PARAM(block_fit, fit_gen_params),
	KUNIT_CASE(effort_gfp),
	KUNIT_CASE(vma_class),
	{}
};

static struct kunit_suite mcpage_policy_suite = {
	.name = "mcpage_policy",
	.test_cases = mcpage_policy_cases,
};

kunit_test_suite(mcpage_policy_suite);

MODULE_DESCRIPTION("mcpage policy tests");
MODULE_LICENSE("GPL");
