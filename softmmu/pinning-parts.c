/*
 * Guest memory that the plan knows of
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "system/pinning-qemu.h"
#include "pinning-parts.h"

static GArray *parts;

static GHashTable *bound;       /* ids of backends that have our policy */

const char *pinning_backend_id(HostMemoryBackend *backend)
{
    return object_get_canonical_path_component(OBJECT(backend));
}

HostMemoryBackend *pinning_backend_by_id(const char *id)
{
    Object *obj = id ? object_resolve_path_component(
                           object_get_objects_root(), id) : NULL;

    return (HostMemoryBackend *)(obj ? object_dynamic_cast(obj,
                                           TYPE_MEMORY_BACKEND) : NULL);
}

PinningPart *pinning_part_at(unsigned i)
{
    return parts && i < parts->len ? &g_array_index(parts, PinningPart, i)
                                   : NULL;
}

static void part_clear(gpointer opaque)
{
    g_free(((PinningPart *)opaque)->backend_id);
}

static GArray *parts_new(void)
{
    GArray *array = g_array_new(false, true, sizeof(PinningPart));

    g_array_set_clear_func(array, part_clear);
    return array;
}

static GHashTable *ids_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

PinningPart *pinning_part_add(HostMemoryBackend *backend, uint32_t guest_node,
                              uint64_t offset, uint64_t size)
{
    PinningPart new_part = { NULL, guest_node, offset, size };
    const char *id = pinning_backend_id(backend);
    PinningPart *part;
    unsigned i;

    for (i = 0; (part = pinning_part_at(i)); i++) {
        if (g_str_equal(part->backend_id, id) && part->offset == offset &&
            part->size == size) {
            part->guest_node = guest_node;
            return part;
        }
    }
    if (!parts) {
        parts = parts_new();
    }
    new_part.backend_id = g_strdup(id);
    g_array_append_val(parts, new_part);
    return pinning_part_at(parts->len - 1);
}

HostMemoryBackend *pinning_part_backend(const PinningPart *part)
{
    HostMemoryBackend *backend = pinning_backend_by_id(part->backend_id);

    return backend && (!part->plugged || backend->is_mapped) ? backend : NULL;
}

void pinning_parts_forget(HostMemoryBackend *backend)
{
    const char *id = pinning_backend_id(backend);
    unsigned i = 0;
    PinningPart *part;

    while ((part = pinning_part_at(i))) {
        if (g_str_equal(part->backend_id, id)) {
            g_array_remove_index(parts, i);
        } else {
            i++;
        }
    }
    if (bound) {
        g_hash_table_remove(bound, id);
    }
}

void pinning_parts_clear(void)
{
    unsigned i = 0;
    PinningPart *part;

    while ((part = pinning_part_at(i))) {
        if (part->plugged) {
            i++;
        } else {
            g_array_remove_index(parts, i);
        }
    }
}

struct PinningParts {
    GArray *parts;
    GHashTable *bound;
};

PinningParts *pinning_parts_save(void)
{
    PinningParts *saved = g_new0(PinningParts, 1);
    GHashTableIter iter;
    gpointer id;
    unsigned i;

    saved->parts = parts_new();
    for (i = 0; pinning_part_at(i); i++) {
        PinningPart part = *pinning_part_at(i);

        part.backend_id = g_strdup(part.backend_id);
        g_array_append_val(saved->parts, part);
    }
    saved->bound = ids_new();
    if (bound) {
        g_hash_table_iter_init(&iter, bound);
        while (g_hash_table_iter_next(&iter, &id, NULL)) {
            g_hash_table_add(saved->bound, g_strdup(id));
        }
    }
    return saved;
}

void pinning_parts_restore(PinningParts *saved)
{
    g_clear_pointer(&parts, g_array_unref);
    parts = g_steal_pointer(&saved->parts);
    g_clear_pointer(&bound, g_hash_table_unref);
    bound = g_steal_pointer(&saved->bound);
    g_free(saved);
}

void pinning_parts_free(PinningParts *saved)
{
    if (saved) {
        g_clear_pointer(&saved->parts, g_array_unref);
        g_clear_pointer(&saved->bound, g_hash_table_unref);
        g_free(saved);
    }
}

void pinning_backend_set_bound(HostMemoryBackend *backend)
{
    if (!bound) {
        bound = ids_new();
    }
    g_hash_table_add(bound, g_strdup(pinning_backend_id(backend)));
}

bool pinning_backend_is_bound(HostMemoryBackend *backend)
{
    return bound && g_hash_table_contains(bound, pinning_backend_id(backend));
}

bool pinning_backend_is_foreign(HostMemoryBackend *backend)
{
    return (backend->policy != HOST_MEM_POLICY_DEFAULT ||
            find_first_bit(backend->host_nodes, MAX_NODES) < MAX_NODES) &&
           !pinning_backend_is_bound(backend);
}

void pinning_backend_tell(HostMemoryBackend *backend, HostMemPolicy policy,
                          const CpuSet *host_nodes)
{
    bitmap_zero(backend->host_nodes, MAX_NODES);
    backend->policy = HOST_MEM_POLICY_DEFAULT;
    CPUSET_FOREACH(host_node, host_nodes) {
        if (host_node >= MAX_NODES) {
            /* Bound, but the backend cannot say so */
            bitmap_zero(backend->host_nodes, MAX_NODES);
            backend->policy = HOST_MEM_POLICY_DEFAULT;
            return;
        }
        set_bit(host_node, backend->host_nodes);
        backend->policy = policy;
    }
}
