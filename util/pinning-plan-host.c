/*
 * Choosing where a virtual machine goes: places, caches, cores, memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "pinning-plan-internal.h"

/* Between host CPUs that no node claims and everything else */
#define DISTANCE_UNKNOWN 254

int plan_core_of(const HostCpu *c)
{
    return c->core == HOST_UNKNOWN ? (int)c->cpu : c->core;
}

/*
 * Cores of a node whose cache the host does not tell are one run, for want
 * of a better division; clusters are one.
 */
static int llc_of(const HostCpu *c)
{
    if (c->llc != HOST_UNKNOWN) {
        return c->llc;
    }
    return c->cluster == HOST_UNKNOWN ? -1 : -2 - c->cluster;
}

/* Host CPUs without node come last */
static unsigned node_order(const HostCpu *c)
{
    return (unsigned)c->node;
}

static int compare_cpus(const void *a, const void *b)
{
    const HostCpu *x = *(const HostCpu **)a;
    const HostCpu *y = *(const HostCpu **)b;

    if (node_order(x) != node_order(y)) {
        return node_order(x) < node_order(y) ? -1 : 1;
    }
    if (llc_of(x) != llc_of(y)) {
        return llc_of(x) < llc_of(y) ? -1 : 1;
    }
    if (plan_core_of(x) != plan_core_of(y)) {
        return plan_core_of(x) < plan_core_of(y) ? -1 : 1;
    }
    return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static const HostCpu **sorted_cpus(const Planner *p, unsigned n)
{
    const HostCpu **cpus = g_new(const HostCpu *, n);
    unsigned i = 0;

    CPUSET_FOREACH(cpu, p->usable) {
        cpus[i++] = host_topology_cpu(p->topo, cpu);
    }
    qsort(cpus, n, sizeof(*cpus), compare_cpus);
    return cpus;
}

static void add_place(Planner *p, const HostCpu *c)
{
    PlanHost *h = &p->host;

    h->places[h->n_places++] = (PlanPlace) {
        .node = c->node,
        .first_cpu = h->n_cpus,
        .first_core = h->n_cores,
        .first_llc = h->n_llcs,
        .memory = -1,
        .device = c->node >= 0 && p->req->device_nodes &&
                  cpuset_contains(p->req->device_nodes, c->node),
    };
}

static void add_cpu(Planner *p, const HostCpu *before, const HostCpu *c)
{
    PlanHost *h = &p->host;
    bool new_place = !before || before->node != c->node;
    bool new_llc = new_place || llc_of(before) != llc_of(c);
    bool new_core = new_llc || plan_core_of(before) != plan_core_of(c);
    unsigned load = plan_load_of(&p->others, c->cpu);
    PlanPlace *place;
    PlanCore *core;

    if (new_place) {
        add_place(p, c);
    }
    place = &h->places[h->n_places - 1];
    if (new_llc) {
        h->llcs[h->n_llcs++] = (PlanLlc) {
            .first_core = h->n_cores,
            .place = h->n_places - 1,
        };
        place->n_llcs++;
    }
    if (new_core) {
        h->llcs[h->n_llcs - 1].n_cores++;
        h->cores[h->n_cores++] = (PlanCore) {
            .first_cpu = h->n_cpus,
            .llc = h->n_llcs - 1,
            .isolated = c->isolated,
        };
        place->n_cores++;
    }
    core = &h->cores[h->n_cores - 1];
    core->n_cpus++;
    core->load += load;
    core->peak = MAX(core->peak, load);
    place->n_cpus++;
    place->load += load;
    h->cpus[h->n_cpus++] = (PlanCpu) {
        .cpu = c->cpu,
        .core = h->n_cores - 1,
        .load = load,
    };
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* What others promised themselves of @m */
static void promised(const Planner *p, const PlanMemory *m, uint64_t *all,
                     uint64_t *untouched)
{
    for (PinningTakenNodeList *l = p->others.nodes; l; l = l->next) {
        const PinningTakenNode *t = l->value;
        uint64_t page_size = t->has_page_size ? t->page_size : 0;

        if (t->host_node == m->node && page_size == m->page_size) {
            *all += t->promised;
            *untouched += t->has_untouched ? t->untouched : t->promised;
        }
    }
}

static void fill_memory(const Planner *p, const HostNode *n, PlanMemory *m)
{
    uint64_t all = 0, untouched = 0, free, pools = 0;

    promised(p, m, &all, &untouched);
    m->known = m->page_size || n->memory != HOST_UNKNOWN;
    for (unsigned i = 0; i < n->n_hugepages; i++) {
        const HostHugepages *pool = &n->hugepages[i];

        pools += pool->total * pool->page_size;
        if (pool->page_size == m->page_size) {
            m->pool = pool->total * pool->page_size;
            m->free = minus(pool->free * pool->page_size, untouched);
            m->total = minus(m->pool, all);
        }
    }
    if (!m->page_size && m->known) {
        m->pool = n->memory;
        m->total = minus(n->memory, pools + all);
        free = n->available == HOST_UNKNOWN ? minus(n->memory, pools)
                                            : n->available;
        m->free = MIN(minus(free, untouched), m->total);
    }
}

unsigned plan_page_size_index(const Planner *p, uint64_t page_size)
{
    const PlanHost *h = &p->host;
    unsigned i = 0;

    while (i < h->n_sizes && h->page_sizes[i] != page_size) {
        i++;
    }
    return i;
}

static void add_page_size(Planner *p, uint64_t page_size)
{
    PlanHost *h = &p->host;

    if (plan_page_size_index(p, page_size) == h->n_sizes) {
        h->page_sizes[h->n_sizes++] = page_size;
    }
}

static void map_page_sizes(Planner *p)
{
    const PinningRequest *req = p->req;

    p->host.page_sizes = g_new0(uint64_t, req->n_nodes + 1);
    for (unsigned i = 0; i < req->n_nodes; i++) {
        add_page_size(p, req->nodes[i].page_size);
    }
    if (!req->n_nodes) {
        add_page_size(p, req->page_size);
    }
}

/* What @u can have of the node that is @memory-th with memory */
PlanMemory *plan_memory(const Planner *p, const PlanUnit *u, unsigned memory)
{
    return &p->host.memories[memory * p->host.n_sizes + u->page_size];
}

static void map_memory(Planner *p)
{
    const HostTopology *topo = p->topo;
    PlanHost *h = &p->host;

    h->memories = g_new0(PlanMemory, topo->n_nodes * h->n_sizes);
    for (unsigned i = 0; i < topo->n_nodes; i++) {
        const HostNode *n = &topo->nodes[i];

        if (!n->memory || !cpuset_contains(topo->allowed_nodes, n->node) ||
            (p->wishes.hostnodes &&
             !cpuset_contains(p->wishes.hostnodes, n->node))) {
            continue;
        }
        for (unsigned j = 0; j < h->n_sizes; j++) {
            PlanMemory *m = &h->memories[h->n_memories * h->n_sizes + j];

            m->node = n->node;
            m->page_size = h->page_sizes[j];
            fill_memory(p, n, m);
        }
        h->n_memories++;
    }
}

static unsigned distance_of(const HostTopology *topo, int a, int b)
{
    if (a == HOST_UNKNOWN || b == HOST_UNKNOWN) {
        return DISTANCE_UNKNOWN;
    }
    return host_topology_distance(topo, a, b);
}

/*
 * A node without memory of its own borrows from the nearest one.  Memory of
 * nodes without CPUs is a tier of its own and only the last resort.
 */
static void find_memory(Planner *p, PlanPlace *place)
{
    const PlanHost *h = &p->host;
    unsigned best = UINT_MAX;

    for (unsigned i = 0; place->node >= 0 && i < h->n_memories; i++) {
        const HostNode *n = host_topology_node(
            p->topo, h->memories[i * h->n_sizes].node);
        unsigned d = distance_of(p->topo, place->node, n->node);
        unsigned rank = d + (cpuset_is_empty(n->cpus) ? 256 : 0);

        if ((int)n->node == place->node) {
            place->memory = i;
            place->detour = 0;
            return;
        }
        if (rank < best) {
            best = rank;
            place->memory = i;
            place->detour = MAX(d, 10) - 10;
        }
    }
}

static void map_distances(Planner *p)
{
    PlanHost *h = &p->host;

    h->distance = g_new0(uint32_t, (size_t)h->n_places * h->n_places);
    for (unsigned i = 0; i < h->n_places; i++) {
        for (unsigned j = 0; j < i; j++) {
            int a = h->places[i].node, b = h->places[j].node;
            uint32_t d = distance_of(p->topo, a, b) +
                         distance_of(p->topo, b, a);

            h->distance[i * h->n_places + j] = d;
            h->distance[j * h->n_places + i] = d;
        }
    }
}

void plan_map_host(Planner *p)
{
    PlanHost *h = &p->host;
    unsigned n = cpuset_count(p->usable);
    g_autofree const HostCpu **cpus = sorted_cpus(p, n);

    h->cpus = g_new0(PlanCpu, n);
    h->cores = g_new0(PlanCore, n);
    h->llcs = g_new0(PlanLlc, n);
    h->places = g_new0(PlanPlace, p->topo->n_nodes + 1);
    for (unsigned i = 0; i < n; i++) {
        add_cpu(p, i ? cpus[i - 1] : NULL, cpus[i]);
    }
    map_page_sizes(p);
    map_memory(p);
    map_distances(p);
    for (unsigned i = 0; i < h->n_places; i++) {
        find_memory(p, &h->places[i]);
    }
}

void plan_host_clear(PlanHost *h)
{
    g_free(h->cpus);
    g_free(h->cores);
    g_free(h->llcs);
    g_free(h->places);
    g_free(h->memories);
    g_free(h->page_sizes);
    g_free(h->distance);
}

int plan_place_of_node(const Planner *p, unsigned node)
{
    for (unsigned i = 0; i < p->host.n_places; i++) {
        if (p->host.places[i].node == (int)node) {
            return i;
        }
    }
    return -1;
}
