// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: the policy of a mapping, through everything that splits,
 * merges, moves or changes mappings.
 */
#include <sys/syscall.h>

#include <linux/memfd.h>

#include "mcpage_harness.h"

#define PAGES(n) ((size_t)(n) * page_size)

FIXTURE(vma)
{
	char *addr;
	size_t size;
};

FIXTURE_SETUP(vma)
{
	if (not_testable())
		SKIP(return, "%s", not_testable());
	ASSERT_EQ(0, settings_begin());
	self->size = MB(4);
	self->addr = map_region(self->size);
	ASSERT_NE(NULL, self->addr);
	ASSERT_EQ(1, count_vmas(self->addr, self->size));
}

FIXTURE_TEARDOWN_PARENT(vma)
{
	settings_end();
}

/* A third state that can be restored: nothing is left of a policy. */
TEST_F(vma, unset_restores)
{
	char before[256], after[256];
	char *middle = self->addr + MB(1);

	/* Pages make the anon_vma that a merge has to agree on. */
	memset(self->addr, 1, self->size);
	ASSERT_EQ(0, smaps_field(self->addr, "VmFlags", before, sizeof(before)));
	ASSERT_FALSE(has_vm_flag(self->addr, "mc"));

	ASSERT_EQ(0, set_vma(middle, MB(1), BIT(4)));
	EXPECT_EQ(3, count_vmas(self->addr, self->size));
	EXPECT_TRUE(has_vm_flag(middle, "mc"));
	EXPECT_FALSE(has_vm_flag(self->addr, "mc"));
	EXPECT_FALSE(has_vm_flag(middle + MB(1), "mc"));
	EXPECT_EQ(BIT(4), get_vma(middle));
	EXPECT_EQ(BIT(4), get_vma(middle + MB(1) - 1));
	EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(middle - 1));
	EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(middle + MB(1)));

	ASSERT_EQ(0, set_vma(middle, MB(1), PR_MCPAGE_UNSET));
	EXPECT_EQ(1, count_vmas(self->addr, self->size));
	ASSERT_EQ(0, smaps_field(self->addr, "VmFlags", after, sizeof(after)));
	EXPECT_STREQ(before, after);
}

/* No orders is a policy, and each set has one token and no "??" in smaps. */
TEST_F(vma, one_token)
{
	for (unsigned long orders = 0; orders <= valid_orders; orders += 4) {
		char flags[256];

		ASSERT_EQ(0, set_vma(self->addr, self->size, orders));
		ASSERT_EQ(orders, get_vma(self->addr));
		ASSERT_EQ(0, smaps_field(self->addr, "VmFlags", flags, sizeof(flags)));
		ASSERT_TRUE(has_vm_flag(self->addr, "mc"));
		ASSERT_EQ(NULL, strstr(flags, "??"));
	}
}

/* The value that is there already costs nothing and splits nothing. */
TEST_F(vma, equal_value_changes_nothing)
{
	EXPECT_EQ(0, set_vma(self->addr + MB(1), MB(1), PR_MCPAGE_UNSET));
	EXPECT_EQ(1, count_vmas(self->addr, self->size));
	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(4)));
	EXPECT_EQ(1, count_vmas(self->addr, self->size));
	for (int i = 0; i < 16; i++)
		EXPECT_EQ(0, set_vma(self->addr + i * KB(64), KB(64), BIT(4)));
	EXPECT_EQ(1, count_vmas(self->addr, self->size));
	/* One that has it in part is only touched in the rest. */
	ASSERT_EQ(0, set_vma(self->addr, MB(2), BIT(2)));
	EXPECT_EQ(2, count_vmas(self->addr, self->size));
	ASSERT_EQ(0, set_vma(self->addr + MB(1), MB(2), BIT(2)));
	EXPECT_EQ(2, count_vmas(self->addr, self->size));
	EXPECT_EQ(BIT(2), get_vma(self->addr + MB(3) - 1));
	EXPECT_EQ(BIT(4), get_vma(self->addr + MB(3)));
}

