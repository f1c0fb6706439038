/*
 * qemu-pinning status --prometheus
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qobject/qlist.h"
#include "tool-status.h"

typedef struct Metrics {
    GString *text;
    char *vm;               /* label of all of them, quoted */
} Metrics;

/* The format's rule for what is between the quotes of a label */
static char *quote(const char *value)
{
    GString *text = g_string_new("\"");

    for (; *value; value++) {
        if (*value == '\n') {
            g_string_append(text, "\\n");
            continue;
        }
        if (*value == '"' || *value == '\\') {
            g_string_append_c(text, '\\');
        }
        g_string_append_c(text, *value);
    }
    g_string_append_c(text, '"');
    return g_string_free(text, false);
}

static void begin(Metrics *m, const char *metric, const char *type,
                  const char *help)
{
    g_string_append_printf(m->text, "# HELP qemu_pinning_%s %s\n"
                           "# TYPE qemu_pinning_%s %s\n", metric, help,
                           metric, type);
}

static void G_GNUC_PRINTF(4, 5) add(Metrics *m, const char *metric,
                                    int64_t value, const char *labels, ...)
{
    va_list ap;

    g_string_append_printf(m->text, "qemu_pinning_%s{vm=%s", metric, m->vm);
    va_start(ap, labels);
    g_string_append_vprintf(m->text, labels, ap);
    va_end(ap);
    g_string_append_printf(m->text, "} %" PRId64 "\n", value);
}

static const QList *list_of(const QDict *dict, const char *key)
{
    static QList *empty;

    if (!empty) {
        empty = qlist_new();
    }
    return qobject_to(QList, qdict_get(dict, key)) ?: empty;
}

static const QDict *dict_at(const QListEntry *entry)
{
    return qobject_to(QDict, qlist_entry_obj(entry));
}

/* One figure of each vCPU, where it is known */
static void add_vcpus(Metrics *m, const QDict *info, const char *key,
                      const char *metric)
{
    const QListEntry *entry;

    QLIST_FOREACH_ENTRY(list_of(info, "threads"), entry) {
        const QDict *thread = dict_at(entry);

        if (qdict_haskey(thread, "vcpu") && qdict_haskey(thread, key)) {
            add(m, metric, qdict_get_try_int(thread, key, 0),
                ",vcpu=\"%" PRId64 "\"", qdict_get_try_int(thread, "vcpu", 0));
        }
    }
}

static void add_vcpus_in_place(Metrics *m, const QDict *info)
{
    const QListEntry *entry;

    QLIST_FOREACH_ENTRY(list_of(info, "threads"), entry) {
        const QDict *thread = dict_at(entry);

        if (qdict_haskey(thread, "vcpu") &&
            tool_status_in_place(thread) >= 0) {
            add(m, "vcpu_in_place", tool_status_in_place(thread),
                ",vcpu=\"%" PRId64 "\"", qdict_get_try_int(thread, "vcpu", 0));
        }
    }
}

/* Iothreads and vhost workers are the other threads that have a device */
static void add_io_in_place(Metrics *m, const QDict *info)
{
    const QListEntry *entry;

    QLIST_FOREACH_ENTRY(list_of(info, "threads"), entry) {
        const QDict *thread = dict_at(entry);
        const char *device = qdict_get_try_str(thread, "device");
        g_autofree char *quoted = device ? quote(device) : NULL;

        if (device && tool_status_in_place(thread) >= 0) {
            add(m, "io_in_place", tool_status_in_place(thread),
                ",role=\"%s\",device=%s,queue=\"%" PRId64 "\",thread=\"%"
                PRId64 "\"", qdict_get_try_str(thread, "role"), quoted,
                qdict_get_try_int(thread, "queue", 0),
                qdict_get_try_int(thread, "thread-id", 0));
        }
    }
}

static void add_memory(Metrics *m, const QDict *info)
{
    const QListEntry *entry, *there;

    QLIST_FOREACH_ENTRY(list_of(info, "memory"), entry) {
        const QDict *memory = dict_at(entry);

        QLIST_FOREACH_ENTRY(list_of(memory, "actual"), there) {
            const QDict *part = dict_at(there);

            add(m, "memory_bytes", qdict_get_try_int(part, "size", 0),
                ",guest_node=\"%" PRId64 "\",host_node=\"%" PRId64 "\"",
                qdict_get_try_int(memory, "guest-node", 0),
                qdict_get_try_int(part, "host-node", 0));
        }
    }
}

static const char *mode_of(const QDict *info)
{
    const QDict *options = qobject_to(QDict, qdict_get(info, "options"));

    return (options ? qdict_get_try_str(options, "mode") : NULL) ?: "none";
}

char *tool_status_metrics(const char *name, const QDict *info)
{
    g_autofree char *vm = quote(name);
    Metrics m = { .text = g_string_new(""), .vm = vm };

    begin(&m, "enabled", "gauge", "Whether the machine is placed.");
    add(&m, "enabled", qdict_get_try_bool(info, "enabled", false),
        ",mode=\"%s\"", mode_of(info));
    begin(&m, "vcpu_in_place", "gauge",
          "Whether the vCPU has the host CPUs that it should have.");
    add_vcpus_in_place(&m, info);
    begin(&m, "vcpu_host_cpu", "gauge", "Host CPU that the vCPU last ran on.");
    add_vcpus(&m, info, "last-cpu", "vcpu_host_cpu");
    begin(&m, "vcpu_preempted_total", "counter",
          "How often the vCPU was taken off its host CPU against its will.");
    add_vcpus(&m, info, "moves", "vcpu_preempted_total");
    begin(&m, "vcpu_stacked_total", "counter",
          "How often another vCPU waited for the same host CPU at a look.");
    add_vcpus(&m, info, "stacked", "vcpu_stacked_total");
    begin(&m, "io_in_place", "gauge", "Whether the iothread or the vhost"
          " worker has the host CPU that it should have.");
    add_io_in_place(&m, info);
    begin(&m, "memory_bytes", "gauge",
          "Guest memory by guest node and host node.");
    add_memory(&m, info);
    begin(&m, "overlaps", "gauge",
          "How many others hold some of the machine's host CPUs.");
    add(&m, "overlaps", qlist_size(list_of(info, "overlaps")), "%s", "");
    begin(&m, "warnings", "gauge",
          "How many things could not be done as one would expect.");
    add(&m, "warnings", qlist_size(list_of(info, "warnings")), "%s", "");
    return g_string_free(m.text, false);
}
