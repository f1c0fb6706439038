/*
 * Choosing where a virtual machine goes: memory
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "pinning-plan-internal.h"

static void set_reason(PlanUnit *u, char *reason)
{
    g_free(u->memory_reason);
    u->memory_reason = reason;
}

static void leave_alone(PlanUnit *u, const char *why)
{
    u->memory_nodes = cpuset_new();
    u->policy = HOST_MEM_POLICY_DEFAULT;
    set_reason(u, g_strdup_printf("; memory left alone: %s", why));
}

static PlanMemory *memory_of_node(const Planner *p, const PlanUnit *u,
                                  unsigned node)
{
    for (unsigned i = 0; i < p->host.n_memories; i++) {
        PlanMemory *m = plan_memory(p, u, i);

        if (m->node == node) {
            return m;
        }
    }
    return NULL;
}

static uint64_t page_size_of(const Planner *p, const PlanUnit *u)
{
    return p->host.page_sizes[u->page_size];
}

/* Whether @nodes are all that the process could get memory from anyway */
static bool is_everything(const Planner *p, const CpuSet *nodes)
{
    for (unsigned i = 0; i < p->topo->n_nodes; i++) {
        const HostNode *n = &p->topo->nodes[i];

        if (n->memory && cpuset_contains(p->topo->allowed_nodes, n->node) &&
            !cpuset_contains(nodes, n->node)) {
            return false;
        }
    }
    return true;
}

/*
 * Of several host nodes that memory is bound to, a page comes from the one
 * nearest to whoever touches it first.  That is good if it is a vCPU, which
 * most often is the one that goes on using it; interleaved memory would be
 * remote for all but 1/n of what it does.  Memory that QEMU preallocates is
 * touched by nobody who uses it, and would fill one node before the next:
 * that is dealt out, so that all memory controllers share the work.
 */
static HostMemPolicy automatic_policy(const Planner *p, const PlanUnit *u,
                                      unsigned n_nodes)
{
    switch (p->wishes.memory) {
    case PINNING_MEMORY_PREFERRED:
        return HOST_MEM_POLICY_PREFERRED;
    case PINNING_MEMORY_INTERLEAVE:
        return HOST_MEM_POLICY_INTERLEAVE;
    default:
        return n_nodes > 1 && u->prealloc && !p->wishes.memory_given
               ? HOST_MEM_POLICY_INTERLEAVE : HOST_MEM_POLICY_BIND;
    }
}

static char *page_text(const Planner *p, const PlanUnit *u)
{
    g_autofree char *size = NULL;

    if (!page_size_of(p, u)) {
        return g_strdup("memory");
    }
    size = plan_size_text(page_size_of(p, u));
    return g_strdup_printf("%s pages", size);
}

/* Returns: "node 1: needs 6144 MiB of 2 MiB pages, 1024 MiB free (of ...)" */
static char *room_text(const Planner *p, const PlanUnit *u)
{
    g_autofree char *list = plan_list_text(u->memory_nodes);
    g_autofree char *page = page_text(p, u);
    uint64_t free = 0, pool = 0;

    CPUSET_FOREACH(node, u->memory_nodes) {
        const PlanMemory *m = memory_of_node(p, u, node);

        free += m ? m->free : 0;
        pool += m ? m->pool : 0;
    }
    return g_strdup_printf("node%s %s: needs %" PRIu64 " MiB of %s, %" PRIu64
                           " MiB free (of %" PRIu64 ")",
                           cpuset_count(u->memory_nodes) > 1 ? "s" : "",
                           list, u->size / PLAN_MIB, page, free / PLAN_MIB,
                           pool / PLAN_MIB);
}

static uint64_t take(uint64_t *from, uint64_t want)
{
    uint64_t n = MIN(*from, want);

    *from -= n;
    return n;
}

/*
 * Book @u on its host nodes, evenly if @even, else as it comes.
 * Returns: what finds no room in memory that is free, and in @total_lack
 * what finds none even if others gave up theirs
 */
static uint64_t book(Planner *p, const PlanUnit *u, bool even,
                     uint64_t *total_lack)
{
    unsigned n = cpuset_count(u->memory_nodes);
    uint64_t lack = even ? 0 : u->size, total = even ? 0 : u->size;

    CPUSET_FOREACH(node, u->memory_nodes) {
        PlanMemory *m = memory_of_node(p, u, node);
        uint64_t want = even ? u->size / n : lack;

        if (!m || !m->known) {
            lack = total = 0;
            break;
        }
        if (even) {
            lack += want - take(&m->free, want);
            total += want - take(&m->total, want);
        } else {
            lack -= take(&m->free, lack);
            total -= take(&m->total, total);
        }
    }
    *total_lack = total;
    return lack;
}

/*
 * The user has said where.  Pages from a pool either are there or the guest
 * dies; ordinary memory in use may be cache that the kernel gives up.
 */
