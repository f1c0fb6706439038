/*
 * Choosing where a virtual machine goes: the host CPUs that may be used
 *
 * Starts from all that the user or the process allows and takes away, for
 * one reason after the other.  The reasons are counted, so that a refusal
 * can say where the host CPUs went.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "pinning-plan-internal.h"

/* What is known of one core, by the number of its first CPU */
typedef struct CoreState {
    unsigned online;        /* CPUs it has */
    unsigned usable;        /* of them, usable ones */
    bool busy;              /* others have something on one of them */
    bool handed;            /* isolate: its one CPU is found */
} CoreState;

static void leave_out(Planner *p, const CpuSet *cpus, const char *why)
{
    g_autoptr(CpuSet) gone = cpuset_copy(cpus);
    unsigned n;

    cpuset_and(gone, p->usable);
    n = cpuset_count(gone);
    if (n) {
        cpuset_andnot(p->usable, gone);
        g_string_append_printf(p->left_out, "%s%u %s",
                               p->left_out->len ? ", " : "", n, why);
    }
}

/* Returns: " (4 isolated, 2 ...)" or "" */
char *plan_left_out_text(const Planner *p)
{
    return p->left_out->len ? g_strdup_printf(" (left out: %s)",
                                              p->left_out->str)
                            : g_strdup("");
}

static bool find_bound(Planner *p, Error **errp)
{
    ERRP_GUARD();
    const PlanWishes *w = &p->wishes;

    if (w->cpus) {
        p->bound = cpuset_copy(w->cpus);
    } else {
        p->bound = cpuset_copy(p->topo->allowed_cpus);
        cpuset_andnot(p->bound, p->topo->isolated);
        if (cpuset_is_empty(p->bound)) {
            error_setg(errp, "pinning=%s finds no host CPU: all that this "
                       "process may use are isolated",
                       PinningMode_str(w->mode));
            error_append_hint(errp, "Name them in pinning-cpus with "
                              "pinning=one-to-one.\n");
            return false;
        }
    }
    if (w->hostnodes) {
        g_autoptr(CpuSet) there = cpuset_new();

        CPUSET_FOREACH(node, w->hostnodes) {
            cpuset_or(there, host_topology_node(p->topo, node)->cpus);
        }
        cpuset_and(p->bound, there);
    }
    if (cpuset_is_empty(p->bound)) {
        g_autofree char *nodes = plan_list_text(w->hostnodes);
        bool many = cpuset_count(w->hostnodes) > 1;

        error_setg(errp, "Parameter 'pinning-hostnodes': host node%s %s %s "
                   "no usable host CPU%s", many ? "s" : "", nodes,
                   many ? "have" : "has", w->cpus ? " of pinning-cpus" : "");
        error_append_hint(errp, "Name a host node with CPUs as well.\n");
        return false;
    }
    return true;
}

/*
 * Nobody balances load inside an isolated set: threads that share several
 * isolated CPUs all stay on the one they woke up on.
 */
static bool check_isolated(Planner *p, Error **errp)
{
    ERRP_GUARD();
    g_autoptr(CpuSet) isolated = cpuset_copy(p->bound);
    g_autofree char *text = NULL;

    cpuset_and(isolated, p->topo->isolated);
    if (cpuset_is_empty(isolated) ||
        p->wishes.mode == PINNING_MODE_ONE_TO_ONE) {
        return true;
    }
    text = plan_list_text(isolated);
    error_setg(errp, "Parameter 'pinning-cpus': host CPUs %s are isolated, "
               "where only pinning=one-to-one works, not pinning=%s", text,
               PinningMode_str(p->wishes.mode));
    error_append_hint(errp, "The scheduler does not balance isolated CPUs; "
                      "leave them out of pinning-cpus.\n");
    return false;
}

