/*
 * Putting guest memory where the plan wants it
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sys/vfs.h>
#include <linux/magic.h>
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/units.h"
#include "exec/cpu-common.h"
#include "system/pinning-qemu.h"
#include "hw/core/numa-hostnodes.h"
#include "migration/cpr.h"
#include "system/numa.h"
#include "pinning-memory.h"
#include "pinning-parts.h"
#include "pinning-plug.h"
#include "pinning-prealloc.h"
#include "trace.h"

const PinningNodePlan *pinning_memory_node(const PinningPlan *plan,
                                           uint32_t guest_node)
{
    PinningNodePlanList *entry;

    for (entry = plan->nodes; entry; entry = entry->next) {
        if (entry->value->guest_node == guest_node) {
            return entry->value;
        }
    }
    return NULL;
}

/* Empty: its memory is left alone */
static CpuSet *host_nodes_of(const PinningNodePlan *node)
{
    return *node->host_nodes ? cpulist_parse(node->host_nodes, &error_abort)
                             : cpuset_new();
}

bool pinning_placed_part_next(const PinningPlan *plan, unsigned *i,
                              PinningPlacedPart *placed)
{
    PinningPart *part;

    while ((part = pinning_part_at((*i)++))) {
        placed->part = part;
        placed->backend = pinning_part_backend(part);
        placed->node = pinning_memory_node(plan, part->guest_node);
        if (placed->backend && placed->node) {
            return true;
        }
    }
    return false;
}

static bool is_explicit(const PinningRequest *req, uint32_t guest_node)
{
    return guest_node < req->n_nodes && req->nodes[guest_node].host_nodes;
}

/* What the host does not do is an error if it was asked for by name */
static bool refused(const PinningRequest *req, const PinningNodePlan *node,
                    int err, unsigned how, Error **errp)
{
    ERRP_GUARD();
    static bool warned;

    error_setg_errno(errp, -err, "Memory of guest node %" PRIu32 " cannot be"
                     " bound to host nodes %s", node->guest_node,
                     node->host_nodes);
    if (err == -EINVAL) {
        error_append_hint(errp, "Some of them have no memory, or this process"
                          " may not use them.\n");
    }
    if (how & PINNING_MEMORY_STRICT ||
        (is_explicit(req, node->guest_node) && err != -EIO)) {
        return false;
    }
    if (!warned) {
        warned = true;
        warn_report("pinning: %s; it is left where it is first touched",
                    error_get_pretty(*errp));
    }
    error_free(*errp);
    *errp = NULL;
    return true;
}

/*
 * Pages of a file of a disk filesystem belong to the page cache, which knows
 * no policy of whoever maps them.
 */
static bool is_page_cache(HostMemoryBackend *backend)
{
    int fd = memory_region_get_fd(&backend->mr);
    struct statfs fs;

    return backend->share && fd >= 0 && fstatfs(fd, &fs) == 0 &&
           fs.f_type != TMPFS_MAGIC && fs.f_type != HUGETLBFS_MAGIC;
}

/* CPR hands over memory that another QEMU has used, and maps until now */
static bool is_handed_over(void)
{
    static bool said;

    if (!cpr_is_incoming()) {
        return false;
    }
    if (!said) {
        said = true;
        info_report("pinning: memory that comes with CPR is left where it"
                    " is");
    }
    return true;
}

/* A policy that an earlier plan has set goes away with that plan */
static bool unbind(const PinningNodePlan *node, HostMemoryBackend *backend,
                   uint64_t offset, uint64_t size, Error **errp)
{
    char *ptr = memory_region_get_ram_ptr(&backend->mr);
    int ret = 0;

    if (pinning_backend_is_bound(backend)) {
        ret = numa_hostnodes_bind(ptr + offset, size, HOST_MEM_POLICY_DEFAULT,
                                  NULL, false);
    }
    if (ret < 0) {
        error_setg_errno(errp, -ret, "The policy of guest node %" PRIu32
                         "'s memory cannot be taken away", node->guest_node);
    }
    return ret == 0;
}

static bool bind_part(const PinningRequest *req, const PinningNodePlan *node,
                      HostMemoryBackend *backend, uint64_t offset,
                      uint64_t size, unsigned how, Error **errp)
{
    char *ptr = memory_region_get_ram_ptr(&backend->mr);
    g_autoptr(CpuSet) host_nodes = NULL;
    int ret;

    pinning_part_add(backend, node->guest_node, offset, size);
    if (!size || pinning_backend_is_foreign(backend) || is_handed_over()) {
        return true;
    }
    if (!*node->host_nodes) {
        return unbind(node, backend, offset, size, errp);
    }
    if (is_page_cache(backend)) {
        warn_report("pinning: memory backend '%s' is a file on a disk, whose"
                    " pages lie where the host first read them",
                    pinning_backend_id(backend));
    }
    host_nodes = host_nodes_of(node);
    ret = numa_hostnodes_bind(ptr + offset, size, node->policy, host_nodes,
                              how & PINNING_MEMORY_MOVE);
    trace_pinning_bind_node(node->guest_node, offset, size,
                            HostMemPolicy_str(node->policy),
                            node->host_nodes, ret);
    if (ret < 0) {
        return refused(req, node, ret, how, errp);
    }
    pinning_backend_set_bound(backend);
    return true;
}

