/*
 * What the reservations of all holders come to
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/util.h"
#include "qemu/cpulist.h"
#include "qemu/pinning-registry-int.h"

/* One vCPU on a host CPU of its own, as PinningTakenCpu counts */
#define LOAD_OF_ONE_VCPU 1000

static CpuSet *set_of(const char *list)
{
    /* pinning_entry_parse() has seen that it can be parsed */
    return *list ? cpulist_parse(list, &error_abort) : cpuset_new();
}

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void add_to_each(GHashTable *load, const CpuSet *cpus, uint64_t each)
{
    CPUSET_FOREACH(host_cpu, cpus) {
        gpointer key = GINT_TO_POINTER(host_cpu);
        uint64_t *sum = g_hash_table_lookup(load, key);

        if (!sum) {
            sum = g_new0(uint64_t, 1);
            g_hash_table_insert(load, key, sum);
        }
        *sum = add_saturated(*sum, each);
    }
}

static void add_loads(GHashTable *load, const PinningTakenCpuList *cpu)
{
    for (; cpu; cpu = cpu->next) {
        g_autoptr(CpuSet) cpus = set_of(cpu->value->host_cpus);

        add_to_each(load, cpus, cpu->value->load);
    }
}

/* Rounded up: a CPU that somebody may use is never as good as an idle one */
static void sum_load(GHashTable *load, const PinningReservation *entry)
{
    g_autoptr(CpuSet) cpus = set_of(entry->host_cpus);
    unsigned count = cpuset_count(cpus);

    if (entry->cpu_load) {
        add_loads(load, entry->cpu_load);
    } else if (count) {
        add_to_each(load, cpus,
                    DIV_ROUND_UP((uint64_t)entry->vcpus * LOAD_OF_ONE_VCPU,
                                 count));
    }
}

static int compare_cpus(gconstpointer a, gconstpointer b)
{
    PinningTakenCpu *const *x = a;
    PinningTakenCpu *const *y = b;

    return (*x)->load < (*y)->load ? 1 : (*x)->load > (*y)->load ? -1 : 0;
}

/* Host CPUs with the same load share an element, the highest load first */
static PinningTakenCpuList *load_list(GHashTable *load)
{
    g_autoptr(GHashTable) sets = NULL;
    g_autoptr(GPtrArray) sorted = g_ptr_array_new();
    PinningTakenCpuList *list = NULL, **tail = &list;
    GHashTableIter iter;
    gpointer key, value;
    unsigned i;

    sets = g_hash_table_new_full(NULL, NULL, NULL,
                                 (GDestroyNotify)cpuset_free);
    g_hash_table_iter_init(&iter, load);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        uint32_t sum = MIN(*(uint64_t *)value, UINT32_MAX);
        CpuSet *set = g_hash_table_lookup(sets, GUINT_TO_POINTER(sum));

        if (!set) {
            set = cpuset_new();
            g_hash_table_insert(sets, GUINT_TO_POINTER(sum), set);
        }
        cpuset_add(set, GPOINTER_TO_INT(key));
    }

    g_hash_table_iter_init(&iter, sets);
    while (g_hash_table_iter_next(&iter, &key, &value)) {
        PinningTakenCpu *cpu = g_new0(PinningTakenCpu, 1);

        cpu->load = GPOINTER_TO_UINT(key);
        cpu->host_cpus = cpulist_format(value);
        g_ptr_array_add(sorted, cpu);
    }
    g_ptr_array_sort(sorted, compare_cpus);
    for (i = 0; i < sorted->len; i++) {
        QAPI_LIST_APPEND(tail, (PinningTakenCpu *)sorted->pdata[i]);
    }
    return list;
}

static void sum_io_load(PinningTaken *taken, const PinningHolder *holders,
                        size_t n_holders)
{
    g_autoptr(GHashTable) load = g_hash_table_new_full(NULL, NULL, NULL,
                                                       g_free);
    size_t i;

    for (i = 0; i < n_holders; i++) {
        add_loads(load, holders[i].entry->io_load);
    }
    taken->io_load = load_list(load);
    taken->has_io_load = taken->io_load != NULL;
}

static void sum_cpus(PinningTaken *taken, const PinningHolder *holders,
                     size_t n_holders)
{
    g_autoptr(GHashTable) load = g_hash_table_new_full(NULL, NULL, NULL,
                                                       g_free);
    g_autoptr(CpuSet) exclusive = cpuset_new();
    g_autoptr(CpuSet) parked = cpuset_new();
    strList **tail = &taken->exclusive_owners;
    size_t i;

    for (i = 0; i < n_holders; i++) {
        const PinningReservation *entry = holders[i].entry;
        g_autoptr(CpuSet) idle = set_of(entry->parked_cpus);

        sum_load(load, entry);
        cpuset_or(parked, idle);
        if (entry->exclusive) {
            g_autoptr(CpuSet) own = set_of(entry->host_cpus);

            cpuset_or(exclusive, own);
            QAPI_LIST_APPEND(tail, g_strdup(entry->name));
        }
    }

    taken->cpus = load_list(load);
    taken->has_cpus = true;
    taken->exclusive_cpus = cpulist_format(exclusive);
    taken->has_exclusive_owners = true;
    taken->parked_cpus = cpulist_format(parked);
}

