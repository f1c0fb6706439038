/*
 * The planner's choice of host nodes against all choices there are
 *
 * What is best is written down here once more, from the description of the
 * policy and in another way: a choice is a bit mask for each guest node,
 * costs are floating point numbers, and every combination is looked at.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <math.h>
#include "qapi/error.h"
#include "pinning-plan-harness.h"

#define MAX_NODES 16
#define MAX_UNITS 4
#define N_COSTS 13
#define TINY 0.000001
#define FREE_ROOM 0
#define TOTAL_ROOM 1
#define ANY_ROOM 2

typedef struct Problem {
    unsigned m;                     /* host nodes with CPUs */
    unsigned node[MAX_NODES];       /* their numbers */
    unsigned cores[MAX_NODES];      /* that hold a guest core */
    unsigned slots[MAX_NODES];      /* for guest cores, siblings included */
    double load[MAX_NODES];         /* vCPUs of others */
    double distance[MAX_NODES][MAX_NODES];
    bool device[MAX_NODES];
    bool any_device;
    unsigned memory[MAX_NODES];     /* index of the memory that is nearest */
    double detour[MAX_NODES];       /* distance to it beyond a local one */
    unsigned n_memories;
    double free[MAX_NODES];         /* MiB, by memory */
    double total[MAX_NODES];
    bool unlimited;                 /* the host tells nothing of memory */
    unsigned n;                     /* guest nodes, 0: none */
    unsigned need[MAX_UNITS];       /* guest cores */
    double size[MAX_UNITS];         /* MiB */
    bool balanced;
    bool pack;
} Problem;

typedef struct Costs {
    double c[N_COSTS];
} Costs;

static unsigned units_of(const Problem *p)
{
    return MAX(p->n, 1);
}

static double room_for_cores(const Problem *p, unsigned node, unsigned level)
{
    double wanted = 0, sum = 0;

    for (unsigned g = 0; g < units_of(p); g++) {
        wanted += p->need[g];
    }
    for (unsigned i = 0; i < p->m; i++) {
        sum += p->slots[i];
    }
    return level == 0 ? p->cores[node]
           : level == 1 ? p->slots[node]
           : p->slots[node] * MAX(1, ceil(wanted / sum));
}

static double room_for_memory(const Problem *p, unsigned memory,
                              unsigned room)
{
    return room == ANY_ROOM || p->unlimited ? INFINITY
           : room == FREE_ROOM ? p->free[memory] : p->total[memory];
}

static bool in(unsigned set, unsigned node)
{
    return set >> node & 1;
}

static double over(double need, double room)
{
    return need > room + TINY ? need - room : 0;
}

static double set_room(const Problem *p, unsigned set, unsigned level)
{
    double sum = 0;

    for (unsigned i = 0; i < p->m; i++) {
        sum += in(set, i) ? room_for_cores(p, i, level) : 0;
    }
    return sum;
}

static unsigned memories_of(const Problem *p, unsigned set)
{
    unsigned memories = 0;

    for (unsigned i = 0; i < p->m; i++) {
        memories |= in(set, i) << p->memory[i];
    }
    return memories;
}

static bool is_enough(const Problem *p, unsigned g, unsigned set,
                      unsigned level, unsigned room)
{
    unsigned memories = memories_of(p, set);
    double each = floor(p->size[g] / ctpop32(memories));

    for (unsigned i = 0; i < p->n_memories; i++) {
        if (in(memories, i) && over(each, room_for_memory(p, i, room))) {
            return false;
        }
    }
    return set_room(p, set, level) >= p->need[g];
}

/* What all guest nodes put on one host node */
typedef struct Use {
    double cores;
    unsigned users;
} Use;

/* Loads and what is compared with them are counted in thousandths */
static double thousandths(double x)
{
    return floor(x * 1000 + TINY) / 1000;
}

