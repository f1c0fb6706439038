/*
 * Creating vCPU threads on their host CPUs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef ACCEL_PINNING_VCPU_THREAD_H
#define ACCEL_PINNING_VCPU_THREAD_H

#include "hw/core/cpu.h"
#include "qapi/qapi-types-pinning.h"

/**
 * vcpu_thread_create:
 * @cpu: a vCPU that is being realized
 * @create: the accelerator's function that creates its thread; it must not
 *          want the BQL, which the caller holds
 * @place: where the thread goes
 * @core_sched: its core scheduling cookie
 *
 * The thread has host CPUs and cookie from its first instruction.  What the
 * host refuses ends QEMU at start-up; when a vCPU is hot plugged it is a
 * warning, and the thread is created like any other.
 */
void vcpu_thread_create(CPUState *cpu, void (*create)(CPUState *cpu),
                        const PinningVcpuPlan *place,
                        PinningCoreSched core_sched);

#endif /* ACCEL_PINNING_VCPU_THREAD_H */
