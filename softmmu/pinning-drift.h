/*
 * Noticing that threads have lost their host CPUs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_DRIFT_H
#define SOFTMMU_PINNING_DRIFT_H

#include "qapi/qapi-types-pinning.h"

/**
 * pinning_drift_watch:
 * @plan: the plan that threads are compared with; NULL to stop
 * @heal_them: give threads their masks back that they lost to a host CPU
 *             which went offline or came online
 *
 * Main thread.  Looks at masks and memory policies every few seconds, and when
 * a host CPU went or came, and tells changes by PINNING_DRIFT and
 * PINNING_MEMORY_DRIFT.  Masks that somebody else has set
 * are told and left alone in any case.  @plan must live until the next call.
 */
void pinning_drift_watch(const PinningPlan *plan, bool heal_them);

/* Parts of it, for softmmu/pinning-drift*.c */

/**
 * pinning_drift_look_at_memory:
 * @plan: the plan that policies are compared with
 *
 * Tells changes by PINNING_MEMORY_DRIFT.
 */
void pinning_drift_look_at_memory(const PinningPlan *plan);

/** pinning_drift_forget_memory: nothing was told of any memory. */
void pinning_drift_forget_memory(void);

#endif /* SOFTMMU_PINNING_DRIFT_H */
