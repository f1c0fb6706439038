/*
 * Unit tests for the registry of reservations: directory, locks, files,
 * life and death of holders, and other users
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <grp.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include "qemu/units.h"
#include "pinning-registry-util.h"

#define OTHER_USER 65533
#define THIRD_USER 65532
#define SHARED_GROUP 65531

static void assert_error(Error *err, const char *part)
{
    g_assert_nonnull(err);
    g_test_message("%s", error_get_pretty(err));
    g_assert_nonnull(strstr(error_get_pretty(err), part));
    error_free(err);
}

static bool need_root(void)
{
    if (geteuid() == 0) {
        return true;
    }
    g_test_skip("only root can become other users, or mount");
    return false;
}

/* For good, so in a child only */
static void become(uid_t uid)
{
    g_assert_cmpint(setgroups(0, NULL), ==, 0);
    g_assert_cmpint(setgid(SHARED_GROUP), ==, 0);
    g_assert_cmpint(setuid(uid), ==, 0);
}

/* The directory */

static void test_open_makes(void)
{
    g_autofree char *base = make_dir();
    g_autofree char *dir = g_build_filename(base, "new", NULL);
    g_autofree char *deep = g_build_filename(base, "no", "parent", NULL);
    g_autofree char *file = g_build_filename(base, "file", NULL);
    g_autoptr(PinningRegistry) reg = NULL;
    Error *err = NULL;
    struct stat st;

    reg = pinning_registry_open(dir, &error_abort);
    g_assert_cmpint(stat(dir, &st), ==, 0);
    g_assert_cmpint(st.st_mode & 07022, ==, 0);
    pinning_registry_close(reg);
    reg = pinning_registry_open(dir, &error_abort);

    g_assert_null(pinning_registry_open(deep, &err));
    assert_error(err, "Cannot make registry");
    err = NULL;

    g_assert(g_file_set_contents(file, "", 0, NULL));
    g_assert_null(pinning_registry_open(file, &err));
    assert_error(err, "Not a directory");
    remove_dir(base);
}

static void test_open_link(void)
{
    static const char *const tails[] = { "", "/", "///" };
    g_autofree char *base = make_dir();
    g_autofree char *dir = g_build_filename(base, "dir", NULL);
    g_autofree char *link = g_build_filename(base, "link", NULL);
    g_autofree char *dangling = g_build_filename(base, "dangling", NULL);
    Error *err = NULL;
    int i;

    g_assert_cmpint(mkdir(dir, 0700), ==, 0);
    g_assert_cmpint(symlink(dir, link), ==, 0);
    g_assert_cmpint(symlink("nowhere", dangling), ==, 0);
    for (i = 0; i < ARRAY_SIZE(tails); i++) {
        g_autofree char *path = g_strconcat(link, tails[i], NULL);
        g_autofree char *direct = g_strconcat(dir, tails[i], NULL);

        g_assert_null(pinning_registry_open(path, &err));
        assert_error(err, "is a link");
        err = NULL;
        pinning_registry_close(pinning_registry_open(direct, &error_abort));
    }
    g_assert_null(pinning_registry_open(dangling, &err));
    assert_error(err, "is a link");
    remove_dir(base);
}

static void test_open_mode(void)
{
    static const struct {
        mode_t mode;
        const char *error;
    } cases[] = {
        { 0700 }, { 0755 }, { 01770 }, { 01775 }, { 03770 },
        { 0777, "may be written by everybody" },
        { 01777, "may be written by everybody" },
        { 0702, "may be written by everybody" },
        { 0770, "mode 0770, its group could remove" },
        { 02775, "mode 2775, its group could remove" },
    };
    g_autofree char *dir = make_dir();
    int i;

    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        PinningRegistry *reg;
        Error *err = NULL;

        g_assert_cmpint(chmod(dir, cases[i].mode), ==, 0);
        reg = pinning_registry_open(dir, &err);
        g_assert_cmpint(!reg, ==, !!cases[i].error);
        if (cases[i].error) {
            assert_error(err, cases[i].error);
        }
        pinning_registry_close(reg);
    }
    remove_dir(dir);
}

static void test_open_owner(void)
{
    g_autofree char *dir = NULL;
    Error *err = NULL;

    if (!need_root()) {
        return;
    }
    dir = make_dir();
    g_assert_cmpint(chown(dir, OTHER_USER, -1), ==, 0);
    g_assert_null(pinning_registry_open(dir, &err));
    assert_error(err, "belongs to user 65533");
    remove_dir(dir);
}

static void test_default_dir(void)
{
    g_autofree char *base = make_dir();
    g_autofree char *there = g_build_filename(base, "there", NULL);
    g_autofree char *makeable = g_build_filename(base, "makeable", NULL);
    const char *impossible = "/proc/qemu-pinning";
    static const struct {
        int shared;
        const char *xdg;
        const char *result;
    } cases[] = {
        { 0, "/x", "there" }, { 1, NULL, "makeable" },
        { 2, "/x", "/x/qemu-pinning" }, { 2, "relative", NULL },
        { 2, "", NULL }, { 2, NULL, NULL },
    };
    const char *shared[] = { there, makeable, impossible };
    int i;

    if (access("/proc", W_OK) == 0) {
        /* Root may write anywhere; only a file system can say no to him */
        impossible = "/nonexistent/qemu-pinning";
        shared[2] = impossible;
    }
    g_assert_cmpint(mkdir(there, 0700), ==, 0);
    for (i = 0; i < ARRAY_SIZE(cases); i++) {
        const char *path = shared[cases[i].shared];
        g_autofree char *dir = pinning_registry_default_dir_of(path,
                                                               cases[i].xdg);

        if (cases[i].shared < 2) {
            g_assert_cmpstr(dir, ==, path);
        } else {
            g_assert_cmpstr(dir, ==, cases[i].result);
        }
    }
    remove_dir(base);
}

