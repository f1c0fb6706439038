/*
 * Memory backends that the command line will create
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sys/vfs.h>
#include <linux/magic.h>
#include "qapi/error.h"
#include "qapi/qapi-types-qom.h"
#include "qemu/units.h"
#include "qom/object.h"
#include "system/hostmem.h"
#include "system/pinning.h"
#include "pinning-backends.h"

static GHashTable *backends;    /* id -> PinningBackend */

uint64_t pinning_mem_path_page_size(const char *path)
{
    g_autofree char *parent = NULL;
    struct statfs fs;

    if (!path) {
        return 0;
    }
    if (statfs(path, &fs) < 0) {
        parent = g_path_get_dirname(path);
        if (statfs(parent, &fs) < 0) {
            return 0;       /* the backend will say so */
        }
    }
    return fs.f_type == HUGETLBFS_MAGIC ? fs.f_bsize : 0;
}

/* The kernel's default size is what its /proc/meminfo calls Hugepagesize */
static uint64_t default_hugepage_size(void)
{
    g_autofree char *text = NULL;
    char *line;

    if (!g_file_get_contents("/proc/meminfo", &text, NULL, NULL)) {
        return 0;
    }
    line = strstr(text, "\nHugepagesize:");
    return line ? g_ascii_strtoull(strchr(line, ':') + 1, NULL, 10) * KiB : 0;
}

uint64_t pinning_backend_page_size(const PinningBackend *backend)
{
    if (backend->hugetlb) {
        return backend->hugetlb_size ?: default_hugepage_size();
    }
    return pinning_mem_path_page_size(backend->mem_path);
}

/* -mem-prealloc is the default of a property, which any backend can tell */
bool pinning_backend_prealloc(const PinningBackend *backend)
{
    Object *any;
    bool prealloc;

    if (backend && backend->has_prealloc) {
        return backend->prealloc;
    }
    any = object_new(TYPE_MEMORY_BACKEND_RAM);
    prealloc = MEMORY_BACKEND(any)->prealloc;
    object_unref(any);
    return prealloc;
}

static PinningBackend *note(const char *id,
                            const MemoryBackendProperties *props)
{
    PinningBackend *backend = g_new0(PinningBackend, 1);
    uint16List *node;

    backend->id = g_strdup(id);
    backend->size = props->size;
    backend->has_policy = props->has_policy || props->has_host_nodes;
    backend->policy = props->policy;
    backend->has_prealloc = props->has_prealloc;
    backend->prealloc = props->prealloc;
    if (props->has_host_nodes) {
        backend->host_nodes = cpuset_new();
        for (node = props->host_nodes; node; node = node->next) {
            cpuset_add(backend->host_nodes, node->value);
        }
    }
    if (!backends) {
        backends = g_hash_table_new(g_str_hash, g_str_equal);
    }
    g_hash_table_replace(backends, backend->id, backend);
    return backend;
}

void pinning_note_object(const ObjectOptions *opts)
{
    const MemoryBackendFileProperties *file;
    const MemoryBackendMemfdProperties *memfd;
    PinningBackend *backend;

    switch (opts->qom_type) {
    case OBJECT_TYPE_MEMORY_BACKEND_RAM:
        note(opts->id, &opts->u.memory_backend_ram);
        break;
    case OBJECT_TYPE_MEMORY_BACKEND_SHM:
        note(opts->id, qapi_MemoryBackendShmProperties_base(
                           &opts->u.memory_backend_shm));
        break;
    case OBJECT_TYPE_MEMORY_BACKEND_FILE:
        file = &opts->u.memory_backend_file;
        backend = note(opts->id, qapi_MemoryBackendFileProperties_base(file));
        backend->mem_path = g_strdup(file->mem_path);
        break;
    case OBJECT_TYPE_MEMORY_BACKEND_MEMFD:
        memfd = &opts->u.memory_backend_memfd;
        backend = note(opts->id,
                       qapi_MemoryBackendMemfdProperties_base(memfd));
        backend->hugetlb = memfd->has_hugetlb && memfd->hugetlb;
        backend->hugetlb_size = memfd->hugetlbsize;
        break;
    default:
        break;
    }
}

const PinningBackend *pinning_backend_find(const char *id)
{
    return backends ? g_hash_table_lookup(backends, id) : NULL;
}
