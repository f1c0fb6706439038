/*
 * Unit tests for the picture of the host
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/host-map.h"
#include "pinning-plan-harness.h"

static char *draw(const HostTopology *topo, const Machine *m, unsigned width)
{
    g_autoptr(PinningPlan) plan = machine_place(topo, m, &error_abort);
    g_autoptr(HostMap) map = host_map_new_plan(topo, plan);

    return host_map_text(map, width);
}

static HostTopology *small_host(void)
{
    HostTopology *topo = host_build(
        &(HostSpec) { .packages = 2, .llcs = 2, .cores = 2, .threads = 2,
                      .siblings_apart = true });

    host_memory(topo, 1, 16 * GiB, 12 * GiB);
    return topo;
}

static void test_one_to_one(void)
{
    g_autoptr(HostTopology) topo = small_host();
    g_autofree char *text = draw(
        topo, &(Machine) { .options = "one-to-one", .vcpus = 3 }, 80);

    g_assert_cmpstr(
        text, ==,
        "node 0, package 0, 16.0 GiB, 16.0 GiB free\n"
        "  cache 0  [ 0 v0  8 io] [ 1 v1  9 io]\n"
        "  cache 2  [ 2 v2 10 io] [ 3 io 11 io]\n"
        "node 1, package 1, 16.0 GiB, 12.0 GiB free\n"
        "  cache 4  [ 4 h  12 h ] [ 5 h  13 h ]\n"
        "  cache 6  [ 6 h  14 h ] [ 7 h  15 h ]\n"
        "vN: vCPU N  io: I/O threads  h: helper threads  .: nothing\n");
}

static void test_parked(void)
{
    g_autoptr(HostTopology) topo = small_host();
    g_autofree char *text = draw(
        topo, &(Machine) { .options = "one-to-one,smt=isolate,"
                           "emulator-cpus=4,io-cpus=5", .vcpus = 1 }, 80);

    g_assert_cmpstr(
        text, ==,
        "node 0, package 0, 16.0 GiB, 16.0 GiB free\n"
        "  cache 0  [ 0 v0  8 # ] [ 1 .   9 . ]\n"
        "  cache 2  [ 2 .  10 . ] [ 3 .  11 . ]\n"
        "node 1, package 1, 16.0 GiB, 12.0 GiB free\n"
        "  cache 4  [ 4 h  12 . ] [ 5 io 13 . ]\n"
        "  cache 6  [ 6 .  14 . ] [ 7 .  15 . ]\n"
        "vN: vCPU N  io: I/O threads  h: helper threads  #: kept idle  "
        ".: nothing\n");
}

static void test_floating(void)
{
    g_autoptr(HostTopology) topo = small_host();
    g_autofree char *text = draw(
        topo, &(Machine) { .options = "numa", .vcpus = 4,
                           .nodes = "64 0-1;64 2-3" }, 80);

    g_assert_cmpstr(
        text, ==,
        "node 0, package 0, 16.0 GiB, 16.0 GiB free\n"
        "  cache 0  [ 0 v0-1  8 v0-1] [ 1 v0-1  9 v0-1]\n"
        "  cache 2  [ 2 v0-1 10 v0-1] [ 3 v0-1 11 v0-1]\n"
        "node 1, package 1, 16.0 GiB, 12.0 GiB free\n"
        "  cache 4  [ 4 v2-3 12 v2-3] [ 5 v2-3 13 v2-3]\n"
        "  cache 6  [ 6 v2-3 14 v2-3] [ 7 v2-3 15 v2-3]\n"
        "vN: vCPU N  io: I/O threads  h: helper threads  .: nothing\n");
}

/* Where a vCPU may come later; what is too long for a line is folded */
static void test_reserved(void)
{
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .packages = 1, .llcs = 1, .cores = 4, .threads = 1 });
    g_autoptr(HostMap) map = host_map_new(topo);
    g_autoptr(CpuSet) vcpu = host_set("0");
    g_autoptr(CpuSet) reserved = host_set("1");
    g_autoptr(CpuSet) rest = host_set("2-3");
    g_autoptr(CpuSet) idle = host_set("3");
    g_autofree char *text = NULL;

    host_map_put(map, vcpu, 0);
    host_map_mark(map, reserved, HOST_MAP_RESERVED);
    host_map_mark(map, rest, HOST_MAP_HELPERS | HOST_MAP_IO);
    host_map_mark(map, idle, HOST_MAP_PARKED);
    text = host_map_text(map, 80);
    g_assert_nonnull(strstr(text, "[0 v0] [1 r ] [2 io] [3 # ]\n"));
    g_assert_true(g_str_has_suffix(
        text, "vN: vCPU N  io: I/O threads  h: helper threads  r: reserved"
        "  #: kept idle\n.: nothing\n"));
}

