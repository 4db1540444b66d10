// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: what a policy does to the memory that faults map.
 */
#include <pthread.h>
#include <sys/syscall.h>

#include "mcpage_harness.h"

FIXTURE(effect)
{
	char *addr;
	size_t size;
};

FIXTURE_VARIANT(effect)
{
	const char *backing;
};

FIXTURE_VARIANT_ADD(effect, folio)
{
	.backing = "folio",
};

FIXTURE_VARIANT_ADD(effect, pages)
{
	.backing = "pages",
};

FIXTURE_SETUP(effect)
{
	if (not_testable())
		SKIP(return, "%s", not_testable());
	ASSERT_EQ(0, settings_begin());
	if (mcpage_write("backing", variant->backing)) {
		settings_end();
		SKIP(return, "no %s backing in this kernel", variant->backing);
	}
	/* Blocks of every size are to be had. */
	write_text("/proc/sys/vm/compact_memory", "1");
	self->size = MB(8);
	self->addr = map_region(self->size);
	ASSERT_NE(NULL, self->addr);
}

FIXTURE_TEARDOWN_PARENT(effect)
{
	settings_end();
}

/* Touch it once from empty, and leave it empty. */
static int probe(char *addr, const char *backing)
{
	int order = touch_order(addr, backing);

	madvise((void *)((size_t)addr & -block_size(pmd_order)),
		block_size(pmd_order), MADV_DONTNEED);
	return order;
}

/*
 * Each order alone, faulted by its first, its last and a middle byte, counted
 * once under the order that it has.
 */
TEST_F(effect, each_order)
{
	for (unsigned int order = 2; order <= pmd_order; order++) {
		size_t block = block_size(order);
		const size_t offsets[] = { 0, block - 1, MB(2) - block / 2 + 1 };

		for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
			unsigned long before = mcpage_stat(order, "alloc");
			unsigned long sum = vm_event("mcpage_anon_fault_alloc");

			EXPECT_EQ(order, probe_order(offsets[i], BIT(order),
						     variant->backing))
				TH_LOG("order %u, offset %zu", order, offsets[i]);
			/* Others may fault too, but have no policy. */
			EXPECT_EQ(before + 1, mcpage_stat(order, "alloc"));
			EXPECT_EQ(sum + 1, vm_event("mcpage_anon_fault_alloc"));
		}
	}
}

/* Filled by blocks: what was written is read, and Rss says what there is. */
TEST_F(effect, fill)
{
	long base = rss_kb();

	for (unsigned int order = 2; order <= pmd_order; order++) {
		unsigned long before = mcpage_stat(order, "alloc");
		char *addr = map_region(MB(2));
		bool same = true;

		ASSERT_NE(NULL, addr);
		ASSERT_EQ(0, set_vma(addr, MB(2), BIT(order)));
		for (size_t i = 0; i < MB(2); i += page_size)
			*(size_t *)(addr + i) = i ^ order;
		for (size_t i = 0; i < MB(2); i += page_size)
			same &= *(size_t *)(addr + i) == (i ^ order);
		EXPECT_TRUE(same);
		EXPECT_EQ(MB(2) / block_size(order),
			  mcpage_stat(order, "alloc") - before);
		EXPECT_EQ(2048, smaps_kb(addr, "Rss"));
		EXPECT_EQ(2048, smaps_kb(addr, "Anonymous"));
		EXPECT_EQ(2048, smaps_kb(addr, "Private_Dirty"));
		/* The old field counts what a PMD maps, as ever. */
		EXPECT_EQ(order == pmd_order && !strcmp(variant->backing, "folio") ?
			  2048 : 0,
			  smaps_kb(addr, "AnonHugePages"));
		ASSERT_EQ(0, madvise(addr, MB(2), MADV_DONTNEED));
		EXPECT_EQ(0, smaps_kb(addr, "Rss"));
		unmap_region(addr, MB(2));
	}
	/* Exact counters, summed: what is left is the test's own few pages. */
	EXPECT_GT(base + 512, rss_kb());
}

/*
 * The effective set is what all scopes allow together, for all their
 * combinations; a fault takes the highest. A scope below never widens.
 */
