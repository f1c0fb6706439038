/*
 * qemu-pinning run: its command line
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-pinning.h"
#include "qapi/qobject-input-visitor.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qobject/qdict.h"
#include "tool-run.h"

static const char usage[] =
    "Usage: qemu-pinning run [OPTION...] [--] COMMAND [ARGUMENT...]\n"
    "\n"
    "Choose host CPUs that nobody else in the registry uses, record them, and\n"
    "run COMMAND there.  The entry ends when COMMAND and all it has started\n"
    "have ended.  COMMAND finds its host CPUs and host nodes in the\n"
    "environment, as QEMU_PINNING_CPUS and QEMU_PINNING_NODES.\n"
    "\n"
    "  --smp N             how many CPUs it needs (default: 1)\n"
    "  --memory SIZE       memory it needs, for instance 4G\n"
    "  --mode MODE         as pinning= of QEMU (default: one-to-one)\n"
    "  --OPTION VALUE      as pinning-OPTION= of QEMU: cpus, hostnodes, smt,\n"
    "                      cpu-kind, strategy, memory-policy, ...\n"
    "  --exclusive         nobody else may use these CPUs\n"
    "  --registry DIR|off  directory of the registry\n"
    "  --name NAME         name of the entry (default: COMMAND)\n"
    "  --root CAPTURE      plan for a captured host: record, run COMMAND, but\n"
    "                      set neither CPUs nor memory policy\n"
    "  --help              print this text\n";

void run_options_cleanup(RunOptions *o)
{
    pinning_request_cleanup(&o->request);
    qapi_free_PinningOptions(o->options);
    o->options = NULL;
    o->request.options = NULL;
}

static bool parse_count(const char *value, unsigned *count, Error **errp)
{
    if (qemu_strtoui(value, NULL, 10, count) < 0 || *count < 1 ||
        *count > CPUSET_MAX) {
        error_setg(errp, "--smp is '%s', allowed are 1 to %d", value,
                   CPUSET_MAX);
        return false;
    }
    return true;
}

/* Returns: whether @word is an option of ours, with its value used */
static bool parse_own(RunOptions *o, const char *word, const char *value,
                      Error **errp)
{
    if (g_str_equal(word, "smp")) {
        parse_count(value, &o->request.vcpus, errp);
    } else if (g_str_equal(word, "memory")) {
        if (qemu_strtosz_MiB(value, NULL, &o->request.memory) < 0) {
            error_setg(errp, "--memory is '%s', expected is a size such as"
                       " 512M or 4G", value);
        }
    } else if (g_str_equal(word, "root")) {
        o->root = value;
    } else if (g_str_equal(word, "registry")) {
        o->registry = value;
    } else if (g_str_equal(word, "name")) {
        o->name = value;
    } else {
        return false;
    }
    return true;
}

/*
 * The rest belongs to the planner.  Only "memory" means a size here, as it
 * does in "plan", so the policy has a longer word.
 */
static void parse_planners(QDict *words, const char *word, const char *value)
{
    qdict_put_str(words, g_str_equal(word, "memory-policy") ? "memory" : word,
                  value);
}

/* Returns: index of the first argument that is no option, -1 with @errp set */
static int parse_words(RunOptions *o, int argc, char **argv, QDict *words,
                       Error **errp)
{
    ERRP_GUARD();
    int i;

    for (i = 1; i < argc; i++) {
        const char *word;

        if (g_str_equal(argv[i], "--")) {
            return i + 1;
        }
        if (!strstart(argv[i], "--", &word)) {
            return i;
        }
        if (g_str_equal(word, "exclusive")) {
            qdict_put_str(words, word, "on");
            continue;
        }
        if (++i == argc) {
            error_setg(errp, "--%s needs a value", word);
            return -1;
        }
        if (!parse_own(o, word, argv[i], errp)) {
            parse_planners(words, word, argv[i]);
        }
        if (*errp) {
            return -1;
        }
    }
    return i;
}

static bool parse_options(RunOptions *o, QDict *words, Error **errp)
{
    Visitor *v = qobject_input_visitor_new_keyval(QOBJECT(words));
    bool ok = visit_type_PinningOptions(v, NULL, &o->options, errp);

    visit_free(v);
    if (ok && !o->options->has_mode) {
        o->options->has_mode = true;
        o->options->mode = PINNING_MODE_ONE_TO_ONE;
    }
    return ok;
}

static bool parse(RunOptions *o, int argc, char **argv, Error **errp)
{
    g_autoptr(QDict) words = qdict_new();
    int first = parse_words(o, argc, argv, words, errp);

    if (first < 0 || !parse_options(o, words, errp)) {
        return false;
    }
    if (first >= argc) {
        error_setg(errp, "There is no command to run");
        return false;
    }
    o->command = argv + first;
    return true;
}

/* A program is a machine without topology of its own */
static void complete(RunOptions *o)
{
    PinningRequest *req = &o->request;

    req->options = o->options;
    req->vcpus = req->vcpus ?: 1;
    req->sockets = 1;
    req->dies = 1;
    req->clusters = 1;
    req->cores = req->vcpus;
    req->threads = 1;
    if (!o->name) {
        const char *slash = strrchr(o->command[0], '/');

        o->name = slash ? slash + 1 : o->command[0];
    }
}

bool tool_run_parse(RunOptions *o, int argc, char **argv, int *status)
{
    Error *err = NULL;

    if (argc > 1 && (g_str_equal(argv[1], "--help") ||
                     g_str_equal(argv[1], "-h"))) {
        fputs(usage, stdout);
        *status = 0;
        return false;
    }
    if (!parse(o, argc, argv, &err)) {
        error_append_hint(&err, "See qemu-pinning run --help.\n");
        error_report_err(err);
        *status = 125;
        return false;
    }
    complete(o);
    return true;
}
