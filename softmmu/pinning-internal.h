/*
 * What the parts of a placement share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_INTERNAL_H
#define SOFTMMU_PINNING_INTERNAL_H

#include "system/pinning-qemu.h"
#include "qemu/host-topology.h"
#include "qemu/pinning-plan.h"
#include "qemu/pinning-registry.h"

/* The placement of this machine; all NULL while there is none */
typedef struct PinningState {
    CpuSet *affinity;           /* of the process when it started */
    char *ram_id;               /* -machine memory-backend= */
    HostTopology *topo;         /* as it was when @plan was made */
    PinningOptions *options;
    PinningRequest req;         /* what @plan was made for */
    PinningPlan *plan;
    PinningRegistry *registry;  /* who else is on this host; may be NULL */
} PinningState;

/**
 * pinning_state:
 *
 * Returns: the placement of this machine.  Only softmmu/pinning.c changes it.
 */
const PinningState *pinning_state(void);

/**
 * pinning_state_replace:
 * @next: a placement that was applied; everything in it is taken over
 *
 * Makes @next the placement of this machine, settles helper threads, and
 * tells the monitor.
 */
void pinning_state_replace(PinningState *next);

/**
 * pinning_open_registry:
 * @state: its options; gets a registry, unless it has one or wants none
 * @errp: pointer to error object
 *
 * That there is none to be had is a warning, but for explicit wishes.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_open_registry(PinningState *state, Error **errp);

/**
 * pinning_host_new:
 * @affinity: host CPUs that the process may use, or NULL for what it has
 * @errp: pointer to error object
 *
 * Returns: the host as it is now, to free with host_topology_free(); NULL with
 * @errp set, for instance after -run-with chroot=, which hides it.
 */
HostTopology *pinning_host_new(const CpuSet *affinity, Error **errp);

/**
 * pinning_choose:
 * @state: host, request and options; gets plan and registry
 * @errp: pointer to error object
 *
 * Makes the plan and records it in the registry, as one.  What could not be
 * done as one would expect is a warning.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_choose(PinningState *state, Error **errp);

/**
 * pinning_reservation_of:
 * @state: a placement
 *
 * Returns: what to record for it; free it with
 * qapi_free_PinningReservation().
 */
PinningReservation *pinning_reservation_of(const PinningState *state);

/**
 * pinning_reserve:
 * @state: a placement
 * @errp: pointer to error object
 *
 * Records @state's plan in its registry anew, if it has one.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_reserve(const PinningState *state, Error **errp);

/**
 * pinning_config_check:
 * @options: what the user asked for
 * @ms: the machine
 * @errp: pointer to error object
 *
 * Refuses options that make no sense together or on this machine.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_config_check(const PinningOptions *options, MachineState *ms,
                          Error **errp);

/**
 * pinning_config_request:
 * @req: filled in, but for guest nodes; release it with
 *       pinning_request_cleanup()
 * @ms: the machine
 * @ram_page_size: size of hugepages of RAM without backend of its own in
 *                 bytes, 0 for ordinary memory
 * @options: what the user asked for; @req refers to it
 */
void pinning_config_request(PinningRequest *req, MachineState *ms,
                            uint64_t ram_page_size,
                            const PinningOptions *options);

/**
 * pinning_config_nodes:
 * @req: its guest nodes are filled in as -numa says
 * @ms: the machine, before it has guest nodes
 * @errp: pointer to error object
 *
 * Returns: true, or false with @errp set if wishes contradict each other.
 */
bool pinning_config_nodes(PinningRequest *req, MachineState *ms,
                          Error **errp);

/**
 * pinning_config_final_nodes:
 * @req: its guest nodes are filled in as the machine has them
 * @ms: the machine, with all guest nodes, before they are completed
 * @errp: pointer to error object
 *
 * Returns: true, or false with @errp set if wishes contradict each other.
 */
bool pinning_config_final_nodes(PinningRequest *req, MachineState *ms,
                                Error **errp);

/**
 * pinning_config_same_nodes:
 * @a: a request
 * @b: another one
 *
 * Returns: whether their guest nodes are the same.
 */
bool pinning_config_same_nodes(const PinningRequest *a,
                               const PinningRequest *b);

/**
 * pinning_config_ram:
 * @req: gets size, kind and host nodes of the memory
 * @ram_id: -machine memory-backend=, or NULL
 *
 * A backend of the user's decides how much memory there is, which QEMU finds
 * out later only.
 */
void pinning_config_ram(PinningRequest *req, const char *ram_id);

/**
 * pinning_config_running_ram:
 * @req: gets size, kind and host nodes of the memory
 * @ram: the RAM of a machine that runs, NULL if guest nodes have it
 */
void pinning_config_running_ram(PinningRequest *req,
                                struct HostMemoryBackend *ram);

/**
 * pinning_config_wants_memory:
 *
 * Returns: whether a guest node has hostnodes= or policy=.
 */
bool pinning_config_wants_memory(void);

/**
 * pinning_wanted_cpus:
 * @plan: the plan, or NULL
 * @vcpu: index of a vCPU
 *
 * Returns: its entry in the plan, NULL if there is none.
 */
const PinningVcpuPlan *pinning_wanted_cpus(const PinningPlan *plan,
                                           unsigned vcpu);

/**
 * pinning_vcpu_index:
 * @plan: the plan
 *
 * For who asks of all vCPUs: the plan's list is walked once.
 *
 * Returns: the plan's entries, for pinning_indexed_vcpu(); they are @plan's,
 * the array is freed with g_ptr_array_unref().
 */
GPtrArray *pinning_vcpu_index(const PinningPlan *plan);

/**
 * pinning_indexed_vcpu:
 * @index: from pinning_vcpu_index()
 * @vcpu: index of a vCPU
 *
 * Returns: its entry in the plan, NULL if there is none.
 */
static inline PinningVcpuPlan *pinning_indexed_vcpu(const GPtrArray *index,
                                                    unsigned vcpu)
{
    return vcpu < index->len ? g_ptr_array_index(index, vcpu) : NULL;
}

/**
 * pinning_places_threads:
 * @state: a placement
 *
 * Returns: whether it is about threads.  A plan of mode none is about memory
 * only: somebody gave hostnodes=.
 */
static inline bool pinning_places_threads(const PinningState *state)
{
    return state->plan && state->plan->mode != PINNING_MODE_NONE;
}

/**
 * pinning_verify:
 * @plan: the plan
 *
 * Reads the masks of all vCPU threads back and warns about each that is not
 * what the plan says.
 */
void pinning_verify(const PinningPlan *plan);

#endif /* SOFTMMU_PINNING_INTERNAL_H */
