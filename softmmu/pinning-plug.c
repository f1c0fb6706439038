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
#include "qemu/option.h"
#include "exec/memory.h"
#include "hw/boards.h"
#include "system/hostmem.h"
#include "pinning-internal.h"
#include "pinning-memory.h"
#include "pinning-plug.h"

typedef struct Search {
    const void *backend;        /* its id, or the object */
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
    search->found = true;
    return 1;
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
    object_child_foreach_recursive(qdev_get_machine(), look_at_device,
                                   &search);
    if (search.found) {
        pinning_memory_plug(state, MEMORY_BACKEND(owner), search.guest_node);
    }
}

void pinning_plug_watch(MachineState *ms)
{
    static MemoryListener listener = {
        .name = "pinning",
        .region_add = region_add,
    };

    if (ms->device_memory && !listener.address_space) {
        memory_listener_register(&listener, &ms->device_memory->as);
    }
}
