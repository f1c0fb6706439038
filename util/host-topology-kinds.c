/*
 * CPUs and memory of the host: kinds of CPUs
 *
 * A kind is a design: on x86 what the PMU drivers tell apart, elsewhere the
 * implementer and part number, and in any case the caches of a core's own.
 * Clock rates are no part of it, and neither are their consequences: CPUs of
 * one design may well have different capacities.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "host-topology-internal.h"

/* Where capacity is all there is, smaller steps than this many % are noise */
#define CAPACITY_STEP 10

/* More CPUs than any host has that needs cpuinfo */
#define MAX_CPUINFO_CPUS 32

/* PMUs of hybrid x86 CPUs, the slower first; a CPU may be in none */
static const char *const pmus[] = {
    NULL, "cpu_lowpower", "cpu_atom", "cpu_core"
};

typedef struct Kind {
    HostCpuType type;
    CpuTraits traits;
    int capacity;           /* the highest, or HOST_UNKNOWN */
    unsigned cores;
} Kind;

static CpuTraits *traits_of(TopologyReading *t, unsigned cpu)
{
    return &t->traits[t->topo->cpu_index[cpu]];
}

void topology_read_pmus(TopologyReading *t)
{
    for (int pmu = 1; pmu < ARRAY_SIZE(pmus); pmu++) {
        g_autoptr(CpuSet) cpus = NULL;
        Error *err = NULL;
        SysfsResult res;

        res = sysfs_reader_read_cpulist(t->reader, &cpus, &err,
                                        "sys/devices/%s/cpus", pmus[pmu]);
        if (!topology_has_value(t, res, err)) {
            continue;
        }
        cpuset_and(cpus, t->topo->online);
        CPUSET_FOREACH(cpu, cpus) {
            traits_of(t, cpu)->pmu = pmu;
            t->has_pmus = true;
        }
    }
}

static void read_capacities(TopologyReading *t)
{
    CpuFact capacity = { .name = "cpu_capacity" };

    CPUSET_FOREACH(cpu, t->topo->online) {
        HostCpu *c = topology_cpu(t, cpu);

        c->capacity = topology_cpu_leads(c) ?
                      topology_cpu_int(t, &capacity, cpu) :
                      topology_cpu(t, c->core)->capacity;
    }
}

static bool several_capacities(TopologyReading *t)
{
    int first = topology_cpu(t, cpuset_first(t->topo->online))->capacity;

    CPUSET_FOREACH(cpu, t->topo->online) {
        if (topology_cpu(t, cpu)->capacity != first) {
            return true;
        }
    }
    return false;
}

static bool any_design(const TopologyReading *t)
{
    for (unsigned i = 0; i < t->topo->n_cpus; i++) {
        if (t->traits[i].design != HOST_UNKNOWN) {
            return true;
        }
    }
    return false;
}

static bool any_size(const TopologyReading *t)
{
    for (unsigned i = 0; i < t->topo->n_cpus; i++) {
        const CacheSizes *sizes = &t->traits[i].caches;

        if (sizes->l1_data > 0 || sizes->l2 > 0) {
            return true;
        }
    }
    return false;
}

/* Variant and revision are steppings of one design */
static int make_design(unsigned implementer, unsigned part)
{
    return implementer << 12 | part;
}

static void read_midrs(TopologyReading *t)
{
    CpuFact midr = { .name = "regs/identification/midr_el1" };

    CPUSET_FOREACH(cpu, t->topo->online) {
        int64_t value;

        if (!topology_cpu_leads(topology_cpu(t, cpu))) {
            continue;
        }
        value = topology_cpu_int64(t, &midr, cpu);
        if (value != HOST_UNKNOWN) {
            traits_of(t, cpu)->design = make_design(value >> 24 & 0xff,
                                                    value >> 4 & 0xfff);
        }
    }
}

/* The number in a line "field : number" of cpuinfo; false for other lines */
static bool cpuinfo_field(const char *line, const char *field, unsigned *value)
{
    const char *rest = line + strlen(field);

    if (!g_str_has_prefix(line, field)) {
        return false;
    }
    rest += strspn(rest, "\t ");
    return *rest == ':' && qemu_strtoui(rest + 1, NULL, 0, value) == 0;
}

