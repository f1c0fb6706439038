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
#include "qapi/qapi-commands-pinning.h"
#include "qapi/qapi-events-pinning.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "qemu/ratelimit.h"
#include "qemu/thread.h"
#include "qemu/units.h"
#include "block/aio.h"
#include "exec/cpu-common.h"
#include "system/pinning-qemu.h"
#include "hw/core/numa-hostnodes.h"
#include "pinning-memory.h"
#include "pinning-move.h"
#include "trace.h"

/* Before Linux 6.7 nobody can fault a page in while a chunk moves */
#define CHUNK_SIZE (64 * MiB)

/*
 * Looking at every page would take a good part of the time of moving them:
 * one in so many, but no fewer than this in a chunk
 */
#define PAGES_PER_LOOK 64
#define MIN_LOOKS 64

/* With a limit, chunks are no larger than what may move in this time */
#define SLICE_NS (100 * 1000 * 1000)

typedef struct MoveRange {
    MemoryRegion *mr;           /* referenced */
    char *ptr;
    uint64_t size;
    uint64_t page_size;
    bool shared;                /* others may map it, too */
    HostMemPolicy policy;
    CpuSet *host_nodes;
} MoveRange;

typedef struct Move {
    GArray *ranges;
    uint64_t speed;             /* bytes moved in a second; 0: no limit */
    RateLimit limit;
    QemuThread thread;
    QemuSemaphore wake;         /* posted to end a pause */
    bool cancel;                /* set with @holding */
    bool all_pinned;            /* nothing of the last chunk did move */
    uint64_t total;             /* bytes */
    /* Written by the thread alone */
    uint64_t done;
    uint64_t in_place;
    uint64_t moved;
    NumaStuck stuck;
} Move;

/* A piece of a range */
typedef struct Chunk {
    Move *move;
    const MoveRange *range;
    char *ptr;
    uint64_t size;
} Chunk;

/*
 * Of the main thread.  The first one runs.  A move that is to end, since
 * another one has come, may need a while: the other one waits, and so do its
 * events.
 */
static GQueue moves = G_QUEUE_INIT;     /* of Move */

/* Held while a chunk moves, and while placements change */
static QemuMutex holding;

static void __attribute__((__constructor__)) move_init(void)
{
    qemu_mutex_init(&holding);
}

/* Returns: the last one, unless it is to end */
static Move *current_move(void)
{
    Move *move = g_queue_peek_tail(&moves);

    return move && !move->cancel ? move : NULL;
}

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
        .shared = backend->share,
        .policy = node->policy,
        .host_nodes = cpulist_parse(node->host_nodes, &error_abort),
    };

    memory_region_ref(range.mr);
    g_array_append_val(move->ranges, range);
    move->total += size;
}

static void count(const Chunk *chunk, uint64_t looks, uint64_t *in_place,
                  uint64_t *elsewhere)
{
    g_autoptr(GArray) on_node = g_array_new(false, true, sizeof(uint64_t));
    unsigned i;

    *in_place = *elsewhere = 0;
    numa_hostnodes_count(chunk->ptr, chunk->size, chunk->range->page_size,
                         looks, on_node);
    for (i = 0; i < on_node->len; i++) {
        uint64_t bytes = g_array_index(on_node, uint64_t, i);

        if (cpuset_contains(chunk->range->host_nodes, i)) {
            *in_place += bytes;
        } else {
            *elsewhere += bytes;
        }
    }
}

/*
 * Pages that do not move, since a device or another process uses them, make
 * the call fail with the others moved; newer kernels do not even tell of
 * those that are shared.  Some are asked once more, to say why.
 *
 * The kernel tries long, so where a device has all memory, as with VFIO, a
 * few pages of each further chunk must do.
 */
static NumaStuck try_chunk(Move *move, const Chunk *chunk)
{
    const MoveRange *range = chunk->range;
    NumaStuck stuck = { };
    uint64_t bytes;
    int ret;

    if (move->all_pinned) {
        bytes = numa_hostnodes_stuck(chunk->ptr, chunk->size,
                                     range->page_size, range->host_nodes,
                                     &stuck);
        if (bytes && stuck.pinned >= bytes - bytes / 16) {
            return stuck;
        }
        stuck = (NumaStuck) { };
    }
    ret = numa_hostnodes_bind(chunk->ptr, chunk->size, range->policy,
                              range->host_nodes, true);
    if (ret < 0 || range->shared) {
        numa_hostnodes_stuck(chunk->ptr, chunk->size, range->page_size,
                             range->host_nodes, &stuck);
    }
    return stuck;
}

