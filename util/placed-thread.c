/*
 * Threads that do things on given host CPUs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <pthread.h>
#include <signal.h>
#include "qapi/error.h"
#include "qemu/placed-thread.h"
#include "qemu/thread.h"
#include "qemu/thread-affinity.h"

/* Enough to create a thread; with -overcommit mem-lock=on all of it is there */
#define STACK_SIZE (256 * 1024)

struct PlacedThread {
    pthread_t thread;
    pid_t tid;
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

    thread->tid = qemu_get_thread_id();
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

static void placed_thread_destroy(PlacedThread *thread)
{
    qemu_sem_destroy(&thread->done);
    qemu_sem_destroy(&thread->go);
    g_free(thread);
}

/* qemu_thread_create() ends QEMU when there may be no more threads */
static int start(PlacedThread *thread)
{
    pthread_attr_t attr;
    sigset_t all, before;
    int err;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    sigfillset(&all);
    /* As in all threads of QEMU but the first */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(&thread->thread, &attr, placed_thread, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return err;
}

PlacedThread *placed_thread_new(const CpuSet *host_cpus, Error **errp)
{
    g_autoptr(PlacedThread) thread = NULL;
    PlacedThread *fresh = g_new0(PlacedThread, 1);
    int err;

    qemu_sem_init(&fresh->done, 0);
    qemu_sem_init(&fresh->go, 0);
    fresh->wanted = host_cpus;
    err = start(fresh);
    if (err) {
        error_setg_errno(errp, err, "Cannot start a thread");
        placed_thread_destroy(fresh);
        return NULL;
    }
    thread = fresh;
    qemu_sem_wait(&thread->done);
    thread->wanted = NULL;
    if (thread->err) {
        error_propagate(errp, g_steal_pointer(&thread->err));
        return NULL;
    }
    return g_steal_pointer(&thread);
}

pid_t placed_thread_tid(const PlacedThread *thread)
{
    return thread->tid;
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
        pthread_join(thread->thread, NULL);
        placed_thread_destroy(thread);
    }
}
