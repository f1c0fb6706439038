/*
 * vCPUs that are to run later: is there still room for them
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/placed-thread.h"
#include "qemu/thread-affinity.h"
#include "qobject/qdict.h"
#include "qobject/qnum.h"
#include "qobject/qstring.h"
#include "system/pinning-qemu.h"
#include "hw/core/cpu.h"
#include "migration/register.h"
#include "system/runstate.h"
#include "pinning-creators.h"
#include "pinning-internal.h"
#include "pinning-vcpu-plug.h"

/* A thread that was there in time is told from what became of its mask */
static bool still_there(PlacedThread *creator, const CpuSet *wanted,
                        Error **errp)
{
    pid_t tid = placed_thread_tid(creator);
    g_autoptr(CpuSet) actual = thread_affinity_get(tid, errp);
    g_autofree char *list = NULL;

    if (actual && !cpuset_equal(actual, wanted)) {
        list = cpulist_format(actual);
        error_setg(errp, "the host has moved what waits there to host CPUs"
                   " %s, since none of them was online", list);
    }
    return actual && cpuset_equal(actual, wanted);
}

bool pinning_vcpu_has_room(const PinningVcpuPlan *place, Error **errp)
{
    ERRP_GUARD();
    g_autoptr(CpuSet) wanted = cpulist_parse(place->host_cpus, &error_abort);
    PlacedThread *creator = pinning_creator(place->host_cpus);
    PlacedThread *trial;
    bool room;

    if (creator) {
        room = still_there(creator, wanted, errp);
    } else {
        /* Nobody but the kernel knows what it would say */
        trial = placed_thread_new(wanted, errp);
        room = trial;
        placed_thread_free(trial);
    }
    if (!room) {
        error_prepend(errp, "vCPU %" PRIu32 " has its place on host CPUs %s: ",
                      place->vcpu, place->host_cpus);
    }
    return room;
}

/* Typed if it comes from JSON, else text */
static bool same_number(QObject *value, bool has_number, int64_t number)
{
    QNum *num = qobject_to(QNum, value);
    QString *text = qobject_to(QString, value);
    int64_t wanted;

    if (!value) {
        return true;
    }
    return has_number &&
           (num ? qnum_get_try_int(num, &wanted) :
            text && qemu_strtoi64(qstring_get_str(text), NULL, 0,
                                  &wanted) == 0) &&
           wanted == number;
}

static bool is_slot(const QDict *opts, const CPUArchId *slot)
{
    const CpuInstanceProperties *p = &slot->props;

    return !slot->cpu &&
        same_number(qdict_get(opts, "socket-id"), p->has_socket_id,
                    p->socket_id) &&
        same_number(qdict_get(opts, "die-id"), p->has_die_id, p->die_id) &&
        same_number(qdict_get(opts, "cluster-id"), p->has_cluster_id,
                    p->cluster_id) &&
        same_number(qdict_get(opts, "module-id"), p->has_module_id,
                    p->module_id) &&
        same_number(qdict_get(opts, "core-id"), p->has_core_id, p->core_id) &&
        same_number(qdict_get(opts, "thread-id"), p->has_thread_id,
                    p->thread_id) &&
        same_number(qdict_get(opts, "apic-id"), true, slot->arch_id);
}

/* Number of the vCPU that @opts are about; -1 if that is for QEMU to say */
static int vcpu_of(const QDict *opts)
{
    MachineState *ms = current_machine;
    MachineClass *mc = MACHINE_GET_CLASS(ms);
    const CPUArchIdList *slots;
    int i, vcpu = -1;

    if (!mc->possible_cpu_arch_ids) {
        return -1;
    }
    slots = mc->possible_cpu_arch_ids(ms);
    for (i = 0; i < slots->len; i++) {
        if (is_slot(opts, &slots->cpus[i])) {
            if (vcpu >= 0) {
                return -1;
            }
            vcpu = i;
        }
    }
    return vcpu;
}

/* Called for each device that is to be made; nothing is hidden here */
static bool look_at_device(DeviceListener *listener, const QDict *opts,
                           bool from_json, Error **errp)
{
    const char *driver = qdict_get_try_str(opts, "driver");
    ObjectClass *class = driver ? object_class_by_name(driver) : NULL;
    const PinningVcpuPlan *place;
    int vcpu;

    if (!pinning_places_threads(pinning_state()) || !class ||
        !object_class_dynamic_cast(class, TYPE_CPU)) {
        return false;
    }
    vcpu = vcpu_of(opts);
    if (vcpu < 0) {
        return false;
    }
    place = pinning_wanted_cpus(pinning_state()->plan, vcpu);
    if (place) {
        pinning_vcpu_has_room(place, errp);
    } else {
        error_setg(errp, "vCPU %d has no place: the plan is for %zu vCPUs",
                   vcpu, QAPI_LIST_LENGTH(pinning_state()->plan->vcpus));
    }
    return false;
}

/*
 * The first moment of an incoming migration that is told to anybody.  The
 * source goes on when this end refuses.
 */
static int before_ram(QEMUFile *f, void *opaque, Error **errp)
{
    const PinningState *state = pinning_state();
    PinningVcpuPlanList *entry;

    if (!pinning_places_threads(state) ||
        !runstate_check(RUN_STATE_INMIGRATE)) {
        return 0;
    }
    for (entry = state->plan->vcpus; entry; entry = entry->next) {
        if (qemu_get_cpu(entry->value->vcpu) &&
            !pinning_vcpu_has_room(entry->value, errp)) {
            return -EINVAL;
        }
    }
    return 0;
}

void pinning_vcpu_plug_watch(void)
{
    static DeviceListener listener = { .hide_device = look_at_device };
    /* Without anything to save, so that it leaves no trace in the stream */
    static const SaveVMHandlers incoming = { .load_setup = before_ram };
    static bool watching;

    if (!watching) {
        watching = true;
        device_listener_register(&listener);
        register_savevm_live("pinning", 0, 1, &incoming, NULL);
    }
}