/* Returns: false when it was cancelled */
static bool move_chunk(const Chunk *chunk)
{
    Move *move = chunk->move;
    uint64_t pages = chunk->size / chunk->range->page_size;
    uint64_t in_place, elsewhere, left;
    NumaStuck stuck;

    QEMU_LOCK_GUARD(&holding);
    if (move->cancel) {
        return false;
    }
    count(chunk, MAX(pages / PAGES_PER_LOOK, MIN(pages, MIN_LOOKS)),
          &in_place, &elsewhere);
    stuck = try_chunk(move, chunk);
    left = stuck.shared + stuck.pinned + stuck.no_room;
    elsewhere -= MIN(elsewhere, left);
    move->stuck.shared += stuck.shared;
    move->stuck.pinned += stuck.pinned;
    move->stuck.no_room += stuck.no_room;
    move->all_pinned = stuck.pinned && !elsewhere;
    move->in_place += in_place + elsewhere;
    qatomic_set(&move->moved, move->moved + elsewhere);
    qatomic_set(&move->done, move->done + chunk->size);
    return true;
}

static uint64_t chunk_size(const Move *move, const MoveRange *range)
{
    uint64_t size = CHUNK_SIZE;

    if (move->speed) {
        size = MIN(size, move->speed / (NANOSECONDS_PER_SECOND / SLICE_NS));
    }
    return QEMU_ALIGN_UP(MAX(size, 1), range->page_size);
}

static bool move_range(Move *move, const MoveRange *range)
{
    Chunk chunk = { .move = move, .range = range };
    uint64_t offset, moved;
    int64_t delay;

    for (offset = 0; offset < range->size; offset += chunk.size) {
        chunk.ptr = range->ptr + offset;
        chunk.size = MIN(chunk_size(move, range), range->size - offset);
        moved = move->moved;
        if (!move_chunk(&chunk)) {
            return false;
        }
        delay = ratelimit_calculate_delay(&move->limit, move->moved - moved);
        if (delay > 0) {
            qemu_sem_timedwait(&move->wake, DIV_ROUND_UP(delay, SCALE_MS));
        }
    }
    return true;
}

static void *move_thread(void *opaque);

static void run_first(void)
{
    Move *move = g_queue_peek_head(&moves);

    if (move) {
        qemu_thread_create(&move->thread, "pinning-move", move_thread, move,
                           QEMU_THREAD_JOINABLE);
    }
}

static void move_ended(void *opaque)
{
    Move *move = opaque;
    const NumaStuck *stuck = &move->stuck;

    qemu_thread_join(&move->thread);
    trace_pinning_move_end(move->in_place, stuck->shared + stuck->pinned +
                                           stuck->no_room);
    qapi_event_send_pinning_memory_moved(move->moved, move->in_place,
                                         stuck->shared, stuck->pinned,
                                         stuck->no_room, move->cancel);
    g_queue_pop_head(&moves);
    run_first();
    ratelimit_destroy(&move->limit);
    qemu_sem_destroy(&move->wake);
    g_array_unref(move->ranges);
    g_free(move);
}

static void *move_thread(void *opaque)
{
    Move *move = opaque;
    unsigned i = 0;

    while (i < move->ranges->len &&
           move_range(move, &g_array_index(move->ranges, MoveRange, i))) {
        i++;
    }
    aio_bh_schedule_oneshot(qemu_get_aio_context(), move_ended, move);
    return NULL;
}

void pinning_move_start(const PinningPlan *plan, uint64_t speed)
{
    Move *move = g_new0(Move, 1);

    move->ranges = g_array_new(false, false, sizeof(MoveRange));
    g_array_set_clear_func(move->ranges, range_clear);
    pinning_memory_ranges(plan, add_range, move);
    move->speed = speed;
    ratelimit_init(&move->limit);
    ratelimit_set_speed(&move->limit, speed, SLICE_NS);
    qemu_sem_init(&move->wake, 0);
    g_queue_push_tail(&moves, move);
    if (g_queue_get_length(&moves) == 1) {
        run_first();
    }
}

void pinning_move_hold(void)
{
    qemu_mutex_lock(&holding);
}

void pinning_move_release(bool end)
{
    Move *move = end ? current_move() : NULL;

    if (move) {
        move->cancel = true;
        qemu_sem_post(&move->wake);
    }
    qemu_mutex_unlock(&holding);
}

void qmp_cancel_pinning_move(Error **errp)
{
    pinning_move_hold();
    pinning_move_release(true);
}

PinningMoveInfo *pinning_move_info(void)
{
    const Move *move = current_move();
    PinningMoveInfo *info;

    if (!move) {
        return NULL;
    }
    info = g_new0(PinningMoveInfo, 1);
    info->total = move->total;
    info->done = qatomic_read(&move->done);
    info->moved = qatomic_read(&move->moved);
    return info;
}
