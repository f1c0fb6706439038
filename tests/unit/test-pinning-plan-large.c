/*
 * The planner on hosts too large for looking at every choice
 *
 * What is measured is the distance between the host nodes chosen, as all
 * else is equal on these hosts.  The best known choice comes from a search
 * that takes a thousand times longer.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "pinning-plan-harness.h"

/* Distance of one node to all others, both ways, once for each pair */
static unsigned spread_of(const HostTopology *topo, const bool *chosen)
{
    unsigned n = topo->n_nodes, sum = 0;

    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < i; j++) {
            if (chosen[i] && chosen[j]) {
                sum += topo->distances[i * n + j] +
                       topo->distances[j * n + i];
            }
        }
    }
    return sum;
}

/* Exchange one node for another while that helps */
static unsigned descend(const HostTopology *topo, bool *chosen)
{
    unsigned n = topo->n_nodes, best = spread_of(topo, chosen);
    bool better = true;

    while (better) {
        better = false;
        for (unsigned i = 0; i < n; i++) {
            for (unsigned j = 0; j < n; j++) {
                unsigned now;

                if (!chosen[i] || chosen[j]) {
                    continue;
                }
                chosen[i] = false;
                chosen[j] = true;
                now = spread_of(topo, chosen);
                if (now < best) {
                    best = now;
                    better = true;
                } else {
                    chosen[i] = true;
                    chosen[j] = false;
                }
            }
        }
    }
    return best;
}

static unsigned best_known(const HostTopology *topo, unsigned k, GRand *rand)
{
    unsigned best = UINT_MAX;

    for (unsigned round = 0; round < 12; round++) {
        g_autofree bool *chosen = g_new0(bool, topo->n_nodes);

        for (unsigned left = k; left;) {
            unsigned i = g_rand_int_range(rand, 0, topo->n_nodes);

            left -= !chosen[i];
            chosen[i] = true;
        }
        best = MIN(best, descend(topo, chosen));
    }
    return best;
}

static unsigned first_fit(const HostTopology *topo, unsigned k)
{
    g_autofree bool *chosen = g_new0(bool, topo->n_nodes);

    for (unsigned i = 0; i < k; i++) {
        chosen[i] = true;
    }
    return spread_of(topo, chosen);
}

static unsigned planned(const HostTopology *topo, const PinningPlan *plan,
                        unsigned *k)
{
    g_autofree bool *chosen = g_new0(bool, topo->n_nodes);

    *k = 0;
    for (PinningVcpuPlanList *l = plan->vcpus; l; l = l->next) {
        g_autoptr(CpuSet) cpus = host_set(l->value->host_cpus);

        CPUSET_FOREACH(cpu, cpus) {
            const HostNode *node = host_topology_node(
                topo, host_topology_cpu(topo, cpu)->node);

            *k += !chosen[node - topo->nodes];
            chosen[node - topo->nodes] = true;
        }
    }
    return spread_of(topo, chosen);
}

static void compare(const HostTopology *topo, const Machine *m, unsigned k,
                    GRand *rand)
{
    g_autoptr(PinningPlan) plan = machine_place(topo, m, &error_abort);
    unsigned used, got = planned(topo, plan, &used);
    unsigned best = best_known(topo, k, rand);

    g_test_message("%u nodes: %u, first fit %u, best known %u", k, got,
                   first_fit(topo, k), best);
    g_assert_cmpuint(used, ==, k);
    g_assert_cmpuint(got, <=, first_fit(topo, k));
    g_assert_cmpfloat(got, <=, best * 1.05);
}

