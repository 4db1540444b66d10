// SPDX-License-Identifier: GPL-2.0-only
/*
 * mcpage selftests: settings, a process's mappings and its blocks.
 */
#include <dirent.h>
#include <grp.h>
#include <limits.h>
#include <setjmp.h>
#include <sys/syscall.h>

#include "mcpage_util.h"

#define PAGEMAP_PRESENT		BIT(63)
#define PAGEMAP_FRAME		(BIT(55) - 1)
#define KPF_TAIL		16

size_t page_size;
unsigned int pmd_order;
unsigned long valid_orders;

/* -------- prctl -------- */

static long result(int ret)
{
	return ret < 0 ? -errno : ret;
}

long set_process(unsigned long value)
{
	return result(prctl(PR_SET_MCPAGE, (unsigned long)PR_MCPAGE_PROCESS,
			    value, 0UL, 0UL));
}

long get_process(void)
{
	return result(prctl(PR_GET_MCPAGE, (unsigned long)PR_MCPAGE_PROCESS,
			    0UL, 0UL, 0UL));
}

long set_vma(const void *addr, size_t len, unsigned long value)
{
	return result(prctl(PR_SET_MCPAGE, (unsigned long)PR_MCPAGE_VMA,
			    (unsigned long)addr, len, value));
}

long get_vma(const void *addr)
{
	return result(prctl(PR_GET_MCPAGE, (unsigned long)PR_MCPAGE_VMA,
			    (unsigned long)addr, 0UL, 0UL));
}

/* -------- files -------- */

int read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	size_t have = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	while (have < size - 1 && (n = read(fd, buf + have, size - 1 - have)) > 0)
		have += n;
	err = n < 0 ? -errno : 0;
	close(fd);
	if (have && buf[have - 1] == '\n')
		have--;
	buf[have] = '\0';
	return err;
}

int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;
	ssize_t len = strlen(text);

	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != len)
		err = -errno;
	close(fd);
	return err;
}

unsigned long read_number(const char *path)
{
	char buf[64];

	return read_text(path, buf, sizeof(buf)) ? 0 : strtoul(buf, NULL, 10);
}

int mcpage_read(const char *name, char *buf, size_t size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), MCPAGE_DIR "%s", name);
	return read_text(path, buf, size);
}

int mcpage_write(const char *name, const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), MCPAGE_DIR "%s", name);
	return write_text(path, text);
}

int mcpage_write_orders(const char *name, unsigned long orders)
{
	char text[128] = "";
	size_t len = 0;

	for (unsigned int i = 0; i < 64; i++) {
		if (orders & BIT(i))
			len += snprintf(text + len, sizeof(text) - len, "%s%u",
					len ? "," : "", i);
	}
	snprintf(text + len, sizeof(text) - len, "\n");
	return mcpage_write(name, text);
}

unsigned long mcpage_stat(unsigned int order, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), MCPAGE_DIR "order-%u/stats/%s", order, name);
	return read_number(path);
}

unsigned long vm_event(const char *name)
{
	FILE *file = fopen("/proc/vmstat", "re");
	unsigned long sum = 0, value;
	size_t len = strlen(name);
	bool prefix = len && name[len - 1] == '*';
	char line[128];

	if (!file)
		return 0;
	while (fscanf(file, "%127s %lu", line, &value) == 2) {
		if (prefix ? !strncmp(line, name, len - 1) : !strcmp(line, name))
			sum += value;
	}
	fclose(file);
	return sum;
}

/* -------- settings -------- */

/* What the tests change, and what they start from. NULL: as it is. */
static struct setting {
	const char *path;
	const char *start;
	char before[128];
	bool known;
} settings[] = {
	{ MCPAGE_DIR "enabled", "advise" },
	{ MCPAGE_DIR "orders", "all" },
	{ MCPAGE_DIR "mode", "fixed" },
	{ MCPAGE_DIR "backing", "folio" },
	/* So that a test that needs blocks is not at the mercy of the rest. */
	{ MCPAGE_DIR "effort", "direct" },
	{ MCPAGE_DIR "vma/heap/orders", "all" },
	{ MCPAGE_DIR "vma/stack/orders", "\n" },
	{ MCPAGE_DIR "vma/mmap/orders", "all" },
	{ MCPAGE_DIR "lazyfree/partial", "mark" },
	{ MCPAGE_DIR "clear/method", "auto" },
	{ MCPAGE_DIR "clear/cached_kb", "32" },
	{ MCPAGE_DIR "clear/chunk_kb", "128" },
	/* THP off: a block that appears is mcpage's. */
	{ THP_DIR "enabled", "never" },
	{ THP_DIR "defrag", "madvise" },
	{ THP_DIR "hugepages-16kB/enabled", "never" },
	{ THP_DIR "hugepages-64kB/enabled", "never" },
	{ THP_DIR "hugepages-2048kB/enabled", "inherit" },
	{ THP_DIR "khugepaged/defrag", "1" },
	{ THP_DIR "khugepaged/scan_sleep_millisecs", NULL },
	{ THP_DIR "khugepaged/alloc_sleep_millisecs", NULL },
	{ THP_DIR "khugepaged/pages_to_scan", NULL },
	{ THP_DIR "khugepaged/max_ptes_none", "511" },
	{ KSM_DIR "run", NULL },
	{ KSM_DIR "pages_to_scan", NULL },
	{ KSM_DIR "sleep_millisecs", NULL },
	{ "/proc/sys/vm/nr_hugepages", NULL },
	{ "/proc/sys/vm/compact_unevictable_allowed", NULL },
};

