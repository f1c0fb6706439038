/*
 * Guest nodes that come from the plan
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_BOARD_H
#define SOFTMMU_PINNING_BOARD_H

#include "system/pinning-qemu.h"
#include "qemu/host-topology.h"

/**
 * pinning_board_add_nodes:
 * @ms: the machine, without guest nodes
 * @plan: the plan, with the guest nodes that it made
 * @topo: the host
 * @errp: pointer to error object
 *
 * Gives the machine the plan's guest nodes, with their vCPUs, their shares of
 * one piece of RAM, and the distances of their host nodes.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_board_add_nodes(MachineState *ms, const PinningPlan *plan,
                             const HostTopology *topo, Error **errp);

/**
 * pinning_board_set_topology:
 * @ms: the machine, without vCPUs
 * @guest: what the guest is to see
 * @errp: pointer to error object
 *
 * Changes sockets, dies, cores and threads; the number of vCPUs stays.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_board_set_topology(MachineState *ms,
                                const PinningTopologyPlan *guest,
                                Error **errp);

#endif /* SOFTMMU_PINNING_BOARD_H */
