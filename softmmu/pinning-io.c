/*
 * Threads that do I/O for the guest, and where each of them is
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/thread-affinity.h"
#include "accel/pinning/core-sched.h"
#include "hw/core/cpu.h"
#include "pinning-internal.h"
#include "pinning-io-choose.h"
#include "pinning-iothreads.h"
#include "pinning-threads.h"
#include "trace.h"

static GPtrArray *threads;      /* of IoThread */

static void io_thread_free(void *opaque)
{
    IoThread *io = opaque;

    g_free(io->device);
    g_free(io->reason);
    cpuset_free(io->vcpus);
    g_free(io);
}

static GPtrArray *all_threads(void)
{
    if (!threads) {
        threads = g_ptr_array_new_with_free_func(io_thread_free);
    }
    return threads;
}

/*
 * Threads end with their device or their object, and nobody tells us.  Ids
 * are used again, so that one of them being there is not enough.
 */
static bool has_ended(const IoThread *io)
{
    g_autofree char *comm_path = g_strdup_printf(
        io->kernel_thread ? "/proc/%d/comm" : "/proc/self/task/%d/comm",
        io->tid);
    g_autofree char *comm = NULL;

    if (!io->tid) {
        return false;
    }
    if (!g_file_get_contents(comm_path, &comm, NULL, NULL)) {
        /* After -run-with chroot= there is no /proc */
        return !thread_exists(io->tid);
    }
    return io->role == PINNING_THREAD_ROLE_VHOST ?
           !g_str_has_prefix(comm, "vhost-") :
           !pinning_iothreads_have(io->tid);
}

static bool forget_ended(void)
{
    GPtrArray *all = all_threads();
    bool changed = false;
    unsigned i;

    for (i = all->len; i-- > 0; ) {
        if (has_ended(all->pdata[i])) {
            g_ptr_array_remove_index(all, i);
            changed = true;
        }
    }
    return changed;
}

static void open_books(IoBooks *books)
{
    bool changed = forget_ended();

    io_books_open(books, all_threads());
    books->changed = changed;
}

static void report_exceeded(void)
{
    static bool reported;
    g_autofree char *warning = pinning_io_warning();

    if (warning && !reported) {
        warn_report("pinning: %s", warning);
    }
    reported = warning != NULL;
}

IoThread *pinning_io_add(PinningThreadRole role, const char *device,
                         unsigned queue, IoServes *serves, CpuSet *vcpus)
{
    IoThread *io = g_new0(IoThread, 1);

    io->role = role;
    io->device = g_strdup(device);
    io->queue = queue;
    io->serves = serves;
    io->vcpus = vcpus;
    io->host_cpu = -1;
    io->turn = -1;
    g_ptr_array_add(all_threads(), io);
    return io;
}

IoThread *pinning_io_new(PinningThreadRole role, const char *device,
                         unsigned queue, IoServes *serves, CpuSet *vcpus)
{
    IoThread *io = pinning_io_add(role, device, queue, serves, vcpus);
    IoBooks books;

    open_books(&books);
    io_choose(io, &books);
    io_books_close(&books);
    report_exceeded();
    return io;
}

void pinning_io_drop(IoThread *io)
{
    IoBooks books;

    g_ptr_array_remove(threads, io);
    open_books(&books);
    books.changed = true;
    io_books_close(&books);
}

static void share_cookie(IoThread *io)
{
    const PinningOptions *options = pinning_state()->options;
    static bool warned;
    Error *err = NULL;

    if (io->role != PINNING_THREAD_ROLE_VHOST || !first_cpu ||
        !options->has_core_sched ||
        options->core_sched != PINNING_CORE_SCHED_VM) {
        return;
    }
    if (!core_sched_share(first_cpu->thread_id, io->tid, &err)) {
        if (warned) {
            error_free(err);
        } else {
            warned = true;
            warn_reportf_err(err, "vhost worker: ");
        }
    }
}

