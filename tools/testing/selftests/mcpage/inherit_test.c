// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: who starts with which policy after fork, vfork, clone,
 * posix_spawn and exec.
 */
#include <pthread.h>
#include <spawn.h>
#include <sys/syscall.h>

#include "mcpage_harness.h"

extern char **environ;

/* What _mcpage_show prints. */
struct shown {
	unsigned long value;
	int err;
	unsigned long secure;
};

static bool read_shown(int fd, struct shown *shown)
{
	char buf[128];
	size_t have = 0;
	ssize_t n;

	while ((n = read(fd, buf + have, sizeof(buf) - 1 - have)) > 0)
		have += n;
	buf[have] = '\0';
	return sscanf(buf, "%lx %d %lu", &shown->value, &shown->err,
		      &shown->secure) == 3;
}

enum launch { FORK_EXEC, VFORK_EXEC, POSIX_SPAWN, THREAD_EXEC, EXEC_TWICE };

static void *exec_show(void *arg)
{
	char *argv[3] = { "_mcpage_show", arg, NULL };

	execv(show_path(), argv);
	_exit(127);
}

static pid_t launch_child(enum launch how, char *arg)
{
	char *argv[3] = { "_mcpage_show", arg, NULL };
	pthread_t thread;
	pid_t pid;

	switch (how) {
	case POSIX_SPAWN:
		return posix_spawn(&pid, show_path(), NULL, NULL, argv, environ) ?
		       -1 : pid;
	case VFORK_EXEC:
		pid = vfork();
		if (!pid) {
			execv(show_path(), argv);
			_exit(127);
		}
		return pid;
	case THREAD_EXEC:
		pid = fork();
		if (!pid) {
			/* Not the leader: exec then changes the thread's ids too. */
			pthread_create(&thread, NULL, exec_show, arg);
			pause();
		}
		return pid;
	case EXEC_TWICE:
		pid = fork();
		if (!pid) {
			execl("/bin/sh", "sh", "-c", "exec \"$0\" $1", show_path(),
			      arg ? arg : "", NULL);
			_exit(127);
		}
		return pid;
	default:
		pid = fork();
		if (!pid)
			exec_show(arg);
		return pid;
	}
}

/* Run _mcpage_show and read what it says; false on any failure. */
static bool launch(enum launch how, char *arg, struct shown *shown)
{
	int fds[2], saved, status;
	bool ok;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return false;
	saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
	fflush(NULL);
	dup2(fds[1], STDOUT_FILENO);
	pid = launch_child(how, arg);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	close(fds[1]);
	ok = pid > 0 && read_shown(fds[0], shown);
	close(fds[0]);
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status && ok;
}

FIXTURE(exec)
{
	struct shown shown;
};

FIXTURE_VARIANT(exec)
{
	enum launch how;
};

FIXTURE_VARIANT_ADD(exec, fork)
{
	.how = FORK_EXEC,
};

FIXTURE_VARIANT_ADD(exec, vfork)
{
	.how = VFORK_EXEC,
};

FIXTURE_VARIANT_ADD(exec, posix_spawn)
{
	.how = POSIX_SPAWN,
};

FIXTURE_VARIANT_ADD(exec, thread)
{
	.how = THREAD_EXEC,
};

FIXTURE_VARIANT_ADD(exec, twice)
{
	.how = EXEC_TWICE,
};

FIXTURE_SETUP(exec)
{
	if (not_testable())
		SKIP(return, "%s", not_testable());
	ASSERT_EQ(0, settings_begin());
}

FIXTURE_TEARDOWN_PARENT(exec)
{
	settings_end();
}

/* Without INHERIT a new program starts with none, and the parent keeps its. */
TEST_F(exec, drops)
{
	static const unsigned long values[] = { 0, BIT(4), 0x3fc };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		ASSERT_EQ(0, set_process(values[i]));
		ASSERT_TRUE(launch(variant->how, NULL, &self->shown));
		EXPECT_EQ(PR_MCPAGE_UNSET, self->shown.value);
		EXPECT_EQ(0, self->shown.secure);
		EXPECT_EQ(values[i], get_process());
	}
	ASSERT_EQ(0, set_process(PR_MCPAGE_UNSET));
	ASSERT_TRUE(launch(variant->how, NULL, &self->shown));
	EXPECT_EQ(PR_MCPAGE_UNSET, self->shown.value);
}

