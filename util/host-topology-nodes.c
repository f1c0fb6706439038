/*
 * CPUs and memory of the host: its nodes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "host-topology-internal.h"

/* What every node has, or none */
typedef struct NodeFacts {
    CpuFact cpulist;
    CpuFact hugepages;      /* where there is memory */
} NodeFacts;

/*
 * Old kernels only have links node<n>/cpu<m>.  They are named, not followed:
 * some lead round in circles.
 */
static CpuSet *read_node_cpus(TopologyReading *t, NodeFacts *facts,
                              unsigned node)
{
    g_autofree char *dir = g_strdup_printf(NODE_DIR "/node%u", node);
    SysfsResult res = SYSFS_ABSENT;
    CpuSet *cpus = NULL;
    Error *err = NULL;

    if (!topology_fact_is_given_up(&facts->cpulist)) {
        res = sysfs_reader_read_cpulist(t->reader, &cpus, &err,
                                        "%s/cpulist", dir);
        topology_fact_note(&facts->cpulist, res);
    }
    if (res == SYSFS_ABSENT) {
        res = sysfs_reader_read_cpumask(t->reader, &cpus, &err, "%s/cpumap",
                                        dir);
    }
    if (res == SYSFS_ABSENT) {
        cpus = topology_list_numbered(t, dir, "cpu");
    } else if (!topology_has_value(t, res, err)) {
        cpus = NULL;
    }
    if (!cpus) {
        return cpuset_new();
    }
    /* The kernel lists offline CPUs too on some machines */
    cpuset_and(cpus, t->topo->online);
    return cpus;
}

/* The value in bytes of "Node 0 @field:  1234 kB" */
static int64_t meminfo_value(const char *text, const char *field)
{
    const char *at = strstr(text, field);
    const char *end;
    uint64_t kib;

    if (!at || qemu_strtou64(at + strlen(field), &end, 10, &kib) < 0 ||
        !g_str_has_prefix(end, " kB") || kib > INT64_MAX / KiB) {
        return HOST_UNKNOWN;
    }
    return kib * KiB;
}

static int64_t meminfo_or_0(const char *text, const char *field)
{
    int64_t value = meminfo_value(text, field);

    return value == HOST_UNKNOWN ? 0 : MIN(value, INT64_MAX / 8);
}

/*
 * A host that has been up for a while has little free memory, and much cache
 * of files that it drops when a machine touches its memory.  This is what the
 * kernel counts in MemAvailable, which it does not have for nodes; but not
 * what has to be written first, as that takes as long as a disk takes.
 */
static int64_t available_memory(const HostNode *n, const char *text)
{
    int64_t cache = meminfo_or_0(text, " Active(file):") +
                    meminfo_or_0(text, " Inactive(file):") +
                    meminfo_or_0(text, " SReclaimable:") -
                    meminfo_or_0(text, " Dirty:") -
                    meminfo_or_0(text, " Writeback:");

    if (n->free == HOST_UNKNOWN || n->memory == HOST_UNKNOWN ||
        n->free >= n->memory) {
        return n->free;
    }
    return n->free + MIN(MAX(cache, 0), n->memory - n->free);
}

static void read_memory(TopologyReading *t, HostNode *n)
{
    g_autofree char *text = NULL;
    Error *err = NULL;
    SysfsResult res;

    res = sysfs_reader_read_text(t->reader, &text, &err,
                                 NODE_DIR "/node%u/meminfo", n->node);
    if (!topology_has_value(t, res, err)) {
        return;
    }
    n->memory = meminfo_value(text, " MemTotal:");
    n->free = meminfo_value(text, " MemFree:");
    n->available = available_memory(n, text);
    if (n->memory == HOST_UNKNOWN) {
        topology_warn(t, "meminfo of host node %u has no MemTotal", n->node);
    }
}

static bool read_pages(TopologyReading *t, const char *dir, const char *name,
                       uint64_t *pages)
{
    Error *err = NULL;
    int64_t value;
    SysfsResult res;

    res = sysfs_reader_read_int(t->reader, &value, &err, "%s/%s", dir, name);
    if (!topology_has_value(t, res, err) || value < 0) {
        return false;
    }
    *pages = value;
    return true;
}

