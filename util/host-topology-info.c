/*
 * CPUs and memory of the host: as QMP shows them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/util.h"
#include "qemu/host-topology.h"

static void set_optional(bool *has, uint32_t *member, int fact)
{
    *has = fact != HOST_UNKNOWN;
    *member = *has ? fact : 0;
}

static HostCpuInfo *cpu_info(const HostTopology *topo, const HostCpu *c)
{
    HostCpuInfo *info = g_new0(HostCpuInfo, 1);
    int node = topo->has_nodes ? c->node : HOST_UNKNOWN;

    info->cpu = c->cpu;
    info->online = c->online;
    info->isolated = c->isolated;
    /* An offline CPU has no type, and the member is not optional */
    info->type = c->online ? c->type : 0;
    set_optional(&info->has_node, &info->node, node);
    set_optional(&info->has_package, &info->package, c->package);
    set_optional(&info->has_die, &info->die, c->die);
    set_optional(&info->has_cluster, &info->cluster, c->cluster);
    set_optional(&info->has_core, &info->core, c->core);
    set_optional(&info->has_llc, &info->llc, c->llc);
    set_optional(&info->has_capacity, &info->capacity, c->capacity);
    return info;
}

static uint32List *distances_info(const HostTopology *topo, unsigned row)
{
    uint32List *list = NULL, **tail = &list;

    for (unsigned i = 0; topo->distances && i < topo->n_nodes; i++) {
        QAPI_LIST_APPEND(tail, topo->distances[row * topo->n_nodes + i]);
    }
    return list;
}

static HostHugepagesInfoList *hugepages_info(const HostNode *n)
{
    HostHugepagesInfoList *list = NULL, **tail = &list;

    for (unsigned i = 0; i < n->n_hugepages; i++) {
        HostHugepagesInfo *info = g_new0(HostHugepagesInfo, 1);

        info->page_size = n->hugepages[i].page_size;
        info->total = n->hugepages[i].total;
        info->free = n->hugepages[i].free;
        QAPI_LIST_APPEND(tail, info);
    }
    return list;
}

static HostNodeInfo *node_info(const HostTopology *topo, unsigned index)
{
    const HostNode *n = &topo->nodes[index];
    HostNodeInfo *info = g_new0(HostNodeInfo, 1);

    info->node = n->node;
    info->cpus = cpulist_format(n->cpus);
    info->has_memory = n->memory != HOST_UNKNOWN;
    info->memory = info->has_memory ? n->memory : 0;
    info->has_free = n->free != HOST_UNKNOWN;
    info->free = info->has_free ? n->free : 0;
    info->has_available = n->available != HOST_UNKNOWN;
    info->available = info->has_available ? n->available : 0;
    set_optional(&info->has_tier, &info->tier, n->tier);
    info->distances = distances_info(topo, index);
    info->hugepages = hugepages_info(n);
    return info;
}

HostTopologyInfo *host_topology_info(const HostTopology *topo)
{
    HostTopologyInfo *info = g_new0(HostTopologyInfo, 1);
    HostCpuInfoList **cpu_tail = &info->cpus;
    HostNodeInfoList **node_tail = &info->nodes;
    strList **warning_tail = &info->warnings;

    for (unsigned i = 0; i < topo->n_cpus; i++) {
        QAPI_LIST_APPEND(cpu_tail, cpu_info(topo, &topo->cpus[i]));
    }
    /* The node that stands in for none is nothing the host has told */
    for (unsigned i = 0; topo->has_nodes && i < topo->n_nodes; i++) {
        QAPI_LIST_APPEND(node_tail, node_info(topo, i));
    }
    for (guint i = 0; i < topo->warnings->len; i++) {
        QAPI_LIST_APPEND(warning_tail, g_strdup(topo->warnings->pdata[i]));
    }
    info->allowed_cpus = cpulist_format(topo->allowed_cpus);
    info->allowed_nodes = topo->has_nodes ?
                          cpulist_format(topo->allowed_nodes) : g_strdup("");
    return info;
}
