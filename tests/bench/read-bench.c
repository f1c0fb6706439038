/*
 * Reading the topology of captured machines against hwloc, as libraries: no
 * process is started and nothing is printed in between
 *
 * Usage: read-bench TREE...
 *
 * hwloc is loaded if it is there.  Its headers are not needed for what is
 * called, and so it is no dependency.  Nothing here passes or fails.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <dlfcn.h>
#include "qapi/error.h"
#include "qemu/host-topology.h"

#define RUNS 21

typedef struct Hwloc {
    int (*init)(void **topology);
    int (*load)(void *topology);
    void (*destroy)(void *topology);
} Hwloc;

static bool find_hwloc(Hwloc *hwloc)
{
    void *library = dlopen("libhwloc.so.15", RTLD_NOW);

    if (!library) {
        return false;
    }
    hwloc->init = dlsym(library, "hwloc_topology_init");
    hwloc->load = dlsym(library, "hwloc_topology_load");
    hwloc->destroy = dlsym(library, "hwloc_topology_destroy");
    return hwloc->init && hwloc->load && hwloc->destroy;
}

static void read_ours(const char *tree)
{
    host_topology_free(host_topology_new(tree, NULL, &error_fatal));
}

static bool read_hwloc(const Hwloc *hwloc, const char *tree)
{
    void *topology;
    bool ok;

    g_setenv("HWLOC_FSROOT", tree, true);
    if (hwloc->init(&topology)) {
        return false;
    }
    ok = !hwloc->load(topology);
    hwloc->destroy(topology);
    return ok;
}

static int compare_times(const void *a, const void *b)
{
    const int64_t *left = a, *right = b;

    return *left < *right ? -1 : *left > *right;
}

static double median_ms(int64_t *us)
{
    qsort(us, RUNS, sizeof(*us), compare_times);
    return us[RUNS / 2] / 1000.0;
}

static void bench(const Hwloc *hwloc, const char *tree)
{
    g_autofree char *name = g_path_get_basename(tree);
    int64_t ours[RUNS], theirs[RUNS];
    bool ok = hwloc;

    /* In turn, so that whatever else the machine does hits both */
    for (int i = 0; i < RUNS; i++) {
        int64_t start = g_get_monotonic_time(), middle;

        read_ours(tree);
        middle = g_get_monotonic_time();
        ok = ok && read_hwloc(hwloc, tree);
        ours[i] = middle - start;
        theirs[i] = g_get_monotonic_time() - middle;
    }
    printf("%-30s %11.2f ms", name, median_ms(ours));
    if (ok) {
        printf(" %11.2f ms  x%.1f", median_ms(theirs),
               median_ms(theirs) / median_ms(ours));
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    Hwloc hwloc;
    bool has_hwloc = find_hwloc(&hwloc);

    g_setenv("HWLOC_THISSYSTEM", "0", true);
    g_setenv("HWLOC_COMPONENTS", "linux,stop", true);
    printf("%-30s %14s %14s\n", "tree", "ours", "hwloc");
    for (int i = 1; i < argc; i++) {
        bench(has_hwloc ? &hwloc : NULL, argv[i]);
    }
    return 0;
}
