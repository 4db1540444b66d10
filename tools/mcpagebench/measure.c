// SPDX-License-Identifier: GPL-2.0-only
/*
 * measure FILE CMD [ARG...]: run CMD, and write to FILE what it cost
 *
 *	MINOR-FAULTS PEAK-RSS-KIB CPU-NANOSECONDS
 *
 * of it and the processes that it waited for. The exit status is CMD's.
 * time(1) rounds to 10 ms, and a shell's own start would be counted with it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long long nanoseconds(const struct timeval *t)
{
	return t->tv_sec * 1000000000LL + t->tv_usec * 1000LL;
}

static int report(const char *path, const struct rusage *u)
{
	FILE *f = fopen(path, "w");
	int bad;

	if (!f)
		return -1;
	bad = fprintf(f, "%ld %ld %lld\n", u->ru_minflt, u->ru_maxrss,
		      nanoseconds(&u->ru_utime) +
		      nanoseconds(&u->ru_stime)) < 0;
	return fclose(f) || bad ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	int status;
	pid_t pid;

	if (argc < 3) {
		fputs("usage: measure FILE CMD [ARG...]\n", stderr);
		return 2;
	}
	pid = fork();
	if (!pid) {
		execvp(argv[2], argv + 2);
		fprintf(stderr, "measure: %s: %s\n", argv[2],
			strerror(errno));
		_exit(errno == ENOENT ? 127 : 126);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) < 0 ||
	    report(argv[1], &usage)) {
		fprintf(stderr, "measure: %s\n", strerror(errno));
		return 1;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) :
				   128 + WTERMSIG(status);
}
