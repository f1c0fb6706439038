/*
 * Entries of the registry of reservations: text and PinningReservation
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-pinning.h"
#include "qapi/qobject-input-visitor.h"
#include "qapi/qobject-output-visitor.h"
#include "qemu/cpulist.h"
#include "qemu/host-utils.h"
#include "qemu/pinning-registry-int.h"
#include "qemu/units.h"
#include "qobject/qjson.h"
#include "qobject/qnum.h"

/* Summing up compares promises with one another */
#define ENTRY_MAX_PROMISES 4096

static QDict *entry_dict(const char *data, size_t len, Error **errp)
{
    g_autofree char *text = NULL;
    QObject *obj;
    QDict *dict;

    if (len > PINNING_ENTRY_MAX_SIZE) {
        error_setg(errp, "it is longer than %u bytes",
                   (unsigned)PINNING_ENTRY_MAX_SIZE);
        return NULL;
    }
    if (memchr(data, '\0', len)) {
        error_setg(errp, "it is not text");
        return NULL;
    }

    text = g_strndup(data, len);
    obj = qobject_from_json(text, errp);
    if (!obj) {
        return NULL;
    }
    dict = qobject_to(QDict, obj);
    if (!dict) {
        error_setg(errp, "it is not a JSON object");
        qobject_unref(obj);
    }
    return dict;
}

/*
 * The version comes first: of a later format nothing else can be relied on,
 * and "Parameter 'x' is missing" would be the wrong thing to say about it.
 */
static bool entry_check_version(const QDict *dict, Error **errp)
{
    QNum *num = qobject_to(QNum, qdict_get(dict, "version"));
    int64_t version;

    if (!num || !qnum_get_try_int(num, &version)) {
        error_setg(errp, "it has no 'version' that is a number");
        return false;
    }
    if (version != PINNING_ENTRY_VERSION) {
        error_setg(errp, "its version is %" PRId64 ", only %d is known",
                   version, PINNING_ENTRY_VERSION);
        return false;
    }
    return true;
}

/*
 * Like visit_type_PinningReservation(), but members that the schema does
 * not have are no error: a later QEMU may add some without a new version.
 */
static PinningReservation *entry_from_dict(QDict *dict, Error **errp)
{
    Visitor *v = qobject_input_visitor_new(QOBJECT(dict));
    PinningReservation *entry = NULL;
    bool ok = false;

    if (visit_start_struct(v, NULL, (void **)&entry, sizeof(*entry), errp)) {
        ok = visit_type_PinningReservation_members(v, entry, errp);
        visit_end_struct(v, (void **)&entry);
    }
    visit_free(v);
    if (!ok) {
        qapi_free_PinningReservation(entry);
        return NULL;
    }
    return entry;
}

static QDict *entry_to_dict(const PinningReservation *entry)
{
    PinningReservation *arg = (PinningReservation *)entry;
    QObject *obj = NULL;
    Visitor *v = qobject_output_visitor_new(&obj);

    visit_type_PinningReservation(v, NULL, &arg, &error_abort);
    visit_complete(v, &obj);
    visit_free(v);
    return qobject_to(QDict, obj);
}

static bool entry_check_cpus(const char *member, const char *list,
                             Error **errp)
{
    ERRP_GUARD();
    g_autoptr(CpuSet) set = NULL;

    if (!*list) {
        return true;
    }
    set = cpulist_parse(list, errp);
    if (!set) {
        error_prepend(errp, "its '%s': ", member);
        return false;
    }
    return true;
}

/*
 * Names are printed on terminals of other users, who must not be at the
 * mercy of what is in them.
 */
static bool entry_check_text(const char *member, const char *text,
                             Error **errp)
{
    const char *p;

    if (!g_utf8_validate(text, -1, NULL)) {
        error_setg(errp, "its '%s' is not UTF-8", member);
        return false;
    }
    for (p = text; *p; p = g_utf8_next_char(p)) {
        if (g_unichar_iscntrl(g_utf8_get_char(p))) {
            error_setg(errp, "its '%s' has a control character", member);
            return false;
        }
    }
    return true;
}

