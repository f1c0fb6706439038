/*
 * Host CPUs of threads, for hosts of any size
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef QEMU_THREAD_AFFINITY_H
#define QEMU_THREAD_AFFINITY_H

#include "qemu/cpulist.h"

/* What the host tells about a thread that runs or has run */
typedef struct ThreadPlace {
    unsigned last_cpu;          /* host CPU it ran on last */
    uint64_t preempted;         /* times it lost its CPU against its will */
    char comm[16];
} ThreadPlace;

/**
 * thread_affinity_get:
 * @tid: thread id, 0 for the calling thread
 * @errp: pointer to error object
 *
 * Returns: the host CPUs that the thread may run on; free it with
 * cpuset_free().  NULL with @errp set if there is no such thread.
 */
CpuSet *thread_affinity_get(pid_t tid, Error **errp);

/**
 * thread_affinity_set:
 * @tid: thread id, 0 for the calling thread
 * @cpus: host CPUs; those that are offline or outside of the cpuset are
 *        ignored by the kernel while there are others
 * @errp: pointer to error object
 *
 * Returns: true, or false with @errp set.
 */
bool thread_affinity_set(pid_t tid, const CpuSet *cpus, Error **errp);

/** thread_exists: Returns: whether there is a thread @tid on this host. */
bool thread_exists(pid_t tid);

/**
 * thread_place_get:
 * @tid: id of a thread of this process
 * @place: filled in
 *
 * Returns: false if there is no such thread.
 */
bool thread_place_get(pid_t tid, ThreadPlace *place);

/**
 * thread_list:
 *
 * Returns: ids (pid_t) of the threads of this process, ascending; NULL if
 * /proc cannot be read.  Free with g_array_unref().
 */
GArray *thread_list(void);

#endif /* QEMU_THREAD_AFFINITY_H */