/* The process that remembers; its children must not restore at their exit. */
static pid_t settings_owner;

/* A choice list shows the active token in brackets. */
static void active_token(char *text)
{
	char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

	if (close) {
		*close = '\0';
		memmove(text, open + 1, strlen(open + 1) + 1);
	}
}

static void settings_remember(void)
{
	settings_owner = getpid();
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		struct setting *s = &settings[i];

		s->known = !read_text(s->path, s->before, sizeof(s->before) - 1);
		if (!s->known)
			continue;
		active_token(s->before);
		/* An empty order set is an empty line. */
		if (!*s->before)
			s->before[0] = '\n';
	}
}

int settings_begin(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		const struct setting *s = &settings[i];
		int err;

		if (!s->known || !s->start)
			continue;
		if (!strcmp(s->start, "all"))
			err = mcpage_write_orders(s->path + strlen(MCPAGE_DIR),
						  valid_orders);
		else
			err = write_text(s->path, s->start);
		if (err) {
			ksft_print_msg("cannot write '%s' to %s: %s\n", s->start,
				       s->path, strerror(-err));
			return err;
		}
	}
	return 0;
}

void settings_end(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		const struct setting *s = &settings[i];

		if (s->known)
			write_text(s->path, s->before);
	}
}

static void settings_at_exit(void)
{
	if (getpid() == settings_owner)
		settings_end();
}

const char *not_testable(void)
{
	if (get_process() == -EINVAL)
		return "no mcpage in this kernel";
	return geteuid() ? "needs root" : NULL;
}

static void __attribute__((constructor)) find_out(void)
{
	page_size = sysconf(_SC_PAGESIZE);
	pmd_order = __builtin_ctzl(page_size / sizeof(long));
	for (unsigned int i = 0; i < 16; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), MCPAGE_DIR "order-%u", i);
		if (!access(path, F_OK))
			valid_orders |= BIT(i);
	}
	if (!not_testable()) {
		settings_remember();
		atexit(settings_at_exit);
	}
}

/* -------- mappings -------- */

static size_t round_up(size_t size, size_t to)
{
	return (size + to - 1) / to * to;
}

/*
 * The mapping sits in a reservation that nothing else is placed in, with one
 * inaccessible PMD at least on both sides.
 */
void *map_region_flags(size_t size, int prot, int flags)
{
	size_t pmd = block_size(pmd_order);
	size_t room = round_up(size, pmd) + 3 * pmd;
	char *reserved, *addr;

	reserved = mmap(NULL, room, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (reserved == MAP_FAILED)
		return NULL;
	addr = (char *)round_up((size_t)reserved, pmd) + pmd;
	if (mmap(addr, size, prot,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED | flags,
		 -1, 0) == MAP_FAILED) {
		munmap(reserved, room);
		return NULL;
	}
	/* Trim to what unmap_region() can find again. */
	if (addr - pmd > reserved)
		munmap(reserved, addr - pmd - reserved);
	addr += round_up(size, pmd) + pmd;
	munmap(addr, reserved + room - addr);
	return addr - pmd - round_up(size, pmd);
}

void *map_region(size_t size)
{
	return map_region_flags(size, PROT_READ | PROT_WRITE, 0);
}

void unmap_region(void *addr, size_t size)
{
	size_t pmd = block_size(pmd_order);

	munmap((char *)addr - pmd, round_up(size, pmd) + 2 * pmd);
}

int count_vmas(const void *addr, size_t size)
{
	unsigned long from = (unsigned long)addr, to = from + size, start, end;
	FILE *maps = fopen("/proc/self/maps", "re");
	char *line = NULL;
	size_t room = 0;
	int nr = 0;

	if (!maps)
		return -1;
	while (getline(&line, &room, maps) > 0) {
		/* Not what the kernel shows of its own half. */
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 &&
		    start < to && end > from && !(start & BIT(63)))
			nr++;
	}
	free(line);
	fclose(maps);
	return nr;
}

