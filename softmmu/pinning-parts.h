/*
 * Guest memory that the plan knows of
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_PARTS_H
#define SOFTMMU_PINNING_PARTS_H

#include "qemu/cpulist.h"
#include "system/hostmem.h"

/* Memory of one guest node: a whole backend, or a range of one */
typedef struct PinningPart {
    char *backend_id;       /* the backend itself may be gone meanwhile */
    uint32_t guest_node;
    uint64_t offset;
    uint64_t size;
    bool plugged;           /* the guest's while a memory device uses it */
} PinningPart;

/**
 * pinning_part_at:
 * @i: number of a part, from 0
 *
 * Returns: the part, NULL if there are no more.
 */
PinningPart *pinning_part_at(unsigned i);

/**
 * pinning_part_add:
 * @backend: a memory backend
 * @guest_node: whose memory it is
 * @offset: begin in the backend in bytes
 * @size: bytes
 *
 * Returns: the new part, or the one that was there at this place, now of
 * @guest_node.  Valid until the next is added.
 */
PinningPart *pinning_part_add(HostMemoryBackend *backend, uint32_t guest_node,
                              uint64_t offset, uint64_t size);

/**
 * pinning_part_backend:
 * @part: a part
 *
 * Returns: its backend, NULL if that is gone, or is not used by the guest at
 * the moment.
 */
HostMemoryBackend *pinning_part_backend(const PinningPart *part);

/**
 * pinning_parts_forget:
 * @backend: a new memory backend
 *
 * Drops what was known of another one with the same id.
 */
void pinning_parts_forget(HostMemoryBackend *backend);

/**
 * pinning_parts_clear:
 *
 * Drops all parts, but for those of memory devices.
 */
void pinning_parts_clear(void);

typedef struct PinningParts PinningParts;

/**
 * pinning_parts_save:
 *
 * Returns: what is known now of guest memory and of who has bound it; hand
 * it to pinning_parts_restore() or pinning_parts_free().
 */
PinningParts *pinning_parts_save(void);

/** pinning_parts_restore: all is as when @saved was made, which is freed. */
void pinning_parts_restore(PinningParts *saved);

/** pinning_parts_free: forget it; @saved may be NULL. */
void pinning_parts_free(PinningParts *saved);

/**
 * pinning_backend_by_id:
 * @id: id of an object, or NULL
 *
 * Returns: the memory backend, NULL if there is none with this id.
 */
HostMemoryBackend *pinning_backend_by_id(const char *id);

/**
 * pinning_backend_id:
 * @backend: a memory backend
 *
 * Returns: its id.
 */
const char *pinning_backend_id(HostMemoryBackend *backend);

/**
 * pinning_backend_set_bound:
 * @backend: a memory backend some of whose memory has a policy of the plan's
 */
void pinning_backend_set_bound(HostMemoryBackend *backend);

/**
 * pinning_backend_is_bound:
 * @backend: a memory backend
 *
 * Returns: whether some of its memory may have a policy of the plan's.
 */
bool pinning_backend_is_bound(HostMemoryBackend *backend);

/**
 * pinning_backend_tell:
 * @backend: a memory backend all of which has a policy of the plan's
 * @policy: the policy
 * @host_nodes: its host nodes; empty: it has no policy any more
 *
 * Makes the backend show the policy.  QEMU would apply it once more, and fail
 * where we do not, to a backend that is just being created.
 */
void pinning_backend_tell(HostMemoryBackend *backend, HostMemPolicy policy,
                          const CpuSet *host_nodes);

/**
 * pinning_backend_is_foreign:
 * @backend: a memory backend
 *
 * Returns: whether it has a policy of the user's.
 */
bool pinning_backend_is_foreign(HostMemoryBackend *backend);

#endif /* SOFTMMU_PINNING_PARTS_H */
