/*
 * Where the threads are: reading back and reporting
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
#include "hw/core/cpu.h"
#include "pinning-advice.h"
#include "pinning-internal.h"
#include "pinning-io.h"
#include "pinning-memory.h"
#include "pinning-move.h"
#include "pinning-stats.h"
#include "pinning-threads.h"
#include "trace.h"

const PinningVcpuPlan *pinning_wanted_cpus(const PinningPlan *plan,
                                           unsigned vcpu)
{
    PinningVcpuPlanList *entry = plan ? plan->vcpus : NULL;

    for (; entry; entry = entry->next) {
        if (entry->value->vcpu == vcpu) {
            return entry->value;
        }
    }
    return NULL;
}

GPtrArray *pinning_vcpu_index(const PinningPlan *plan)
{
    GPtrArray *index = g_ptr_array_new();
    const PinningVcpuPlanList *entry;

    for (entry = plan->vcpus; entry; entry = entry->next) {
        if (entry->value->vcpu >= index->len) {
            g_ptr_array_set_size(index, entry->value->vcpu + 1);
        }
        g_ptr_array_index(index, entry->value->vcpu) = entry->value;
    }
    return index;
}

void pinning_verify(const PinningPlan *plan)
{
    g_autoptr(GPtrArray) index = pinning_vcpu_index(plan);
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        const PinningVcpuPlan *vcpu = pinning_indexed_vcpu(index,
                                                           cpu->cpu_index);
        g_autoptr(CpuSet) actual = NULL;
        g_autofree char *list = NULL;
        Error *err = NULL;

        if (!vcpu) {
            continue;
        }
        actual = thread_affinity_get(cpu->thread_id, &err);
        if (!actual) {
            error_reportf_err(err, "vCPU %d: ", cpu->cpu_index);
            continue;
        }
        list = cpulist_format(actual);
        trace_pinning_verify_vcpu(cpu->cpu_index, cpu->thread_id,
                                  vcpu->host_cpus, list);
        if (!g_str_equal(list, vcpu->host_cpus)) {
            warn_report("vCPU %d: asked for host CPUs %s, the host gave %s",
                        cpu->cpu_index, vcpu->host_cpus, list);
        }
    }
}

/* What cannot be read is left out: the thread may just have ended */
static void read_back(PinningThreadInfo *info)
{
    g_autoptr(CpuSet) actual = thread_affinity_get(info->thread_id, NULL);
    ThreadPlace place;

    if (actual) {
        info->actual_cpus = cpulist_format(actual);
    }
    if (thread_place_get(info->thread_id, &place)) {
        info->has_last_cpu = true;
        info->last_cpu = place.last_cpu;
        info->has_moves = true;
        info->moves = place.preempted;
    }
}

static void add_io_warning(PinningInfo *info)
{
    char *warning = pinning_io_warning();

    if (warning) {
        QAPI_LIST_PREPEND(info->warnings, warning);
    }
}

static void add_overlaps(PinningInfo *info, const PinningState *state)
{
    g_autoptr(PinningReservation) own = NULL;
    Error *err = NULL;

    if (!state->registry) {
        return;
    }
    own = pinning_reservation_of(state);
    if (!pinning_registry_overlaps(state->registry, own, &info->overlaps,
                                   &err)) {
        QAPI_LIST_PREPEND(info->warnings, g_strdup(error_get_pretty(err)));
        error_free(err);
    }
}

PinningInfo *qmp_query_pinning(Error **errp)
{
    const PinningState *state = pinning_state();
    PinningInfo *info = g_new0(PinningInfo, 1);
    PinningThreadInfoList *thread;

    info->enabled = state->plan != NULL;
    if (state->plan) {
        info->options = QAPI_CLONE(PinningOptions, state->options);
        info->memory = pinning_memory_info(state->plan);
        info->move = pinning_move_info();
        info->advice = pinning_advice();
        info->warnings = QAPI_CLONE(strList, state->plan->warnings);
        add_io_warning(info);
        add_overlaps(info, state);
    } else {
        info->options = g_new0(PinningOptions, 1);
        info->options->has_mode = true;
    }
    info->threads = pinning_threads_list(state->plan);
    for (thread = info->threads; thread; thread = thread->next) {
        read_back(thread->value);
    }
    pinning_stats_add(info->threads);
    return info;
}

HostTopologyInfo *qmp_query_host_topology(Error **errp)
{
    g_autoptr(HostTopology) topo = NULL;

    topo = pinning_host_new(pinning_state()->affinity, errp);
    return topo ? host_topology_info(topo) : NULL;
}
