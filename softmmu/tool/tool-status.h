/*
 * qemu-pinning status: what its parts share
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TOOL_STATUS_H
#define TOOL_STATUS_H

#include "qobject/qdict.h"

/**
 * tool_status:
 *
 * The command.  Returns: the exit status; @argv[0] is its name.
 */
int tool_status(int argc, char **argv);

/**
 * tool_status_metrics:
 * @name: name of the machine
 * @info: what query-pinning has returned
 *
 * Returns: the same in Prometheus' text format; free it with g_free().
 */
char *tool_status_metrics(const char *name, const QDict *info);

/**
 * tool_status_in_place:
 * @thread: an entry of "threads" of query-pinning
 *
 * Returns: 1 if the thread has the host CPUs that it should have, 0 if it has
 * others, -1 if nothing is asked of it or its mask could not be read.
 */
int tool_status_in_place(const QDict *thread);

#endif /* TOOL_STATUS_H */