static void find_uses(const Problem *p, const unsigned *sets, unsigned level,
                      Use *uses)
{
    for (unsigned i = 0; i < p->m; i++) {
        uses[i] = (Use) { 0 };
        for (unsigned g = 0; g < units_of(p); g++) {
            double sum = set_room(p, sets[g], level);

            if (in(sets[g], i)) {
                uses[i].users++;
                uses[i].cores += thousandths(sum
                    ? p->need[g] * room_for_cores(p, i, level) / sum
                    : (double)p->need[g] / ctpop32(sets[g]));
            }
        }
    }
}

static double inner_distance(const Problem *p, unsigned set)
{
    double sum = 0;

    for (unsigned i = 0; i < p->m; i++) {
        for (unsigned j = 0; j < i; j++) {
            if (in(set, i) && in(set, j)) {
                sum += p->distance[i][j] + p->distance[j][i];
            }
        }
    }
    return sum;
}

/* What all guest nodes put on one memory, 0 if none uses it */
static double memory_use(const Problem *p, const unsigned *sets,
                         unsigned memory, bool *used)
{
    double sum = 0;

    *used = false;
    for (unsigned g = 0; g < units_of(p); g++) {
        unsigned memories = memories_of(p, sets[g]);

        if (in(memories, memory)) {
            *used = true;
            sum += floor(p->size[g] / ctpop32(memories));
        }
    }
    return sum;
}

static Costs costs_of(const Problem *p, const unsigned *sets, unsigned level,
                      unsigned room)
{
    double lack_cores = 0, lack_memory = 0, nodes = 0, shared = 0, crowd = 0;
    double no_device = 0, inner = 0, memory = 0, load = 0, detour = 0;
    double most = 0, busiest = 0, short_memory = 0;
    Use uses[MAX_NODES];
    unsigned all = 0;

    find_uses(p, sets, level, uses);
    for (unsigned g = 0; g < units_of(p); g++) {
        all |= sets[g];
        inner += inner_distance(p, sets[g]);
    }
    for (unsigned i = 0; i < MAX_NODES; i++) {
        most = MAX(most, p->free[i]);
        busiest = MAX(busiest, p->load[i]);
    }
    for (unsigned i = 0; i < p->m; i++) {
        const Use *u = &uses[i];
        double cores = room_for_cores(p, i, level);

        if (!u->users) {
            continue;
        }
        nodes++;
        lack_cores += over(u->cores, cores);
        shared += u->users * (u->users - 1) / 2;
        crowd += ceil(over(u->cores + p->load[i], cores) - TINY);
        no_device += p->any_device && !p->device[i];
        detour += p->detour[i];
        load += p->pack ? busiest - p->load[i] : p->load[i];
    }
    for (unsigned i = 0; i < p->n_memories; i++) {
        bool used;
        double need = memory_use(p, sets, i, &used);

        if (used) {
            lack_memory += over(need, room_for_memory(p, i, room));
            short_memory += over(need, room_for_memory(p, i, FREE_ROOM));
            memory += p->pack ? p->free[i] : most - p->free[i];
        }
    }
    if (p->balanced) {
        return (Costs) { { lack_cores, lack_memory, nodes, short_memory,
                           crowd, no_device, detour, inner,
                           inner_distance(p, all), shared, memory, load } };
    }
    return (Costs) { { lack_cores, lack_memory, shared, nodes, short_memory,
                       crowd, no_device, detour, inner,
                       inner_distance(p, all), memory, load } };
}

static int compare(const Costs *a, const Costs *b)
{
    for (unsigned i = 0; i < N_COSTS; i++) {
        if (fabs(a->c[i] - b->c[i]) > 0.001) {
            return a->c[i] < b->c[i] ? -1 : 1;
        }
    }
    return 0;
}

/* All host nodes, if the machine has more vCPUs than there are cores */
static unsigned everything(const Problem *p, unsigned level)
{
    unsigned cores = 0, set = 0;

    for (unsigned i = 0; i < p->m; i++) {
        cores += p->cores[i];
        set |= (room_for_cores(p, i, level) > 0) << i;
    }
    return units_of(p) == 1 && p->need[0] > cores ? set : 0;
}

