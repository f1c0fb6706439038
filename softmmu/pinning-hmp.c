/*
 * Human monitor: info pinning
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-pinning.h"
#include "monitor/hmp.h"
#include "monitor/monitor.h"

static void print_thread(Monitor *mon, const PinningThreadInfo *info)
{
    g_autofree char *vcpu = info->has_vcpu ?
                            g_strdup_printf("%" PRIu32, info->vcpu) : NULL;
    g_autofree char *last = info->has_last_cpu ?
                            g_strdup_printf("%" PRIu32, info->last_cpu) : NULL;
    bool drift = info->wanted_cpus && info->actual_cpus &&
                 !g_str_equal(info->wanted_cpus, info->actual_cpus);

    monitor_printf(mon, "%-9s %4s %8" PRId64 "  %-16s %-16s %4s%s\n",
                   PinningThreadRole_str(info->role), vcpu ?: "-",
                   info->thread_id, info->wanted_cpus ?: "-",
                   info->actual_cpus ?: "-", last ?: "-",
                   drift ? "  differs" : "");
}

void hmp_info_pinning(Monitor *mon, const QDict *qdict)
{
    Error *err = NULL;
    g_autoptr(PinningInfo) info = qmp_query_pinning(&err);
    PinningThreadInfoList *thread;

    if (hmp_handle_error(mon, err)) {
        return;
    }
    monitor_printf(mon, "pinning: %s\n",
                   PinningMode_str(info->options->mode));
    monitor_printf(mon, "%-9s %4s %8s  %-16s %-16s %4s\n", "role", "vCPU",
                   "thread", "wanted", "actual", "last");
    for (thread = info->threads; thread; thread = thread->next) {
        print_thread(mon, thread->value);
    }
}
