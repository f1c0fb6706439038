/*
 * Choosing where a virtual machine goes: all other threads
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "pinning-plan-internal.h"

/* A list that the user gave for helpers: their CPUs may not be somebody's */
static bool check_given(Planner *p, const char *option, const CpuSet *given,
                        Error **errp)
{
    ERRP_GUARD();
    g_autoptr(CpuSet) clash = cpuset_copy(given);
    g_autofree char *text = NULL;

    cpuset_and(clash, p->others.exclusive);
    if (!cpuset_is_empty(clash)) {
        text = plan_list_text(clash);
        error_setg(errp, "Parameter '%s' names host CPUs %s, which are held "
                   "by %s alone", option, text, p->others.owners);
        error_append_hint(errp, "Leave them out, or end what holds them.\n");
        return false;
    }
    cpuset_or(clash, given);
    cpuset_and(clash, p->single);
    if (!cpuset_is_empty(clash)) {
        text = plan_list_text(clash);
        plan_warn(p, "%s names host CPUs %s, which vCPUs have for their own",
                  option, text);
    }
    return true;
}

/* What helpers may use of @set: they float, and vCPUs are not disturbed */
static void leave_vcpus(const Planner *p, CpuSet *set)
{
    cpuset_andnot(set, p->single);
    cpuset_andnot(set, p->parked);
    cpuset_andnot(set, p->others.exclusive);
    cpuset_andnot(set, p->others.parked);
    cpuset_andnot(set, p->topo->isolated);
}

/*
 * Without a host CPU left inside of what may be used, helpers share those of
 * the vCPUs.  Isolated ones cannot be shared, so then it has to be outside.
 */
static CpuSet *default_emulator(Planner *p)
{
    g_autoptr(CpuSet) set = cpuset_copy(p->bound);

    leave_vcpus(p, set);
    if (!cpuset_is_empty(set)) {
        return g_steal_pointer(&set);
    }
    cpuset_or(set, p->bound);
    cpuset_andnot(set, p->parked);
    cpuset_andnot(set, p->topo->isolated);
    cpuset_andnot(set, p->others.exclusive);
    cpuset_andnot(set, p->others.parked);
    if (!cpuset_is_empty(set)) {
        plan_warn(p, "no host CPU is left for helper threads: they share "
                  "those of the vCPUs; see pinning-emulator-cpus");
        return g_steal_pointer(&set);
    }
    cpuset_or(set, p->topo->allowed_cpus);
    leave_vcpus(p, set);
    if (cpuset_is_empty(set)) {
        cpuset_or(set, p->topo->allowed_cpus);
        plan_warn(p, "no host CPU is left for helper threads: they are not "
                  "confined; see pinning-emulator-cpus");
    }
    return g_steal_pointer(&set);
}

/* The host nodes that the machine is on, of any kind of core */
static void add_machine_nodes(const Planner *p, CpuSet *set)
{
    for (unsigned i = 0; i < p->n_units; i++) {
        const PlanUnit *u = &p->units[i];

        for (unsigned j = 0; j < u->n_places; j++) {
            const PlanPlace *place = &p->host.places[u->places[j]];

            if (place->node >= 0) {
                cpuset_or(set, host_topology_node(p->topo,
                                                  place->node)->cpus);
            }
        }
    }
    cpuset_and(set, p->bound);
}

static CpuSet *default_io(Planner *p)
{
    g_autoptr(CpuSet) set = cpuset_new();

    add_machine_nodes(p, set);
    leave_vcpus(p, set);
    if (cpuset_is_empty(set)) {
        cpuset_or(set, p->emulator_cpus);
        plan_warn(p, "no host CPU is left for I/O threads on the host nodes "
                  "of the vCPUs: they are with the helper threads; see "
                  "pinning-io-cpus");
    }
    return g_steal_pointer(&set);
}

bool plan_place_helpers(Planner *p, Error **errp)
{
    const PlanWishes *w = &p->wishes;
    bool none = w->mode == PINNING_MODE_NONE;

    if (w->emulator_cpus &&
        !check_given(p, "pinning-emulator-cpus", w->emulator_cpus, errp)) {
        return false;
    }
    if (w->io_cpus && !check_given(p, "pinning-io-cpus", w->io_cpus, errp)) {
        return false;
    }
    p->emulator_cpus = w->emulator_cpus ? cpuset_copy(w->emulator_cpus)
                       : none ? cpuset_copy(p->topo->allowed_cpus)
                       : default_emulator(p);
    p->io_cpus = w->io_cpus ? cpuset_copy(w->io_cpus)
                 : none ? cpuset_copy(p->topo->allowed_cpus)
                 : default_io(p);
    return true;
}
