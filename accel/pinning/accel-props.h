/*
 * Pinning options as properties of every accelerator
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef ACCEL_PINNING_ACCEL_PROPS_H
#define ACCEL_PINNING_ACCEL_PROPS_H

#include "qemu/accel.h"
#include "qapi/qapi-types-pinning.h"

/**
 * pinning_accel_props_register:
 *
 * Give every accelerator the properties "pinning" and "pinning-...", one for
 * each member of PinningOptions.
 */
void pinning_accel_props_register(void);

/**
 * pinning_accel_props_take_sugar:
 * @machine_opts: what -machine says
 * @errp: pointer to error object
 *
 * Moves the keys that begin with "pinning" to the accelerator.  A property
 * that -accel sets as well has the value given there; lists add up.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_accel_props_take_sugar(QDict *machine_opts, Error **errp);

/**
 * pinning_accel_props_used:
 *
 * Returns: whether any -accel option carries a pinning property.
 */
bool pinning_accel_props_used(void);

/**
 * pinning_accel_props_before_init:
 * @fn: called with the machine right before an accelerator is initialized,
 *      whose options are known by then; again for the next one, if that fails
 */
void pinning_accel_props_before_init(void (*fn)(MachineState *ms));

/**
 * pinning_accel_props_warn_unused:
 * @accel: the accelerator that is in use
 *
 * Warns about each -accel option with a pinning property that has no effect,
 * since another accelerator was initialized first.
 */
void pinning_accel_props_warn_unused(AccelState *accel);

/**
 * pinning_accel_props_get:
 * @accel: the accelerator that is in use
 *
 * Returns: what was set on @accel; owned by this module; never NULL.
 */
const PinningOptions *pinning_accel_props_get(AccelState *accel);

#endif /* ACCEL_PINNING_ACCEL_PROPS_H */
