/*
 * Choosing where a virtual machine goes on its host
 *
 * A plan is a pure function of the host's topology, the request, and what
 * others hold.  Same arguments, same plan.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef QEMU_PINNING_PLAN_H
#define QEMU_PINNING_PLAN_H

#include "qemu/host-topology.h"

/* A guest node as the user, or -numa's defaults, described it */
typedef struct PinningGuestNode {
    char *memdev;           /* id of its memory backend, or NULL */
    uint64_t size;          /* bytes */
    uint64_t page_size;     /* bytes of a hugepage; 0: ordinary memory */
    bool prealloc;          /* QEMU touches it all before a vCPU can */
    CpuSet *vcpus;          /* its vCPUs; may be empty */
    CpuSet *host_nodes;     /* hostnodes=, or NULL: to be chosen */
    bool has_policy;        /* policy= was given */
    HostMemPolicy policy;
    /*
     * Its backend has a policy of the user's own: memory is left alone, but
     * counted on @host_nodes, and the vCPUs go there
     */
    bool foreign;
} PinningGuestNode;

typedef struct PinningRequest {
    const PinningOptions *options;
    unsigned vcpus;         /* possible vCPUs, maxcpus= */
    unsigned sockets;       /* -smp, all at least 1; the product is @vcpus */
    unsigned dies;          /* in a socket */
    unsigned clusters;      /* in a die; clusters= or modules= */
    unsigned cores;         /* in a cluster */
    unsigned threads;       /* in a core */
    unsigned llc_vcpus;     /* vCPUs with one last-level cache; 0: a die */
    uint64_t memory;        /* bytes, with what can be plugged */
    uint64_t page_size;     /* as of a node; counts when there are none */
    bool prealloc;          /* likewise */
    PinningGuestNode *nodes; /* guest nodes; none: flat */
    unsigned n_nodes;
    PinningGuestNode *ram;  /* wishes for the RAM of a flat machine, or NULL */
    const CpuSet *device_nodes; /* host nodes of assigned devices, or NULL */
    bool one_thread;        /* all vCPUs are run by one thread */
} PinningRequest;

/**
 * pinning_request_cleanup:
 * @req: a request; its nodes and @ram are freed, @req itself, @options and
 *       @device_nodes are the caller's
 */
void pinning_request_cleanup(PinningRequest *req);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PinningRequest, pinning_request_cleanup)

/**
 * pinning_plan_new:
 * @topo: the host
 * @req: what is wanted
 * @taken: what others hold, or NULL
 * @errp: pointer to error object
 *
 * Explicit wishes (pinning-cpus, pinning-hostnodes, hostnodes=, exclusivity,
 * one CPU per vCPU) are met or refused with the numbers needed and free;
 * automatic choices degrade to the next best with a warning in the plan.
 *
 * Mode none, and a mode that restricts nothing on this host, give a plan
 * whose vCPUs have all allowed CPUs, and an empty host-nodes.
 *
 * Returns: a new plan to free with qapi_free_PinningPlan(), or NULL with
 * @errp set.
 */
PinningPlan *pinning_plan_new(const HostTopology *topo,
                              const PinningRequest *req,
                              const PinningTaken *taken, Error **errp);

/**
 * pinning_plan_cpus:
 * @plan: a plan
 *
 * Returns: the host CPUs of all its vCPUs together; free it with
 * cpuset_free().
 */
CpuSet *pinning_plan_cpus(const PinningPlan *plan);

#endif /* QEMU_PINNING_PLAN_H */
