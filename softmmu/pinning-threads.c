/*
 * Telling the threads of the process apart, and placing those that are no
 * vCPUs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/thread-affinity.h"
#include "qemu/thread-context.h"
#include "hw/core/cpu.h"
#include "qom/object.h"
#include "system/iothread.h"
#include "pinning-creators.h"
#include "pinning-internal.h"
#include "pinning-io.h"
#include "pinning-iothreads.h"
#include "pinning-threads.h"
#include "trace.h"

/* Linux's flags of a thread, include/linux/sched.h */
#define PF_KTHREAD          0x00200000u
#define PF_NO_SETAFFINITY   0x04000000u

/* Threads of iothreads' pools, which need more than their iothread's CPU */
static GHashTable *pool;        /* tid -> list of host CPUs */

/* What threads that are neither vCPUs nor do I/O are told apart by */
typedef struct Others {
    GHashTable *contexts;       /* tids of thread-context objects */
    const PinningPlan *plan;
} Others;

/* proc(5): the field after the name is the third, the flags the ninth */
static unsigned thread_flags(pid_t tid)
{
    g_autofree char *path = g_strdup_printf("/proc/%d/stat", tid);
    g_autofree char *stat = NULL;
    g_auto(GStrv) fields = NULL;
    unsigned flags = 0;
    const char *close;

    if (!g_file_get_contents(path, &stat, NULL, NULL)) {
        return 0;
    }
    close = strrchr(stat, ')');
    fields = close ? g_strsplit(close + 1, " ", 9) : NULL;
    if (fields && g_strv_length(fields) > 7) {
        qemu_strtoui(fields[7], NULL, 10, &flags);
    }
    return flags;
}

bool pinning_thread_is_kernels(pid_t tid)
{
    return thread_flags(tid) & PF_KTHREAD;
}

void pinning_threads_note_pool(pid_t tid, const char *host_cpus)
{
    if (!pool) {
        pool = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    }
    g_hash_table_replace(pool, GINT_TO_POINTER((int)tid),
                         g_strdup(host_cpus));
}

static gboolean is_at(gpointer tid, gpointer list, gpointer host_cpus)
{
    return g_str_equal(list, host_cpus);
}

bool pinning_threads_pool_at(const char *host_cpus)
{
    return pool && g_hash_table_find(pool, is_at, (gpointer)host_cpus);
}

static gboolean is_gone(gpointer tid, gpointer list, gpointer tids)
{
    return !g_hash_table_contains(tids, tid);
}

void pinning_threads_pool_keep(GHashTable *tids)
{
    if (pool) {
        g_hash_table_foreach_remove(pool, is_gone, tids);
    }
}

static int note_context(Object *obj, void *opaque)
{
    GHashTable *contexts = opaque;

    if (object_dynamic_cast(obj, TYPE_THREAD_CONTEXT)) {
        int64_t tid = object_property_get_int(obj, "thread-id", NULL);

        g_hash_table_add(contexts, GINT_TO_POINTER((int)tid));
    }
    return 0;
}

static PinningThreadInfo *new_thread(PinningThreadRole role, pid_t tid,
                                     const char *wanted)
{
    PinningThreadInfo *info = g_new0(PinningThreadInfo, 1);

    info->role = role;
    info->thread_id = tid;
    if (wanted && *wanted) {
        info->wanted_cpus = g_strdup(wanted);
    }
    return info;
}

static void add_vcpus(PinningThreadInfoList ***tail, const PinningPlan *plan,
                      GHashTable *known)
{
    g_autoptr(GPtrArray) index = plan ? pinning_vcpu_index(plan) : NULL;
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        const PinningVcpuPlan *vcpu = index ?
            pinning_indexed_vcpu(index, cpu->cpu_index) : NULL;
        PinningThreadInfo *info = new_thread(PINNING_THREAD_ROLE_VCPU,
                                             cpu->thread_id,
                                             vcpu ? vcpu->host_cpus : NULL);

        info->has_vcpu = true;
        info->vcpu = cpu->cpu_index;
        info->reason = vcpu ? g_strdup(vcpu->reason) : NULL;
        g_hash_table_add(known, GINT_TO_POINTER(cpu->thread_id));
        QAPI_LIST_APPEND(*tail, info);
    }
}

static PinningThreadInfo *io_thread(const IoThread *io)
{
    g_autofree char *wanted = io->host_cpu < 0 ? NULL :
                              g_strdup_printf("%d", io->host_cpu);
    PinningThreadInfo *info = new_thread(io->role, io->tid,
                                         io->immobile ? NULL : wanted);

    info->device = g_strdup(io->device);
    if (io->role == PINNING_THREAD_ROLE_VHOST) {
        info->has_queue = true;
        info->queue = io->queue;
    }
    info->reason = io->immobile ?
        g_strdup("the host does not let this process place it") :
        g_strdup(io->reason);
    return info;
}

/*
 * What a vCPU's first run makes the kernel create is moved away from there,
 * if that may be done.
 */
static bool must_stay(pid_t tid, const char *wanted)
{
    g_autoptr(CpuSet) actual = pinning_creators_needed() ?
                               thread_affinity_get(tid, NULL) : NULL;
    g_autofree char *list = actual ? cpulist_format(actual) : NULL;

    return list && !g_str_equal(list, wanted);
}

