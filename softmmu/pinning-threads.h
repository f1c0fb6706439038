/*
 * Telling the threads of the process apart, and placing those that are no
 * vCPUs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_THREADS_H
#define SOFTMMU_PINNING_THREADS_H

#include "qemu/pinning-plan.h"

/**
 * pinning_threads_list:
 * @plan: the plan, or NULL
 *
 * Threads are told apart by their ids.  All vCPUs that share a thread are
 * listed, each with that thread's id.
 *
 * Returns: all threads of the process, and vhost workers that are threads of
 * the kernel, and what the plan wants of them, without what the host says;
 * free it with
 * qapi_free_PinningThreadInfoList().
 */
PinningThreadInfoList *pinning_threads_list(const PinningPlan *plan);

/**
 * pinning_threads_settle:
 * @plan: the plan
 *
 * Puts the main loop and the helper threads on the emulator CPUs, and threads
 * that do I/O each on its own.  Called when start-up is over: until then the
 * main thread may run everywhere, so that what it creates for a short time,
 * such as threads that preallocate, may, too.  A thread that ends meanwhile is
 * none of our business; a mask that the host refuses is a warning.
 */
void pinning_threads_settle(const PinningPlan *plan);

/**
 * pinning_threads_restore:
 * @plan: the plan
 * @start: host CPUs that the process had when it started
 *
 * Puts threads that have exactly @start back where the plan wants them.
 * libvirt, for one, sets such a mask on all threads that its user has said
 * nothing about; so it is nobody's wish, while any other mask may be one.
 */
void pinning_threads_restore(const PinningPlan *plan, const CpuSet *start);

/**
 * pinning_threads_watch:
 *
 * From now on, looks for threads that were born where they do not belong:
 * what a vCPU's first run makes the kernel create inherits its host CPU, and
 * so do an iothread's pool threads from it.  That happens when a guest begins
 * to run, or after something was plugged, so the looks get rarer and rarer
 * from there.  Threads that were there before are left where somebody may
 * have put them.
 */
void pinning_threads_watch(void);

/**
 * pinning_threads_note_pool:
 * @tid: id of a thread of an iothread's pool
 * @host_cpus: where it should be; a list
 */
void pinning_threads_note_pool(pid_t tid, const char *host_cpus);

/**
 * pinning_threads_pool_at:
 * @host_cpus: a list
 *
 * Returns: whether threads of a pool are there.
 */
bool pinning_threads_pool_at(const char *host_cpus);

/** pinning_threads_pool_keep: forget those that are none of the @tids. */
void pinning_threads_pool_keep(GHashTable *tids);

/** pinning_threads_look_soon: something was plugged. */
void pinning_threads_look_soon(void);

/**
 * pinning_thread_is_kernels:
 * @tid: id of a thread
 *
 * Returns: whether it is a thread of the kernel's own.
 */
bool pinning_thread_is_kernels(pid_t tid);

#endif /* SOFTMMU_PINNING_THREADS_H */
