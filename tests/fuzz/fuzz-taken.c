/*
 * Fuzzer for wishes and for what others hold; see fuzz.h
 *
 * An input is a line of options, as after -accel without "pinning-", and
 * below it a PinningTaken as JSON.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sanitizer/lsan_interface.h>
#include "qapi/error.h"
#include "qapi/qapi-visit-pinning.h"
#include "qapi/qobject-input-visitor.h"
#include "qemu/keyval.h"
#include "qemu/pinning-plan.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "fuzz.h"
#include "../unit/host-topology-builder.c"

static PinningOptions *parse_options(const char *line)
{
    g_autoptr(QDict) dict = keyval_parse(line, "mode", NULL, NULL);
    PinningOptions *options = NULL;
    Visitor *v;

    if (dict) {
        v = qobject_input_visitor_new_keyval(QOBJECT(dict));
        visit_type_PinningOptions(v, NULL, &options, NULL);
        visit_free(v);
    }
    return options;
}

/* QEMU's parser loses the value of a member that it finds a second time */
static PinningTaken *parse_taken(const char *json)
{
    PinningTaken *taken = NULL;
    QObject *obj;
    Visitor *v;

    __lsan_disable();
    obj = qobject_from_json(json, NULL);
    __lsan_enable();
    if (obj) {
        v = qobject_input_visitor_new(obj);
        visit_type_PinningTaken(v, NULL, &taken, NULL);
        visit_free(v);
        qobject_unref(obj);
    }
    return taken;
}

/* A host with siblings, caches, several nodes, kinds, and holes */
static HostTopology *host(void)
{
    HostTopology *topo = host_build(
        &(HostSpec) { .packages = 2, .nodes = 2, .llcs = 2, .cores = 2,
                      .threads = 2 });

    host_isolate(topo, "30-31");
    host_offline(topo, "5");
    host_memory(topo, 1, 0, 0);
    host_type(topo, "0-15", 0, "performance");
    host_type(topo, "16-31", 1, "efficient");
    return topo;
}

/* Either a plan in which each vCPU has a place, or a reason why not */
static void check(const HostTopology *topo, const PinningRequest *req,
                  const PinningTaken *taken)
{
    g_autoptr(PinningPlan) plan = NULL;
    PinningVcpuPlanList *l;
    unsigned n = 0;
    Error *err = NULL;

    plan = pinning_plan_new(topo, req, taken, &err);
    g_assert(!plan == !!err);
    if (err) {
        g_assert(*error_get_pretty(err));
        error_free(err);
        return;
    }
    for (l = plan->vcpus; l; l = l->next) {
        g_autoptr(CpuSet) cpus = cpulist_parse(l->value->host_cpus,
                                               &error_abort);

        g_assert(cpuset_is_subset(cpus, topo->online));
        g_assert(*l->value->reason);
        n++;
    }
    g_assert(n == req->vcpus);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *text = g_strndup((const char *)data, size);
    char *json = strchr(text, '\n');
    g_autoptr(HostTopology) topo = host();
    g_autoptr(PinningOptions) options = NULL;
    g_autoptr(PinningTaken) taken = NULL;
    PinningRequest req = {
        .vcpus = 8, .sockets = 2, .dies = 1, .clusters = 1, .cores = 2,
        .threads = 2, .memory = 4 * GiB,
    };

    if (json) {
        *json++ = '\0';
        taken = parse_taken(json);
    }
    options = parse_options(text);
    if (options) {
        req.options = options;
        check(topo, &req, taken);
        req.one_thread = true;
        check(topo, &req, taken);
    }
    return 0;
}
