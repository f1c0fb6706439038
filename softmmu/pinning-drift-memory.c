/*
 * Noticing that guest memory has lost its host nodes
 *
 * When the memory nodes of a cpuset shrink, the kernel writes policies of its
 * processes anew, and leaves them so when the nodes come back.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-events-pinning.h"
#include "system/pinning-qemu.h"
#include "hw/core/numa-hostnodes.h"
#include "pinning-drift.h"
#include "pinning-memory.h"
#include "pinning-parts.h"

static GHashTable *told;        /* guest node -> host nodes told last */

static void tell(const PinningNodePlan *node, const CpuSet *actual)
{
    void *key = GUINT_TO_POINTER(node->guest_node);
    g_autofree char *list = cpulist_format(actual);
    const char *last = g_hash_table_lookup(told, key);

    if (g_str_equal(list, last ?: node->host_nodes)) {
        return;
    }
    qapi_event_send_pinning_memory_drift(node->guest_node, node->host_nodes,
                                         list);
    g_hash_table_replace(told, key, g_steal_pointer(&list));
}

static void look_at(HostMemoryBackend *backend, const PinningPart *part,
                    const PinningNodePlan *node)
{
    char *ptr = memory_region_get_ram_ptr(&backend->mr);
    g_autoptr(CpuSet) actual = NULL;
    int mode;

    if (numa_hostnodes_policy(ptr + part->offset, &mode, &actual) == 0) {
        tell(node, actual);
    }
}

/* A guest node is told of once, by its first part */
void pinning_drift_look_at_memory(const PinningPlan *plan)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
    PinningPlacedPart placed;
    unsigned i = 0;

    while (pinning_placed_part_next(plan, &i, &placed)) {
        if (*placed.node->host_nodes && placed.part->size &&
            pinning_backend_is_bound(placed.backend) &&
            g_hash_table_add(seen,
                             GUINT_TO_POINTER(placed.part->guest_node))) {
            look_at(placed.backend, placed.part, placed.node);
        }
    }
}

void pinning_drift_forget_memory(void)
{
    g_clear_pointer(&told, g_hash_table_unref);
    told = g_hash_table_new_full(NULL, NULL, NULL, g_free);
}
