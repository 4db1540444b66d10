// SPDX-License-Identifier: GPL-2.0-only
/*
 * Init of the guest that scripts/guest boots. The root is the host's, read
 * only: put what a program writes to or looks into on top of it, run the one
 * command that the host asks for, and tell the host how it ended.
 *
 * A sealed guest has an initramfs with the command's files and /config
 * instead. It waits for nothing from the host until the command has ended, so
 * that under icount every run executes the same instructions.
 *
 * Virtio ports, /dev/vport*pN:
 *   1  control; here:  "hello", then "exit STATUS OUT ERR" (bytes written to
 *      ports 2 and 3) or "error TEXT"
 *      there: "config LEN" and LEN bytes of NUL-terminated "key=value", then
 *      "eof N" (N bytes were the whole of stdin), "winch ROWS COLS", and
 *      "bye" when every byte has arrived
 *   2  stdout, and stdin the other way
 *   3  stderr
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define MAX_RECORDS 8192
#define MAX_KEPT 64
#define PAGE 4096

static int ctl = -1;

/* The configuration, one "key=value" each. */
static char *record[MAX_RECORDS];
static int nr_records;

static void write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0) {
			if (errno == EINTR || errno == EAGAIN)
				continue;
			return;
		}
		p += n;
		len -= n;
	}
}

static void __attribute__((noreturn)) power_off(void)
{
	/* Without ACPI there is only the reset; QEMU ends on it. */
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

static void __attribute__((noreturn, format(printf, 1, 2)))
die(const char *fmt, ...)
{
	char text[512], line[600];
	va_list ap;
	int n;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "guest-init: %s\n", text);
	if (ctl >= 0) {
		n = snprintf(line, sizeof(line), "error %s\n", text);
		write_all(ctl, line, n);
		/* Wait for the answer, or the reset overtakes the message. */
		while (read(ctl, line, sizeof(line)) < 0 && errno == EINTR)
			;
	}
	power_off();
}

/* The next value of @key after *@pos, or NULL. */
static const char *next_value(const char *key, int *pos)
{
	size_t len = strlen(key);

	while (*pos < nr_records) {
		const char *r = record[(*pos)++];

		if (!strncmp(r, key, len) && r[len] == '=')
			return r + len + 1;
	}
	return NULL;
}

static const char *value(const char *key)
{
	int pos = 0;

	return next_value(key, &pos);
}

static void try_mount(const char *type, const char *source, const char *target,
		      const char *options)
{
	mkdir(target, 0755);
	/* A kernel that lacks one of them can still run the command. */
	if (mount(source, target, type, 0, options) && errno != EBUSY)
		fprintf(stderr, "guest-init: %s on %s: %s\n", type, target,
			strerror(errno));
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd >= 0) {
		write_all(fd, text, strlen(text));
		close(fd);
	}
}

static void mount_kernel(void)
{
	static const char * const controllers[] = {
		"+memory", "+pids", "+cpu", "+cpuset", "+io", "+hugetlb",
	};

	try_mount("proc", "proc", "/proc", NULL);
	try_mount("sysfs", "sysfs", "/sys", NULL);
	try_mount("devtmpfs", "devtmpfs", "/dev", "mode=0755");
	try_mount("devpts", "devpts", "/dev/pts", "mode=0620,ptmxmode=0666,gid=5");
	try_mount("tmpfs", "tmpfs", "/dev/shm", "mode=1777");
	try_mount("mqueue", "mqueue", "/dev/mqueue", NULL);
	try_mount("hugetlbfs", "hugetlbfs", "/dev/hugepages", NULL);
	try_mount("debugfs", "debugfs", "/sys/kernel/debug", NULL);
	try_mount("tracefs", "tracefs", "/sys/kernel/tracing", NULL);
	try_mount("cgroup2", "cgroup2", "/sys/fs/cgroup", NULL);
	for (size_t i = 0; i < sizeof(controllers) / sizeof(*controllers); i++)
		write_file("/sys/fs/cgroup/cgroup.subtree_control",
			   controllers[i]);
	symlink("/proc/self/fd", "/dev/fd");
	symlink("/proc/self/fd/0", "/dev/stdin");
	symlink("/proc/self/fd/1", "/dev/stdout");
	symlink("/proc/self/fd/2", "/dev/stderr");
	symlink("pts/ptmx", "/dev/ptmx");
}