TEST_F(effect, scopes_narrow)
{
	static const unsigned long system[] = { 0x3fc, 0x14, 0 };
	static const unsigned long class[] = { 0x3fc, 0x30, 0x4 };
	static const unsigned long process[] = { PR_MCPAGE_UNSET, 0x14, 0 };
	static const unsigned long vma[] = { PR_MCPAGE_UNSET, 0x3fc, 0x18 };

	for (unsigned int i = 0; i < 81; i++) {
		unsigned long s = system[i % 3], c = class[i / 3 % 3];
		unsigned long p = process[i / 9 % 3], v = vma[i / 27];
		unsigned long expected = s & c;

		if (p != PR_MCPAGE_UNSET)
			expected &= p;
		if (v != PR_MCPAGE_UNSET)
			expected &= v;
		ASSERT_EQ(0, mcpage_write_orders("orders", s));
		ASSERT_EQ(0, mcpage_write_orders("vma/mmap/orders", c));
		ASSERT_EQ(0, set_process(p));
		/* By advice, where nobody advises nothing happens. */
		EXPECT_EQ(p == PR_MCPAGE_UNSET && v == PR_MCPAGE_UNSET ?
			  0 : highest(expected),
			  probe_order(KB(96), v, variant->backing))
			TH_LOG("advise: %lx & %lx & %lx & %lx", s, c, p, v);
		ASSERT_EQ(0, mcpage_write("enabled", "always"));
		EXPECT_EQ(highest(expected),
			  probe_order(KB(96), v, variant->backing))
			TH_LOG("always: %lx & %lx & %lx & %lx", s, c, p, v);
		ASSERT_EQ(0, mcpage_write("enabled", "never"));
		EXPECT_EQ(0, probe_order(KB(96), v, variant->backing))
			TH_LOG("never: %lx & %lx & %lx & %lx", s, c, p, v);
		ASSERT_EQ(0, mcpage_write("enabled", "advise"));
	}
}

/* The heap's and the stack's sets are theirs alone. */
TEST_F(effect, classes)
{
	char *heap, *stack = self->addr + MB(4) + MB(2);
	size_t pmd = block_size(pmd_order);

	ASSERT_EQ(0, mcpage_write("enabled", "always"));
	ASSERT_EQ(0, mcpage_write("vma/heap/orders", "3"));
	ASSERT_EQ(0, mcpage_write("vma/mmap/orders", "5"));

	heap = sbrk(3 * pmd);
	ASSERT_NE((void *)-1, heap);
	heap = (char *)(((size_t)heap + 2 * pmd - 1) & -pmd);
	EXPECT_EQ(3, probe(heap, variant->backing));
	EXPECT_EQ(5, probe(self->addr, variant->backing));

	/* What grows is a stack. It has no blocks unless it is given some. */
	ASSERT_EQ(0, munmap(self->addr + MB(2), MB(4)));
	ASSERT_EQ(stack, mmap(stack, MB(2), PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED |
			      MAP_GROWSDOWN, -1, 0));
	EXPECT_EQ(0, probe(stack, variant->backing));
	ASSERT_EQ(0, set_vma(stack, MB(2), BIT(4) | BIT(2)));
	EXPECT_EQ(0, probe(stack, variant->backing));
	ASSERT_EQ(0, mcpage_write("vma/stack/orders", "2-3"));
	EXPECT_EQ(2, probe(stack, variant->backing));
	ASSERT_EQ(0, set_vma(stack, MB(2), PR_MCPAGE_UNSET));
	EXPECT_EQ(3, probe(stack, variant->backing));
}

/* Thread stacks get no large blocks, whatever is set for the whole system. */
TEST_F(effect, map_stack)
{
	char *stack = map_region_flags(MB(4), PROT_READ | PROT_WRITE, MAP_STACK);

	ASSERT_NE(NULL, stack);
	ASSERT_EQ(0, mcpage_write("enabled", "always"));
	EXPECT_EQ(0, probe(stack, variant->backing));
	ASSERT_EQ(0, set_process(valid_orders));
	EXPECT_EQ(0, probe(stack + MB(2), variant->backing));
}

struct thread_work {
	char *addr;
	const char *backing;
	pthread_barrier_t barrier;
	int before;
	int after;
};