static bool bind_whole(const PinningRequest *req, const PinningNodePlan *node,
                       HostMemoryBackend *backend, unsigned how, Error **errp)
{
    return bind_part(req, node, backend, 0, memory_region_size(&backend->mr),
                     how, errp);
}

/*
 * RAM of several guest nodes in one piece: it is dealt out in node order.
 * A page that two of them share, which the kernel does not cut, is the
 * latter's.
 */
static bool bind_ranges(const PinningPlan *plan, const PinningRequest *req,
                        HostMemoryBackend *backend, unsigned how, Error **errp)
{
    uint64_t page_size = qemu_ram_pagesize(backend->mr.ram_block);
    uint64_t total = memory_region_size(&backend->mr);
    uint64_t sum = 0, begin = 0, end;
    PinningNodePlanList *entry;

    for (entry = plan->nodes; entry; entry = entry->next) {
        sum += entry->value->size;
        end = entry->next ? MIN(QEMU_ALIGN_DOWN(sum, page_size), total)
                          : total;
        if (!bind_part(req, entry->value, backend, begin, end - begin, how,
                       errp)) {
            return false;
        }
        begin = end;
    }
    return true;
}

/* Beside each part, and only where a policy was taken */
static bool preallocate(const PinningState *state, HostMemoryBackend *backend,
                        Error **errp)
{
    uint64_t total = memory_region_size(&backend->mr);
    PinningPart *part;
    bool wait = false;
    unsigned i;

    if (!backend->prealloc || !pinning_backend_is_bound(backend)) {
        return true;
    }
    for (i = 0; (part = pinning_part_at(i)); i++) {
        const PinningNodePlan *node = pinning_memory_node(state->plan,
                                                          part->guest_node);
        g_autoptr(CpuSet) host_nodes = NULL;

        if (!node || !*node->host_nodes ||
            !g_str_equal(part->backend_id, pinning_backend_id(backend))) {
            continue;
        }
        host_nodes = host_nodes_of(node);
        if (part->size == total && !phase_check(PHASE_LATE_BACKENDS_CREATED)) {
            pinning_prealloc_place(state, backend, host_nodes);
        } else {
            pinning_prealloc_range(state, backend, part->offset, part->size,
                                   host_nodes);
            wait = true;
        }
    }
    return !wait || pinning_prealloc_wait(errp);
}

/* The guest node whose only memory @backend is, NULL if there is none */
static const PinningNodePlan *owner_of(const PinningPlan *plan,
                                       const PinningRequest *req,
                                       HostMemoryBackend *backend,
                                       bool machine_ram, bool *plugged)
{
    const char *id = pinning_backend_id(backend);
    uint32_t guest_node;
    unsigned i;

    for (i = 0; i < req->n_nodes; i++) {
        if (g_strcmp0(req->nodes[i].memdev, id) == 0) {
            return pinning_memory_node(plan, i);
        }
    }
    if (machine_ram) {
        return plan->nodes && !plan->nodes->next ? plan->nodes->value : NULL;
    }
    *plugged = pinning_plug_wanted_node(id, &guest_node);
    return *plugged ? pinning_memory_node(plan, guest_node) : NULL;
}

bool pinning_memory_bind(const PinningState *state, HostMemoryBackend *backend,
                         bool machine_ram, Error **errp)
{
    const PinningPlan *plan = state->plan;
    const PinningNodePlan *node;
    bool plugged = false, ok = true;

    pinning_parts_forget(backend);
    node = owner_of(plan, &state->req, backend, machine_ram, &plugged);
    if (node) {
        ok = bind_whole(&state->req, node, backend, 0, errp);
        if (ok && plugged) {
            pinning_part_add(backend, node->guest_node, 0,
                             memory_region_size(&backend->mr))->plugged = true;
        }
    } else if (machine_ram && plan->nodes) {
        ok = bind_ranges(plan, &state->req, backend, 0, errp);
    }
    return ok && preallocate(state, backend, errp);
}

static bool rebind_plugged(const PinningPlan *plan, const PinningRequest *req,
                           unsigned how, Error **errp)
{
    PinningPlacedPart placed;
    unsigned i = 0;

    while (pinning_placed_part_next(plan, &i, &placed)) {
        if (placed.part->plugged &&
            !bind_whole(req, placed.node, placed.backend, how, errp)) {
            return false;
        }
    }
    return true;
}