/* The lock */

static int child_locks(const char *dir, void *opaque)
{
    PinningRegistry *reg = pinning_registry_open(dir, &error_abort);

    pinning_registry_lock(reg, &error_abort);
    return 0;
}

static void test_lock(void)
{
    g_autofree char *dir = make_dir();
    g_autoptr(PinningRegistry) reg = pinning_registry_open(dir, &error_abort);
    int dirfd = open(dir, O_RDONLY);
    Error *err = NULL;
    pid_t pid;

    pid = start_child(child_locks, dir, NULL, NULL);
    g_assert_cmpint(registry_dir_lock(dirfd, dir, 50, &err), ==, -1);
    assert_error(err, "has been locked by another process for 50 ms");

    /* Looking needs no lock */
    assert_held(dir, "");

    /* A holder of the lock that dies does not keep it */
    kill_child(pid);
    pinning_registry_lock(reg, &error_abort);
    pinning_registry_unlock(reg);
    pinning_registry_lock(reg, &error_abort);
    pinning_registry_unlock(reg);
    close(dirfd);
    remove_dir(dir);
}

/* Removing the lock file must not let two in for long */
static void test_lock_replaced(void)
{
    g_autofree char *dir = make_dir();
    g_autofree char *lock = g_build_filename(dir, "lock", NULL);
    g_autofree char *away = g_build_filename(dir, "away", NULL);
    int dirfd = open(dir, O_RDONLY);
    pid_t pid = start_child(child_locks, dir, NULL, NULL);
    int fd;

    g_assert_cmpint(rename(lock, away), ==, 0);
    fd = registry_dir_lock(dirfd, dir, TEST_TIMEOUT_MS, &error_abort);
    g_assert_cmpint(rename(away, lock), ==, 0);
    close(fd);

    /* Now that it is back, it counts again */
    g_assert_cmpint(registry_dir_lock(dirfd, dir, 50, NULL), ==, -1);
    kill_child(pid);
    close(dirfd);
    remove_dir(dir);
}

static void test_lock_strange(void)
{
    g_autofree char *dir = make_dir();
    g_autofree char *lock = g_build_filename(dir, "lock", NULL);
    g_autofree char *target = g_build_filename(dir, "target", NULL);
    g_autoptr(PinningRegistry) reg = pinning_registry_open(dir, &error_abort);
    Error *err = NULL;

    g_assert_cmpint(symlink(target, lock), ==, 0);
    g_assert(!pinning_registry_lock(reg, &err));
    assert_error(err, "Cannot open the lock of registry");
    err = NULL;
    g_assert_cmpint(access(target, F_OK), ==, -1);
    unlink(lock);

    g_assert_cmpint(mkfifo(lock, 0600), ==, 0);
    g_assert(!pinning_registry_lock(reg, &err));
    assert_error(err, "Cannot open the lock of registry");
    err = NULL;
    unlink(lock);

    g_assert_cmpint(mkdir(lock, 0700), ==, 0);
    g_assert(!pinning_registry_lock(reg, &err));
    assert_error(err, "Cannot open the lock of registry");
    remove_dir(dir);
}

/* Recording */

static void test_record(void)
{
    g_autofree char *dir = make_dir();
    PinningRegistry *a = pinning_registry_open(dir, &error_abort);
    g_autoptr(PinningRegistry) b = pinning_registry_open(dir, &error_abort);
    g_autoptr(PinningReservation) entry = entry_new("a\x1b[2J\xff", "3", 0);
    g_autoptr(GPtrArray) list = NULL;
    PinningReservation *seen;
    PinningTaken *taken;
    uint64_t start;

    pinning_registry_lock(a, &error_abort);
    entry->version = 99;
    pinning_registry_record(a, entry, &error_abort);
    pinning_registry_unlock(a);
    g_assert_cmpuint(entry->version, ==, PINNING_ENTRY_VERSION);

    /* Own things are not taken, whoever else may want them */
    taken = pinning_registry_taken(a, NULL, &error_abort);
    g_assert_null(taken->cpus);
    qapi_free_PinningTaken(taken);
    taken = pinning_registry_taken(b, NULL, &error_abort);
    g_assert_cmpstr(taken->cpus->value->host_cpus, ==, "3");
    g_assert_null(taken->exclusive_owners);
    qapi_free_PinningTaken(taken);

    list = pinning_registry_list(b, false, NULL, &error_abort);
    g_assert_cmpuint(list->len, ==, 1);
    seen = list->pdata[0];
    g_assert_cmpstr(seen->name, ==, "a?[2J\xef\xbf\xbd");
    g_assert_cmpint(seen->pid, ==, getpid());
    g_assert(pinning_proc_start_time("/proc", getpid(), &start));
    g_assert_cmpuint(seen->start_time, ==, start);

    /* In place of, not beside, what was held */
    record(a, "a", "5-6");
    assert_held(dir, "5-6");
    g_assert_cmpint(count_files(dir, ""), ==, 1);

    pinning_registry_close(a);
    assert_held(dir, "");
    g_assert_cmpint(count_files(dir, ""), ==, 0);
    remove_dir(dir);
}

