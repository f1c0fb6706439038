/*
 * Placing a running machine anew
 *
 * Validate, plan and reserve first; then apply.  If the host refuses
 * anything, everything that was changed is put back, so that a failed command
 * leaves no trace.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/clone-visitor.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-pinning.h"
#include "qapi/qapi-visit-pinning.h"
#include "qemu/error-report.h"
#include "qemu/thread-affinity.h"
#include "system/pinning-qemu.h"
#include "system/numa.h"
#include "pinning-apply.h"
#include "pinning-internal.h"
#include "pinning-memory.h"
#include "pinning-move.h"
#include "pinning-sandbox.h"

static bool is_kept(const char *name, bool given, int value, int old,
                    Error **errp)
{
    if (given && value != old) {
        error_setg(errp, "Parameter '%s' cannot change while the machine"
                   " runs", name);
        return false;
    }
    return true;
}

/* What the guest sees, and cookies, are what they are since start */
static bool keep_start_options(PinningOptions *options,
                               const PinningOptions *start, Error **errp)
{
    static const PinningOptions none;

    if (!start) {
        start = &none;
    }
    if (!is_kept("vnuma", options->has_vnuma, options->vnuma, start->vnuma,
                 errp) ||
        !is_kept("guest-topology", options->has_guest_topology,
                 options->guest_topology, start->guest_topology, errp) ||
        !is_kept("core-sched", options->has_core_sched, options->core_sched,
                 start->core_sched, errp)) {
        return false;
    }
    options->has_vnuma = start->has_vnuma;
    options->vnuma = start->vnuma;
    options->has_guest_topology = start->has_guest_topology;
    options->guest_topology = start->guest_topology;
    options->has_core_sched = start->has_core_sched;
    options->core_sched = start->core_sched;
    return true;
}

static bool take_options(PinningState *next, const PinningState *old,
                         const PinningOptions *options, Error **errp)
{
    if (!options && !old->options) {
        error_setg(errp, "Parameter 'options' is needed: pinning is off");
        return false;
    }
    next->options = QAPI_CLONE(PinningOptions, options ?: old->options);
    next->options->has_mode = true;
    if (options && (!pinning_config_check(options, current_machine, errp) ||
                    !keep_start_options(next->options, old->options, errp))) {
        return false;
    }
    if (old->options && g_strcmp0(next->options->registry,
                                  old->options->registry) == 0) {
        next->registry = old->registry;
    }
    return true;
}

/* Everything that the plan is made from, as it is now */
static bool prepare(PinningState *next, const PinningState *old,
                    const PinningOptions *options, Error **errp)
{
    MachineState *ms = current_machine;

    if (!take_options(next, old, options, errp)) {
        return false;
    }
    next->affinity = old->affinity ? cpuset_copy(old->affinity) :
                                     thread_affinity_get(0, errp);
    next->topo = next->affinity ?
                 pinning_host_new(next->affinity, errp) : NULL;
    if (!next->topo) {
        return false;
    }
    pinning_config_request(&next->req, ms, old->req.page_size, next->options);
    pinning_config_running_ram(&next->req, ms->memdev);
    if (ms->numa_state && !pinning_config_final_nodes(&next->req, ms, errp)) {
        return false;
    }
    pinning_memory_discount(next->topo, &next->req, ms->memdev);
    return true;
}

/* By hand one may go beyond the options, but not where nobody else may be */
static bool may_use(const PinningState *next, const CpuSet *host_cpus,
                    Error **errp)
{
    g_autoptr(PinningTaken) taken = next->registry ?
        pinning_registry_taken(next->registry, NULL, NULL) : NULL;
    g_autoptr(CpuSet) others = taken && taken->exclusive_cpus ?
        cpulist_parse(taken->exclusive_cpus, NULL) : NULL;
    g_autofree char *list = NULL;

    if (!cpuset_is_subset(host_cpus, next->topo->allowed_cpus)) {
        list = cpulist_format(next->topo->allowed_cpus);
        error_setg(errp, "not all of them are among those that may be used,"
                   " %s", list);
        return false;
    }
    if (others && cpuset_intersects(host_cpus, others)) {
        list = cpulist_format(others);
        error_setg(errp, "others have %s for themselves alone", list);
        return false;
    }
    return true;
}

