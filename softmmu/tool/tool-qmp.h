/*
 * qemu-pinning: talking to a running machine
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TOOL_QMP_H
#define TOOL_QMP_H

#include "qobject/qobject.h"

typedef struct ToolQmp ToolQmp;

/**
 * tool_qmp_new:
 * @address: path of a UNIX socket, or an address as -qmp takes it
 * @errp: pointer to error object
 *
 * Connects to a QMP server and gets it ready for commands.
 *
 * Returns: the connection, to close with tool_qmp_free(), or NULL with @errp
 * set.
 */
ToolQmp *tool_qmp_new(const char *address, Error **errp);

/** tool_qmp_free: close @qmp, which may be NULL. */
void tool_qmp_free(ToolQmp *qmp);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(ToolQmp, tool_qmp_free)

/**
 * tool_qmp_run:
 * @qmp: the connection
 * @command: a command without arguments
 * @errp: pointer to error object
 *
 * Returns: what it returned, to release with qobject_unref(), or NULL with
 * @errp set, to its own words if the command failed.
 */
QObject *tool_qmp_run(ToolQmp *qmp, const char *command, Error **errp);

#endif /* TOOL_QMP_H */
