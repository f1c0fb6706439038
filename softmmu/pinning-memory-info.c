/*
 * Where guest memory really is
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "exec/cpu-common.h"
#include "system/pinning-qemu.h"
#include "hw/core/numa-hostnodes.h"
#include "pinning-memory.h"
#include "pinning-parts.h"

/* Guests below this size are looked at page by page, larger ones sampled */
#define EXACT_SIZE (4 * GiB)

/* Looks at each part of a guest that is sampled */
#define SAMPLE_LOOKS (64 * KiB)

/* Looks at each backend where a few percent are good enough */
#define ROUGH_LOOKS 1024

/* Memory to look at, which stays mapped meanwhile */
typedef struct Look {
    MemoryRegion *mr;           /* referenced */
    char *ptr;
    uint64_t size;
    uint64_t page_size;
    GArray *on_node;            /* uint64_t, by host node */
} Look;

static void look_clear(gpointer opaque)
{
    memory_region_unref(((Look *)opaque)->mr);
}

static void add_looks(GArray *looks, uint32_t guest_node, GArray *on_node,
                      uint64_t *plugged)
{
    PinningPart *part;
    unsigned i;

    for (i = 0; (part = pinning_part_at(i)); i++) {
        HostMemoryBackend *backend = pinning_part_backend(part);
        char *ptr;
        Look look;

        if (!backend || part->guest_node != guest_node) {
            continue;
        }
        if (part->plugged) {
            *plugged += part->size;
        }
        ptr = memory_region_get_ram_ptr(&backend->mr);
        look = (Look) {
            .mr = &backend->mr,
            .ptr = ptr + part->offset,
            .size = part->size,
            .page_size = qemu_ram_pagesize(backend->mr.ram_block),
            .on_node = on_node,
        };
        memory_region_ref(look.mr);
        g_array_append_val(looks, look);
    }
}

/* The guest needs the lock now and then, and this can take a while */
static void look_unlocked(const GArray *looks, bool sampled)
{
    unsigned i;

    bql_unlock();
    for (i = 0; i < looks->len; i++) {
        const Look *look = &g_array_index(looks, Look, i);

        numa_hostnodes_count(look->ptr, look->size, look->page_size,
                             sampled ? SAMPLE_LOOKS : UINT64_MAX,
                             look->on_node);
    }
    bql_lock();
}

static PinningHostMemoryList *memory_list(const GArray *on_node)
{
    PinningHostMemoryList *list = NULL, **tail = &list;
    unsigned i;

    for (i = 0; i < on_node->len; i++) {
        uint64_t size = g_array_index(on_node, uint64_t, i);

        if (size) {
            PinningHostMemory *memory = g_new0(PinningHostMemory, 1);

            memory->host_node = i;
            memory->size = size;
            QAPI_LIST_APPEND(tail, memory);
        }
    }
    return list;
}

static bool has_foreign_part(uint32_t guest_node)
{
    PinningPart *part;
    unsigned i;

    for (i = 0; (part = pinning_part_at(i)); i++) {
        HostMemoryBackend *backend = pinning_part_backend(part);

        if (part->guest_node == guest_node && backend &&
            pinning_backend_is_foreign(backend)) {
            return true;
        }
    }
    return false;
}

static PinningMemoryInfo *node_info(const PinningNodePlan *node,
                                    uint64_t plugged)
{
    PinningMemoryInfo *info = g_new0(PinningMemoryInfo, 1);

    info->guest_node = node->guest_node;
    info->size = node->size + plugged;
    info->policy = node->policy;
    info->host_nodes = g_strdup(node->host_nodes);
    info->foreign = has_foreign_part(node->guest_node);
    info->reason = g_strdup(node->reason);
    return info;
}

PinningMemoryInfoList *pinning_memory_info(const PinningPlan *plan)
{
    g_autoptr(GArray) looks = g_array_new(false, false, sizeof(Look));
    g_autoptr(GPtrArray) counts = g_ptr_array_new_with_free_func(
        (GDestroyNotify)g_array_unref);
    PinningMemoryInfoList *list = NULL, **tail = &list, *info;
    PinningNodePlanList *entry;
    uint64_t total = 0;
    unsigned i = 0;

    g_array_set_clear_func(looks, look_clear);
    for (entry = plan->nodes; entry; entry = entry->next) {
        GArray *on_node = g_array_new(false, true, sizeof(uint64_t));
        uint64_t plugged = 0;

        g_ptr_array_add(counts, on_node);
        add_looks(looks, entry->value->guest_node, on_node, &plugged);
        QAPI_LIST_APPEND(tail, node_info(entry->value, plugged));
        total += entry->value->size + plugged;
    }
    look_unlocked(looks, total > EXACT_SIZE);
    for (info = list; info; info = info->next) {
        info->value->sampled = total > EXACT_SIZE;
        info->value->actual = memory_list(g_ptr_array_index(counts, i++));
    }
    return list;
}

static void add_free(HostNode *node, uint64_t page_size, uint64_t size)
{
    unsigned i;

    if (page_size == qemu_real_host_page_size()) {
        if (node->free != HOST_UNKNOWN) {
            node->free += size;
            node->available += size;
        }
        return;
    }
    for (i = 0; i < node->n_hugepages; i++) {
        if (node->hugepages[i].page_size == page_size) {
            node->hugepages[i].free += size / page_size;
        }
    }
}

static void discount(HostTopology *topo, HostMemoryBackend *backend)
{
    g_autoptr(GArray) on_node = g_array_new(false, true, sizeof(uint64_t));
    uint64_t page_size = qemu_ram_pagesize(backend->mr.ram_block);
    unsigned i;

    numa_hostnodes_count(memory_region_get_ram_ptr(&backend->mr),
                         memory_region_size(&backend->mr), page_size,
                         ROUGH_LOOKS, on_node);
    for (i = 0; i < topo->n_nodes; i++) {
        HostNode *node = &topo->nodes[i];

        if (node->node < on_node->len) {
            add_free(node, page_size, g_array_index(on_node, uint64_t,
                                                    node->node));
        }
    }
}

void pinning_memory_discount(HostTopology *topo, const PinningRequest *req,
                             HostMemoryBackend *ram)
{
    unsigned i;

    for (i = 0; i < req->n_nodes; i++) {
        HostMemoryBackend *backend = pinning_backend_by_id(
                                         req->nodes[i].memdev);

        if (backend) {
            discount(topo, backend);
        }
    }
    if (ram) {
        discount(topo, ram);
    }
}

void pinning_memory_ranges(const PinningPlan *plan,
                           void (*fn)(void *opaque, HostMemoryBackend *backend,
                                      uint64_t offset, uint64_t size,
                                      const PinningNodePlan *node),
                           void *opaque)
{
    PinningPlacedPart placed;
    unsigned i = 0;

    while (pinning_placed_part_next(plan, &i, &placed)) {
        if (*placed.node->host_nodes &&
            !pinning_backend_is_foreign(placed.backend)) {
            fn(opaque, placed.backend, placed.part->offset,
               placed.part->size, placed.node);
        }
    }
}
