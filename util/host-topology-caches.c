/*
 * CPUs and memory of the host: caches
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "host-topology-internal.h"

/* So many cores without any cache directory, and no core has one */
#define MAX_BARE_CORES 16

/* No cache is expected beyond this level */
#define USUAL_LEVELS 3

/*
 * Which index<n> is which cache.  Nearly all cores of a host agree, so a
 * core is first read like those before it.
 */
typedef struct CacheLayout {
    int l1_data;            /* or HOST_UNKNOWN, as all */
    int l2;
    int last;               /* never level 1: that would be no last level */
    int last_level;
    bool has_sizes;
} CacheLayout;

static const CacheLayout no_layout = {
    .l1_data = HOST_UNKNOWN,
    .l2 = HOST_UNKNOWN,
    .last = HOST_UNKNOWN,
    .last_level = 1,
};

typedef struct CacheReading {
    TopologyReading *t;
    CacheLayout layout;
    CpuSetFact shared;
    unsigned bare_cores;
    bool any;               /* some core has a cache directory */
} CacheReading;

static void add_to_layout(CacheLayout *l, int index, int64_t level,
                          const char *type)
{
    if (!g_str_equal(type, "Data") && !g_str_equal(type, "Unified")) {
        return;
    }
    if (level == 1) {
        l->l1_data = index;
    } else if (level == 2) {
        l->l2 = index;
    }
    if (level > l->last_level && level < INT_MAX) {
        l->last = index;
        l->last_level = level;
    }
}

/* Whether @cpu has a cache directory */
static bool scan_layout(CacheReading *cr, unsigned cpu)
{
    TopologyReading *t = cr->t;
    g_autofree char *dir = g_strdup_printf(CPU_DIR "/cpu%u/cache", cpu);
    g_autoptr(CpuSet) indexes = topology_list_numbered(t, dir, "index");

    cr->layout = no_layout;
    if (!indexes) {
        return false;
    }
    CPUSET_FOREACH(index, indexes) {
        g_autofree char *type = NULL;
        int64_t level;
        Error *err = NULL;
        SysfsResult res;

        res = sysfs_reader_read_int(t->reader, &level, &err,
                                    "%s/index%d/level", dir, index);
        if (!topology_has_value(t, res, err)) {
            continue;
        }
        res = sysfs_reader_read_text(t->reader, &type, &err,
                                     "%s/index%d/type", dir, index);
        if (topology_has_value(t, res, err)) {
            add_to_layout(&cr->layout, index, level, type);
        }
    }
    return true;
}

static int64_t read_size(CacheReading *cr, unsigned cpu, int index)
{
    g_autofree char *text = NULL;
    uint64_t size;
    Error *err = NULL;
    SysfsResult res;

    if (index == HOST_UNKNOWN) {
        return HOST_UNKNOWN;
    }
    res = sysfs_reader_read_text(cr->t->reader, &text, &err, CPU_DIR
                                 "/cpu%u/cache/index%d/size", cpu, index);
    if (!topology_has_value(cr->t, res, err) ||
        qemu_strtosz(text, NULL, &size) < 0 || size > INT64_MAX) {
        return HOST_UNKNOWN;
    }
    return size;
}

static bool has_size(const CacheSizes *sizes)
{
    return sizes->l1_data != HOST_UNKNOWN || sizes->l2 != HOST_UNKNOWN;
}

static CacheSizes read_sizes(CacheReading *cr, unsigned cpu)
{
    return (CacheSizes) {
        .l1_data = read_size(cr, cpu, cr->layout.l1_data),
        .l2 = read_size(cr, cpu, cr->layout.l2),
    };
}

/* Whether @c now has a last-level cache, if the layout knows of one */
static bool read_llc(CacheReading *cr, HostCpu *c)
{
    TopologyReading *t = cr->t;
    g_autofree char *dir = NULL;
    g_autoptr(CpuSet) set = NULL;

    if (c->llc != HOST_UNKNOWN || cr->layout.last == HOST_UNKNOWN) {
        return true;
    }
    dir = g_strdup_printf("cache/index%d", cr->layout.last);
    set = topology_cpu_set(t, &cr->shared, c->cpu, dir);
    if (!set) {
        return false;
    }
    CPUSET_FOREACH(cpu, set) {
        HostCpu *sharer = topology_cpu(t, cpu);

        if (sharer->llc == HOST_UNKNOWN) {
            sharer->llc = c->cpu;
        }
    }
    return true;
}

/*
 * A core may have one level of cache more or less than those before it.
 * One less shows by a file that is missing; for one more, look.
 */
static bool may_be_as_before(CacheReading *cr, const HostCpu *c)
{
    const CacheLayout *l = &cr->layout;

    if (l->last == HOST_UNKNOWN) {
        return false;
    }
    return c->llc != HOST_UNKNOWN || l->last_level >= USUAL_LEVELS ||
           !sysfs_reader_exists(cr->t->reader, CPU_DIR
                                "/cpu%u/cache/index%d", c->cpu, l->last + 1);
}

static bool read_as_before(CacheReading *cr, HostCpu *c, CacheSizes *sizes)
{
    if (!may_be_as_before(cr, c) || !read_llc(cr, c)) {
        return false;
    }
    *sizes = read_sizes(cr, c->cpu);
    return !cr->layout.has_sizes || has_size(sizes);
}

static void read_core(CacheReading *cr, HostCpu *c, CacheSizes *sizes)
{
    if (read_as_before(cr, c, sizes) ||
        (!cr->any && cr->bare_cores >= MAX_BARE_CORES)) {
        return;
    }
    if (!scan_layout(cr, c->cpu)) {
        cr->bare_cores++;
        return;
    }
    cr->any = true;
    read_llc(cr, c);
    *sizes = read_sizes(cr, c->cpu);
    cr->layout.has_sizes = has_size(sizes);
}

void topology_read_caches(TopologyReading *t)
{
    CacheReading cr = {
        .t = t,
        .layout = no_layout,
        .shared = { .names = {
            { .name = "shared_cpu_list" },
            { .name = "shared_cpu_map", .is_mask = true },
        } },
    };

    for (unsigned i = 0; i < t->topo->n_cpus; i++) {
        HostCpu *c = &t->topo->cpus[i];

        if (topology_cpu_leads(c)) {
            read_core(&cr, c, &t->traits[i].caches);
        } else if (c->online && c->llc == HOST_UNKNOWN) {
            c->llc = topology_cpu(t, c->core)->llc;
        }
    }
}
