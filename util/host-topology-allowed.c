/*
 * CPUs and memory of the host: what this process may use of them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "host-topology-internal.h"

#define STATUS "proc/self/status"
#define CGROUP "proc/self/cgroup"
#define CGROUP_DIR "sys/fs/cgroup"

/*
 * The value of a line "field:\tvalue" of status.  To guess what the process
 * may use would be worse than to fail, so what is not understood is an error.
 */
static bool parse_status(char **lines, const char *field, CpuSet **set,
                         Error **errp)
{
    ERRP_GUARD();

    for (char **line = lines; *line; line++) {
        if (!g_str_has_prefix(*line, field)) {
            continue;
        }
        *set = cpulist_parse(g_strstrip(*line + strlen(field)), errp);
        if (!*set) {
            error_prepend(errp, "%s: %s ", STATUS, field);
        }
        return *set != NULL;
    }
    return true;
}

/* Sets that @root does not tell are left NULL */
static bool read_status(TopologyReading *t, CpuSet **cpus, CpuSet **nodes,
                        Error **errp)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    SysfsResult res = sysfs_reader_read_text(t->reader, &text, errp, STATUS);

    if (res != SYSFS_VALUE) {
        return res == SYSFS_ABSENT;
    }
    lines = g_strsplit(text, "\n", -1);
    return parse_status(lines, "Cpus_allowed_list:", cpus, errp) &&
           parse_status(lines, "Mems_allowed_list:", nodes, errp);
}

/*
 * The path of our cgroup, "" for the root, in the line "0::/path".  NULL on
 * hosts with cgroup v1 only, or when it lies outside of what we can see.
 */
static char *read_cgroup(TopologyReading *t)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    Error *err = NULL;
    SysfsResult res = sysfs_reader_read_text(t->reader, &text, &err, CGROUP);

    if (!topology_has_value(t, res, err)) {
        return NULL;
    }
    lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line; line++) {
        if (g_str_has_prefix(*line, "0::/") && !strstr(*line, "/..")) {
            return g_strdup(g_str_equal(*line, "0::/") ? "" : *line + 3);
        }
    }
    return NULL;
}

/*
 * Only groups for which the controller is enabled have the file; the others
 * have what the nearest group above them has.
 */
static CpuSet *read_effective(TopologyReading *t, const char *cgroup,
                              const char *name)
{
    g_autofree char *path = g_strdup(cgroup);

    while (true) {
        CpuSet *set = NULL;
        Error *err = NULL;
        SysfsResult res;
        char *slash;

        res = sysfs_reader_read_cpulist(t->reader, &set, &err,
                                        CGROUP_DIR "%s/%s", path, name);
        if (res != SYSFS_ABSENT) {
            return topology_has_value(t, res, err) ? set : NULL;
        }
        slash = strrchr(path, '/');
        if (!slash) {
            return NULL;
        }
        *slash = '\0';
    }
}

/* The nodes themselves, whether or not they have memory */
static CpuSet *all_nodes(const HostTopology *topo)
{
    CpuSet *nodes = cpuset_new();

    for (unsigned i = 0; i < topo->n_nodes; i++) {
        cpuset_add(nodes, topo->nodes[i].node);
    }
    return nodes;
}

static void restrict_to(TopologyReading *t, CpuSet *set, const CpuSet *other,
                        const char *what)
{
    if (!other) {
        return;
    }
    cpuset_and(set, other);
    if (cpuset_is_empty(set)) {
        topology_warn(t, "this process may use none of the host's %s", what);
    }
}

bool topology_read_allowed(TopologyReading *t, const CpuSet *affinity,
                           Error **errp)
{
    HostTopology *topo = t->topo;
    g_autoptr(CpuSet) own_cpus = NULL;
    g_autoptr(CpuSet) own_nodes = NULL;
    g_autoptr(CpuSet) group_cpus = NULL;
    g_autoptr(CpuSet) group_nodes = NULL;
    g_autofree char *cgroup = NULL;

    if (!read_status(t, &own_cpus, &own_nodes, errp)) {
        return false;
    }
    cgroup = read_cgroup(t);
    if (cgroup) {
        group_cpus = read_effective(t, cgroup, "cpuset.cpus.effective");
        group_nodes = read_effective(t, cgroup, "cpuset.mems.effective");
    }
    topo->allowed_cpus = cpuset_copy(topo->online);
    topo->allowed_nodes = all_nodes(topo);
    restrict_to(t, topo->allowed_cpus, affinity ?: own_cpus, "CPUs");
    restrict_to(t, topo->allowed_cpus, group_cpus, "CPUs");
    restrict_to(t, topo->allowed_nodes, own_nodes, "nodes");
    restrict_to(t, topo->allowed_nodes, group_nodes, "nodes");
    return true;
}
