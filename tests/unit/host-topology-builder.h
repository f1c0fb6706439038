/*
 * Hosts for tests, made from a description instead of files
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef HOST_TOPOLOGY_BUILDER_H
#define HOST_TOPOLOGY_BUILDER_H

#include "qemu/units.h"
#include "qemu/host-topology.h"

/* A regular host.  Members left 0 count as 1, unless noted. */
typedef struct HostSpec {
    unsigned packages;
    unsigned nodes;         /* in a package */
    unsigned llcs;          /* in a node */
    unsigned cores;         /* with one last-level cache */
    unsigned threads;       /* in a core */
    bool siblings_apart;    /* siblings are n and n + cores, not n and n + 1 */
    uint64_t memory;        /* bytes of a node; 0: 16 GiB */
    unsigned near;          /* distance in a package; 0: 12 */
    unsigned far;           /* distance between packages; 0: 32 */
} HostSpec;

/**
 * host_build:
 * @spec: what the host looks like
 *
 * All host CPUs are online and allowed, all memory is free.
 *
 * Returns: a host to free with host_topology_free().
 */
HostTopology *host_build(const HostSpec *spec);

/** host_set: Returns: the new set that the list @text names. */
CpuSet *host_set(const char *text);

/** host_allow: let the process use the host CPUs @cpus only. */
void host_allow(HostTopology *topo, const char *cpus);

/** host_allow_nodes: let it take memory from @nodes only; "" for none. */
void host_allow_nodes(HostTopology *topo, const char *nodes);

/** host_isolate: make @cpus isolated ones, still allowed. */
void host_isolate(HostTopology *topo, const char *cpus);

/** host_offline: take @cpus offline. */
void host_offline(HostTopology *topo, const char *cpus);

/** host_memory: set the memory of host node @node, total and free bytes. */
void host_memory(HostTopology *topo, unsigned node, int64_t memory,
                 int64_t free);

/** host_hugepages: give host node @node a pool of pages of @size bytes. */
void host_hugepages(HostTopology *topo, unsigned node, uint64_t size,
                    uint64_t total, uint64_t free);

/** host_distance: set the distance between two nodes, both ways. */
void host_distance(HostTopology *topo, unsigned a, unsigned b,
                   unsigned distance);

/** host_type: make @cpus of CPU kind @type, which is called @name. */
void host_type(HostTopology *topo, const char *cpus, unsigned type,
               const char *name);

/** host_strip_cpus: leave host node @node its memory only. */
void host_strip_cpus(HostTopology *topo, unsigned node);

#endif /* HOST_TOPOLOGY_BUILDER_H */
