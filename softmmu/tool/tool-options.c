/*
 * qemu-pinning: command lines
 *
 * The words are those of QEMU: every accelerator property "pinning-NAME" is
 * an option --NAME, or --pinning-NAME.  Only --memory is taken: it says how
 * much of it the machine has, like -m; the policy is --memory-policy.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <getopt.h>
#include "qapi/error.h"
#include "tool.h"

typedef struct ToolOption {
    const char *name;
    unsigned group;         /* TOOL_... */
    const char *value;      /* name of its value for --help, or NULL */
    const char *what;
    bool pinning;           /* a member of PinningOptions */
} ToolOption;

static const ToolOption options[] = {
    { "root", TOOL_HOST, "DIR|FILE",
      "a captured host instead of this one" },
    { "affinity", TOOL_HOST, "LIST",
      "host CPUs that the process may use" },
    { "mode", TOOL_PLAN, "MODE",
      "none, balanced, numa, spread, one-to-one", true },
    { "smp", TOOL_PLAN, "SMP", "as -smp: 8,sockets=4" },
    { "memory", TOOL_PLAN, "SIZE", "as -m: 8G" },
    { "page-size", TOOL_PLAN, "SIZE", "memory is in pages of this size: 2M" },
    { "prealloc", TOOL_PLAN, NULL, "as -mem-prealloc" },
    { "numa", TOOL_PLAN, "NUMA",
      "as -numa: node,cpus=0-1,hostnodes=2; repeatable" },
    { "cpus", TOOL_PLAN, "LIST", "host CPUs that may be used at all", true },
    { "hostnodes", TOOL_PLAN, "LIST", "host nodes that may be used", true },
    { "smt", TOOL_PLAN, "SMT", "prefer, isolate, require", true },
    { "cpu-kind", TOOL_PLAN, "KIND",
      "largest, performance, efficient, any", true },
    { "strategy", TOOL_PLAN, "STRATEGY", "spread, pack", true },
    { "memory-policy", TOOL_PLAN, "POLICY",
      "pinning-memory: bind, preferred, interleave, none", true },
    { "emulator-cpus", TOOL_PLAN, "LIST",
      "host CPUs of the main loop and helper threads", true },
    { "io-cpus", TOOL_PLAN, "LIST",
      "host CPUs of iothreads and vhost workers", true },
    { "vnuma", TOOL_PLAN, "on|off",
      "a guest node for each socket; on if there are several", true },
    { "guest-topology", TOOL_PLAN, "WHAT", "keep, host", true },
    { "exclusive", TOOL_TRIAL, "on|off", "share no host CPU", true },
    { "exclusive", TOOL_RUN, NULL, "nobody else may use these host CPUs",
      true },
    { "device-nodes", TOOL_PLAN, "LIST", "host nodes of assigned devices" },
    { "taken", TOOL_TRIAL, "FILE", "what others hold: PinningTaken as JSON" },
    { "registry", TOOL_RUN, "DIR|off", "directory of the registry" },
    { "name", TOOL_RUN, "NAME", "name of the entry; that of the command" },
    { "json", TOOL_JSON, NULL, "print what the QMP command returns" },
    { "svg", TOOL_MAP, "FILE", "draw into FILE as SVG" },
    { "width", TOOL_MAP, "COLUMNS", "columns of text; the terminal's" },
};

void tool_print_options(unsigned accepts)
{
    for (int i = 0; i < ARRAY_SIZE(options); i++) {
        const ToolOption *o = &options[i];
        g_autofree char *text = g_strdup_printf("--%s %s", o->name,
                                                o->value ?: "");

        if (o->group & accepts) {
            printf("  %-26s %s\n", text, o->what);
        }
    }
}

/* The member of PinningOptions that @o sets */
static const char *member_of(const ToolOption *o)
{
    return !strcmp(o->name, "memory-policy") ? "memory" : o->name;
}

/*
 * Lists are given in one word, as the kernel writes them.  Who is used to
 * double the comma for -accel may do so.  A repeated list adds up.
 */
static void set_pinning(ToolArgs *args, const ToolOption *o,
                        const char *value)
{
    const char *before = qdict_get_try_str(args->pinning, member_of(o));
    bool list = !g_strcmp0(o->value, "LIST");
    g_auto(GStrv) parts = g_strsplit(value ?: "on", ",,", 0);
    g_autofree char *once = g_strjoinv(",", parts);
    g_autofree char *sum = list && before
        ? g_strdup_printf("%s,%s", before, once) : g_strdup(once);

    qdict_put_str(args->pinning, member_of(o), sum);
}

