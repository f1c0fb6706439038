/*
 * From one placement to another, or not at all
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_APPLY_H
#define SOFTMMU_PINNING_APPLY_H

#include "pinning-internal.h"

/**
 * pinning_apply:
 * @old: the placement of this machine
 * @next: the one that it shall have
 * @strict: whether a policy that the host refuses is an error; if not, it is
 *          what it is at start: a warning, but for hostnodes=
 * @errp: pointer to error object; tells the step that failed
 *
 * Gives vCPUs, main loop and helper threads their masks, and guest memory its
 * policies.  If the host refuses any of it, all is put back as it was.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_apply(const PinningState *old, const PinningState *next,
                   bool strict, Error **errp);

#endif /* SOFTMMU_PINNING_APPLY_H */
