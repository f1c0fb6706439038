/*
 * qemu-pinning: commands that deal with the registry of reservations
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TOOL_REGISTRY_H
#define TOOL_REGISTRY_H

#include "tool.h"

/* Exit status of "run" where nothing was run, as env(1) and nice(1) have it */
#define TOOL_RUN_FAILED 125

/* The commands; they return the exit status, @argv[0] is their name. */
int tool_list(int argc, char **argv);
int tool_run(const ToolArgs *args, Error **errp);

/**
 * tool_registry_dir:
 * @named: the directory that the user named, or NULL
 * @root: the captured host that stands for this one, or NULL
 * @errp: pointer to error object
 *
 * What is held on a captured host must not seem to be held on this one, so
 * without @named it has a registry of its own.
 *
 * Returns: the directory, to free with g_free(), or NULL with @errp set.
 */
char *tool_registry_dir(const char *named, const char *root, Error **errp);

#endif /* TOOL_REGISTRY_H */
