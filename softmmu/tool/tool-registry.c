/*
 * qemu-pinning: where the registry of reservations is
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/pinning-registry.h"
#include "tool-registry.h"

char *tool_registry_dir(const char *named, const char *root, Error **errp)
{
    ERRP_GUARD();
    g_autofree char *dir = NULL;

    if (named) {
        return g_strdup(named);
    }
    dir = pinning_registry_default_dir();
    if (!dir) {
        error_setg(errp, "No directory for the registry");
        error_append_hint(errp, "Name one with --registry, or set"
                          " XDG_RUNTIME_DIR.\n");
        return NULL;
    }
    return root ? g_strconcat(dir, "-captured", NULL)
                : g_steal_pointer(&dir);
}
