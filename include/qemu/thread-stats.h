/*
 * What the host's scheduler did with a thread
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef QEMU_THREAD_STATS_H
#define QEMU_THREAD_STATS_H

/* State and place of a thread at one moment */
typedef struct ThreadState {
    bool runnable;              /* it runs, or waits for a CPU only */
    unsigned last_cpu;          /* host CPU it is on, or was on last */
} ThreadState;

/**
 * thread_state_get:
 * @tid: id of a thread of this process
 * @state: filled in
 *
 * Returns: false if there is no such thread, or no /proc.
 */
bool thread_state_get(pid_t tid, ThreadState *state);

/**
 * thread_run_delay_get:
 * @tid: id of a thread of this process
 * @nanoseconds: how long it has waited for a CPU since it was created
 *
 * Returns: false if the host does not tell.
 */
bool thread_run_delay_get(pid_t tid, uint64_t *nanoseconds);

/**
 * thread_migrations_get:
 * @tid: id of a thread of this process
 * @count: how often it was moved to another host CPU since it was created
 *
 * Returns: false if the host does not tell.
 */
bool thread_migrations_get(pid_t tid, uint64_t *count);

#endif /* QEMU_THREAD_STATS_H */