/* "hugepages-2048kB"; returns 0 for any other name */
static uint64_t pool_page_size(const char *name)
{
    static const char prefix[] = "hugepages-";
    const char *end;
    uint64_t kib;

    if (!g_str_has_prefix(name, prefix) ||
        qemu_strtou64(name + strlen(prefix), &end, 10, &kib) < 0 ||
        !g_str_equal(end, "kB") || kib > INT64_MAX / KiB) {
        return 0;
    }
    return kib * KiB;
}

static int compare_pools(const void *a, const void *b)
{
    const HostHugepages *left = a, *right = b;

    return left->page_size < right->page_size ? -1 :
           left->page_size > right->page_size;
}

static void read_hugepages(TopologyReading *t, NodeFacts *facts, HostNode *n)
{
    g_autofree char *dir = g_strdup_printf(NODE_DIR "/node%u/hugepages",
                                           n->node);
    g_auto(GStrv) names = NULL;
    Error *err = NULL;
    SysfsResult res;

    if (topology_fact_is_given_up(&facts->hugepages)) {
        return;
    }
    res = sysfs_reader_list(t->reader, &names, &err, "%s", dir);
    if (n->memory > 0) {
        topology_fact_note(&facts->hugepages, res);
    }
    if (!topology_has_value(t, res, err)) {
        return;
    }
    n->hugepages = g_new0(HostHugepages, g_strv_length(names));
    for (char **name = names; *name; name++) {
        g_autofree char *pool = g_strdup_printf("%s/%s", dir, *name);
        HostHugepages *h = &n->hugepages[n->n_hugepages];

        h->page_size = pool_page_size(*name);
        /* Of none, none is free; most pools are empty */
        if (h->page_size && read_pages(t, pool, "nr_hugepages", &h->total) &&
            (!h->total || read_pages(t, pool, "free_hugepages", &h->free))) {
            n->n_hugepages++;
        }
    }
    if (n->n_hugepages) {
        qsort(n->hugepages, n->n_hugepages, sizeof(HostHugepages),
              compare_pools);
    }
}

static void add_node(TopologyReading *t, unsigned node, CpuSet *cpus)
{
    t->topo->nodes[t->topo->n_nodes++] = (HostNode) {
        .node = node,
        .cpus = cpus,
        .memory = HOST_UNKNOWN,
        .free = HOST_UNKNOWN,
        .available = HOST_UNKNOWN,
        .tier = HOST_UNKNOWN,
    };
    CPUSET_FOREACH(cpu, cpus) {
        HostCpu *c = topology_cpu(t, cpu);

        if (c->node == HOST_UNKNOWN) {
            c->node = node;
        }
    }
}

/* Each online CPU should be in one node */
static void check_node_cpus(TopologyReading *t)
{
    g_autoptr(CpuSet) missing = cpuset_copy(t->topo->online);
    g_autoptr(CpuSet) shared = cpuset_new();

    for (unsigned i = 0; i < t->topo->n_nodes; i++) {
        g_autoptr(CpuSet) again = cpuset_copy(t->topo->nodes[i].cpus);

        cpuset_andnot(again, missing);
        cpuset_or(shared, again);
        cpuset_andnot(missing, t->topo->nodes[i].cpus);
    }
    if (!cpuset_is_empty(missing)) {
        g_autofree char *list = cpulist_format(missing);

        topology_warn(t, "host CPUs %s are in no host node", list);
    }
    if (!cpuset_is_empty(shared)) {
        g_autofree char *list = cpulist_format(shared);

        topology_warn(t, "host CPUs %s are in several host nodes", list);
    }
}

/*
 * The directories say which nodes there are: all other facts of a node come
 * from there, and unlike node/online they are found on every kernel.
 */
void topology_read_nodes(TopologyReading *t)
{
    HostTopology *topo = t->topo;
    NodeFacts facts = { };
    g_autoptr(CpuSet) ids = topology_list_numbered(t, NODE_DIR, "node");

    if (!ids || cpuset_is_empty(ids)) {
        topo->nodes = g_new0(HostNode, 1);
        add_node(t, 0, cpuset_copy(topo->online));
        return;
    }
    topo->has_nodes = true;
    topo->nodes = g_new0(HostNode, cpuset_count(ids));
    CPUSET_FOREACH(node, ids) {
        add_node(t, node, read_node_cpus(t, &facts, node));
        read_memory(t, &topo->nodes[topo->n_nodes - 1]);
        read_hugepages(t, &facts, &topo->nodes[topo->n_nodes - 1]);
    }
    check_node_cpus(t);
}