static PinningTakenNode *node_of(GPtrArray *nodes, uint32_t host_node,
                                 uint64_t page_size)
{
    PinningTakenNode *node;
    unsigned i;

    for (i = 0; i < nodes->len; i++) {
        node = nodes->pdata[i];
        if (node->host_node == host_node && node->page_size == page_size) {
            return node;
        }
    }
    node = g_new0(PinningTakenNode, 1);
    node->host_node = host_node;
    node->has_page_size = true;
    node->page_size = page_size;
    node->has_untouched = true;
    g_ptr_array_add(nodes, node);
    return node;
}

/*
 * How much of a promise has surely been kept on its own node.
 *
 * Only the sum over all nodes is known cheaply.  Splitting it in proportion
 * would call memory free on a node where nothing has been touched yet, as
 * soon as a guest fills one node before the other, as guests do; the next
 * machine would be bound there and run out of memory.  What the promises on
 * other nodes can hold at most is therefore taken to lie there first.  That
 * is exact for a machine on one node, exact again once all is touched, and
 * in between errs to the side that costs a placement, not a machine.
 */
static uint64_t surely_touched(const PinningHolder *holder,
                               const PinningReservationMemory *promise)
{
    PinningReservationMemoryList *m;
    uint64_t sum, elsewhere = 0;

    for (m = holder->entry->memory; m; m = m->next) {
        if (m->value != promise &&
            !m->value->page_size == !promise->page_size) {
            elsewhere = add_saturated(elsewhere, m->value->size);
        }
    }
    sum = promise->page_size ? holder->touched_huge : holder->touched;
    return sum > elsewhere ? MIN(sum - elsewhere, promise->size) : 0;
}

static int compare_nodes(gconstpointer a, gconstpointer b)
{
    const PinningTakenNode *x = *(PinningTakenNode *const *)a;
    const PinningTakenNode *y = *(PinningTakenNode *const *)b;

    if (x->host_node != y->host_node) {
        return x->host_node < y->host_node ? -1 : 1;
    }
    return x->page_size < y->page_size ? -1 : x->page_size > y->page_size;
}

static void sum_memory(PinningTaken *taken, const PinningHolder *holders,
                       size_t n_holders)
{
    g_autoptr(GPtrArray) nodes = g_ptr_array_new();
    PinningTakenNodeList **tail = &taken->nodes;
    PinningReservationMemoryList *m;
    size_t i;

    for (i = 0; i < n_holders; i++) {
        for (m = holders[i].entry->memory; m; m = m->next) {
            PinningTakenNode *node = node_of(nodes, m->value->host_node,
                                             m->value->page_size);
            uint64_t touched = surely_touched(&holders[i], m->value);

            node->promised = add_saturated(node->promised, m->value->size);
            node->untouched = add_saturated(node->untouched,
                                            m->value->size - touched);
        }
    }

    g_ptr_array_sort(nodes, compare_nodes);
    for (i = 0; i < nodes->len; i++) {
        QAPI_LIST_APPEND(tail, (PinningTakenNode *)nodes->pdata[i]);
    }
    taken->has_nodes = true;
}

PinningTaken *pinning_registry_sum(const PinningHolder *holders,
                                   size_t n_holders, uint32_t rotation)
{
    PinningTaken *taken = g_new0(PinningTaken, 1);

    sum_cpus(taken, holders, n_holders);
    sum_memory(taken, holders, n_holders);
    sum_io_load(taken, holders, n_holders);
    taken->has_rotation = true;
    taken->rotation = rotation;
    return taken;
}

PinningOverlap *pinning_entry_overlap(const PinningReservation *own,
                                      const PinningReservation *other)
{
    g_autoptr(CpuSet) busy = set_of(own->host_cpus);
    g_autoptr(CpuSet) idle = set_of(own->parked_cpus);
    g_autoptr(CpuSet) both = set_of(other->host_cpus);
    g_autoptr(CpuSet) spoilt = set_of(other->parked_cpus);
    PinningOverlap *overlap;

    /* That both keep a CPU idle disturbs neither */
    cpuset_and(spoilt, busy);
    cpuset_or(busy, idle);
    cpuset_and(both, busy);
    cpuset_or(both, spoilt);
    if (cpuset_is_empty(both)) {
        return NULL;
    }
    overlap = g_new0(PinningOverlap, 1);
    overlap->name = g_strdup(other->name);
    overlap->uuid = g_strdup(other->uuid);
    overlap->pid = other->pid;
    overlap->mode = other->mode;
    overlap->host_cpus = cpulist_format(both);
    return overlap;
}
