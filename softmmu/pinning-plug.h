/*
 * Memory devices: their memory follows their guest node
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_PLUG_H
#define SOFTMMU_PINNING_PLUG_H

#include "system/pinning-qemu.h"
#include "pinning-internal.h"

/**
 * pinning_plug_wanted_node:
 * @backend_id: id of a memory backend
 * @guest_node: set to the guest node of its device
 *
 * Looks at -device, so that the memory is in place before it is preallocated.
 *
 * Returns: false if no memory device of the command line uses the backend.
 */
bool pinning_plug_wanted_node(const char *backend_id, uint32_t *guest_node);

/**
 * pinning_plug_watch:
 * @ms: the machine, all of whose cold plugged devices are there
 *
 * From now on the memory of each device that is plugged is bound, and recorded
 * until it is unplugged.
 */
void pinning_plug_watch(MachineState *ms);

/**
 * pinning_plug_promise:
 * @state: the placement
 * @entry: gets the memory of the devices that are plugged now
 */
void pinning_plug_promise(const PinningState *state,
                          PinningReservation *entry);

#endif /* SOFTMMU_PINNING_PLUG_H */
