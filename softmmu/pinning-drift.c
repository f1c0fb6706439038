/*
 * Noticing that threads have lost their host CPUs
 *
 * When the last host CPU of a mask goes offline, the kernel widens the mask
 * and forgets what it was.  There is no event for masks; a look costs one
 * system call for each vCPU.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-events-pinning.h"
#include "qemu/error-report.h"
#include "qemu/sysfs-reader.h"
#include "qemu/thread-affinity.h"
#include "qemu/timer.h"
#include "hw/core/cpu.h"
#include "pinning-drift.h"
#include "pinning-internal.h"

#define LOOK_MS 2000

/* What is known of a vCPU that is not, or was not, where it should be */
typedef struct Drift {
    char *actual;           /* mask that was told last */
    bool offline;           /* its host CPUs were offline at some time */
} Drift;

static const PinningPlan *watched;
static bool heals;
static QEMUTimer *timer;
static GHashTable *drifts;  /* vCPU number -> Drift */

static void drift_free(gpointer opaque)
{
    Drift *drift = opaque;

    g_free(drift->actual);
    g_free(drift);
}

static bool is_online(const CpuSet *cpus)
{
    g_autoptr(SysfsReader) reader = sysfs_reader_new("/", NULL);
    g_autoptr(CpuSet) online = NULL;

    return !reader ||
           sysfs_reader_read_cpulist(reader, &online, NULL,
                                     "sys/devices/system/cpu/online") !=
               SYSFS_VALUE ||
           cpuset_is_subset(cpus, online);
}

static Drift *drift_of(unsigned vcpu)
{
    Drift *drift = g_hash_table_lookup(drifts, GUINT_TO_POINTER(vcpu));

    if (!drift) {
        drift = g_new0(Drift, 1);
        g_hash_table_insert(drifts, GUINT_TO_POINTER(vcpu), drift);
    }
    return drift;
}

static void tell(const PinningVcpuPlan *place, Drift *drift,
                 const char *actual, bool offline)
{
    if (g_strcmp0(drift->actual, actual) != 0) {
        g_free(drift->actual);
        drift->actual = g_strdup(actual);
        qapi_event_send_pinning_drift(place->vcpu, place->host_cpus, actual,
                                      offline);
    }
}

static void look_at(const CPUState *cpu, const PinningVcpuPlan *place)
{
    g_autoptr(CpuSet) wanted = cpulist_parse(place->host_cpus, &error_abort);
    g_autoptr(CpuSet) actual = thread_affinity_get(cpu->thread_id, NULL);
    g_autofree char *list = NULL;
    Error *err = NULL;
    Drift *drift;
    bool online;

    if (!actual || (cpuset_equal(actual, wanted) &&
                    !g_hash_table_contains(drifts,
                                           GUINT_TO_POINTER(place->vcpu)))) {
        return;
    }
    list = cpulist_format(actual);
    drift = drift_of(place->vcpu);
    online = is_online(wanted);
    drift->offline |= !online;
    tell(place, drift, list, !online);
    if (cpuset_equal(actual, wanted)) {
        g_hash_table_remove(drifts, GUINT_TO_POINTER(place->vcpu));
    } else if (heals && drift->offline && online) {
        drift->offline = false;
        if (!thread_affinity_set(cpu->thread_id, wanted, &err)) {
            warn_report_err(err);
        }
    }
}

static void look(void *opaque)
{
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        const PinningVcpuPlan *place = pinning_wanted_cpus(watched,
                                                           cpu->cpu_index);

        if (place) {
            look_at(cpu, place);
        }
    }
    timer_mod(timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + LOOK_MS);
}

void pinning_drift_watch(const PinningPlan *plan, bool heal)
{
    watched = plan;
    heals = heal;
    g_clear_pointer(&drifts, g_hash_table_unref);
    g_clear_pointer(&timer, timer_free);
    if (plan) {
        drifts = g_hash_table_new_full(NULL, NULL, NULL, drift_free);
        timer = timer_new_ms(QEMU_CLOCK_REALTIME, look, NULL);
        timer_mod(timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + LOOK_MS);
    }
}
