/*
 * Iothreads: which there are, and which vCPUs they serve
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_IOTHREADS_H
#define SOFTMMU_PINNING_IOTHREADS_H

/**
 * pinning_iothreads_have:
 * @tid: id of a thread
 *
 * Returns: whether it is an iothread of the user's.
 */
bool pinning_iothreads_have(pid_t tid);

/**
 * pinning_iothreads_settle:
 *
 * Sees anew which devices use which iothread, and places all threads that do
 * I/O and have no place, or not the right one.  From the first call on,
 * iothreads that are added later are placed at once.
 */
void pinning_iothreads_settle(void);

#endif /* SOFTMMU_PINNING_IOTHREADS_H */