static void test_record_unknown_kept(void)
{
    g_autofree char *dir = make_dir();
    g_autoptr(PinningRegistry) reg = pinning_registry_open(dir, &error_abort);
    g_autoptr(GPtrArray) names = NULL;
    g_autofree char *path = NULL, *text = NULL;
    int dirfd = open(dir, O_RDONLY);
    FILE *f;

    record(reg, "a", "1");
    names = registry_dir_names(dirfd, dir, NULL, &error_abort);
    g_assert_cmpuint(names->len, ==, 1);
    g_assert(registry_name_is_ours(names->pdata[0]));
    path = g_build_filename(dir, names->pdata[0], NULL);
    g_assert(g_file_get_contents(path, &text, NULL, NULL));

    /* In place: renaming another file over it would end the entry */
    f = fopen(path, "w");
    fprintf(f, "{ \"comment\": \"hands off\",%s", strchr(text, '{') + 1);
    fclose(f);

    /* It counts as before, and the comment survives */
    assert_held(dir, "1");
    record(reg, "a", "2");
    assert_held(dir, "2");
    g_free(text);
    text = NULL;
    g_assert(g_file_get_contents(path, &text, NULL, NULL));
    g_assert_nonnull(strstr(text, "\"comment\": \"hands off\""));
    close(dirfd);
    remove_dir(dir);
}

static int child_cannot_write(const char *dir, void *opaque)
{
    PinningRegistry *reg = pinning_registry_open(dir, &error_abort);
    g_autoptr(PinningReservation) entry = entry_new("b", "9", true);
    struct rlimit limit = { 64, 64 };
    Error *err = NULL;

    record(reg, "b", "8");
    signal(SIGXFSZ, SIG_IGN);
    g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
    pinning_registry_lock(reg, &error_abort);
    g_assert(!pinning_registry_record(reg, entry, &err));
    pinning_registry_unlock(reg);
    assert_error(err, "Cannot write the entry: File too large");
    return 0;
}

static void test_record_fails(void)
{
    g_autofree char *dir = make_dir();
    pid_t pid = start_child(child_cannot_write, dir, NULL, NULL);

    /* What was held before is still held, and nothing lies about */
    assert_held(dir, "8");
    g_assert_cmpint(count_files(dir, ""), ==, 1);
    kill_child(pid);
    assert_held(dir, "");
    remove_dir(dir);
}

/* A view of @dir that cannot be written */
static void assert_read_only(const char *dir)
{
    g_autofree char *view = g_build_filename(dir, "view", NULL);
    g_autoptr(PinningRegistry) reg = NULL;
    Error *err = NULL;

    g_assert_cmpint(mkdir(view, 0700), ==, 0);
    g_assert_cmpint(mount(dir, view, NULL, MS_BIND, NULL), ==, 0);
    g_assert_cmpint(mount("none", view, NULL,
                          MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), ==, 0);
    reg = pinning_registry_open(view, &error_abort);
    g_assert(!pinning_registry_lock(reg, &err));
    assert_error(err, "Read-only file system");
    assert_held(view, "9");
}

static int child_on_full_disk(const char *dir, void *opaque)
{
    g_autoptr(PinningReservation) entry = entry_new("b", "9", true);
    PinningRegistry *reg;
    Error *err = NULL;
    char page[4096] = "";
    int fd;

    if (unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", dir, "tmpfs", 0, "size=64k,mode=0700") < 0) {
        return 77;
    }
    reg = pinning_registry_open(dir, &error_abort);
    record(reg, "b", "8");
    g_assert_cmpint(chdir(dir), ==, 0);
    fd = open("filler", O_CREAT | O_WRONLY, 0600);
    while (write(fd, page, sizeof(page)) == sizeof(page)) {
        /* until it is full */
    }
    close(fd);
    pinning_registry_lock(reg, &error_abort);
    g_assert(!pinning_registry_record(reg, entry, &err));
    pinning_registry_unlock(reg);
    assert_error(err, "No space left on device");
    assert_held(dir, "8");
    g_assert_cmpint(count_files(dir, ".tmp"), ==, 0);

    unlink("filler");
    record(reg, "b", "9");
    assert_held(dir, "9");
    assert_read_only(dir);
    return 0;
}

static void test_full_disk(void)
{
    g_autofree char *dir = NULL;
    int report;

    if (!need_root()) {
        return;
    }
    dir = make_dir();
    kill_child(start_child(child_on_full_disk, dir, NULL, &report));
    if (report == 77) {
        g_test_skip("cannot mount a file system here");
    } else {
        g_assert_cmpint(report, ==, 0);
    }
    remove_dir(dir);
}

static int child_reads_only(const char *dir, void *opaque)
{
    PinningRegistry *reg;
    Error *err = NULL;

    if (geteuid() == 0) {
        become(OTHER_USER);
    }
    reg = pinning_registry_open(dir, &error_abort);
    g_assert(!pinning_registry_lock(reg, &err));
    assert_error(err, "Permission denied");
    assert_held(dir, "4");
    return 0;
}