/* Call @fn for line @field of each VMA that overlaps with a range. */
static int visit_fields(const void *addr, size_t size, const char *field,
			void (*fn)(const char *text, void *arg), void *arg)
{
	unsigned long from = (unsigned long)addr, to = from + size, start, end;
	FILE *smaps = fopen("/proc/self/smaps", "re");
	size_t room = 0, len = strlen(field);
	bool inside = false;
	char *line = NULL;
	int nr = 0;

	if (!smaps)
		return -errno;
	while (getline(&line, &room, smaps) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2) {
			inside = start < to && end > from;
		} else if (inside && !strncmp(line, field, len) &&
			   line[len] == ':') {
			fn(line + len + 1 + strspn(line + len + 1, " "), arg);
			nr++;
		}
	}
	free(line);
	fclose(smaps);
	return nr;
}

struct text {
	char *buf;
	size_t size;
};

static void copy_text(const char *text, void *arg)
{
	struct text *copy = arg;

	snprintf(copy->buf, copy->size, "%s", text);
}

int smaps_field(const void *addr, const char *field, char *buf, size_t size)
{
	struct text copy = { buf, size };

	return visit_fields(addr, 1, field, copy_text, &copy) == 1 ? 0 : -ENOENT;
}

static void add_number(const char *text, void *arg)
{
	*(long *)arg += strtol(text, NULL, 10);
}

long smaps_sum_kb(const void *addr, size_t size, const char *field)
{
	long sum = 0;

	return visit_fields(addr, size, field, add_number, &sum) > 0 ? sum : -1;
}

long smaps_kb(const void *addr, const char *field)
{
	return smaps_sum_kb(addr, 1, field);
}

bool has_vm_flag(const void *addr, const char *flag)
{
	char line[256], *token, *rest = line;

	if (smaps_field(addr, "VmFlags", line, sizeof(line)))
		return false;
	while ((token = strsep(&rest, " "))) {
		if (!strcmp(token, flag))
			return true;
	}
	return false;
}

long rss_kb(void)
{
	char status[8192], *line;

	if (read_text("/proc/self/status", status, sizeof(status)))
		return -1;
	line = strstr(status, "\nVmRSS:");
	return line ? strtol(line + strlen("\nVmRSS:"), NULL, 10) : -1;
}

size_t resident(const void *addr, size_t size)
{
	return KB(smaps_sum_kb(addr, size, "Anonymous")) / page_size;
}

/* -------- page frames -------- */

static int read_entries(const char *path, unsigned long long index, unsigned long long *entries,
			size_t nr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = pread(fd, entries, nr * sizeof(*entries), index * sizeof(*entries));
	close(fd);
	return n == (ssize_t)(nr * sizeof(*entries)) ? 0 : -EIO;
}

static int read_pagemap(const void *addr, unsigned long long *entries, size_t nr)
{
	return read_entries("/proc/self/pagemap", (unsigned long)addr / page_size,
			    entries, nr);
}

int present_pages(const void *addr, size_t size)
{
	size_t nr = size / page_size;
	unsigned long long *map = calloc(nr, sizeof(*map));
	int present = -1;

	if (map && !read_pagemap(addr, map, nr)) {
		present = 0;
		for (size_t i = 0; i < nr; i++)
			present += !!(map[i] & PAGEMAP_PRESENT);
	}
	free(map);
	return present;
}

bool pagemap_bit(const void *addr, unsigned int bit)
{
	unsigned long long entry;

	return !read_pagemap(addr, &entry, 1) && (entry & BIT(bit));
}

unsigned long long page_frame(const void *addr)
{
	unsigned long long entry;

	if (read_pagemap(addr, &entry, 1) || !(entry & PAGEMAP_PRESENT))
		return 0;
	return entry & PAGEMAP_FRAME;
}

static bool is_tail(int fd, unsigned long long frame)
{
	unsigned long long flags;

	return pread(fd, &flags, sizeof(flags), frame * sizeof(flags)) ==
	       sizeof(flags) && (flags & BIT(KPF_TAIL));
}

/*
 * The order of the folio that page frame @frame is in. It is aligned to its size,
 * so there is no need to look at every page.
 */
static int frame_order(unsigned long long frame)
{
	int fd = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC), order;
	unsigned long long head = frame;

	if (fd < 0)
		return -1;
	for (order = 1; is_tail(fd, head); order++)
		head = frame & -BIT(order);
	for (order = 0; is_tail(fd, head + BIT(order)); order++)
		;
	close(fd);
	return order;
}