static unsigned fewest(const Problem *p, unsigned g, unsigned level,
                       unsigned room)
{
    unsigned best = p->m, all = everything(p, level);

    if (all && is_enough(p, g, all, level, room)) {
        return ctpop32(all);
    }

    for (unsigned set = 1; set < 1u << p->m; set++) {
        if (ctpop32(set) < best && is_enough(p, g, set, level, room)) {
            best = ctpop32(set);
        }
    }
    return best;
}

/* The best choice of sets that have no more than @wider nodes too many */
static bool best_of_all(const Problem *p, unsigned level, unsigned room,
                        unsigned wider, Costs *best)
{
    unsigned n = units_of(p), sets[MAX_UNITS], k[MAX_UNITS], end = 1u << p->m;
    bool found = false;

    for (unsigned g = 0; g < n; g++) {
        sets[g] = 0;
        k[g] = fewest(p, g, level, room);
    }
    for (unsigned g = 0;;) {
        sets[g]++;
        if (sets[g] == end) {
            sets[g] = 0;
            if (g-- == 0) {
                return found;
            }
            continue;
        }
        if (ctpop32(sets[g]) < k[g] || ctpop32(sets[g]) > k[g] + wider ||
            !is_enough(p, g, sets[g], level, room)) {
            continue;
        }
        if (g + 1 < n) {
            g++;
        } else {
            Costs costs = costs_of(p, sets, level, room);

            if (!found || compare(&costs, best) < 0) {
                *best = costs;
                found = true;
            }
        }
    }
}

/* In the order in which things are given up; false if nothing is enough */
static bool solve(const Problem *p, Costs *best, unsigned *level,
                  unsigned *room)
{
    for (*room = FREE_ROOM; *room <= ANY_ROOM; ++*room) {
        for (*level = 0; *level < 3; ++*level) {
            for (unsigned wider = 0; wider < p->m; wider++) {
                if (best_of_all(p, *level, *room, wider, best) &&
                    best->c[0] == 0 && best->c[1] == 0) {
                    return true;
                }
                if (units_of(p) == 1) {
                    break;
                }
            }
        }
    }
    return false;
}

static int index_of_node(const Problem *p, int node)
{
    for (unsigned i = 0; i < p->m; i++) {
        if ((int)p->node[i] == node) {
            return i;
        }
    }
    return -1;
}

static unsigned set_of_vcpu(const Problem *p, const HostTopology *topo,
                            const PinningPlan *plan, unsigned vcpu)
{
    g_autoptr(CpuSet) cpus = plan_cpus(plan, vcpu);
    unsigned set = 0;

    CPUSET_FOREACH(cpu, cpus) {
        set |= 1u << index_of_node(p, host_topology_cpu(topo, cpu)->node);
    }
    return set;
}

/* One random question, as the planner and as the brute force get it */
typedef struct Question {
    HostTopology *topo;
    Machine machine;
    Problem p;
    unsigned first_vcpu[MAX_UNITS];
    GString *nodes, *taken, *devices;
} Question;

static HostTopology *make_host(GRand *rand, unsigned m, unsigned threads)
{
    static const unsigned distances[] = { 12, 16, 21, 32 };
    unsigned cores = g_rand_boolean(rand) ? 6 : 2;
    HostSpec spec = { .nodes = m, .cores = cores, .threads = threads };
    HostTopology *topo = host_build(&spec);

    for (unsigned i = 0; i < m; i++) {
        unsigned first = i * cores * threads;
        unsigned keep = g_rand_int_range(rand, 1, cores * threads + 1);
        uint64_t total = g_rand_int_range(rand, 4, 17);
        uint64_t free = g_rand_int_range(rand, 1, total + 1);
        bool none = m > 2 && g_rand_int_range(rand, 0, 8) == 0;

        if (keep < cores * threads) {
            g_autofree char *gone = g_strdup_printf(
                "%u-%u", first + keep, first + cores * threads - 1);

            host_offline(topo, gone);
        }
        host_memory(topo, i, none ? 0 : total * GiB, none ? 0 : free * GiB);
        for (unsigned j = 0; j < i; j++) {
            host_distance(topo, i, j,
                          distances[g_rand_int_range(rand, 0, 4)]);
        }
    }
    return topo;
}