static void test_read_only_dir(void)
{
    g_autofree char *dir = make_dir();
    g_autofree char *lock = g_build_filename(dir, "lock", NULL);
    g_autoptr(PinningRegistry) reg = pinning_registry_open(dir, &error_abort);

    record(reg, "a", "4");
    g_assert_cmpint(unlink(lock), ==, 0);
    g_assert_cmpint(chmod(dir, 0555), ==, 0);
    kill_child(start_child(child_reads_only, dir, NULL, NULL));
    g_assert_cmpint(chmod(dir, 0755), ==, 0);
    remove_dir(dir);
}

/* Others get the next number whoever stopped; a machine keeps its own */
static void test_rotation(void)
{
    g_autofree char *dir = make_dir();
    g_autofree char *lock = g_build_filename(dir, "lock", NULL);
    PinningRegistry *reg[4];
    PinningTaken *taken;
    int i;

    for (i = 0; i < 4; i++) {
        reg[i] = pinning_registry_open(dir, &error_abort);
    }
    g_assert_cmpuint(record(reg[0], "a", "0"), ==, 0);
    g_assert_cmpuint(record(reg[1], "b", "1"), ==, 1);
    pinning_registry_close(reg[0]);
    taken = pinning_registry_taken(reg[2], NULL, &error_abort);
    g_assert_cmpuint(taken->rotation, ==, 2);
    qapi_free_PinningTaken(taken);
    g_assert_cmpuint(record(reg[2], "c", "2"), ==, 2);
    g_assert_cmpuint(record(reg[1], "b", "3"), ==, 1);
    taken = pinning_registry_taken(reg[1], NULL, &error_abort);
    g_assert_cmpuint(taken->rotation, ==, 1);
    qapi_free_PinningTaken(taken);

    /* A counter that was lost starts with those that live */
    g_assert(g_file_set_contents(lock, "garbage\n", -1, NULL));
    taken = pinning_registry_taken(reg[3], NULL, &error_abort);
    g_assert_cmpuint(taken->rotation, ==, 2);
    qapi_free_PinningTaken(taken);
    g_assert_cmpuint(record(reg[3], "d", "4"), ==, 2);

    /* It may wrap */
    g_assert(g_file_set_contents(lock, "4294967295\n", -1, NULL));
    reg[0] = pinning_registry_open(dir, &error_abort);
    g_assert_cmpuint(record(reg[0], "e", "5"), ==, UINT32_MAX);
    pinning_registry_close(reg[0]);
    reg[0] = pinning_registry_open(dir, &error_abort);
    g_assert_cmpuint(record(reg[0], "f", "5"), ==, 0);
    for (i = 0; i < 4; i++) {
        pinning_registry_close(reg[i]);
    }
    remove_dir(dir);
}

/* Memory that a holder has promised itself and partly touched */
static int child_touches(const char *dir, void *opaque)
{
    PinningRegistry *reg = pinning_registry_open(dir, &error_abort);
    g_autoptr(PinningReservation) entry = entry_new("a", "0", false);
    const size_t size = 64 * MiB;
    char *memory;

    memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, size);
    entry_add_memory(entry, 0, 256 * MiB);
    pinning_registry_lock(reg, &error_abort);
    pinning_registry_record(reg, entry, &error_abort);
    pinning_registry_unlock(reg);
    return 0;
}

static void test_untouched(void)
{
    g_autofree char *dir = make_dir();
    pid_t pid = start_child(child_touches, dir, NULL, NULL);
    PinningTaken *taken = taken_of(dir, NULL);
    PinningTakenNode *node = taken->nodes->value;
    g_autoptr(PinningRegistry) captured = NULL;

    g_assert_cmpuint(node->promised, ==, 256 * MiB);
    /* 64 MiB of it are gone, and what the program itself takes */
    g_assert_cmpuint(node->untouched, <=, 200 * MiB);
    g_assert_cmpuint(node->untouched, >=, 160 * MiB);
    qapi_free_PinningTaken(taken);

    /* What is touched here is not touched on another host */
    captured = pinning_registry_open(dir, &error_abort);
    pinning_registry_set_captured(captured);
    taken = pinning_registry_taken(captured, NULL, &error_abort);
    g_assert_cmpuint(taken->nodes->value->untouched, ==, 256 * MiB);
    qapi_free_PinningTaken(taken);
    kill_child(pid);
    remove_dir(dir);
}

/* Life and death */

static void test_kill(void)
{
    g_autofree char *dir = make_dir();
    g_autoptr(PinningRegistry) reg = pinning_registry_open(dir, &error_abort);
    g_autoptr(GPtrArray) list = NULL;
    pid_t pid = start_child(child_holds, dir, (void *)"7", NULL);

    assert_held(dir, "7");
    kill_child(pid);
    /* At once, without anybody tidying up */
    assert_held(dir, "");
    g_assert_cmpint(count_files(dir, "entry-"), ==, 1);

    list = pinning_registry_list(reg, false, NULL, &error_abort);
    g_assert_cmpuint(list->len, ==, 0);
    g_ptr_array_unref(list);
    list = pinning_registry_list(reg, true, NULL, &error_abort);
    g_assert_cmpuint(list->len, ==, 1);
    g_assert_cmpint(((PinningReservation *)list->pdata[0])->pid, ==, 0);

    g_assert_cmpint(pinning_registry_collect(reg, &error_abort), ==, 1);
    g_assert_cmpint(pinning_registry_collect(reg, &error_abort), ==, 0);
    g_assert_cmpint(count_files(dir, ""), ==, 0);
    remove_dir(dir);
}