int folio_order(const void *addr)
{
	unsigned long long frame = page_frame(addr);

	return frame ? frame_order(frame) : -1;
}

int max_folio_order(const void *addr, size_t size)
{
	const char *at = addr, *end = at + size;
	int max = -1;

	while (at < end) {
		int order = folio_order(at);

		if (order > max)
			max = order;
		/* A folio need not be mapped from its start. */
		at += page_size;
	}
	return max;
}

int touch_order(char *addr, const char *backing)
{
	size_t pmd = block_size(pmd_order), window_pages = pmd / page_size;
	char *window = (char *)((size_t)addr / pmd * pmd);
	size_t first = window_pages, nr = 0;
	unsigned long long map[4096];
	unsigned int order;
	int folio;

	if (window_pages > ARRAY_SIZE(map) || present_pages(window, pmd)) {
		ksft_print_msg("%p: the window is not empty\n", addr);
		return -1;
	}
	poke(addr, 1);
	if (read_pagemap(window, map, window_pages))
		return -1;
	for (size_t i = 0; i < window_pages; i++) {
		if (!(map[i] & PAGEMAP_PRESENT))
			continue;
		if (first == window_pages)
			first = i;
		nr++;
		if ((map[i] & PAGEMAP_FRAME) !=
		    (map[first] & PAGEMAP_FRAME) + i - first) {
			ksft_print_msg("%p: page %zu is not of one block with %zu\n",
				       addr, i, first);
			return -1;
		}
	}
	order = nr ? __builtin_ctzl(nr) : 0;
	if (nr != BIT(order) || first % nr ||
	    (map[first] & PAGEMAP_FRAME) % nr ||
	    addr < window + first * page_size ||
	    addr >= window + (first + nr) * page_size) {
		ksft_print_msg("%p: %zu pages from page %zu on, frame %llx\n",
			       addr, nr, first, map[first]);
		return -1;
	}
	folio = frame_order(map[first] & PAGEMAP_FRAME);
	if (folio != (strcmp(backing, "folio") ? 0 : (int)order)) {
		ksft_print_msg("%p: block of order %u in a folio of order %d\n",
			       addr, order, folio);
		return -1;
	}
	for (char *p = window + first * page_size; nr; p += page_size, nr--) {
		for (size_t i = 0; i < page_size; i += sizeof(long)) {
			if (*(long *)(p + i) && p + i != (char *)((size_t)addr & -8UL)) {
				ksft_print_msg("%p: not cleared at %p\n", addr, p + i);
				return -1;
			}
		}
	}
	return order;
}

int probe_order(size_t offset, unsigned long value, const char *backing)
{
	size_t size = block_size(pmd_order);
	char *addr = map_region(size);
	int order = -1;

	if (addr && !set_vma(addr, size, value))
		order = touch_order(addr + offset, backing);
	if (addr)
		unmap_region(addr, size);
	return order;
}

/* -------- contents -------- */

/* Any word of a page may be the one that is wrong; one of eight is looked at. */
#define STAMP_STEP	8

static unsigned long stamp_word(unsigned long tag, size_t index)
{
	return (tag + 1) * 0x9e3779b97f4a7c15UL | index << 1 | 1;
}

void stamp_page(void *page, unsigned long tag)
{
	unsigned long *word = page;

	for (size_t i = 0; i < page_size / sizeof(*word); i += STAMP_STEP)
		word[i] = stamp_word(tag, i);
}

enum content page_content(const void *page, unsigned long tag)
{
	const unsigned long *word = page;
	size_t stamped = 0, zero = 0, nr = page_size / sizeof(*word) / STAMP_STEP;

	for (size_t i = 0; i < nr; i++) {
		size_t at = i * STAMP_STEP;
		/* Others may change it meanwhile. */
		unsigned long value = __atomic_load_n(word + at, __ATOMIC_RELAXED);

		stamped += value == stamp_word(tag, at);
		zero += !value && !__atomic_load_n(word + at + 1, __ATOMIC_RELAXED);
	}
	return stamped == nr ? CONTENT_STAMP : zero == nr ? CONTENT_ZERO : CONTENT_OTHER;
}

static __thread sigjmp_buf jump;
static __thread bool jump_is_set;

static void on_segv(int sig)
{
	if (jump_is_set)
		siglongjmp(jump, 1);
	/* Nobody expects this one: once more, and that is the end. */
	signal(sig, SIG_DFL);
}