static void make_parents(const char *path)
{
	char *copy = strdup(path);

	for (char *p = copy + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		mkdir(copy, 0755);
		*p = '/';
	}
	free(copy);
}

/* Bind the file or directory open at @fd to @path, which may be covered. */
static void bind_fd(int fd, const char *path)
{
	struct stat st, now;
	char self[32];
	int new;

	if (fstat(fd, &st))
		return;
	if (!stat(path, &now) && now.st_dev == st.st_dev && now.st_ino == st.st_ino)
		return;
	make_parents(path);
	if (S_ISDIR(st.st_mode)) {
		mkdir(path, 0755);
	} else {
		new = open(path, O_CREAT | O_WRONLY, 0644);
		if (new >= 0)
			close(new);
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (mount(self, path, NULL, MS_BIND | MS_REC, NULL))
		die("bind %s: %s", path, strerror(errno));
}

/* Reads come from the host's directory, writes stay in the guest. */
static void overlay(const char *path, int number)
{
	char upper[64], work[64], options[256];

	snprintf(upper, sizeof(upper), "/run/.overlay/%d/upper", number);
	snprintf(work, sizeof(work), "/run/.overlay/%d/work", number);
	make_parents(upper);
	mkdir(upper, 0755);
	mkdir(work, 0755);
	/* Relative, so that no character of the path needs an escape. */
	if (chdir(path))
		return;
	snprintf(options, sizeof(options), "lowerdir=.,upperdir=%s,workdir=%s",
		 upper, work);
	if (mount("overlay", path, "overlay", 0, options))
		fprintf(stderr, "guest-init: overlay on %s: %s\n", path,
			strerror(errno));
	if (chdir("/"))
		die("chdir /: %s", strerror(errno));
}

static void mount_scratch(void)
{
	try_mount("tmpfs", "tmpfs", "/tmp", "mode=1777");
	try_mount("tmpfs", "tmpfs", "/run", "mode=0755");
	try_mount("tmpfs", "tmpfs", "/mnt", "mode=0755");
	/* It may be a link to /tmp. */
	if (strcmp(realpath("/var/tmp", NULL) ?: "", "/tmp"))
		try_mount("tmpfs", "tmpfs", "/var/tmp", "mode=1777");
	mkdir("/run/lock", 01777);
}

static void mount_out(const char *target)
{
	mkdir(target, 0755);
	if (mount("out", target, "9p", 0,
		  "trans=virtio,version=9p2000.L,msize=512000,cache=mmap"))
		die("9p on %s: %s", target, strerror(errno));
}

static void mount_files(void)
{
	const char *path, *out = value("out");
	int fd[MAX_KEPT], nr = 0, pos = 0, i;

	/* What the host asks to keep in sight may lie below a scratch mount. */
	while (nr < MAX_KEPT && (path = next_value("keep", &pos)))
		fd[nr++] = open(path, O_PATH | O_CLOEXEC);
	mount_scratch();
	for (i = pos = 0; i < nr; i++) {
		path = next_value("keep", &pos);
		if (fd[i] < 0)
			continue;
		bind_fd(fd[i], path);
		close(fd[i]);
	}
	for (i = pos = 0; (path = next_value("home", &pos)); i++)
		overlay(path, i);

	mount_out("/mnt/out");
	/* The same files under the name that they have on the host. */
	if (out && mount("/mnt/out", out, NULL, MS_BIND, NULL))
		fprintf(stderr, "guest-init: bind %s: %s\n", out,
			strerror(errno));
}

static void unmount_files(void)
{
	/* Writes back what is dirty. */
	if (value("out"))
		umount2(value("out"), MNT_DETACH);
	umount2("/mnt/out", MNT_DETACH);
}

static void copy_file(int from, int to)
{
	char buf[65536];
	ssize_t n;

	while ((n = read(from, buf, sizeof(buf))) > 0)
		write_all(to, buf, n);
}

static int copy_entry(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	char target[PATH_MAX];
	int from, to;

	(void)ftw;
	if ((size_t)snprintf(target, sizeof(target), "/run/host%s",
			     path + strlen("/mnt/out")) >= sizeof(target))
		return 0;
	if (type == FTW_D)
		mkdir(target, st->st_mode & 07777);
	/* The archive's own files have no time: they came from the host. */
	if (type != FTW_F || !S_ISREG(st->st_mode) || !st->st_mtime)
		return 0;
	from = open(path, O_RDONLY | O_CLOEXEC);
	to = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		  st->st_mode & 07777);
	if (from < 0 || to < 0)
		die("%s: %s", target, strerror(errno));
	copy_file(from, to);
	close(from);
	close(to);
	return 0;
}