/* A launcher's policy arrives bit for bit, also in the program after. */
TEST_F(exec, inherits)
{
	static const unsigned long values[] = {
		PR_MCPAGE_INHERIT,
		BIT(4) | PR_MCPAGE_INHERIT,
		0x3fc | PR_MCPAGE_INHERIT,
		/* The seal last: it stays. A seal that an exec breaks is none. */
		BIT(4) | BIT(2) | PR_MCPAGE_INHERIT | PR_MCPAGE_SEAL,
		BIT(2) | PR_MCPAGE_SEAL,
		PR_MCPAGE_SEAL,
	};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		ASSERT_EQ(0, set_process(values[i]));
		ASSERT_TRUE(launch(variant->how, NULL, &self->shown));
		EXPECT_EQ(values[i], self->shown.value);
		EXPECT_EQ(values[i], get_process());
	}
}

/* What the new program sets is its own: the parent, even by vfork, has its. */
TEST_F(exec, child_sets_its_own)
{
	ASSERT_EQ(0, set_process(BIT(4) | PR_MCPAGE_INHERIT));
	ASSERT_TRUE(launch(variant->how, "0x8", &self->shown));
	EXPECT_EQ(0x8, self->shown.value);
	EXPECT_EQ(0, self->shown.err);
	EXPECT_EQ(BIT(4) | PR_MCPAGE_INHERIT, get_process());
}

