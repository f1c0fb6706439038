/*
 * From one placement to another, or not at all
 *
 * Everything that can fail happens here, before the new placement counts, and
 * what was there is kept until all of it has been done.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/thread-affinity.h"
#include "system/pinning-qemu.h"
#include "hw/core/cpu.h"
#include "pinning-apply.h"
#include "pinning-memory.h"
#include "pinning-threads.h"
#include "pinning-undo.h"

static bool move_vcpus(const PinningPlan *plan, PinningUndo *undo,
                       Error **errp)
{
    ERRP_GUARD();
    g_autoptr(GPtrArray) index = pinning_vcpu_index(plan);
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        const PinningVcpuPlan *place = pinning_indexed_vcpu(index,
                                                            cpu->cpu_index);
        g_autoptr(CpuSet) host_cpus = NULL;

        if (!place) {
            continue;
        }
        host_cpus = cpulist_parse(place->host_cpus, &error_abort);
        if (!pinning_undo_set_mask(undo, cpu->thread_id, host_cpus, errp)) {
            error_prepend(errp, "Placing vCPU %d: ", cpu->cpu_index);
            return false;
        }
    }
    return true;
}

/* One that has ended meanwhile needs no place */
static bool move_thread(pid_t tid, const char *what, const CpuSet *host_cpus,
                        PinningUndo *undo, Error **errp)
{
    Error *err = NULL;

    if (pinning_undo_set_mask(undo, tid, host_cpus, &err)) {
        return true;
    }
    if (!thread_place_get(tid, &(ThreadPlace){ })) {
        error_free(err);
        return true;
    }
    error_propagate_prepend(errp, err, "Placing a %s thread: ", what);
    return false;
}

static bool move_others(const PinningPlan *plan, PinningUndo *undo,
                        Error **errp)
{
    g_autoptr(PinningThreadInfoList) list = pinning_threads_list(plan);
    const PinningThreadInfoList *entry;

    for (entry = list; entry; entry = entry->next) {
        const PinningThreadInfo *info = entry->value;
        g_autoptr(CpuSet) host_cpus = NULL;

        if (!info->wanted_cpus || (info->role != PINNING_THREAD_ROLE_MAIN &&
                                   info->role != PINNING_THREAD_ROLE_HELPER)) {
            continue;
        }
        host_cpus = cpulist_parse(info->wanted_cpus, &error_abort);
        if (!move_thread(info->thread_id, PinningThreadRole_str(info->role),
                         host_cpus, undo, errp)) {
            return false;
        }
    }
    return true;
}

/* Threads that were placed get back what the process had when it started */
static bool release_threads(const PinningPlan *plan, const CpuSet *host_cpus,
                            PinningUndo *undo, Error **errp)
{
    g_autoptr(PinningThreadInfoList) list = pinning_threads_list(plan);
    const PinningThreadInfoList *entry;

    for (entry = list; entry; entry = entry->next) {
        const PinningThreadInfo *info = entry->value;

        if (info->wanted_cpus &&
            !move_thread(info->thread_id, PinningThreadRole_str(info->role),
                         host_cpus, undo, errp)) {
            return false;
        }
    }
    return true;
}

static bool move_threads(const PinningState *old, const PinningState *next,
                         PinningUndo *undo, Error **errp)
{
    if (pinning_places_threads(next)) {
        return move_vcpus(next->plan, undo, errp) &&
               move_others(next->plan, undo, errp);
    }
    /* Masks that are not ours are left alone */
    return !pinning_places_threads(old) ||
           release_threads(old->plan, next->affinity, undo, errp);
}

static bool bind_memory(const PinningState *next, HostMemoryBackend *ram,
                        bool strict, Error **errp)
{
    return pinning_memory_rebind(next->plan, &next->req, ram,
                                 strict ? PINNING_MEMORY_STRICT : 0, errp);
}

bool pinning_apply(const PinningState *old, const PinningState *next,
                   bool strict, Error **errp)
{
    ERRP_GUARD();
    HostMemoryBackend *ram = current_machine->memdev;
    g_autoptr(PinningUndo) undo = pinning_undo_new(&next->req, ram, errp);
    bool moved = undo && move_threads(old, next, undo, errp);

    if (moved && bind_memory(next, ram, strict, errp)) {
        return true;
    }
    if (!undo || moved) {
        error_prepend(errp, "Binding memory: ");
    }
    if (undo) {
        pinning_undo_all(undo);
    }
    return false;
}