static PinningThreadInfo *helper_thread(pid_t tid, const Others *others)
{
    void *key = GINT_TO_POINTER(tid);
    const char *wanted = others->plan ? others->plan->emulator_cpus : NULL;
    const char *reason = NULL;
    PinningThreadInfo *info;

    if (g_hash_table_contains(others->contexts, key)) {
        wanted = NULL;
        reason = "a thread-context, placed by its own options";
    } else if (thread_flags(tid) & PF_NO_SETAFFINITY) {
        wanted = NULL;
        reason = "a worker of the kernel, which places it";
    } else if (wanted && pool && g_hash_table_contains(pool, key)) {
        wanted = g_hash_table_lookup(pool, key);
        reason = "of the pool of an iothread";
    }
    if (wanted && must_stay(tid, wanted)) {
        wanted = NULL;
        reason = "born since the sandbox forbids to move it";
    }
    info = new_thread(PINNING_THREAD_ROLE_HELPER, tid, wanted);
    info->reason = g_strdup(reason);
    return info;
}

static int find_iothread(Object *obj, void *opaque)
{
    return object_dynamic_cast(obj, TYPE_IOTHREAD) &&
           IOTHREAD(obj)->thread_id == *(pid_t *)opaque;
}

static PinningThreadInfo *other_thread(pid_t tid, const Others *others)
{
    const IoThread *io = pinning_io_find(tid);
    const char *place = pinning_creator_place(tid);

    if (place) {
        return new_thread(PINNING_THREAD_ROLE_CREATOR, tid, place);
    }
    if (tid == getpid()) {
        return new_thread(PINNING_THREAD_ROLE_MAIN, tid,
                          others->plan ? others->plan->emulator_cpus : NULL);
    }
    if (io && others->plan) {
        return io_thread(io);
    }
    if (object_child_foreach(object_get_objects_root(), find_iothread,
                             &tid)) {
        return new_thread(PINNING_THREAD_ROLE_IOTHREAD, tid, NULL);
    }
    return helper_thread(tid, others);
}

typedef PinningThreadInfoList **Tail;

static void add_kernel_thread(IoThread *io, void *opaque)
{
    Tail *tail = opaque;

    if (io->kernel_thread) {
        QAPI_LIST_APPEND(*tail, io_thread(io));
    }
}

static void add_tid(IoThread *io, void *opaque)
{
    GArray *tids = opaque;

    if (!io->kernel_thread) {
        g_array_append_val(tids, io->tid);
    }
}

/* After -run-with chroot= there is no /proc; what is known by id remains */
static GArray *known_tids(void)
{
    GArray *tids = g_array_new(false, false, sizeof(pid_t));
    pid_t main_thread = getpid();

    g_array_append_val(tids, main_thread);
    pinning_io_foreach(add_tid, tids);
    pinning_creators_add(tids);
    return tids;
}

PinningThreadInfoList *pinning_threads_list(const PinningPlan *plan)
{
    g_autoptr(GHashTable) contexts = g_hash_table_new(NULL, NULL);
    g_autoptr(GHashTable) known = g_hash_table_new(NULL, NULL);
    g_autoptr(GArray) tids = thread_list();
    PinningThreadInfoList *list = NULL, **tail = &list;
    Others others = { .contexts = contexts };
    int i;

    /* A mode that is none places memory only */
    if (plan && plan->mode != PINNING_MODE_NONE) {
        others.plan = plan;
        pinning_io_forget();
    }
    if (!tids) {
        tids = known_tids();
    }
    object_child_foreach(object_get_objects_root(), note_context, contexts);
    add_vcpus(&tail, others.plan, known);
    for (i = 0; i < tids->len; i++) {
        pid_t tid = g_array_index(tids, pid_t, i);

        if (!g_hash_table_contains(known, GINT_TO_POINTER(tid))) {
            QAPI_LIST_APPEND(tail, other_thread(tid, &others));
        }
    }
    if (others.plan) {
        pinning_io_foreach(add_kernel_thread, &tail);
    }
    return list;
}

static void settle(const PinningThreadInfo *info)
{
    g_autoptr(CpuSet) wanted = cpulist_parse(info->wanted_cpus, &error_abort);
    g_autoptr(CpuSet) actual = thread_affinity_get(info->thread_id, NULL);
    Error *err = NULL;

    if (!actual || cpuset_equal(actual, wanted)) {
        return;
    }
    trace_pinning_settle_thread(PinningThreadRole_str(info->role),
                                info->thread_id, info->wanted_cpus);
    if (!thread_affinity_set(info->thread_id, wanted, &err)) {
        if (thread_place_get(info->thread_id, &(ThreadPlace){ })) {
            warn_report_err(err);
        } else {
            error_free(err);
        }
    }
}

void pinning_threads_settle(const PinningPlan *plan)
{
    g_autoptr(PinningThreadInfoList) list = NULL;
    PinningThreadInfoList *entry;

    g_clear_pointer(&pool, g_hash_table_unref);
    pinning_iothreads_settle();
    pinning_io_reapply();
    list = pinning_threads_list(plan);
    for (entry = list; entry; entry = entry->next) {
        const PinningThreadInfo *info = entry->value;

        if (info->wanted_cpus && (info->role == PINNING_THREAD_ROLE_MAIN ||
                                  info->role == PINNING_THREAD_ROLE_HELPER)) {
            settle(info);
        }
    }
}

void pinning_threads_restore(const PinningPlan *plan, const CpuSet *start)
{
    g_autoptr(PinningThreadInfoList) list = pinning_threads_list(plan);
    PinningThreadInfoList *entry;

    for (entry = list; entry; entry = entry->next) {
        const PinningThreadInfo *info = entry->value;
        g_autoptr(CpuSet) actual = thread_affinity_get(info->thread_id, NULL);

        if (info->wanted_cpus && actual && cpuset_equal(actual, start)) {
            settle(info);
        }
    }
}
