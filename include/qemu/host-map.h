/*
 * A picture of the host and of who sits where on it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef QEMU_HOST_MAP_H
#define QEMU_HOST_MAP_H

#include "qemu/host-topology.h"

/* What may be on a host CPU besides vCPUs; values can be combined */
typedef enum HostMapMark {
    HOST_MAP_HELPERS = 1,   /* main loop and helper threads */
    HOST_MAP_IO = 2,        /* iothreads and vhost workers */
    HOST_MAP_PARKED = 4,    /* nothing, on purpose */
    HOST_MAP_RESERVED = 8,  /* vCPUs that may come later */
} HostMapMark;

typedef struct HostMap HostMap;

/**
 * host_map_new:
 * @topo: the host; it has to live as long as the map
 *
 * Returns: an empty map to free with host_map_free().
 */
HostMap *host_map_new(const HostTopology *topo);

/**
 * host_map_new_plan:
 * @topo: the host, as above
 * @plan: a plan for it
 *
 * Returns: a map with everything that @plan puts somewhere.
 */
HostMap *host_map_new_plan(const HostTopology *topo, const PinningPlan *plan);

/** host_map_free: free @map, which may be NULL. */
void host_map_free(HostMap *map);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostMap, host_map_free)

/** host_map_put: say that vCPU @vcpu may run on @cpus. */
void host_map_put(HostMap *map, const CpuSet *cpus, unsigned vcpu);

/** host_map_mark: say that @mark is on @cpus. */
void host_map_mark(HostMap *map, const CpuSet *cpus, HostMapMark mark);

/** host_map_vcpus: Returns: the vCPUs that may run on @cpu, or NULL. */
const CpuSet *host_map_vcpus(const HostMap *map, unsigned cpu);

/**
 * host_map_label:
 * @map: the map
 * @cpu: a host CPU
 *
 * Returns: who is on @cpu, in few characters: "v0-3", else "r" for one that is
 * reserved, "#" for one that is kept idle, "io", "h", or ".".  Free with
 * g_free().
 */
char *host_map_label(const HostMap *map, unsigned cpu);

/** host_map_legend: Returns: what the labels in use mean, one line. */
char *host_map_legend(const HostMap *map);

/**
 * host_map_text:
 * @map: the map
 * @width: columns, at least 40
 *
 * Draws nodes, caches, cores and CPUs.  If that takes too many lines, lists
 * by node which host CPUs have the same on them.
 *
 * Returns: lines of text.  Free with g_free().
 */
char *host_map_text(const HostMap *map, unsigned width);

/**
 * host_map_order:
 * @topo: a host
 * @n: where to put the number of host CPUs
 *
 * Returns: the online host CPUs by node, cache, core and number; those
 * without node come last.  Free with g_free().
 */
const HostCpu **host_map_order(const HostTopology *topo, unsigned *n);

#endif /* QEMU_HOST_MAP_H */
