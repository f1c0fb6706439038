/*
 * What set-pinning changes, kept to be put back
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_UNDO_H
#define SOFTMMU_PINNING_UNDO_H

#include "qemu/pinning-plan.h"
#include "system/hostmem.h"

typedef struct PinningUndo PinningUndo;

/**
 * pinning_undo_new:
 * @req: what the machine is; its memory is looked at
 * @ram: RAM of a machine whose guest nodes have no backends of their own, or
 *       NULL
 * @errp: pointer to error object
 *
 * Returns: the policies of guest memory as they are, and no masks yet; free
 * it with pinning_undo_free().  NULL with @errp set if they cannot be read.
 */
PinningUndo *pinning_undo_new(const PinningRequest *req,
                              HostMemoryBackend *ram, Error **errp);

/**
 * pinning_undo_set_mask:
 * @undo: gets the mask that the thread had
 * @tid: id of a thread
 * @host_cpus: its new mask
 * @errp: pointer to error object
 *
 * Returns: true, or false with @errp set and nothing changed.
 */
bool pinning_undo_set_mask(PinningUndo *undo, pid_t tid,
                           const CpuSet *host_cpus, Error **errp);

/**
 * pinning_undo_all:
 * @undo: what is put back: masks that were set by pinning_undo_set_mask(),
 *        the last first, all policies, and which memory the plan has
 *
 * What the host now refuses is a warning.
 */
void pinning_undo_all(PinningUndo *undo);

/** pinning_undo_free: forget it; @undo may be NULL. */
void pinning_undo_free(PinningUndo *undo);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PinningUndo, pinning_undo_free)

#endif /* SOFTMMU_PINNING_UNDO_H */