/* The visitor takes -1 for 2^64 - 1; no memory is that large */
static bool entry_check_memory(const PinningReservation *entry, Error **errp)
{
    PinningReservationMemoryList *m;
    unsigned n = 0;

    for (m = entry->memory; m; m = m->next) {
        if (++n > ENTRY_MAX_PROMISES) {
            error_setg(errp, "it has more than %d promises of memory",
                       ENTRY_MAX_PROMISES);
            return false;
        }
        if (m->value->host_node > CPUSET_MAX) {
            error_setg(errp, "its host node %" PRIu32 " is above %d",
                       m->value->host_node, CPUSET_MAX);
            return false;
        }
        if (m->value->size > INT64_MAX) {
            error_setg(errp, "its memory size %" PRIu64 " is out of range",
                       m->value->size);
            return false;
        }
        if (m->value->page_size && !is_power_of_2(m->value->page_size)) {
            error_setg(errp, "its page size %" PRIu64
                       " is not a power of two", m->value->page_size);
            return false;
        }
    }
    return true;
}

static bool entry_check_load(const char *member,
                             const PinningTakenCpuList *cpu, Error **errp)
{
    unsigned n = 0;

    for (; cpu; cpu = cpu->next) {
        if (++n > ENTRY_MAX_PROMISES) {
            error_setg(errp, "it has more than %d loads of host CPUs",
                       ENTRY_MAX_PROMISES);
            return false;
        }
        if (!entry_check_cpus(member, cpu->value->host_cpus, errp)) {
            return false;
        }
    }
    return true;
}

static bool entry_check(const PinningReservation *entry, Error **errp)
{
    return entry_check_text("name", entry->name, errp) &&
           (!entry->uuid || entry_check_text("uuid", entry->uuid, errp)) &&
           entry_check_cpus("host-cpus", entry->host_cpus, errp) &&
           entry_check_cpus("parked-cpus", entry->parked_cpus, errp) &&
           entry_check_cpus("io-cpus", entry->io_cpus, errp) &&
           entry_check_load("cpu-load", entry->cpu_load, errp) &&
           entry_check_load("io-load", entry->io_load, errp) &&
           entry_check_memory(entry, errp);
}

/*
 * What the schema knows of an entry is what comes back when the entry is
 * written again; so there is no list of members here to fall behind it.
 */
static QDict *entry_unknown(QDict *dict, const PinningReservation *entry)
{
    g_autoptr(QDict) known = entry_to_dict(entry);
    g_autoptr(QDict) unknown = qdict_clone_shallow(dict);
    const QDictEntry *e;

    for (e = qdict_first(known); e; e = qdict_next(known, e)) {
        qdict_del(unknown, qdict_entry_key(e));
    }
    return qdict_size(unknown) ? g_steal_pointer(&unknown) : NULL;
}

PinningReservation *pinning_entry_parse(const char *data, size_t len,
                                        QDict **unknown, Error **errp)
{
    ERRP_GUARD();
    g_autoptr(QDict) dict = entry_dict(data, len, errp);
    g_autoptr(PinningReservation) entry = NULL;

    if (!dict || !entry_check_version(dict, errp)) {
        return NULL;
    }
    entry = entry_from_dict(dict, errp);
    if (!entry || !entry_check(entry, errp)) {
        return NULL;
    }
    if (unknown) {
        *unknown = entry_unknown(dict, entry);
    }
    return g_steal_pointer(&entry);
}

static GString *entry_text(const PinningReservation *entry,
                           const QDict *unknown, Error **errp)
{
    g_autoptr(QDict) dict = entry_to_dict(entry);
    g_autoptr(PinningReservation) again = NULL;
    const QDictEntry *e;
    GString *text;

    for (e = unknown ? qdict_first(unknown) : NULL; e;
         e = qdict_next(unknown, e)) {
        if (!qdict_haskey(dict, qdict_entry_key(e))) {
            qdict_put_obj(dict, qdict_entry_key(e),
                          qobject_ref(qdict_entry_value(e)));
        }
    }

    text = qobject_to_json_pretty(QOBJECT(dict), true);
    g_string_append_c(text, '\n');

    /* An entry that others skip would reserve nothing */
    again = pinning_entry_parse(text->str, text->len, NULL, errp);
    if (!again) {
        g_string_free(text, true);
        return NULL;
    }
    return text;
}

GString *pinning_entry_format(const PinningReservation *entry,
                              const QDict *unknown, Error **errp)
{
    ERRP_GUARD();
    GString *text;

    /*
     * What somebody added may be too long, or a number that can be read but
     * not written (1e999); it must not cost the entry.
     */
    text = unknown ? entry_text(entry, unknown, NULL) : NULL;
    if (!text) {
        text = entry_text(entry, NULL, errp);
    }
    if (!text) {
        error_prepend(errp, "an entry cannot say that: ");
    }
    return text;
}
