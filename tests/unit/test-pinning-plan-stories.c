/*
 * Unit tests for the planner: what went wrong elsewhere
 *
 * Each test is a failure that users of other systems met in public, and the
 * answer that is right.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "pinning-plan-harness.h"

static CpuSet *all_cpus(const PinningPlan *plan)
{
    CpuSet *all = cpuset_new();

    for (PinningVcpuPlanList *l = plan->vcpus; l; l = l->next) {
        g_autoptr(CpuSet) cpus = host_set(l->value->host_cpus);

        cpuset_or(all, cpus);
    }
    return all;
}

static void assert_one_to_one(const PinningPlan *plan, unsigned vcpus)
{
    g_autoptr(CpuSet) all = all_cpus(plan);

    g_assert_cmpuint(cpuset_count(all), ==, vcpus);
    for (PinningVcpuPlanList *l = plan->vcpus; l; l = l->next) {
        g_autoptr(CpuSet) cpus = host_set(l->value->host_cpus);

        g_assert_cmpuint(cpuset_count(cpus), ==, 1);
    }
}

static void assert_refused(const HostTopology *topo, const Machine *m,
                           const char *message)
{
    Error *err = NULL;

    g_assert_null(machine_place(topo, m, &err));
    g_assert_cmpstr(error_get_pretty(err), ==, message);
    error_free(err);
}

/*
 * Kata: vCPU i of a node went to allowed[i % n], so that pairs of vCPUs ran
 * on one CPU at half speed.
 */
static void test_kata_wrap_around(void)
{
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .nodes = 2, .cores = 4 });
    g_autoptr(PinningPlan) plan = machine_place(
        topo, &(Machine) { .options = "one-to-one", .vcpus = 8,
                           .nodes = "512 0-5;512 6-7" }, &error_abort);
    g_autoptr(PinningPlan) three = NULL;

    assert_one_to_one(plan, 8);
    three = machine_place(
        topo, &(Machine) { .options = "one-to-one,cpus=0-2,,4-6", .vcpus = 6,
                           .nodes = "512 0-1;512 2-3;512 4-5" },
        &error_abort);
    assert_one_to_one(three, 6);
    assert_refused(topo, &(Machine) { .options = "one-to-one", .vcpus = 9 },
                   "pinning=one-to-one needs 9 host CPUs, 8 are usable");
}

/* EVE: the set was too small for CPU numbers that are multiples of 8 */
static void test_eve_multiples_of_8(void)
{
    static const unsigned edges[] = {
        0, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 1023, 1024, 2040, 2047,
    };
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .nodes = 4, .llcs = 32, .cores = 16 });

    for (int i = 0; i < ARRAY_SIZE(edges); i++) {
        g_autofree char *options = g_strdup_printf("one-to-one,cpus=%u",
                                                   edges[i]);
        g_autofree char *expected = g_strdup_printf("%u", edges[i]);
        g_autoptr(PinningPlan) plan = machine_place(
            topo, &(Machine) { .options = options }, &error_abort);

        g_assert_cmpstr(plan->vcpus->value->host_cpus, ==, expected);
    }
}

/* Incus: a VM with more vCPUs than the host indexed past the list of nodes */
static void test_incus_slice_overrun(void)
{
    static const char *const modes[] = { "balanced", "numa", "spread" };
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .packages = 4, .cores = 4, .threads = 2 });

    for (int i = 0; i < ARRAY_SIZE(modes); i++) {
        static const unsigned vcpus[] = { 17, 32, 33, 300 };

        for (int j = 0; j < ARRAY_SIZE(vcpus); j++) {
            g_autoptr(PinningPlan) plan = machine_place(
                topo, &(Machine) { .options = modes[i],
                                   .vcpus = vcpus[j] }, &error_abort);
            g_autoptr(CpuSet) all = all_cpus(plan);

            g_assert_true(cpuset_equal(all, topo->online));
            g_assert_cmpstr(plan_node(plan, 0)->host_nodes, ==, "");
            g_assert_cmpint(plan_node(plan, 0)->policy, ==,
                            HOST_MEM_POLICY_DEFAULT);
            g_assert_cmpint(plan->warnings != NULL, ==, vcpus[j] > 32);
        }
    }
}

/*
 * XAPI: a VM of 32 vCPUs was put into one node of 16 cores with 32 threads,
 * which cost it 40 to 75 % for a gain of 20 %.
 */
static void test_xapi_smt_sizing(void)
{
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .packages = 4, .cores = 16, .threads = 2 });
    g_autoptr(PinningPlan) plain = machine_place(
        topo, &(Machine) { .options = "balanced", .vcpus = 32 },
        &error_abort);
    g_autoptr(PinningPlan) pairs = machine_place(
        topo, &(Machine) { .options = "balanced", .vcpus = 32,
                           .threads = 2 }, &error_abort);

    /* 32 cores are wanted, or 16 with both siblings */
    g_assert_cmpstr(plan_node(plain, 0)->host_nodes, ==, "0-1");
    g_assert_cmpstr(plan_node(pairs, 0)->host_nodes, ==, "0");
}