static void make_others(Question *q, GRand *rand)
{
    q->taken = g_string_new("{ 'cpus': [ ");
    q->devices = g_string_new("");
    for (unsigned i = 0; i < q->p.m; i++) {
        const HostNode *node = host_topology_node(q->topo, q->p.node[i]);
        unsigned load = g_rand_int_range(rand, 0, 5) * 250;

        if (g_rand_int_range(rand, 0, 3) == 0) {
            g_autofree char *cpus = cpulist_format(node->cpus);

            g_string_append_printf(
                q->taken, "%s{ 'host-cpus': '%s', 'load': %u }",
                q->taken->str[q->taken->len - 2] == '[' ? "" : ", ", cpus,
                load);
            q->p.load[i] = load / 1000.0 * cpuset_count(node->cpus);
        }
        if (g_rand_int_range(rand, 0, 6) == 0) {
            g_string_append_printf(q->devices, "%s%u",
                                   q->devices->len ? "," : "", node->node);
            q->p.device[i] = q->p.any_device = true;
        }
    }
    g_string_append(q->taken, " ] }");
}

/* So that a machine is at times a little too large, and at times small */
static unsigned most_cores(const Question *q, unsigned n)
{
    unsigned all = cpuset_count(q->topo->allowed_cpus);

    return MAX(8, all / MAX(n, 1) * 6 / 5);
}

static double most_memory(const Question *q, unsigned n)
{
    double sum = 0;

    for (unsigned i = 0; i < q->p.n_memories; i++) {
        sum += q->p.free[i];
    }
    return MAX(8192, sum / MAX(n, 1) * 6 / 5);
}

static void make_machine(Question *q, GRand *rand, unsigned n,
                         unsigned threads)
{
    unsigned vcpus = 0, most = most_cores(q, n) / threads + 1;
    unsigned each = g_rand_int_range(rand, 1, most + 1);
    bool alike = g_rand_boolean(rand);
    uint64_t most_size = most_memory(q, n) / 720 + 2;
    uint64_t size = g_rand_int_range(rand, 1, most_size);

    q->p.n = n;
    q->nodes = g_string_new("");
    for (unsigned g = 0; g < MAX(n, 1); g++) {
        if (!alike) {
            each = g_rand_int_range(rand, 1, most + 1);
            size = g_rand_int_range(rand, 1, most_size);
        }
        q->p.need[g] = each;
        q->p.size[g] = size * 720;
        g_string_append_printf(q->nodes, "%s%" PRIu64 " %u-%u",
                               g ? ";" : "", size * 720, vcpus,
                               vcpus + each * threads - 1);
        q->first_vcpu[g] = vcpus;
        vcpus += each * threads;
    }
    q->p.balanced = g_rand_boolean(rand);
    q->p.pack = g_rand_int_range(rand, 0, 4) == 0;
    q->machine = (Machine) {
        .options = q->p.balanced ? (q->p.pack ? "balanced,strategy=pack"
                                              : "balanced")
                                 : (q->p.pack ? "numa,strategy=pack" : "numa"),
        .vcpus = vcpus,
        .threads = threads,
        .memory = q->p.size[0] * MiB,
        .nodes = n ? q->nodes->str : NULL,
        .device_nodes = q->p.any_device ? q->devices->str : NULL,
        .taken = q->taken->str,
    };
    if (n) {
        q->machine.memory = 0;
    }
}

/* Room for guest cores of @threads vCPUs */
static unsigned count_cores(Question *q, unsigned threads)
{
    g_autofree unsigned *in_core = g_new0(unsigned, q->topo->cpu_index_len);
    unsigned sum = 0;

    memset(q->p.cores, 0, sizeof(q->p.cores));
    memset(q->p.slots, 0, sizeof(q->p.slots));
    CPUSET_FOREACH(cpu, q->topo->allowed_cpus) {
        const HostCpu *c = host_topology_cpu(q->topo, cpu);
        unsigned n = ++in_core[c->core];
        int i = index_of_node(&q->p, c->node);

        q->p.cores[i] += n == threads;
        q->p.slots[i] += n % threads == 0;
        sum += n % threads == 0;
    }
    return sum;
}