/* A grandchild, whose end is not ours to wait for */
static void kill_stranger(pid_t pid)
{
    g_assert_cmpint(pid, >, 1);
    g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
}

static int child_daemonizes(const char *dir, void *opaque)
{
    PinningRegistry *reg = pinning_registry_open(dir, &error_abort);
    pid_t pid;

    record(reg, "daemon", "1");
    pid = fork();
    if (pid == 0) {
        wait_for_death();
    }
    *(pid_t *)opaque = pid;
    /* Even if the parent cleans up, the daemon's entry must stay */
    pinning_registry_close(reg);
    return 0;
}

static void test_daemonize(void)
{
    g_autofree char *dir = make_dir();
    pid_t *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    kill_child(start_child(child_daemonizes, dir, shared, NULL));
    assert_held(dir, "1");
    kill_stranger(*shared);
    wait_held(dir, "");
    munmap(shared, sizeof(*shared));
    remove_dir(dir);
}

typedef struct ExecCase {
    bool inherit;
    pid_t *pid;
} ExecCase;

static int child_executes(const char *dir, void *opaque)
{
    PinningRegistry *reg = pinning_registry_open(dir, &error_abort);
    ExecCase *c = opaque;
    pid_t pid;
    char byte;
    int fds[2];

    record(reg, "parent", "2");
    if (c->inherit) {
        pinning_registry_inherit(reg, &error_abort);
    }
    g_assert_cmpint(pipe2(fds, O_CLOEXEC), ==, 0);
    pid = fork();
    if (pid == 0) {
        execlp("sleep", "sleep", "60", NULL);
        _exit(1);
    }
    *c->pid = pid;
    /* The pipe closes when the program is running */
    close(fds[1]);
    g_assert_cmpint(RETRY_ON_EINTR(read(fds[0], &byte, 1)), ==, 0);
    return 0;
}

