/*
 * What the tests of the registry of reservations share: directories,
 * entries, and processes that hold them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TESTS_UNIT_PINNING_REGISTRY_UTIL_H
#define TESTS_UNIT_PINNING_REGISTRY_UTIL_H

#include <sys/wait.h>
#include "qapi/error.h"
#include "qapi/util.h"
#include "qemu/pinning-registry-int.h"

/* Long enough for a machine under load; nothing waits that long unless lost */
#define TEST_TIMEOUT_MS 10000

static inline char *make_dir(void)
{
    char *dir = g_dir_make_tmp("pinning-registry-XXXXXX", NULL);

    g_assert_nonnull(dir);
    return dir;
}

static inline void remove_dir(const char *dir)
{
    const char *argv[] = { "rm", "-rf", dir, NULL };

    g_assert(g_spawn_sync(NULL, (char **)argv, NULL, G_SPAWN_SEARCH_PATH,
                          NULL, NULL, NULL, NULL, NULL, NULL));
}

static inline PinningReservation *entry_new(const char *name,
                                            const char *host_cpus,
                                            bool exclusive)
{
    PinningReservation *entry = g_new0(PinningReservation, 1);

    entry->name = g_strdup(name);
    entry->mode = PINNING_MODE_ONE_TO_ONE;
    entry->exclusive = exclusive;
    entry->host_cpus = g_strdup(host_cpus);
    entry->vcpus = 1;
    entry->parked_cpus = g_strdup("");
    entry->io_cpus = g_strdup("");
    return entry;
}

static inline void entry_add_memory(PinningReservation *entry,
                                    uint32_t host_node, uint64_t size)
{
    PinningReservationMemory *m = g_new0(PinningReservationMemory, 1);

    m->host_node = host_node;
    m->size = size;
    QAPI_LIST_PREPEND(entry->memory, m);
}

/* Record in one go; returns the entry's position in the order of arrival */
static inline uint32_t record(PinningRegistry *reg, const char *name,
                              const char *host_cpus)
{
    g_autoptr(PinningReservation) entry = entry_new(name, host_cpus, true);

    pinning_registry_lock(reg, &error_abort);
    pinning_registry_record(reg, entry, &error_abort);
    pinning_registry_unlock(reg);
    return entry->rotation;
}

static inline PinningTaken *taken_of(const char *dir, GPtrArray *warnings)
{
    g_autoptr(PinningRegistry) reg = pinning_registry_open(dir, &error_abort);

    return pinning_registry_taken(reg, warnings, &error_abort);
}

/* What is held exclusively, seen by a newcomer who only looks */
static inline char *held(const char *dir)
{
    PinningTaken *taken = taken_of(dir, NULL);
    char *cpus = g_strdup(taken->exclusive_cpus);

    qapi_free_PinningTaken(taken);
    return cpus;
}

static inline void assert_held(const char *dir, const char *expected)
{
    g_autofree char *cpus = held(dir);

    g_assert_cmpstr(cpus, ==, expected);
}

/* For what ends a moment after a signal, in a process not ours to wait for */
static inline void wait_held(const char *dir, const char *expected)
{
    int64_t end = g_get_monotonic_time() + TEST_TIMEOUT_MS * 1000LL;

    for (;;) {
        g_autofree char *cpus = held(dir);

        if (g_str_equal(cpus, expected)) {
            return;
        }
        g_assert_cmpint(g_get_monotonic_time(), <, end);
        g_usleep(1000);
    }
}

/* Number of files but for the lock, and those that begin with @prefix */
static inline int count_files(const char *dir, const char *prefix)
{
    GDir *d = g_dir_open(dir, 0, NULL);
    const char *name;
    int n = 0;

    g_assert_nonnull(d);
    while ((name = g_dir_read_name(d))) {
        if (!g_str_equal(name, "lock") && g_str_has_prefix(name, prefix)) {
            n++;
        }
    }
    g_dir_close(d);
    return n;
}

/* A test that fails must not leave processes behind for good */
static inline void G_NORETURN wait_for_death(void)
{
    alarm(60);
    for (;;) {
        pause();
    }
}

/*
 * A child that does @fn, reports by its return value (below 128) that it is
 * ready, and waits to be killed.  Returns its pid; the report goes to
 * @report, or must be 0 if that is NULL.
 */
typedef int ChildFn(const char *dir, void *opaque);

static inline pid_t start_child(ChildFn *fn, const char *dir, void *opaque,
                                int *report)
{
    unsigned char byte = 255;
    int fds[2];
    pid_t pid;

    g_assert_cmpint(pipe(fds), ==, 0);
    pid = fork();
    g_assert_cmpint(pid, >=, 0);
    if (pid == 0) {
        close(fds[0]);
        byte = fn(dir, opaque);
        if (write(fds[1], &byte, 1) != 1) {
            _exit(1);
        }
        close(fds[1]);
        wait_for_death();
    }
    close(fds[1]);
    g_assert_cmpint(RETRY_ON_EINTR(read(fds[0], &byte, 1)), ==, 1);
    close(fds[0]);
    if (report) {
        *report = byte;
    } else {
        g_assert_cmpint(byte, ==, 0);
    }
    return pid;
}

static inline void kill_child(pid_t pid)
{
    int status;

    g_assert_cmpint(pid, >, 1);
    g_assert_cmpint(kill(pid, SIGKILL), ==, 0);
    g_assert_cmpint(RETRY_ON_EINTR(waitpid(pid, &status, 0)), ==, pid);
}

/* A holder of what @opaque, a list of host CPUs, says */
static inline int child_holds(const char *dir, void *opaque)
{
    PinningRegistry *reg = pinning_registry_open(dir, &error_abort);

    record(reg, "child", opaque);
    return 0;
}

#endif /* TESTS_UNIT_PINNING_REGISTRY_UTIL_H */