static bool override_vcpu(const PinningState *next, PinningVcpuPlan *place,
                          const PinningVcpuMap *wish, Error **errp)
{
    g_autoptr(CpuSet) set = cpulist_parse(wish->host_cpus, errp);

    if (!set) {
        return false;
    }
    if (!place) {
        error_setg(errp, "Parameter 'vcpus' names vCPU %" PRIu32
                   ", but there are %u", wish->vcpu, next->req.vcpus);
        return false;
    }
    if (!may_use(next, set, errp)) {
        error_prepend(errp, "vCPU %" PRIu32 ": host CPUs %s: ", wish->vcpu,
                      wish->host_cpus);
        return false;
    }
    g_free(place->host_cpus);
    place->host_cpus = cpulist_format(set);
    g_free(place->reason);
    place->reason = g_strdup("set by hand");
    return true;
}

/* What the user says of single vCPUs takes the place of the plan's choice */
static bool override_vcpus(const PinningState *next,
                           const PinningVcpuMapList *vcpus, Error **errp)
{
    ERRP_GUARD();
    g_autoptr(GPtrArray) index = pinning_vcpu_index(next->plan);

    for (; vcpus; vcpus = vcpus->next) {
        if (!override_vcpu(next, pinning_indexed_vcpu(index,
                                                      vcpus->value->vcpu),
                           vcpus->value, errp)) {
            return false;
        }
    }
    return true;
}

/*
 * Without options the plan in force is applied once more.  Made anew it might
 * be another one, and who wants his masks back wants no move.
 */
static bool plan_and_reserve(PinningState *next, const PinningState *old,
                             const PinningOptions *options,
                             const PinningVcpuMapList *vcpus, Error **errp)
{
    ERRP_GUARD();

    if (!options) {
        next->plan = QAPI_CLONE(PinningPlan, old->plan);
    } else if (!pinning_choose(next, errp)) {
        error_prepend(errp, "Planning: ");
        return false;
    }
    if (!override_vcpus(next, vcpus, errp)) {
        return false;
    }
    if (vcpus && !pinning_reserve(next, errp)) {
        error_prepend(errp, "Reserving: ");
        return false;
    }
    return true;
}

/* The reservation is @old's again */
static void give_back(PinningState *next, const PinningState *old)
{
    Error *err = NULL;

    if (next->registry && next->registry != old->registry) {
        pinning_registry_close(next->registry);
    } else if (next->plan && !pinning_reserve(old, &err)) {
        warn_reportf_err(err, "pinning: the reservation could not be put"
                         " back: ");
    }
}

static void clear_state(PinningState *state)
{
    qapi_free_PinningPlan(state->plan);
    qapi_free_PinningOptions(state->options);
    host_topology_free(state->topo);
    pinning_request_cleanup(&state->req);
    cpuset_free(state->affinity);
}

PinningPlan *qmp_plan_pinning(PinningOptions *options, Error **errp)
{
    const PinningState *old = pinning_state();
    g_autoptr(PinningTaken) taken = NULL;
    PinningPlan *plan = NULL;
    PinningState next = { };

    if (prepare(&next, old, options, errp) &&
        pinning_open_registry(&next, errp)) {
        if (next.registry) {
            taken = pinning_registry_taken(next.registry, NULL, NULL);
        }
        plan = pinning_plan_new(next.topo, &next.req, taken, errp);
    }
    if (next.registry != old->registry) {
        pinning_registry_close(next.registry);
    }
    clear_state(&next);
    return plan;
}

/* Memory that is moving stays as it is while policies change */
static bool apply(const PinningState *old, const PinningState *next,
                  bool strict, Error **errp)
{
    bool ok;

    pinning_move_hold();
    ok = pinning_apply(old, next, strict, errp);
    pinning_move_release(ok);
    return ok;
}

PinningPlan *qmp_set_pinning(PinningOptions *options, bool has_vcpus,
                             PinningVcpuMapList *vcpus, bool has_move_memory,
                             bool move_memory, bool has_move_speed,
                             uint64_t move_speed, Error **errp)
{
    const PinningState *old = pinning_state();
    PinningState next = { };

    if (pinning_sandbox_forbids()) {
        error_setg(errp, "Threads cannot be moved: forbidden by -sandbox"
                   " resourcecontrol=deny");
        return NULL;
    }
    if (has_move_speed && (!move_memory || !move_speed)) {
        error_setg(errp, "Parameter 'move-speed' needs move-memory and a"
                   " number above 0");
        return NULL;
    }
    if (!prepare(&next, old, options, errp) ||
        !plan_and_reserve(&next, old, options, vcpus, errp) ||
        !apply(old, &next, options, errp)) {
        give_back(&next, old);
        clear_state(&next);
        return NULL;
    }
    pinning_state_replace(&next);
    if (move_memory) {
        pinning_move_start(pinning_state()->plan, move_speed);
    }
    return QAPI_CLONE(PinningPlan, pinning_state()->plan);
}