/* Nova: with 8 nodes and more the choice took minutes */
static void test_nova_slow_8_nodes(void)
{
    static const unsigned counts[] = { 8, 16 };

    for (int i = 0; i < ARRAY_SIZE(counts); i++) {
        unsigned n = counts[i];
        g_autoptr(HostTopology) topo = host_build(
            &(HostSpec) { .packages = 2, .nodes = n / 2, .cores = 8,
                          .threads = 2 });
        g_autoptr(GString) nodes = g_string_new("");
        g_autoptr(PinningPlan) plan = NULL;
        g_autoptr(CpuSet) all = NULL;

        for (unsigned j = 0; j < n; j++) {
            host_memory(topo, j, 64 * GiB, (20 + j * 7 % n) * GiB);
            g_string_append_printf(nodes, "%s%u %u-%u", j ? ";" : "",
                                   1024 * (j % 3 + 1), j * 4, j * 4 + 3);
        }
        g_test_timer_start();
        plan = machine_place(topo, &(Machine) { .options = "numa",
                                                .vcpus = n * 4,
                                                .nodes = nodes->str },
                             &error_abort);
        g_test_minimized_result(g_test_timer_elapsed(), "%u nodes: %.3f ms",
                                n, g_test_timer_last() * 1000);
        /* minutes there; a busy machine must not make this fail */
        g_assert_cmpfloat(g_test_timer_last(), <, 10);
        all = all_cpus(plan);
        g_assert_true(cpuset_equal(all, topo->online));
    }
}

/*
 * Threadripper 3960X: nodes 0 and 3 have CPUs and no memory.  Nodes chosen
 * by free memory leave half of the CPUs unused, and a VM on node 0 cannot be
 * bound there.
 */
static void test_threadripper(void)
{
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .nodes = 4, .cores = 6, .threads = 2,
                      .siblings_apart = true, .memory = 32 * GiB,
                      .near = 16 });
    g_autoptr(PinningPlan) small = NULL;
    g_autoptr(PinningPlan) large = NULL;
    g_autoptr(PinningPlan) pinned = NULL;
    g_autoptr(CpuSet) all = NULL;

    host_memory(topo, 0, 0, 0);
    host_memory(topo, 3, 0, 0);
    host_distance(topo, 0, 1, 12);
    host_distance(topo, 2, 3, 12);

    small = machine_place(topo, &(Machine) { .options = "balanced",
                                             .vcpus = 4 }, &error_abort);
    g_assert_cmpstr(plan_node(small, 0)->host_nodes, ==, "1");

    large = machine_place(topo, &(Machine) { .options = "numa",
                                             .vcpus = 24,
                                             .nodes = "4096 0-5;4096 6-11;"
                                                      "4096 12-17;"
                                                      "4096 18-23" },
                          &error_abort);
    all = all_cpus(large);
    g_assert_true(cpuset_equal(all, topo->online));
    for (unsigned g = 0; g < 4; g++) {
        g_autoptr(CpuSet) cpus = plan_cpus(large, g * 6);
        unsigned node = host_topology_cpu(topo, cpuset_first(cpus))->node;

        g_assert_cmpstr(plan_node(large, g)->host_nodes, ==,
                        node < 2 ? "1" : "2");
        g_assert_cmpint(plan_node(large, g)->policy, ==,
                        HOST_MEM_POLICY_BIND);
    }

    pinned = machine_place(topo, &(Machine) { .options = "one-to-one,"
                                              "cpus=18-20", .vcpus = 3,
                                              .nodes = "4096 0-2" },
                           &error_abort);
    assert_one_to_one(pinned, 3);
    g_assert_cmpstr(plan_node(pinned, 0)->host_nodes, ==, "2");
}

/*
 * Proxmox RFC: balanced over several nodes bound memory to all of them while
 * vCPUs moved freely, 43 % more latency than without pinning.  A flat guest on
 * all nodes has nothing bound, so that pages can follow their vCPUs.
 */
static void test_rfc_balanced_slow(void)
{
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .nodes = 4, .cores = 4, .threads = 2, .near = 16 });
    g_autoptr(PinningPlan) nodes = machine_place(
        topo, &(Machine) { .options = "balanced,cpus=0,,2,,8,,10,,16,,18,,"
                                      "24,,26", .vcpus = 8,
                           .nodes = "2048 0-1;2048 2-3;2048 4-5;2048 6-7" },
        &error_abort);
    g_autoptr(PinningPlan) flat = machine_place(
        topo, &(Machine) { .options = "balanced,cpus=0,,2,,8,,10,,16,,18,,"
                                      "24,,26", .vcpus = 8,
                           .memory = 8 * GiB }, &error_abort);

    for (unsigned v = 0; v < 8; v++) {
        g_autoptr(CpuSet) cpus = plan_cpus(nodes, v);
        g_autofree char *node = g_strdup_printf(
            "%d", host_topology_cpu(topo, cpuset_first(cpus))->node);

        g_assert_cmpuint(cpuset_count(cpus), ==, 2);
        g_assert_cmpstr(plan_node(nodes, v / 2)->host_nodes, ==, node);
    }
    g_assert_cmpint(plan_node(flat, 0)->policy, ==,
                    HOST_MEM_POLICY_DEFAULT);
}

