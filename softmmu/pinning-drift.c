/*
 * Noticing that threads have lost their host CPUs
 *
 * When the last host CPU of a mask goes offline, the kernel widens the mask
 * and forgets what it was; before Linux 6.2, any host CPU of the cpuset does
 * that to all masks inside.  There is no event for masks; a look costs some
 * system calls for each thread.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-events-pinning.h"
#include "qemu/sysfs-reader.h"
#include "qemu/thread-affinity.h"
#include "qemu/timer.h"
#include "pinning-drift.h"
#include "pinning-threads.h"
#include "pinning-uevent.h"

#define LOOK_MS 2000

/* The kernel changes masks some time after it has told of the host CPU */
#define HOTPLUG_MS 100

/* What is known of a thread that is not, or was not, where it should be */
typedef struct Drift {
    char *actual;           /* mask that was told last */
    bool lost;              /* to a host CPU that went, not to a person */
    bool seen;              /* at this look */
} Drift;

static const PinningPlan *watched;
static bool heals;
static bool hotplugged;     /* a host CPU went or came since the last look */
static QEMUTimer *timer;
static GHashTable *drifts;  /* thread id -> Drift */

static void drift_free(gpointer opaque)
{
    Drift *drift = opaque;

    g_free(drift->actual);
    g_free(drift);
}

/* NULL: unknown */
static CpuSet *read_online(void)
{
    g_autoptr(SysfsReader) reader = sysfs_reader_new("/", NULL);
    g_autoptr(CpuSet) online = NULL;

    if (!reader ||
        sysfs_reader_read_cpulist(reader, &online, NULL,
                                  "sys/devices/system/cpu/online") !=
            SYSFS_VALUE) {
        return NULL;
    }
    return g_steal_pointer(&online);
}

static Drift *drift_of(pid_t tid)
{
    void *key = GINT_TO_POINTER((int)tid);
    Drift *drift = g_hash_table_lookup(drifts, key);

    if (!drift) {
        drift = g_new0(Drift, 1);
        g_hash_table_insert(drifts, key, drift);
    }
    return drift;
}

/*
 * Helpers come and go, and may be young, so nobody hears of them.
 *
 * Returns: whether it is news.
 */
static bool tell(const PinningThreadInfo *info, Drift *drift,
                 const char *actual, bool offline)
{
    if (g_strcmp0(drift->actual, actual) == 0) {
        return false;
    }
    g_free(drift->actual);
    drift->actual = g_strdup(actual);
    if (info->role != PINNING_THREAD_ROLE_HELPER) {
        qapi_event_send_pinning_drift(info->role, info->thread_id,
                                      info->has_vcpu, info->vcpu,
                                      info->wanted_cpus, actual, offline);
    }
    return true;
}

static void look_at(const PinningThreadInfo *info, const CpuSet *online)
{
    g_autoptr(CpuSet) wanted = cpulist_parse(info->wanted_cpus, &error_abort);
    g_autoptr(CpuSet) actual = thread_affinity_get(info->thread_id, NULL);
    void *key = GINT_TO_POINTER((int)info->thread_id);
    g_autofree char *list = NULL;
    bool offline, news;
    Drift *drift;

    if (!actual || (cpuset_equal(actual, wanted) &&
                    !g_hash_table_contains(drifts, key))) {
        return;
    }
    list = cpulist_format(actual);
    drift = drift_of(info->thread_id);
    drift->seen = true;
    offline = online && !cpuset_is_subset(wanted, online);
    news = tell(info, drift, list, offline);
    drift->lost |= offline || (news && hotplugged);
    if (cpuset_equal(actual, wanted)) {
        g_hash_table_remove(drifts, key);
    } else if (heals && drift->lost && !offline) {
        /* A host CPU that is online may be usable a moment later only */
        thread_affinity_set(info->thread_id, wanted, NULL);
    }
}

static gboolean is_gone(gpointer key, gpointer value, gpointer opaque)
{
    Drift *drift = value;
    bool gone = !drift->seen;

    drift->seen = false;
    return gone;
}

static void look(void *opaque)
{
    g_autoptr(PinningThreadInfoList) list = pinning_threads_list(watched);
    g_autoptr(CpuSet) online = read_online();
    const PinningThreadInfoList *entry;

    for (entry = list; entry; entry = entry->next) {
        if (entry->value->wanted_cpus) {
            look_at(entry->value, online);
        }
    }
    g_hash_table_foreach_remove(drifts, is_gone, NULL);
    hotplugged = false;
    pinning_drift_look_at_memory(watched);
    timer_mod(timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + LOOK_MS);
}

static void host_cpu_changed(void)
{
    hotplugged = true;
    timer_mod(timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + HOTPLUG_MS);
}

void pinning_drift_watch(const PinningPlan *plan, bool heal_them)
{
    watched = plan;
    heals = heal_them;
    g_clear_pointer(&drifts, g_hash_table_unref);
    g_clear_pointer(&timer, timer_free);
    pinning_drift_forget_memory();
    pinning_uevent_watch(plan ? host_cpu_changed : NULL);
    if (plan) {
        drifts = g_hash_table_new_full(NULL, NULL, NULL, drift_free);
        timer = timer_new_ms(QEMU_CLOCK_REALTIME, look, NULL);
        timer_mod(timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + LOOK_MS);
    }
}
