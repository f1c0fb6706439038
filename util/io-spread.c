/*
 * Choosing host CPUs for threads that do I/O
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/io-spread.h"

void io_load_add(IoLoad *load, unsigned host_cpu, unsigned n)
{
    if (host_cpu > CPUSET_MAX) {
        return;
    }
    if (host_cpu >= load->len) {
        load->count = g_renew(unsigned, load->count, host_cpu + 1);
        memset(load->count + load->len, 0,
               (host_cpu + 1 - load->len) * sizeof(unsigned));
        load->len = host_cpu + 1;
    }
    load->count[host_cpu] += MIN(n, UINT_MAX - load->count[host_cpu]);
}

void io_load_del(IoLoad *load, unsigned host_cpu)
{
    if (io_load_of(load, host_cpu)) {
        load->count[host_cpu]--;
    }
}

unsigned io_load_of(const IoLoad *load, unsigned host_cpu)
{
    return host_cpu < load->len ? load->count[host_cpu] : 0;
}

void io_load_clear(IoLoad *load)
{
    g_clear_pointer(&load->count, g_free);
    load->len = 0;
}

unsigned io_spread_vcpu(unsigned queue, unsigned n_queues, unsigned vcpus)
{
    unsigned run, longer;

    g_assert(n_queues && vcpus);
    if (n_queues >= vcpus) {
        return queue % vcpus;
    }
    queue %= n_queues;
    run = vcpus / n_queues;
    longer = vcpus % n_queues;
    return queue * run + MIN(queue, longer);
}

static int node_of(const HostTopology *topo, unsigned host_cpu)
{
    const HostCpu *cpu = host_topology_cpu(topo, host_cpu);

    return cpu ? cpu->node : HOST_UNKNOWN;
}

static CpuSet *nodes_of(const HostTopology *topo, const CpuSet *cpus)
{
    CpuSet *nodes = cpuset_new();

    CPUSET_FOREACH(host_cpu, cpus) {
        int node = node_of(topo, host_cpu);

        if (node >= 0) {
            cpuset_add(nodes, node);
        }
    }
    return nodes;
}

/* From @node to the nearest of @nodes, UINT_MAX if nobody can tell */
static unsigned distance_to(const HostTopology *topo, int node,
                            const CpuSet *nodes)
{
    unsigned best = UINT_MAX;

    if (node >= 0) {
        CPUSET_FOREACH(other, nodes) {
            best = MIN(best, host_topology_distance(topo, node, other));
        }
    }
    return best;
}

CpuSet *io_spread_near(const HostTopology *topo, const CpuSet *io_cpus,
                       const CpuSet *near)
{
    g_autoptr(CpuSet) nodes = nodes_of(topo, near);
    CpuSet *out = cpuset_new();
    unsigned best = UINT_MAX;

    CPUSET_FOREACH(host_cpu, io_cpus) {
        unsigned distance = distance_to(topo, node_of(topo, host_cpu), nodes);

        if (distance < best) {
            cpuset_andnot(out, io_cpus);
            best = distance;
        }
        if (distance == best) {
            cpuset_add(out, host_cpu);
        }
    }
    return out;
}

/* What counts for and against a host CPU, the weightiest first */
typedef struct Rank {
    unsigned load;
    unsigned core_load;
    bool other_cache;
    unsigned cache_load;
    unsigned turn;
} Rank;

static int compare_unsigned(unsigned a, unsigned b)
{
    return a < b ? -1 : a > b;
}

static int compare_ranks(const Rank *a, const Rank *b)
{
    return compare_unsigned(a->load, b->load) ?:
           compare_unsigned(a->core_load, b->core_load) ?:
           compare_unsigned(a->other_cache, b->other_cache) ?:
           compare_unsigned(a->cache_load, b->cache_load) ?:
           compare_unsigned(a->turn, b->turn);
}

/* Load by core and by cache, each under its lowest host CPU */
typedef struct Sums {
    IoLoad core;
    IoLoad cache;
    CpuSet *friend_caches;
} Sums;

