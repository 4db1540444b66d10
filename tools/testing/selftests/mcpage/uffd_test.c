// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: a range that userfaultfd watches gets single pages, so that
 * no page appears that its monitor has not heard of.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <linux/userfaultfd.h>

#include "mcpage_harness.h"

FIXTURE(uffd)
{
	char *addr;
	size_t size;
	int fd;
};

FIXTURE_VARIANT(uffd)
{
	const char *backing;
};

FIXTURE_VARIANT_ADD(uffd, folio)
{
	.backing = "folio",
};

FIXTURE_VARIANT_ADD(uffd, pages)
{
	.backing = "pages",
};

FIXTURE_SETUP(uffd)
{
	struct uffdio_api api = { .api = UFFD_API };

	if (not_testable())
		SKIP(return, "%s", not_testable());
	ASSERT_EQ(0, settings_begin());
	if (mcpage_write("backing", variant->backing)) {
		settings_end();
		SKIP(return, "no %s backing in this kernel", variant->backing);
	}
	self->fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (self->fd < 0) {
		settings_end();
		SKIP(return, "no userfaultfd");
	}
	ASSERT_EQ(0, ioctl(self->fd, UFFDIO_API, &api));
	self->size = MB(2);
	self->addr = map_region(self->size);
	ASSERT_NE(NULL, self->addr);
	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(4) | BIT(2)));
}

FIXTURE_TEARDOWN_PARENT(uffd)
{
	settings_end();
}

static int watch(int fd, char *addr, size_t size, uint64_t mode)
{
	struct uffdio_register reg = {
		.range = { .start = (unsigned long)addr, .len = size },
		.mode = mode,
	};

	return ioctl(fd, UFFDIO_REGISTER, &reg) ? -errno : 0;
}

static int unwatch(int fd, char *addr, size_t size)
{
	struct uffdio_range range = { .start = (unsigned long)addr, .len = size };

	return ioctl(fd, UFFDIO_UNREGISTER, &range) ? -errno : 0;
}

struct monitor {
	int fd;
	int events;
	int stop[2];
};

/* Gives each missing page its address as content. */
static void *serve(void *arg)
{
	struct monitor *m = arg;
	struct pollfd fds[] = {
		{ .fd = m->fd, .events = POLLIN },
		{ .fd = m->stop[0], .events = POLLIN },
	};
	char *page = aligned_alloc(page_size, page_size);
	struct uffd_msg msg;

	while (poll(fds, 2, -1) > 0 && !fds[1].revents) {
		unsigned long addr;
		struct uffdio_copy copy;

		if (read(m->fd, &msg, sizeof(msg)) != sizeof(msg))
			continue;
		m->events++;
		addr = msg.arg.pagefault.address & -page_size;
		memset(page, 0, page_size);
		memcpy(page, &addr, sizeof(addr));
		copy = (struct uffdio_copy){
			.dst = addr, .src = (unsigned long)page, .len = page_size,
		};
		ioctl(m->fd, UFFDIO_COPY, &copy);
	}
	free(page);
	return NULL;
}

TEST_F(uffd, missing)
{
	struct monitor m = { .fd = self->fd };
	unsigned long before;
	pthread_t thread;

	/* A block from before, with a hole in it. */
	ASSERT_EQ(4, touch_order(self->addr, variant->backing));
	ASSERT_EQ(0, madvise(self->addr + KB(16), KB(16), MADV_DONTNEED));

	ASSERT_EQ(0, pipe2(m.stop, O_CLOEXEC));
	ASSERT_EQ(0, watch(self->fd, self->addr, self->size,
			   UFFDIO_REGISTER_MODE_MISSING));
	EXPECT_EQ(BIT(4) | BIT(2), get_vma(self->addr));
	before = vm_event("mcpage_anon_fault_alloc");
	ASSERT_EQ(0, pthread_create(&thread, NULL, serve, &m));
	for (size_t i = 0; i < MB(1); i += page_size) {
		unsigned long *word = (unsigned long *)(self->addr + i);

		if (i < KB(64) && (i < KB(16) || i >= KB(32)))
			continue;
		/* A write and reads, each of a page that the monitor made. */
		if (i & page_size)
			poke((char *)(word + 1), 1);
		ASSERT_EQ((unsigned long)word, *word);
	}
	ASSERT_EQ(1, write(m.stop[1], "", 1));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(240 + 4, m.events);
	EXPECT_EQ(256, present_pages(self->addr, self->size));
	EXPECT_EQ(before, vm_event("mcpage_anon_fault_alloc"));

	/* Nobody watches any more: blocks again. */
	ASSERT_EQ(0, unwatch(self->fd, self->addr, self->size));
	ASSERT_EQ(0, madvise(self->addr, self->size, MADV_DONTNEED));
	EXPECT_EQ(4, touch_order(self->addr + MB(1), variant->backing));
}

TEST_F(uffd, write_protect)
{
	int err = watch(self->fd, self->addr, self->size, UFFDIO_REGISTER_MODE_WP);

	if (err)
		SKIP(return, "no write protection by userfaultfd");
	for (int i = 0; i < 8; i++) {
		self->addr[i * KB(64) + page_size] = 1;
		EXPECT_EQ(1 + i, present_pages(self->addr, self->size));
		EXPECT_EQ(0, folio_order(self->addr + i * KB(64) + page_size));
	}
	ASSERT_EQ(0, unwatch(self->fd, self->addr, self->size));
	ASSERT_EQ(0, madvise(self->addr, self->size, MADV_DONTNEED));
	EXPECT_EQ(4, touch_order(self->addr, variant->backing));
}

TEST_HARNESS_MAIN
