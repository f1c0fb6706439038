/*
 * Preallocating guest memory beside its vCPUs
 *
 * Threads of a thread-context inherit its mask, and QEMU knows how to let
 * several of them work at once.  So there is one for each set of host CPUs,
 * until the machine is ready.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-builtin-visit.h"
#include "qapi/qobject-output-visitor.h"
#include "qemu/thread-context.h"
#include "qobject/qobject.h"
#include "qom/object_interfaces.h"
#include "qom/qom-qobject.h"
#include "exec/cpu-common.h"
#include "system/pinning-qemu.h"
#include "pinning-parts.h"
#include "pinning-prealloc.h"

static GHashTable *contexts;    /* list of host CPUs -> thread-context */
static GHashTable *users;       /* ids of backends -> theirs of these */

static void add_list(CpuSet *set, const char *list)
{
    g_autoptr(CpuSet) more = cpulist_parse(list, NULL);

    if (more) {
        cpuset_or(set, more);
    }
}

/* Host CPUs that the plan lets this machine use for something */
static CpuSet *planned_cpus(const PinningPlan *plan)
{
    CpuSet *cpus = cpuset_new();
    PinningVcpuPlanList *vcpu;
    const char *last = NULL;

    for (vcpu = plan->vcpus; vcpu; vcpu = vcpu->next) {
        if (g_strcmp0(vcpu->value->host_cpus, last) != 0) {
            last = vcpu->value->host_cpus;
            add_list(cpus, last);
        }
    }
    add_list(cpus, plan->io_cpus);
    add_list(cpus, plan->emulator_cpus);
    return cpus;
}

static CpuSet *cpus_beside(const PinningState *state, const CpuSet *host_nodes)
{
    g_autoptr(CpuSet) planned = planned_cpus(state->plan);
    CpuSet *cpus = cpuset_new();

    CPUSET_FOREACH(host_node, host_nodes) {
        const HostNode *node = host_topology_node(state->topo, host_node);

        if (node) {
            cpuset_or(cpus, node->cpus);
        }
    }
    cpuset_and(cpus, state->topo->allowed_cpus);
    cpuset_and(cpus, planned);
    return cpus;
}

static Object *context_new(const CpuSet *cpus)
{
    g_autoptr(Object) context = object_new(TYPE_THREAD_CONTEXT);
    uint16List *list = NULL, **tail = &list;
    QObject *value = NULL;
    Visitor *v = qobject_output_visitor_new(&value);
    bool ok;

    CPUSET_FOREACH(cpu, cpus) {
        QAPI_LIST_APPEND(tail, cpu);
    }
    visit_type_uint16List(v, NULL, &list, &error_abort);
    visit_complete(v, &value);
    visit_free(v);
    qapi_free_uint16List(list);
    ok = object_property_set_qobject(context, "cpu-affinity", value, NULL) &&
         user_creatable_complete(USER_CREATABLE(context), NULL);
    qobject_unref(value);
    return ok ? g_steal_pointer(&context) : NULL;
}

/* Returns: a context owned by this module, NULL if there can be none */
static Object *context_for(const PinningState *state, const CpuSet *host_nodes)
{
    g_autoptr(CpuSet) cpus = cpus_beside(state, host_nodes);
    g_autofree char *list = cpulist_format(cpus);
    Object *context;

    if (cpuset_is_empty(cpus)) {
        return NULL;
    }
    if (!contexts) {
        contexts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                         object_unref);
    }
    context = g_hash_table_lookup(contexts, list);
    if (!context) {
        context = context_new(cpus);
        if (context) {
            g_hash_table_insert(contexts, g_steal_pointer(&list), context);
        }
    }
    return context;
}

/* What the user has chosen himself stays, and so does no preallocation */
static bool is_ours(HostMemoryBackend *backend)
{
    return backend->prealloc && !backend->prealloc_context;
}

void pinning_prealloc_place(const PinningState *state,
                            HostMemoryBackend *backend,
                            const CpuSet *host_nodes)
{
    Object *context;

    if (!is_ours(backend)) {
        return;
    }
    if (phase_check(PHASE_LATE_BACKENDS_CREATED)) {
        /* QEMU would do it by itself, and a single thread's share on main */
        pinning_prealloc_range(state, backend, 0,
                               memory_region_size(&backend->mr), host_nodes);
        return;
    }
    context = context_for(state, host_nodes);
    if (!context) {
        return;
    }
    /* As the property would; that needs a path, which @context has not */
    backend->prealloc_context = THREAD_CONTEXT(object_ref(context));
    if (!users) {
        users = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    }
    g_hash_table_insert(users, g_strdup(pinning_backend_id(backend)), context);
}

void pinning_prealloc_range(const PinningState *state,
                            HostMemoryBackend *backend, uint64_t offset,
                            uint64_t size, const CpuSet *host_nodes)
{
    char *ptr = memory_region_get_ram_ptr(&backend->mr);
    Object *context;

    if (!is_ours(backend) || !size) {
        return;
    }
    context = context_for(state, host_nodes);
    if (context) {
        /* Should it fail, QEMU's own attempt says so */
        qemu_prealloc_mem(memory_region_get_fd(&backend->mr), ptr + offset,
                          size, backend->prealloc_threads,
                          THREAD_CONTEXT(context), true, NULL);
    }
}

bool pinning_prealloc_wait(Error **errp)
{
    return qemu_finish_async_prealloc_mem(errp);
}

static gboolean let_go(gpointer id, gpointer context, gpointer opaque)
{
    HostMemoryBackend *backend = pinning_backend_by_id(id);

    if (backend && (gpointer)backend->prealloc_context == context) {
        object_unref(OBJECT(backend->prealloc_context));
        backend->prealloc_context = NULL;
    }
    return true;
}

void pinning_prealloc_end(void)
{
    if (users) {
        g_hash_table_foreach_remove(users, let_go, NULL);
    }
    if (contexts) {
        g_hash_table_remove_all(contexts);
    }
}
