/*
 * Memory devices: their memory follows their guest node
 *
 * QEMU tells listeners of an address space what is mapped there, before the
 * guest is told of the device.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/config-file.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/option.h"
#include "block/aio.h"
#include "system/pinning-qemu.h"
#include "exec/cpu-common.h"
#include "system/hostmem.h"
#include "pinning-internal.h"
#include "pinning-memory.h"
#include "pinning-parts.h"
#include "pinning-plug.h"

typedef struct Search {
    const void *backend;        /* its id, or the object */
    Object *device;             /* that uses it */
    uint32_t guest_node;
    bool found;
} Search;

static int look_at_option(void *opaque, QemuOpts *opts, Error **errp)
{
    const char *memdev = qemu_opt_get(opts, "memdev");
    const char *node = qemu_opt_get(opts, "node");
    Search *search = opaque;
    uint64_t number = 0;

    if (g_strcmp0(memdev, search->backend) == 0 &&
        (!node || parse_uint_full(node, 0, &number) == 0)) {
        search->guest_node = number;
        search->found = true;
    }
    return search->found;
}

bool pinning_plug_wanted_node(const char *backend_id, uint32_t *guest_node)
{
    Search search = { .backend = backend_id };

    qemu_opts_foreach(qemu_find_opts("device"), look_at_option, &search, NULL);
    *guest_node = search.guest_node;
    return search.found;
}

/* Whatever has both "memdev" and "node" is memory of a guest node */
static int look_at_device(Object *obj, void *opaque)
{
    Search *search = opaque;

    if (!object_dynamic_cast(obj, TYPE_DEVICE) ||
        !object_property_find(obj, "memdev") ||
        !object_property_find(obj, "node") ||
        object_property_get_link(obj, "memdev", NULL) != search->backend) {
        return 0;
    }
    search->guest_node = object_property_get_uint(obj, "node", NULL);
    search->device = obj;
    search->found = true;
    return 1;
}

static bool find_device(Search *search)
{
    object_child_foreach_recursive(qdev_get_machine(), look_at_device,
                                   search);
    return search->found;
}

/* What the guest may touch of a backend: virtio-mem hands out some only */
static uint64_t size_in_use(HostMemoryBackend *backend)
{
    Search search = { .backend = backend };

    if (find_device(&search) &&
        object_property_find(search.device, "requested-size")) {
        return object_property_get_uint(search.device, "requested-size", NULL);
    }
    return memory_region_size(&backend->mr);
}

static CpuSet *host_nodes_of(const PinningState *state, const PinningPart *part,
                             HostMemoryBackend *backend)
{
    const PinningNodePlan *node = pinning_memory_node(state->plan,
                                                      part->guest_node);
    CpuSet *set;
    unsigned n;

    if (!pinning_backend_is_foreign(backend)) {
        return node && *node->host_nodes ?
               cpulist_parse(node->host_nodes, &error_abort) : cpuset_new();
    }
    set = cpuset_new();
    for (n = find_first_bit(backend->host_nodes, MAX_NODES); n < MAX_NODES;
         n = find_next_bit(backend->host_nodes, MAX_NODES, n + 1)) {
        cpuset_add(set, n);
    }
    return set;
}

void pinning_plug_promise(const PinningState *state, PinningReservation *entry)
{
    PinningPart *part;
    unsigned i;

    for (i = 0; (part = pinning_part_at(i)); i++) {
        HostMemoryBackend *backend = part->plugged ?
                                     pinning_part_backend(part) : NULL;
        g_autoptr(CpuSet) host_nodes = NULL;
        uint64_t page_size;

        if (!backend) {
            continue;
        }
        host_nodes = host_nodes_of(state, part, backend);
        page_size = qemu_ram_pagesize(backend->mr.ram_block);
        pinning_reservation_add_memory(entry, host_nodes,
            page_size == qemu_real_host_page_size() ? 0 : page_size,
            size_in_use(backend));
    }
}

static void record(void *opaque)
{
    Error *err = NULL;

    if (pinning_state()->plan && !pinning_reserve(pinning_state(), &err)) {
        warn_reportf_err(err, "pinning: memory that was plugged or unplugged"
                         " is not recorded: ");
    }
}

/* When the device knows, too: a backend is in use until it is unrealized */
static void record_soon(void)
{
    aio_bh_schedule_oneshot(qemu_get_aio_context(), record, NULL);
}

static void region_add(MemoryListener *listener, MemoryRegionSection *section)
{
    const PinningState *state = pinning_state();
    Object *owner = memory_region_owner(section->mr);
    Search search = { .backend = owner };

    if (!state->plan || !owner ||
        !object_dynamic_cast(owner, TYPE_MEMORY_BACKEND)) {
        return;
    }
    if (find_device(&search)) {
        pinning_memory_plug(state, MEMORY_BACKEND(owner), search.guest_node);
        record_soon();
    }
}

static void region_del(MemoryListener *listener, MemoryRegionSection *section)
{
    Object *owner = memory_region_owner(section->mr);

    if (owner && object_dynamic_cast(owner, TYPE_MEMORY_BACKEND)) {
        record_soon();
    }
}

void pinning_plug_watch(MachineState *ms)
{
    static MemoryListener listener = {
        .name = "pinning",
        .region_add = region_add,
        .region_del = region_del,
    };

    if (!ms->device_memory) {
        return;
    }
    if (listener.address_space) {
        /* A new plan was recorded without what this module knows */
        record_soon();
    } else {
        memory_listener_register(&listener, &ms->device_memory->as);
    }
}
