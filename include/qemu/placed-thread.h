/*
 * Threads that do things on given host CPUs
 *
 * What a thread creates inherits its mask: another thread, or a worker that
 * the kernel makes on its behalf.  That is the only way for these to have the
 * mask from their first instruction, and it works when a sandbox forbids to
 * set masks later, if the placed thread is older than the sandbox.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef QEMU_PLACED_THREAD_H
#define QEMU_PLACED_THREAD_H

#include "qemu/cpulist.h"

typedef struct PlacedThread PlacedThread;

/**
 * placed_thread_new:
 * @host_cpus: host CPUs of what is to be created
 * @errp: pointer to error object
 *
 * Starts a thread that puts itself on @host_cpus and waits.
 *
 * Returns: the thread, to free with placed_thread_free(), or NULL with @errp
 * set if the host refuses the mask, or another thread.
 */
PlacedThread *placed_thread_new(const CpuSet *host_cpus, Error **errp);

/** placed_thread_tid: Returns: the id of the thread on the host. */
pid_t placed_thread_tid(const PlacedThread *thread);

/**
 * placed_thread_run:
 * @thread: a placed thread
 * @fn: what to run; it must not want a lock that the caller holds
 * @opaque: argument of @fn
 *
 * Runs @fn on @thread and waits until it returned.
 */
void placed_thread_run(PlacedThread *thread, void (*fn)(void *opaque),
                       void *opaque);

/** placed_thread_free: end @thread, which may be NULL. */
void placed_thread_free(PlacedThread *thread);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlacedThread, placed_thread_free)

#endif /* QEMU_PLACED_THREAD_H */
