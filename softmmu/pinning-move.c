/*
 * Moving guest memory in the background
 *
 * Policies are in force before this begins, so that new pages are right
 * already.  Old ones are moved chunk by chunk: the kernel holds locks of the
 * process while it moves, and a vCPU that needs one of them waits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-events-pinning.h"
#include "qemu/main-loop.h"
#include "qemu/units.h"
#include "block/aio.h"
#include "exec/cpu-common.h"
#include "exec/memory.h"
#include "hw/core/numa-hostnodes.h"
#include "pinning-memory.h"
#include "pinning-move.h"
#include "trace.h"

#define CHUNK_SIZE (64 * MiB)

typedef struct MoveRange {
    MemoryRegion *mr;           /* referenced */
    char *ptr;
    uint64_t size;
    uint64_t page_size;
    HostMemPolicy policy;
    CpuSet *host_nodes;
} MoveRange;

typedef struct Move {
    GArray *ranges;
    uint64_t total;             /* bytes */
    uint64_t done;              /* bytes; written by the thread alone */
    uint64_t in_place;
    uint64_t elsewhere;
    bool cancel;
    QemuThread thread;
} Move;

static Move *current;

static void range_clear(gpointer opaque)
{
    MoveRange *range = opaque;

    memory_region_unref(range->mr);
    cpuset_free(range->host_nodes);
}

static void add_range(void *opaque, HostMemoryBackend *backend,
                      uint64_t offset, uint64_t size,
                      const PinningNodePlan *node)
{
    Move *move = opaque;
    char *ptr = memory_region_get_ram_ptr(&backend->mr);
    MoveRange range = {
        .mr = &backend->mr,
        .ptr = ptr + offset,
        .size = size,
        .page_size = qemu_ram_pagesize(backend->mr.ram_block),
        .policy = node->policy,
        .host_nodes = cpulist_parse(node->host_nodes, &error_abort),
    };

    memory_region_ref(range.mr);
    g_array_append_val(move->ranges, range);
    move->total += size;
}

static void count_chunk(Move *move, const MoveRange *range, char *ptr,
                        uint64_t size)
{
    g_autoptr(GArray) on_node = g_array_new(false, true, sizeof(uint64_t));
    unsigned i;

    numa_hostnodes_count(ptr, size, range->page_size, UINT64_MAX, on_node);
    for (i = 0; i < on_node->len; i++) {
        uint64_t bytes = g_array_index(on_node, uint64_t, i);

        if (cpuset_contains(range->host_nodes, i)) {
            move->in_place += bytes;
        } else {
            move->elsewhere += bytes;
        }
    }
}

/*
 * Pages that do not move, since a device or another process uses them, make
 * the call fail with the others moved.  They are counted afterwards, with
 * everything else that is in the wrong place, and not tried again.
 */
static void move_range(Move *move, const MoveRange *range)
{
    uint64_t chunk = QEMU_ALIGN_UP(CHUNK_SIZE, range->page_size);
    uint64_t offset, size;

    for (offset = 0; offset < range->size; offset += size) {
        if (qatomic_read(&move->cancel)) {
            return;
        }
        size = MIN(chunk, range->size - offset);
        numa_hostnodes_bind(range->ptr + offset, size, range->policy,
                            range->host_nodes, true);
        count_chunk(move, range, range->ptr + offset, size);
        qatomic_set(&move->done, move->done + size);
    }
}

static void move_ended(void *opaque)
{
    Move *move = opaque;

    qemu_thread_join(&move->thread);
    trace_pinning_move_end(move->in_place, move->elsewhere);
    qapi_event_send_pinning_memory_moved(move->in_place, move->elsewhere,
                                         move->cancel);
    if (current == move) {
        current = NULL;
    }
    g_array_unref(move->ranges);
    g_free(move);
}

static void *move_thread(void *opaque)
{
    Move *move = opaque;
    unsigned i;

    for (i = 0; i < move->ranges->len; i++) {
        move_range(move, &g_array_index(move->ranges, MoveRange, i));
    }
    aio_bh_schedule_oneshot(qemu_get_aio_context(), move_ended, move);
    return NULL;
}

void pinning_move_start(const PinningPlan *plan)
{
    Move *move = g_new0(Move, 1);

    pinning_move_cancel();
    move->ranges = g_array_new(false, false, sizeof(MoveRange));
    g_array_set_clear_func(move->ranges, range_clear);
    pinning_memory_ranges(plan, add_range, move);
    current = move;
    qemu_thread_create(&move->thread, "pinning-move", move_thread, move,
                       QEMU_THREAD_JOINABLE);
}

void pinning_move_cancel(void)
{
    if (current) {
        qatomic_set(&current->cancel, true);
        current = NULL;
    }
}

PinningMoveInfo *pinning_move_info(void)
{
    PinningMoveInfo *info;

    if (!current) {
        return NULL;
    }
    info = g_new0(PinningMoveInfo, 1);
    info->total = current->total;
    info->done = qatomic_read(&current->done);
    return info;
}
