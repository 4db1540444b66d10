// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: the first write to memory that was only read so far takes a
 * block, where nobody watches single pages.
 */
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <linux/userfaultfd.h>

#include "mcpage_harness.h"

FIXTURE(zeropage)
{
	char *addr;
	size_t size;
};

FIXTURE_VARIANT(zeropage)
{
	const char *backing;
};

FIXTURE_VARIANT_ADD(zeropage, folio)
{
	.backing = "folio",
};

FIXTURE_VARIANT_ADD(zeropage, pages)
{
	.backing = "pages",
};

FIXTURE_SETUP(zeropage)
{
	if (not_testable())
		SKIP(return, "%s", not_testable());
	ASSERT_EQ(0, settings_begin());
	if (mcpage_write("backing", variant->backing)) {
		settings_end();
		SKIP(return, "no %s backing in this kernel", variant->backing);
	}
	write_text("/proc/sys/vm/compact_memory", "1");
	self->size = MB(2);
	self->addr = map_region(self->size);
	ASSERT_NE(NULL, self->addr);
	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(4)));
}

FIXTURE_TEARDOWN_PARENT(zeropage)
{
	settings_end();
}

/* Read each page; true if all of it is zero. */
static bool read_all(const char *addr, size_t size)
{
	bool zero = true;

	for (size_t i = 0; i < size; i += page_size)
		zero &= !peek(addr + i);
	return zero;
}

/* Each order below that of a huge zero page; by its first, a middle, its last byte. */
TEST_F(zeropage, each_order)
{
	for (unsigned int order = 2; order < pmd_order; order++) {
		size_t block = block_size(order);
		const size_t offsets[] = { 0, block / 2 + 1, block - 1 };

		ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(order)));
		for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
			unsigned long before = mcpage_stat(order, "alloc");

			ASSERT_TRUE(read_all(self->addr, self->size));
			ASSERT_EQ(0, resident(self->addr, self->size));
			poke(self->addr + block + offsets[i], 7);
			EXPECT_EQ(block / page_size, resident(self->addr, self->size));
			EXPECT_EQ(strcmp(variant->backing, "folio") ? 0 : order,
				  folio_order(self->addr + block));
			EXPECT_EQ(before + 1, mcpage_stat(order, "alloc"));
			EXPECT_EQ(7, peek(self->addr + block + offsets[i]));
			poke(self->addr + block + offsets[i], 0);
			for (size_t at = 0; at < self->size; at += sizeof(long))
				ASSERT_EQ(0, *(long *)(self->addr + at));
			ASSERT_EQ(0, madvise(self->addr, self->size, MADV_DONTNEED));
		}
	}
}

/* The huge zero page makes way as a whole. */
TEST_F(zeropage, huge)
{
	if (strcmp(variant->backing, "folio"))
		SKIP(return, "there is none with this backing");
	ASSERT_EQ(0, set_vma(self->addr, self->size, valid_orders));
	ASSERT_TRUE(read_all(self->addr, self->size));
	ASSERT_EQ(0, resident(self->addr, self->size));
	poke(self->addr + KB(64), 7);
	EXPECT_EQ(self->size / page_size, resident(self->addr, self->size));
	EXPECT_EQ(pmd_order, folio_order(self->addr));
	EXPECT_EQ(7, peek(self->addr + KB(64)));
	poke(self->addr + KB(64), 0);
	EXPECT_TRUE(read_all(self->addr, self->size));
}

static int write_in_child(void *arg)
{
	char *addr = arg;

	poke(addr + KB(8), 9);
	return resident(addr, KB(64)) == 16 && peek(addr + KB(8)) == 9 ? 0 : 1;
}

/* A child's block is its own. */
TEST_F(zeropage, fork)
{
	ASSERT_TRUE(read_all(self->addr, self->size));
	EXPECT_EQ(0, run_child(write_in_child, self->addr));
	EXPECT_EQ(0, resident(self->addr, self->size));
	EXPECT_TRUE(read_all(self->addr, self->size));
}

/* A range that userfaultfd protects: each page's write is reported by itself. */
TEST_F(zeropage, uffd_wp)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { .start = (unsigned long)self->addr, .len = self->size },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	struct uffdio_writeprotect wp = {
		.range = { .start = (unsigned long)self->addr, .len = KB(64) },
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		SKIP(return, "no userfaultfd");
	ASSERT_TRUE(read_all(self->addr, self->size));
	ASSERT_EQ(0, ioctl(fd, UFFDIO_REGISTER, &reg));
	ASSERT_EQ(0, ioctl(fd, UFFDIO_WRITEPROTECT, &wp));
	/* Behind what is protected, but watched too. */
	poke(self->addr + KB(64), 1);
	EXPECT_EQ(1, resident(self->addr, self->size));
	wp.range.start += page_size;
	wp.range.len = page_size;
	wp.mode = 0;
	ASSERT_EQ(0, ioctl(fd, UFFDIO_WRITEPROTECT, &wp));
	poke(self->addr + page_size, 1);
	EXPECT_EQ(2, resident(self->addr, self->size));
	close(fd);
	/* Nobody watches any more, and the two pages are in the way of two blocks. */
	poke(self->addr, 1);
	EXPECT_EQ(3, resident(self->addr, self->size));
	poke(self->addr + KB(128), 1);
	EXPECT_EQ(3 + 16, resident(self->addr, self->size));
}

