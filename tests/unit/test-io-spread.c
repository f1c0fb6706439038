/*
 * Unit tests for choosing host CPUs for threads that do I/O
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/io-spread.h"
#include "host-topology-builder.h"

/* 2 packages of 2 nodes with 4 CPUs, siblings side by side */
static const HostSpec four_nodes = {
    .packages = 2, .nodes = 2, .cores = 2, .threads = 2,
};

static void test_vcpu(void)
{
    static const struct {
        unsigned queue, n_queues, vcpus, first;
    } cases[] = {
        { 0, 4, 4, 0 }, { 3, 4, 4, 3 },
        /* Fewer queues: successive runs */
        { 1, 4, 8, 2 }, { 3, 4, 8, 6 },
        /* Not even: the first ones have one more */
        { 0, 4, 6, 0 }, { 1, 4, 6, 2 }, { 2, 4, 6, 4 }, { 3, 4, 6, 5 },
        /* More queues than vCPUs */
        { 5, 8, 4, 1 }, { 0, 1, 1, 0 }, { 7, 8, 1, 0 },
        { 0, 1, 64, 0 },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_assert_cmpuint(io_spread_vcpu(cases[i].queue, cases[i].n_queues,
                                        cases[i].vcpus), ==,
                         cases[i].first);
    }
}

/* Runs cover all vCPUs: each begins where the one before ends */
static void test_vcpu_runs(void)
{
    for (unsigned vcpus = 1; vcpus <= 40; vcpus++) {
        for (unsigned n = 1; n <= vcpus; n++) {
            for (unsigned queue = 1; queue < n; queue++) {
                unsigned run = io_spread_vcpu(queue, n, vcpus) -
                               io_spread_vcpu(queue - 1, n, vcpus);

                g_assert_cmpuint(run, >=, vcpus / n);
                g_assert_cmpuint(run, <=, DIV_ROUND_UP(vcpus, n));
            }
            g_assert_cmpuint(io_spread_vcpu(n - 1, n, vcpus), ==,
                             vcpus - vcpus / n);
        }
    }
}

static void test_near(void)
{
    g_autoptr(HostTopology) topo = host_build(&four_nodes);
    static const struct {
        const char *io_cpus, *near, *expect;
    } cases[] = {
        { "0-15", "5", "4-7" },
        { "0-15", "5,9", "4-11" },
        { "0-3,8-15", "5", "0-3" },     /* the package before the other */
        { "12-15", "5", "12-15" },
        { "6", "0-15", "6" },
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(CpuSet) io_cpus = host_set(cases[i].io_cpus);
        g_autoptr(CpuSet) near = host_set(cases[i].near);
        g_autoptr(CpuSet) got = io_spread_near(topo, io_cpus, near);
        g_autofree char *text = cpulist_format(got);

        g_assert_cmpstr(text, ==, cases[i].expect);
    }
}

static void test_near_nobody(void)
{
    g_autoptr(HostTopology) topo = host_build(&four_nodes);
    g_autoptr(CpuSet) io_cpus = host_set("2,9");
    g_autoptr(CpuSet) none = cpuset_new();
    g_autoptr(CpuSet) got = io_spread_near(topo, io_cpus, none);

    g_assert_true(cpuset_equal(got, io_cpus));
}

static IoChoice choose(const HostTopology *topo, const char *near_text,
                       const char *io_text, const char *friends_text,
                       IoLoad *load, unsigned share, unsigned rotation)
{
    g_autoptr(CpuSet) near = host_set(near_text);
    g_autoptr(CpuSet) io_cpus = host_set(io_text);
    g_autoptr(CpuSet) friends = host_set(friends_text);
    IoChoice choice = io_spread_cpu(topo, near, io_cpus, friends, load,
                                    share, rotation);

    g_assert_cmpint(choice.host_cpu, >=, 0);
    io_load_add(load, choice.host_cpu, 1);
    return choice;
}

/* Cores first, then siblings, then again */
static void test_cpu_order(void)
{
    g_autoptr(HostTopology) topo = host_build(&four_nodes);
    static const int expect[] = { 4, 6, 5, 7, 4, 6, 5, 7 };
    static const int turned[] = { 6, 4, 7, 5 };
    g_auto(IoLoad) load = { };
    g_auto(IoLoad) other = { };

    for (unsigned i = 0; i < G_N_ELEMENTS(expect); i++) {
        IoChoice got = choose(topo, "4-7", "0-15", "4", &load, 0, 0);

        g_assert_cmpint(got.host_cpu, ==, expect[i]);
        g_assert_cmpint(got.host_node, ==, 1);
        g_assert_false(got.exceeded || got.remote);
    }
    for (unsigned i = 0; i < G_N_ELEMENTS(turned); i++) {
        g_assert_cmpint(choose(topo, "4-7", "0-15", "4", &other, 0,
                               2).host_cpu, ==, turned[i]);
    }
}

/* Among CPUs alike the one with the same last-level cache as its friend */
static void test_cpu_cache(void)
{
    static const HostSpec spec = { .llcs = 2, .cores = 4 };
    g_autoptr(HostTopology) topo = host_build(&spec);
    g_auto(IoLoad) load = { };

    g_assert_cmpint(choose(topo, "1-3,5-7", "1-3,5-7", "4", &load, 0,
                           0).host_cpu, ==, 5);
    g_assert_cmpint(choose(topo, "1-3,5-7", "1-3,5-7", "0", &load, 0,
                           0).host_cpu, ==, 1);
}

