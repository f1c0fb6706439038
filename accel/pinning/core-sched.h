/*
 * Core scheduling cookies of vCPU threads
 *
 * Threads with different cookies never run on SMT siblings at the same time,
 * so that they cannot spy on each other through the core they share.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef ACCEL_PINNING_CORE_SCHED_H
#define ACCEL_PINNING_CORE_SCHED_H

#include "qapi/qapi-types-pinning.h"

/**
 * core_sched_enter:
 * @how: whose cookie: none, the machine's, or one of its own
 * @member: id of a live thread with the machine's cookie, 0 if there is none
 *          yet
 * @errp: pointer to error object
 *
 * Gives the calling thread its cookie; what it creates inherits it.  The
 * kernel's interface is its Documentation/admin-guide/hw-vuln/core-scheduling.
 *
 * Returns: true, or false with @errp set if the kernel cannot do it, or the
 * host has no SMT.
 */
bool core_sched_enter(PinningCoreSched how, pid_t member, Error **errp);

/**
 * core_sched_share:
 * @member: id of a live thread with the machine's cookie
 * @other: id of another thread, which gets it
 * @errp: pointer to error object
 *
 * For threads that are not made by a vCPU, but work for it.
 *
 * Returns: true, or false with @errp set.
 */
bool core_sched_share(pid_t member, pid_t other, Error **errp);

#endif /* ACCEL_PINNING_CORE_SCHED_H */
