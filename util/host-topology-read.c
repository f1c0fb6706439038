/*
 * CPUs and memory of the host: reading single facts
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "host-topology-internal.h"

/* One broken kernel interface can make as many warnings as there are CPUs */
#define MAX_WARNINGS 32

/* So many CPUs without a fact that none had before: no CPU has it */
#define MAX_MISSES 8

void topology_warn(TopologyReading *t, const char *fmt, ...)
{
    GPtrArray *warnings = t->topo->warnings;
    g_autofree char *text = NULL;
    va_list ap;

    if (warnings->len > MAX_WARNINGS) {
        return;
    }
    va_start(ap, fmt);
    text = g_strdup_vprintf(fmt, ap);
    va_end(ap);
    if (g_ptr_array_find_with_equal_func(warnings, text, g_str_equal, NULL)) {
        return;
    }
    if (warnings->len == MAX_WARNINGS) {
        g_free(text);
        text = g_strdup("there is more, not listed here");
    }
    g_ptr_array_add(warnings, g_steal_pointer(&text));
}

bool topology_has_value(TopologyReading *t, SysfsResult res, Error *err)
{
    if (res == SYSFS_BROKEN) {
        topology_warn(t, "%s", error_get_pretty(err));
        error_free(err);
    }
    return res == SYSFS_VALUE;
}

/* Not a number: a sign, leading zeros, "cpufreq", and what no set can hold */
static int numbered(const char *name, const char *prefix)
{
    const char *digits = name + strlen(prefix);
    int n = 0;

    if (!g_str_has_prefix(name, prefix) || !*digits ||
        (digits[0] == '0' && digits[1])) {
        return -1;
    }
    for (; *digits; digits++) {
        if (!g_ascii_isdigit(*digits)) {
            return -1;
        }
        n = n * 10 + (*digits - '0');
        if (n > CPUSET_MAX) {
            return -1;
        }
    }
    return n;
}

CpuSet *topology_list_numbered(TopologyReading *t, const char *path,
                               const char *prefix)
{
    g_auto(GStrv) names = NULL;
    Error *err = NULL;
    SysfsResult res;
    CpuSet *set;

    res = sysfs_reader_list(t->reader, &names, &err, "%s", path);
    if (!topology_has_value(t, res, err)) {
        return NULL;
    }
    set = cpuset_new();
    for (char **name = names; *name; name++) {
        int n = numbered(*name, prefix);

        if (n >= 0) {
            cpuset_add(set, n);
        }
    }
    return set;
}

bool topology_fact_is_given_up(const CpuFact *fact)
{
    return !fact->seen && fact->misses >= MAX_MISSES;
}

void topology_fact_note(CpuFact *fact, SysfsResult res)
{
    if (res == SYSFS_ABSENT) {
        fact->misses++;
    } else {
        fact->seen = true;
    }
}

static bool fact_has_value(TopologyReading *t, CpuFact *fact,
                           SysfsResult res, Error *err)
{
    topology_fact_note(fact, res);
    return topology_has_value(t, res, err);
}

int64_t topology_cpu_int64(TopologyReading *t, CpuFact *fact, unsigned cpu)
{
    Error *err = NULL;
    int64_t value;
    SysfsResult res;

    if (topology_fact_is_given_up(fact)) {
        return HOST_UNKNOWN;
    }
    res = sysfs_reader_read_int(t->reader, &value, &err,
                                CPU_DIR "/cpu%u/%s", cpu, fact->name);
    if (res == SYSFS_VALUE && value < 0) {
        /* The file is there on all hosts, the number is not */
        res = SYSFS_ABSENT;
    }
    return fact_has_value(t, fact, res, err) ? value : HOST_UNKNOWN;
}

int topology_cpu_int(TopologyReading *t, CpuFact *fact, unsigned cpu)
{
    int64_t value = topology_cpu_int64(t, fact, cpu);

    return value > INT_MAX ? HOST_UNKNOWN : value;
}

static SysfsResult read_named_set(TopologyReading *t, CpuFact *fact,
                                  unsigned cpu, const char *dir, CpuSet **set)
{
    g_autofree char *path = NULL;
    Error *err = NULL;
    SysfsResult res;

    if (topology_fact_is_given_up(fact)) {
        return SYSFS_ABSENT;
    }
    path = g_strdup_printf(CPU_DIR "/cpu%u/%s/%s", cpu, dir, fact->name);
    res = fact->is_mask ?
          sysfs_reader_read_cpumask(t->reader, set, &err, "%s", path) :
          sysfs_reader_read_cpulist(t->reader, set, &err, "%s", path);
    fact_has_value(t, fact, res, err);
    return res;
}

static CpuSet *read_set(TopologyReading *t, CpuSetFact *sets, unsigned cpu,
                        const char *dir)
{
    for (int i = 0; i < ARRAY_SIZE(sets->names); i++) {
        CpuFact *fact = &sets->names[i];
        CpuSet *set = NULL;

        if (!fact->name || (sets->chosen && fact != sets->chosen)) {
            continue;
        }
        if (read_named_set(t, fact, cpu, dir, &set) != SYSFS_ABSENT) {
            sets->chosen = fact;
            return set;
        }
    }
    return NULL;
}

CpuSet *topology_cpu_set(TopologyReading *t, CpuSetFact *sets, unsigned cpu,
                         const char *dir)
{
    g_autoptr(CpuSet) set = read_set(t, sets, cpu, dir);

    if (!set) {
        return NULL;
    }
    if (!cpuset_contains(set, cpu)) {
        topology_warn(t, "host CPU %u is not in its own %s/%s", cpu, dir,
                      sets->chosen->name);
        return NULL;
    }
    cpuset_and(set, t->topo->online);
    return g_steal_pointer(&set);
}

HostCpu *topology_cpu(TopologyReading *t, unsigned cpu)
{
    return &t->topo->cpus[t->topo->cpu_index[cpu]];
}

bool topology_cpu_leads(const HostCpu *c)
{
    return c->online && (c->core == HOST_UNKNOWN || c->core == c->cpu);
}
