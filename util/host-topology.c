/*
 * CPUs and memory of the host, as its sysfs tells
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "host-topology-internal.h"

static CpuTraits *unknown_traits(unsigned n)
{
    CpuTraits *traits = g_new(CpuTraits, n);

    for (unsigned i = 0; i < n; i++) {
        traits[i] = (CpuTraits) {
            .design = HOST_UNKNOWN,
            .caches = {
                .l1_data = HOST_UNKNOWN,
                .l2 = HOST_UNKNOWN,
            },
        };
    }
    return traits;
}

HostTopology *host_topology_new_from_reader(SysfsReader *reader,
                                            const CpuSet *affinity,
                                            Error **errp)
{
    g_autoptr(HostTopology) topo = g_new0(HostTopology, 1);
    g_autofree CpuTraits *traits = NULL;
    TopologyReading t = { .reader = reader, .topo = topo };

    topo->warnings = g_ptr_array_new_with_free_func(g_free);
    topo->online = cpuset_new();
    topo->isolated = cpuset_new();
    if (!topology_read_cpus(&t, errp)) {
        return NULL;
    }
    topology_read_nodes(&t);
    topology_read_distances(&t);
    topology_read_tiers(&t);
    topology_read_cores(&t);
    topology_read_packages(&t);
    topology_read_core_ids(&t);
    t.traits = traits = unknown_traits(topo->n_cpus);
    topology_read_pmus(&t);
    topology_read_caches(&t);
    topology_read_kinds(&t);
    if (!topology_read_allowed(&t, affinity, errp)) {
        return NULL;
    }
    return g_steal_pointer(&topo);
}

HostTopology *host_topology_new(const char *root, const CpuSet *affinity,
                                Error **errp)
{
    g_autoptr(SysfsReader) reader = sysfs_reader_new(root ?: "/", errp);

    return reader ? host_topology_new_from_reader(reader, affinity, errp)
                  : NULL;
}

static void free_node(HostNode *n)
{
    cpuset_free(n->cpus);
    cpuset_free(n->initiators);
    g_free(n->hugepages);
}

void host_topology_free(HostTopology *topo)
{
    if (!topo) {
        return;
    }
    for (unsigned i = 0; i < topo->n_nodes; i++) {
        free_node(&topo->nodes[i]);
    }
    for (unsigned i = 0; i < topo->n_types; i++) {
        cpuset_free(topo->types[i].cpus);
    }
    g_free(topo->cpus);
    g_free(topo->nodes);
    g_free(topo->types);
    g_free(topo->distances);
    g_free(topo->cpu_index);
    cpuset_free(topo->online);
    cpuset_free(topo->isolated);
    cpuset_free(topo->allowed_cpus);
    cpuset_free(topo->allowed_nodes);
    g_ptr_array_unref(topo->warnings);
    g_free(topo);
}

const HostCpu *host_topology_cpu(const HostTopology *topo, unsigned cpu)
{
    if (cpu >= topo->cpu_index_len || topo->cpu_index[cpu] < 0) {
        return NULL;
    }
    return &topo->cpus[topo->cpu_index[cpu]];
}

const HostNode *host_topology_node(const HostTopology *topo, unsigned node)
{
    unsigned low = 0, high = topo->n_nodes;

    while (low < high) {
        unsigned middle = low + (high - low) / 2;

        if (topo->nodes[middle].node < node) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < topo->n_nodes && topo->nodes[low].node == node ?
           &topo->nodes[low] : NULL;
}

unsigned host_topology_distance(const HostTopology *topo,
                                unsigned a, unsigned b)
{
    const HostNode *from = host_topology_node(topo, a);
    const HostNode *to = host_topology_node(topo, b);

    if (!topo->distances || !from || !to) {
        return a == b ? 10 : 20;
    }
    return topo->distances[(from - topo->nodes) * topo->n_nodes +
                           (to - topo->nodes)];
}

const char *host_topology_type_name(const HostTopology *topo, unsigned type)
{
    g_assert(type < topo->n_types);
    return topo->types[type].name;
}
