/*
 * Placement under -sandbox resourcecontrol=deny
 *
 * That group of the sandbox forbids to set masks, and QEMU puts the sandbox
 * up before there is anything to place.  No guest code runs until the machine
 * is ready, so the group is left out then and put up as a second filter,
 * which stacks on the first, right before the guest may run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_SANDBOX_H
#define SOFTMMU_PINNING_SANDBOX_H

#include "qapi/error.h"

/**
 * pinning_sandbox_postpone:
 *
 * Takes the group resourcecontrol out of the -sandbox options.  Called before
 * QEMU looks at them.
 */
void pinning_sandbox_postpone(void);

/**
 * pinning_sandbox_is_postponed:
 *
 * Returns: whether there was something to take out.
 */
bool pinning_sandbox_is_postponed(void);

/**
 * pinning_sandbox_forbids:
 *
 * Returns: whether masks cannot be set while the guest runs.
 */
bool pinning_sandbox_forbids(void);

/**
 * pinning_sandbox_close:
 * @errp: pointer to error object
 *
 * Forbids to all threads what was taken out.  Without effect if there was
 * nothing, or if it was done before.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_sandbox_close(Error **errp);

#endif /* SOFTMMU_PINNING_SANDBOX_H */