static void *fault_twice(void *arg)
{
	struct thread_work *work = arg;

	work->before = probe(work->addr, work->backing);
	pthread_barrier_wait(&work->barrier);
	/* Here the main thread sets the policy. */
	pthread_barrier_wait(&work->barrier);
	work->after = probe(work->addr, work->backing);
	return NULL;
}

/*
 * Set by one thread of a running process: in force for the others' next faults,
 * and for no other process.
 */
TEST_F(effect, threads)
{
	struct thread_work work[3];
	pthread_t threads[3];
	char go = 0, order = 0;
	int to[2], from[2];
	pid_t other;

	ASSERT_EQ(0, pipe2(to, O_CLOEXEC) | pipe2(from, O_CLOEXEC));
	other = fork();
	if (!other) {
		if (read(to[0], &go, 1) == 1)
			order = probe(self->addr + MB(6), variant->backing);
		if (write(from[1], &order, 1) != 1)
			_exit(1);
		_exit(0);
	}
	for (int i = 0; i < 3; i++) {
		work[i].addr = self->addr + i * MB(2);
		work[i].backing = variant->backing;
		pthread_barrier_init(&work[i].barrier, NULL, 2);
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, fault_twice, &work[i]));
	}
	for (int i = 0; i < 3; i++)
		pthread_barrier_wait(&work[i].barrier);
	ASSERT_EQ(0, set_process(BIT(4)));
	for (int i = 0; i < 3; i++)
		pthread_barrier_wait(&work[i].barrier);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		EXPECT_EQ(0, work[i].before);
		EXPECT_EQ(4, work[i].after);
	}
	ASSERT_EQ(1, write(to[1], &go, 1));
	ASSERT_EQ(1, read(from[0], &order, 1));
	EXPECT_EQ(0, order);
	waitpid(other, NULL, 0);
}

/* Lowering a cap leaves the blocks that there are, with what is in them. */
TEST_F(effect, existing_blocks_stay)
{
	bool folio = !strcmp(variant->backing, "folio");

	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(6)));
	ASSERT_EQ(6, touch_order(self->addr, variant->backing));
	memset(self->addr, 0x5a, block_size(6));
	ASSERT_EQ(0, set_vma(self->addr, self->size, 0));
	EXPECT_EQ(64, present_pages(self->addr, MB(2)));
	EXPECT_EQ(folio ? 6 : 0, folio_order(self->addr));
	EXPECT_EQ(0x5a, self->addr[block_size(6) - 1]);
	EXPECT_EQ(0, touch_order(self->addr + MB(2), variant->backing));
	ASSERT_EQ(0, mcpage_write("enabled", "never"));
	EXPECT_EQ(0x5a, self->addr[block_size(6) - 1]);
	EXPECT_EQ(64, present_pages(self->addr, MB(2)));
}

/*
 * Why there is no block: each reason once, at the order that was not to be had.
 */
TEST_F(effect, reasons)
{
	unsigned long before[3];
	char *odd;

	/* A mapping that begins and ends in the middle of blocks of order 4. */
	odd = self->addr + KB(32);
	ASSERT_EQ(0, munmap(self->addr, KB(32)));
	ASSERT_EQ(0, munmap(self->addr + KB(96), MB(2) - KB(96)));
	ASSERT_EQ(0, set_vma(odd, KB(64), BIT(4)));

	before[0] = mcpage_stat(4, "unaligned");
	before[1] = mcpage_stat(4, "short");
	before[2] = mcpage_stat(4, "alloc");
	*odd = 1;
	EXPECT_EQ(before[0] + 1, mcpage_stat(4, "unaligned"));
	EXPECT_EQ(before[1], mcpage_stat(4, "short"));
	odd[KB(64) - 1] = 1;
	EXPECT_EQ(before[0] + 1, mcpage_stat(4, "unaligned"));
	EXPECT_EQ(before[1] + 1, mcpage_stat(4, "short"));
	EXPECT_EQ(before[2], mcpage_stat(4, "alloc"));
	EXPECT_EQ(2, present_pages(odd, KB(64)));

	/* A page in the way. */
	odd = self->addr + MB(4);
	odd[0] = 1;
	ASSERT_EQ(0, set_vma(odd, MB(2), BIT(4) | BIT(2)));
	before[0] = mcpage_stat(4, "page_table_populated");
	before[1] = mcpage_stat(2, "page_table_populated");
	before[2] = mcpage_stat(2, "alloc");
	odd[KB(63)] = 1;
	EXPECT_EQ(before[0] + 1, mcpage_stat(4, "page_table_populated"));
	EXPECT_EQ(before[1], mcpage_stat(2, "page_table_populated"));
	EXPECT_EQ(before[2] + 1, mcpage_stat(2, "alloc"));
	EXPECT_EQ(5, present_pages(odd, KB(64)));
	odd[KB(4)] = 1;
	EXPECT_EQ(before[0] + 2, mcpage_stat(4, "page_table_populated"));
	EXPECT_EQ(before[1] + 1, mcpage_stat(2, "page_table_populated"));
	EXPECT_EQ(6, present_pages(odd, KB(64)));
}