/* One call over several VMAs with several policies leaves one VMA. */
TEST_F(vma, merges)
{
	for (int i = 0; i < 8; i++)
		ASSERT_EQ(0, set_vma(self->addr + i * KB(512), KB(512),
				     i & 1 ? BIT(2) : BIT(i + 3)));
	EXPECT_EQ(8, count_vmas(self->addr, self->size));
	/* Ends in the middle of two of them. */
	ASSERT_EQ(0, set_vma(self->addr + KB(256), MB(3), BIT(5)));
	EXPECT_EQ(4, count_vmas(self->addr, self->size));
	EXPECT_EQ(BIT(3), get_vma(self->addr));
	EXPECT_EQ(BIT(5), get_vma(self->addr + KB(256)));
	EXPECT_EQ(BIT(5), get_vma(self->addr + KB(256) + MB(3) - 1));
	EXPECT_EQ(BIT(9), get_vma(self->addr + KB(256) + MB(3)));
	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(5)));
	EXPECT_EQ(1, count_vmas(self->addr, self->size));
	EXPECT_EQ(BIT(5), get_vma(self->addr));
	ASSERT_EQ(0, set_vma(self->addr, self->size, PR_MCPAGE_UNSET));
	EXPECT_EQ(1, count_vmas(self->addr, self->size));
}

/* New mappings beside one with a policy have none, and do not merge with it. */
TEST_F(vma, new_neighbour_has_none)
{
	char *next = self->addr + self->size;

	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(4)));
	ASSERT_EQ(next, mmap(next, MB(1), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED |
			     MAP_NORESERVE, -1, 0));
	EXPECT_EQ(2, count_vmas(self->addr, self->size + MB(1)));
	EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(next));
	/* A hole that is filled again starts without, too. */
	ASSERT_EQ(self->addr, mmap(self->addr, MB(1), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED |
				   MAP_NORESERVE, -1, 0));
	EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(self->addr));
	EXPECT_EQ(BIT(4), get_vma(self->addr + MB(1)));
}

/* As madvise() has it. */
TEST_F(vma, ranges)
{
	char *addr = self->addr;

	EXPECT_EQ(-EINVAL, set_vma(addr + 1, page_size, BIT(4)));
	EXPECT_EQ(-EINVAL, set_vma(addr + page_size - 1, page_size, BIT(4)));
	EXPECT_EQ(-EINVAL, set_vma(addr, -page_size, BIT(4)));
	EXPECT_EQ(-EINVAL, set_vma(addr, -1UL, BIT(4)));
	EXPECT_EQ(0, set_vma(addr, 0, BIT(4)));
	EXPECT_EQ(1, count_vmas(addr, self->size));
	EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(addr));
	/* A bad value is refused for no range as well. */
	EXPECT_EQ(-EINVAL, set_vma(addr, 0, BIT(1)));
	/* A length is rounded up, an address to look at is not rounded. */
	EXPECT_EQ(0, set_vma(addr, 1, BIT(4)));
	EXPECT_EQ(BIT(4), get_vma(addr + page_size - 1));
	EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(addr + page_size));
	EXPECT_EQ(0, set_vma(addr, self->size, PR_MCPAGE_UNSET));
	EXPECT_EQ(1, count_vmas(addr, self->size));
}

TEST_F(vma, holes)
{
	char *hole = self->addr + MB(2);

	ASSERT_EQ(0, munmap(hole, MB(1)));
	EXPECT_EQ(-ENOMEM, set_vma(hole, MB(1), BIT(4)));
	EXPECT_EQ(-ENOMEM, get_vma(hole));
	EXPECT_EQ(-ENOMEM, set_vma(self->addr, self->size, BIT(4)));
	EXPECT_EQ(-ENOMEM, set_vma(self->addr + MB(1), MB(2), BIT(4)));
	EXPECT_EQ(-ENOMEM, set_vma(hole + MB(1) - page_size, MB(1), BIT(4)));
	EXPECT_EQ(-ENOMEM, set_vma((void *)(BIT(47) - page_size), page_size, BIT(4)));
	/* Nothing has changed beside them. */
	EXPECT_EQ(2, count_vmas(self->addr, self->size));
	EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(self->addr));
	EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(hole + MB(1)));
}

enum other { FILE_PRIVATE, FILE_SHARED, SHMEM, MEMFD, ANON_SHARED, HUGETLB, SPECIAL };

FIXTURE(other)
{
	char *addr;
	char *alien;
	size_t size;
	size_t alien_size;
};

FIXTURE_VARIANT(other)
{
	enum other kind;
};

FIXTURE_VARIANT_ADD(other, file_private)
{
	.kind = FILE_PRIVATE,
};

FIXTURE_VARIANT_ADD(other, file_shared)
{
	.kind = FILE_SHARED,
};

FIXTURE_VARIANT_ADD(other, shmem)
{
	.kind = SHMEM,
};

