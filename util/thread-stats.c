/*
 * What the host's scheduler did with a thread
 *
 * All of it is text below /proc/self/task, see proc(5).  Somebody may ask for
 * hundreds of threads each second, so nothing is allocated.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qemu/thread-stats.h"

/* "sched" is the longest, with less than half of this */
#define TEXT_SIZE 8192

static bool read_task_file(pid_t tid, const char *name, char *text)
{
    char path[64];
    ssize_t len;
    int fd;

    snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)tid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    len = RETRY_ON_EINTR(read(fd, text, TEXT_SIZE - 1));
    close(fd);
    text[MAX(len, 0)] = '\0';
    return len > 0;
}

/*
 * The name, field 2, may hold blanks and parentheses, so fields are counted
 * from its last parenthesis.  The state is field 3, the CPU 39.
 */
bool thread_state_get(pid_t tid, ThreadState *state)
{
    char text[TEXT_SIZE];
    const char *field;
    int i;

    if (!read_task_file(tid, "stat", text)) {
        return false;
    }
    field = strrchr(text, ')');
    if (!field || field[1] != ' ') {
        return false;
    }
    state->runnable = field[2] == 'R';
    for (i = 3; field && i <= 39; i++) {
        field = strchr(field + 1, ' ');
    }
    return field && qemu_strtoui(field + 1, &field, 10,
                                 &state->last_cpu) == 0;
}

/* Time on a CPU, time waiting for one, number of times on one */
bool thread_run_delay_get(pid_t tid, uint64_t *nanoseconds)
{
    char text[TEXT_SIZE];
    const char *field;

    if (!read_task_file(tid, "schedstat", text)) {
        return false;
    }
    field = strchr(text, ' ');
    return field && qemu_strtou64(field + 1, &field, 10, nanoseconds) == 0;
}

/* Only kernels with CONFIG_SCHED_DEBUG have it */
bool thread_migrations_get(pid_t tid, uint64_t *count)
{
    static const char name[] = "\nse.nr_migrations";
    char text[TEXT_SIZE];
    const char *field;

    if (!read_task_file(tid, "sched", text)) {
        return false;
    }
    field = strstr(text, name);
    field = field ? strchr(field, ':') : NULL;
    return field && qemu_strtou64(field + 1, &field, 10, count) == 0;
}