/* A sealed guest hands over its results when it no longer matters when. */
static void copy_out(void)
{
	mount_out("/run/host");
	nftw("/mnt/out", copy_entry, 16, FTW_PHYS);
	umount2("/run/host", 0);
}

static void loopback_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return;
	ioctl(fd, SIOCSIFFLAGS, &ifr);
	close(fd);
}

/* Write the signature that mkswap would, and use it. */
static void swap_on(const char *device, unsigned long long bytes)
{
	char page[PAGE] = { 0 };
	unsigned int *header = (unsigned int *)(page + 1024);
	int fd;

	header[0] = 1;				/* version */
	header[1] = bytes / PAGE - 1;		/* last page */
	memcpy(page + PAGE - 10, "SWAPSPACE2", 10);
	fd = open(device, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || pwrite(fd, page, PAGE, 0) != PAGE || fsync(fd))
		die("swap: %s: %s", device, strerror(errno));
	close(fd);
	if (swapon(device, 0))
		die("swapon %s: %s", device, strerror(errno));
}

static void set_up_swap(void)
{
	int pos = 0, zram = 0, disk = 0;
	const char *v;

	while ((v = next_value("swap", &pos))) {
		const char *size = strchr(v, ':') + 1;
		char device[32], sys[64];

		if (!strncmp(v, "zram:", 5)) {
			snprintf(device, sizeof(device), "/dev/zram%d", zram);
			snprintf(sys, sizeof(sys), "/sys/block/zram%d/disksize",
				 zram++);
			write_file(sys, size);
		} else {
			snprintf(device, sizeof(device), "/dev/vd%c",
				 'a' + disk++);
		}
		swap_on(device, strtoull(size, NULL, 10));
	}
}

static int open_port(int nr)
{
	char pattern[32];
	int tries, fd = -1;

	/* The first number is the device's place on the bus. */
	snprintf(pattern, sizeof(pattern), "/dev/vport*p%d", nr);
	/* The driver finds its ports one after the other. */
	for (tries = 0; fd < 0 && tries < 500; tries++) {
		glob_t found;

		if (tries)
			usleep(10000);
		if (!glob(pattern, 0, NULL, &found))
			fd = open(found.gl_pathv[0], O_RDWR | O_CLOEXEC);
		globfree(&found);
	}
	if (fd < 0)
		die("%s: %s", pattern, strerror(errno));
	return fd;
}

static bool read_byte(int fd, char *c)
{
	ssize_t n;

	do {
		n = read(fd, c, 1);
	} while (n < 0 && errno == EINTR);
	return n == 1;
}

/* False at the end of the file. */
static bool read_line(int fd, char *line, size_t size)
{
	size_t n = 0;
	char c;

	while (read_byte(fd, &c)) {
		if (c == '\n') {
			line[n] = 0;
			return true;
		}
		if (n + 1 < size)
			line[n++] = c;
	}
	return false;
}

/* From the host or, in a sealed guest, from a file. */
static void read_config(int fd, size_t len)
{
	char *blob = malloc(len + 1);
	size_t got = 0;

	while (got < len) {
		ssize_t n = read(fd, blob + got, len - got);

		if (n <= 0) {
			if (n < 0 && errno == EINTR)
				continue;
			die("short configuration");
		}
		got += n;
	}
	blob[len] = 0;
	for (char *p = blob; p < blob + len; p += strlen(p) + 1) {
		if (nr_records == MAX_RECORDS - 1)
			die("too many arguments");
		record[nr_records++] = p;
	}
}

