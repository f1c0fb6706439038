/*
 * qemu-pinning: what others hold
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-pinning.h"
#include "qapi/qobject-input-visitor.h"
#include "qobject/qjson.h"
#include "tool.h"

/* More than any host has to say; keeps a wrong file from filling memory */
#define MOST_BYTES (16 * 1024 * 1024)

PinningTaken *tool_taken_from_json(const char *json, Error **errp)
{
    QObject *obj = qobject_from_json(json, errp);
    PinningTaken *taken = NULL;
    Visitor *v;

    if (!obj) {
        return NULL;
    }
    v = qobject_input_visitor_new(obj);
    visit_type_PinningTaken(v, NULL, &taken, errp);
    visit_free(v);
    qobject_unref(obj);
    return taken;
}

static bool read_file(const char *file, char **text, Error **errp)
{
    g_autoptr(GError) gerr = NULL;
    struct stat st;

    if (stat(file, &st) < 0) {
        error_setg_errno(errp, errno, "cannot read '%s'", file);
        return false;
    }
    if (!S_ISREG(st.st_mode) || st.st_size > MOST_BYTES) {
        error_setg(errp, "'%s' is not a file of at most %d MiB", file,
                   MOST_BYTES / (1024 * 1024));
        return false;
    }
    if (!g_file_get_contents(file, text, NULL, &gerr)) {
        error_setg(errp, "%s", gerr->message);
        return false;
    }
    return true;
}

PinningTaken *tool_taken_from_file(const char *file, Error **errp)
{
    ERRP_GUARD();
    g_autofree char *text = NULL;
    PinningTaken *taken;

    if (!read_file(file, &text, errp)) {
        return NULL;
    }
    taken = tool_taken_from_json(text, errp);
    if (!taken) {
        error_prepend(errp, "'%s' does not say what is taken: ", file);
    }
    return taken;
}