/*
 * One block of lines for each CPU.  Very old kernels have one more for all
 * of them, which is about nobody knows which CPU and is not used.
 */
static void parse_cpuinfo(TopologyReading *t, char **lines)
{
    const CpuSet *online = t->topo->online;
    unsigned cpu = CPUSET_MAX + 1;
    unsigned implementer = 0, part;

    for (char **line = lines; *line; line++) {
        if (!**line) {
            cpu = CPUSET_MAX + 1;
        }
        cpuinfo_field(*line, "processor", &cpu);
        cpuinfo_field(*line, "CPU implementer", &implementer);
        if (cpuinfo_field(*line, "CPU part", &part) &&
            cpuset_contains(online, cpu)) {
            traits_of(t, cpu)->design = make_design(implementer & 0xff,
                                                    part & 0xfff);
        }
    }
}

static void read_cpuinfo(TopologyReading *t)
{
    g_autofree char *text = NULL;
    g_auto(GStrv) lines = NULL;
    Error *err = NULL;
    SysfsResult res;

    res = sysfs_reader_read_text(t->reader, &text, &err, "proc/cpuinfo");
    if (topology_has_value(t, res, err)) {
        lines = g_strsplit(text, "\n", -1);
        parse_cpuinfo(t, lines);
    }
}

/*
 * cpuinfo is for small Arm hosts whose kernel has no midr_el1 yet.  Elsewhere
 * it is long, slow and useless, but there either the sizes of caches are
 * known and all capacities are the same, or there are PMUs.
 */
static bool want_cpuinfo(TopologyReading *t)
{
    return t->topo->n_cpus <= MAX_CPUINFO_CPUS && !t->has_pmus &&
           !any_design(t) && (several_capacities(t) || !any_size(t));
}

static gint compare_ints(gconstpointer a, gconstpointer b)
{
    int left = *(const int *)a, right = *(const int *)b;

    return left < right ? -1 : left > right;
}

/* Capacities in ascending order; NULL if some are not told */
static GArray *sorted_capacities(const HostTopology *topo)
{
    GArray *capacities = g_array_new(false, false, sizeof(int));

    for (unsigned i = 0; i < topo->n_cpus; i++) {
        const HostCpu *c = &topo->cpus[i];

        if (c->online && c->capacity == HOST_UNKNOWN) {
            g_array_unref(capacities);
            return NULL;
        }
        if (c->online) {
            g_array_append_val(capacities, c->capacity);
        }
    }
    g_array_sort(capacities, compare_ints);
    return capacities;
}

/* Counts the large steps in capacity up to each CPU's */
static void set_steps(TopologyReading *t)
{
    g_autoptr(GArray) capacities = sorted_capacities(t->topo);
    int64_t low;

    for (guint i = 1; capacities && i < capacities->len; i++) {
        int high = g_array_index(capacities, int, i);

        low = g_array_index(capacities, int, i - 1);
        if (high == low || high * 100LL < low * (100 + CAPACITY_STEP)) {
            continue;
        }
        CPUSET_FOREACH(cpu, t->topo->online) {
            traits_of(t, cpu)->step += topology_cpu(t, cpu)->capacity >= high;
        }
    }
}

static bool same_kind(const CpuTraits *a, const CpuTraits *b)
{
    return a->pmu == b->pmu && a->design == b->design &&
           a->step == b->step &&
           a->caches.l1_data == b->caches.l1_data &&
           a->caches.l2 == b->caches.l2;
}

static Kind *find_kind(GArray *kinds, const CpuTraits *traits)
{
    for (guint i = 0; i < kinds->len; i++) {
        Kind *k = &g_array_index(kinds, Kind, i);

        if (same_kind(&k->traits, traits)) {
            return k;
        }
    }
    return NULL;
}

