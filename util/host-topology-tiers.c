/*
 * CPUs and memory of the host: how fast memory is, and for whose CPUs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "host-topology-internal.h"

#define TIER_DIR "sys/devices/virtual/memory_tiering"

/* What the best initiators of a node get; 0 is what HMAT does not tell */
typedef struct AccessSpeed {
    HostNode *node;
    int64_t bandwidth;
    int64_t latency;
} AccessSpeed;

static HostNode *find_node(TopologyReading *t, unsigned node)
{
    const HostNode *found = host_topology_node(t->topo, node);

    return found ? &t->topo->nodes[found - t->topo->nodes] : NULL;
}

static void read_kernel_tier(TopologyReading *t, unsigned tier)
{
    g_autoptr(CpuSet) nodes = NULL;
    Error *err = NULL;
    SysfsResult res;

    res = sysfs_reader_read_cpulist(t->reader, &nodes, &err, TIER_DIR
                                    "/memory_tier%u/nodelist", tier);
    if (!topology_has_value(t, res, err)) {
        return;
    }
    CPUSET_FOREACH(node, nodes) {
        HostNode *n = find_node(t, node);

        if (n) {
            n->tier = tier;
        }
    }
}

static int64_t read_speed(TopologyReading *t, const char *dir,
                          const char *name)
{
    int64_t value = 0;
    Error *err = NULL;
    SysfsResult res;

    res = sysfs_reader_read_int(t->reader, &value, &err, "%s/%s", dir, name);
    topology_has_value(t, res, err);
    return value;
}

/*
 * Access class 1 is about CPUs, class 0 about any device that accesses
 * memory; before Linux 5.10 there was only class 0.
 *
 * Firmware tells it about all nodes with CPUs or about none; about memory
 * without CPUs, the driver of the memory may know when firmware does not.
 */
static AccessSpeed read_access(TopologyReading *t, CpuFact *fact, HostNode *n)
{
    AccessSpeed speed = { .node = n };
    bool has_cpus = !cpuset_is_empty(n->cpus);

    if (has_cpus && topology_fact_is_given_up(fact)) {
        return speed;
    }
    for (int class = 1; class >= 0; class--) {
        g_autofree char *dir = g_strdup_printf(NODE_DIR "/node%u/access%d/"
                                               "initiators", n->node, class);

        n->initiators = topology_list_numbered(t, dir, "node");
        if (n->initiators) {
            speed.bandwidth = read_speed(t, dir, "read_bandwidth");
            speed.latency = read_speed(t, dir, "read_latency");
            break;
        }
    }
    if (has_cpus) {
        topology_fact_note(fact, n->initiators ? SYSFS_VALUE : SYSFS_ABSENT);
    }
    return speed;
}

static int compare_speeds(const void *a, const void *b)
{
    const AccessSpeed *left = a, *right = b;

    if (left->bandwidth != right->bandwidth) {
        return left->bandwidth > right->bandwidth ? -1 : 1;
    }
    return left->latency < right->latency ? -1 :
           left->latency > right->latency;
}

/* As the kernel does where it makes tiers: the faster, the lower the number */
static void rank_by_speed(AccessSpeed *speeds, unsigned n)
{
    int tier = -1;

    qsort(speeds, n, sizeof(*speeds), compare_speeds);
    for (unsigned i = 0; i < n; i++) {
        if (!i || compare_speeds(&speeds[i - 1], &speeds[i])) {
            tier++;
        }
        speeds[i].node->tier = tier;
    }
}

void topology_read_tiers(TopologyReading *t)
{
    g_autofree AccessSpeed *speeds = g_new(AccessSpeed, t->topo->n_nodes);
    g_autoptr(CpuSet) tiers = NULL;
    CpuFact fact = { };
    unsigned known = 0;

    if (!t->topo->has_nodes) {
        return;
    }
    tiers = topology_list_numbered(t, TIER_DIR, "memory_tier");
    for (unsigned i = 0; i < t->topo->n_nodes; i++) {
        speeds[known] = read_access(t, &fact, &t->topo->nodes[i]);
        if (speeds[known].bandwidth > 0 || speeds[known].latency > 0) {
            known++;
        }
    }
    if (!tiers || cpuset_is_empty(tiers)) {
        rank_by_speed(speeds, known);
        return;
    }
    CPUSET_FOREACH(tier, tiers) {
        read_kernel_tier(t, tier);
    }
}
