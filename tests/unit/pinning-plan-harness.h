/*
 * Short notations for tests of the planner
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef PINNING_PLAN_HARNESS_H
#define PINNING_PLAN_HARNESS_H

#include "qemu/pinning-plan.h"
#include "host-topology-builder.h"

/* A machine to be placed.  Members left 0 have the value of a plain one. */
typedef struct Machine {
    const char *options;    /* as after -accel: "numa,cpus=0-3,,8" */
    unsigned vcpus;         /* 0: 1 */
    unsigned sockets;       /* 0: 1; cores are what is left */
    unsigned dies;
    unsigned threads;
    unsigned llc_vcpus;
    uint64_t memory;        /* 0: the sum of the guest nodes, or 1 GiB */
    uint64_t page_size;
    bool prealloc;
    /*
     * "SIZE[/PAGES] VCPUS[ HOSTNODES[ POLICY]];...": SIZE and PAGES in MiB,
     * "-" for nothing, and "foreign" for a policy that is nobody's business
     */
    const char *nodes;
    const char *ram;        /* a flat machine's RAM has these host nodes */
    const char *device_nodes;
    bool one_thread;
    const char *taken;      /* PinningTaken as JSON */
} Machine;

/**
 * machine_place: Returns: a plan, or NULL with @errp set; see
 * pinning_plan_new().
 */
PinningPlan *machine_place(const HostTopology *topo, const Machine *m,
                           Error **errp);

/** plan_vcpus: Returns: the host CPUs of each vCPU, "0 1 2,3". */
char *plan_vcpus(const PinningPlan *plan);

/** plan_nodes: Returns: host nodes and policy of each, "0:bind -:default". */
char *plan_nodes(const PinningPlan *plan);

/** plan_guest: Returns: "SOCKETS/DIES/CORES/THREADS". */
char *plan_guest(const PinningPlan *plan);

/** plan_warns: Returns: whether a warning of @plan contains @text. */
bool plan_warns(const PinningPlan *plan, const char *text);

/** plan_cpus: Returns: the set of host CPUs of vCPU @vcpu. */
CpuSet *plan_cpus(const PinningPlan *plan, unsigned vcpu);

/** plan_node: Returns: the plan of guest node @node. */
const PinningNodePlan *plan_node(const PinningPlan *plan, unsigned node);

/* A question and the answer expected */
typedef struct PlanCase {
    const char *name;
    HostSpec host;
    void (*change)(HostTopology *topo);
    Machine machine;
    /* what is expected; NULL: whatever */
    const char *vcpus;
    const char *nodes;
    const char *guest;
    const char *emulator;
    const char *io;
    const char *parked;
    const char *reason;     /* of guest node 0 */
    const char *warning;    /* "" : none at all */
    const char *error;
} PlanCase;

/**
 * plan_cases_add: register @n @cases as tests "/pinning-plan/@group/NAME".
 */
void plan_cases_add(const char *group, const PlanCase *cases, unsigned n);

#endif /* PINNING_PLAN_HARNESS_H */