static void sums_init(Sums *sums, const HostTopology *topo,
                      const CpuSet *friends, const IoLoad *load)
{
    unsigned i;

    *sums = (Sums) { .friend_caches = cpuset_new() };
    for (i = 0; i < topo->n_cpus; i++) {
        const HostCpu *cpu = &topo->cpus[i];
        unsigned n = io_load_of(load, cpu->cpu);

        if (cpu->core >= 0) {
            io_load_add(&sums->core, cpu->core, n);
        }
        if (cpu->llc >= 0) {
            io_load_add(&sums->cache, cpu->llc, n);
            if (cpuset_contains(friends, cpu->cpu)) {
                cpuset_add(sums->friend_caches, cpu->llc);
            }
        }
    }
}

static void sums_clear(Sums *sums)
{
    io_load_clear(&sums->core);
    io_load_clear(&sums->cache);
    cpuset_free(sums->friend_caches);
}

static Rank rank_of(const HostTopology *topo, unsigned host_cpu,
                    const IoLoad *load, const Sums *sums)
{
    const HostCpu *cpu = host_topology_cpu(topo, host_cpu);
    Rank rank = { .load = io_load_of(load, host_cpu), .other_cache = true };

    if (cpu && cpu->core >= 0) {
        rank.core_load = io_load_of(&sums->core, cpu->core);
    }
    if (cpu && cpu->llc >= 0) {
        rank.cache_load = io_load_of(&sums->cache, cpu->llc);
        rank.other_cache = !cpuset_contains(sums->friend_caches, cpu->llc);
    }
    return rank;
}

/* The best of @from that carries less than @share; -1 if there is none */
static int best_of(const HostTopology *topo, const CpuSet *from,
                   const IoLoad *load, const Sums *sums, unsigned share,
                   unsigned rotation)
{
    unsigned n = cpuset_count(from), i = 0;
    Rank best = { };
    int found = -1;

    CPUSET_FOREACH(host_cpu, from) {
        Rank rank = rank_of(topo, host_cpu, load, sums);

        rank.turn = (i++ + n - rotation % n) % n;
        if (rank.load < share &&
            (found < 0 || compare_ranks(&rank, &best) < 0)) {
            best = rank;
            found = host_cpu;
        }
    }
    return found;
}

IoChoice io_spread_cpu(const HostTopology *topo, const CpuSet *near,
                       const CpuSet *io_cpus, const CpuSet *friends,
                       const IoLoad *load, unsigned share,
                       unsigned rotation)
{
    g_autoptr(CpuSet) rest = cpuset_copy(io_cpus);
    IoChoice choice = { };
    Sums sums;

    sums_init(&sums, topo, friends, load);
    share = share ?: UINT_MAX;
    choice.host_cpu = best_of(topo, near, load, &sums, share, rotation);
    cpuset_andnot(rest, near);
    while (choice.host_cpu < 0 && !cpuset_is_empty(rest)) {
        g_autoptr(CpuSet) next = io_spread_near(topo, rest, near);

        choice.host_cpu = best_of(topo, next, load, &sums, share, rotation);
        choice.remote = choice.host_cpu >= 0;
        cpuset_andnot(rest, next);
    }
    if (choice.host_cpu < 0) {
        choice.exceeded = true;
        choice.host_cpu = best_of(topo, near, load, &sums, UINT_MAX,
                                  rotation);
    }
    sums_clear(&sums);
    choice.host_node = choice.host_cpu < 0 ? HOST_UNKNOWN :
                       node_of(topo, choice.host_cpu);
    return choice;
}

unsigned io_spread_turn(const unsigned *weights, const unsigned *given,
                        unsigned n, unsigned rotation)
{
    unsigned best = n, i;

    for (i = 0; i < n; i++) {
        unsigned k = (i + rotation % n) % n;

        /* (given + 1) / weight, compared without dividing */
        if (weights[k] &&
            (best == n || (uint64_t)(given[k] + 1) * weights[best] <
                          (uint64_t)(given[best] + 1) * weights[k])) {
            best = k;
        }
    }
    g_assert(best < n);
    return best;
}