FIXTURE_VARIANT_ADD(other, memfd)
{
	.kind = MEMFD,
};

FIXTURE_VARIANT_ADD(other, anon_shared)
{
	.kind = ANON_SHARED,
};

FIXTURE_VARIANT_ADD(other, hugetlb)
{
	.kind = HUGETLB,
};

FIXTURE_VARIANT_ADD(other, special)
{
	.kind = SPECIAL,
};

static char *find_mapping(const char *name)
{
	unsigned long start = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, name)) {
			start = strtoul(line, NULL, 16);
			break;
		}
	}
	if (maps)
		fclose(maps);
	return (char *)start;
}

static char *map_alien(enum other kind, char *addr, size_t size)
{
	int flags = MAP_FIXED | MAP_PRIVATE, fd = -1;
	void *map;

	switch (kind) {
	case FILE_PRIVATE:
		/* Not one on tmpfs, which is shmem. */
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		break;
	case FILE_SHARED:
		fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
		flags = MAP_FIXED | MAP_SHARED;
		break;
	case SHMEM:
		fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		break;
	case MEMFD:
		fd = memfd_create("mcpage", MFD_CLOEXEC);
		flags = MAP_FIXED | MAP_SHARED;
		break;
	case ANON_SHARED:
		flags = MAP_FIXED | MAP_SHARED | MAP_ANONYMOUS;
		break;
	case HUGETLB:
		write_text("/proc/sys/vm/nr_hugepages", "2");
		flags |= MAP_ANONYMOUS | MAP_HUGETLB;
		break;
	case SPECIAL:
		return find_mapping("[vdso]");
	}
	if (kind == SHMEM || kind == MEMFD) {
		if (ftruncate(fd, size))
			return NULL;
	}
	map = mmap(addr, size, PROT_READ, flags, fd, 0);
	if (fd >= 0)
		close(fd);
	return map == MAP_FAILED ? NULL : map;
}

FIXTURE_SETUP(other)
{
	if (not_testable())
		SKIP(return, "%s", not_testable());
	ASSERT_EQ(0, settings_begin());
	self->size = MB(8);
	self->addr = map_region(self->size);
	ASSERT_NE(NULL, self->addr);
	self->alien_size = variant->kind == SPECIAL ? page_size : MB(2);
	self->alien = map_alien(variant->kind, self->addr + MB(2), self->alien_size);
	if (!self->alien && variant->kind == HUGETLB) {
		settings_end();
		SKIP(return, "no hugetlb pages");
	}
	ASSERT_NE(NULL, self->alien);
}

FIXTURE_TEARDOWN_PARENT(other)
{
	settings_end();
}

/* Never silent success on memory that mcpage does not serve. */
TEST_F(other, refused)
{
	EXPECT_EQ(-EINVAL, set_vma(self->alien, self->alien_size, BIT(4)));
	EXPECT_EQ(-EINVAL, set_vma(self->alien, self->alien_size, 0));
	EXPECT_EQ(-EINVAL, set_vma(self->alien, self->alien_size, PR_MCPAGE_UNSET));
	EXPECT_EQ(-EINVAL, get_vma(self->alien));
	EXPECT_FALSE(has_vm_flag(self->alien, "mc"));
	EXPECT_TRUE(variant->kind != SPECIAL ||
		    set_vma(find_mapping("[vvar]"), page_size, BIT(4)) == -EINVAL);
}

/* One call over anonymous + other + gap + anonymous: refused as a whole. */
TEST_F(other, all_or_nothing)
{
	char *addr = self->addr;
	int vmas;

	if (variant->kind == SPECIAL) {
		/* Of these two no place is ours to choose. */
		vmas = count_vmas(NULL, -1UL);
		EXPECT_EQ(-EINVAL, set_vma(find_mapping("[vvar]"),
					   self->alien - find_mapping("[vvar]") +
					   page_size, BIT(4)));
		EXPECT_EQ(vmas, count_vmas(NULL, -1UL));
		return;
	}
	ASSERT_EQ(0, munmap(addr + MB(4), MB(1)));
	ASSERT_EQ(0, set_vma(addr + MB(6), MB(1), BIT(2)));
	vmas = count_vmas(addr, self->size);
	EXPECT_EQ(-EINVAL, set_vma(addr, self->size, BIT(4)));
	EXPECT_EQ(-EINVAL, set_vma(addr + MB(1), MB(2), BIT(4)));
	EXPECT_EQ(-EINVAL, set_vma(self->alien + MB(1), MB(1), BIT(4)));
	EXPECT_EQ(-ENOMEM, set_vma(addr + MB(4), MB(4), BIT(4)));
	EXPECT_EQ(vmas, count_vmas(addr, self->size));
	EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(addr));
	EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(addr + MB(5)));
	EXPECT_EQ(BIT(2), get_vma(addr + MB(6)));
	EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(addr + MB(7)));
	/* The parts that can be set, can. */
	EXPECT_EQ(0, set_vma(addr, MB(2), BIT(4)));
	EXPECT_EQ(0, set_vma(addr + MB(5), MB(3), BIT(4)));
}