/* Without plan: the host alone, with what is odd about it */
static void test_host(void)
{
    g_autoptr(HostTopology) topo = small_host();
    g_autoptr(HostMap) map = NULL;
    g_autofree char *text = NULL;

    host_strip_cpus(topo, 1);
    host_memory(topo, 0, 0, 0);
    for (unsigned i = 0; i < topo->n_cpus; i++) {
        topo->cpus[i].llc = HOST_UNKNOWN;
        topo->cpus[i].node = topo->cpus[i].cpu == 3 ? HOST_UNKNOWN
                                                    : topo->cpus[i].node;
    }
    host_offline(topo, "1");
    map = host_map_new(topo);
    text = host_map_text(map, 80);
    g_assert_cmpstr(text, ==,
                    "node 0, package 0, no memory\n"
                    "  cores    [ 0  8] [ 9] [ 2 10] [11]\n"
                    "no node, package 0\n"
                    "  cores    [ 3]\n"
                    "node 1, 16.0 GiB, 12.0 GiB free\n");
}

/* Every line fits, whatever the width */
static void test_width(void)
{
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .packages = 2, .llcs = 1, .cores = 16, .threads = 2 });

    for (unsigned width = 40; width <= 200; width += 7) {
        g_autofree char *text = draw(
            topo, &(Machine) { .options = "one-to-one", .vcpus = 16 },
            width);
        g_auto(GStrv) lines = g_strsplit(text, "\n", 0);

        for (char **line = lines; *line && !strstr(*line, "vCPU"); line++) {
            g_assert_cmpuint(strlen(*line), <=, MAX(width, 45));
        }
    }
}

/* In the list, too: neither many CPUs nor many vCPUs leave the line */
static void test_list_width(void)
{
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .packages = 2, .nodes = 32, .llcs = 8, .cores = 4,
                      .threads = 2 });
    g_autoptr(HostMap) map = host_map_new(topo);
    g_autoptr(CpuSet) many = host_set("0-63:2/4");
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;

    CPUSET_FOREACH(vcpu, many) {
        host_map_put(map, many, vcpu);
    }
    text = host_map_text(map, 80);
    lines = g_strsplit(text, "\n", 0);
    for (char **line = lines; *line; line++) {
        g_assert_cmpuint(strlen(*line), <=, 80);
    }
    g_assert_nonnull(strstr(text, "\n               v0-1,4-5,8-9,"));
    g_assert_nonnull(strstr(text, "\n    on         0-1,4-5,8-9,"));
    g_assert_nonnull(strstr(text, ",60-61\n"));
}

/* A picture of 4096 CPUs is a list; each CPU is in it once */
static void test_large(void)
{
    g_autoptr(HostTopology) topo = host_build(
        &(HostSpec) { .packages = 2, .nodes = 32, .llcs = 8, .cores = 4,
                      .threads = 2 });
    g_autofree char *text = draw(
        topo, &(Machine) { .options = "numa", .vcpus = 64 }, 80);
    g_autoptr(CpuSet) seen = cpuset_new();
    g_auto(GStrv) lines = g_strsplit(text, "\n", 0);

    g_assert_nonnull(strstr(text, "\n  v0-63        0-63\n"));
    for (char **line = lines; *line; line++) {
        if (g_str_has_prefix(*line, "  ")) {
            g_autoptr(CpuSet) cpus = host_set(strrchr(*line, ' ') + 1);

            g_assert_false(cpuset_intersects(seen, cpus));
            cpuset_or(seen, cpus);
        }
    }
    g_assert_true(cpuset_equal(seen, topo->online));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/host-map/one-to-one", test_one_to_one);
    g_test_add_func("/host-map/parked", test_parked);
    g_test_add_func("/host-map/floating", test_floating);
    g_test_add_func("/host-map/reserved", test_reserved);
    g_test_add_func("/host-map/host", test_host);
    g_test_add_func("/host-map/width", test_width);
    g_test_add_func("/host-map/list-width", test_list_width);
    g_test_add_func("/host-map/large", test_large);
    return g_test_run();
}