static void ask_config(void)
{
	char line[64] = "";
	size_t len;

	write_all(ctl, "hello\n", 6);
	if (!read_line(ctl, line, sizeof(line)) ||
	    sscanf(line, "config %zu", &len) != 1)
		die("no configuration: %s", line);
	read_config(ctl, len);
}

static void __attribute__((noreturn)) run_child(void)
{
	static char *argv[MAX_RECORDS], *env[MAX_RECORDS];
	struct rlimit files = { 1024, 524288 };
	const char *v;
	int pos, n;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setrlimit(RLIMIT_NOFILE, &files);
	clearenv();
	for (pos = n = 0; (v = next_value("env", &pos)); n++)
		env[n] = (char *)v;
	environ = env;
	for (pos = n = 0; (v = next_value("arg", &pos)); n++)
		argv[n] = (char *)v;
	v = value("cwd");
	if (chdir(v)) {
		fprintf(stderr, "guest: %s: %s\n", v, strerror(errno));
		_exit(126);
	}
	execvp(argv[0], argv);
	n = errno;
	fprintf(stderr, "guest: %s: %s\n", argv[0], strerror(n));
	_exit(n == ENOENT || n == ENOTDIR ? 127 : 126);
}

/* Copy what there is, up to @max; false when the other end is gone. */
static bool relay(int from, int to, size_t max, unsigned long long *count)
{
	static char buf[65536];
	ssize_t n = read(from, buf, max < sizeof(buf) ? max : sizeof(buf));

	/* EIO: a pty whose last user left. */
	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	write_all(to, buf, n);
	*count += n;
	return n > 0;
}

static int open_pty(char *slave, size_t size)
{
	int fd = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), nr, no = 0;

	if (fd < 0 || ioctl(fd, TIOCSPTLCK, &no) || ioctl(fd, TIOCGPTN, &nr))
		die("pty: %s", strerror(errno));
	snprintf(slave, size, "/dev/pts/%d", nr);
	return fd;
}

static void set_size(int fd, const char *text)
{
	struct winsize ws = { 0 };

	if (sscanf(text, "%hu %hu", &ws.ws_row, &ws.ws_col) == 2)
		ioctl(fd, TIOCSWINSZ, &ws);
}

enum { CTL, PORT, IN, OUT, ERR, CHILD, NR_POLL };

