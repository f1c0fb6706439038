/*
 * Host CPUs that go offline or come online
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_UEVENT_H
#define SOFTMMU_PINNING_UEVENT_H

/**
 * pinning_uevent_watch:
 * @fn: called in the main loop when the kernel says that a host CPU went
 *      offline or came online; NULL to stop
 *
 * Where the kernel tells nobody, as in some containers, @fn is never called.
 */
void pinning_uevent_watch(void (*fn)(void));

#endif /* SOFTMMU_PINNING_UEVENT_H */
