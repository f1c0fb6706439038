/*
 * Threads that do things on given host CPUs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/placed-thread.h"
#include "qemu/thread.h"
#include "qemu/thread-affinity.h"

struct PlacedThread {
    QemuThread thread;
    QemuSemaphore done;         /* the mask is set, or @err; or @fn returned */
    QemuSemaphore go;           /* @fn is set; NULL: the end has come */
    const CpuSet *wanted;       /* the caller's, until the mask is set */
    Error *err;
    void (*fn)(void *opaque);
    void *opaque;
};

static void *placed_thread(void *opaque)
{
    PlacedThread *thread = opaque;

    thread_affinity_set(0, thread->wanted, &thread->err);
    qemu_sem_post(&thread->done);
    for (;;) {
        qemu_sem_wait(&thread->go);
        if (!thread->fn) {
            return NULL;
        }
        thread->fn(thread->opaque);
        qemu_sem_post(&thread->done);
    }
}

PlacedThread *placed_thread_new(const CpuSet *host_cpus, Error **errp)
{
    g_autoptr(PlacedThread) thread = g_new0(PlacedThread, 1);

    qemu_sem_init(&thread->done, 0);
    qemu_sem_init(&thread->go, 0);
    thread->wanted = host_cpus;
    qemu_thread_create(&thread->thread, "placed", placed_thread, thread,
                       QEMU_THREAD_JOINABLE);
    qemu_sem_wait(&thread->done);
    thread->wanted = NULL;
    if (thread->err) {
        error_propagate(errp, g_steal_pointer(&thread->err));
        return NULL;
    }
    return g_steal_pointer(&thread);
}

void placed_thread_run(PlacedThread *thread, void (*fn)(void *opaque),
                       void *opaque)
{
    thread->fn = fn;
    thread->opaque = opaque;
    qemu_sem_post(&thread->go);
    qemu_sem_wait(&thread->done);
    thread->fn = NULL;
}

void placed_thread_free(PlacedThread *thread)
{
    if (thread) {
        qemu_sem_post(&thread->go);
        qemu_thread_join(&thread->thread);
        qemu_sem_destroy(&thread->done);
        qemu_sem_destroy(&thread->go);
        g_free(thread);
    }
}
