/*
 * Choosing where a virtual machine goes: kinds of CPU
 *
 * A guest sees one kind of CPU, so its vCPUs stay on one.  By default that
 * is the kind with the most usable host CPUs among those that are enough.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "pinning-plan-internal.h"

typedef struct Kind {
    unsigned type;
    unsigned cpus;          /* usable ones */
    unsigned cores;
    unsigned sets;          /* sets of siblings for the guest's cores */
    bool enough;
} Kind;

static void count_kinds(const Planner *p, Kind *kinds)
{
    g_autofree unsigned *in_core = g_new0(unsigned, p->topo->cpu_index_len);

    for (unsigned i = 0; i < p->topo->n_types; i++) {
        kinds[i].type = i;
    }
    CPUSET_FOREACH(cpu, p->usable) {
        const HostCpu *c = host_topology_cpu(p->topo, cpu);
        Kind *k = &kinds[c->type];
        unsigned n = ++in_core[plan_core_of(c)];

        k->cpus++;
        k->cores += n == 1;
        k->sets += n % p->req->threads == 0;
    }
    for (unsigned i = 0; i < p->topo->n_types; i++) {
        kinds[i].enough = kinds[i].cpus >= plan_vcpu_threads(p);
    }
}

/*
 * Enough host CPUs before many; where two kinds have as many, the one whose
 * siblings look like the guest's, then the one with more cores.
 */
static bool is_better(const Planner *p, const Kind *a, const Kind *b)
{
    unsigned want = plan_vcpu_threads(p) / p->req->threads;

    if (a->enough != b->enough) {
        return a->enough;
    }
    if (a->cpus != b->cpus) {
        return a->cpus > b->cpus;
    }
    if ((a->sets >= want) != (b->sets >= want)) {
        return a->sets >= want;
    }
    return a->cores > b->cores;
}

static const Kind *find_kind(const Planner *p, const Kind *kinds)
{
    const char *name = p->wishes.cpu_kind == PINNING_CPU_KIND_PERFORMANCE
                       ? "performance" : "efficient";
    const Kind *best = NULL;

    for (unsigned i = 0; i < p->topo->n_types; i++) {
        if (p->wishes.cpu_kind == PINNING_CPU_KIND_LARGEST) {
            if (!best || is_better(p, &kinds[i], best)) {
                best = &kinds[i];
            }
        } else if (!strcmp(host_topology_type_name(p->topo, i), name)) {
            return &kinds[i];
        }
    }
    return best;
}

static char *kinds_text(const Planner *p, const Kind *kinds)
{
    g_autoptr(GString) text = g_string_new("");

    for (unsigned i = 0; i < p->topo->n_types; i++) {
        g_string_append_printf(text, "%s%u %s", i ? ", " : "", kinds[i].cpus,
                               host_topology_type_name(p->topo, i));
    }
    return g_strdup(text->str);
}

static void keep_kind(Planner *p, const Kind *kinds, const Kind *k)
{
    g_autofree char *all = kinds_text(p, kinds);

    p->kind_text = g_strdup_printf(
        "%s cores, %s (usable host CPUs: %s)",
        host_topology_type_name(p->topo, k->type),
        p->wishes.cpu_kind != PINNING_CPU_KIND_LARGEST ? "as asked for"
        : "the largest kind that is enough", all);
    for (unsigned i = 0; i < p->topo->n_cpus; i++) {
        if (p->topo->cpus[i].type != k->type) {
            cpuset_del(p->usable, p->topo->cpus[i].cpu);
        }
    }
}

bool plan_choose_kind(Planner *p, Error **errp)
{
    ERRP_GUARD();
    g_autofree Kind *kinds = g_new0(Kind, p->topo->n_types);
    g_autofree char *all = NULL;
    const Kind *k;

    if (p->wishes.cpu_kind == PINNING_CPU_KIND_ANY) {
        return true;
    }
    if (p->topo->n_types < 2) {
        if (p->wishes.cpu_kind != PINNING_CPU_KIND_LARGEST) {
            plan_warn(p, "pinning-cpu-kind=%s has no effect: the host has "
                      "one kind of CPU",
                      PinningCpuKind_str(p->wishes.cpu_kind));
        }
        return true;
    }
    count_kinds(p, kinds);
    k = find_kind(p, kinds);
    if (k && k->cpus &&
        (k->enough || p->wishes.mode != PINNING_MODE_ONE_TO_ONE)) {
        keep_kind(p, kinds, k);
        return true;
    }
    all = kinds_text(p, kinds);
    error_setg(errp, "pinning=%s needs %u host CPUs of one kind%s%s, "
               "usable are %s", PinningMode_str(p->wishes.mode),
               plan_vcpu_threads(p),
               p->wishes.cpu_kind == PINNING_CPU_KIND_LARGEST ? ""
               : ", pinning-cpu-kind=",
               p->wishes.cpu_kind == PINNING_CPU_KIND_LARGEST ? ""
               : PinningCpuKind_str(p->wishes.cpu_kind), all);
    error_append_hint(errp, "pinning-cpu-kind=any mixes the kinds, which the "
                      "guest cannot see.\n");
    return false;
}
