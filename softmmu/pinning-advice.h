/*
 * Where threads of other processes that serve the machine should be
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_ADVICE_H
#define SOFTMMU_PINNING_ADVICE_H

#include "qapi/qapi-types-pinning.h"

/**
 * pinning_advice:
 *
 * For vhost-user and vDPA backends, which are no threads of ours and out of
 * our hands.  Only while there is a plan that places threads.
 *
 * Returns: a piece of advice for each of their queues; free it with
 * qapi_free_PinningAdviceList().
 */
PinningAdviceList *pinning_advice(void);

#endif /* SOFTMMU_PINNING_ADVICE_H */