/* pve-helpers: guest siblings were given CPUs n and n + 1 of other cores */
static void test_sibling_order(void)
{
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .cores = 8, .threads = 2, .siblings_apart = true });
    g_autoptr(PinningPlan) plan = machine_place(
        topo, &(Machine) { .options = "one-to-one", .vcpus = 8,
                           .threads = 2 }, &error_abort);

    for (unsigned v = 0; v < 8; v += 2) {
        g_autoptr(CpuSet) a = plan_cpus(plan, v);
        g_autoptr(CpuSet) b = plan_cpus(plan, v + 1);

        g_assert_cmpint(cpuset_first(b), ==, cpuset_first(a) + 8);
    }
}

/* Qubes and nsjail: with SMT off ids are 0, 2, 4...; code used 0..n-1 */
static void test_sparse_ids(void)
{
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .cores = 8, .threads = 2 });
    g_autoptr(PinningPlan) plan = NULL;
    g_autoptr(CpuSet) all = NULL;

    host_offline(topo, "1-15:2");
    plan = machine_place(topo, &(Machine) { .options = "one-to-one",
                                            .vcpus = 8 }, &error_abort);
    assert_one_to_one(plan, 8);
    all = all_cpus(plan);
    g_assert_true(cpuset_equal(all, topo->online));
}

/* LXD: memory was bound to node 0 while the CPUs were those of node 1 */
static void test_lxd_memory_elsewhere(void)
{
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .packages = 2, .cores = 4 });
    g_autoptr(PinningPlan) plan = machine_place(
        topo, &(Machine) { .options = "balanced,hostnodes=1", .vcpus = 2 },
        &error_abort);

    g_assert_cmpstr(plan->vcpus->value->host_cpus, ==, "4-7");
    g_assert_cmpstr(plan_node(plan, 0)->host_nodes, ==, "1");
}

/*
 * LKML: sibling vCPUs are stacked on one CPU while others idle; groups that
 * do not overlap make that impossible.
 */
static void test_stacking(void)
{
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .packages = 2, .llcs = 2, .cores = 5, .threads = 2 });
    g_autoptr(CpuSet) seen = cpuset_new();
    g_autoptr(PinningPlan) plan = machine_place(
        topo, &(Machine) { .options = "spread", .vcpus = 18 }, &error_abort);

    for (unsigned v = 0; v < 18; v++) {
        g_autoptr(CpuSet) cpus = plan_cpus(plan, v);

        g_assert_false(cpuset_intersects(seen, cpus));
        cpuset_or(seen, cpus);
    }
    g_assert_true(cpuset_equal(seen, topo->online));
}

/* KubeVirt, afl: machines that are alike computed the same CPUs */
static void test_alike_machines(void)
{
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .packages = 2, .cores = 8 });
    g_autoptr(GString) taken = g_string_new("");
    g_autoptr(CpuSet) seen = cpuset_new();

    for (unsigned i = 0; i < 4; i++) {
        g_autofree char *json = g_strdup_printf("{ 'cpus': [ %s ] }",
                                                taken->str);
        g_autoptr(PinningPlan) plan = machine_place(
            topo, &(Machine) { .options = "one-to-one", .vcpus = 4,
                               .taken = json }, &error_abort);
        g_autoptr(CpuSet) cpus = all_cpus(plan);
        g_autofree char *text = cpulist_format(cpus);

        assert_one_to_one(plan, 4);
        g_assert_false(cpuset_intersects(seen, cpus));
        cpuset_or(seen, cpus);
        g_string_append_printf(taken, "%s{ 'host-cpus': '%s', 'load': 1000 }",
                               taken->len ? ", " : "", text);
    }
    g_assert_true(cpuset_equal(seen, topo->online));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        GTestFunc test;
    } tests[] = {
        { "kata-wrap-around", test_kata_wrap_around },
        { "eve-multiples-of-8", test_eve_multiples_of_8 },
        { "incus-slice-overrun", test_incus_slice_overrun },
        { "xapi-smt-sizing", test_xapi_smt_sizing },
        { "nova-slow-8-nodes", test_nova_slow_8_nodes },
        { "threadripper-two-nodes-without-memory", test_threadripper },
        { "rfc-balanced-slow", test_rfc_balanced_slow },
        { "sibling-order", test_sibling_order },
        { "sparse-ids", test_sparse_ids },
        { "lxd-memory-elsewhere", test_lxd_memory_elsewhere },
        { "stacking", test_stacking },
        { "alike-machines", test_alike_machines },
    };

    g_test_init(&argc, &argv, NULL);
    for (int i = 0; i < ARRAY_SIZE(tests); i++) {
        g_autofree char *path = g_strdup_printf("/pinning-plan/stories/%s",
                                                tests[i].name);

        g_test_add_func(path, tests[i].test);
    }
    return g_test_run();
}
