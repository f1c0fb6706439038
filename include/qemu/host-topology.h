/*
 * CPUs and memory of the host, as its sysfs tells
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef QEMU_HOST_TOPOLOGY_H
#define QEMU_HOST_TOPOLOGY_H

#include "qemu/cpulist.h"
#include "qemu/sysfs-reader.h"
#include "qapi/qapi-types-pinning.h"

/* Stands for a fact that the host does not tell */
#define HOST_UNKNOWN (-1)

/* A host CPU that is present.  Offline CPUs have no other facts. */
typedef struct HostCpu {
    unsigned cpu;
    bool online;
    bool isolated;          /* isolcpus */
    bool nohz_full;
    int node;               /* host node; the lowest if several claim it */
    /*
     * The kernel's number for it or, on a host where those do not tell
     * packages apart, its lowest online CPU
     */
    int package;
    int die;                /* inside the package */
    int cluster;            /* inside the die or package */
    int core;               /* lowest online CPU of its SMT siblings */
    int llc;                /* lowest online CPU sharing its last cache */
    int type;               /* 0 is the largest kind */
    int capacity;
} HostCpu;

/* A kind of CPU: same design, same caches of its own */
typedef struct HostCpuType {
    CpuSet *cpus;           /* online CPUs; never empty */
    const char *name;       /* see host_topology_type_name() */
} HostCpuType;

typedef struct HostHugepages {
    uint64_t page_size;     /* bytes */
    uint64_t total;         /* pages */
    uint64_t free;          /* pages */
} HostHugepages;

typedef struct HostNode {
    unsigned node;
    CpuSet *cpus;           /* online CPUs; may be empty */
    int64_t memory;         /* bytes; 0: none; HOST_UNKNOWN: not told */
    int64_t free;           /* bytes or HOST_UNKNOWN */
    int64_t available;      /* with cache that can be dropped; the same */
    int tier;               /* memory tier or HOST_UNKNOWN; lower is faster */
    CpuSet *initiators;     /* nodes with the best access, or NULL */
    HostHugepages *hugepages;
    unsigned n_hugepages;
} HostNode;

typedef struct HostTopology {
    HostCpu *cpus;          /* ascending by number */
    unsigned n_cpus;
    HostNode *nodes;        /* ascending by number; at least one */
    unsigned n_nodes;
    bool has_nodes;         /* whether the host itself knows nodes */
    /* n_nodes * n_nodes by index into nodes; NULL when absent or nonsense */
    uint8_t *distances;
    CpuSet *online;
    CpuSet *isolated;
    CpuSet *allowed_cpus;   /* online CPUs that the process may use */
    CpuSet *allowed_nodes;  /* nodes that it may take memory from */
    HostCpuType *types;     /* the largest first */
    unsigned n_types;       /* number of CPU kinds, at least 1 */
    GPtrArray *warnings;    /* of char *: what was wrong and is not used */

    int *cpu_index;         /* host CPU number -> index into cpus, or -1 */
    unsigned cpu_index_len;
} HostTopology;

/**
 * host_topology_new:
 * @root: what stands for "/": a directory or a capture file; NULL for the
 *        host itself
 * @affinity: host CPUs that the process may use, or NULL for what the
 *            root's proc/self/status says, or else all online CPUs
 * @errp: pointer to error object
 *
 * A host without node directory gets one node, number 0, with all its CPUs,
 * unknown memory, and @has_nodes false.  Contradictions in the files become
 * warnings; the facts they concern become unknown.  A file that is there but
 * cannot be read or understood is a warning if the fact can be done without,
 * and an error naming the file if not (no CPU can be found at all).
 *
 * The format is the kernel's: Documentation/admin-guide/cputopology.rst and
 * Documentation/ABI/stable/sysfs-devices-node.
 *
 * Returns: a new topology to free with host_topology_free(), or NULL with
 * @errp set.
 */
HostTopology *host_topology_new(const char *root, const CpuSet *affinity,
                                Error **errp);

/**
 * host_topology_new_from_reader:
 * @reader: reads below what stands for "/"
 * @affinity: as for host_topology_new()
 * @errp: pointer to error object
 *
 * Returns: like host_topology_new().
 */
HostTopology *host_topology_new_from_reader(SysfsReader *reader,
                                            const CpuSet *affinity,
                                            Error **errp);

/** host_topology_free: free @topo, which may be NULL. */
void host_topology_free(HostTopology *topo);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(HostTopology, host_topology_free)

/** host_topology_cpu: Returns: the host CPU @cpu, NULL if not present. */
const HostCpu *host_topology_cpu(const HostTopology *topo, unsigned cpu);

/** host_topology_node: Returns: the host node @node, NULL if not there. */
const HostNode *host_topology_node(const HostTopology *topo, unsigned node);

/**
 * host_topology_distance:
 * @topo: the topology
 * @a: number of a host node
 * @b: number of a host node
 *
 * Returns: the distance, 10 being local.  Without usable table it is 10 for
 * a node to itself and 20 otherwise.
 */
unsigned host_topology_distance(const HostTopology *topo,
                                unsigned a, unsigned b);

/**
 * host_topology_type_name:
 * @topo: the topology
 * @type: a CPU kind, below @topo->n_types
 *
 * Returns: a static word for the kind: "performance" for the one with the
 * highest capacity (or cpu_core), "efficient" for the lowest (or cpu_atom),
 * "middle" between, "uniform" if there is one kind, "unranked" if there are
 * several and nothing tells which is faster.
 */
const char *host_topology_type_name(const HostTopology *topo, unsigned type);

/**
 * host_topology_info:
 * @topo: the topology
 *
 * Returns: what query-host-topology returns; free it with
 * qapi_free_HostTopologyInfo().
 */
HostTopologyInfo *host_topology_info(const HostTopology *topo);

#endif /* QEMU_HOST_TOPOLOGY_H */