static bool place_fixed(Planner *p, PlanUnit *u, Error **errp)
{
    ERRP_GUARD();
    g_autofree char *text = NULL;
    uint64_t lack, total;
    bool strict;

    u->memory_nodes = cpuset_copy(u->wish->host_nodes);
    u->policy = u->wish->has_policy ? u->wish->policy
                : p->wishes.memory == PINNING_MEMORY_PREFERRED
                ? HOST_MEM_POLICY_PREFERRED
                : p->wishes.memory == PINNING_MEMORY_INTERLEAVE
                ? HOST_MEM_POLICY_INTERLEAVE : HOST_MEM_POLICY_BIND;
    set_reason(u, g_strdup(p->wishes.mode == PINNING_MODE_NONE
                           ? "; hostnodes as asked for" : ""));
    text = room_text(p, u);
    lack = book(p, u, u->policy == HOST_MEM_POLICY_INTERLEAVE, &total);
    strict = u->policy == HOST_MEM_POLICY_BIND ||
             (u->policy == HOST_MEM_POLICY_INTERLEAVE && page_size_of(p, u));
    if (strict && (total || (lack && page_size_of(p, u)))) {
        error_setg(errp, "Guest node %u on host %s", u->guest_node, text);
        error_append_hint(errp, "Give it other hostnodes, or "
                          "policy=preferred.\n");
        return false;
    }
    if (lack) {
        plan_warn(p, "guest node %u on host %s", u->guest_node, text);
    }
    return true;
}

static CpuSet *nodes_of_places(const Planner *p, const PlanUnit *u)
{
    CpuSet *nodes = cpuset_new();

    for (unsigned i = 0; i < u->n_places; i++) {
        int m = p->host.places[u->places[i]].memory;

        if (m >= 0) {
            cpuset_add(nodes, plan_memory(p, u, m)->node);
        }
    }
    return nodes;
}

/* Memory of places that have none of their own is somewhere else */
static char *detour_text(const Planner *p, const PlanUnit *u)
{
    g_autoptr(GString) text = g_string_new("");

    for (unsigned i = 0; i < u->n_places; i++) {
        const PlanPlace *place = &p->host.places[u->places[i]];
        const PlanMemory *m = place->memory < 0 ? NULL
                              : plan_memory(p, u, place->memory);

        if (m && place->node >= 0 && (int)m->node != place->node) {
            g_string_append_printf(
                text, "; node %d has no memory, node %u is the nearest",
                place->node, m->node);
        }
    }
    return g_strdup(text->str);
}

static void degrade(Planner *p, PlanUnit *u, const char *text)
{
    if (u->policy == HOST_MEM_POLICY_BIND) {
        u->policy = HOST_MEM_POLICY_PREFERRED;
        plan_warn(p, "%s; preferred there instead of bound", text);
    } else {
        plan_warn(p, "%s", text);
    }
}

static const char *why_interleaved(const Planner *p, const PlanUnit *u)
{
    if (u->policy != HOST_MEM_POLICY_INTERLEAVE ||
        cpuset_count(u->memory_nodes) < 2) {
        return "";
    }
    return p->wishes.memory == PINNING_MEMORY_INTERLEAVE ||
           (u->wish && u->wish->has_policy)
           ? "; interleaved as asked for"
           : "; interleaved, as it is preallocated";
}

static void place_automatic(Planner *p, PlanUnit *u)
{
    g_autofree char *detour = detour_text(p, u);
    g_autofree char *text = NULL;
    uint64_t total;
    unsigned n;

    u->memory_nodes = nodes_of_places(p, u);
    n = cpuset_count(u->memory_nodes);
    u->policy = u->wish && u->wish->has_policy ? u->wish->policy
                                               : automatic_policy(p, u, n);
    if (!n || (is_everything(p, u->memory_nodes) &&
               !(n > 1 && u->policy == HOST_MEM_POLICY_INTERLEAVE))) {
        const char *why = n ? "there is no other choice"
                            : "none is near";

        if (!n) {
            plan_warn(p, "no memory of host nodes that may be used is near "
                      "the vCPUs of guest node %u: it is left alone",
                      u->guest_node);
        }
        cpuset_free(u->memory_nodes);
        leave_alone(u, why);
        return;
    }
    text = room_text(p, u);
    set_reason(u, g_strdup_printf("%s%s", detour, why_interleaved(p, u)));
    if (book(p, u, u->policy == HOST_MEM_POLICY_INTERLEAVE, &total)) {
        degrade(p, u, text);
    }
}

static const char *why_alone(const Planner *p, const PlanUnit *u)
{
    if (u->wish && u->wish->foreign) {
        return "its backend has a policy of its own";
    }
    if (u->wish && u->wish->has_policy &&
        u->wish->policy == HOST_MEM_POLICY_DEFAULT) {
        return "policy=default as asked for";
    }
    if (p->wishes.memory == PINNING_MEMORY_NONE) {
        return "pinning-memory=none as asked for";
    }
    return p->wishes.mode == PINNING_MODE_NONE ? "pinning=none"
           : "one-to-one without guest nodes places vCPUs only";
}

/* Those with given host nodes first, so that the others see what is left */
bool plan_place_memory(Planner *p, Error **errp)
{
    for (unsigned i = 0; i < p->n_units; i++) {
        PlanUnit *u = &p->units[i];

        if (u->fixed && !u->wish->foreign && !place_fixed(p, u, errp)) {
            return false;
        }
    }
    for (unsigned i = 0; i < p->n_units; i++) {
        PlanUnit *u = &p->units[i];

        if (u->memory_nodes) {
            continue;
        }
        if (!u->binds || p->wishes.mode == PINNING_MODE_NONE) {
            leave_alone(u, why_alone(p, u));
        } else {
            place_automatic(p, u);
        }
    }
    return true;
}
