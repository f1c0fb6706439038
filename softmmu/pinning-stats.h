/*
 * How the host treats the vCPUs that were placed
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_STATS_H
#define SOFTMMU_PINNING_STATS_H

#include "qapi/qapi-types-pinning.h"

/**
 * pinning_stats_offer:
 *
 * Makes query-stats answer for the provider "pinning".  Nothing is looked at
 * until somebody asks.
 */
void pinning_stats_offer(void);

/**
 * pinning_stats_add:
 * @threads: threads of this machine
 *
 * Looks once, and fills in what query-pinning says of stacked vCPUs.
 */
void pinning_stats_add(PinningThreadInfoList *threads);

#endif /* SOFTMMU_PINNING_STATS_H */