static void warn_immobile(Error *err)
{
    static bool warned;

    if (warned) {
        error_free(err);
    } else {
        warned = true;
        warn_report_err(err);
    }
}

void pinning_io_place(IoThread *io)
{
    g_autoptr(CpuSet) wanted = NULL;
    g_autoptr(CpuSet) actual = NULL;
    Error *err = NULL;

    if (!io->tid || io->immobile || io->host_cpu < 0) {
        return;
    }
    wanted = cpuset_new_range(io->host_cpu, io->host_cpu);
    actual = thread_affinity_get(io->tid, NULL);
    if (actual && !cpuset_equal(actual, wanted)) {
        trace_pinning_io_place(io->tid, io->device, io->queue, io->host_cpu);
        if (!thread_affinity_set(io->tid, wanted, &err)) {
            io->immobile = true;
            warn_immobile(err);
        }
    }
    share_cookie(io);
}

IoThread *pinning_io_find(pid_t tid)
{
    GPtrArray *all = all_threads();
    unsigned i;

    for (i = 0; i < all->len; i++) {
        IoThread *io = all->pdata[i];

        if (io->tid == tid) {
            return io;
        }
    }
    return NULL;
}

void pinning_io_foreach(void (*fn)(IoThread *io, void *opaque), void *opaque)
{
    GPtrArray *all = all_threads();
    unsigned i;

    for (i = 0; i < all->len; i++) {
        IoThread *io = all->pdata[i];

        if (io->tid && !has_ended(io)) {
            fn(io, opaque);
        }
    }
}

void pinning_io_forget(void)
{
    IoBooks books;

    if (forget_ended()) {
        open_books(&books);
        books.changed = true;
        io_books_close(&books);
    }
}

static void settle_all(bool record)
{
    IoBooks books;
    unsigned i;

    open_books(&books);
    books.changed |= record;
    for (i = 0; i < threads->len; i++) {
        if (io_choose(threads->pdata[i], &books)) {
            pinning_io_place(threads->pdata[i]);
        }
    }
    io_books_close(&books);
    report_exceeded();
}

void pinning_io_settle(void)
{
    settle_all(false);
}

static void place_one(IoThread *io, void *opaque)
{
    pinning_io_place(io);
}

void pinning_io_reapply(void)
{
    /* A new plan was recorded without what this module knows */
    settle_all(all_threads()->len);
    pinning_io_foreach(place_one, NULL);
}

PinningTakenCpuList *pinning_io_load(void)
{
    PinningTakenCpuList *list = NULL, **tail = &list;
    g_auto(IoLoad) load = { };
    unsigned i, n, most = 0;

    for (i = 0; threads && i < threads->len; i++) {
        const IoThread *io = threads->pdata[i];

        if (io->host_cpu >= 0) {
            io_load_add(&load, io->host_cpu, 1);
            most = MAX(most, io_load_of(&load, io->host_cpu));
        }
    }
    for (n = 1; n <= most; n++) {
        g_autoptr(CpuSet) cpus = cpuset_new();
        PinningTakenCpu *cpu;

        for (i = 0; i < load.len; i++) {
            if (load.count[i] == n) {
                cpuset_add(cpus, i);
            }
        }
        if (!cpuset_is_empty(cpus)) {
            cpu = g_new0(PinningTakenCpu, 1);
            cpu->host_cpus = cpulist_format(cpus);
            cpu->load = n;
            QAPI_LIST_APPEND(tail, cpu);
        }
    }
    return list;
}

char *pinning_io_warning(void)
{
    const PinningOptions *options = pinning_state()->options;
    unsigned i, n = 0;

    for (i = 0; threads && i < threads->len; i++) {
        const IoThread *io = threads->pdata[i];

        n += io->exceeded;
    }
    return n ? g_strdup_printf("%u iothreads and vhost workers are on host"
                               " CPUs that carry more than pinning-io-share="
                               "%" PRIu32 "; see pinning-io-cpus", n,
                               options->io_share) : NULL;
}
