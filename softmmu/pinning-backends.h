/*
 * Memory backends that the command line will create
 *
 * The plan is made before they exist, but depends on their sizes and on the
 * policies that the user gave them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_BACKENDS_H
#define SOFTMMU_PINNING_BACKENDS_H

#include "qapi/qapi-types-common.h"
#include "qemu/cpulist.h"

typedef struct PinningBackend {
    char *id;
    uint64_t size;              /* bytes */
    char *mem_path;             /* file or directory, or NULL */
    bool hugetlb;               /* memfd of hugepages ... */
    uint64_t hugetlb_size;      /* ... of this size; 0: the default one */
    CpuSet *host_nodes;         /* host-nodes=, or NULL */
    bool has_policy;            /* policy=, or host-nodes=, was given */
    HostMemPolicy policy;
    bool has_prealloc;          /* prealloc= was given */
    bool prealloc;
} PinningBackend;

/**
 * pinning_backend_find:
 * @id: id of a memory backend
 *
 * Returns: what -object says of it; owned by this module; NULL if there is
 * no such backend.
 */
const PinningBackend *pinning_backend_find(const char *id);

/**
 * pinning_backend_page_size:
 * @backend: a memory backend
 *
 * Asks the host, which noting a backend must not do: that happens without
 * pinning options, too.
 *
 * Returns: size of its hugepages in bytes, 0 for ordinary memory.
 */
uint64_t pinning_backend_page_size(const PinningBackend *backend);

/**
 * pinning_backend_prealloc:
 * @backend: a memory backend, or NULL for one that QEMU makes by itself
 *
 * Returns: whether QEMU will preallocate it: prealloc=, else -mem-prealloc.
 */
bool pinning_backend_prealloc(const PinningBackend *backend);

/**
 * pinning_mem_path_page_size:
 * @path: where the file of a backend is or will be, or NULL
 *
 * Returns: size of a hugepage there in bytes, 0 for ordinary memory.
 */
uint64_t pinning_mem_path_page_size(const char *path);

#endif /* SOFTMMU_PINNING_BACKENDS_H */
