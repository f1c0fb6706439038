/*
 * Memory devices: their memory follows their guest node
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_PLUG_H
#define SOFTMMU_PINNING_PLUG_H

#include "hw/boards.h"

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
 * From now on the memory of each device that is plugged is bound.
 */
void pinning_plug_watch(MachineState *ms);

#endif /* SOFTMMU_PINNING_PLUG_H */
