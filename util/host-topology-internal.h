/*
 * CPUs and memory of the host: what its readers share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef UTIL_HOST_TOPOLOGY_INTERNAL_H
#define UTIL_HOST_TOPOLOGY_INTERNAL_H

#include "qemu/host-topology.h"

#define CPU_DIR "sys/devices/system/cpu"
#define NODE_DIR "sys/devices/system/node"

/*
 * A file that every CPU, or every node, has below its directory, or none.  On
 * a host with thousands of CPUs it matters not to look for it where it never
 * was: it is given up when many do not have it and none had it before.
 */
typedef struct CpuFact {
    const char *name;
    bool is_mask;           /* of a set: a cpumask, not a cpulist */
    unsigned misses;
    bool seen;
} CpuFact;

/*
 * A set of CPUs, which the kernel offers under several names.  Where they
 * contradict each other, a mixture would be worse than any of them: all CPUs
 * are read from the first that is found.
 */
typedef struct CpuSetFact {
    CpuFact names[4];
    CpuFact *chosen;
} CpuSetFact;

/*
 * Sizes in bytes of the caches of a core, HOST_UNKNOWN where not told.  No
 * two designs differ in the instruction cache only, so that is not worth one
 * more file for every core.
 */
typedef struct CacheSizes {
    int64_t l1_data;
    int64_t l2;
} CacheSizes;

/* What is read of a core for no other reason than to tell kinds apart */
typedef struct CpuTraits {
    int pmu;                /* see host-topology-kinds.c; 0: not told */
    int design;             /* implementer and part, or HOST_UNKNOWN */
    CacheSizes caches;
    int step;               /* of capacity, where there is nothing else */
} CpuTraits;

/* A topology that is being read */
typedef struct TopologyReading {
    SysfsReader *reader;
    HostTopology *topo;
    CpuTraits *traits;      /* by index into topo->cpus */
    bool has_pmus;          /* some CPU is in a PMU of a hybrid host */
} TopologyReading;

/* Adds a warning, unless there are too many already */
void G_GNUC_PRINTF(2, 3)
topology_warn(TopologyReading *t, const char *fmt, ...);

/*
 * What to do with the result of reading what can be done without: a broken
 * file is a warning, and @err is freed.  Returns whether there is a value.
 */
bool topology_has_value(TopologyReading *t, SysfsResult res, Error *err);

/* Whether not to look for it any more; what came of looking for it */
bool topology_fact_is_given_up(const CpuFact *fact);
void topology_fact_note(CpuFact *fact, SysfsResult res);

/*
 * The numbers in those names in the directory @path that are @prefix and a
 * number, as "cpu12" is.  NULL if there is no such directory.
 */
CpuSet *topology_list_numbered(TopologyReading *t, const char *path,
                               const char *prefix);

/*
 * A number from a file of @cpu.  What is negative stands for "not known" in
 * every file that is read with this.
 */
int64_t topology_cpu_int64(TopologyReading *t, CpuFact *fact, unsigned cpu);
int topology_cpu_int(TopologyReading *t, CpuFact *fact, unsigned cpu);

/*
 * The online CPUs in a file of @cpu in @dir below its directory; NULL if not
 * told, or if @cpu itself is not among them.
 */
CpuSet *topology_cpu_set(TopologyReading *t, CpuSetFact *sets, unsigned cpu,
                         const char *dir);

/* The online CPU @cpu */
HostCpu *topology_cpu(TopologyReading *t, unsigned cpu);

/* Whether the facts of a core are read from @c, not from a sibling of it */
bool topology_cpu_leads(const HostCpu *c);

/* Each reads one part of the topology and relies on those before it */
bool topology_read_cpus(TopologyReading *t, Error **errp);
void topology_read_nodes(TopologyReading *t);
void topology_read_distances(TopologyReading *t);
void topology_read_tiers(TopologyReading *t);
void topology_read_cores(TopologyReading *t);
void topology_read_packages(TopologyReading *t);
void topology_read_core_ids(TopologyReading *t);
void topology_read_pmus(TopologyReading *t);
void topology_read_caches(TopologyReading *t);
void topology_read_kinds(TopologyReading *t);
bool topology_read_allowed(TopologyReading *t, const CpuSet *affinity,
                           Error **errp);

#endif /* UTIL_HOST_TOPOLOGY_INTERNAL_H */