/* Many short mappings, in which no block fits, cost what single pages cost. */
TEST_F(effect, short_mappings)
{
	size_t piece = KB(12);
	long rss;

	for (int i = 0; i < 256; i++)
		ASSERT_EQ(0, mprotect(self->addr + i * KB(32) + piece,
				      KB(32) - piece, PROT_NONE));
	ASSERT_EQ(0, mcpage_write("enabled", "always"));
	for (int i = 0; i < 256; i++)
		self->addr[i * KB(32)] = 1;
	EXPECT_EQ(256, present_pages(self->addr, self->size));
	rss = smaps_sum_kb(self->addr, self->size, "Rss");
	EXPECT_EQ(1024, rss);
}

/* Memory that is only read has the zero page, and no block. */
TEST_F(effect, reads)
{
	char *addr = self->addr;

	ASSERT_EQ(0, set_vma(addr, self->size, BIT(4)));
	EXPECT_EQ(0, peek(addr));
	EXPECT_EQ(0, smaps_kb(addr, "Anonymous"));
	poke(addr, 1);
	EXPECT_EQ(1, addr[0]);
	EXPECT_EQ(0, addr[KB(64) - 1]);
}

/*
 * VM_NOHUGEPAGE and PR_SET_THP_DISABLE are refusals that keep precedence over
 * every policy.
 */
TEST_F(effect, refusals_keep_precedence)
{
	ASSERT_EQ(0, mcpage_write("enabled", "always"));
	ASSERT_EQ(0, set_process(BIT(4)));
	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(4)));
	EXPECT_EQ(4, probe(self->addr, variant->backing));

	ASSERT_EQ(0, madvise(self->addr, self->size, MADV_NOHUGEPAGE));
	EXPECT_EQ(0, probe(self->addr, variant->backing));
	/* The policy is still there for the day when the refusal is lifted. */
	EXPECT_EQ(BIT(4), get_vma(self->addr));
	ASSERT_EQ(0, madvise(self->addr, self->size, MADV_HUGEPAGE));
	EXPECT_EQ(4, probe(self->addr, variant->backing));

	ASSERT_EQ(0, prctl(PR_SET_THP_DISABLE, 1UL, 0UL, 0UL, 0UL));
	EXPECT_EQ(0, probe(self->addr, variant->backing));
	ASSERT_EQ(0, prctl(PR_SET_THP_DISABLE, 0UL, 0UL, 0UL, 0UL));
	EXPECT_EQ(4, probe(self->addr, variant->backing));
}

/* A private file mapping's copies are not anonymous memory to mcpage. */
TEST_F(effect, private_file)
{
	char *exe, *copy, *out;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, mcpage_write("enabled", "always"));
	ASSERT_EQ(0, set_process(valid_orders));
	exe = mmap(NULL, KB(32), PROT_READ, MAP_PRIVATE, fd, 0);
	out = mmap(self->addr, KB(32), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_FIXED, fd, 0);
	ASSERT_NE(MAP_FAILED, exe);
	ASSERT_EQ(self->addr, out);
	copy = out + page_size;
	memset(out, 0x77, KB(32));
	ASSERT_EQ(0, madvise(copy, page_size, MADV_DONTNEED));
	EXPECT_EQ(0, memcmp(copy, exe + page_size, page_size));
	EXPECT_EQ(0x77, out[0]);
	EXPECT_EQ(0x77, copy[page_size]);
	for (int i = 0; i < 8; i++)
		EXPECT_TRUE(i == 1 || !folio_order(out + i * page_size));
	close(fd);
}