static void test_exec(void)
{
    g_autofree char *dir = make_dir();
    ExecCase c;

    c.pid = mmap(NULL, sizeof(*c.pid), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (c.inherit = false; ; c.inherit = true) {
        pid_t pid = start_child(child_executes, dir, &c, NULL);

        assert_held(dir, "2");
        kill_child(pid);
        g_assert_cmpint(kill(*c.pid, 0), ==, 0);
        assert_held(dir, c.inherit ? "2" : "");
        kill_stranger(*c.pid);
        wait_held(dir, "");
        if (c.inherit) {
            break;
        }
    }
    munmap(c.pid, sizeof(*c.pid));
    remove_dir(dir);
}

static int child_in_pid_namespace(const char *dir, void *opaque)
{
    pid_t pid;

    if (unshare(CLONE_NEWPID) < 0) {
        return 77;
    }
    pid = start_child(child_holds, dir, (void *)"6", NULL);
    *(pid_t *)opaque = pid;
    return 0;
}

static void test_pid_namespace(void)
{
    g_autofree char *dir = make_dir();
    g_autoptr(PinningRegistry) reg = pinning_registry_open(dir, &error_abort);
    g_autoptr(GPtrArray) list = NULL;
    pid_t *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int report;
    pid_t pid = start_child(child_in_pid_namespace, dir, shared, &report);

    if (report == 77) {
        g_test_skip("cannot make a pid namespace here");
    } else {
        g_assert_cmpint(report, ==, 0);
        list = pinning_registry_list(reg, false, NULL, &error_abort);
        g_assert_cmpuint(list->len, ==, 1);
        /* Its own view; nobody here must take it for ours */
        g_assert_cmpint(((PinningReservation *)list->pdata[0])->pid, ==, 1);
        assert_held(dir, "6");
        kill_stranger(*shared);
        wait_held(dir, "");
    }
    kill_child(pid);
    munmap(shared, sizeof(*shared));
    remove_dir(dir);
}

static void put_text(const char *dir, const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(dir, name, NULL);

    g_assert(g_file_set_contents(path, text, -1, NULL));
    g_assert_cmpint(chmod(path, 0644), ==, 0);
}

static char *entry_text(const char *name, const char *host_cpus)
{
    g_autoptr(PinningReservation) entry = entry_new(name, host_cpus, true);
    uint64_t start = 0;

    pinning_proc_start_time("/proc", getpid(), &start);
    entry->version = PINNING_ENTRY_VERSION;
    entry->pid = getpid();
    entry->start_time = start;
    return g_string_free(pinning_entry_format(entry, NULL, &error_abort),
                         false);
}

/* A pid that runs, even with the right start time, is no sign of life */
static void test_pid_reuse(void)
{
    g_autofree char *dir = make_dir();
    g_autofree char *text = entry_text("ghost", "1");

    put_text(dir, "ghost.json", text);
    assert_held(dir, "");
    remove_dir(dir);
}

/* Broken entries and other strange files */

static const struct {
    const char *name;
    const char *text;
    const char *why;
} strange[] = {
    { "a.json", "", "Expecting a JSON value" },
    { "b.json", "{ \"version\": 1, \"name\": \"b", "JSON parse error" },
    { "c.json", "{ \"version\": 1, \"name\": 4 }",
      "Invalid parameter type for 'name', expected: string" },
    { "d.json", "{ \"version\": 18446744073709551616 }",
      "it has no 'version' that is a number" },
    { "e.json", "{ \"version\": 2 }", "its version is 2, only 1 is known" },
    { "f\x1b[2J.json", "\x1b]0;x\x07", "JSON parse error" },
    { "entry-0123456789abcdef.json", "[]", "it is not a JSON object" },
};

static void make_strange(const char *dir)
{
    g_autofree char *large = g_build_filename(dir, "l.json", NULL);
    g_autofree char *binary = g_build_filename(dir, "m.json", NULL);
    g_autofree char *fifo = g_build_filename(dir, "n.json", NULL);
    g_autofree char *link = g_build_filename(dir, "o.json", NULL);
    g_autofree char *sub = g_build_filename(dir, "p.json", NULL);
    g_autofree char *open_to_all = g_build_filename(dir, "q.json", NULL);
    g_autofree char *text = entry_text("q", "1");
    int fd, i;

    for (i = 0; i < ARRAY_SIZE(strange); i++) {
        put_text(dir, strange[i].name, strange[i].text);
    }
    fd = open(large, O_CREAT | O_WRONLY, 0644);
    g_assert_cmpint(ftruncate(fd, 1 * GiB), ==, 0);
    close(fd);
    g_assert(g_file_set_contents(binary, "{\0}", 3, NULL));
    g_assert_cmpint(chmod(binary, 0644), ==, 0);
    g_assert_cmpint(mkfifo(fifo, 0644), ==, 0);
    g_assert_cmpint(symlink("a.json", link), ==, 0);
    g_assert_cmpint(mkdir(sub, 0755), ==, 0);
    put_text(dir, "q.json", text);
    g_assert_cmpint(chmod(open_to_all, 0666), ==, 0);
    /* Not entries at all: nobody asks, nobody is told */
    put_text(dir, "README", "hello");
    put_text(dir, ".hidden.json", "x");
}

static void assert_warned(GPtrArray *warnings, const char *name,
                          const char *why)
{
    g_autofree char *escaped = g_strescape(name, NULL);
    g_autofree char *start = g_strdup_printf("Entry '%s' of registry ",
                                             escaped);
    int i, found = 0;

    for (i = 0; i < warnings->len; i++) {
        if (g_str_has_prefix(warnings->pdata[i], start)) {
            g_test_message("%s", (char *)warnings->pdata[i]);
            g_assert_nonnull(strstr(warnings->pdata[i], why));
            found++;
        }
    }
    g_assert_cmpint(found, ==, 1);
}

static void test_strange(void)
{
    g_autofree char *dir = make_dir();
    g_autoptr(PinningRegistry) reg = pinning_registry_open(dir, &error_abort);
    g_autoptr(PinningRegistry) other = NULL;
    g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
    PinningTaken *taken;
    int i;

    other = pinning_registry_open(dir, &error_abort);
    record(other, "fine", "3");
    make_strange(dir);

    taken = pinning_registry_taken(reg, warnings, &error_abort);
    g_assert_cmpstr(taken->exclusive_cpus, ==, "3");
    qapi_free_PinningTaken(taken);
    for (i = 0; i < ARRAY_SIZE(strange); i++) {
        assert_warned(warnings, strange[i].name, strange[i].why);
    }
    assert_warned(warnings, "l.json", "it is longer than a MiB");
    assert_warned(warnings, "m.json", "it is not text");
    assert_warned(warnings, "n.json", "it is a special file");
    assert_warned(warnings, "o.json", "it is a link");
    assert_warned(warnings, "p.json", "it is a directory");
    assert_warned(warnings, "q.json", "others than its owner may write it");
    g_assert_cmpuint(warnings->len, ==, ARRAY_SIZE(strange) + 6);
    for (i = 0; i < warnings->len; i++) {
        g_assert_null(strchr(warnings->pdata[i], '\x1b'));
    }

    /* Once is enough, unless it changes */
    g_ptr_array_set_size(warnings, 0);
    qapi_free_PinningTaken(pinning_registry_taken(reg, warnings,
                                                  &error_abort));
    g_assert_cmpuint(warnings->len, ==, 0);
    put_text(dir, "a.json", "{");
    qapi_free_PinningTaken(pinning_registry_taken(reg, warnings,
                                                  &error_abort));
    g_assert_cmpuint(warnings->len, ==, 1);

    /* Only what is surely an entry is removed: one, here */
    i = count_files(dir, "");
    g_assert_cmpint(pinning_registry_collect(reg, &error_abort), ==, 1);
    g_assert_cmpint(count_files(dir, ""), ==, i - 1);
    assert_held(dir, "3");
    remove_dir(dir);
}

/* The holder lives, but its entry has been damaged: named, skipped */
static void test_strange_alive(void)
{
    g_autofree char *dir = make_dir();
    g_autoptr(PinningRegistry) reg = pinning_registry_open(dir, &error_abort);
    g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) names = NULL;
    g_autofree char *path = NULL;
    int dirfd = open(dir, O_RDONLY);

    record(reg, "a", "1");
    names = registry_dir_names(dirfd, dir, NULL, &error_abort);
    path = g_build_filename(dir, names->pdata[0], NULL);
    g_assert_cmpint(truncate(path, 20), ==, 0);
    qapi_free_PinningTaken(taken_of(dir, warnings));
    g_assert_cmpuint(warnings->len, ==, 1);
    assert_warned(warnings, names->pdata[0], "JSON parse error");
    assert_held(dir, "");

    /* Not dead, so not removed; and its holder can mend it */
    g_assert_cmpint(pinning_registry_collect(reg, &error_abort), ==, 0);
    record(reg, "a", "1");
    assert_held(dir, "1");
    close(dirfd);
    remove_dir(dir);
}