/* Who asks which pages were written is told of no others. */
TEST_F(zeropage, soft_dirty)
{
	ASSERT_TRUE(read_all(self->addr, self->size));
	if (!soft_dirty(self->addr))
		SKIP(return, "no soft-dirty bits in this kernel");
	ASSERT_EQ(0, write_text("/proc/self/clear_refs", "4"));
	ASSERT_FALSE(soft_dirty(self->addr + page_size));
	poke(self->addr + page_size, 1);
	EXPECT_TRUE(soft_dirty(self->addr + page_size));
	for (size_t i = 2 * page_size; i < self->size; i += page_size)
		ASSERT_FALSE(soft_dirty(self->addr + i));
	EXPECT_EQ(1, resident(self->addr, self->size));
}

/* Pages of zeroes that KSM has merged stay merged but for the one written. */
TEST_F(zeropage, ksm)
{
	char before[16];
	int tries;

	if (read_text(KSM_DIR "use_zero_pages", before, sizeof(before)))
		SKIP(return, "no KSM in this kernel");
	/* One by one, as KSM merges no large folios. */
	ASSERT_EQ(0, set_vma(self->addr, self->size, 0));
	for (size_t i = 0; i < KB(64); i += page_size)
		poke(self->addr + i, 0);
	ASSERT_EQ(16, resident(self->addr, self->size));
	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(4)));
	ASSERT_EQ(0, write_text(KSM_DIR "use_zero_pages", "1"));
	ASSERT_EQ(0, madvise(self->addr, self->size, MADV_MERGEABLE));
	ASSERT_EQ(0, write_text(KSM_DIR "run", "1"));
	for (tries = 0; tries < 1000 && resident(self->addr, self->size); tries++)
		usleep(100000);
	write_text(KSM_DIR "run", "0");
	EXPECT_EQ(0, resident(self->addr, self->size));
	poke(self->addr + page_size, 1);
	EXPECT_EQ(1, resident(self->addr, self->size));
	write_text(KSM_DIR "use_zero_pages", before);
}

/* A debugger's write to read-only memory takes one page. */
TEST_F(zeropage, forced_write)
{
	char value = 5;
	int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, fd);
	ASSERT_TRUE(read_all(self->addr, self->size));
	ASSERT_EQ(0, mprotect(self->addr, self->size, PROT_READ));
	ASSERT_EQ(1, pwrite(fd, &value, 1, (off_t)(self->addr + KB(4))));
	EXPECT_EQ(1, resident(self->addr, self->size));
	EXPECT_EQ(5, peek(self->addr + KB(4)));
	EXPECT_EQ(0, peek(self->addr + KB(8)));
	close(fd);
}

#define THREADS	4
#define ROUNDS	40

struct racer {
	char *addr;
	size_t size;
	unsigned int number;
	pthread_barrier_t *barrier;
	bool ok;
};

/*
 * Each has every fourth page to himself: reads all, then writes and checks his
 * own. A block that takes the place of the zero page must lose no write.
 */
static void *race(void *arg)
{
	struct racer *r = arg;

	r->ok = true;
	for (int round = 1; round <= ROUNDS; round++) {
		if (pthread_barrier_wait(r->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			r->ok &= !madvise(r->addr, r->size, MADV_DONTNEED);
		pthread_barrier_wait(r->barrier);
		for (size_t i = 0; i < r->size; i += page_size) {
			char *page = r->addr + i;

			if (i / page_size % THREADS != r->number) {
				peek(page);
				continue;
			}
			r->ok &= !peek(page);
			poke(page, round);
			r->ok &= peek(page) == round;
		}
		for (size_t i = r->number * page_size; i < r->size;
		     i += THREADS * page_size)
			r->ok &= peek(r->addr + i) == round;
	}
	return NULL;
}

TEST_F(zeropage, race)
{
	struct racer racers[THREADS];
	pthread_t threads[THREADS];
	unsigned long before = mcpage_stat(6, "alloc");
	pthread_barrier_t barrier;

	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(2) | BIT(4) | BIT(6)));
	ASSERT_EQ(0, pthread_barrier_init(&barrier, NULL, THREADS));
	for (int i = 0; i < THREADS; i++) {
		racers[i] = (struct racer){ self->addr, self->size, i, &barrier };
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, race, &racers[i]));
	}
	for (int i = 0; i < THREADS; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], NULL));
		EXPECT_TRUE(racers[i].ok);
	}
	EXPECT_LT(before, mcpage_stat(6, "alloc"));
}

TEST_HARNESS_MAIN
