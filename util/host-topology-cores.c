/*
 * CPUs and memory of the host: cores, packages, dies, clusters
 *
 * Sets of CPUs are read from one CPU of each set.  The kernel has a file for
 * every CPU, and on a large host they are by far too many.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "host-topology-internal.h"

#define TOPOLOGY_DIR "topology"

/* Identifiers that stand for "none" in 16 bits */
#define NO_CLUSTER 65535

static void join_core(TopologyReading *t, HostCpu *leader, HostCpu *sibling)
{
    if (sibling->core == HOST_UNKNOWN) {
        sibling->core = leader->cpu;
    } else {
        topology_warn(t, "host CPU %u names CPU %u as its SMT sibling, which "
                      "names others", leader->cpu, sibling->cpu);
    }
}

/*
 * The sibling set is the truth about cores.  core_id is not: it is unique
 * only within a die or less, and some CPUs of one core have different ones.
 */
void topology_read_cores(TopologyReading *t)
{
    CpuSetFact siblings = { .names = {
        { .name = "core_cpus_list" },
        { .name = "thread_siblings_list" },
        { .name = "core_cpus", .is_mask = true },
        { .name = "thread_siblings", .is_mask = true },
    } };

    CPUSET_FOREACH(cpu, t->topo->online) {
        HostCpu *c = topology_cpu(t, cpu);
        g_autoptr(CpuSet) set = NULL;

        if (c->core != HOST_UNKNOWN) {
            continue;
        }
        set = topology_cpu_set(t, &siblings, cpu, TOPOLOGY_DIR);
        if (!set) {
            continue;
        }
        CPUSET_FOREACH(sibling, set) {
            join_core(t, c, topology_cpu(t, sibling));
        }
    }
}

/* Number of the first online CPU for which @key was asked */
static int first_with_key(GHashTable *firsts, const char *key, unsigned cpu)
{
    gpointer first = g_hash_table_lookup(firsts, key);

    if (!first) {
        g_hash_table_insert(firsts, g_strdup(key), GUINT_TO_POINTER(cpu + 1));
        return cpu;
    }
    return GPOINTER_TO_UINT(first) - 1;
}

/*
 * Without any sibling set, core_id has to do.  Node and die are in the key,
 * for a package may hold the same core_id several times.
 */
void topology_read_core_ids(TopologyReading *t)
{
    CpuFact id = { .name = TOPOLOGY_DIR "/core_id" };
    g_autoptr(GHashTable) firsts = NULL;

    CPUSET_FOREACH(cpu, t->topo->online) {
        if (topology_cpu(t, cpu)->core != HOST_UNKNOWN) {
            return;
        }
    }
    firsts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    CPUSET_FOREACH(cpu, t->topo->online) {
        HostCpu *c = topology_cpu(t, cpu);
        int core_id = topology_cpu_int(t, &id, cpu);

        if (core_id != HOST_UNKNOWN) {
            g_autofree char *key = g_strdup_printf("%d/%d/%d/%d", c->node,
                                                   c->package, c->die,
                                                   core_id);

            c->core = first_with_key(firsts, key, cpu);
        }
    }
}

typedef struct PackageFacts {
    CpuSetFact sets;
    CpuFact id;
    CpuFact book;           /* s390x counts packages within books */
    CpuFact drawer;
    GHashTable *firsts;
    int *first;             /* first CPU of the package, by CPU index */
    bool ids_suffice;       /* the numbers alone tell packages apart */
} PackageFacts;

/*
 * A package is what has the same number.  Where the kernel has no number it
 * still may know which CPUs belong together.
 */
static int read_package_first(TopologyReading *t, PackageFacts *f, HostCpu *c,
                              const CpuSet *set)
{
    int book = topology_cpu_int(t, &f->book, c->cpu);
    int drawer = topology_cpu_int(t, &f->drawer, c->cpu);
    g_autofree char *key = NULL;

    c->package = topology_cpu_int(t, &f->id, c->cpu);
    if (c->package == HOST_UNKNOWN || book != HOST_UNKNOWN ||
        drawer != HOST_UNKNOWN) {
        f->ids_suffice = false;
    }
    if (c->package == HOST_UNKNOWN) {
        return set ? (int)c->cpu : HOST_UNKNOWN;
    }
    key = g_strdup_printf("%d/%d/%d", drawer, book, c->package);
    return first_with_key(f->firsts, key, c->cpu);
}