bool write_faults(char *addr)
{
	signal(SIGSEGV, on_segv);
	if (sigsetjmp(jump, 1)) {
		jump_is_set = false;
		return true;
	}
	jump_is_set = true;
	poke(addr, peek(addr));
	jump_is_set = false;
	return false;
}

void drain_lru(void)
{
	int node = 0, status;
	void *page = NULL;

	/* It moves nothing, but it prepares to. */
	syscall(SYS_move_pages, 0, 0UL, &page, &node, &status, 2);
}

bool has_swap(void)
{
	char swaps[4096];

	/* A heading, and a line for each device. */
	return !read_text("/proc/swaps", swaps, sizeof(swaps)) && strchr(swaps, '\n');
}

/* -------- control groups -------- */

int group_write(const char *dir, const char *file, const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	return write_text(path, text);
}

long group_read(const char *dir, const char *file, const char *key)
{
	char path[PATH_MAX], text[8192], *line, *rest = text;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	if (read_text(path, text, sizeof(text)))
		return -1;
	while ((line = strsep(&rest, "\n"))) {
		if (!strncmp(line, key, strlen(key)) && line[strlen(key)] == ' ')
			return strtol(line + strlen(key), NULL, 10);
	}
	return -1;
}

const char *group_make(char *dir, size_t size, const char *max)
{
	snprintf(dir, size, "/sys/fs/cgroup/mcpage.%d", getpid());
	if (mkdir(dir, 0755))
		return "no cgroups";
	if (group_write(dir, "memory.max", max)) {
		rmdir(dir);
		return "no memory controller";
	}
	return NULL;
}

/* -------- lazyfree -------- */

const char *lazyfree_begin(char *dir, size_t size, const char *backing,
			   const char *partial)
{
	const char *why = not_testable();

	*dir = '\0';
	if (!why && access(MCPAGE_DIR "lazyfree/partial", F_OK))
		why = "no lazyfree blocks in this kernel";
	if (!why)
		why = group_make(dir, size, "max");
	if (why)
		return why;
	if (group_write(dir, "memory.reclaim", "0"))
		why = "no memory.reclaim in this kernel";
	else if (settings_begin() || mcpage_write("backing", backing))
		why = "no such backing in this kernel";
	else if (mcpage_write("lazyfree/partial", partial))
		why = "no such way to free a part";
	else if (group_write(dir, "cgroup.procs", "0"))
		why = "no way into the group";
	if (why)
		lazyfree_end(dir);
	else
		write_text("/proc/sys/vm/compact_memory", "1");
	return why;
}

void lazyfree_end(const char *dir)
{
	settings_end();
	rmdir(dir);
}

/* -------- processes -------- */

int run_child(int (*fn)(void *arg), void *arg)
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return -1;
	if (!pid)
		_exit(fn(arg));
	if (waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int drop_privileges(void)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		return -errno;
	/* Or /proc/self belongs to root. */
	return prctl(PR_SET_DUMPABLE, 1L, 0L, 0L, 0L) ? -errno : 0;
}

const char *program_dir(void)
{
	static char dir[PATH_MAX];
	ssize_t n;

	if (*dir)
		return dir;
	n = readlink("/proc/self/exe", dir, sizeof(dir) - 1);
	if (n < 0)
		return ".";
	dir[n] = '\0';
	*strrchr(dir, '/') = '\0';
	return dir;
}

const char *show_path(void)
{
	static char path[PATH_MAX + 32];

	snprintf(path, sizeof(path), "%s/_mcpage_show", program_dir());
	return path;
}

/* -------- khugepaged -------- */

int khugepaged_hurry(void)
{
	return write_text(THP_DIR "enabled", "always") ?:
	       write_text(THP_DIR "khugepaged/alloc_sleep_millisecs", "0") ?:
	       write_text(THP_DIR "khugepaged/pages_to_scan", "1000000") ?:
	       write_text(THP_DIR "khugepaged/scan_sleep_millisecs", "0");
}

bool khugepaged_has_seen_it(char *control)
{
	if (khugepaged_hurry() || madvise(control, MB(2), MADV_NOHUGEPAGE))
		return false;
	poke(control, 1);
	if (madvise(control, MB(2), MADV_HUGEPAGE))
		return false;
	for (int i = 0; i < 20; i++) {
		khugepaged_passes(10);
		if (smaps_kb(control, "AnonHugePages") == 2048)
			return true;
	}
	return false;
}

void khugepaged_passes(unsigned int passes)
{
	static const char path[] = THP_DIR "khugepaged/full_scans";
	unsigned long start = read_number(path);

	/* One more: the pass that was under way does not count. */
	while (read_number(path) - start <= passes)
		usleep(10000);
}