/* @cores: of each node, all the same */
static void compare_all(const HostTopology *topo, unsigned cores, GRand *rand)
{
    static const unsigned counts[] = { 2, 3, 4, 6, 8, 12, 16 };

    for (int i = 0; i < ARRAY_SIZE(counts); i++) {
        unsigned k = counts[i];
        g_autoptr(GString) nodes = g_string_new("");

        compare(topo, &(Machine) { .options = "balanced,memory=none",
                                   .vcpus = k * cores }, k, rand);
        for (unsigned j = 0; j < k; j++) {
            g_string_append_printf(nodes, "%s64 %u-%u", j ? ";" : "",
                                   j * cores, (j + 1) * cores - 1);
        }
        compare(topo, &(Machine) { .options = "numa,memory=none",
                                   .vcpus = k * cores,
                                   .nodes = nodes->str }, k, rand);
    }
}

static void test_altix(void)
{
    g_autofree char *path = g_test_build_filename(
        G_TEST_DIST, "..", "data", "host-topology",
        "hwloc-altix-64-nodes.capture", NULL);
    g_autoptr(HostTopology) topo = host_topology_new(path, NULL,
                                                     &error_abort);
    g_autoptr(GRand) rand = g_rand_new_with_seed(1);

    g_assert_cmpuint(topo->n_nodes, ==, 64);
    g_assert_nonnull(topo->distances);
    compare_all(topo, 4, rand);
}

/* A torus of 8 x 8 nodes: the distance is the way */
static void test_torus(void)
{
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .nodes = 64, .cores = 4, .threads = 2 });
    g_autoptr(GRand) rand = g_rand_new_with_seed(2);

    for (unsigned a = 0; a < 64; a++) {
        for (unsigned b = 0; b < a; b++) {
            unsigned x = ABS((int)(a % 8) - (int)(b % 8));
            unsigned y = ABS((int)(a / 8) - (int)(b / 8));

            host_distance(topo, a, b, 10 + 5 * (MIN(x, 8 - x) +
                                                MIN(y, 8 - y)));
        }
    }
    compare_all(topo, 4, rand);
}

static void test_random(void)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(3);
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .nodes = 64, .cores = 4, .threads = 2 });

    for (unsigned a = 0; a < 64; a++) {
        for (unsigned b = 0; b < a; b++) {
            host_distance(topo, a, b, g_rand_int_range(rand, 11, 60));
        }
    }
    compare_all(topo, 4, rand);
}

static unsigned count_packages(const HostTopology *topo, unsigned n)
{
    g_autoptr(GString) nodes = g_string_new("");
    g_autoptr(PinningPlan) plan = NULL;
    unsigned changes = 0, last = UINT_MAX;

    for (unsigned j = 0; j < n; j++) {
        g_string_append_printf(nodes, "%s64 %u-%u", j ? ";" : "", j * 4,
                               j * 4 + 3);
    }
    plan = machine_place(topo, &(Machine) { .options = "numa",
                                            .vcpus = n * 4,
                                            .nodes = nodes->str },
                         &error_abort);
    for (unsigned g = 0; g < n; g++) {
        g_autoptr(CpuSet) cpus = plan_cpus(plan, g * 4);
        unsigned package = host_topology_cpu(topo,
                                             cpuset_first(cpus))->package;

        changes += package != last;
        last = package;
    }
    return changes;
}

/* Neighbouring guest nodes are on neighbouring host nodes */
static void test_neighbours(void)
{
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .packages = 16, .nodes = 4, .cores = 4 });

    /* host nodes of one package do not have numbers in a row */
    for (unsigned i = 0; i < topo->n_cpus; i++) {
        topo->cpus[i].package = topo->cpus[i].node % 16;
    }
    for (unsigned a = 0; a < 64; a++) {
        for (unsigned b = 0; b < a; b++) {
            host_distance(topo, a, b, a % 16 == b % 16 ? 12 : 32);
        }
    }
    g_assert_cmpuint(count_packages(topo, 12), ==, 3);
    g_assert_cmpuint(count_packages(topo, 48), ==, 12);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/pinning-plan/large/altix", test_altix);
    g_test_add_func("/pinning-plan/large/torus", test_torus);
    g_test_add_func("/pinning-plan/large/random", test_random);
    g_test_add_func("/pinning-plan/large/neighbours", test_neighbours);
    return g_test_run();
}
