/*
 * Planning and recording as one; the reservation that a plan amounts to
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/util.h"
#include "qemu/cpulist.h"
#include "qemu/pinning-registry.h"

static void promise(PinningReservation *entry, uint32_t host_node,
                    uint64_t page_size, uint64_t size)
{
    PinningReservationMemoryList **tail = &entry->memory;
    PinningReservationMemory *m;

    if (!size) {
        return;
    }
    for (; *tail; tail = &(*tail)->next) {
        m = (*tail)->value;
        if (m->host_node == host_node && m->page_size == page_size) {
            m->size += size;
            return;
        }
    }
    m = g_new0(PinningReservationMemory, 1);
    m->host_node = host_node;
    m->page_size = page_size;
    m->size = size;
    QAPI_LIST_APPEND(tail, m);
}

/*
 * Memory of one guest node on several host nodes is taken to be spread
 * evenly, in whole pages.  For interleaving that is so; for a binding to
 * several nodes nobody can know.
 */
void pinning_reservation_add_memory(PinningReservation *entry,
                                    const CpuSet *host_nodes,
                                    uint64_t page_size, uint64_t size)
{
    uint64_t unit = page_size ?: 1;
    uint64_t pages = DIV_ROUND_UP(size, unit);
    uint64_t left = cpuset_count(host_nodes);

    CPUSET_FOREACH(host_node, host_nodes) {
        uint64_t share = DIV_ROUND_UP(pages, left);

        promise(entry, host_node, page_size, share * unit);
        pages -= share;
        left--;
    }
}

static void promise_node(PinningReservation *entry, const PinningRequest *req,
                         const PinningNodePlan *node)
{
    const PinningGuestNode *guest = NULL;
    uint64_t page_size = req->page_size;
    g_autoptr(CpuSet) host_nodes = NULL;

    if (node->guest_node < req->n_nodes) {
        guest = &req->nodes[node->guest_node];
        page_size = guest->page_size;
    } else if (!req->n_nodes) {
        guest = req->ram;
    }
    if (*node->host_nodes) {
        host_nodes = cpulist_parse(node->host_nodes, &error_abort);
    } else if (guest && guest->foreign && guest->host_nodes) {
        /* Not placed by us, and still on these nodes */
        host_nodes = cpuset_copy(guest->host_nodes);
    } else {
        return;
    }
    pinning_reservation_add_memory(entry, host_nodes, page_size, node->size);
}

static PinningTakenCpu *load_at(PinningTakenCpuList **list,
                                const char *host_cpus)
{
    PinningTakenCpu *cpu;

    for (; *list; list = &(*list)->next) {
        if (g_str_equal((*list)->value->host_cpus, host_cpus)) {
            return (*list)->value;
        }
    }
    cpu = g_new0(PinningTakenCpu, 1);
    cpu->host_cpus = g_strdup(host_cpus);
    QAPI_LIST_PREPEND(*list, cpu);
    return cpu;
}

/* From a number of vCPUs to what counts on each CPU; whether all is alike */
static bool spread_loads(PinningTakenCpuList *list, const CpuSet *all)
{
    uint32_t first = 0;
    unsigned sum = 0;
    bool alike = true;

    for (; list; list = list->next) {
        PinningTakenCpu *cpu = list->value;
        g_autoptr(CpuSet) own = cpulist_parse(cpu->host_cpus, &error_abort);
        unsigned count = cpuset_count(own);

        cpu->load = DIV_ROUND_UP(cpu->load * 1000, count);
        first = first ?: cpu->load;
        alike &= cpu->load == first;
        sum += count;
    }
    return alike && sum == cpuset_count(all);
}

/* Guest nodes of different sizes do not load their host nodes alike */
static PinningTakenCpuList *uneven_load(const PinningPlan *plan,
                                        const CpuSet *host_cpus)
{
    g_autoptr(PinningTakenCpuList) list = NULL;
    const PinningVcpuPlanList *v;

    if (plan->mode == PINNING_MODE_ONE_TO_ONE) {
        return NULL;
    }
    for (v = plan->vcpus; v; v = v->next) {
        if (*v->value->host_cpus) {
            load_at(&list, v->value->host_cpus)->load++;
        }
    }
    return spread_loads(list, host_cpus) ? NULL : g_steal_pointer(&list);
}

