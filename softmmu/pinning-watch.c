/*
 * Threads that are born where they do not belong
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/io-spread.h"
#include "qemu/thread-affinity.h"
#include "qemu/timer.h"
#include "system/runstate.h"
#include "pinning-internal.h"
#include "pinning-io.h"
#include "pinning-iothreads.h"
#include "pinning-threads.h"
#include "trace.h"

/* The first look, when a vCPU has run for the first time; and the rarest */
#define FIRST_LOOK_MS 200
#define LAST_LOOK_MS (64 * FIRST_LOOK_MS)

static QEMUTimer *timer;
static int64_t delay = FIRST_LOOK_MS;
static GHashTable *seen;        /* tids at the last look */

static const PinningPlan *plan_of_threads(void)
{
    const PinningPlan *plan = pinning_state()->plan;

    return plan && plan->mode != PINNING_MODE_NONE ? plan : NULL;
}

/* Whether a thread of @role, not @tid itself, has the mask @cpus */
static bool mask_of_some(const PinningThreadInfoList *list,
                         PinningThreadRole role, const CpuSet *cpus)
{
    for (; list; list = list->next) {
        g_autoptr(CpuSet) mask = NULL;

        if (list->value->role == role) {
            mask = thread_affinity_get(list->value->thread_id, NULL);
            if (mask && cpuset_equal(mask, cpus)) {
                return true;
            }
        }
    }
    return false;
}

/*
 * Where the thread belongs that was born on @cpus; NULL: it is well there.
 * The threads of an iothread's pool wait for disks, or copy, many at a time,
 * which one host CPU is too few for.
 */
static CpuSet *place_of_newborn(const PinningThreadInfoList *list, pid_t tid,
                                const CpuSet *cpus)
{
    const PinningPlan *plan = plan_of_threads();
    g_autoptr(CpuSet) io_cpus = cpulist_parse(plan->io_cpus, &error_abort);
    g_autofree char *text = NULL;
    CpuSet *place;

    if (mask_of_some(list, PINNING_THREAD_ROLE_MAIN, cpus)) {
        return NULL;
    }
    text = cpulist_format(cpus);
    if (pinning_threads_pool_at(text)) {
        /* Born of another one of the pool */
        pinning_threads_note_pool(tid, text);
        return NULL;
    }
    if (mask_of_some(list, PINNING_THREAD_ROLE_IOTHREAD, cpus)) {
        place = io_spread_near(pinning_state()->topo, io_cpus, cpus);
        g_free(text);
        text = cpulist_format(place);
        pinning_threads_note_pool(tid, text);
        return place;
    }
    return mask_of_some(list, PINNING_THREAD_ROLE_VCPU, cpus) ?
           cpulist_parse(plan->emulator_cpus, &error_abort) : NULL;
}

static void look_at(const PinningThreadInfoList *list,
                    const PinningThreadInfo *info)
{
    g_autoptr(CpuSet) cpus = thread_affinity_get(info->thread_id, NULL);
    g_autoptr(CpuSet) place = NULL;
    g_autofree char *text = NULL;

    if (cpus && info->wanted_cpus) {
        place = place_of_newborn(list, info->thread_id, cpus);
    }
    if (place) {
        text = cpulist_format(place);
        trace_pinning_settle_thread(PinningThreadRole_str(info->role),
                                    info->thread_id, text);
        /* It may just have ended; if not, query-pinning shows it */
        thread_affinity_set(info->thread_id, place, NULL);
    }
}

/* Returns: whether there was anybody new */
static bool look(void)
{
    g_autoptr(PinningThreadInfoList) list = NULL;
    const PinningThreadInfoList *entry;
    GHashTable *now = g_hash_table_new(NULL, NULL);
    bool any = false;

    pinning_iothreads_settle();
    list = pinning_threads_list(plan_of_threads());
    for (entry = list; entry; entry = entry->next) {
        void *key = GINT_TO_POINTER((int)entry->value->thread_id);

        g_hash_table_add(now, key);
        if (seen && !g_hash_table_contains(seen, key)) {
            any = true;
            if (entry->value->role == PINNING_THREAD_ROLE_HELPER) {
                look_at(list, entry->value);
            }
        }
    }
    pinning_threads_pool_keep(now);
    g_clear_pointer(&seen, g_hash_table_unref);
    seen = now;
    return any;
}

static void look_later(void *opaque)
{
    if (!plan_of_threads()) {
        return;
    }
    delay = look() ? FIRST_LOOK_MS : MIN(2 * delay, LAST_LOOK_MS);
    if (runstate_is_running()) {
        timer_mod(timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + delay);
    }
}

void pinning_threads_look_soon(void)
{
    if (timer) {
        delay = FIRST_LOOK_MS;
        timer_mod(timer, qemu_clock_get_ms(QEMU_CLOCK_REALTIME) + delay);
    }
}

static void vm_state_change(void *opaque, bool running, RunState state)
{
    if (running) {
        pinning_threads_look_soon();
    }
}

/* All that are there now have just been settled */
static void remember_all(void)
{
    g_autoptr(GArray) tids = thread_list();
    unsigned i;

    g_clear_pointer(&seen, g_hash_table_unref);
    seen = g_hash_table_new(NULL, NULL);
    for (i = 0; tids && i < tids->len; i++) {
        g_hash_table_add(seen, GINT_TO_POINTER(g_array_index(tids, pid_t, i)));
    }
}

void pinning_threads_watch(void)
{
    if (!timer) {
        timer = timer_new_ms(QEMU_CLOCK_REALTIME, look_later, NULL);
        qemu_add_vm_change_state_handler(vm_state_change, NULL);
        if (runstate_is_running()) {
            pinning_threads_look_soon();
        }
    }
    remember_all();
}
