/*
 * Threads that wait to create others where they belong
 *
 * A sandbox that forbids to set masks does not forbid to inherit them.  So
 * for every place that a vCPU or a vhost worker may get later, a thread is
 * put there in time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_CREATORS_H
#define SOFTMMU_PINNING_CREATORS_H

#include "qemu/pinning-plan.h"
#include "qemu/placed-thread.h"

/**
 * pinning_creators_park:
 * @plan: the plan
 *
 * Main thread, with the BQL, while masks can be set.  A place that the host
 * does not give at the moment is a warning: nobody may ever want it, and if
 * so, is refused.
 */
void pinning_creators_park(const PinningPlan *plan);

/** pinning_creators_needed: Returns: whether masks can only be inherited. */
bool pinning_creators_needed(void);

/**
 * pinning_creator:
 * @host_cpus: a list as the plan has it
 *
 * Returns: the thread that waits there, owned by this module; NULL if there
 * is none.
 */
PlacedThread *pinning_creator(const char *host_cpus);

/**
 * pinning_creator_place:
 * @tid: id of a thread
 *
 * Returns: where it waits, if it is one of these threads, else NULL.
 */
const char *pinning_creator_place(pid_t tid);

/** pinning_creators_add: append the ids (pid_t) of these threads to @tids. */
void pinning_creators_add(GArray *tids);

#endif /* SOFTMMU_PINNING_CREATORS_H */
