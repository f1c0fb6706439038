/*
 * The guest nodes of a machine, before and after QEMU itself knows them
 *
 * The plan is needed when memory backends are created, which is before QEMU
 * looks at -numa.  So the options are visited once more, here, with QEMU's
 * own visitor.  What is wrong with them is QEMU's to say, later: here it is
 * left out.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/clone-visitor.h"
#include "qapi/error.h"
#include "qapi/opts-visitor.h"
#include "qapi/qapi-visit-machine.h"
#include "qemu/config-file.h"
#include "qemu/option.h"
#include "system/numa.h"
#include "system/pinning.h"
#include "pinning-backends.h"
#include "pinning-internal.h"
#include "pinning-parts.h"

typedef struct GuestNodes {
    const CpuTopology *smp;
    NumaNodeOptions *node[MAX_NODES];   /* by number, NULL: not there */
    NumaOptions *all[MAX_NODES];        /* their owners */
    unsigned n_nodes;
    bool sized;                         /* some have mem= or memdev= */
    int *node_of;                       /* by vCPU, -1: not said */
} GuestNodes;

/* vCPU numbers count threads first, then cores, and so on */
static bool cpu_matches(const CpuTopology *smp, unsigned vcpu,
                        const NumaCpuOptions *cpu)
{
    unsigned module = smp->cores * smp->threads;
    unsigned cluster = module * smp->modules;
    unsigned die = cluster * smp->clusters;
    unsigned socket = die * smp->dies;

    return (!cpu->has_socket_id || cpu->socket_id == vcpu / socket) &&
           (!cpu->has_die_id || cpu->die_id == vcpu / die % smp->dies) &&
           (!cpu->has_cluster_id ||
            cpu->cluster_id == vcpu / cluster % smp->clusters) &&
           (!cpu->has_module_id ||
            cpu->module_id == vcpu / module % smp->modules) &&
           (!cpu->has_core_id ||
            cpu->core_id == vcpu / smp->threads % smp->cores) &&
           (!cpu->has_thread_id || cpu->thread_id == vcpu % smp->threads);
}

static void visit_node(GuestNodes *nodes, NumaOptions *object)
{
    NumaNodeOptions *node = &object->u.node;
    unsigned id = node->has_nodeid ? node->nodeid : nodes->n_nodes;
    uint16List *cpu;

    if (id >= MAX_NODES || nodes->node[id]) {
        qapi_free_NumaOptions(object);
        return;
    }
    nodes->node[id] = node;
    nodes->all[id] = object;
    nodes->n_nodes++;
    nodes->sized |= node->has_mem || node->memdev;
    for (cpu = node->cpus; cpu; cpu = cpu->next) {
        if (cpu->value < nodes->smp->max_cpus) {
            nodes->node_of[cpu->value] = id;
        }
    }
}

static void visit_cpu(GuestNodes *nodes, const NumaCpuOptions *cpu)
{
    unsigned vcpu;

    for (vcpu = 0; vcpu < nodes->smp->max_cpus; vcpu++) {
        if (cpu->has_node_id && cpu_matches(nodes->smp, vcpu, cpu)) {
            nodes->node_of[vcpu] = cpu->node_id;
        }
    }
}

static int visit_numa(void *opaque, QemuOpts *opts, Error **errp)
{
    Visitor *v = opts_visitor_new(opts);
    NumaOptions *object = NULL;

    if (visit_type_NumaOptions(v, NULL, &object, NULL)) {
        if (object->type == NUMA_OPTIONS_TYPE_NODE) {
            visit_node(opaque, g_steal_pointer(&object));
        } else if (object->type == NUMA_OPTIONS_TYPE_CPU) {
            visit_cpu(opaque, &object->u.cpu);
        }
        qapi_free_NumaOptions(object);
    }
    visit_free(v);
    return 0;
}

/*
 * vCPUs that no option names: if none is named the board deals out whole
 * sockets, else QEMU puts them on node 0.
 */
