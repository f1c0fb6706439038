/*
 * Choosing where a virtual machine goes: host nodes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "pinning-plan-internal.h"

/* Place with usable host CPUs that is nearest to a node without */
static unsigned nearest_place(const Planner *p, unsigned node)
{
    unsigned best = 0, best_distance = UINT_MAX;

    for (unsigned i = 0; i < p->host.n_places; i++) {
        int there = p->host.places[i].node;
        unsigned d = there < 0 ? UINT_MAX - 1
                     : host_topology_distance(p->topo, there, node);

        if (d < best_distance) {
            best = i;
            best_distance = d;
        }
    }
    return best;
}

static void add_place(PlanUnit *u, unsigned place)
{
    for (unsigned i = 0; i < u->n_places; i++) {
        if (u->places[i] == place) {
            return;
        }
    }
    u->places = g_renew(unsigned, u->places, u->n_places + 1);
    u->places[u->n_places++] = place;
}

/*
 * vCPUs run where the memory is.  Host nodes without any CPU are served from
 * the nearest one; where CPUs exist but may not be used, the user has said
 * two things that do not fit.
 */
static bool fix_places(Planner *p, PlanUnit *u, Error **errp)
{
    ERRP_GUARD();
    g_autofree char *nodes = plan_list_text(u->wish->host_nodes);

    CPUSET_FOREACH(node, u->wish->host_nodes) {
        int place = plan_place_of_node(p, node);

        if (place >= 0) {
            add_place(u, place);
        }
    }
    if (u->n_places) {
        return true;
    }
    CPUSET_FOREACH(node, u->wish->host_nodes) {
        const HostNode *n = host_topology_node(p->topo, node);

        if (n && !cpuset_is_empty(n->cpus) && u->n_vcpus) {
            g_autofree char *left_out = plan_left_out_text(p);

            error_setg(errp, "Guest node %u needs %u host CPUs of host nodes "
                       "%s, 0 are usable%s", u->guest_node, u->n_vcpus,
                       nodes, left_out);
            error_append_hint(errp, "Its hostnodes and %s exclude each "
                              "other.\n", p->wishes.cpus ? "pinning-cpus"
                              : "the CPUs this process may use");
            return false;
        }
        add_place(u, nearest_place(p, node));
    }
    return true;
}

bool plan_is_enough(const Planner *p)
{
    return !p->score.cost[COST_CPU_LACK] && !p->score.cost[COST_MEMORY_LACK];
}

static bool any_binds(const Planner *p)
{
    for (unsigned i = 0; i < p->n_units; i++) {
        if (p->units[i].binds && !p->units[i].fixed && p->units[i].size) {
            return true;
        }
    }
    return false;
}

/*
 * The policy, part two: what is given up first.
 *
 * Memory is the harder limit, since a machine bound to nodes without enough
 * of it is killed, so a core for each chunk is given up before free memory:
 * first siblings are used, then vCPUs share host CPUs.  Only if no choice
 * has free memory is memory counted that others could give up, and last
 * none; what is bound then is made a preference, see plan_place_memory().
 */
static void choose(Planner *p)
{
    PlanRoom last = any_binds(p) ? PLAN_ANY : PLAN_FREE;

    for (PlanRoom room = PLAN_FREE; room <= last; room++) {
        for (PlanLevel level = PLAN_OWN_CORES; level <= PLAN_SHARED;
             level++) {
            p->room = room;
            p->level = level;
            plan_search(p, level, room);
            if (plan_is_enough(p)) {
                return;
            }
        }
    }
}

bool plan_choose_nodes(Planner *p, Error **errp)
{
    for (unsigned i = 0; i < p->n_units; i++) {
        PlanUnit *u = &p->units[i];

        if (u->fixed && !fix_places(p, u, errp)) {
            return false;
        }
    }
    choose(p);
    if (plan_cut_machine(p)) {
        choose(p);
    }
    return true;
}

void plan_give_reasons(Planner *p)
{
    PlanTrial *t = plan_trial_new(p, p->level, p->room);

    for (unsigned i = 0; i < p->n_units; i++) {
        p->units[i].reason = plan_node_reason(p, t, &p->units[i]);
    }
    plan_trial_free(t);
}
