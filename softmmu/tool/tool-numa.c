/*
 * qemu-pinning: -numa
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/opts-visitor.h"
#include "qapi/qapi-visit-machine.h"
#include "qemu/option.h"
#include "tool.h"

/* As many as a machine of QEMU can have */
#define MOST_NODES 128

static QemuOptsList numa_opts = {
    .name = "numa",
    .implied_opt_name = "type",
    .head = QTAILQ_HEAD_INITIALIZER(numa_opts.head),
    .desc = { { 0 } }
};

typedef struct Nodes {
    PinningRequest *req;
    int *node_of;           /* by vCPU, -1: not said */
    bool *seen;             /* by guest node */
    bool *sized;            /* by guest node: mem= was given */
} Nodes;

static bool add_vcpus(Nodes *n, const NumaNodeOptions *node, unsigned id,
                      Error **errp)
{
    uint16List *l;

    for (l = node->cpus; l; l = l->next) {
        if (l->value >= n->req->vcpus) {
            error_setg(errp, "Parameter 'numa': cpus=%u of guest node %u is "
                       "beyond the %u vCPUs", l->value, id, n->req->vcpus);
            return false;
        }
        n->node_of[l->value] = id;
    }
    return true;
}

static bool add_node(Nodes *n, const NumaNodeOptions *node, Error **errp)
{
    PinningRequest *req = n->req;
    unsigned id = node->has_nodeid ? node->nodeid : req->n_nodes;
    PinningGuestNode *to;
    uint16List *l;

    if (id >= MOST_NODES || n->seen[id]) {
        error_setg(errp, id < MOST_NODES
                   ? "Parameter 'numa': guest node %u is given twice"
                   : "Parameter 'numa': guest node %u is beyond 127", id);
        return false;
    }
    to = &req->nodes[id];
    n->seen[id] = true;
    req->n_nodes++;
    to->vcpus = cpuset_new();
    to->page_size = req->page_size;
    to->prealloc = req->prealloc;
    to->size = node->has_mem ? node->mem : 0;
    n->sized[id] = node->has_mem;
    to->has_policy = node->has_policy;
    to->policy = node->policy;
    if (node->has_hostnodes) {
        to->host_nodes = cpuset_new();
        for (l = node->hostnodes; l; l = l->next) {
            cpuset_add(to->host_nodes, l->value);
        }
    }
    return add_vcpus(n, node, id, errp);
}

/* vCPU numbers count threads first, then cores, and so on */
static bool is_there(const PinningRequest *req, unsigned vcpu,
                     const NumaCpuOptions *cpu)
{
    unsigned core = vcpu / req->threads;
    unsigned cluster = core / req->cores;
    unsigned die = cluster / req->clusters;

    return (!cpu->has_thread_id || cpu->thread_id == vcpu % req->threads) &&
           (!cpu->has_core_id || cpu->core_id == core % req->cores) &&
           (!cpu->has_cluster_id ||
            cpu->cluster_id == cluster % req->clusters) &&
           (!cpu->has_module_id ||
            cpu->module_id == cluster % req->clusters) &&
           (!cpu->has_die_id || cpu->die_id == die % req->dies) &&
           (!cpu->has_socket_id || cpu->socket_id == die / req->dies);
}

static void add_cpu(Nodes *n, const NumaCpuOptions *cpu)
{
    for (unsigned v = 0; v < n->req->vcpus; v++) {
        if (cpu->has_node_id && is_there(n->req, v, cpu)) {
            n->node_of[v] = cpu->node_id;
        }
    }
}

/* Distances of the guest's nodes mean nothing to the host, so they pass */
static bool add_option(Nodes *n, const char *text, Error **errp)
{
    QemuOpts *opts = qemu_opts_parse(&numa_opts, text, true, errp);
    g_autoptr(NumaOptions) numa = NULL;
    Visitor *v;
    bool ok;

    if (!opts) {
        return false;
    }
    v = opts_visitor_new(opts);
    ok = visit_type_NumaOptions(v, NULL, &numa, errp);
    visit_free(v);
    qemu_opts_del(opts);
    if (ok && numa->type == NUMA_OPTIONS_TYPE_NODE) {
        return add_node(n, &numa->u.node, errp);
    }
    if (ok && numa->type == NUMA_OPTIONS_TYPE_CPU) {
        add_cpu(n, &numa->u.cpu);
    }
    return ok;
}

/*
 * vCPUs that nobody names: all sockets in turn if none is named, as boards
 * do, else the first guest node.
 */
static bool deal_vcpus(Nodes *n, Error **errp)
{
    PinningRequest *req = n->req;
    bool any = false;

    for (unsigned v = 0; v < req->vcpus; v++) {
        any |= n->node_of[v] >= 0;
    }
    for (unsigned v = 0; v < req->vcpus; v++) {
        unsigned socket = v / (req->vcpus / req->sockets);
        unsigned id = n->node_of[v] >= 0 ? n->node_of[v]
                      : any ? 0 : socket % req->n_nodes;

        if (id >= req->n_nodes) {
            error_setg(errp, "Parameter 'numa': there is no guest node %u",
                       id);
            return false;
        }
        cpuset_add(req->nodes[id].vcpus, v);
    }
    return true;
}

/* Memory goes with the vCPUs where no size is given */
static void deal_memory(Nodes *n)
{
    PinningRequest *req = n->req;
    uint64_t left = req->memory;
    unsigned vcpus = 0;

    for (unsigned i = 0; i < req->n_nodes; i++) {
        left -= MIN(left, req->nodes[i].size);
        vcpus += n->sized[i] ? 0 : cpuset_count(req->nodes[i].vcpus);
    }
    for (unsigned i = 0; i < req->n_nodes; i++) {
        PinningGuestNode *node = &req->nodes[i];
        unsigned own = cpuset_count(node->vcpus);

        if (!n->sized[i] && own) {
            node->size = muldiv64(left, own, vcpus);
            left -= node->size;
            vcpus -= own;
        }
    }
}

static bool parse(Nodes *n, const GPtrArray *texts, Error **errp)
{
    for (unsigned i = 0; i < texts->len; i++) {
        if (!add_option(n, texts->pdata[i], errp)) {
            return false;
        }
    }
    for (unsigned i = 0; i < n->req->n_nodes; i++) {
        if (!n->seen[i]) {
            error_setg(errp, "Parameter 'numa': guest node %u is missing", i);
            return false;
        }
    }
    if (n->req->n_nodes && !deal_vcpus(n, errp)) {
        return false;
    }
    deal_memory(n);
    return true;
}

bool tool_numa_parse(PinningRequest *req, const GPtrArray *texts,
                     Error **errp)
{
    Nodes n = {
        .req = req,
        .node_of = g_new(int, req->vcpus),
        .seen = g_new0(bool, MOST_NODES),
        .sized = g_new0(bool, MOST_NODES),
    };
    bool ok;

    memset(n.node_of, -1, req->vcpus * sizeof(int));
    req->nodes = g_new0(PinningGuestNode, MOST_NODES);
    ok = parse(&n, texts, errp);
    if (!ok) {
        /* numbers may have gaps: clean up all there can be */
        req->n_nodes = MOST_NODES;
    }
    g_free(n.node_of);
    g_free(n.seen);
    g_free(n.sized);
    return ok;
}
