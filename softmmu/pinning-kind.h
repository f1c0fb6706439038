/*
 * Hosts with several kinds of CPUs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_KIND_H
#define SOFTMMU_PINNING_KIND_H

#include "pinning-internal.h"

/**
 * pinning_kind_confine:
 * @state: the placement so far: the host, but no plan
 * @options: what the user asked for
 * @ms: the machine, with -smp, right before its accelerator is initialized
 *
 * What an accelerator tells a guest of its CPU it learns from the CPU that it
 * is initialized on.  So this thread goes to the kind of CPU that the vCPUs
 * will have, until all threads get their places.  Without effect on a host
 * with one kind, or when kinds are mixed.
 */
void pinning_kind_confine(const PinningState *state,
                          const PinningOptions *options, MachineState *ms);

/**
 * pinning_kind_warn:
 * @state: the placement, which is in force
 *
 * Warns if the guest has performance counters of its CPU, and vCPUs of
 * several kinds of CPUs.
 */
void pinning_kind_warn(const PinningState *state);

#endif /* SOFTMMU_PINNING_KIND_H */