static void count_room(Question *q, unsigned threads)
{
    unsigned need = 0;

    for (unsigned g = 0; g < units_of(&q->p); g++) {
        need += q->p.need[g];
    }
    /* siblings for all of the guest's or for none */
    if (count_cores(q, threads) < need) {
        count_cores(q, 1);
        for (unsigned g = 0; g < units_of(&q->p); g++) {
            q->p.need[g] *= threads;
        }
    }
}

static void find_nodes(Question *q)
{
    Problem *p = &q->p;

    CPUSET_FOREACH(cpu, q->topo->allowed_cpus) {
        int node = host_topology_cpu(q->topo, cpu)->node;

        if (index_of_node(p, node) < 0) {
            unsigned i = p->m++;

            g_assert(p->m <= MAX_NODES && node >= 0);
            for (; i && p->node[i - 1] > (unsigned)node; i--) {
                p->node[i] = p->node[i - 1];
            }
            p->node[i] = node;
        }
    }
    for (unsigned i = 0; i < p->m; i++) {
        for (unsigned j = 0; j < p->m; j++) {
            p->distance[i][j] = host_topology_distance(
                q->topo, p->node[i], p->node[j]);
        }
    }
}

/* Memory of a node without CPUs is only for those that have no other */
static double memory_distance(const Question *q, unsigned i,
                              const HostNode *memory)
{
    return host_topology_distance(q->topo, q->p.node[i], memory->node) +
           (cpuset_is_empty(memory->cpus) ? 1000 : 0);
}

static void find_memory(Question *q)
{
    Problem *p = &q->p;
    double best[MAX_NODES];

    for (unsigned j = 0; j < q->topo->n_nodes; j++) {
        const HostNode *memory = &q->topo->nodes[j];

        if (!memory->memory) {
            continue;
        }
        p->unlimited |= memory->memory == HOST_UNKNOWN;
        p->free[p->n_memories] = p->unlimited ? 0 : memory->free / MiB;
        p->total[p->n_memories] = p->unlimited ? 0 : memory->memory / MiB;
        for (unsigned i = 0; i < p->m; i++) {
            double d = p->node[i] == memory->node
                       ? 0 : memory_distance(q, i, memory);

            if (!p->n_memories || d < best[i]) {
                best[i] = d;
                p->memory[i] = p->n_memories;
                p->detour[i] = !d ? 0 : fmod(d, 1000) - 10;
            }
        }
        p->n_memories++;
    }
}

static void question_clear(Question *q)
{
    g_string_free(q->nodes, TRUE);
    g_string_free(q->taken, TRUE);
    g_string_free(q->devices, TRUE);
}

static void explain(const Question *q, const unsigned *sets, const Costs *got,
                    const Costs *best)
{
    g_test_message("%s, %u vCPUs, threads %u, nodes %s", q->machine.options,
                   q->machine.vcpus, q->machine.threads, q->nodes->str);
    for (unsigned g = 0; g < units_of(&q->p); g++) {
        g_test_message("guest node %u: set 0x%x", g, sets[g]);
    }
    for (unsigned i = 0; i < q->p.m; i++) {
        unsigned m = q->p.memory[i];

        g_test_message("host node %u: %u cores, %u slots, load %g, memory "
                       "%u: %g of %g MiB%s", q->p.node[i], q->p.cores[i],
                       q->p.slots[i], q->p.load[i], m, q->p.free[m],
                       q->p.total[m], q->p.device[i] ? ", device" : "");
    }
    for (unsigned i = 0; i < N_COSTS; i++) {
        g_test_message("cost %u: %g, best %g", i, got->c[i], best->c[i]);
    }
}