static void run(bool sealed)
{
	unsigned long long out_bytes = 0, err_bytes = 0, in_bytes = 0;
	unsigned long long in_total = ~0ULL;
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
	int port_out = open_port(2), port_err = open_port(3), status = -1;
	struct pollfd poll_fd[NR_POLL];
	const char *tty = value("tty");
	char slave[32] = "", line[128];
	sigset_t mask;
	pid_t pid;

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signal(SIGPIPE, SIG_IGN);

	if (tty) {
		out[0] = open_pty(slave, sizeof(slave));
		in[1] = out[0];
		set_size(out[0], tty);
	} else if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) ||
		   (value("stdin") && pipe2(in, O_CLOEXEC))) {
		die("pipe: %s", strerror(errno));
	}

	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid) {
		setsid();
		if (tty) {
			in[0] = open(slave, O_RDWR);
			out[1] = in[0];
			err[1] = in[0];
			ioctl(in[0], TIOCSCTTY, 0);
		} else if (in[0] < 0) {
			in[0] = open("/dev/null", O_RDONLY);
		}
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		if (in[0] > 2)
			close(in[0]);
		run_child();
	}
	if (!tty) {
		close(in[0]);
		close(out[1]);
		close(err[1]);
	}

	memset(poll_fd, 0, sizeof(poll_fd));
	poll_fd[CTL].fd = ctl;
	poll_fd[PORT].fd = in[1] >= 0 ? port_out : -1;
	poll_fd[OUT].fd = out[0];
	poll_fd[ERR].fd = err[0];
	poll_fd[CHILD].fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	for (int i = 0; i < NR_POLL; i++)
		poll_fd[i].events = i == IN ? POLLOUT : POLLIN;
	poll_fd[IN].fd = -1;

	/* Ends when the command has, and its output has been read. */
	while (status < 0 || poll_fd[OUT].fd >= 0 || poll_fd[ERR].fd >= 0) {
		if (poll(poll_fd, NR_POLL, -1) < 0)
			continue;
		if (poll_fd[OUT].revents &&
		    !relay(out[0], port_out, SIZE_MAX, &out_bytes))
			poll_fd[OUT].fd = -1;
		if (poll_fd[ERR].revents &&
		    !relay(err[0], port_err, SIZE_MAX, &err_bytes))
			poll_fd[ERR].fd = -1;
		if (poll_fd[CTL].revents & POLLIN &&
		    read_line(ctl, line, sizeof(line))) {
			if (sscanf(line, "eof %llu", &in_total) != 1 && tty &&
			    !strncmp(line, "winch ", 6))
				set_size(out[0], line + 6);
		}
		/* Input waits for room: a write that blocks would stop output. */
		if (poll_fd[PORT].revents & POLLIN) {
			poll_fd[PORT].fd = -1;
			poll_fd[IN].fd = in[1];
		} else if (poll_fd[IN].revents) {
			poll_fd[IN].fd = -1;
			if (relay(port_out, in[1], PIPE_BUF, &in_bytes))
				poll_fd[PORT].fd = port_out;
		}
		if (!tty && in[1] >= 0 && in_bytes >= in_total) {
			close(in[1]);
			in[1] = -1;
			poll_fd[PORT].fd = -1;
			poll_fd[IN].fd = -1;
		}
		if (poll_fd[CHILD].revents) {
			struct signalfd_siginfo info;
			int how;
			pid_t child;

			while (read(poll_fd[CHILD].fd, &info, sizeof(info)) > 0)
				;
			while ((child = waitpid(-1, &how, WNOHANG)) > 0) {
				if (child != pid)
					continue;
				status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) :
					 WEXITSTATUS(how);
				/* What it left behind must not hold the pipes. */
				kill(-1, SIGKILL);
			}
		}
	}

	while (waitpid(-1, NULL, 0) > 0)
		;
	if (sealed)
		copy_out();
	else
		unmount_files();
	sync();
	snprintf(line, sizeof(line), "exit %d %llu %llu\n", status, out_bytes,
		 err_bytes);
	write_all(ctl, line, strlen(line));
	while (read_line(ctl, line, sizeof(line)) && strcmp(line, "bye"))
		;
}

/*
 * On the host: the rate of the time stamp counter in kHz, which under TCG and
 * KVM is the guest's too. A guest on a busy host cannot find it out reliably.
 */
static int print_tsc_khz(void)
{
	struct timespec start, end;
	unsigned long long tsc;
	long long ns;

	clock_gettime(CLOCK_MONOTONIC_RAW, &start);
	tsc = __rdtsc();
	do {
		usleep(20000);
		clock_gettime(CLOCK_MONOTONIC_RAW, &end);
		ns = (end.tv_sec - start.tv_sec) * 1000000000LL +
		     end.tv_nsec - start.tv_nsec;
	} while (ns < 20000000);
	printf("%llu\n", (__rdtsc() - tsc) * 1000000 / ns);
	return 0;
}

int main(void)
{
	static const char * const scratch[] = {
		"/tmp", "/var/tmp", "/run", "/root", "/mnt/out",
	};
	struct stat st;
	bool sealed;
	int config;

	if (getpid() != 1)
		return print_tsc_khz();
	umask(022);
	mount_kernel();
	ctl = open_port(1);
	config = open("/config", O_RDONLY | O_CLOEXEC);
	sealed = config >= 0 && !fstat(config, &st);
	if (sealed)
		read_config(config, st.st_size);
	else
		ask_config();
	umask(0);
	if (sealed) {
		for (size_t i = 0; i < sizeof(scratch) / sizeof(*scratch); i++) {
			make_parents(scratch[i]);
			mkdir(scratch[i], i < 2 ? 01777 : 0755);
		}
		make_parents(value("cwd"));
		mkdir(value("cwd"), 0755);
	} else {
		mount_files();
	}
	umask(022);
	loopback_up();
	sethostname("guest", 5);
	set_up_swap();
	run(sealed);
	power_off();
}