/* After fork the child writes to its own copy, page by page or block by block. */
static int write_all(void *arg)
{
	char *addr = arg;

	for (size_t i = 0; i < MB(2); i += page_size) {
		if (addr[i] != 0x11)
			return 1;
		addr[i] = 0x22;
	}
	for (size_t i = 0; i < MB(2); i += page_size) {
		if (addr[i] != 0x22 || addr[i + 1] != 0x11)
			return 2;
	}
	return 0;
}

TEST_F(effect, fork_copies)
{
	bool same = true;

	for (unsigned int order = 2; order <= pmd_order; order++) {
		ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(order)));
		memset(self->addr, 0x11, MB(2));
		EXPECT_EQ(0, run_child(write_all, self->addr));
		for (size_t i = 0; i < MB(2); i++)
			same &= self->addr[i] == 0x11;
		EXPECT_TRUE(same);
		ASSERT_EQ(0, madvise(self->addr, MB(2), MADV_DONTNEED));
	}
}

/* Locked mappings are populated by blocks, all of them accounted. */
TEST_F(effect, locked)
{
	char *addr;

	ASSERT_EQ(0, set_process(BIT(4)));
	addr = map_region_flags(MB(2), PROT_READ | PROT_WRITE, MAP_LOCKED);
	ASSERT_NE(NULL, addr);
	EXPECT_EQ(512, present_pages(addr, MB(2)));
	EXPECT_EQ(2048, smaps_kb(addr, "Locked"));
	EXPECT_EQ(strcmp(variant->backing, "folio") ? 0 : 4,
		  folio_order(addr + MB(1)));
	ASSERT_EQ(0, munlock(addr, MB(2)));
	unmap_region(addr, MB(2));
	/* Later faults of a locked mapping count as well. */
	ASSERT_EQ(0, mlock2(self->addr, MB(2), MLOCK_ONFAULT));
	ASSERT_EQ(4, touch_order(self->addr, variant->backing));
	EXPECT_EQ(64, smaps_kb(self->addr, "Locked"));
}

/* The sums in /proc/vmstat are those of the orders. */
TEST_F(effect, vmstat_sums)
{
	static const char * const names[][2] = {
		{ "mcpage_anon_fault_alloc", "alloc" },
		{ "mcpage_anon_fault_fallback", "fallback" },
		{ "mcpage_anon_fault_charge_failed", "charge_failed" },
		{ "mcpage_anon_fault_page_table_populated", "page_table_populated" },
		{ "mcpage_anon_fault_instable_address_space",
		  "unstable_address_space" },
	};

	ASSERT_EQ(0, set_process(valid_orders));
	for (size_t i = 0; i < MB(4); i += KB(60))
		self->addr[i] = 1;
	/* Nothing else that has a policy runs. */
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		unsigned long sum = 0;

		for (unsigned int order = 0; order < 16; order++) {
			if (valid_orders & BIT(order))
				sum += mcpage_stat(order, names[i][1]);
		}
		EXPECT_EQ(sum, vm_event(names[i][0]))
			TH_LOG("%s", names[i][0]);
	}
}

/* Memory is placed where the mapping's NUMA policy says, a block on one node. */
#define MPOL_BIND 2

static int page_node(char *addr)
{
	void *pages[] = { addr };
	int status = -1;

	if (syscall(SYS_move_pages, 0, 1UL, pages, NULL, &status, 0))
		return -1;
	return status;
}

TEST_F(effect, numa_policy)
{
	if (access("/sys/devices/system/node/node1", F_OK))
		SKIP(return, "one node only");
	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(4)));
	for (int node = 0; node < 2; node++) {
		char *addr = self->addr + node * MB(2);
		unsigned long mask = BIT(node);

		ASSERT_EQ(0, syscall(SYS_mbind, addr, MB(2), MPOL_BIND, &mask, 64UL,
				     0U));
		EXPECT_EQ(BIT(4), get_vma(addr));
		for (int i = 0; i < 8; i++) {
			EXPECT_EQ(4, touch_order(addr, variant->backing));
			EXPECT_EQ(node, page_node(addr));
			EXPECT_EQ(node, page_node(addr + KB(64) - page_size));
			ASSERT_EQ(0, madvise(addr, MB(2), MADV_DONTNEED));
		}
	}
}

TEST_HARNESS_MAIN