/* Returns: whether the question had an answer to compare with */
static bool ask(HostTopology *topo, GRand *rand, unsigned threads, unsigned n)
{
    unsigned level, room, sets[MAX_UNITS];
    Question q = { .topo = topo };
    PinningPlan *plan;
    Costs best, got;
    bool answer;

    find_nodes(&q);
    find_memory(&q);
    make_others(&q, rand);
    make_machine(&q, rand, n, threads);
    count_room(&q, threads);
    plan = machine_place(topo, &q.machine, &error_abort);
    for (unsigned g = 0; g < units_of(&q.p); g++) {
        sets[g] = set_of_vcpu(&q.p, topo, plan, q.first_vcpu[g]);
    }
    answer = solve(&q.p, &best, &level, &room);
    if (answer) {
        got = costs_of(&q.p, sets, level, room);
        if (compare(&got, &best)) {
            explain(&q, sets, &got, &best);
        }
        g_assert_cmpint(compare(&got, &best), ==, 0);
    }
    qapi_free_PinningPlan(plan);
    question_clear(&q);
    return answer;
}

static void ask_many(unsigned seed, unsigned rounds, unsigned max_m,
                     unsigned n)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(seed);
    unsigned answers = 0;

    for (unsigned i = 0; i < rounds; i++) {
        unsigned threads = g_rand_int_range(rand, 1, 3);
        g_autoptr(HostTopology) topo = make_host(
            rand, g_rand_int_range(rand, 1, max_m + 1), threads);

        answers += ask(topo, rand, threads, n);
    }
    /* most questions must be real ones, else nothing is tested */
    g_assert_cmpuint(answers, >, rounds / 2);
}

/* Captured machines of 16 nodes at most, and questions each is asked */
static const struct {
    const char *name;
    unsigned most;          /* guest nodes; more take too long by force */
} machines[] = {
    { "hwloc-all-cpus-in-8-nodes", 4 },
    { "hwloc-kunpeng920-128c", 4 },
    { "hwloc-memory-tiers", 4 },
    { "hwloc-multi-die", 1 },
    { "hwloc-offline-cpus-oldkernel", 4 },
    { "hwloc-opteron-6276-cmt", 2 },
    { "hwloc-sparse-node-ids", 2 },
    { "libvirt-power8-subcores", 4 },
    { "lscpu-epyc-7451-2s", 2 },
    { "text-gh200-empty-nodes", 4 },
    { "text-tr3960x-memoryless", 4 },
};

static void test_captured(gconstpointer data)
{
    unsigned i = GPOINTER_TO_UINT(data), answers = 0, asked = 0;
    g_autofree char *name = g_strdup_printf("%s.capture", machines[i].name);
    g_autofree char *path = g_test_build_filename(
        G_TEST_DIST, "..", "data", "host-topology", name, NULL);
    g_autoptr(HostTopology) topo = host_topology_new(path, NULL,
                                                     &error_abort);
    g_autoptr(GRand) rand = g_rand_new_with_seed(i);

    cpuset_andnot(topo->allowed_cpus, topo->isolated);
    for (unsigned n = 0; n <= machines[i].most; n++) {
        for (unsigned round = 0; round < 12; round++) {
            asked++;
            answers += ask(topo, rand, 1 + round % 2, n);
        }
    }
    g_assert_cmpuint(answers, >, asked / 2);
}

static void test_flat(void)
{
    ask_many(1, 400, 8, 0);
}

static void test_flat_16(void)
{
    ask_many(2, 30, MAX_NODES, 0);
}

static void test_two_guest_nodes(void)
{
    ask_many(3, 400, 6, 2);
}

static void test_three_guest_nodes(void)
{
    ask_many(4, 200, 5, 3);
}

static void test_four_guest_nodes(void)
{
    ask_many(5, 60, 4, 4);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pinning-plan/optimal/flat", test_flat);
    g_test_add_func("/pinning-plan/optimal/flat-16", test_flat_16);
    g_test_add_func("/pinning-plan/optimal/two", test_two_guest_nodes);
    g_test_add_func("/pinning-plan/optimal/three", test_three_guest_nodes);
    g_test_add_func("/pinning-plan/optimal/four", test_four_guest_nodes);
    for (unsigned i = 0; i < ARRAY_SIZE(machines); i++) {
        g_autofree char *path = g_strdup_printf("/pinning-plan/optimal/%s",
                                                machines[i].name);

        g_test_add_data_func(path, GUINT_TO_POINTER(i), test_captured);
    }
    return g_test_run();
}
