/*
 * Choosing a host CPU for a thread that does I/O, among those of others
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef SOFTMMU_PINNING_IO_CHOOSE_H
#define SOFTMMU_PINNING_IO_CHOOSE_H

#include "qemu/io-spread.h"
#include "pinning-io.h"

/* The load of all host CPUs, by us and by others, while we choose */
typedef struct IoBooks {
    const GPtrArray *threads;   /* of IoThread: ours */
    IoLoad load;
    unsigned rotation;
    bool locked;
    bool changed;               /* there is something to record */
} IoBooks;

/**
 * io_books_open:
 * @books: filled in; nobody else chooses until io_books_close()
 * @threads: of IoThread; those of this machine
 */
void io_books_open(IoBooks *books, const GPtrArray *threads);

/** io_books_close: record what was changed, and let others choose. */
void io_books_close(IoBooks *books);

/**
 * io_choose:
 * @io: a thread; keeps its host CPU if that is still right
 * @books: the load of host CPUs
 *
 * Returns: whether it got another host CPU.
 */
bool io_choose(IoThread *io, IoBooks *books);

#endif /* SOFTMMU_PINNING_IO_CHOOSE_H */