static void leave_others(Planner *p)
{
    g_autoptr(CpuSet) theirs = cpuset_copy(p->others.exclusive);
    g_autoptr(CpuSet) loaded = cpuset_new();
    g_autofree char *why = g_strdup_printf("held by %s alone",
                                           p->others.owners);

    cpuset_or(theirs, p->others.parked);
    if (p->wishes.cpus && cpuset_intersects(theirs, p->usable)) {
        g_autoptr(CpuSet) overlap = cpuset_copy(theirs);
        g_autofree char *text = NULL;

        cpuset_and(overlap, p->usable);
        text = plan_list_text(overlap);
        plan_warn(p, "host CPUs %s of pinning-cpus are %s and stay unused",
                  text, why);
    }
    leave_out(p, p->others.exclusive, why);
    leave_out(p, p->others.parked, "kept idle by others");
    if (p->wishes.exclusive) {
        CPUSET_FOREACH(cpu, p->usable) {
            if (plan_load_of(&p->others, cpu)) {
                cpuset_add(loaded, cpu);
            }
        }
        leave_out(p, loaded, "used by others, so not exclusive");
    }
}

/*
 * Whoever names isolated CPUs and others means the isolated ones for vCPUs,
 * and the others for the threads that may not be there.
 */
static void leave_unisolated(Planner *p)
{
    g_autoptr(CpuSet) others = cpuset_copy(p->usable);
    unsigned n = 0;

    cpuset_andnot(others, p->topo->isolated);
    CPUSET_FOREACH(cpu, p->usable) {
        n += cpuset_contains(p->topo->isolated, cpu) &&
             plan_load_of(&p->others, cpu) < PLAN_VCPU;
    }
    if (p->wishes.smt == PINNING_SMT_PREFER && n >= plan_vcpu_threads(p)) {
        leave_out(p, others, "not isolated");
    }
}

static CoreState *core_states(const Planner *p)
{
    const HostTopology *topo = p->topo;
    CoreState *cores = g_new0(CoreState, topo->cpu_index_len);

    for (unsigned i = 0; i < topo->n_cpus; i++) {
        const HostCpu *c = &topo->cpus[i];
        CoreState *core = &cores[plan_core_of(c)];

        if (!c->online) {
            continue;
        }
        core->online++;
        core->usable += cpuset_contains(p->usable, c->cpu);
        core->busy |= plan_load_of(&p->others, c->cpu) ||
                      cpuset_contains(p->others.exclusive, c->cpu) ||
                      cpuset_contains(p->others.parked, c->cpu);
    }
    return cores;
}

/* One CPU of each core whose siblings can be kept idle */
static void leave_siblings(Planner *p)
{
    g_autofree CoreState *cores = core_states(p);
    g_autoptr(CpuSet) busy = cpuset_new();
    g_autoptr(CpuSet) idle = cpuset_new();

    CPUSET_FOREACH(cpu, p->usable) {
        CoreState *c = &cores[plan_core_of(host_topology_cpu(p->topo, cpu))];

        if (c->busy) {
            cpuset_add(busy, cpu);
        } else if (c->handed) {
            cpuset_add(idle, cpu);
        }
        c->handed = true;
    }
    leave_out(p, busy, "on cores that others use");
    leave_out(p, idle, "kept idle as siblings");
}

static void leave_incomplete(Planner *p)
{
    g_autofree CoreState *cores = core_states(p);
    g_autoptr(CpuSet) incomplete = cpuset_new();

    CPUSET_FOREACH(cpu, p->usable) {
        CoreState *c = &cores[plan_core_of(host_topology_cpu(p->topo, cpu))];

        if (c->online < 2 || c->usable < c->online) {
            cpuset_add(incomplete, cpu);
        }
    }
    leave_out(p, incomplete, "without a complete set of usable siblings");
}

bool plan_find_usable(Planner *p, Error **errp)
{
    g_autofree char *left_out = NULL;

    if (!find_bound(p, errp) || !check_isolated(p, errp)) {
        return false;
    }
    p->usable = cpuset_copy(p->bound);
    leave_others(p);
    leave_unisolated(p);
    if (p->wishes.smt == PINNING_SMT_ISOLATE) {
        leave_siblings(p);
    } else if (p->wishes.smt == PINNING_SMT_REQUIRE) {
        leave_incomplete(p);
    }
    if (!cpuset_is_empty(p->usable)) {
        return plan_choose_kind(p, errp);
    }
    left_out = plan_left_out_text(p);
    error_setg(errp, "pinning=%s%s needs %u host CPU%s, 0 are usable%s",
               PinningMode_str(p->wishes.mode),
               p->wishes.exclusive ? " with pinning-exclusive" : "",
               plan_vcpu_threads(p), plan_vcpu_threads(p) > 1 ? "s" : "",
               left_out);
    return false;
}
