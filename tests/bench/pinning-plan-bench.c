/*
 * How long choosing takes, and how that grows with the host
 *
 * Prints figures; asserts nothing about them.  Ratios compare with the host
 * of half the size in the same run: 2.0 is linear growth.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cpu-groups.h"
#include "pinning-plan-harness.h"

#define RUNS 15

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median over RUNS, in milliseconds */
static double time_plan(const HostTopology *topo, const Machine *m)
{
    double ms[RUNS];

    for (unsigned i = 0; i < RUNS; i++) {
        int64_t start = g_get_monotonic_time();
        PinningPlan *plan = machine_place(topo, m, &error_abort);

        ms[i] = (g_get_monotonic_time() - start) / 1000.0;
        qapi_free_PinningPlan(plan);
    }
    qsort(ms, RUNS, sizeof(double), compare_doubles);
    return ms[RUNS / 2];
}

/* @nodes host nodes in 2 packages, 64 CPUs each: 8 caches of 4 SMT cores */
static HostTopology *large_host(unsigned nodes)
{
    HostTopology *topo = host_build(&(HostSpec) {
        .packages = nodes > 1 ? 2 : 1, .nodes = MAX(nodes / 2, 1),
        .llcs = 8, .cores = 4, .threads = 2, .siblings_apart = true,
        .memory = 256 * GiB,
    });

    for (unsigned i = 0; i < topo->n_nodes; i++) {
        host_memory(topo, i, 256 * GiB, (100 + i * 37 % 150) * GiB);
    }
    return topo;
}

static char *guest_nodes(unsigned n, unsigned vcpus)
{
    GString *text = g_string_new("");

    for (unsigned i = 0; i < n; i++) {
        g_string_append_printf(text, "%s%u %u-%u", i ? ";" : "", 4096,
                               vcpus / n * i, vcpus / n * (i + 1) - 1);
    }
    return g_string_free(text, FALSE);
}

static void bench_modes(void)
{
    static const char *const modes[] = {
        "none", "balanced", "numa", "spread", "one-to-one",
    };
    static const unsigned counts[] = { 0, 8, 64 };
    g_autoptr(HostTopology) topo = large_host(64);

    printf("256 vCPUs on 4096 CPUs, 64 nodes (to reach: 10 ms)\n");
    printf("  %-12s %14s %14s %14s\n", "mode", "flat", "8 guest nodes",
           "64 guest nodes");
    for (unsigned i = 0; i < ARRAY_SIZE(modes); i++) {
        printf("  %-12s", modes[i]);
        for (unsigned j = 0; j < ARRAY_SIZE(counts); j++) {
            g_autofree char *nodes = guest_nodes(counts[j], 256);
            Machine m = {
                .options = modes[i], .vcpus = 256, .memory = 256 * GiB,
                .nodes = counts[j] ? nodes : NULL,
            };

            if (m.nodes) {
                m.memory = 0;
            }
            printf(" %11.3f ms", time_plan(topo, &m));
        }
        printf("\n");
    }
}

static void bench_growth(const char *mode)
{
    double before = 0;

    printf("%s, 1 vCPU per 16 CPUs, growing host\n", mode);
    for (unsigned nodes = 1; nodes <= 64; nodes *= 2) {
        g_autoptr(HostTopology) topo = large_host(nodes);
        Machine m = { .options = mode, .vcpus = nodes * 4,
                      .memory = 4 * GiB };
        double ms = time_plan(topo, &m);

        printf("  %5u CPUs %3u nodes %8.3f ms", nodes * 64, nodes, ms);
        if (before) {
            printf("   x %.2f", ms / before);
        }
        printf("\n");
        before = ms;
    }
}

/* 16 nodes in a ring: no two have the same distances */
static HostTopology *ring_host(void)
{
    HostTopology *topo = large_host(16);

    for (unsigned i = 0; i < 16; i++) {
        for (unsigned j = 0; j < i; j++) {
            unsigned way = MIN(i - j, 16 - (i - j));

            host_distance(topo, i, j, 10 + 4 * way + (i * j) % 3);
        }
    }
    return topo;
}

static void bench_wide(const char *what, HostTopology *(*host)(void))
{
    for (unsigned n = 1; n <= 4; n *= 2) {
        g_autoptr(HostTopology) topo = host();
        g_autofree char *nodes = guest_nodes(n, 128 * n);
        Machine m = { .options = "numa", .vcpus = 128 * n, .nodes = nodes };

        printf("  %2u guest nodes of 4 host nodes each, %s %8.3f ms\n", n,
               what, time_plan(topo, &m));
    }
}

static HostTopology *package_host(void)
{
    return large_host(16);
}

static void bench_exact(void)
{
    printf("exact search on 16 nodes\n");
    for (unsigned n = 1; n <= 16; n *= 2) {
        g_autoptr(HostTopology) topo = large_host(16);
        g_autofree char *nodes = guest_nodes(n, 16 * n);
        Machine m = { .options = "numa", .vcpus = 16 * n, .nodes = nodes };

        printf("  %2u guest nodes %8.3f ms\n", n, time_plan(topo, &m));
    }
    bench_wide("2 packages", package_host);
    bench_wide("a ring", ring_host);
}

static void bench_groups(void)
{
    double before = 0;

    printf("groups, 1 per 3 CPUs, growing host\n");
    for (unsigned nodes = 1; nodes <= 64; nodes *= 2) {
        g_autoptr(HostTopology) topo = large_host(nodes);
        int64_t start = g_get_monotonic_time();
        double ms;

        for (unsigned i = 0; i < RUNS; i++) {
            g_autoptr(GPtrArray) groups = cpu_groups_new(
                topo, topo->online, topo->n_cpus / 3, i);

            g_assert(groups->len == topo->n_cpus / 3);
        }
        ms = (g_get_monotonic_time() - start) / 1000.0 / RUNS;
        printf("  %5u CPUs %8.3f ms", nodes * 64, ms);
        if (before) {
            printf("   x %.2f", ms / before);
        }
        printf("\n");
        before = ms;
    }
}

int main(void)
{
    bench_modes();
    bench_growth("balanced");
    bench_growth("one-to-one");
    bench_growth("spread");
    bench_exact();
    bench_groups();
    return 0;
}
