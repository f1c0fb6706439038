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
 * @plan: the plan that vCPUs are compared with; NULL to stop
 * @heal: give a vCPU its host CPUs back that were offline and are there again
 *
 * Main thread.  Looks at the masks of vCPU threads every few seconds and
 * tells changes by PINNING_DRIFT.  Masks that somebody else has set are told
 * and left alone, with @heal, too.  @plan must live until the next call.
 */
void pinning_drift_watch(const PinningPlan *plan, bool heal);

#endif /* SOFTMMU_PINNING_DRIFT_H */
