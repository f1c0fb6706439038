/*
 * Guest nodes that come from the plan
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-machine.h"
#include "system/numa.h"
#include "pinning-board.h"

static uint16List *vcpus_of(const PinningPlan *plan, uint32_t guest_node)
{
    uint16List *list = NULL, **tail = &list;
    PinningVcpuPlanList *entry;

    for (entry = plan->vcpus; entry; entry = entry->next) {
        if (entry->value->has_guest_node &&
            entry->value->guest_node == guest_node) {
            QAPI_LIST_APPEND(tail, entry->value->vcpu);
        }
    }
    return list;
}

static bool add_node(MachineState *ms, const PinningPlan *plan,
                     const PinningNodePlan *node, Error **errp)
{
    NumaOptions *object = g_new0(NumaOptions, 1);
    bool ok;

    object->type = NUMA_OPTIONS_TYPE_NODE;
    object->u.node.has_nodeid = true;
    object->u.node.nodeid = node->guest_node;
    object->u.node.cpus = vcpus_of(plan, node->guest_node);
    object->u.node.has_cpus = object->u.node.cpus != NULL;
    set_numa_options(ms, object, errp);
    ok = !*errp;
    qapi_free_NumaOptions(object);
    if (ok) {
        /*
         * The share of the one piece of RAM.  Without memdev= QEMU keeps it
         * in one block, so that its name, which migration goes by, stays.
         */
        ms->numa_state->nodes[node->guest_node].node_mem = node->size;
    }
    return ok;
}

/*
 * A guest believes a table of distances only if no remote entry is as near
 * as a local one; two guest nodes may well share a host node.
 */
static unsigned guest_distance(const HostTopology *topo,
                               const PinningNodePlan *a,
                               const PinningNodePlan *b)
{
    g_autoptr(CpuSet) from = cpulist_parse(a->host_nodes, NULL);
    g_autoptr(CpuSet) to = cpulist_parse(b->host_nodes, NULL);
    unsigned distance = NUMA_DISTANCE_DEFAULT;

    if (from && to) {
        distance = host_topology_distance(topo, cpuset_first(from),
                                          cpuset_first(to));
    }
    return MAX(NUMA_DISTANCE_MIN + 1, MIN(distance, NUMA_DISTANCE_MAX));
}

static bool add_distances(MachineState *ms, const PinningPlan *plan,
                          const HostTopology *topo, Error **errp)
{
    PinningNodePlanList *src, *dst;

    for (src = plan->nodes; src; src = src->next) {
        for (dst = plan->nodes; dst; dst = dst->next) {
            bool same = src == dst;
            NumaOptions object = { .type = NUMA_OPTIONS_TYPE_DIST };

            object.u.dist.src = src->value->guest_node;
            object.u.dist.dst = dst->value->guest_node;
            object.u.dist.val = same ? NUMA_DISTANCE_MIN :
                                guest_distance(topo, src->value, dst->value);
            set_numa_options(ms, &object, errp);
            if (*errp) {
                return false;
            }
        }
    }
    return true;
}

bool pinning_board_add_nodes(MachineState *ms, const PinningPlan *plan,
                             const HostTopology *topo, Error **errp)
{
    ERRP_GUARD();
    PinningNodePlanList *entry;

    for (entry = plan->nodes; entry; entry = entry->next) {
        if (!add_node(ms, plan, entry->value, errp)) {
            return false;
        }
    }
    return add_distances(ms, plan, topo, errp);
}

bool pinning_board_set_topology(MachineState *ms,
                                const PinningTopologyPlan *guest,
                                Error **errp)
{
    ERRP_GUARD();
    SMPConfiguration config = {
        .has_cpus = true, .cpus = ms->smp.cpus,
        .has_maxcpus = true, .maxcpus = ms->smp.max_cpus,
        .has_sockets = true, .sockets = guest->sockets,
        .has_dies = guest->dies > 1, .dies = guest->dies,
        .has_cores = true, .cores = guest->cores,
        .has_threads = true, .threads = guest->threads,
    };

    machine_parse_smp_config(ms, &config, errp);
    return !*errp;
}