static void assign_rest(const CpuTopology *smp, int *node_of,
                        unsigned n_nodes)
{
    unsigned per_socket = smp->max_cpus /
                          (smp->drawers * smp->books * smp->sockets);
    bool any = false;
    unsigned vcpu;

    for (vcpu = 0; vcpu < smp->max_cpus; vcpu++) {
        any |= node_of[vcpu] >= 0;
    }
    for (vcpu = 0; vcpu < smp->max_cpus; vcpu++) {
        if (node_of[vcpu] < 0 || node_of[vcpu] >= n_nodes) {
            node_of[vcpu] = any ? 0 : vcpu / per_socket % n_nodes;
        }
    }
}

/*
 * hostnodes= and a policy on the memory backend are two wishes for the same
 * memory.  Alike they do no harm.
 */
static bool check_conflict(const PinningGuestNode *node, unsigned id,
                           const PinningBackend *backend, Error **errp)
{
    ERRP_GUARD();
    g_autofree char *ours = NULL;
    g_autofree char *theirs = NULL;

    if (!node->host_nodes || !backend || !backend->host_nodes) {
        return true;
    }
    ours = cpulist_format(node->host_nodes);
    theirs = cpulist_format(backend->host_nodes);
    if (!cpuset_equal(node->host_nodes, backend->host_nodes)) {
        error_setg(errp, "Guest node %u has hostnodes=%s, but its memory"
                   " backend '%s' has host-nodes=%s", id, ours, backend->id,
                   theirs);
    } else if (node->has_policy && node->policy != backend->policy) {
        error_setg(errp, "Guest node %u has policy=%s, but its memory"
                   " backend '%s' has policy=%s", id,
                   HostMemPolicy_str(node->policy), backend->id,
                   HostMemPolicy_str(backend->policy));
    } else {
        return true;
    }
    error_append_hint(errp, "Give one of them only.\n");
    return false;
}

/* Without a mode nothing is chosen that a policy could be for */
static bool check_policy(const PinningRequest *req, unsigned id, Error **errp)
{
    ERRP_GUARD();
    const PinningGuestNode *node = &req->nodes[id];

    if (req->options->mode != PINNING_MODE_NONE || !node->has_policy ||
        node->host_nodes) {
        return true;
    }
    error_setg(errp, "Guest node %u has policy=%s, but no hostnodes", id,
               HostMemPolicy_str(node->policy));
    error_append_hint(errp, "Give it hostnodes=LIST, or the accelerator a"
                      " mode: pinning=numa, for instance.\n");
    return false;
}

static void fill_wish(PinningGuestNode *to, const NumaNodeOptions *from)
{
    uint16List *host_node;

    to->has_policy = from->has_policy;
    to->policy = from->policy;
    if (from->has_hostnodes) {
        to->host_nodes = cpuset_new();
        for (host_node = from->hostnodes; host_node;
             host_node = host_node->next) {
            cpuset_add(to->host_nodes, host_node->value);
        }
    }
}

static bool fill_backend(PinningGuestNode *to, unsigned id, const char *memdev,
                         Error **errp)
{
    const PinningBackend *backend = memdev ? pinning_backend_find(memdev) :
                                    NULL;

    to->memdev = g_strdup(memdev);
    if (!check_conflict(to, id, backend, errp)) {
        return false;
    }
    if (backend) {
        to->size = backend->size;
        to->page_size = pinning_backend_page_size(backend);
        to->prealloc = pinning_backend_prealloc(backend);
        to->foreign = backend->has_policy;
        if (!to->host_nodes && backend->host_nodes) {
            to->host_nodes = cpuset_copy(backend->host_nodes);
        }
    }
    return true;
}

/* Numbers with gaps are an error that QEMU reports: nothing to plan then */
static bool is_dense(const GuestNodes *nodes)
{
    unsigned id;

    for (id = 0; id < nodes->n_nodes; id++) {
        if (!nodes->node[id]) {
            return false;
        }
    }
    return nodes->n_nodes > 0;
}

