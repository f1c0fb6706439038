/*
 * CPUs and memory of the host: which CPUs there are
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "host-topology-internal.h"

/* A set of CPUs in CPU_DIR.  Returns NULL when absent, broken, or empty. */
static CpuSet *read_cpus(TopologyReading *t, const char *name)
{
    g_autoptr(CpuSet) set = NULL;
    Error *err = NULL;
    SysfsResult res;

    res = sysfs_reader_read_cpulist(t->reader, &set, &err, CPU_DIR "/%s",
                                    name);
    if (!topology_has_value(t, res, err) || cpuset_is_empty(set)) {
        return NULL;
    }
    return g_steal_pointer(&set);
}

/*
 * Old kernels and some collectors of /sys leave out the summary.  A CPU says
 * that it is offline with a "0"; an empty or missing file does not say so:
 * CPUs that cannot be unplugged have none.
 */
static CpuSet *online_by_dirs(TopologyReading *t, const CpuSet *dirs)
{
    CpuSet *online = cpuset_copy(dirs);
    CpuFact fact = { .name = "online" };

    CPUSET_FOREACH(cpu, dirs) {
        g_autofree char *text = NULL;
        Error *err = NULL;
        SysfsResult res;

        if (topology_fact_is_given_up(&fact)) {
            break;
        }
        res = sysfs_reader_read_text(t->reader, &text, &err,
                                     CPU_DIR "/cpu%d/%s", cpu, fact.name);
        topology_fact_note(&fact, res);
        if (topology_has_value(t, res, err) && g_str_equal(text, "0")) {
            cpuset_del(online, cpu);
        }
    }
    return online;
}

static CpuSet *read_online(TopologyReading *t, CpuSet **present)
{
    CpuSet *online = read_cpus(t, "online");
    g_autoptr(CpuSet) dirs = NULL;

    *present = read_cpus(t, "present");
    if (!online || !*present) {
        dirs = topology_list_numbered(t, CPU_DIR, "cpu");
    }
    if (!dirs) {
        dirs = cpuset_new();
    }
    if (!online) {
        online = online_by_dirs(t, dirs);
    }
    if (!*present) {
        *present = g_steal_pointer(&dirs);
    }
    cpuset_or(*present, online);
    return online;
}

static void add_cpus(HostTopology *topo, const CpuSet *present)
{
    HostCpu *c;

    topo->n_cpus = cpuset_count(present);
    topo->cpus = g_new0(HostCpu, topo->n_cpus);
    topo->cpu_index_len = present->nbits;
    topo->cpu_index = g_new(int, topo->cpu_index_len);
    for (unsigned i = 0; i < topo->cpu_index_len; i++) {
        topo->cpu_index[i] = -1;
    }

    c = topo->cpus;
    CPUSET_FOREACH(cpu, present) {
        *c = (HostCpu) {
            .cpu = cpu,
            .online = cpuset_contains(topo->online, cpu),
            .node = HOST_UNKNOWN,
            .package = HOST_UNKNOWN,
            .die = HOST_UNKNOWN,
            .cluster = HOST_UNKNOWN,
            .core = HOST_UNKNOWN,
            .llc = HOST_UNKNOWN,
            .type = HOST_UNKNOWN,
            .capacity = HOST_UNKNOWN,
        };
        topo->cpu_index[cpu] = c - topo->cpus;
        c++;
    }
}

static void read_isolated(TopologyReading *t)
{
    g_autoptr(CpuSet) isolated = read_cpus(t, "isolated");
    g_autoptr(CpuSet) nohz_full = read_cpus(t, "nohz_full");

    if (isolated) {
        cpuset_or(t->topo->isolated, isolated);
        cpuset_and(t->topo->isolated, t->topo->online);
    }
    CPUSET_FOREACH(cpu, t->topo->online) {
        HostCpu *c = topology_cpu(t, cpu);

        c->isolated = cpuset_contains(t->topo->isolated, cpu);
        c->nohz_full = nohz_full && cpuset_contains(nohz_full, cpu);
    }
}

bool topology_read_cpus(TopologyReading *t, Error **errp)
{
    ERRP_GUARD();
    g_autoptr(CpuSet) present = NULL;
    g_autoptr(CpuSet) online = read_online(t, &present);

    if (cpuset_is_empty(online)) {
        error_setg(errp, "no online host CPU can be found in '%s'", CPU_DIR);
        for (guint i = 0; i < t->topo->warnings->len; i++) {
            error_append_hint(errp, "%s.\n",
                              (char *)t->topo->warnings->pdata[i]);
        }
        return false;
    }
    cpuset_or(t->topo->online, online);
    add_cpus(t->topo, present);
    read_isolated(t);
    return true;
}
