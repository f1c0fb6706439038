/*
 * Threads that wait to create others where they belong
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "pinning-creators.h"

/*
 * A worker is rarely plugged, and on a large host without a limit to its I/O
 * CPUs one is as good as another: more threads than these are not worth it.
 */
#define MOST_FOR_IO 256

static GHashTable *creators;    /* list of host CPUs -> PlacedThread */

static void park(const char *host_cpus, bool *failed)
{
    g_autoptr(CpuSet) cpus = NULL;
    PlacedThread *thread;
    Error *err = NULL;

    if (!*host_cpus || g_hash_table_contains(creators, host_cpus)) {
        return;
    }
    cpus = cpulist_parse(host_cpus, &error_abort);
    thread = placed_thread_new(cpus, &err);
    if (thread) {
        g_hash_table_insert(creators, g_strdup(host_cpus), thread);
    } else if (*failed) {
        error_free(err);
    } else {
        *failed = true;
        warn_reportf_err(err, "pinning: some vCPUs or vhost workers cannot be"
                         " plugged later, or not where they belong: ");
    }
}

void pinning_creators_park(const PinningPlan *plan)
{
    g_autoptr(CpuSet) io_cpus = *plan->io_cpus ?
        cpulist_parse(plan->io_cpus, &error_abort) : cpuset_new();
    PinningVcpuPlanList *entry;
    bool failed = false;
    unsigned n = 0;

    creators = g_hash_table_new(g_str_hash, g_str_equal);
    for (entry = plan->vcpus; entry; entry = entry->next) {
        park(entry->value->host_cpus, &failed);
    }
    CPUSET_FOREACH(host_cpu, io_cpus) {
        g_autofree char *list = g_strdup_printf("%u", host_cpu);

        if (n++ < MOST_FOR_IO) {
            park(list, &failed);
        }
    }
}

bool pinning_creators_needed(void)
{
    return creators;
}

PlacedThread *pinning_creator(const char *host_cpus)
{
    return creators ? g_hash_table_lookup(creators, host_cpus) : NULL;
}

const char *pinning_creator_place(pid_t tid)
{
    GHashTableIter iter;
    gpointer place, thread;

    if (!creators) {
        return NULL;
    }
    g_hash_table_iter_init(&iter, creators);
    while (g_hash_table_iter_next(&iter, &place, &thread)) {
        if (placed_thread_tid(thread) == tid) {
            return place;
        }
    }
    return NULL;
}

void pinning_creators_add(GArray *tids)
{
    GHashTableIter iter;
    gpointer thread;

    if (!creators) {
        return;
    }
    g_hash_table_iter_init(&iter, creators);
    while (g_hash_table_iter_next(&iter, NULL, &thread)) {
        pid_t tid = placed_thread_tid(thread);

        g_array_append_val(tids, tid);
    }
}