static void deal_out_vcpus(PinningRequest *req, const CpuTopology *smp,
                           int *node_of)
{
    unsigned id, vcpu;

    assign_rest(smp, node_of, req->n_nodes);
    for (id = 0; id < req->n_nodes; id++) {
        req->nodes[id].vcpus = cpuset_new();
    }
    for (vcpu = 0; vcpu < smp->max_cpus; vcpu++) {
        cpuset_add(req->nodes[node_of[vcpu]].vcpus, vcpu);
    }
}

static int *new_node_of(const CpuTopology *smp)
{
    int *node_of = g_new(int, smp->max_cpus);

    memset(node_of, -1, smp->max_cpus * sizeof(int));
    return node_of;
}

bool pinning_config_nodes(PinningRequest *req, MachineState *ms, Error **errp)
{
    g_autofree int *node_of = new_node_of(&ms->smp);
    GuestNodes nodes = { .smp = &ms->smp, .node_of = node_of };
    uint64_t share;
    bool ok = true;
    unsigned id;

    qemu_opts_foreach(qemu_find_opts("numa"), visit_numa, &nodes, NULL);
    if (is_dense(&nodes)) {
        /* Of nodes that say how much memory they have, the others have none */
        share = nodes.sized ? 0 : req->memory / nodes.n_nodes;
        req->n_nodes = nodes.n_nodes;
        req->nodes = g_new0(PinningGuestNode, req->n_nodes);
        for (id = 0; id < req->n_nodes && ok; id++) {
            const NumaNodeOptions *node = nodes.node[id];

            req->nodes[id].size = node->has_mem ? node->mem : share;
            req->nodes[id].page_size = req->page_size;
            req->nodes[id].prealloc = req->prealloc;
            fill_wish(&req->nodes[id], node);
            ok = fill_backend(&req->nodes[id], id, node->memdev, errp) &&
                 check_policy(req, id, errp);
        }
        deal_out_vcpus(req, &ms->smp, node_of);
    }
    for (id = 0; id < MAX_NODES; id++) {
        qapi_free_NumaOptions(nodes.all[id]);
    }
    return ok;
}

/* What -numa or set-numa-node said of host nodes, by guest node */
static NumaNodeOptions *wishes[MAX_NODES];

void pinning_numa_node(uint16_t guest_node, const NumaNodeOptions *node)
{
    if (node->has_hostnodes || node->has_policy) {
        wishes[guest_node] = QAPI_CLONE(NumaNodeOptions, node);
    }
}

/* The backend is there: ask itself, not the command line */
static bool fill_final(PinningGuestNode *to, unsigned id,
                       HostMemoryBackend *backend, Error **errp)
{
    const char *memdev = backend ? object_get_canonical_path_component(
                                       OBJECT(backend)) : NULL;
    uint64_t size = to->size;
    size_t page_size;

    if (!fill_backend(to, id, memdev, errp)) {
        return false;
    }
    if (backend) {
        page_size = host_memory_backend_pagesize(backend);
        to->size = size;
        to->page_size = page_size > qemu_real_host_page_size() ? page_size : 0;
        to->prealloc = backend->prealloc;
        to->foreign |= pinning_backend_is_foreign(backend);
    }
    return true;
}

