/*
 * Hosts with several kinds of CPUs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/thread-affinity.h"
#include "hw/core/cpu.h"
#include "qom/object.h"
#include "system/kvm.h"
#include "pinning-kind.h"
#include "trace.h"

/* Host CPUs of the kind that all vCPUs have; NULL if there is none */
static const CpuSet *kind_of(const HostTopology *topo, const PinningPlan *plan)
{
    g_autoptr(CpuSet) used = pinning_plan_cpus(plan);

    for (unsigned i = 0; i < topo->n_types; i++) {
        if (cpuset_is_subset(used, topo->types[i].cpus)) {
            return topo->types[i].cpus;
        }
    }
    return NULL;
}

void pinning_kind_confine(const PinningState *state,
                          const PinningOptions *options, MachineState *ms)
{
    g_auto(PinningRequest) req = { };
    g_autoptr(PinningPlan) plan = NULL;
    g_autoptr(CpuSet) here = NULL;
    g_autofree char *list = NULL;
    const CpuSet *kind;
    Error *err = NULL;

    if (state->topo->n_types < 2 || options->mode == PINNING_MODE_NONE) {
        return;
    }
    /*
     * Memory and what others hold are not looked at yet, and do not decide
     * which kind it is.  What is wrong with the options is told when the plan
     * is made.
     */
    pinning_config_request(&req, ms, 0, options);
    plan = pinning_plan_new(state->topo, &req, NULL, NULL);
    kind = plan ? kind_of(state->topo, plan) : NULL;
    if (!kind) {
        return;
    }
    here = cpuset_copy(kind);
    cpuset_and(here, state->topo->allowed_cpus);
    list = cpulist_format(here);
    trace_pinning_kind(list);
    if (!thread_affinity_set(0, here, &err)) {
        warn_report_err(err);
    }
}

void pinning_kind_warn(const PinningState *state)
{
    static bool warned;

    if (warned || state->topo->n_types < 2 || !kvm_enabled() || !first_cpu ||
        kind_of(state->topo, state->plan) ||
        !object_property_find(OBJECT(first_cpu), "pmu") ||
        !object_property_get_bool(OBJECT(first_cpu), "pmu", NULL)) {
        return;
    }
    warned = true;
    warn_report("pinning: vCPUs may run on several kinds of CPUs, whose"
                " performance counters differ, but the guest is told of one"
                " kind (pmu=on)");
    error_printf("Use -cpu ...,pmu=off, or do not mix the kinds, see"
                 " pinning-cpu-kind.\n");
}
