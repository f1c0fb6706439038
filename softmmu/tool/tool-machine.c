/*
 * qemu-pinning: the host and the machine that a command line describes
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-pinning.h"
#include "qapi/qobject-input-visitor.h"
#include "qemu/cutils.h"
#include "qemu/keyval.h"
#include "qemu/units.h"
#include "tool.h"

static CpuSet *parse_list(const char *option, const char *text, Error **errp)
{
    ERRP_GUARD();
    CpuSet *set = cpulist_parse(text, errp);

    if (!set) {
        error_prepend(errp, "Parameter '%s': ", option);
    }
    return set;
}

HostTopology *tool_host_new(const ToolArgs *args, Error **errp)
{
    g_autoptr(CpuSet) affinity = NULL;

    if (args->affinity) {
        affinity = parse_list("affinity", args->affinity, errp);
        if (!affinity) {
            return NULL;
        }
    }
    return host_topology_new(args->root, affinity, errp);
}

static PinningOptions *visit_options(const ToolArgs *args, Error **errp)
{
    Visitor *v = qobject_input_visitor_new_keyval(QOBJECT(args->pinning));
    PinningOptions *options = NULL;

    visit_type_PinningOptions(v, NULL, &options, errp);
    visit_free(v);
    return options;
}

/* A number without unit is in MiB, as after -m */
static bool parse_size(const char *option, const char *text, uint64_t *size,
                       Error **errp)
{
    if (qemu_strtosz_MiB(text, NULL, size) < 0) {
        error_setg(errp, "Parameter '%s' expects a size, not '%s'", option,
                   text);
        return false;
    }
    return true;
}

/* What can be plugged counts, since it will have to go somewhere */
static bool parse_memory(PinningRequest *req, const char *text, Error **errp)
{
    g_autoptr(QDict) dict = keyval_parse(text, "size", NULL, errp);
    const char *size, *most;

    if (!dict) {
        return false;
    }
    size = qdict_get_try_str(dict, "size");
    most = qdict_get_try_str(dict, "maxmem");
    if (!size && !most) {
        error_setg(errp, "Parameter 'memory' expects a size, not '%s'", text);
        return false;
    }
    return parse_size("memory", most ?: size, &req->memory, errp);
}

/*
 * A machine with several sockets is one with several guest nodes here, as it
 * is in most management layers; QEMU itself has to be asked for them.
 */
static void default_vnuma(ToolMachine *m)
{
    if (!m->options->has_vnuma && !m->req.n_nodes && m->req.sockets > 1 &&
        m->options->has_mode && m->options->mode != PINNING_MODE_NONE) {
        m->options->has_vnuma = true;
        m->options->vnuma = true;
    }
}

bool tool_machine_init(ToolMachine *m, const ToolArgs *args, Error **errp)
{
    PinningRequest *req = &m->req;

    m->options = visit_options(args, errp);
    if (!m->options || !tool_smp_parse(req, args->smp, errp)) {
        return false;
    }
    req->options = m->options;
    req->prealloc = args->prealloc;
    /* As little as QEMU gives a machine; a program promises itself none */
    req->memory = args->command ? 0 : 128 * MiB;
    if ((args->memory && !parse_memory(req, args->memory, errp)) ||
        (args->page_size && !parse_size("page-size", args->page_size,
                                        &req->page_size, errp)) ||
        !tool_numa_parse(req, args->numa, errp)) {
        return false;
    }
    if (args->device_nodes) {
        m->device_nodes = parse_list("device-nodes", args->device_nodes,
                                     errp);
        if (!m->device_nodes) {
            return false;
        }
        req->device_nodes = m->device_nodes;
    }
    if (args->taken) {
        m->taken = tool_taken_from_file(args->taken, errp);
        if (!m->taken) {
            return false;
        }
    }
    default_vnuma(m);
    return true;
}

void tool_machine_clear(ToolMachine *m)
{
    pinning_request_cleanup(&m->req);
    qapi_free_PinningOptions(m->options);
    qapi_free_PinningTaken(m->taken);
    cpuset_free(m->device_nodes);
}

/* "0-3,8" inside of -accel is "0-3,,8" */
static char *double_commas(const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, ",", 0);

    return g_strjoinv(",,", parts);
}

static int compare_names(gconstpointer a, gconstpointer b)
{
    return strcmp(*(char **)a, *(char **)b);
}

/* The command line of QEMU that means the same */
char *tool_machine_words(const ToolMachine *m, const ToolArgs *args)
{
    g_autoptr(GString) text = g_string_new("-accel kvm");
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    const QDictEntry *e;

    for (e = qdict_first(args->pinning); e; e = qdict_next(args->pinning, e)) {
        g_ptr_array_add(names, (char *)qdict_entry_key(e));
    }
    g_ptr_array_sort(names, compare_names);
    if (m->options->has_mode) {
        g_string_append_printf(text, ",pinning=%s",
                               PinningMode_str(m->options->mode));
    }
    for (unsigned i = 0; i < names->len; i++) {
        const char *name = names->pdata[i];
        g_autofree char *value = double_commas(
            qdict_get_str(args->pinning, name));

        if (strcmp(name, "mode")) {
            g_string_append_printf(text, ",pinning-%s=%s", name, value);
        }
    }
    if (m->options->vnuma && !qdict_haskey(args->pinning, "vnuma")) {
        g_string_append(text, ",pinning-vnuma=on");
    }
    g_string_append_printf(text, " -smp %s", args->smp ?: "1");
    if (args->memory) {
        g_string_append_printf(text, " -m %s", args->memory);
    }
    for (unsigned i = 0; i < args->numa->len; i++) {
        g_string_append_printf(text, " -numa %s",
                               (char *)args->numa->pdata[i]);
    }
    return g_strdup(text->str);
}
