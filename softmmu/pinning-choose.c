/*
 * Choosing a place among all that are on this host
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/uuid.h"
#include "system/system.h"
#include "pinning-internal.h"
#include "pinning-io.h"
#include "pinning-plug.h"

/* Without a registry machines do not see each other, which is no error */
bool pinning_open_registry(PinningState *state, Error **errp)
{
    const char *wish = state->options->registry;
    g_autofree char *dir = NULL;
    Error *err = NULL;

    if (g_strcmp0(wish, "off") == 0 || state->registry) {
        return true;
    }
    dir = wish ? g_strdup(wish) : pinning_registry_default_dir();
    if (dir) {
        state->registry = pinning_registry_open(dir, &err);
    } else {
        error_setg(&err, "no directory for reservations: neither"
                   " /run/qemu-pinning nor XDG_RUNTIME_DIR can be used");
    }
    if (!err) {
        return true;
    }
    if (wish || state->options->exclusive) {
        error_propagate(errp, err);
        return false;
    }
    warn_reportf_err(err, "pinning: other machines are not seen: ");
    return true;
}

bool pinning_choose(PinningState *state, Error **errp)
{
    g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
    g_autofree char *uuid = qemu_uuid_unparse_strdup(&qemu_uuid);
    strList *warning;
    int i;

    if (!pinning_open_registry(state, errp)) {
        return false;
    }
    state->plan = pinning_registry_choose(state->registry, state->topo,
                                          &state->req,
                                          qemu_get_vm_name() ?: "unnamed",
                                          qemu_uuid_set ? uuid : NULL,
                                          warnings, errp);
    for (i = 0; i < warnings->len; i++) {
        warn_report("pinning: %s", (char *)g_ptr_array_index(warnings, i));
    }
    if (!state->plan) {
        return false;
    }
    for (warning = state->plan->warnings; warning; warning = warning->next) {
        warn_report("pinning: %s", warning->value);
    }
    return true;
}

PinningReservation *pinning_reservation_of(const PinningState *state)
{
    g_autofree char *uuid = qemu_uuid_unparse_strdup(&qemu_uuid);
    PinningReservation *entry;

    entry = pinning_reservation_new(qemu_get_vm_name() ?: "unnamed",
                                    qemu_uuid_set ? uuid : NULL,
                                    &state->req, state->plan);
    pinning_plug_promise(state, entry);
    entry->io_load = pinning_io_load();
    entry->has_io_load = entry->io_load != NULL;
    return entry;
}

bool pinning_reserve(const PinningState *state, Error **errp)
{
    g_autoptr(PinningReservation) entry = NULL;
    bool ok;

    if (!state->registry || !state->plan) {
        return true;
    }
    if (!pinning_registry_lock(state->registry, errp)) {
        return false;
    }
    entry = pinning_reservation_of(state);
    ok = pinning_registry_record(state->registry, entry, errp);
    pinning_registry_unlock(state->registry);
    return ok;
}
