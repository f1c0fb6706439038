/*
 * Placing a running machine anew
 *
 * Validate, plan and reserve first; then apply, keeping what was there.  If
 * the host refuses anything, everything that was changed is put back, so that
 * a failed command leaves no trace.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/clone-visitor.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-pinning.h"
#include "qapi/qapi-visit-pinning.h"
#include "qemu/thread-affinity.h"
#include "hw/boards.h"
#include "hw/core/cpu.h"
#include "system/numa.h"
#include "pinning-internal.h"
#include "pinning-memory.h"
#include "pinning-move.h"
#include "pinning-sandbox.h"

/* A thread and the mask that it had */
typedef struct SavedMask {
    pid_t tid;
    CpuSet *mask;
} SavedMask;

static void saved_mask_clear(gpointer opaque)
{
    SavedMask *saved = opaque;

    cpuset_free(saved->mask);
}

static void restore_masks(const GArray *saved)
{
    unsigned i;

    for (i = 0; i < saved->len; i++) {
        SavedMask *one = &g_array_index(saved, SavedMask, i);

        /* It was good a moment ago; if not any more, nothing can be done */
        thread_affinity_set(one->tid, one->mask, NULL);
    }
}

static bool move_vcpu(const CPUState *cpu, const PinningPlan *plan,
                      GArray *saved, Error **errp)
{
    const PinningVcpuPlan *place = pinning_wanted_cpus(plan, cpu->cpu_index);
    SavedMask old = { .tid = cpu->thread_id };
    g_autoptr(CpuSet) host_cpus = NULL;

    if (!place) {
        return true;
    }
    old.mask = thread_affinity_get(cpu->thread_id, errp);
    if (!old.mask) {
        return false;
    }
    g_array_append_val(saved, old);
    host_cpus = cpulist_parse(place->host_cpus, &error_abort);
    return thread_affinity_set(cpu->thread_id, host_cpus, errp);
}

static bool move_vcpus(const PinningPlan *plan, GArray *saved, Error **errp)
{
    ERRP_GUARD();
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        if (!move_vcpu(cpu, plan, saved, errp)) {
            error_prepend(errp, "vCPU %d: ", cpu->cpu_index);
            return false;
        }
    }
    return true;
}

static bool apply(const PinningState *old, const PinningState *next,
                  Error **errp)
{
    g_autoptr(GArray) saved = g_array_new(false, false, sizeof(SavedMask));
    HostMemoryBackend *ram = current_machine->memdev;

    g_array_set_clear_func(saved, saved_mask_clear);
    if (!move_vcpus(next->plan, saved, errp)) {
        restore_masks(saved);
        return false;
    }
    if (!pinning_memory_rebind(next->plan, &next->req, ram, false, errp)) {
        restore_masks(saved);
        if (old->plan) {
            pinning_memory_rebind(old->plan, &old->req, ram, false, NULL);
        }
        return false;
    }
    return true;
}

/* What the user says of single vCPUs takes the place of the plan's choice */
static bool override_vcpus(const PinningState *next, PinningVcpuMapList *vcpus,
                           Error **errp)
{
    for (; vcpus; vcpus = vcpus->next) {
        PinningVcpuPlan *place = (PinningVcpuPlan *)pinning_wanted_cpus(
            next->plan, vcpus->value->vcpu);
        g_autoptr(CpuSet) set = cpulist_parse(vcpus->value->host_cpus, errp);

        if (!set) {
            return false;
        }
        if (!place) {
            error_setg(errp, "Parameter 'vcpus' names vCPU %" PRIu32
                       ", but there are %u", vcpus->value->vcpu,
                       next->req.vcpus);
            return false;
        }
        if (!cpuset_is_subset(set, next->topo->allowed_cpus)) {
            g_autofree char *allowed = cpulist_format(
                next->topo->allowed_cpus);

            error_setg(errp, "vCPU %" PRIu32 ": host CPUs %s are not all"
                       " among those that may be used, %s",
                       vcpus->value->vcpu, vcpus->value->host_cpus, allowed);
            return false;
        }
        g_free(place->host_cpus);
        place->host_cpus = cpulist_format(set);
        g_free(place->reason);
        place->reason = g_strdup("set by hand");
    }
    return true;
}

static void clear_state(PinningState *state)
{
    qapi_free_PinningPlan(state->plan);
    qapi_free_PinningOptions(state->options);
    host_topology_free(state->topo);
    pinning_request_cleanup(&state->req);
    cpuset_free(state->affinity);
}

/* Everything that the plan is made from, as it is now */
static bool prepare(PinningState *next, const PinningState *old,
                    const PinningOptions *options, Error **errp)
{
    MachineState *ms = current_machine;

    next->options = QAPI_CLONE(PinningOptions, options);
    next->options->has_mode = true;
    next->registry = old->registry;
    next->affinity = old->affinity ? cpuset_copy(old->affinity) :
                                     thread_affinity_get(0, errp);
    if (!next->affinity || !pinning_config_check(options, ms, errp)) {
        return false;
    }
    next->topo = host_topology_new(NULL, next->affinity, errp);
    if (!next->topo) {
        return false;
    }
    pinning_config_request(&next->req, ms, old->req.page_size, next->options);
    pinning_config_running_ram(&next->req, ms->memdev);
    return !ms->numa_state ||
           pinning_config_final_nodes(&next->req, ms, errp);
}

static const PinningOptions *options_or_old(const PinningOptions *options,
                                            const PinningState *old,
                                            Error **errp)
{
    if (!options && !old->options) {
        error_setg(errp, "Parameter 'options' is needed: pinning is off");
    }
    return options ?: old->options;
}

PinningPlan *qmp_plan_pinning(PinningOptions *options, Error **errp)
{
    const PinningState *old = pinning_state();
    const PinningOptions *wish = options_or_old(options, old, errp);
    g_autoptr(PinningTaken) taken = NULL;
    PinningPlan *plan = NULL;
    PinningState next = { };

    if (wish && prepare(&next, old, wish, errp)) {
        if (next.registry) {
            taken = pinning_registry_taken(next.registry, NULL, NULL);
        }
        plan = pinning_plan_new(next.topo, &next.req, taken, errp);
    }
    clear_state(&next);
    return plan;
}

PinningPlan *qmp_set_pinning(PinningOptions *options, bool has_vcpus,
                             PinningVcpuMapList *vcpus, bool has_move_memory,
                             bool move_memory, Error **errp)
{
    const PinningState *old = pinning_state();
    const PinningOptions *wish;
    PinningState next = { };

    if (pinning_sandbox_is_postponed()) {
        error_setg(errp, "Threads cannot be moved: forbidden by -sandbox"
                   " resourcecontrol=deny");
        return NULL;
    }
    wish = options_or_old(options, old, errp);
    if (!wish || !prepare(&next, old, wish, errp) ||
        !pinning_choose(&next, errp)) {
        clear_state(&next);
        return NULL;
    }
    if (!override_vcpus(&next, vcpus, errp) || !apply(old, &next, errp)) {
        pinning_reserve(old);
        clear_state(&next);
        return NULL;
    }
    pinning_state_replace(&next);
    if (has_move_memory && move_memory) {
        pinning_move_start(pinning_state()->plan);
    }
    return QAPI_CLONE(PinningPlan, pinning_state()->plan);
}

void qmp_cancel_pinning_move(Error **errp)
{
    pinning_move_cancel();
}