static void set_string(char **to, const char *value)
{
    g_free(*to);
    *to = g_strdup(value);
}

static char **string_of(ToolArgs *args, const char *name)
{
    const struct {
        const char *name;
        char **to;
    } strings[] = {
        { "root", &args->root },
        { "affinity", &args->affinity },
        { "smp", &args->smp },
        { "memory", &args->memory },
        { "page-size", &args->page_size },
        { "device-nodes", &args->device_nodes },
        { "taken", &args->taken },
        { "svg", &args->svg },
        { "width", &args->width },
        { "registry", &args->registry },
        { "name", &args->name },
    };

    for (int i = 0; i < ARRAY_SIZE(strings); i++) {
        if (!strcmp(strings[i].name, name)) {
            return strings[i].to;
        }
    }
    g_assert_not_reached();
}

static void set_option(ToolArgs *args, const ToolOption *o, const char *value)
{
    if (o->pinning) {
        set_pinning(args, o, value);
    } else if (!strcmp(o->name, "numa")) {
        g_ptr_array_add(args->numa, g_strdup(value));
    } else if (!strcmp(o->name, "json")) {
        args->json = true;
    } else if (!strcmp(o->name, "prealloc")) {
        args->prealloc = true;
    } else {
        set_string(string_of(args, o->name), value);
    }
}

/* Long options with their index as value; both spellings of a pinning one */
static struct option *long_options(unsigned accepts, GPtrArray *names)
{
    struct option *list = g_new0(struct option,
                                 2 * ARRAY_SIZE(options) + 2);
    unsigned n = 0;

    for (int i = 0; i < ARRAY_SIZE(options); i++) {
        const ToolOption *o = &options[i];

        if (!(o->group & accepts)) {
            continue;
        }
        list[n++] = (struct option) { o->name, o->value ? 1 : 0, NULL,
                                      256 + i };
        if (o->pinning) {
            char *name = g_strdup_printf("pinning-%s", member_of(o));

            g_ptr_array_add(names, name);
            list[n++] = (struct option) { name, o->value ? 1 : 0, NULL,
                                          256 + i };
        }
    }
    list[n] = (struct option) { "help", 0, NULL, 'h' };
    return list;
}

/* What follows the options: the command to run, or nothing */
static void take_rest(ToolArgs *args, unsigned accepts, char **rest,
                      Error **errp)
{
    if (accepts & TOOL_RUN) {
        args->command = rest;
        if (!*rest) {
            error_setg(errp, "there is no command to run");
        }
    } else if (*rest) {
        error_setg(errp, "'%s' is not an option", *rest);
    }
}

bool tool_args_parse(ToolArgs *args, unsigned accepts, int argc, char **argv,
                     bool *help, Error **errp)
{
    ERRP_GUARD();
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    g_autofree struct option *list = long_options(accepts, names);
    /* The options of a command that is to be run are its own */
    const char *letters = accepts & TOOL_RUN ? "+:h" : ":h";
    int c;

    args->pinning = qdict_new();
    args->numa = g_ptr_array_new_with_free_func(g_free);
    opterr = 0;
    optind = 0;
    while ((c = getopt_long(argc, argv, letters, list, NULL)) != -1) {
        if (c == 'h') {
            *help = true;
            return true;
        }
        if (c < 256) {
            error_setg(errp, c == ':' ? "option '%s' needs a value"
                       : "there is no option '%s', or it takes no value",
                       argv[optind - 1]);
            break;
        }
        set_option(args, &options[c - 256], optarg);
    }
    if (!*errp) {
        take_rest(args, accepts, argv + optind, errp);
    }
    if (*errp) {
        error_append_hint(errp, "Try 'qemu-pinning %s --help'.\n", argv[0]);
        return false;
    }
    return true;
}

void tool_args_clear(ToolArgs *args)
{
    g_free(args->root);
    g_free(args->affinity);
    g_free(args->smp);
    g_free(args->memory);
    g_free(args->page_size);
    g_free(args->device_nodes);
    g_free(args->taken);
    g_free(args->svg);
    g_free(args->width);
    g_free(args->registry);
    g_free(args->name);
    qobject_unref(args->pinning);
    g_clear_pointer(&args->numa, g_ptr_array_unref);
}
