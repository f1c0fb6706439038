/*
 * qemu-pinning status: where a running machine is
 *
 * The machine may be another version's: what it does not say is left out,
 * and what is not known here is not looked at.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <getopt.h>
#include "qapi/error.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "qobject/qstring.h"
#include "tool-qmp.h"
#include "tool-status.h"

static const char usage[] =
    "Usage: qemu-pinning status [--json | --prometheus] SOCKET\n"
    "\n"
    "Show where the threads and the memory of a running machine are.  SOCKET\n"
    "is the path of its QMP socket, or HOST:PORT.\n"
    "\n"
    "  --json           print what query-pinning returns\n"
    "  --prometheus     print metrics for Prometheus' textfile collector\n"
    "  --help           print this text\n";

typedef struct StatusOptions {
    bool json;
    bool prometheus;
    const char *socket;
} StatusOptions;

int tool_status_in_place(const QDict *thread)
{
    const char *wanted = qdict_get_try_str(thread, "wanted-cpus");
    const char *actual = qdict_get_try_str(thread, "actual-cpus");

    return wanted && actual ? g_str_equal(wanted, actual) : -1;
}

static const char *text_of(const QDict *dict, const char *key)
{
    return qdict_get_try_str(dict, key) ?: "-";
}

static char *name_of_thread(const QDict *thread)
{
    const char *role = text_of(thread, "role");
    const char *device = qdict_get_try_str(thread, "device");

    if (qdict_haskey(thread, "vcpu")) {
        return g_strdup_printf("%s %" PRId64, role,
                               qdict_get_try_int(thread, "vcpu", 0));
    }
    if (qdict_haskey(thread, "queue")) {
        return g_strdup_printf("%s %s/%" PRId64, role, device ?: "",
                               qdict_get_try_int(thread, "queue", 0));
    }
    return g_strdup_printf("%s%s%s", role, device ? " " : "", device ?: "");
}

static void print_thread(const QDict *thread)
{
    g_autofree char *name = name_of_thread(thread);
    g_autofree char *last = qdict_haskey(thread, "last-cpu") ?
        g_strdup_printf("%" PRId64, qdict_get_try_int(thread, "last-cpu", 0)) :
        g_strdup("-");

    printf("%-20s %8" PRId64 "  %-12s %-12s %4s%s\n", name,
           qdict_get_try_int(thread, "thread-id", 0),
           text_of(thread, "wanted-cpus"), text_of(thread, "actual-cpus"),
           last, tool_status_in_place(thread) ? "" : "  not in place");
}

static void print_memory(const QDict *memory)
{
    g_autofree char *size = size_to_str(qdict_get_try_int(memory, "size", 0));
    const QList *actual = qobject_to(QList, qdict_get(memory, "actual"));
    const char *nodes = text_of(memory, "host-nodes");
    const QListEntry *entry;
    const char *sep = ": ";

    printf("guest node %" PRId64 ", %s, ",
           qdict_get_try_int(memory, "guest-node", 0), size);
    if (*nodes) {
        printf("%s on host nodes %s", text_of(memory, "policy"), nodes);
    } else {
        printf("left alone");
    }
    for (entry = actual ? qlist_first(actual) : NULL; entry;
         entry = qlist_next(entry)) {
        const QDict *part = qobject_to(QDict, qlist_entry_obj(entry));
        g_autofree char *there = size_to_str(qdict_get_try_int(part, "size",
                                                               0));

        printf("%s%s on %" PRId64, sep, there,
               qdict_get_try_int(part, "host-node", 0));
        sep = ", ";
    }
    printf("\n");
}

static void print_advice(const QDict *advice)
{
    printf("%s, queue %" PRId64 ": host CPUs %s (%s)\n",
           text_of(advice, "device"), qdict_get_try_int(advice, "queue", 0),
           text_of(advice, "host-cpus"), text_of(advice, "reason"));
}

static void print_overlap(const QDict *other)
{
    printf("%s, pid %" PRId64 ", %s: host CPUs %s\n", text_of(other, "name"),
           qdict_get_try_int(other, "pid", 0), text_of(other, "mode"),
           text_of(other, "host-cpus"));
}

/* A section of the text, if there is anything for it */
static void print_each(const QDict *info, const char *key, const char *title,
                       void (*print)(const QDict *entry))
{
    const QList *list = qobject_to(QList, qdict_get(info, key));
    const QListEntry *entry;

    if (!list || qlist_empty(list)) {
        return;
    }
    printf("\n%s\n", title);
    QLIST_FOREACH_ENTRY(list, entry) {
        const QDict *dict = qobject_to(QDict, qlist_entry_obj(entry));
        const QString *text = qobject_to(QString, qlist_entry_obj(entry));

        if (dict && print) {
            print(dict);
        } else if (text) {
            printf("%s\n", qstring_get_str(text));
        }
    }
}

