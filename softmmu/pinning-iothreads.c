/*
 * Iothreads: which there are, and which vCPUs they serve
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/io-spread.h"
#include "qobject/qdict.h"
#include "qobject/qlist.h"
#include "qobject/qnum.h"
#include "qom/object.h"
#include "qom/qom-qobject.h"
#include "system/event-loop-base.h"
#include "system/iothread.h"
#include "pinning-internal.h"
#include "pinning-io.h"
#include "pinning-iothreads.h"

#define MAPPING "iothread-vq-mapping"

/* id of an iothread -> CpuSet of the vCPUs whose queues it has */
static GHashTable *served;

static void (*stock_init)(EventLoopBase *base, Error **errp);

static int find_tid(Object *obj, void *opaque)
{
    return object_dynamic_cast(obj, TYPE_IOTHREAD) &&
           IOTHREAD(obj)->thread_id == *(pid_t *)opaque;
}

bool pinning_iothreads_have(pid_t tid)
{
    return object_child_foreach(object_get_objects_root(), find_tid, &tid);
}

static int64_t number_of_queues(Object *device)
{
    static const char *const names[] = { "num-queues", "num_queues" };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(names); i++) {
        if (object_property_find(device, names[i])) {
            return object_property_get_int(device, names[i], NULL);
        }
    }
    return 0;
}

static void add_queue(const char *id, unsigned queue, unsigned n_queues)
{
    CpuSet *vcpus = g_hash_table_lookup(served, id);

    if (!vcpus) {
        vcpus = cpuset_new();
        g_hash_table_insert(served, g_strdup(id), vcpus);
    }
    if (queue < n_queues) {
        cpuset_add(vcpus, io_spread_vcpu(queue, n_queues,
                                         current_machine->smp.cpus));
    }
}

/* One iothread of a device: with queues by number, or every @n-th */
static void add_mapping(QDict *mapping, unsigned i, unsigned n,
                        unsigned n_queues)
{
    const char *id = qdict_get_try_str(mapping, "iothread");
    QList *vqs = qobject_to(QList, qdict_get(mapping, "vqs"));
    const QListEntry *entry;
    uint64_t queue;

    if (!id) {
        return;
    }
    if (!vqs) {
        for (; i < n_queues; i += n) {
            add_queue(id, i, n_queues);
        }
        return;
    }
    QLIST_FOREACH_ENTRY(vqs, entry) {
        QNum *num = qobject_to(QNum, qlist_entry_obj(entry));

        if (num && qnum_get_try_uint(num, &queue) && queue < n_queues) {
            add_queue(id, queue, n_queues);
        }
    }
}

static void add_mappings(QList *list, unsigned n_queues)
{
    unsigned i = 0, n = qlist_size(list);
    const QListEntry *entry;

    QLIST_FOREACH_ENTRY(list, entry) {
        QDict *mapping = qobject_to(QDict, qlist_entry_obj(entry));

        if (mapping) {
            add_mapping(mapping, i++, n, n_queues);
        }
    }
}

static int note_mapping(Object *obj, void *opaque)
{
    QObject *value;
    QList *list;
    int64_t n_queues;

    if (!object_dynamic_cast(obj, TYPE_DEVICE) ||
        !object_property_find(obj, MAPPING)) {
        return 0;
    }
    value = object_property_get_qobject(obj, MAPPING, NULL);
    list = qobject_to(QList, value);
    n_queues = number_of_queues(obj);
    if (list && n_queues > 0 && n_queues <= UINT16_MAX) {
        add_mappings(list, n_queues);
    }
    qobject_unref(value);
    return 0;
}

static void refresh(void)
{
    g_clear_pointer(&served, g_hash_table_unref);
    served = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                   (GDestroyNotify)cpuset_free);
    object_child_foreach_recursive(object_get_root(), note_mapping, NULL);
}

static CpuSet *serves(const IoThread *io)
{
    const CpuSet *vcpus = g_hash_table_lookup(served, io->device);

    return vcpus ? cpuset_copy(vcpus) : NULL;
}

static int add(Object *obj, void *opaque)
{
    IOThread *iothread = (IOThread *)object_dynamic_cast(obj, TYPE_IOTHREAD);
    g_autofree char *id = NULL;

    if (iothread && iothread->thread_id > 0 &&
        !pinning_io_find(iothread->thread_id)) {
        id = iothread_get_id(iothread);
        pinning_io_add(PINNING_THREAD_ROLE_IOTHREAD, id, 0, serves,
                       NULL)->tid = iothread->thread_id;
    }
    return 0;
}

static void init_and_place(EventLoopBase *base, Error **errp)
{
    ERRP_GUARD();
    const PinningPlan *plan = pinning_state()->plan;

    stock_init(base, errp);
    if (!*errp && plan && plan->mode != PINNING_MODE_NONE &&
        OBJECT(base)->parent == object_get_objects_root()) {
        pinning_io_forget();
        add(OBJECT(base), NULL);
        pinning_io_settle();
    }
}

/* An iothread has no moment of its own for others to be called */
static void watch(void)
{
    ObjectClass *class = object_class_by_name(TYPE_IOTHREAD);
    EventLoopBaseClass *base = EVENT_LOOP_BASE_CLASS(class);

    if (!stock_init) {
        stock_init = base->init;
        base->init = init_and_place;
    }
}

void pinning_iothreads_settle(void)
{
    refresh();
    pinning_io_forget();
    object_child_foreach(object_get_objects_root(), add, NULL);
    pinning_io_settle();
    watch();
}
