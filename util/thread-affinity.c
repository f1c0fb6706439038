/*
 * Host CPUs of threads, for hosts of any size
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sys/syscall.h>
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/thread-affinity.h"

/*
 * The raw system calls take masks of any length.  cpu_set_t ends at 1024
 * host CPUs, and so does what is built on it.
 */
#define MASK_BITS ROUND_UP(CPUSET_MAX + 1, BITS_PER_LONG)

CpuSet *thread_affinity_get(pid_t tid, Error **errp)
{
    g_autofree unsigned long *mask = bitmap_new(MASK_BITS);
    g_autoptr(CpuSet) cpus = cpuset_new();
    unsigned long bit;

    if (syscall(SYS_sched_getaffinity, tid, MASK_BITS / BITS_PER_BYTE,
                mask) < 0) {
        error_setg_errno(errp, errno, "Cannot read the host CPUs of thread %d",
                         (int)tid);
        return NULL;
    }
    for (bit = find_first_bit(mask, MASK_BITS); bit < MASK_BITS;
         bit = find_next_bit(mask, MASK_BITS, bit + 1)) {
        cpuset_add(cpus, bit);
    }
    return g_steal_pointer(&cpus);
}

bool thread_affinity_set(pid_t tid, const CpuSet *cpus, Error **errp)
{
    ERRP_GUARD();
    g_autofree unsigned long *mask = bitmap_new(MASK_BITS);

    CPUSET_FOREACH(host_cpu, cpus) {
        set_bit(host_cpu, mask);
    }
    if (syscall(SYS_sched_setaffinity, tid, MASK_BITS / BITS_PER_BYTE,
                mask) < 0) {
        int err = errno;
        g_autofree char *list = cpulist_format(cpus);

        error_setg_errno(errp, err, "Cannot confine thread %d to host CPUs %s",
                         (int)tid, list);
        if (err == EINVAL) {
            error_append_hint(errp, "None of them is online and inside the"
                              " cpuset of this process.\n");
        }
        return false;
    }
    return true;
}

bool thread_exists(pid_t tid)
{
    g_autoptr(CpuSet) cpus = thread_affinity_get(tid, NULL);

    return cpus;
}

static char *read_task_file(pid_t tid, const char *name)
{
    g_autofree char *path = g_strdup_printf("/proc/self/task/%d/%s",
                                            (int)tid, name);
    char *text = NULL;

    return g_file_get_contents(path, &text, NULL, NULL) ? text : NULL;
}

/*
 * "tid (comm) state ..."; comm may hold blanks and parentheses, so the
 * fields are counted from its last parenthesis: proc(5) numbers it 2, and
 * the CPU 39.
 */
static bool parse_stat(const char *stat, ThreadPlace *place)
{
    const char *open = strchr(stat, '(');
    const char *close = strrchr(stat, ')');
    g_auto(GStrv) fields = NULL;
    unsigned cpu;

    if (!open || !close || close < open) {
        return false;
    }
    pstrcpy(place->comm, MIN(sizeof(place->comm), close - open), open + 1);
    fields = g_strsplit(close + 1, " ", 0);
    if (g_strv_length(fields) <= 37 ||
        qemu_strtoui(fields[37], NULL, 10, &cpu) < 0) {
        return false;
    }
    place->last_cpu = cpu;
    return true;
}

bool thread_place_get(pid_t tid, ThreadPlace *place)
{
    g_autofree char *stat = read_task_file(tid, "stat");
    g_autofree char *status = read_task_file(tid, "status");
    const char *count;

    if (!stat || !status || !parse_stat(stat, place)) {
        return false;
    }
    count = strstr(status, "\nnonvoluntary_ctxt_switches:");
    place->preempted = 0;
    if (count) {
        count = strchr(count, ':') + 1;
        qemu_strtou64(count, NULL, 10, &place->preempted);
    }
    return true;
}

static gint compare_tids(gconstpointer a, gconstpointer b)
{
    return *(const pid_t *)a - *(const pid_t *)b;
}

GArray *thread_list(void)
{
    g_autoptr(GDir) dir = g_dir_open("/proc/self/task", 0, NULL);
    const char *name;
    GArray *tids;

    if (!dir) {
        return NULL;
    }
    tids = g_array_new(false, false, sizeof(pid_t));
    while ((name = g_dir_read_name(dir))) {
        pid_t tid = atoi(name);

        g_array_append_val(tids, tid);
    }
    g_array_sort(tids, compare_tids);
    return tids;
}