PinningReservation *pinning_reservation_new(const char *name,
                                            const char *uuid,
                                            const PinningRequest *req,
                                            const PinningPlan *plan)
{
    PinningReservation *entry = g_new0(PinningReservation, 1);
    g_autoptr(CpuSet) host_cpus = NULL;
    PinningNodePlanList *n;

    entry->name = g_strdup(name);
    entry->uuid = g_strdup(uuid);
    entry->mode = plan->mode;
    entry->exclusive = req->options->has_exclusive && req->options->exclusive;
    host_cpus = pinning_plan_cpus(plan);
    entry->host_cpus = cpulist_format(host_cpus);
    entry->vcpus = QAPI_LIST_LENGTH(plan->vcpus);
    entry->cpu_load = uneven_load(plan, host_cpus);
    entry->has_cpu_load = entry->cpu_load != NULL;
    entry->parked_cpus = g_strdup(plan->parked_cpus);
    entry->io_cpus = g_strdup(plan->io_cpus);
    for (n = plan->nodes; n; n = n->next) {
        promise_node(entry, req, n->value);
    }
    return entry;
}

/*
 * Nobody can be kept off CPUs without telling him, so exclusivity fails
 * where other placements only lose sight of one another.
 */
static bool degrade(const PinningRequest *req, Error *err,
                    GPtrArray *warnings, Error **errp)
{
    if (req->options->has_exclusive && req->options->exclusive) {
        error_propagate_prepend(errp, err,
                                "Exclusive host CPUs need the registry: ");
        return false;
    }
    g_ptr_array_add(warnings,
                    g_strdup_printf("Others do not know what this one uses:"
                                    " %s", error_get_pretty(err)));
    error_free(err);
    return true;
}

/* What is taken, as far as that can be known; @taken stays NULL if not */
static bool look(PinningRegistry *reg, const PinningRequest *req,
                 bool *locked, PinningTaken **taken, GPtrArray *warnings,
                 Error **errp)
{
    Error *err = NULL;

    *locked = pinning_registry_lock(reg, &err);
    if (!*locked && !degrade(req, err, warnings, errp)) {
        return false;
    }
    err = NULL;
    *taken = pinning_registry_taken(reg, warnings, &err);
    if (!*taken && *locked) {
        return degrade(req, err, warnings, errp);
    }
    /* If it could not even be locked, enough has been said */
    error_free(err);
    return true;
}

static bool keep(PinningRegistry *reg, const PinningRequest *req,
                 const PinningPlan *plan, const char *name, const char *uuid,
                 GPtrArray *warnings, Error **errp)
{
    g_autoptr(PinningReservation) entry = NULL;
    Error *err = NULL;

    entry = pinning_reservation_new(name, uuid, req, plan);
    return pinning_registry_record(reg, entry, &err) ||
           degrade(req, err, warnings, errp);
}

PinningPlan *pinning_registry_choose(PinningRegistry *reg,
                                     const HostTopology *topo,
                                     const PinningRequest *req,
                                     const char *name, const char *uuid,
                                     GPtrArray *warnings, Error **errp)
{
    PinningTaken *taken = NULL;
    PinningPlan *plan = NULL;
    bool locked;

    if (!reg) {
        return pinning_plan_new(topo, req, NULL, errp);
    }
    if (look(reg, req, &locked, &taken, warnings, errp)) {
        plan = pinning_plan_new(topo, req, taken, errp);
    }
    if (plan && locked &&
        !keep(reg, req, plan, name, uuid, warnings, errp)) {
        qapi_free_PinningPlan(plan);
        plan = NULL;
    }
    if (locked) {
        pinning_registry_unlock(reg);
    }
    qapi_free_PinningTaken(taken);
    return plan;
}