static Kind *add_kind(GArray *kinds, const CpuTraits *traits)
{
    Kind k = {
        .type.cpus = cpuset_new(),
        .traits = *traits,
        .capacity = HOST_UNKNOWN,
    };

    g_array_append_val(kinds, k);
    return &g_array_index(kinds, Kind, kinds->len - 1);
}

static GArray *make_kinds(TopologyReading *t)
{
    GArray *kinds = g_array_new(false, false, sizeof(Kind));

    CPUSET_FOREACH(cpu, t->topo->online) {
        HostCpu *c = topology_cpu(t, cpu);
        bool leads = topology_cpu_leads(c);
        const CpuTraits *traits = traits_of(t, leads ? cpu : c->core);
        Kind *k = find_kind(kinds, traits);

        if (!k) {
            k = add_kind(kinds, traits);
        }
        cpuset_add(k->type.cpus, cpu);
        k->capacity = MAX(k->capacity, c->capacity);
        k->cores += leads;
    }
    return kinds;
}

/* The largest kind first, then the one with the higher capacity */
static gint compare_kinds(gconstpointer a, gconstpointer b)
{
    const Kind *left = a, *right = b;
    unsigned left_count = cpuset_count(left->type.cpus);
    unsigned right_count = cpuset_count(right->type.cpus);

    if (left_count != right_count) {
        return left_count > right_count ? -1 : 1;
    }
    if (left->capacity != right->capacity) {
        return left->capacity > right->capacity ? -1 : 1;
    }
    return cpuset_first(left->type.cpus) - cpuset_first(right->type.cpus);
}

/*
 * Signs of a fast kind, the best first.  None of them measures speed, but
 * hybrid hosts have SMT and the larger caches on the fast cores if anywhere.
 */
static int64_t speed_sign(const Kind *k, int sign)
{
    switch (sign) {
    case 0:
        return k->traits.pmu ? k->traits.pmu : HOST_UNKNOWN;
    case 1:
        return k->capacity;
    case 2:
        return cpuset_count(k->type.cpus) * 1000LL / k->cores;
    case 3:
        return k->traits.caches.l1_data;
    default:
        g_assert_not_reached();
    }
}

#define SPEED_SIGNS 4

/* Whether @sign ranks the kinds: all have it, and not all the same */
static bool name_kinds_by(GArray *kinds, int sign)
{
    int64_t low = INT64_MAX, high = INT64_MIN;

    for (guint i = 0; i < kinds->len; i++) {
        int64_t value = speed_sign(&g_array_index(kinds, Kind, i), sign);

        low = MIN(low, value);
        high = MAX(high, value);
    }
    if (low == high || low == HOST_UNKNOWN) {
        return false;
    }
    for (guint i = 0; i < kinds->len; i++) {
        Kind *k = &g_array_index(kinds, Kind, i);
        int64_t value = speed_sign(k, sign);

        k->type.name = value == high ? "performance" :
                       value == low ? "efficient" : "middle";
    }
    return true;
}

static void name_kinds(GArray *kinds)
{
    for (int sign = 0; sign < SPEED_SIGNS; sign++) {
        if (name_kinds_by(kinds, sign)) {
            return;
        }
    }
    for (guint i = 0; i < kinds->len; i++) {
        g_array_index(kinds, Kind, i).type.name =
            kinds->len == 1 ? "uniform" : "unranked";
    }
}

void topology_read_kinds(TopologyReading *t)
{
    g_autoptr(GArray) kinds = NULL;

    read_capacities(t);
    read_midrs(t);
    if (want_cpuinfo(t)) {
        read_cpuinfo(t);
    }
    if (!t->has_pmus && !any_design(t) && !any_size(t)) {
        set_steps(t);
    }
    kinds = make_kinds(t);
    g_array_sort(kinds, compare_kinds);
    name_kinds(kinds);

    t->topo->types = g_new0(HostCpuType, kinds->len);
    t->topo->n_types = kinds->len;
    for (guint i = 0; i < kinds->len; i++) {
        t->topo->types[i] = g_array_index(kinds, Kind, i).type;
        CPUSET_FOREACH(cpu, t->topo->types[i].cpus) {
            topology_cpu(t, cpu)->type = i;
        }
    }
}
