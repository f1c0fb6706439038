/*
 * Human monitor: info pinning, set_pinning
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-pinning.h"
#include "qapi/qapi-visit-pinning.h"
#include "qapi/qobject-input-visitor.h"
#include "qemu/host-map.h"
#include "qemu/keyval.h"
#include "qobject/qdict.h"
#include "monitor/hmp.h"
#include "monitor/monitor.h"
#include "pinning-internal.h"

#define COLUMNS 80
/* Columns of a list of host CPUs in the table of threads */
#define LIST_COLUMNS 16

static bool differs(const PinningThreadInfo *info)
{
    return info->wanted_cpus && info->actual_cpus &&
           !g_str_equal(info->wanted_cpus, info->actual_cpus);
}

/* A list that is too long is cut; query-pinning has it whole */
static char *fit(const char *list)
{
    char *text = g_strdup(list ?: "-");

    if (strlen(text) > LIST_COLUMNS) {
        strcpy(text + LIST_COLUMNS - 1, "+");
    }
    return text;
}

static void print_thread(Monitor *mon, const PinningThreadInfo *info)
{
    g_autofree char *vcpu = info->has_vcpu ?
                            g_strdup_printf("%" PRIu32, info->vcpu) : NULL;
    g_autofree char *last = info->has_last_cpu ?
                            g_strdup_printf("%" PRIu32, info->last_cpu) : NULL;
    g_autofree char *wanted = fit(info->wanted_cpus);
    g_autofree char *actual = fit(info->actual_cpus);

    monitor_printf(mon, "%-9s %4s %8" PRId64 "  %-16s %-16s %4s%s\n",
                   PinningThreadRole_str(info->role), vcpu ?: "-",
                   info->thread_id, wanted, actual, last ?: "-",
                   differs(info) ? "  differs" : "");
}

static void print_threads(Monitor *mon, const PinningInfo *info)
{
    PinningThreadInfoList *thread;

    monitor_printf(mon, "%-9s %4s %8s  %-16s %-16s %4s\n", "role", "vCPU",
                   "thread", "wanted", "actual", "last");
    for (thread = info->threads; thread; thread = thread->next) {
        print_thread(mon, thread->value);
    }
}

/* Where a thread may really run, whatever was planned */
static void put_thread(HostMap *map, const PinningThreadInfo *info)
{
    g_autoptr(CpuSet) cpus = info->actual_cpus && *info->actual_cpus ?
                             cpulist_parse(info->actual_cpus, NULL) : NULL;

    if (!cpus) {
        return;
    }
    switch (info->role) {
    case PINNING_THREAD_ROLE_VCPU:
        host_map_put(map, cpus, info->vcpu);
        break;
    case PINNING_THREAD_ROLE_IOTHREAD:
    case PINNING_THREAD_ROLE_VHOST:
        host_map_mark(map, cpus, HOST_MAP_IO);
        break;
    case PINNING_THREAD_ROLE_CREATOR:
        break;
    default:
        host_map_mark(map, cpus, HOST_MAP_HELPERS);
    }
}

/* What the plan keeps free: of vCPUs to come, and of idle siblings */
static void mark_plan(HostMap *map, const PinningPlan *plan)
{
    g_autoptr(CpuSet) planned = pinning_plan_cpus(plan);
    g_autoptr(CpuSet) reserved = cpuset_new();
    g_autoptr(CpuSet) parked = *plan->parked_cpus ?
        cpulist_parse(plan->parked_cpus, &error_abort) : cpuset_new();

    CPUSET_FOREACH(host_cpu, planned) {
        if (!host_map_vcpus(map, host_cpu)) {
            cpuset_add(reserved, host_cpu);
        }
    }
    host_map_mark(map, reserved, HOST_MAP_RESERVED);
    host_map_mark(map, parked, HOST_MAP_PARKED);
}

static void print_map(Monitor *mon, const PinningInfo *info)
{
    const PinningState *state = pinning_state();
    g_autoptr(HostTopology) now = host_topology_new(NULL, state->affinity,
                                                    NULL);
    g_autoptr(HostMap) map = NULL;
    g_autofree char *text = NULL;
    PinningThreadInfoList *thread;

    /* After -run-with chroot= there is no sysfs to read */
    if (!now && !state->topo) {
        print_threads(mon, info);
        return;
    }
    map = host_map_new(now ?: state->topo);
    for (thread = info->threads; thread; thread = thread->next) {
        put_thread(map, thread->value);
    }
    if (state->plan && state->plan->mode != PINNING_MODE_NONE) {
        mark_plan(map, state->plan);
    }
    text = host_map_text(map, COLUMNS);
    monitor_puts(mon, text);
}

static void print_differences(Monitor *mon, const PinningInfo *info)
{
    PinningThreadInfoList *entry;

    for (entry = info->threads; entry; entry = entry->next) {
        const PinningThreadInfo *thread = entry->value;
        g_autofree char *vcpu = thread->has_vcpu ?
            g_strdup_printf(" %" PRIu32, thread->vcpu) : NULL;

        if (differs(thread)) {
            monitor_printf(mon, "differs: %s%s, thread %" PRId64 ": should be"
                           " on %s, is on %s\n",
                           PinningThreadRole_str(thread->role), vcpu ?: "",
                           thread->thread_id, thread->wanted_cpus,
                           thread->actual_cpus);
        }
    }
}

static void print_overlaps(Monitor *mon, const PinningInfo *info)
{
    PinningOverlapList *entry;

    for (entry = info->overlaps; entry; entry = entry->next) {
        monitor_printf(mon, "shared: %s with '%s', pid %" PRId64 "\n",
                       entry->value->host_cpus, entry->value->name,
                       entry->value->pid);
    }
}

void hmp_info_pinning(Monitor *mon, const QDict *qdict)
{
    Error *err = NULL;
    g_autoptr(PinningInfo) info = qmp_query_pinning(&err);

    if (hmp_handle_error(mon, err)) {
        return;
    }
    monitor_printf(mon, "pinning: %s\n",
                   PinningMode_str(info->options->mode));
    if (qdict_get_try_bool(qdict, "threads", false)) {
        print_threads(mon, info);
    } else {
        print_map(mon, info);
        print_differences(mon, info);
    }
    print_overlaps(mon, info);
}

static PinningOptions *parse_options(const char *text, Error **errp)
{
    ERRP_GUARD();
    QDict *dict = keyval_parse(text, "mode", NULL, errp);
    PinningOptions *options = NULL;
    Visitor *v;

    if (dict) {
        v = qobject_input_visitor_new_keyval(QOBJECT(dict));
        visit_type_PinningOptions(v, NULL, &options, errp);
        visit_free(v);
        qobject_unref(dict);
    }
    if (!options) {
        error_append_hint(errp, "Write it like one-to-one,cpus=0-3,,8-11"
                          " (in a list a comma is doubled).\n");
    }
    return options;
}

void hmp_set_pinning(Monitor *mon, const QDict *qdict)
{
    const char *text = qdict_get_try_str(qdict, "options");
    bool move_memory = qdict_get_try_bool(qdict, "move-memory", false);
    g_autoptr(PinningOptions) options = NULL;
    g_autoptr(PinningPlan) plan = NULL;
    Error *err = NULL;

    if (text) {
        options = parse_options(text, &err);
    }
    if (!err) {
        plan = qmp_set_pinning(options, false, NULL, true, move_memory,
                               false, 0, &err);
    }
    hmp_handle_error(mon, err);
}