/* A half that is moved away takes its policy along and leaves the rest. */
TEST_F(vma, mremap_moves)
{
	char *to = map_region(MB(4)), *moved;

	ASSERT_NE(NULL, to);
	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(4)));
	ASSERT_EQ(4, touch_order(self->addr + MB(2), "folio"));
	moved = mremap(self->addr + MB(2), MB(2), MB(2),
		       MREMAP_MAYMOVE | MREMAP_FIXED, to);
	ASSERT_EQ(to, moved);
	EXPECT_EQ(BIT(4), get_vma(to));
	EXPECT_EQ(BIT(4), get_vma(to + MB(2) - 1));
	EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(to + MB(2)));
	EXPECT_EQ(BIT(4), get_vma(self->addr));
	EXPECT_EQ(-ENOMEM, get_vma(self->addr + MB(2)));
	EXPECT_EQ(1, *to);
	/* Faults obey it at both ends. */
	ASSERT_EQ(0, madvise(to, MB(2), MADV_DONTNEED));
	EXPECT_EQ(4, touch_order(to + MB(1), "folio"));
	EXPECT_EQ(4, touch_order(self->addr + MB(1), "folio"));
	/* One that is moved where its equals are merges with them. */
	ASSERT_EQ(0, madvise(to, MB(2), MADV_DONTNEED));
	moved = mremap(to, MB(2), MB(2), MREMAP_MAYMOVE | MREMAP_FIXED,
		       self->addr + MB(2));
	ASSERT_EQ(self->addr + MB(2), moved);
	EXPECT_EQ(BIT(4), get_vma(moved));
}

TEST_F(vma, mremap_resizes)
{
	char *addr = self->addr, *grown;

	ASSERT_EQ(0, set_vma(addr, self->size, BIT(4)));
	ASSERT_EQ(addr, mremap(addr, MB(4), MB(2), 0));
	EXPECT_EQ(BIT(4), get_vma(addr));
	/* In place, over what the shrinking freed. */
	ASSERT_EQ(addr, mremap(addr, MB(2), MB(4), 0));
	EXPECT_EQ(1, count_vmas(addr, MB(4)));
	EXPECT_EQ(BIT(4), get_vma(addr + MB(4) - 1));
	EXPECT_EQ(4, touch_order(addr + MB(2), "folio"));
	/* And elsewhere: the reservation is in the way. */
	grown = mremap(addr, MB(4), MB(8), MREMAP_MAYMOVE);
	ASSERT_NE(MAP_FAILED, grown);
	ASSERT_NE(addr, grown);
	EXPECT_EQ(BIT(4), get_vma(grown));
	EXPECT_EQ(BIT(4), get_vma(grown + MB(8) - 1));
	munmap(grown, MB(8));
}

