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
 * @speed: bytes to move in a second at most, 0 for any number
 *
 * Main thread, with the BQL.  Starts a thread that moves what lies on other
 * host nodes than @plan wants, without the BQL.  The end is told by
 * PINNING_MEMORY_MOVED.  Nothing may be moving, see pinning_move_release().
 */
void pinning_move_start(const PinningPlan *plan, uint64_t speed);

/**
 * pinning_move_hold:
 *
 * Keeps a thread that moves memory from going on, and waits for what it is just
 * moving, until pinning_move_release().  It would set policies that do not
 * count any more.
 */
void pinning_move_hold(void);

/**
 * pinning_move_release:
 * @end: the thread, if there is one, is to end: there is another placement
 */
void pinning_move_release(bool end);

/**
 * pinning_move_info:
 *
 * Returns: how far it is, to free with qapi_free_PinningMoveInfo(); NULL if
 * nothing is moving.
 */
PinningMoveInfo *pinning_move_info(void);

#endif /* SOFTMMU_PINNING_MOVE_H */
