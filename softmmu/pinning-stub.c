/*
 * Hosts on which nothing can be placed
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-pinning.h"
#include "hw/core/cpu.h"
#include "monitor/hmp.h"
#include "monitor/monitor.h"
#include "system/pinning.h"

void pinning_note_object(const ObjectOptions *opts)
{
}

void pinning_early_init(QDict *machine_opts, Error **errp)
{
}

void pinning_machine_plan(MachineState *ms, const char *mem_path, Error **errp)
{
}

bool pinning_bind_backend(HostMemoryBackend *backend, Error **errp)
{
    return true;
}

void pinning_numa_node(uint16_t guest_node, const NumaNodeOptions *node)
{
}

void pinning_board_init(MachineState *ms, Error **errp)
{
}

void pinning_create_vcpu_thread(CPUState *cpu, void (*create)(CPUState *cpu))
{
    create(cpu);
}

PinningInfo *qmp_query_pinning(Error **errp)
{
    PinningInfo *info = g_new0(PinningInfo, 1);

    info->options = g_new0(PinningOptions, 1);
    return info;
}

HostTopologyInfo *qmp_query_host_topology(Error **errp)
{
    error_setg(errp, "The topology of this host cannot be read");
    return NULL;
}

PinningPlan *qmp_plan_pinning(PinningOptions *options, Error **errp)
{
    error_setg(errp, "Nothing can be placed on this host");
    return NULL;
}

void hmp_info_pinning(Monitor *mon, const QDict *qdict)
{
    monitor_printf(mon, "pinning: not supported on this host\n");
}