bool pinning_config_final_nodes(PinningRequest *req, MachineState *ms,
                                Error **errp)
{
    MachineClass *mc = MACHINE_GET_CLASS(ms);
    g_autofree int *node_of = new_node_of(&ms->smp);
    unsigned id, vcpu;

    if (!ms->numa_state->num_nodes) {
        return true;
    }
    for (vcpu = 0; vcpu < ms->smp.max_cpus; vcpu++) {
        CpuInstanceProperties props = mc->cpu_index_to_instance_props(ms,
                                                                      vcpu);

        node_of[vcpu] = props.has_node_id ? props.node_id : -1;
    }
    req->n_nodes = ms->numa_state->num_nodes;
    req->nodes = g_new0(PinningGuestNode, req->n_nodes);
    for (id = 0; id < req->n_nodes; id++) {
        NodeInfo *node = &ms->numa_state->nodes[id];

        req->nodes[id].size = node->node_mem;
        req->nodes[id].page_size = req->page_size;
        req->nodes[id].prealloc = req->prealloc;
        if (wishes[id]) {
            fill_wish(&req->nodes[id], wishes[id]);
        }
        if (!fill_final(&req->nodes[id], id, node->node_memdev, errp) ||
            !check_policy(req, id, errp)) {
            return false;
        }
    }
    deal_out_vcpus(req, &ms->smp, node_of);
    return true;
}

bool pinning_config_same_nodes(const PinningRequest *a,
                               const PinningRequest *b)
{
    unsigned id;

    for (id = 0; id < a->n_nodes && a->n_nodes == b->n_nodes; id++) {
        const PinningGuestNode *one = &a->nodes[id], *other = &b->nodes[id];

        if (g_strcmp0(one->memdev, other->memdev) ||
            one->size != other->size ||
            one->page_size != other->page_size ||
            one->prealloc != other->prealloc ||
            one->has_policy != other->has_policy ||
            one->policy != other->policy ||
            one->foreign != other->foreign ||
            !cpuset_equal(one->vcpus, other->vcpus) ||
            !one->host_nodes != !other->host_nodes ||
            (one->host_nodes &&
             !cpuset_equal(one->host_nodes, other->host_nodes))) {
            return false;
        }
    }
    return a->n_nodes == b->n_nodes;
}

void pinning_config_ram(PinningRequest *req, const char *ram_id)
{
    const PinningBackend *backend = ram_id ? pinning_backend_find(ram_id) :
                                    NULL;

    req->prealloc = pinning_backend_prealloc(backend);
    if (!backend) {
        return;
    }
    req->memory = backend->size;
    req->page_size = pinning_backend_page_size(backend);
    if (backend->has_policy) {
        req->ram = g_new0(PinningGuestNode, 1);
        req->ram->memdev = g_strdup(ram_id);
        req->ram->foreign = true;
        req->ram->host_nodes = backend->host_nodes ?
                               cpuset_copy(backend->host_nodes) : NULL;
    }
}

static CpuSet *host_nodes_of(HostMemoryBackend *backend)
{
    CpuSet *host_nodes = cpuset_new();
    unsigned node = find_first_bit(backend->host_nodes, MAX_NODES);

    while (node < MAX_NODES) {
        cpuset_add(host_nodes, node);
        node = find_next_bit(backend->host_nodes, MAX_NODES, node + 1);
    }
    return host_nodes;
}

void pinning_config_running_ram(PinningRequest *req, HostMemoryBackend *ram)
{
    size_t page_size;

    if (!ram) {
        return;
    }
    page_size = host_memory_backend_pagesize(ram);
    req->page_size = page_size > qemu_real_host_page_size() ? page_size : 0;
    req->prealloc = ram->prealloc;
    if (pinning_backend_is_foreign(ram)) {
        req->ram = g_new0(PinningGuestNode, 1);
        req->ram->memdev = g_strdup(pinning_backend_id(ram));
        req->ram->foreign = true;
        req->ram->host_nodes = host_nodes_of(ram);
    }
}

static int has_wish(void *opaque, QemuOpts *opts, Error **errp)
{
    return qemu_opt_get(opts, "hostnodes") || qemu_opt_get(opts, "policy");
}

bool pinning_config_wants_memory(void)
{
    unsigned id;

    for (id = 0; id < MAX_NODES; id++) {
        if (wishes[id]) {
            return true;        /* from set-numa-node */
        }
    }
    return qemu_opts_foreach(qemu_find_opts("numa"), has_wish, NULL, NULL);
}