static void test_hard_link(void)
{
    g_autofree char *dir = make_dir();
    PinningRegistry *a = pinning_registry_open(dir, &error_abort);
    g_autoptr(PinningRegistry) b = pinning_registry_open(dir, &error_abort);
    g_autoptr(GPtrArray) names = NULL;
    g_autofree char *path = NULL, *link1 = NULL, *link2 = NULL;
    int dirfd = open(dir, O_RDONLY);
    PinningTaken *taken;

    record(a, "a", "1");
    names = registry_dir_names(dirfd, dir, NULL, &error_abort);
    path = g_build_filename(dir, names->pdata[0], NULL);
    link1 = g_build_filename(dir, "a.json", NULL);
    link2 = g_build_filename(dir, "z.json", NULL);
    g_assert_cmpint(link(path, link1), ==, 0);
    g_assert_cmpint(link(path, link2), ==, 0);

    /* It counts once for others and not at all for its holder */
    taken = pinning_registry_taken(b, NULL, &error_abort);
    g_assert_cmpuint(taken->cpus->value->load, ==, 1000);
    g_assert_null(taken->cpus->next);
    qapi_free_PinningTaken(taken);
    taken = pinning_registry_taken(a, NULL, &error_abort);
    g_assert_null(taken->cpus);
    qapi_free_PinningTaken(taken);

    /* And a link does not keep it alive */
    record(a, "a", "2");
    assert_held(dir, "2");
    pinning_registry_close(a);
    assert_held(dir, "");
    close(dirfd);
    remove_dir(dir);
}

static void test_stale_temp(void)
{
    g_autofree char *dir = make_dir();
    g_autoptr(PinningRegistry) reg = pinning_registry_open(dir, &error_abort);

    put_text(dir, ".tmp-0123456789abcdef", "half an en");
    put_text(dir, ".tmp-fedcba9876543210", "");
    put_text(dir, ".tmp-mine", "not the registry's");
    g_assert_cmpint(pinning_registry_collect(reg, &error_abort), ==, 2);
    g_assert_cmpint(count_files(dir, ".tmp-"), ==, 1);

    /* Choosing does it too, looking does not */
    put_text(dir, ".tmp-0123456789abcdef", "half an en");
    assert_held(dir, "");
    g_assert_cmpint(count_files(dir, ".tmp-"), ==, 2);
    pinning_registry_lock(reg, &error_abort);
    qapi_free_PinningTaken(pinning_registry_taken(reg, NULL, &error_abort));
    pinning_registry_unlock(reg);
    g_assert_cmpint(count_files(dir, ".tmp-"), ==, 1);
    remove_dir(dir);
}

/* Other users */

static int child_other_user_holds(const char *dir, void *opaque)
{
    become(OTHER_USER);
    umask(077);
    return child_holds(dir, opaque);
}

/* Everything a third user could try against the entry of another one */
static int child_attacks(const char *dir, void *opaque)
{
    g_autoptr(PinningRegistry) reg = NULL;
    g_autofree char *name = NULL;
    GPtrArray *names;
    struct flock lock = { .l_type = F_WRLCK };
    int dirfd, fd;

    become(THIRD_USER);
    dirfd = open(dir, O_RDONLY);
    names = registry_dir_names(dirfd, dir, NULL, &error_abort);
    g_assert_cmpuint(names->len, ==, 2);
    name = g_strdup(names->pdata[0]);
    if (g_str_equal(name, "dead.json")) {
        g_free(name);
        name = g_strdup(names->pdata[1]);
    }

    g_assert_cmpint(unlinkat(dirfd, name, 0), ==, -1);
    fd = openat(dirfd, "mine", O_CREAT | O_RDWR, 0644);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(renameat(dirfd, "mine", dirfd, name), ==, -1);
    g_assert_cmpint(renameat(dirfd, name, dirfd, "taken"), ==, -1);
    g_assert_cmpint(openat(dirfd, name, O_WRONLY), ==, -1);
    g_assert_cmpint(openat(dirfd, name, O_RDWR), ==, -1);
    g_assert_cmpint(fchmodat(dirfd, name, 0666, 0), ==, -1);

    /* A dead entry of another cannot be made to look alive */
    fd = openat(dirfd, "dead.json", O_RDONLY);
    g_assert_cmpint(fd, >=, 0);
    g_assert_cmpint(fcntl(fd, F_OFD_SETLK, &lock), ==, -1);
    lock.l_type = F_RDLCK;
    g_assert_cmpint(fcntl(fd, F_OFD_SETLK, &lock), ==, 0);
    g_assert_cmpint(flock(fd, LOCK_EX | LOCK_NB), ==, 0);
    assert_held(dir, "11");

    /* He may hold things of his own beside it */
    reg = pinning_registry_open(dir, &error_abort);
    record(reg, "third", "12");
    assert_held(dir, "11-12");
    g_assert_cmpint(pinning_registry_collect(reg, &error_abort), ==, 0);
    return 0;
}

