/*
 * Choosing where a virtual machine goes on its host
 *
 * This is the policy in words.  What follows it is spread over files with
 * one job each, pinning-plan-*.c, in the order of this text.
 *
 * 1. What may be used (usable, kind).  The user's lists, the affinity and
 *    cpuset of the process, and what others hold alone are limits, never
 *    hints.  Isolated CPUs are used only by name, and then only one-to-one,
 *    as nobody balances load on them.  A guest gets one kind of core.
 *
 * 2. How much is needed (units, size).  A guest node, or a machine without
 *    any, is placed as a whole: a unit.  Its size is counted in cores.
 *    Counting SMT threads makes a machine fit where it runs at half speed.
 *
 * 3. Which host nodes (nodes, search, score).  Fewest that are enough, then
 *    those not crowded by others, those of assigned devices, those close
 *    together, those with most uncommitted memory.  A machine on one node
 *    has no remote memory at all, which beats all that could be gained from
 *    emptier nodes; and a vCPU that waits for a CPU loses more than a
 *    distance costs, so crowding comes before distance.  In the modes that
 *    keep guest nodes apart each gets a host node of its own first, since a
 *    guest that has nodes expects their bandwidth to add up.
 *
 * 4. Which host CPUs (share, cpus, hand-out).  In mode one-to-one: own cores
 *    before siblings, few caches before many, siblings where the guest has
 *    them.  A host CPU is handed out once, and what is missing is an error;
 *    starting over at the first one would stack vCPUs, where one runs and
 *    the others wait, which is worse than not to pin.
 *
 * 5. Memory (memory).  It goes where the vCPUs are.  If a unit has several
 *    nodes, a page comes from the one whose vCPU touches it first; only what
 *    QEMU touches ahead of them is interleaved.
 *
 * 6. The rest (helpers, guest, reason, report).  Helper threads keep away
 *    from CPUs that vCPUs have for their own; every choice says why.
 *
 * A limit that somebody named is kept or refused with numbers.  What was
 * chosen here gives way step by step, and says so in a warning.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "pinning-plan-internal.h"

static void guest_node_clear(PinningGuestNode *node)
{
    g_free(node->memdev);
    cpuset_free(node->vcpus);
    cpuset_free(node->host_nodes);
}

void pinning_request_cleanup(PinningRequest *req)
{
    for (unsigned i = 0; i < req->n_nodes; i++) {
        guest_node_clear(&req->nodes[i]);
    }
    g_free(req->nodes);
    req->nodes = NULL;
    req->n_nodes = 0;
    if (req->ram) {
        guest_node_clear(req->ram);
        g_free(req->ram);
        req->ram = NULL;
    }
}

static void planner_init(Planner *p, const HostTopology *topo,
                         const PinningRequest *req)
{
    *p = (Planner) {
        .topo = topo,
        .req = req,
        .left_out = g_string_new(""),
        .chunk = 1,
        .vcpu_place = g_new0(unsigned, req->vcpus),
        .vcpu_cpus = g_new0(CpuSet *, req->vcpus),
        .vcpu_reason = g_new0(char *, req->vcpus),
        .cpu_sets = g_ptr_array_new_with_free_func(
            (GDestroyNotify)cpuset_free),
        .single = cpuset_new(),
        .parked = cpuset_new(),
        .warnings = g_ptr_array_new_with_free_func(g_free),
    };
}

static void planner_clear(Planner *p)
{
    for (unsigned v = 0; v < p->req->vcpus; v++) {
        g_free(p->vcpu_reason[v]);
    }
    plan_units_clear(p);
    plan_host_clear(&p->host);
    plan_wishes_clear(&p->wishes);
    plan_others_clear(&p->others);
    cpuset_free(p->usable);
    cpuset_free(p->bound);
    cpuset_free(p->single);
    cpuset_free(p->parked);
    cpuset_free(p->emulator_cpus);
    cpuset_free(p->io_cpus);
    g_free(p->kind_text);
    g_free(p->vcpu_place);
    g_free(p->vcpu_cpus);
    g_free(p->vcpu_reason);
    g_string_free(p->left_out, TRUE);
    g_ptr_array_unref(p->cpu_sets);
    g_ptr_array_unref(p->warnings);
}

/* Mode none looks at memory only, for guest nodes with hostnodes */
static bool plan_nothing(Planner *p, Error **errp)
{
    CpuSet *all = plan_own_set(p, cpuset_copy(p->topo->allowed_cpus));

    p->usable = cpuset_copy(all);
    p->bound = cpuset_copy(all);
    plan_map_host(p);
    if (!plan_make_units(p, errp)) {
        return false;
    }
    for (unsigned v = 0; v < p->req->vcpus; v++) {
        plan_give(p, v, all, g_strdup("not placed"));
    }
    return true;
}

/* Siblings that stay idle so that somebody's core is all his */
static void park_siblings(Planner *p)
{
    g_autoptr(CpuSet) used = cpuset_new();
    g_autofree bool *mine = g_new0(bool, p->topo->cpu_index_len);

    if (p->wishes.smt == PINNING_SMT_PREFER) {
        return;
    }
    for (unsigned i = 0; i < p->cpu_sets->len; i++) {
        cpuset_or(used, p->cpu_sets->pdata[i]);
    }
    CPUSET_FOREACH(cpu, used) {
        mine[plan_core_of(host_topology_cpu(p->topo, cpu))] = true;
    }
    CPUSET_FOREACH(cpu, p->topo->online) {
        if (mine[plan_core_of(host_topology_cpu(p->topo, cpu))] &&
            !cpuset_contains(used, cpu)) {
            cpuset_add(p->parked, cpu);
        }
    }
}

static bool plan_something(Planner *p, Error **errp)
{
    PinningMode mode = p->wishes.mode;

    if (!plan_find_usable(p, errp)) {
        return false;
    }
    plan_map_host(p);
    if (!plan_make_units(p, errp) || !plan_size_units(p, errp) ||
        !plan_choose_nodes(p, errp)) {
        return false;
    }
    if (mode == PINNING_MODE_ONE_TO_ONE ||
        (mode == PINNING_MODE_SPREAD && !p->req->one_thread)) {
        if (!plan_share_places(p, errp)) {
            return false;
        }
        if (mode == PINNING_MODE_SPREAD) {
            plan_spread(p);
        } else {
            plan_hand_out(p);
        }
    } else {
        plan_float(p);
    }
    park_siblings(p);
    plan_give_reasons(p);
    return true;
}

PinningPlan *pinning_plan_new(const HostTopology *topo,
                              const PinningRequest *req,
                              const PinningTaken *taken, Error **errp)
{
    PinningPlan *plan = NULL;
    Planner p;

    planner_init(&p, topo, req);
    if (plan_read_wishes(&p, errp) && plan_read_others(&p, taken, errp) &&
        (p.wishes.mode == PINNING_MODE_NONE ? plan_nothing(&p, errp)
                                            : plan_something(&p, errp)) &&
        plan_place_memory(&p, errp) && plan_place_helpers(&p, errp)) {
        plan_guest_topology(&p);
        plan = plan_report(&p);
    }
    planner_clear(&p);
    return plan;
}

CpuSet *pinning_plan_cpus(const PinningPlan *plan)
{
    g_autoptr(CpuSet) all = cpuset_new();

    for (PinningVcpuPlanList *v = plan->vcpus; v; v = v->next) {
        g_autoptr(CpuSet) own = NULL;

        if (*v->value->host_cpus) {
            own = cpulist_parse(v->value->host_cpus, &error_abort);
            cpuset_or(all, own);
        }
    }
    return g_steal_pointer(&all);
}
