/*
 * Choosing where a virtual machine goes: what is placed
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "pinning-plan-internal.h"

/* Guest nodes begin at multiples of this, which every board accepts */
#define NODE_ALIGNMENT (8 * MiB)

unsigned plan_vcpu_threads(const Planner *p)
{
    return p->req->one_thread ? 1 : p->req->vcpus;
}

static unsigned socket_vcpus(const PinningRequest *req)
{
    return req->vcpus / MAX(req->sockets, 1);
}

static bool binds(const Planner *p, const PinningGuestNode *wish)
{
    if (p->wishes.memory == PINNING_MEMORY_NONE) {
        return wish && wish->host_nodes && !wish->foreign;
    }
    if (!wish) {
        return p->guest_nodes || p->wishes.mode != PINNING_MODE_ONE_TO_ONE;
    }
    return !wish->foreign &&
           !(wish->has_policy && wish->policy == HOST_MEM_POLICY_DEFAULT);
}

static void make_guest_nodes(Planner *p)
{
    const PinningRequest *req = p->req;
    g_autoptr(CpuSet) named = cpuset_new();

    p->guest_nodes = true;
    p->n_units = req->n_nodes;
    p->units = g_new0(PlanUnit, p->n_units);
    for (unsigned i = 0; i < p->n_units; i++) {
        const PinningGuestNode *wish = &req->nodes[i];
        PlanUnit *u = &p->units[i];

        u->guest_node = i;
        u->wish = wish;
        u->size = wish->size;
        u->page_size = plan_page_size_index(p, wish->page_size);
        u->prealloc = wish->prealloc;
        u->fixed = wish->host_nodes && !cpuset_is_empty(wish->host_nodes);
        u->binds = binds(p, wish);
        u->vcpus = wish->vcpus ? cpuset_copy(wish->vcpus) : cpuset_new();
        cpuset_andnot(u->vcpus, named);
        cpuset_or(named, u->vcpus);
    }
    /* vCPUs that no guest node names belong to the first one */
    for (unsigned v = 0; v < req->vcpus; v++) {
        if (!cpuset_contains(named, v)) {
            cpuset_add(p->units[0].vcpus, v);
        }
    }
}

static void make_machine(Planner *p)
{
    const PinningGuestNode *wish = p->req->ram;
    PlanUnit *u;

    p->n_units = 1;
    u = p->units = g_new0(PlanUnit, 1);
    u->vcpus = cpuset_new_range(0, p->req->vcpus - 1);
    u->size = p->req->memory;
    u->prealloc = p->req->prealloc;
    u->wish = wish;
    u->fixed = wish && wish->host_nodes && !cpuset_is_empty(wish->host_nodes);
    u->binds = binds(p, wish);
}

/*
 * One guest node for each socket, or for several sockets in a row where
 * there are fewer host nodes.  Memory goes with the vCPUs; what does not
 * divide evenly goes to the last one.
 */
static void make_socket_nodes(Planner *p, unsigned n)
{
    const PinningRequest *req = p->req;
    uint64_t align = MAX(NODE_ALIGNMENT, req->page_size), left = req->memory;
    unsigned sockets = req->sockets;

    p->guest_nodes = true;
    p->n_units = n;
    p->units = g_new0(PlanUnit, n);
    for (unsigned i = 0; i < n; i++) {
        PlanUnit *u = &p->units[i];
        unsigned first = DIV_ROUND_UP(sockets * i, n);
        unsigned end = DIV_ROUND_UP(sockets * (i + 1), n);
        unsigned vcpus = (end - first) * socket_vcpus(req);

        u->guest_node = i;
        u->vcpus = cpuset_new_range(first * socket_vcpus(req),
                                    end * socket_vcpus(req) - 1);
        u->size = i + 1 == n ? left
                  : ROUND_DOWN(muldiv64(req->memory, vcpus, req->vcpus),
                               align);
        u->prealloc = req->prealloc;
        u->binds = binds(p, NULL);
        left -= u->size;
    }
}

static unsigned most_socket_nodes(const Planner *p)
{
    uint64_t align = MAX(NODE_ALIGNMENT, p->req->page_size);
    unsigned n = MIN(p->req->sockets, p->host.n_places);

    return MAX(1, MIN(n, p->req->memory / align));
}

/*
 * With pinning-vnuma, balanced first finds out how many host nodes it needs:
 * a machine that fits one host node is not cut.
 */
