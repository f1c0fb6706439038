/*
 * qemu-pinning run: what the user asks for
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef TOOL_RUN_H
#define TOOL_RUN_H

#include "qemu/pinning-plan.h"

typedef struct RunOptions {
    PinningRequest request;
    PinningOptions *options;    /* those of @request */
    const char *root;           /* captured host, or NULL for this one */
    const char *registry;       /* directory, "off", or NULL */
    const char *name;           /* of the entry */
    char **command;             /* points into argv */
} RunOptions;

void run_options_cleanup(RunOptions *o);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RunOptions, run_options_cleanup)

/*
 * Returns: true, or false with the exit status in @status and all said that
 * there is to say.
 */
bool tool_run_parse(RunOptions *o, int argc, char **argv, int *status);

#endif /* TOOL_RUN_H */
