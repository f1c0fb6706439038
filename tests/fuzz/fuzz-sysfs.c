/*
 * Fuzzer for the files that tell the topology of a host; see fuzz.h
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/host-topology.h"
#include "fuzz.h"

static void check_cpu(const HostTopology *topo, const HostCpu *c)
{
    g_assert(host_topology_cpu(topo, c->cpu) == c);
    g_assert(c->online == cpuset_contains(topo->online, c->cpu));
    if (!c->online) {
        return;
    }
    g_assert(c->type >= 0 && c->type < topo->n_types);
    g_assert(cpuset_contains(topo->types[c->type].cpus, c->cpu));
    if (c->core != HOST_UNKNOWN) {
        g_assert(host_topology_cpu(topo, c->core)->core == c->core);
    }
    if (c->llc != HOST_UNKNOWN) {
        g_assert(host_topology_cpu(topo, c->llc)->llc == c->llc);
    }
    if (c->node != HOST_UNKNOWN) {
        g_assert(cpuset_contains(host_topology_node(topo, c->node)->cpus,
                                 c->cpu));
    }
}

static void check(const HostTopology *topo)
{
    HostTopologyInfo *info = host_topology_info(topo);

    qapi_free_HostTopologyInfo(info);
    g_assert(!cpuset_is_empty(topo->online));
    g_assert(cpuset_is_subset(topo->allowed_cpus, topo->online));
    g_assert(cpuset_is_subset(topo->isolated, topo->online));
    g_assert(topo->n_types && topo->n_nodes);
    for (unsigned i = 0; i < topo->n_cpus; i++) {
        check_cpu(topo, &topo->cpus[i]);
    }
    for (unsigned i = 0; i < topo->n_nodes; i++) {
        const HostNode *n = &topo->nodes[i];

        g_assert(host_topology_node(topo, n->node) == n);
        g_assert(cpuset_is_subset(n->cpus, topo->online));
        g_assert(host_topology_distance(topo, n->node, n->node) == 10);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autoptr(SysfsReader) reader = NULL;
    g_autoptr(HostTopology) topo = NULL;
    Error *err = NULL;

    reader = sysfs_reader_new_from_text((const char *)data, size, &err);
    if (reader) {
        topo = host_topology_new_from_reader(reader, NULL, &err);
    }
    g_assert(!topo == !!err);
    if (topo) {
        check(topo);
    }
    error_free(err);
    return 0;
}