/* The source stays, empty, and has its policy as the destination has. */
TEST_F(vma, mremap_dontunmap)
{
	char *moved;

	ASSERT_EQ(0, set_vma(self->addr, self->size, BIT(4)));
	memset(self->addr, 7, MB(1));
	moved = mremap(self->addr, self->size, self->size,
		       MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
	ASSERT_NE(MAP_FAILED, moved);
	EXPECT_EQ(7, moved[MB(1) - 1]);
	EXPECT_EQ(BIT(4), get_vma(moved));
	EXPECT_EQ(BIT(4), get_vma(self->addr));
	EXPECT_EQ(0, present_pages(self->addr, self->size));
	EXPECT_EQ(4, touch_order(self->addr + MB(2), "folio"));
	munmap(moved, self->size);
}

/* Other properties change beside it. */
TEST_F(vma, mprotect_and_mlock)
{
	char *addr = self->addr;

	/* All parts share the anon_vma, or the kernel does not merge them again. */
	poke(addr, 1);
	ASSERT_EQ(0, set_vma(addr, self->size, BIT(4)));
	ASSERT_EQ(0, mprotect(addr + MB(1), MB(1), PROT_READ));
	EXPECT_EQ(3, count_vmas(addr, self->size));
	EXPECT_EQ(BIT(4), get_vma(addr + MB(1)));
	ASSERT_EQ(0, set_vma(addr + MB(1), MB(1), BIT(3)));
	EXPECT_EQ(BIT(3), get_vma(addr + MB(1)));
	EXPECT_EQ(BIT(4), get_vma(addr));
	ASSERT_EQ(0, mprotect(addr + MB(1), MB(1), PROT_READ | PROT_WRITE));
	EXPECT_EQ(3, count_vmas(addr, self->size));
	ASSERT_EQ(0, set_vma(addr + MB(1), MB(1), BIT(4)));
	EXPECT_EQ(1, count_vmas(addr, self->size));

	/* Locking populates it, by blocks, and counts all of them. */
	ASSERT_EQ(0, mlock(addr + MB(2), KB(512)));
	EXPECT_EQ(128, present_pages(addr + MB(2), KB(512)));
	EXPECT_EQ(4, folio_order(addr + MB(2)));
	EXPECT_EQ(512, smaps_kb(addr + MB(2), "Locked"));
	EXPECT_EQ(BIT(4), get_vma(addr + MB(2)));
	ASSERT_EQ(0, munlock(addr + MB(2), KB(512)));
	EXPECT_EQ(BIT(4), get_vma(addr + MB(2)));
	EXPECT_EQ(1, count_vmas(addr, self->size));
}

/* To release is not to forget: no split, and the next touch gets its block. */
TEST_F(vma, release_keeps_policy)
{
	static const int advices[] = { MADV_DONTNEED, MADV_FREE };
	char *addr = self->addr;

	ASSERT_EQ(0, set_vma(addr, self->size, BIT(4) | BIT(2)));
	for (size_t i = 0; i < ARRAY_SIZE(advices); i++) {
		memset(addr, 3, MB(2));
		ASSERT_EQ(0, madvise(addr + KB(16), KB(16), advices[i]));
		EXPECT_EQ(1, count_vmas(addr, self->size));
		EXPECT_EQ(BIT(4) | BIT(2), get_vma(addr + KB(16)));
		EXPECT_EQ(3, addr[KB(16) - 1]);
		EXPECT_EQ(3, addr[KB(32)]);
		addr[KB(16)] = 4;
		EXPECT_EQ(4, addr[KB(16)]);
		if (advices[i] == MADV_DONTNEED) {
			/* All of the hole in one fault. */
			EXPECT_EQ(4, present_pages(addr + KB(16), KB(16)));
			EXPECT_EQ(2, folio_order(addr + KB(16)));
			EXPECT_EQ(0, addr[KB(32) - 1]);
		}
		ASSERT_EQ(0, madvise(addr, MB(2), MADV_DONTNEED));
		EXPECT_EQ(4, touch_order(addr, "folio"));
		ASSERT_EQ(0, madvise(addr, MB(2), MADV_DONTNEED));
	}
}

/* Names are objects with a count: a merge that frees the VMA must not use it. */
TEST_F(vma, names)
{
	char *addr = self->addr, text[256];
	static const char name[] = "mcpage names";

	if (prctl(PR_SET_VMA, (unsigned long)PR_SET_VMA_ANON_NAME,
		  (unsigned long)addr, self->size, (unsigned long)name))
		SKIP(return, "no names for anonymous memory");
	for (int i = 0; i < 5000; i++) {
		char *half = addr + (i & 1 ? MB(2) : 0);

		/* The right one, then the left one, takes the other's policy. */
		ASSERT_EQ(0, set_vma(half, MB(2), BIT(4)));
		ASSERT_EQ(0, set_vma(addr, self->size, BIT(4)));
		if (i % 16)
			continue;
		ASSERT_EQ(0, set_vma(addr + MB(1), MB(1), BIT(2)));
		ASSERT_EQ(0, prctl(PR_SET_VMA, (unsigned long)PR_SET_VMA_ANON_NAME,
				   (unsigned long)addr + MB(1), MB(2),
				   i & 32 ? (unsigned long)name : 0UL));
		ASSERT_EQ(0, set_vma(addr, self->size, PR_MCPAGE_UNSET));
	}
	for (int i = 0; i < 5000; i++) {
		ASSERT_EQ(0, set_vma(addr + (i & 1 ? MB(2) : 0), MB(2),
				     i & 2 ? BIT(4) : BIT(2)));
	}
	ASSERT_EQ(0, prctl(PR_SET_VMA, (unsigned long)PR_SET_VMA_ANON_NAME,
			   (unsigned long)addr, self->size, (unsigned long)name));
	ASSERT_EQ(0, set_vma(addr, self->size, PR_MCPAGE_UNSET));
	EXPECT_EQ(1, count_vmas(addr, self->size));
	ASSERT_EQ(0, read_text("/proc/self/maps", text, sizeof(text)));
}

/* Where names differ, VMAs stay apart, whatever the policy. */
TEST_F(vma, names_keep_apart)
{
	char *addr = self->addr;

	if (prctl(PR_SET_VMA, (unsigned long)PR_SET_VMA_ANON_NAME,
		  (unsigned long)addr, MB(2), (unsigned long)"left"))
		SKIP(return, "no names for anonymous memory");
	ASSERT_EQ(0, set_vma(addr, self->size, BIT(4)));
	EXPECT_EQ(2, count_vmas(addr, self->size));
	ASSERT_EQ(0, set_vma(addr, self->size, PR_MCPAGE_UNSET));
	EXPECT_EQ(2, count_vmas(addr, self->size));
}

TEST_F(vma, heap)
{
	char *heap = sbrk(MB(4));
	char *base = (char *)(((size_t)heap + page_size - 1) & -page_size);

	ASSERT_NE((void *)-1, heap);
	EXPECT_EQ(0, set_vma(base, MB(2), BIT(4)));
	EXPECT_EQ(BIT(4), get_vma(base));
	EXPECT_TRUE(has_vm_flag(base, "mc"));
	/* What brk() adds is without. */
	EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(base + MB(2)));
	EXPECT_EQ(0, set_vma(base, MB(2), PR_MCPAGE_UNSET));
}

