/*
 * Putting guest memory where the plan wants it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_MEMORY_H
#define SOFTMMU_PINNING_MEMORY_H

#include "pinning-internal.h"
#include "pinning-parts.h"
#include "system/hostmem.h"

/**
 * pinning_memory_bind:
 * @state: the placement
 * @backend: a memory backend that is mapped, but neither touched nor
 *           preallocated
 * @machine_ram: whether @backend is the whole RAM of the machine
 * @errp: pointer to error object
 *
 * A backend that is no RAM of a guest node, or that has a policy of the
 * user's, is left alone.  If the host forbids policies altogether, as
 * containers do, that is a warning, and an error for hostnodes=.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_memory_bind(const PinningState *state, HostMemoryBackend *backend,
                         bool machine_ram, Error **errp);

/**
 * pinning_memory_plug:
 * @state: the placement
 * @backend: a memory backend that a memory device uses from now on
 * @guest_node: guest node of the device
 *
 * Binds the memory like that of its guest node, and moves what is there
 * already.  If it cannot be done that is a warning: the device is there.
 */
void pinning_memory_plug(const PinningState *state, HostMemoryBackend *backend,
                         uint32_t guest_node);

/**
 * pinning_memory_show:
 * @plan: the plan
 *
 * Makes memory backends show the policies that they have from the plan.
 */
void pinning_memory_show(const PinningPlan *plan);

/* A part of guest memory that is there, and what is planned for it */
typedef struct PinningPlacedPart {
    PinningPart *part;
    HostMemoryBackend *backend;
    const PinningNodePlan *node;
} PinningPlacedPart;

/**
 * pinning_placed_part_next:
 * @plan: the plan
 * @i: where to go on, 0 at first; moved behind what is found
 * @placed: set to the next part whose backend exists and whose guest node
 *          @plan knows; owned by the plan and the list of parts
 *
 * Returns: false when there is none.
 */
bool pinning_placed_part_next(const PinningPlan *plan, unsigned *i,
                              PinningPlacedPart *placed);

/**
 * pinning_memory_node:
 * @plan: the plan
 * @guest_node: a guest node
 *
 * Returns: its entry in the plan; NULL if there is none.
 */
const PinningNodePlan *pinning_memory_node(const PinningPlan *plan,
                                           uint32_t guest_node);

/* How memory is bound */
#define PINNING_MEMORY_MOVE     1   /* with what is there already */
#define PINNING_MEMORY_STRICT   2   /* what the host refuses is an error */

/**
 * pinning_memory_rebind:
 * @plan: a new plan
 * @req: the request it was made for
 * @ram: RAM of a machine whose guest nodes have no backends of their own, or
 *       NULL
 * @how: flags, PINNING_MEMORY_...
 * @errp: pointer to error object
 *
 * Binds the memory of all guest nodes.  Unless that is strict, what the host
 * refuses is an error for hostnodes=, and a warning otherwise.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_memory_rebind(const PinningPlan *plan, const PinningRequest *req,
                           HostMemoryBackend *ram, unsigned how,
                           Error **errp);

/**
 * pinning_memory_discount:
 * @topo: the host, as it was just read; memory of the machine counts as free
 *        in it from then on
 * @req: the guest nodes of the machine
 * @ram: RAM of a machine whose guest nodes have no backends of their own, or
 *       NULL
 *
 * What the machine has taken itself must not drive it away.  Looks at a
 * sample of the pages.
 */
void pinning_memory_discount(HostTopology *topo, const PinningRequest *req,
                             HostMemoryBackend *ram);

/**
 * pinning_memory_ranges:
 * @plan: the plan that was applied
 * @fn: called for each range of memory that the plan has bound, with its
 *      backend, its place in the backend in bytes, and its entry in the plan
 * @opaque: first argument of @fn
 */
void pinning_memory_ranges(const PinningPlan *plan,
                           void (*fn)(void *opaque, HostMemoryBackend *backend,
                                      uint64_t offset, uint64_t size,
                                      const PinningNodePlan *node),
                           void *opaque);

/**
 * pinning_is_machine_ram:
 * @backend: a memory backend
 * @ram_id: what -machine memory-backend= says, or NULL
 *
 * Returns: whether @backend is the RAM of the whole machine.
 */
bool pinning_is_machine_ram(HostMemoryBackend *backend, const char *ram_id);

/**
 * pinning_memory_info:
 * @plan: the plan
 *
 * Looks at the pages with the BQL released, so that vCPUs go on.
 *
 * Returns: where the memory is, one entry for each guest node; free it with
 * qapi_free_PinningMemoryInfoList().
 */
PinningMemoryInfoList *pinning_memory_info(const PinningPlan *plan);

#endif /* SOFTMMU_PINNING_MEMORY_H */