static void read_package_of(TopologyReading *t, PackageFacts *f, HostCpu *c)
{
    g_autoptr(CpuSet) set = topology_cpu_set(t, &f->sets, c->cpu,
                                             TOPOLOGY_DIR);
    int first = read_package_first(t, f, c, set);

    if (!set) {
        set = cpuset_new_range(c->cpu, c->cpu);
    }
    CPUSET_FOREACH(cpu, set) {
        int i = t->topo->cpu_index[cpu];

        if (f->first[i] == HOST_UNKNOWN) {
            f->first[i] = first;
            t->topo->cpus[i].package = c->package;
        }
    }
}

static void read_package_ids(TopologyReading *t, PackageFacts *f)
{
    CPUSET_FOREACH(cpu, t->topo->online) {
        HostCpu *c = topology_cpu(t, cpu);
        int i = t->topo->cpu_index[cpu];

        if (f->first[i] != HOST_UNKNOWN) {
            continue;
        }
        if (topology_cpu_leads(c)) {
            read_package_of(t, f, c);
        } else {
            f->first[i] = f->first[t->topo->cpu_index[c->core]];
            c->package = topology_cpu(t, c->core)->package;
        }
    }
}

/* Without number there is no die, whatever the set, often a core, says */
static void read_die_of(TopologyReading *t, CpuFact *id, CpuSetFact *sets,
                        HostCpu *c, CpuSet *left)
{
    int die = topology_cpu_int(t, id, c->cpu);
    g_autoptr(CpuSet) set = NULL;

    if (die != HOST_UNKNOWN) {
        set = topology_cpu_set(t, sets, c->cpu, TOPOLOGY_DIR);
    }
    if (!set) {
        set = cpuset_new_range(c->cpu, c->cpu);
    }
    cpuset_and(set, left);
    cpuset_andnot(left, set);
    CPUSET_FOREACH(cpu, set) {
        topology_cpu(t, cpu)->die = die;
    }
}

static void read_dies(TopologyReading *t)
{
    CpuFact id = { .name = TOPOLOGY_DIR "/die_id" };
    CpuSetFact sets = { .names = {
        { .name = "die_cpus_list" },
        { .name = "die_cpus", .is_mask = true },
    } };
    g_autoptr(CpuSet) left = cpuset_copy(t->topo->online);

    CPUSET_FOREACH(cpu, left) {
        HostCpu *c = topology_cpu(t, cpu);

        if (topology_cpu_leads(c)) {
            read_die_of(t, &id, &sets, c, left);
        } else {
            c->die = topology_cpu(t, c->core)->die;
        }
    }
}

static void read_clusters(TopologyReading *t)
{
    CpuFact id = { .name = TOPOLOGY_DIR "/cluster_id" };

    CPUSET_FOREACH(cpu, t->topo->online) {
        HostCpu *c = topology_cpu(t, cpu);

        if (topology_cpu_leads(c)) {
            int cluster = topology_cpu_int(t, &id, cpu);

            c->cluster = cluster == NO_CLUSTER ? HOST_UNKNOWN : cluster;
        } else {
            c->cluster = topology_cpu(t, c->core)->cluster;
        }
    }
}

void topology_read_packages(TopologyReading *t)
{
    g_autofree int *first = g_new(int, t->topo->n_cpus);
    g_autoptr(GHashTable) firsts = g_hash_table_new_full(g_str_hash,
                                                         g_str_equal,
                                                         g_free, NULL);
    PackageFacts f = {
        .sets = { .names = {
            { .name = "package_cpus_list" },
            { .name = "core_siblings_list" },
            { .name = "package_cpus", .is_mask = true },
            { .name = "core_siblings", .is_mask = true },
        } },
        .id = { .name = TOPOLOGY_DIR "/physical_package_id" },
        .book = { .name = TOPOLOGY_DIR "/book_id" },
        .drawer = { .name = TOPOLOGY_DIR "/drawer_id" },
        .firsts = firsts,
        .first = first,
        .ids_suffice = true,
    };

    for (unsigned i = 0; i < t->topo->n_cpus; i++) {
        first[i] = HOST_UNKNOWN;
    }
    read_package_ids(t, &f);
    for (unsigned i = 0; !f.ids_suffice && i < t->topo->n_cpus; i++) {
        t->topo->cpus[i].package = first[i];
    }
    read_dies(t);
    read_clusters(t);
}
