/*
 * Preallocating guest memory beside its vCPUs
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_PREALLOC_H
#define SOFTMMU_PINNING_PREALLOC_H

#include "pinning-internal.h"
#include "system/hostmem.h"

/**
 * pinning_prealloc_place:
 * @state: the placement
 * @backend: memory that QEMU will preallocate
 * @host_nodes: host nodes of the memory
 *
 * Makes QEMU's threads for it run on host CPUs of @host_nodes, so that what
 * they clear is local to them.  Where that is not possible they run wherever
 * they can; the memory is in the right place anyway.
 */
void pinning_prealloc_place(const PinningState *state,
                            HostMemoryBackend *backend,
                            const CpuSet *host_nodes);

/**
 * pinning_prealloc_range:
 * @state: the placement
 * @backend: memory of several guest nodes that QEMU will preallocate
 * @offset: begin of a range in bytes
 * @size: its size in bytes
 * @host_nodes: host nodes of the range
 *
 * Begins to preallocate the range from its host nodes, see
 * pinning_prealloc_wait().
 */
void pinning_prealloc_range(const PinningState *state,
                            HostMemoryBackend *backend, uint64_t offset,
                            uint64_t size, const CpuSet *host_nodes);

/**
 * pinning_prealloc_wait:
 * @errp: pointer to error object
 *
 * Waits until all ranges are preallocated.  QEMU then goes over them once
 * more, and finds nothing to do.
 *
 * Returns: true, or false with @errp set.
 */
bool pinning_prealloc_wait(Error **errp);

/**
 * pinning_prealloc_end:
 *
 * Ends the threads that were needed for this.
 */
void pinning_prealloc_end(void);

#endif /* SOFTMMU_PINNING_PREALLOC_H */
