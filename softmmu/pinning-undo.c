/*
 * What set-pinning changes, kept to be put back
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/thread-affinity.h"
#include "system/pinning-qemu.h"
#include "hw/core/numa-hostnodes.h"
#include "pinning-parts.h"
#include "pinning-undo.h"

/* A thread and the mask that it had */
typedef struct SavedMask {
    pid_t tid;
    CpuSet *mask;
} SavedMask;

/* Memory that has one policy */
typedef struct SavedPolicy {
    char *ptr;
    uint64_t size;
    int mode;                   /* the kernel's */
    CpuSet *host_nodes;
} SavedPolicy;

struct PinningUndo {
    GArray *masks;
    GArray *policies;
    PinningParts *parts;
};

static void saved_mask_clear(gpointer opaque)
{
    cpuset_free(((SavedMask *)opaque)->mask);
}

static void saved_policy_clear(gpointer opaque)
{
    cpuset_free(((SavedPolicy *)opaque)->host_nodes);
}

static bool save_range(PinningUndo *undo, HostMemoryBackend *backend,
                       uint64_t offset, uint64_t size, Error **errp)
{
    char *ptr = memory_region_get_ram_ptr(&backend->mr);
    SavedPolicy one = { .ptr = ptr + offset, .size = size };
    int ret = size ? numa_hostnodes_policy(one.ptr, &one.mode,
                                           &one.host_nodes) : -EPERM;

    if (ret == 0) {
        g_array_append_val(undo->policies, one);
    } else if (ret != -EPERM && ret != -ENOSYS) {
        /* Where they may not be read they cannot be set, either */
        error_setg_errno(errp, -ret, "Policies of memory backend '%s' cannot"
                         " be read", pinning_backend_id(backend));
        return false;
    }
    return true;
}

/* Policies change at the ends of parts only; what has no part has one */
static bool save_backend(PinningUndo *undo, HostMemoryBackend *backend,
                         Error **errp)
{
    const char *id = pinning_backend_id(backend);
    PinningPart *part;
    bool any = false;
    unsigned i;

    for (i = 0; (part = pinning_part_at(i)); i++) {
        if (g_str_equal(part->backend_id, id)) {
            if (!save_range(undo, backend, part->offset, part->size, errp)) {
                return false;
            }
            any = true;
        }
    }
    return any || save_range(undo, backend, 0,
                             memory_region_size(&backend->mr), errp);
}

static bool save_policies(PinningUndo *undo, const PinningRequest *req,
                          HostMemoryBackend *ram, Error **errp)
{
    HostMemoryBackend *backend;
    PinningPart *part;
    unsigned i;

    for (i = 0; i < req->n_nodes; i++) {
        backend = pinning_backend_by_id(req->nodes[i].memdev);
        if (backend && !save_backend(undo, backend, errp)) {
            return false;
        }
    }
    if (ram && !save_backend(undo, ram, errp)) {
        return false;
    }
    for (i = 0; (part = pinning_part_at(i)); i++) {
        backend = part->plugged ? pinning_part_backend(part) : NULL;
        if (backend && !save_range(undo, backend, part->offset, part->size,
                                   errp)) {
            return false;
        }
    }
    return true;
}

PinningUndo *pinning_undo_new(const PinningRequest *req,
                              HostMemoryBackend *ram, Error **errp)
{
    PinningUndo *undo = g_new0(PinningUndo, 1);

    undo->masks = g_array_new(false, false, sizeof(SavedMask));
    g_array_set_clear_func(undo->masks, saved_mask_clear);
    undo->policies = g_array_new(false, false, sizeof(SavedPolicy));
    g_array_set_clear_func(undo->policies, saved_policy_clear);
    undo->parts = pinning_parts_save();
    if (!save_policies(undo, req, ram, errp)) {
        g_clear_pointer(&undo, pinning_undo_free);
    }
    return undo;
}

bool pinning_undo_set_mask(PinningUndo *undo, pid_t tid,
                           const CpuSet *host_cpus, Error **errp)
{
    SavedMask old = { tid, thread_affinity_get(tid, errp) };

    if (!old.mask) {
        return false;
    }
    if (!thread_affinity_set(tid, host_cpus, errp)) {
        cpuset_free(old.mask);
        return false;
    }
    g_array_append_val(undo->masks, old);
    return true;
}

static void put_mask_back(const SavedMask *one)
{
    Error *err = NULL;

    if (thread_affinity_set(one->tid, one->mask, &err)) {
        return;
    }
    if (thread_place_get(one->tid, &(ThreadPlace){ })) {
        warn_reportf_err(err, "pinning: a mask could not be put back: ");
    } else {
        error_free(err);        /* it has ended */
    }
}

void pinning_undo_all(PinningUndo *undo)
{
    unsigned i;

    for (i = undo->masks->len; i-- > 0; ) {
        put_mask_back(&g_array_index(undo->masks, SavedMask, i));
    }
    for (i = 0; i < undo->policies->len; i++) {
        const SavedPolicy *one = &g_array_index(undo->policies, SavedPolicy,
                                                i);
        int ret = numa_hostnodes_restore(one->ptr, one->size, one->mode,
                                         one->host_nodes);

        if (ret < 0) {
            warn_report("pinning: a memory policy could not be put back: %s",
                        strerror(-ret));
        }
    }
    pinning_parts_restore(undo->parts);
    undo->parts = NULL;
}

void pinning_undo_free(PinningUndo *undo)
{
    if (undo) {
        g_array_unref(undo->masks);
        g_array_unref(undo->policies);
        pinning_parts_free(undo->parts);
        g_free(undo);
    }
}