static void test_cpu_share(void)
{
    g_autoptr(HostTopology) topo = host_build(&four_nodes);
    g_auto(IoLoad) load = { };
    IoChoice got;

    for (unsigned i = 0; i < 4; i++) {
        got = choose(topo, "0-1", "0-1,4,12", "0", &load, 2, 0);
        g_assert_cmpint(got.host_cpu, <=, 1);
        g_assert_false(got.remote || got.exceeded);
    }
    for (unsigned i = 0; i < 2; i++) {
        got = choose(topo, "0-1", "0-1,4,12", "0", &load, 2, 0);
        g_assert_cmpint(got.host_cpu, ==, 4);
        g_assert_true(got.remote);
    }
    for (unsigned i = 0; i < 2; i++) {
        got = choose(topo, "0-1", "0-1,4,12", "0", &load, 2, 0);
        g_assert_cmpint(got.host_cpu, ==, 12);
    }
    got = choose(topo, "0-1", "0-1,4,12", "0", &load, 2, 0);
    g_assert_cmpint(got.host_cpu, <=, 1);
    g_assert_true(got.exceeded);
    g_assert_false(got.remote);
}

/* Whoever comes and goes, it is the emptiest that gets the next */
static void test_cpu_churn(void)
{
    g_autoptr(HostTopology) topo = host_build(&four_nodes);
    g_autoptr(GRand) rand = g_rand_new_with_seed(7);
    g_auto(IoLoad) load = { };

    for (unsigned i = 0; i < 2000; i++) {
        unsigned least = UINT_MAX;
        IoChoice got;

        if (g_rand_int_range(rand, 0, 3) == 0) {
            io_load_del(&load, g_rand_int_range(rand, 0, 16));
        }
        for (unsigned cpu = 0; cpu < 16; cpu++) {
            least = MIN(least, io_load_of(&load, cpu));
        }
        got = choose(topo, "0-15", "0-15", "0", &load, 0, i);
        g_assert_cmpuint(io_load_of(&load, got.host_cpu), ==, least + 1);
    }
}

/* 4 machines with 2 devices of 4 queues, one on each node: 2 on each CPU */
static void test_machines(void)
{
    static const char *const nodes[] = { "0-3", "4-7", "8-11", "12-15" };
    g_autoptr(HostTopology) topo = host_build(&four_nodes);
    g_auto(IoLoad) load = { };

    for (unsigned machine = 0; machine < 4; machine++) {
        for (unsigned queue = 0; queue < 8; queue++) {
            choose(topo, nodes[queue % 4], "0-15", nodes[queue % 4], &load,
                   0, machine);
        }
    }
    for (unsigned cpu = 0; cpu < 16; cpu++) {
        g_assert_cmpuint(io_load_of(&load, cpu), ==, 2);
    }
}

static void test_turn(void)
{
    static const struct {
        unsigned weights[3], turns, expect[3];
    } cases[] = {
        { { 4, 4, 4 }, 9, { 3, 3, 3 } },
        { { 6, 2, 0 }, 8, { 6, 2, 0 } },
        { { 1, 2, 3 }, 12, { 2, 4, 6 } },
    };
    static const unsigned none[3];

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        for (unsigned rotation = 0; rotation < 4; rotation++) {
            unsigned given[3] = { };

            for (unsigned turn = 0; turn < cases[i].turns; turn++) {
                given[io_spread_turn(cases[i].weights, given, 3,
                                     rotation)]++;
            }
            for (unsigned k = 0; k < 3; k++) {
                g_assert_cmpuint(given[k], ==, cases[i].expect[k]);
            }
        }
    }
    g_assert_cmpuint(io_spread_turn(cases[0].weights, none, 3, 2), ==, 2);
}

static void test_load(void)
{
    g_auto(IoLoad) load = { };

    io_load_del(&load, 3);
    io_load_add(&load, 3, 2);
    io_load_add(&load, CPUSET_MAX + 1, 1);
    g_assert_cmpuint(load.len, ==, 4);
    io_load_add(&load, 3, UINT_MAX);
    g_assert_cmpuint(io_load_of(&load, 3), ==, UINT_MAX);
    io_load_del(&load, 3);
    g_assert_cmpuint(io_load_of(&load, 3), ==, UINT_MAX - 1);
    g_assert_cmpuint(io_load_of(&load, 4), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/io-spread/vcpu", test_vcpu);
    g_test_add_func("/io-spread/vcpu-runs", test_vcpu_runs);
    g_test_add_func("/io-spread/near", test_near);
    g_test_add_func("/io-spread/near-nobody", test_near_nobody);
    g_test_add_func("/io-spread/cpu-order", test_cpu_order);
    g_test_add_func("/io-spread/cpu-cache", test_cpu_cache);
    g_test_add_func("/io-spread/cpu-share", test_cpu_share);
    g_test_add_func("/io-spread/cpu-churn", test_cpu_churn);
    g_test_add_func("/io-spread/machines", test_machines);
    g_test_add_func("/io-spread/turn", test_turn);
    g_test_add_func("/io-spread/load", test_load);
    return g_test_run();
}