bool plan_cut_machine(Planner *p)
{
    unsigned n = MIN(most_socket_nodes(p), p->units[0].n_places);

    if (!p->wishes.vnuma || p->req->n_nodes || p->req->ram ||
        p->req->one_thread || n < 2 ||
        p->wishes.mode != PINNING_MODE_BALANCED) {
        return false;
    }
    plan_units_clear(p);
    make_socket_nodes(p, n);
    plan_count_chunks(p);
    return true;
}

static bool refuse_node(const PlanUnit *u, unsigned host_node,
                        const char *why, const CpuSet *good, Error **errp)
{
    ERRP_GUARD();
    g_autofree char *nodes = plan_list_text(u->wish->host_nodes);
    g_autofree char *allowed = plan_list_text(good);

    if (u->wish->foreign) {
        error_setg(errp, "Parameter 'host-nodes' of memory backend '%s' is "
                   "%s, but host node %u %s", u->wish->memdev, nodes,
                   host_node, why);
    } else {
        error_setg(errp, "Parameter 'hostnodes' of guest node %u is %s, but "
                   "host node %u %s", u->guest_node, nodes, host_node, why);
    }
    error_append_hint(errp, "Host nodes with memory for this machine: %s.\n",
                      *allowed ? allowed : "none");
    return false;
}

static CpuSet *memory_nodes(const Planner *p)
{
    CpuSet *good = cpuset_new();

    for (unsigned i = 0; i < p->topo->n_nodes; i++) {
        const HostNode *n = &p->topo->nodes[i];

        if (n->memory && cpuset_contains(p->topo->allowed_nodes, n->node) &&
            (!p->wishes.hostnodes ||
             cpuset_contains(p->wishes.hostnodes, n->node))) {
            cpuset_add(good, n->node);
        }
    }
    return good;
}

static bool check_host_nodes(const Planner *p, const PlanUnit *u,
                             Error **errp)
{
    g_autoptr(CpuSet) good = memory_nodes(p);

    CPUSET_FOREACH(node, u->wish->host_nodes) {
        const HostNode *n = host_topology_node(p->topo, node);

        if (!n) {
            return refuse_node(u, node, "does not exist", good, errp);
        }
        if (u->wish->foreign) {
            continue;
        }
        /* Mems_allowed has nodes with memory only */
        if (!n->memory) {
            return refuse_node(u, node, "has no memory", good, errp);
        }
        if (!cpuset_contains(p->topo->allowed_nodes, node)) {
            return refuse_node(u, node, "is not among the memory nodes "
                               "(Mems_allowed) of this process", good, errp);
        }
        if (!cpuset_contains(good, node)) {
            return refuse_node(u, node, "is not one of pinning-hostnodes",
                               good, errp);
        }
    }
    return true;
}

static bool check_wishes(const Planner *p, Error **errp)
{
    ERRP_GUARD();

    for (unsigned i = 0; i < p->n_units; i++) {
        const PlanUnit *u = &p->units[i];

        if (!u->fixed) {
            continue;
        }
        if (!check_host_nodes(p, u, errp)) {
            return false;
        }
        if (!u->wish->foreign && u->wish->has_policy &&
            u->wish->policy == HOST_MEM_POLICY_DEFAULT) {
            error_setg(errp, "Parameter 'policy' of guest node %u is "
                       "'default', which takes no hostnodes", u->guest_node);
            error_append_hint(errp, "Use policy=bind, preferred or "
                              "interleave.\n");
            return false;
        }
    }
    return true;
}

bool plan_make_units(Planner *p, Error **errp)
{
    const PlanWishes *w = &p->wishes;
    /* Memory that has a place already is not dealt out */
    bool cut = w->vnuma && !p->req->one_thread && !p->req->ram &&
               w->mode != PINNING_MODE_NONE &&
               w->mode != PINNING_MODE_BALANCED;

    if (p->req->n_nodes) {
        make_guest_nodes(p);
    } else if (cut) {
        make_socket_nodes(p, most_socket_nodes(p));
    } else {
        make_machine(p);
    }
    plan_count_chunks(p);
    return check_wishes(p, errp);
}

void plan_units_clear(Planner *p)
{
    for (unsigned i = 0; i < p->n_units; i++) {
        PlanUnit *u = &p->units[i];

        cpuset_free(u->vcpus);
        cpuset_free(u->memory_nodes);
        g_free(u->places);
        g_free(u->reason);
        g_free(u->memory_reason);
    }
    g_free(p->units);
    p->units = NULL;
    p->n_units = 0;
}
