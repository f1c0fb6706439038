/*
 * Moving guest memory in the background
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_MOVE_H
#define SOFTMMU_PINNING_MOVE_H

#include "qapi/qapi-types-pinning.h"

/**
 * pinning_move_start:
 * @plan: the plan that was applied; not used after the call
 *
 * Main thread, with the BQL.  Starts a thread that moves what lies on other
 * host nodes than @plan wants, without the BQL.  A move that is going on is
 * cancelled first.  The end is told by PINNING_MEMORY_MOVED.
 */
void pinning_move_start(const PinningPlan *plan);

/** pinning_move_cancel: stop moving, if there is something moving. */
void pinning_move_cancel(void);

/**
 * pinning_move_info:
 *
 * Returns: how far it is, to free with qapi_free_PinningMoveInfo(); NULL if
 * nothing is moving.
 */
PinningMoveInfo *pinning_move_info(void);

#endif /* SOFTMMU_PINNING_MOVE_H */
