/*
 * Choosing where a virtual machine goes: options and what is taken
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "pinning-plan-internal.h"

/*
 * A list that names what the host does not have, or what the process may not
 * use, is refused as a whole: the rest of it is not what was asked for.
 */
static bool refuse(const CpuSet *bad, const char *option, const char *what,
                   const char *why, const CpuSet *good, Error **errp)
{
    ERRP_GUARD();
    g_autofree char *bad_text = plan_list_text(bad);
    g_autofree char *good_text = plan_list_text(good);

    if (cpuset_is_empty(bad)) {
        return true;
    }
    error_setg(errp, "Parameter '%s' names %s%s %s, %s", option, what,
               cpuset_count(bad) > 1 ? "s" : "", bad_text, why);
    error_append_hint(errp, "Allowed are %s.\n",
                      *good_text ? good_text : "none");
    return false;
}

static CpuSet *parse_list(const char *option, const char *text, Error **errp)
{
    ERRP_GUARD();
    CpuSet *set = cpulist_parse(text, errp);

    if (!set) {
        error_prepend(errp, "Parameter '%s': ", option);
    }
    return set;
}

/*
 * Isolated CPUs may be named although the process does not have them: that
 * they are in nobody's inherited affinity is what isolcpus does.
 */
static bool read_cpus(Planner *p, const char *option, const char *text,
                      CpuSet **out, Error **errp)
{
    g_autoptr(CpuSet) present = cpuset_new();
    g_autoptr(CpuSet) good = cpuset_copy(p->topo->isolated);
    g_autoptr(CpuSet) bad = NULL;
    CpuSet *set;

    if (!text) {
        return true;
    }
    set = *out = parse_list(option, text, errp);
    if (!set) {
        return false;
    }
    for (unsigned i = 0; i < p->topo->n_cpus; i++) {
        cpuset_add(present, p->topo->cpus[i].cpu);
    }
    cpuset_and(good, p->topo->online);
    cpuset_or(good, p->topo->allowed_cpus);
    bad = cpuset_copy(set);
    cpuset_andnot(bad, present);
    if (!refuse(bad, option, "host CPU", "which this host does not have",
                good, errp)) {
        return false;
    }
    cpuset_or(bad, set);
    cpuset_andnot(bad, p->topo->online);
    if (!refuse(bad, option, "host CPU", "not online", good, errp)) {
        return false;
    }
    cpuset_or(bad, set);
    cpuset_andnot(bad, good);
    return refuse(bad, option, "host CPU",
                  "outside of the affinity or cpuset of this process", good,
                  errp);
}

static bool read_nodes(Planner *p, const char *text, Error **errp)
{
    const char *option = "pinning-hostnodes";
    g_autoptr(CpuSet) good = cpuset_new();
    g_autoptr(CpuSet) bad = NULL;

    if (!text) {
        return true;
    }
    p->wishes.hostnodes = parse_list(option, text, errp);
    if (!p->wishes.hostnodes) {
        return false;
    }
    for (unsigned i = 0; i < p->topo->n_nodes; i++) {
        cpuset_add(good, p->topo->nodes[i].node);
    }
    bad = cpuset_copy(p->wishes.hostnodes);
    cpuset_andnot(bad, good);
    return refuse(bad, option, "host node", "which this host does not have",
                  good, errp);
}

bool plan_read_wishes(Planner *p, Error **errp)
{
    const PinningOptions *o = p->req->options;
    PlanWishes *w = &p->wishes;

    w->mode = o->has_mode ? o->mode : PINNING_MODE_NONE;
    w->smt = o->has_smt ? o->smt : PINNING_SMT_PREFER;
    w->cpu_kind = o->has_cpu_kind ? o->cpu_kind : PINNING_CPU_KIND_LARGEST;
    w->strategy = o->has_strategy ? o->strategy : PINNING_STRATEGY_SPREAD;
    w->memory = o->has_memory ? o->memory : PINNING_MEMORY_BIND;
    w->memory_given = o->has_memory;
    w->vnuma = o->has_vnuma && o->vnuma;
    w->host_topology = o->has_guest_topology &&
                       o->guest_topology == PINNING_GUEST_TOPOLOGY_HOST;
    w->exclusive = o->has_exclusive && o->exclusive;
    return read_cpus(p, "pinning-cpus", o->cpus, &w->cpus, errp) &&
           read_nodes(p, o->hostnodes, errp) &&
           read_cpus(p, "pinning-emulator-cpus", o->emulator_cpus,
                     &w->emulator_cpus, errp) &&
           read_cpus(p, "pinning-io-cpus", o->io_cpus, &w->io_cpus, errp);
}

void plan_wishes_clear(PlanWishes *w)
{
    cpuset_free(w->cpus);
    cpuset_free(w->hostnodes);
    cpuset_free(w->emulator_cpus);
    cpuset_free(w->io_cpus);
}

static CpuSet *read_taken_list(const char *what, const char *text,
                               Error **errp)
{
    ERRP_GUARD();
    CpuSet *set;

    if (!text || !*text) {
        return cpuset_new();
    }
    set = cpulist_parse(text, errp);
    if (!set) {
        error_prepend(errp, "Member '%s' of what is taken: ", what);
    }
    return set;
}

static void add_load(PlanOthers *o, const CpuSet *cpus, uint32_t load)
{
    CPUSET_FOREACH(cpu, cpus) {
        if (cpu >= o->load_len) {
            unsigned len = cpu + 64;

            o->load = g_renew(uint32_t, o->load, len);
            memset(o->load + o->load_len, 0,
                   (len - o->load_len) * sizeof(uint32_t));
            o->load_len = len;
        }
        o->load[cpu] = MIN((uint64_t)o->load[cpu] + load, INT32_MAX);
    }
}

static char *owners_text(const strList *owners)
{
    g_autoptr(GString) text = g_string_new("");

    for (; owners; owners = owners->next) {
        g_string_append_printf(text, "%s'%s'", text->len ? ", " : "",
                               owners->value);
    }
    if (!text->len) {
        g_string_append(text, "others");
    }
    return g_strdup(text->str);
}

bool plan_read_others(Planner *p, const PinningTaken *taken, Error **errp)
{
    PlanOthers *o = &p->others;

    o->exclusive = read_taken_list("exclusive-cpus", taken ?
                                   taken->exclusive_cpus : NULL, errp);
    if (!o->exclusive) {
        return false;
    }
    o->parked = read_taken_list("parked-cpus", taken ?
                                taken->parked_cpus : NULL, errp);
    if (!o->parked) {
        return false;
    }
    o->owners = owners_text(taken ? taken->exclusive_owners : NULL);
    if (!taken) {
        return true;
    }
    o->nodes = taken->nodes;
    o->rotation = taken->has_rotation ? taken->rotation : 0;
    for (PinningTakenCpuList *l = taken->cpus; l; l = l->next) {
        g_autoptr(CpuSet) cpus = read_taken_list("cpus", l->value->host_cpus,
                                                 errp);

        if (!cpus) {
            return false;
        }
        add_load(o, cpus, l->value->load);
    }
    return true;
}

void plan_others_clear(PlanOthers *o)
{
    cpuset_free(o->exclusive);
    cpuset_free(o->parked);
    g_free(o->owners);
    g_free(o->load);
}

unsigned plan_load_of(const PlanOthers *o, unsigned cpu)
{
    return cpu < o->load_len ? o->load[cpu] : 0;
}
