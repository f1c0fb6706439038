/*
 * How the host treats the vCPUs that were placed
 *
 * The kernel counts for each thread how long it waited for a CPU, and how
 * often it was moved.  Whether it was moved to another node, and whether two
 * vCPUs were on one CPU, nobody counts: that is seen when somebody looks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/thread-stats.h"
#include "hw/core/cpu.h"
#include "system/stats.h"
#include "pinning-internal.h"
#include "pinning-stats.h"

/* A vCPU's thread, and what was seen of it so far */
typedef struct VcpuHistory {
    pid_t tid;
    bool seen;              /* @state is that of the last look */
    ThreadState state;
    int node;               /* host node it was on last */
    uint64_t node_moves;
    uint64_t stacked;
} VcpuHistory;

typedef uint64_t StatValue(const VcpuHistory *history);
typedef bool StatRead(pid_t tid, uint64_t *value);

/* Either seen by us, or read when it is asked for */
typedef struct StatKind {
    const char *name;
    StatsType type;
    bool is_time;           /* in nanoseconds */
    StatValue *value;
    StatRead *read;
} StatKind;

static GArray *histories;   /* of VcpuHistory, by number of the vCPU */

static uint64_t last_cpu(const VcpuHistory *history)
{
    return history->state.last_cpu;
}

static uint64_t node_moves(const VcpuHistory *history)
{
    return history->node_moves;
}

static uint64_t stacked(const VcpuHistory *history)
{
    return history->stacked;
}

static const StatKind kinds[] = {
    { "last-cpu", STATS_TYPE_INSTANT, .value = last_cpu },
    { "run-delay", STATS_TYPE_CUMULATIVE, true, .read = thread_run_delay_get },
    { "cpu-migrations", STATS_TYPE_CUMULATIVE, .read = thread_migrations_get },
    { "node-migrations", STATS_TYPE_CUMULATIVE, .value = node_moves },
    { "stacked", STATS_TYPE_CUMULATIVE, .value = stacked },
};

static VcpuHistory *history_of(const CPUState *cpu)
{
    VcpuHistory *history;

    if (!histories) {
        histories = g_array_new(false, true, sizeof(VcpuHistory));
    }
    if (cpu->cpu_index >= histories->len) {
        g_array_set_size(histories, cpu->cpu_index + 1);
    }
    history = &g_array_index(histories, VcpuHistory, cpu->cpu_index);
    if (history->tid != cpu->thread_id) {
        /* Unplugged and plugged again: this is another thread */
        *history = (VcpuHistory) { .tid = cpu->thread_id,
                                   .node = HOST_UNKNOWN };
    }
    return history;
}

static void note_node(VcpuHistory *history)
{
    const HostCpu *cpu = host_topology_cpu(pinning_state()->topo,
                                           history->state.last_cpu);
    int node = cpu ? cpu->node : HOST_UNKNOWN;

    if (node == HOST_UNKNOWN) {
        return;
    }
    history->node_moves += history->node != HOST_UNKNOWN &&
                           history->node != node;
    history->node = node;
}

/* Stands for several threads on one host CPU */
#define SEVERAL GINT_TO_POINTER(-1)

/* All vCPUs of one thread take turns by design, which is no stacking */
static void note_runnable(GHashTable *on_cpu, const VcpuHistory *history)
{
    void *cpu = GUINT_TO_POINTER(history->state.last_cpu);
    void *tid = GINT_TO_POINTER(history->tid);
    void *other = g_hash_table_lookup(on_cpu, cpu);

    g_hash_table_insert(on_cpu, cpu, other && other != tid ? SEVERAL : tid);
}

static bool is_runnable(const VcpuHistory *history)
{
    return history->seen && history->state.runnable;
}

/*
 * States of all vCPUs, read one right after the other: what would be read
 * with the rest of a vCPU's figures would be of another moment.
 */
static void look(void)
{
    g_autoptr(GHashTable) on_cpu = g_hash_table_new(NULL, NULL);
    CPUState *cpu;

    CPU_FOREACH(cpu) {
        VcpuHistory *history = history_of(cpu);

        history->seen = thread_state_get(history->tid, &history->state);
        if (is_runnable(history)) {
            note_runnable(on_cpu, history);
        }
    }
    CPU_FOREACH(cpu) {
        VcpuHistory *history = history_of(cpu);

        if (history->seen) {
            note_node(history);
        }
        if (is_runnable(history) &&
            g_hash_table_lookup(on_cpu, GUINT_TO_POINTER(
                history->state.last_cpu)) == SEVERAL) {
            history->stacked++;
        }
    }
}

static StatsList *figures_of(const VcpuHistory *history, strList *names)
{
    StatsList *list = NULL, **tail = &list;

    for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
        const StatKind *kind = &kinds[i];
        uint64_t number;
        Stats *figure;

        if (!apply_str_list_filter(kind->name, names)) {
            continue;
        }
        if (kind->value) {
            number = kind->value(history);
        } else if (!kind->read(history->tid, &number)) {
            continue;
        }
        figure = g_new0(Stats, 1);
        figure->name = g_strdup(kind->name);
        figure->value = g_new0(StatsValue, 1);
        figure->value->type = QTYPE_QNUM;
        figure->value->u.scalar = number;
        QAPI_LIST_APPEND(tail, figure);
    }
    return list;
}

static void query(StatsResultList **result, StatsTarget target,
                  strList *names, strList *targets, Error **errp)
{
    const PinningState *state = pinning_state();
    CPUState *cpu;

    if (target != STATS_TARGET_VCPU || !pinning_places_threads(state)) {
        return;
    }
    look();
    CPU_FOREACH(cpu) {
        const char *path = cpu->parent_obj.canonical_path;
        const VcpuHistory *history = history_of(cpu);
        StatsList *figures;

        if (history->seen && apply_str_list_filter(path, targets)) {
            figures = figures_of(history, names);
            if (figures) {
                add_stats_entry(result, STATS_PROVIDER_PINNING, path,
                                figures);
            }
        }
    }
}

static void query_schemas(StatsSchemaList **result, Error **errp)
{
    StatsSchemaValueList *list = NULL, **tail = &list;

    for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
        StatsSchemaValue *schema = g_new0(StatsSchemaValue, 1);

        schema->name = g_strdup(kinds[i].name);
        schema->type = kinds[i].type;
        if (kinds[i].is_time) {
            schema->has_unit = true;
            schema->unit = STATS_UNIT_SECONDS;
            schema->has_base = true;
            schema->base = 10;
            schema->exponent = -9;
        }
        QAPI_LIST_APPEND(tail, schema);
    }
    add_stats_schema(result, STATS_PROVIDER_PINNING, STATS_TARGET_VCPU, list);
}

void pinning_stats_offer(void)
{
    static bool offered;

    if (!offered) {
        offered = true;
        add_stats_callbacks(STATS_PROVIDER_PINNING, query, query_schemas);
    }
}

void pinning_stats_add(PinningThreadInfoList *threads)
{
    if (!pinning_places_threads(pinning_state())) {
        return;
    }
    look();
    for (; threads; threads = threads->next) {
        PinningThreadInfo *info = threads->value;

        if (info->has_vcpu && info->vcpu < histories->len) {
            info->has_stacked = true;
            info->stacked = g_array_index(histories, VcpuHistory,
                                          info->vcpu).stacked;
        }
    }
}
