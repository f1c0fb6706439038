/*
 * qemu-pinning list: who holds what on this host
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <getopt.h>
#include "qapi/error.h"
#include "qapi/qapi-visit-pinning.h"
#include "qapi/qobject-output-visitor.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/pinning-registry.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qobject/qlist.h"
#include "tool-registry.h"

static const char usage[] =
    "Usage: qemu-pinning list [--json] [--gc] [--registry DIR]\n"
    "                         [--root CAPTURE]\n"
    "\n"
    "Show who holds which host CPUs and how much memory.  Entries whose\n"
    "holder is gone are marked as dead; they hold nothing.\n"
    "\n"
    "  --json           print a JSON array of PinningReservation; a dead\n"
    "                   entry has pid 0\n"
    "  --gc             remove the files of dead entries first\n"
    "  --registry DIR   directory of the registry\n"
    "  --root CAPTURE   the registry of \"run --root\"\n"
    "  --help           print this text\n";

typedef struct ListOptions {
    bool json;
    bool gc;
    const char *registry;
    const char *root;
} ListOptions;

static void print_memory(const PinningReservation *entry)
{
    PinningReservationMemoryList *m;
    const char *sep = "";

    for (m = entry->memory; m; m = m->next) {
        g_autofree char *size = size_to_str(m->value->size);
        g_autofree char *pages = m->value->page_size
                                 ? size_to_str(m->value->page_size) : NULL;

        printf("%snode %" PRIu32 ": %s%s%s%s", sep, m->value->host_node, size,
               pages ? " (pages of " : "", pages ?: "", pages ? ")" : "");
        sep = ", ";
    }
}

static void print_entry(const PinningReservation *entry)
{
    printf("%s: ", entry->name);
    if (entry->pid) {
        printf("pid %" PRId64, entry->pid);
    } else {
        printf("dead");
    }
    printf(", %s%s\n", PinningMode_str(entry->mode),
           entry->exclusive ? ", exclusive" : "");
    printf("    CPUs:   %s (%" PRIu32 " vCPUs)\n", entry->host_cpus,
           entry->vcpus);
    if (*entry->parked_cpus) {
        printf("    parked: %s\n", entry->parked_cpus);
    }
    if (*entry->io_cpus) {
        printf("    I/O:    %s\n", entry->io_cpus);
    }
    if (entry->memory) {
        printf("    memory: ");
        print_memory(entry);
        printf("\n");
    }
}

static QDict *entry_json(PinningReservation *entry)
{
    QObject *obj = NULL;
    Visitor *v = qobject_output_visitor_new(&obj);

    visit_type_PinningReservation(v, NULL, &entry, &error_abort);
    visit_complete(v, &obj);
    visit_free(v);
    return qobject_to(QDict, obj);
}

static void print_list(const GPtrArray *list, bool json)
{
    g_autoptr(QList) array = qlist_new();
    g_autoptr(GString) text = NULL;
    unsigned i;

    for (i = 0; i < list->len; i++) {
        if (json) {
            qlist_append(array, entry_json(list->pdata[i]));
        } else {
            print_entry(list->pdata[i]);
        }
    }
    if (json) {
        text = qobject_to_json_pretty(QOBJECT(array), true);
        puts(text->str);
    }
}

static bool list_parse(ListOptions *o, int argc, char **argv, int *status)
{
    static const struct option options[] = {
        { "json", no_argument, NULL, 'j' },
        { "gc", no_argument, NULL, 'g' },
        { "registry", required_argument, NULL, 'r' },
        { "root", required_argument, NULL, 'R' },
        { "help", no_argument, NULL, 'h' },
        { }
    };
    int c;

    optind = 0;
    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (c) {
        case 'j':
            o->json = true;
            break;
        case 'g':
            o->gc = true;
            break;
        case 'r':
            o->registry = optarg;
            break;
        case 'R':
            o->root = optarg;
            break;
        case 'h':
            fputs(usage, stdout);
            *status = 0;
            return false;
        default:
            *status = 1;
            return false;
        }
    }
    if (optind < argc) {
        error_report("list takes no argument, '%s' is one", argv[optind]);
        *status = 1;
        return false;
    }
    return true;
}

static bool list_entries(const ListOptions *o, PinningRegistry *reg,
                         Error **errp)
{
    g_autoptr(GPtrArray) warnings = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GPtrArray) list = NULL;
    unsigned i;
    int removed;

    if (o->gc) {
        removed = pinning_registry_collect(reg, errp);
        if (removed < 0) {
            return false;
        }
        fprintf(stderr, "%d removed\n", removed);
    }
    list = pinning_registry_list(reg, true, warnings, errp);
    if (!list) {
        return false;
    }
    for (i = 0; i < warnings->len; i++) {
        warn_report("%s", (char *)warnings->pdata[i]);
    }
    print_list(list, o->json);
    return true;
}

int tool_list(int argc, char **argv)
{
    ListOptions o = { };
    g_autoptr(PinningRegistry) reg = NULL;
    g_autofree char *dir = NULL;
    Error *err = NULL;
    int status;

    if (!list_parse(&o, argc, argv, &status)) {
        return status;
    }
    dir = tool_registry_dir(o.registry, o.root, &err);
    if (dir && access(dir, F_OK) < 0 && errno == ENOENT) {
        /* Who looks must not make; without a registry nobody holds a thing */
        g_autoptr(GPtrArray) nobody = g_ptr_array_new();

        if (!o.registry) {
            print_list(nobody, o.json);
            return 0;
        }
        error_setg(&err, "Registry '%s' does not exist", dir);
    }
    reg = err ? NULL : pinning_registry_open(dir, &err);
    if (!reg || !list_entries(&o, reg, &err)) {
        error_report_err(err);
        return 1;
    }
    return 0;
}