TEST_F(exec, keeps_the_seal)
{
	ASSERT_EQ(0, set_process(BIT(4) | PR_MCPAGE_SEAL));
	/* All orders, sealed; UNSET. */
	ASSERT_TRUE(launch(variant->how, "0x203fc", &self->shown));
	EXPECT_EQ(EPERM, self->shown.err);
	EXPECT_EQ(BIT(4) | PR_MCPAGE_SEAL, self->shown.value);
	ASSERT_TRUE(launch(variant->how, "0x80000", &self->shown));
	EXPECT_EQ(EPERM, self->shown.err);
	EXPECT_EQ(BIT(4) | PR_MCPAGE_SEAL, self->shown.value);
	/* Narrower is allowed. */
	ASSERT_TRUE(launch(variant->how, "0x20000", &self->shown));
	EXPECT_EQ(0, self->shown.err);
	EXPECT_EQ(PR_MCPAGE_SEAL, self->shown.value);
	EXPECT_EQ(BIT(4) | PR_MCPAGE_SEAL, get_process());
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

static int fork_child(void *arg)
{
	char *addr = arg;

	if (get_process() != (long)(BIT(4) | BIT(2)) || get_vma(addr) != BIT(2))
		return 1;
	/* A VMA's policy in the child is the child's. */
	if (set_vma(addr, MB(1), BIT(4)) || get_vma(addr) != BIT(4) ||
	    get_vma(addr + MB(1)) != BIT(2))
		return 2;
	if (set_process(PR_MCPAGE_UNSET) || get_process() != PR_MCPAGE_UNSET)
		return 3;
	return 0;
}

TEST_F(process, fork_copies)
{
	char *addr = map_region(MB(2));

	ASSERT_NE(NULL, addr);
	ASSERT_EQ(0, set_process(BIT(4) | BIT(2)));
	ASSERT_EQ(0, set_vma(addr, MB(2), BIT(2)));
	EXPECT_EQ(0, run_child(fork_child, addr));
	EXPECT_EQ(BIT(4) | BIT(2), get_process());
	EXPECT_EQ(BIT(2), get_vma(addr));
	EXPECT_EQ(1, count_vmas(addr, MB(2)));
}

static int count_policies(void *arg)
{
	char *addr = arg;

	for (int i = 0; i < 2100; i++) {
		if (get_vma(addr + i * page_size) != (i & 1 ? BIT(2) : BIT(3)))
			return 1;
	}
	return count_vmas(addr, 2100 * page_size) == 2100 ? 0 : 2;
}

/*
 * Thousands of VMAs with policies: all there in the child, and no object that
 * a reference count could run out on.
 */
TEST_F(process, fork_copies_many)
{
	char *addr = map_region(2100 * page_size);

	ASSERT_NE(NULL, addr);
	ASSERT_EQ(0, set_vma(addr, 2100 * page_size, BIT(3)));
	for (int i = 1; i < 2100; i += 2)
		ASSERT_EQ(0, set_vma(addr + i * page_size, page_size, BIT(2)));
	EXPECT_EQ(0, count_policies(addr));
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(0, run_child(count_policies, addr));
	EXPECT_EQ(0, count_policies(addr));
	unmap_region(addr, 2100 * page_size);
}

/* vfork() shares the mm until exec: what is set then is the parent's too. */
TEST_F(process, vfork_shares)
{
	int status;
	pid_t pid;

	ASSERT_EQ(0, set_process(BIT(2)));
	pid = vfork();
	if (!pid) {
		prctl(PR_SET_MCPAGE, (unsigned long)PR_MCPAGE_PROCESS, BIT(4),
		      0UL, 0UL);
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(BIT(4), get_process());
}

static void *thread_set(void *arg)
{
	long before = get_process();

	set_process((unsigned long)arg);
	return (void *)before;
}

/* One process, one policy: without root, and for all its threads. */
TEST_F(process, threads_share)
{
	pthread_t thread;
	void *before;

	ASSERT_EQ(0, drop_privileges());
	ASSERT_EQ(0, set_process(BIT(2)));
	ASSERT_EQ(0, pthread_create(&thread, NULL, thread_set, (void *)BIT(4)));
	ASSERT_EQ(0, pthread_join(thread, &before));
	EXPECT_EQ(BIT(2), (unsigned long)before);
	EXPECT_EQ(BIT(4), get_process());
}

FIXTURE(setuid_exec)
{
	char dir[64];
	char path[128];
};

static int copy_program(const char *from, const char *to, mode_t mode)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out, err = -EIO;
	char buf[65536];
	ssize_t n;

	if (in < 0)
		return -errno;
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	if (out < 0) {
		close(in);
		return -errno;
	}
	while ((n = read(in, buf, sizeof(buf))) > 0) {
		if (write(out, buf, n) != n)
			goto out;
	}
	if (!n && !fchmod(out, mode))
		err = 0;
out:
	close(in);
	close(out);
	return err;
}

FIXTURE_SETUP(setuid_exec)
{
	if (not_testable())
		SKIP(return, "%s", not_testable());
	ASSERT_EQ(0, settings_begin());
	snprintf(self->dir, sizeof(self->dir), "/tmp/mcpage.XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	ASSERT_EQ(0, chmod(self->dir, 0755));
	snprintf(self->path, sizeof(self->path), "%s/show", self->dir);
	ASSERT_EQ(0, copy_program(show_path(), self->path, 04755));
}

FIXTURE_TEARDOWN_PARENT(setuid_exec)
{
	unlink(self->path);
	rmdir(self->dir);
	settings_end();
}

static bool run_copy(const char *path, struct shown *shown)
{
	int fds[2], status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return false;
	fflush(NULL);
	pid = fork();
	if (!pid) {
		dup2(fds[1], STDOUT_FILENO);
		if (!drop_privileges())
			execl(path, "show", NULL);
		_exit(127);
	}
	close(fds[1]);
	if (pid < 0 || !read_shown(fds[0], shown)) {
		close(fds[0]);
		waitpid(pid, &status, 0);
		return false;
	}
	close(fds[0]);
	return waitpid(pid, &status, 0) == pid && !status;
}

/* A program with more rights than its caller is not held to the caller's wish. */
TEST_F(setuid_exec, drops)
{
	static const unsigned long values[] = {
		BIT(4) | PR_MCPAGE_INHERIT,
		BIT(4) | PR_MCPAGE_INHERIT | PR_MCPAGE_SEAL,
		PR_MCPAGE_SEAL,
	};
	struct shown shown;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		ASSERT_EQ(0, set_process(values[i]));
		ASSERT_TRUE(run_copy(self->path, &shown));
		if (!shown.secure)
			SKIP(return, "set-user-ID has no effect on this file system");
		EXPECT_EQ(PR_MCPAGE_UNSET, shown.value);
		EXPECT_EQ(values[i], get_process());
	}
	/* The control: the same program with the same user, less the bit. */
	ASSERT_EQ(0, chmod(self->path, 0755));
	ASSERT_TRUE(run_copy(self->path, &shown));
	EXPECT_EQ(0, shown.secure);
	EXPECT_EQ(PR_MCPAGE_SEAL, shown.value);
}

/* Short programs under a system-wide cap, the stack of a new program too. */
TEST_F(process, programs_under_a_cap)
{
	struct shown shown;

	ASSERT_EQ(0, mcpage_write("enabled", "always"));
	ASSERT_EQ(0, mcpage_write("orders", "2-4"));
	ASSERT_EQ(0, mcpage_write("vma/stack/orders", "2-4"));
	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(0, mcpage_write("backing", i & 1 ? "pages" : "folio"));
		ASSERT_TRUE(launch(i % 5, NULL, &shown));
		ASSERT_EQ(PR_MCPAGE_UNSET, shown.value);
	}
}

TEST_HARNESS_MAIN
