/*
 * Hosts for tests, made from a description instead of files
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "host-topology-builder.h"

static void spec_defaults(HostSpec *s)
{
    s->packages = MAX(s->packages, 1);
    s->nodes = MAX(s->nodes, 1);
    s->llcs = MAX(s->llcs, 1);
    s->cores = MAX(s->cores, 1);
    s->threads = MAX(s->threads, 1);
    s->memory = s->memory ?: 16 * GiB;
    s->near = s->near ?: 12;
    s->far = s->far ?: 32;
}

/* Host CPU number of thread @t of the core that is @core-th on the host */
static unsigned cpu_number(const HostSpec *s, unsigned core, unsigned t)
{
    unsigned all = s->packages * s->nodes * s->llcs * s->cores;

    return s->siblings_apart ? core + t * all : core * s->threads + t;
}

static void build_cpu(HostTopology *topo, const HostSpec *s, unsigned core,
                      unsigned t)
{
    unsigned llc = core / s->cores;
    unsigned node = llc / s->llcs;
    unsigned cpu = cpu_number(s, core, t);
    HostCpu *c = &topo->cpus[cpu];

    c->cpu = cpu;
    c->online = true;
    c->node = node;
    c->package = node / s->nodes;
    c->die = HOST_UNKNOWN;
    c->cluster = HOST_UNKNOWN;
    c->core = cpu_number(s, core, 0);
    c->llc = cpu_number(s, llc * s->cores, 0);
    c->capacity = HOST_UNKNOWN;
    topo->cpu_index[cpu] = cpu;
    cpuset_add(topo->online, cpu);
    cpuset_add(topo->nodes[node].cpus, cpu);
}

static void build_node(HostTopology *topo, const HostSpec *s, unsigned node)
{
    HostNode *n = &topo->nodes[node];

    n->node = node;
    n->cpus = cpuset_new();
    n->memory = s->memory;
    n->free = s->memory;
    n->available = s->memory;
    n->tier = HOST_UNKNOWN;
    for (unsigned other = 0; other < topo->n_nodes; other++) {
        topo->distances[node * topo->n_nodes + other] =
            node == other ? 10
            : node / s->nodes == other / s->nodes ? s->near : s->far;
    }
}

HostTopology *host_build(const HostSpec *spec)
{
    HostTopology *topo = g_new0(HostTopology, 1);
    HostSpec s = *spec;
    unsigned cores;

    spec_defaults(&s);
    cores = s.packages * s.nodes * s.llcs * s.cores;
    topo->n_cpus = cores * s.threads;
    topo->cpus = g_new0(HostCpu, topo->n_cpus);
    topo->cpu_index_len = topo->n_cpus;
    topo->cpu_index = g_new0(int, topo->n_cpus);
    topo->n_nodes = s.packages * s.nodes;
    topo->nodes = g_new0(HostNode, topo->n_nodes);
    topo->has_nodes = true;
    topo->distances = g_new0(uint8_t, topo->n_nodes * topo->n_nodes);
    topo->online = cpuset_new();
    topo->isolated = cpuset_new();
    topo->types = g_new0(HostCpuType, 1);
    topo->n_types = 1;
    topo->warnings = g_ptr_array_new_with_free_func(g_free);
    for (unsigned node = 0; node < topo->n_nodes; node++) {
        build_node(topo, &s, node);
    }
    for (unsigned core = 0; core < cores; core++) {
        for (unsigned t = 0; t < s.threads; t++) {
            build_cpu(topo, &s, core, t);
        }
    }
    topo->types[0].cpus = cpuset_copy(topo->online);
    topo->types[0].name = "uniform";
    topo->allowed_cpus = cpuset_copy(topo->online);
    topo->allowed_nodes = cpuset_new_range(0, topo->n_nodes - 1);
    return topo;
}

CpuSet *host_set(const char *text)
{
    return *text ? cpulist_parse(text, &error_abort) : cpuset_new();
}

void host_allow(HostTopology *topo, const char *cpus)
{
    cpuset_free(topo->allowed_cpus);
    topo->allowed_cpus = host_set(cpus);
}

void host_allow_nodes(HostTopology *topo, const char *nodes)
{
    cpuset_free(topo->allowed_nodes);
    topo->allowed_nodes = host_set(nodes);
}

void host_isolate(HostTopology *topo, const char *cpus)
{
    g_autoptr(CpuSet) set = host_set(cpus);

    CPUSET_FOREACH(cpu, set) {
        topo->cpus[topo->cpu_index[cpu]].isolated = true;
    }
    cpuset_or(topo->isolated, set);
}

void host_offline(HostTopology *topo, const char *cpus)
{
    g_autoptr(CpuSet) set = host_set(cpus);

    CPUSET_FOREACH(cpu, set) {
        topo->cpus[topo->cpu_index[cpu]].online = false;
    }
    cpuset_andnot(topo->online, set);
    cpuset_andnot(topo->allowed_cpus, set);
    for (unsigned i = 0; i < topo->n_nodes; i++) {
        cpuset_andnot(topo->nodes[i].cpus, set);
    }
}

static HostNode *find_node(HostTopology *topo, unsigned node)
{
    for (unsigned i = 0; i < topo->n_nodes; i++) {
        if (topo->nodes[i].node == node) {
            return &topo->nodes[i];
        }
    }
    g_assert_not_reached();
}

void host_memory(HostTopology *topo, unsigned node, int64_t memory,
                 int64_t free)
{
    HostNode *n = find_node(topo, node);

    n->memory = memory;
    n->free = free;
    n->available = free;
}

void host_hugepages(HostTopology *topo, unsigned node, uint64_t size,
                    uint64_t total, uint64_t free)
{
    HostNode *n = find_node(topo, node);

    n->hugepages = g_renew(HostHugepages, n->hugepages, n->n_hugepages + 1);
    n->hugepages[n->n_hugepages++] = (HostHugepages) {
        .page_size = size, .total = total, .free = free
    };
}

void host_distance(HostTopology *topo, unsigned a, unsigned b,
                   unsigned distance)
{
    unsigned i = find_node(topo, a) - topo->nodes;
    unsigned j = find_node(topo, b) - topo->nodes;

    topo->distances[i * topo->n_nodes + j] = distance;
    topo->distances[j * topo->n_nodes + i] = distance;
}

void host_type(HostTopology *topo, const char *cpus, unsigned type,
               const char *name)
{
    g_autoptr(CpuSet) set = host_set(cpus);

    if (type >= topo->n_types) {
        topo->types = g_renew(HostCpuType, topo->types, type + 1);
        for (; topo->n_types <= type; topo->n_types++) {
            topo->types[topo->n_types].cpus = cpuset_new();
        }
    }
    CPUSET_FOREACH(cpu, set) {
        topo->cpus[topo->cpu_index[cpu]].type = type;
    }
    for (unsigned i = 0; i < topo->n_types; i++) {
        cpuset_andnot(topo->types[i].cpus, set);
    }
    cpuset_or(topo->types[type].cpus, set);
    topo->types[type].name = name;
}

void host_strip_cpus(HostTopology *topo, unsigned node)
{
    HostNode *n = find_node(topo, node);

    CPUSET_FOREACH(cpu, n->cpus) {
        topo->cpus[topo->cpu_index[cpu]].online = false;
    }
    cpuset_andnot(topo->online, n->cpus);
    cpuset_andnot(topo->allowed_cpus, n->cpus);
    cpuset_free(n->cpus);
    n->cpus = cpuset_new();
}