static void print_text(const char *name, const QDict *info)
{
    const QDict *options = qobject_to(QDict, qdict_get(info, "options"));
    const char *mode = options ? qdict_get_try_str(options, "mode") : NULL;

    printf("%s: %s\n", name, qdict_get_try_bool(info, "enabled", false) ?
           mode ?: "placed" : "not placed");
    print_each(info, "threads", "thread                     id  wanted       "
               "actual       last", print_thread);
    print_each(info, "memory", "memory", print_memory);
    print_each(info, "advice", "advice for the programs behind these devices",
               print_advice);
    print_each(info, "overlaps", "others on the same host CPUs",
               print_overlap);
    print_each(info, "warnings", "warnings", NULL);
}

static bool status_parse(StatusOptions *o, int argc, char **argv, int *status)
{
    static const struct option options[] = {
        { "json", no_argument, NULL, 'j' },
        { "prometheus", no_argument, NULL, 'p' },
        { "help", no_argument, NULL, 'h' },
        { }
    };
    int c;

    *status = 1;
    optind = 0;
    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (c) {
        case 'j':
            o->json = true;
            break;
        case 'p':
            o->prometheus = true;
            break;
        case 'h':
            fputs(usage, stdout);
            *status = 0;
            return false;
        default:
            return false;
        }
    }
    if (optind != argc - 1) {
        error_report("status takes the QMP socket of one machine");
        return false;
    }
    if (o->json && o->prometheus) {
        error_report("--json and --prometheus exclude each other");
        return false;
    }
    o->socket = argv[optind];
    return true;
}

static void print_info(const StatusOptions *o, const char *name,
                       const QDict *info)
{
    g_autofree char *metrics = NULL;
    g_autoptr(GString) json = NULL;

    if (o->json) {
        json = qobject_to_json_pretty(QOBJECT(info), true);
        puts(json->str);
    } else if (o->prometheus) {
        metrics = tool_status_metrics(name, info);
        fputs(metrics, stdout);
    } else {
        print_text(name, info);
    }
}

int tool_status(int argc, char **argv)
{
    StatusOptions o = { };
    g_autoptr(ToolQmp) qmp = NULL;
    g_autoptr(QDict) names = NULL;
    g_autoptr(QDict) info = NULL;
    const char *name;
    Error *err = NULL;
    int status;

    if (!status_parse(&o, argc, argv, &status)) {
        return status;
    }
    qmp = tool_qmp_new(o.socket, &err);
    names = qmp ? qobject_to(QDict, tool_qmp_run(qmp, "query-name", &err))
                : NULL;
    info = names ? qobject_to(QDict, tool_qmp_run(qmp, "query-pinning", &err))
                 : NULL;
    if (!info) {
        error_report_err(err);
        return 1;
    }
    name = qdict_get_try_str(names, "name");
    print_info(&o, name ?: o.socket, info);
    return 0;
}
