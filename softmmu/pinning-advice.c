/*
 * Where threads of other processes that serve the machine should be
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/util.h"
#include "qemu/io-spread.h"
#include "system/pinning-qemu.h"
#include "net/net.h"
#include "qom/object.h"
#include "pinning-advice.h"
#include "pinning-internal.h"
#include "pinning-io.h"

static void advise(PinningAdviceList ***tail, const char *device,
                   unsigned queue, unsigned n_queues)
{
    unsigned vcpu = io_spread_vcpu(queue, n_queues,
                                   current_machine->smp.cpus);
    g_autoptr(CpuSet) vcpus = n_queues > 1 ? cpuset_new_range(vcpu, vcpu) :
                                             NULL;
    g_autoptr(CpuSet) near = pinning_io_near(vcpus);
    PinningAdvice *advice = g_new0(PinningAdvice, 1);

    advice->device = g_strdup(device);
    advice->queue = queue;
    advice->host_cpus = cpulist_format(near);
    advice->reason = n_queues > 1 ?
        g_strdup_printf("queue %u of %u serves vCPU %u", queue, n_queues,
                        vcpu) :
        g_strdup("its only queue serves all vCPUs");
    QAPI_LIST_APPEND(*tail, advice);
}

static bool is_foreign(const NetClientState *nc)
{
    return nc->info->type == NET_CLIENT_DRIVER_VHOST_USER ||
           nc->info->type == NET_CLIENT_DRIVER_VHOST_VDPA;
}

/* Queues of a network device are clients of the same name, in a row */
static void advise_net(PinningAdviceList ***tail)
{
    int n = qemu_find_net_clients_except(NULL, NULL, NET_CLIENT_DRIVER_NIC,
                                         0);
    g_autofree NetClientState **all = g_new(NetClientState *, n);
    g_autoptr(GHashTable) queues = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) next = g_hash_table_new(g_str_hash, g_str_equal);
    int i;

    qemu_find_net_clients_except(NULL, all, NET_CLIENT_DRIVER_NIC, n);
    for (i = 0; i < n; i++) {
        unsigned before = GPOINTER_TO_UINT(g_hash_table_lookup(
            queues, all[i]->name));

        /* The queue for control messages has no data */
        if (is_foreign(all[i]) && all[i]->is_datapath) {
            g_hash_table_insert(queues, all[i]->name,
                                GUINT_TO_POINTER(before + 1));
        }
    }
    for (i = 0; i < n; i++) {
        char *name = all[i]->name;
        unsigned queue = GPOINTER_TO_UINT(g_hash_table_lookup(next, name));

        if (is_foreign(all[i]) && all[i]->is_datapath) {
            advise(tail, name, queue, GPOINTER_TO_UINT(
                g_hash_table_lookup(queues, name)));
            g_hash_table_insert(next, name, GUINT_TO_POINTER(queue + 1));
        }
    }
}

static unsigned queues_of(Object *device)
{
    static const char *const names[] = {
        "num-queues", "num_queues", "num-request-queues"
    };
    unsigned i;

    for (i = 0; i < ARRAY_SIZE(names); i++) {
        if (object_property_find(device, names[i])) {
            return MIN(object_property_get_uint(device, names[i], NULL),
                       UINT16_MAX);
        }
    }
    return 1;
}

/* The virtio device itself, not what plugs it into a bus */
static int advise_device(Object *obj, void *opaque)
{
    const char *type = object_get_typename(obj);
    DeviceState *parent;
    unsigned n, i;

    if (!object_dynamic_cast(obj, "virtio-device") ||
        (!g_str_has_prefix(type, "vhost-user-") &&
         !g_str_has_prefix(type, "vhost-vdpa-"))) {
        return 0;
    }
    parent = (DeviceState *)object_dynamic_cast(obj->parent, TYPE_DEVICE);
    n = queues_of(obj);
    for (i = 0; i < n; i++) {
        advise(opaque, parent && parent->id ? parent->id : type, i, n);
    }
    return 0;
}

PinningAdviceList *pinning_advice(void)
{
    const PinningPlan *plan = pinning_state()->plan;
    PinningAdviceList *list = NULL, **tail = &list;

    if (plan && plan->mode != PINNING_MODE_NONE) {
        advise_net(&tail);
        object_child_foreach_recursive(object_get_root(), advise_device,
                                       &tail);
    }
    return list;
}