bool pinning_memory_rebind(const PinningPlan *plan, const PinningRequest *req,
                           HostMemoryBackend *ram, unsigned how, Error **errp)
{
    bool flat = true;
    unsigned i;

    pinning_parts_clear();
    for (i = 0; i < req->n_nodes; i++) {
        const PinningNodePlan *node = pinning_memory_node(plan, i);
        HostMemoryBackend *backend = pinning_backend_by_id(
                                         req->nodes[i].memdev);

        if (!node || !backend) {
            continue;
        }
        flat = false;
        if (!bind_whole(req, node, backend, how, errp)) {
            return false;
        }
    }
    if (flat && ram && plan->nodes) {
        bool ok = plan->nodes->next ?
                  bind_ranges(plan, req, ram, how, errp) :
                  bind_whole(req, plan->nodes->value, ram, how, errp);

        if (!ok) {
            return false;
        }
    }
    return rebind_plugged(plan, req, how, errp);
}

void pinning_memory_show(const PinningPlan *plan)
{
    PinningPlacedPart placed;
    unsigned i = 0;

    while (pinning_placed_part_next(plan, &i, &placed)) {
        g_autoptr(CpuSet) host_nodes = NULL;

        if (pinning_backend_is_bound(placed.backend) &&
            placed.part->size == memory_region_size(&placed.backend->mr)) {
            host_nodes = host_nodes_of(placed.node);
            pinning_backend_tell(placed.backend, placed.node->policy,
                                 host_nodes);
        }
    }
}

bool pinning_is_machine_ram(HostMemoryBackend *backend, const char *ram_id)
{
    if (!ram_id) {
        ram_id = MACHINE_GET_CLASS(current_machine)->default_ram_id;
    }
    return g_strcmp0(pinning_backend_id(backend), ram_id) == 0;
}

/*
 * Memory that is plugged was not there when room was looked for.  Nobody can
 * refuse it any more, but a guest must not die of it.
 */
static HostMemPolicy plug_policy(const PinningNodePlan *node,
                                 const CpuSet *host_nodes,
                                 HostMemoryBackend *backend)
{
    uint64_t page_size = qemu_ram_pagesize(backend->mr.ram_block);
    uint64_t size = memory_region_size(&backend->mr), free = 0;
    g_autoptr(HostTopology) topo = host_topology_new(NULL, NULL, NULL);
    unsigned i;

    if (!topo || node->policy != HOST_MEM_POLICY_BIND || backend->prealloc ||
        cpuset_is_empty(host_nodes)) {
        return node->policy;
    }
    CPUSET_FOREACH(host_node, host_nodes) {
        const HostNode *n = host_topology_node(topo, host_node);

        if (!n || n->available == HOST_UNKNOWN) {
            return node->policy;
        }
        if (page_size == qemu_real_host_page_size()) {
            free += n->available;
        }
        for (i = 0; i < n->n_hugepages; i++) {
            if (n->hugepages[i].page_size == page_size) {
                free += n->hugepages[i].free * page_size;
            }
        }
    }
    if (free >= size) {
        return node->policy;
    }
    warn_report("pinning: memory backend '%s' of guest node %" PRIu32
                " needs %" PRIu64 " MiB on host nodes %s, %" PRIu64 " MiB"
                " free; preferred there instead of bound",
                pinning_backend_id(backend), node->guest_node, size / MiB,
                node->host_nodes, free / MiB);
    return HOST_MEM_POLICY_PREFERRED;
}

void pinning_memory_plug(const PinningState *state, HostMemoryBackend *backend,
                         uint32_t guest_node)
{
    const PinningNodePlan *node = pinning_memory_node(state->plan, guest_node);
    uint64_t size = memory_region_size(&backend->mr);
    g_autoptr(CpuSet) host_nodes = NULL;
    PinningNodePlan wanted;
    PinningPart *part;
    Error *err = NULL;
    unsigned i;

    for (i = 0; (part = pinning_part_at(i)); i++) {
        if (g_str_equal(part->backend_id, pinning_backend_id(backend)) &&
            part->guest_node == guest_node) {
            return;     /* was bound when it was created */
        }
    }
    if (!node) {
        return;
    }
    host_nodes = host_nodes_of(node);
    wanted = *node;
    wanted.policy = plug_policy(node, host_nodes, backend);
    if (!bind_whole(&state->req, &wanted, backend, PINNING_MEMORY_MOVE,
                    &err)) {
        warn_report_err(err);
    }
    pinning_part_add(backend, guest_node, 0, size)->plugged = true;
    if (pinning_backend_is_bound(backend)) {
        pinning_backend_tell(backend, wanted.policy, host_nodes);
    }
}