TEST_F(vma, stack)
{
	char local, *page = (char *)((size_t)&local & -page_size);

	ASSERT_EQ(0, set_vma(page, page_size, BIT(4)));
	EXPECT_EQ(BIT(4), get_vma(&local));
	EXPECT_TRUE(has_vm_flag(page, "mc"));
	EXPECT_EQ(0, set_vma(page, page_size, PR_MCPAGE_UNSET));
	EXPECT_FALSE(has_vm_flag(page, "mc"));
}

/* What grows keeps its policy where it has grown. */
TEST_F(vma, grows_down)
{
	size_t size = PAGES(4);
	char *low = self->addr + MB(3);

	/* Room for growth, and for the guard gap below it. */
	ASSERT_EQ(0, munmap(self->addr, MB(3) + size));
	ASSERT_EQ(low, mmap(low, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN |
			    MAP_FIXED, -1, 0));
	ASSERT_EQ(0, set_vma(low, size, BIT(4)));
	low[-1] = 1;
	EXPECT_EQ(BIT(4), get_vma(low - 1));
	EXPECT_EQ(1, count_vmas(low - page_size, size + page_size));
	/* The class of stacks has no orders by default. */
	EXPECT_EQ(0, folio_order(low - 1));
	EXPECT_EQ(0, set_vma(low - page_size, size + page_size, PR_MCPAGE_UNSET));
}

/* The limit on the number of mappings: refused as a whole, nothing half done. */
TEST_F(vma, too_many_mappings)
{
	unsigned long limit = read_number("/proc/sys/vm/max_map_count"), have = 0;
	char *addr = self->addr, text[32];
	long ret;

	ASSERT_NE(0, limit);
	have = count_vmas(NULL, -1UL);
	/* Room for one more: a split in the middle needs two. */
	snprintf(text, sizeof(text), "%lu", have + 1);
	ASSERT_EQ(0, write_text("/proc/sys/vm/max_map_count", text));
	ret = set_vma(addr + MB(1), MB(1), BIT(4));
	snprintf(text, sizeof(text), "%lu", limit);
	ASSERT_EQ(0, write_text("/proc/sys/vm/max_map_count", text));
	EXPECT_EQ(-ENOMEM, ret);
	EXPECT_EQ(1, count_vmas(addr, self->size));
	EXPECT_EQ(PR_MCPAGE_UNSET, get_vma(addr + MB(1)));
	EXPECT_EQ(0, set_vma(addr + MB(1), MB(1), BIT(4)));
}

TEST_HARNESS_MAIN