static void test_users(void)
{
    g_autofree char *dir = NULL, *text = NULL, *lock = NULL;
    struct stat st;
    pid_t first, second;

    if (!need_root()) {
        return;
    }
    dir = make_dir();
    lock = g_build_filename(dir, "lock", NULL);
    g_assert_cmpint(chown(dir, 0, SHARED_GROUP), ==, 0);
    g_assert_cmpint(chmod(dir, 01770), ==, 0);

    first = start_child(child_other_user_holds, dir, (void *)"11", NULL);
    assert_held(dir, "11");
    g_assert_cmpint(stat(lock, &st), ==, 0);
    g_assert_cmpint(st.st_mode & 0777, ==, 0660);
    g_assert_cmpuint(st.st_gid, ==, SHARED_GROUP);

    text = entry_text("dead", "10");
    put_text(dir, "dead.json", text);
    second = start_child(child_attacks, dir, NULL, NULL);
    kill_child(second);
    assert_held(dir, "11");
    kill_child(first);
    assert_held(dir, "");
    remove_dir(dir);
}

static void test_users_root_first(void)
{
    g_autofree char *dir = NULL;
    g_autoptr(PinningRegistry) reg = NULL;
    pid_t pid;

    if (!need_root()) {
        return;
    }
    /* Root makes the lock file, and the group can still use it */
    dir = make_dir();
    g_assert_cmpint(chown(dir, 0, SHARED_GROUP), ==, 0);
    g_assert_cmpint(chmod(dir, 01770), ==, 0);
    reg = pinning_registry_open(dir, &error_abort);
    record(reg, "root", "1");
    pid = start_child(child_other_user_holds, dir, (void *)"2", NULL);
    assert_held(dir, "1-2");
    kill_child(pid);
    assert_held(dir, "1");
    remove_dir(dir);
}

static int compare_texts(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Who has the same host CPUs: "name cpus" of each, in a stable order */
static char *overlaps_of(PinningRegistry *reg,
                         const PinningReservation *own)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    PinningOverlapList *list, *o;

    g_assert_true(pinning_registry_overlaps(reg, own, &list, &error_abort));
    for (o = list; o; o = o->next) {
        g_ptr_array_add(texts, g_strdup_printf("%s %s", o->value->name,
                                               o->value->host_cpus));
        g_assert_cmpint(o->value->mode, ==, PINNING_MODE_ONE_TO_ONE);
    }
    qapi_free_PinningOverlapList(list);
    g_ptr_array_sort(texts, compare_texts);
    g_ptr_array_add(texts, NULL);
    return g_strjoinv("; ", (char **)texts->pdata);
}

static void test_overlaps(void)
{
    g_autofree char *dir = make_dir();
    g_autoptr(PinningRegistry) reg = pinning_registry_open(dir, &error_abort);
    g_autoptr(PinningRegistry) a = pinning_registry_open(dir, &error_abort);
    g_autoptr(PinningRegistry) b = pinning_registry_open(dir, &error_abort);
    g_autoptr(PinningReservation) own = entry_new("own", "0-3", false);
    g_autofree char *nobody = NULL, *both = NULL, *idle = NULL, *one = NULL;

    pinning_registry_lock(reg, &error_abort);
    pinning_registry_record(reg, own, &error_abort);
    pinning_registry_unlock(reg);
    nobody = overlaps_of(reg, own);
    g_assert_cmpstr(nobody, ==, "");

    record(a, "a", "3-5");
    record(b, "b", "0,2,8");
    both = overlaps_of(reg, own);
    g_assert_cmpstr(both, ==, "a 3; b 0,2");

    /* What should stay idle and does not is one, too */
    g_free(own->parked_cpus);
    own->parked_cpus = g_strdup("5-7");
    idle = overlaps_of(reg, own);
    g_assert_cmpstr(idle, ==, "a 3,5; b 0,2");

    pinning_registry_close(g_steal_pointer(&a));
    one = overlaps_of(reg, own);
    g_assert_cmpstr(one, ==, "b 0,2");
    pinning_registry_close(g_steal_pointer(&b));
    pinning_registry_close(g_steal_pointer(&reg));
    remove_dir(dir);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *path;
        GTestFunc func;
    } tests[] = {
        { "open/makes", test_open_makes },
        { "open/link", test_open_link },
        { "open/mode", test_open_mode },
        { "open/owner", test_open_owner },
        { "open/default-dir", test_default_dir },
        { "lock/excludes", test_lock },
        { "lock/replaced", test_lock_replaced },
        { "lock/strange", test_lock_strange },
        { "record/replaces", test_record },
        { "record/unknown-kept", test_record_unknown_kept },
        { "record/fails", test_record_fails },
        { "record/full-disk", test_full_disk },
        { "record/read-only-dir", test_read_only_dir },
        { "record/rotation", test_rotation },
        { "record/untouched", test_untouched },
        { "alive/kill", test_kill },
        { "alive/daemonize", test_daemonize },
        { "alive/exec", test_exec },
        { "alive/pid-namespace", test_pid_namespace },
        { "alive/pid-reuse", test_pid_reuse },
        { "strange/files", test_strange },
        { "strange/alive", test_strange_alive },
        { "strange/hard-link", test_hard_link },
        { "strange/stale-temp", test_stale_temp },
        { "overlaps", test_overlaps },
        { "users/attack", test_users },
        { "users/root-first", test_users_root_first },
    };
    int i;

    g_test_init(&argc, &argv, NULL);
    for (i = 0; i < ARRAY_SIZE(tests); i++) {
        g_autofree char *path = g_strdup_printf("/pinning-registry/%s",
                                                tests[i].path);

        g_test_add_func(path, tests[i].func);
    }
    return g_test_run();
}
