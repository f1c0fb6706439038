/*
 * Short notations for tests of the planner
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-pinning.h"
#include "qapi/qobject-input-visitor.h"
#include "qobject/qdict.h"
#include "qobject/qjson.h"
#include "qemu/keyval.h"
#include "pinning-plan-harness.h"

static PinningOptions *parse_options(const char *text)
{
    QDict *dict = keyval_parse(text, "mode", NULL, &error_abort);
    Visitor *v = qobject_input_visitor_new_keyval(QOBJECT(dict));
    PinningOptions *options = NULL;

    visit_type_PinningOptions(v, NULL, &options, &error_abort);
    visit_free(v);
    qobject_unref(dict);
    return options;
}

static PinningTaken *parse_taken(const char *json)
{
    QObject *obj = qobject_from_json(json, &error_abort);
    Visitor *v = qobject_input_visitor_new(obj);
    PinningTaken *taken = NULL;

    visit_type_PinningTaken(v, NULL, &taken, &error_abort);
    visit_free(v);
    qobject_unref(obj);
    return taken;
}

static CpuSet *parse_set(const char *text)
{
    return !text || !strcmp(text, "-") ? NULL : host_set(text);
}

static void parse_policy(PinningGuestNode *node, const char *text)
{
    if (!text) {
        return;
    }
    if (!strcmp(text, "foreign")) {
        node->foreign = true;
        return;
    }
    node->has_policy = true;
    node->policy = qapi_enum_parse(&HostMemPolicy_lookup, text, -1,
                                   &error_abort);
}

static void parse_nodes(PinningRequest *req, const char *text,
                        uint64_t page_size)
{
    g_auto(GStrv) nodes = g_strsplit(text, ";", 0);

    req->n_nodes = g_strv_length(nodes);
    req->nodes = g_new0(PinningGuestNode, req->n_nodes);
    for (unsigned i = 0; i < req->n_nodes; i++) {
        g_auto(GStrv) words = g_strsplit(nodes[i], " ", 0);
        unsigned n = g_strv_length(words);
        PinningGuestNode *node = &req->nodes[i];
        char *end;

        g_assert(n >= 2 && n <= 4);
        node->size = g_ascii_strtoull(words[0], &end, 10) * MiB;
        node->page_size = *end == '/' ? atoi(end + 1) * MiB : page_size;
        node->prealloc = req->prealloc;
        node->vcpus = parse_set(words[1]);
        node->host_nodes = n > 2 ? parse_set(words[2]) : NULL;
        parse_policy(node, n > 3 ? words[3] : NULL);
        req->memory += node->size;
    }
}

PinningPlan *machine_place(const HostTopology *topo, const Machine *m,
                           Error **errp)
{
    g_autoptr(PinningOptions) options = parse_options(m->options);
    g_autoptr(PinningTaken) taken = m->taken ? parse_taken(m->taken) : NULL;
    g_autoptr(CpuSet) devices = parse_set(m->device_nodes);
    PinningPlan *plan;
    PinningRequest req = {
        .options = options,
        .vcpus = m->vcpus ?: 1,
        .sockets = m->sockets ?: 1,
        .dies = m->dies ?: 1,
        .clusters = 1,
        .threads = m->threads ?: 1,
        .llc_vcpus = m->llc_vcpus,
        .page_size = m->page_size,
        .prealloc = m->prealloc,
        .device_nodes = devices,
        .one_thread = m->one_thread,
    };

    req.cores = req.vcpus / (req.sockets * req.dies * req.threads);
    g_assert(req.cores * req.sockets * req.dies * req.threads == req.vcpus);
    if (m->nodes) {
        parse_nodes(&req, m->nodes, m->page_size);
    }
    if (m->ram) {
        req.ram = g_new0(PinningGuestNode, 1);
        req.ram->memdev = g_strdup("m0");
        req.ram->host_nodes = parse_set(m->ram);
        req.ram->foreign = true;
    }
    req.memory = m->memory ?: req.memory ?: 1 * GiB;
    plan = pinning_plan_new(topo, &req, taken, errp);
    pinning_request_cleanup(&req);
    return plan;
}

char *plan_vcpus(const PinningPlan *plan)
{
    g_autoptr(GString) text = g_string_new("");

    for (PinningVcpuPlanList *l = plan->vcpus; l; l = l->next) {
        g_string_append_printf(text, "%s%s", text->len ? " " : "",
                               l->value->host_cpus);
    }
    return g_strdup(text->str);
}

char *plan_nodes(const PinningPlan *plan)
{
    g_autoptr(GString) text = g_string_new("");

    for (PinningNodePlanList *l = plan->nodes; l; l = l->next) {
        const char *nodes = l->value->host_nodes;

        g_string_append_printf(text, "%s%s:%s", text->len ? " " : "",
                               *nodes ? nodes : "-",
                               HostMemPolicy_str(l->value->policy));
    }
    return g_strdup(text->str);
}

char *plan_guest(const PinningPlan *plan)
{
    const PinningTopologyPlan *g = plan->guest_topology;

    return g_strdup_printf("%u/%u/%u/%u", g->sockets, g->dies, g->cores,
                           g->threads);
}

bool plan_warns(const PinningPlan *plan, const char *text)
{
    const strList *l;

    for (l = plan->warnings; l; l = l->next) {
        if (strstr(l->value, text)) {
            return true;
        }
    }
    return false;
}

CpuSet *plan_cpus(const PinningPlan *plan, unsigned vcpu)
{
    for (PinningVcpuPlanList *l = plan->vcpus; l; l = l->next) {
        if (l->value->vcpu == vcpu) {
            return host_set(l->value->host_cpus);
        }
    }
    g_assert_not_reached();
}

const PinningNodePlan *plan_node(const PinningPlan *plan, unsigned node)
{
    for (PinningNodePlanList *l = plan->nodes; l; l = l->next) {
        if (l->value->guest_node == node) {
            return l->value;
        }
    }
    g_assert_not_reached();
}

static char *guest_of(const PlanCase *t, const PinningPlan *plan)
{
    return t->guest ? plan_guest(plan) : NULL;
}

static void check_plan(const PlanCase *t, const PinningPlan *plan)
{
    g_autofree char *vcpus = plan_vcpus(plan);
    g_autofree char *nodes = plan_nodes(plan);
    g_autofree char *guest = guest_of(t, plan);

    if (t->vcpus) {
        g_assert_cmpstr(vcpus, ==, t->vcpus);
    }
    if (t->nodes) {
        g_assert_cmpstr(nodes, ==, t->nodes);
    }
    g_assert_cmpstr(guest, ==, t->guest);
    if (t->emulator) {
        g_assert_cmpstr(plan->emulator_cpus, ==, t->emulator);
    }
    if (t->io) {
        g_assert_cmpstr(plan->io_cpus, ==, t->io);
    }
    if (t->parked) {
        g_assert_cmpstr(plan->parked_cpus, ==, t->parked);
    }
    if (t->reason) {
        g_assert_cmpstr(plan_node(plan, 0)->reason, ==, t->reason);
    }
    if (t->warning && !*t->warning) {
        g_assert_cmpstr(plan->warnings ? plan->warnings->value : "", ==, "");
    } else if (t->warning && !plan_warns(plan, t->warning)) {
        g_test_message("no warning '%s', first is '%s'", t->warning,
                       plan->warnings ? plan->warnings->value : "none");
        g_assert_not_reached();
    }
}

static void test_case(gconstpointer data)
{
    const PlanCase *t = data;
    g_autoptr(HostTopology) topo = host_build(&t->host);
    g_autoptr(PinningPlan) plan = NULL;
    Error *err = NULL;

    if (t->change) {
        t->change(topo);
    }
    plan = machine_place(topo, &t->machine, t->error ? &err : &error_abort);
    if (t->error) {
        g_assert_null(plan);
        g_assert_cmpstr(error_get_pretty(err), ==, t->error);
        error_free(err);
    } else {
        check_plan(t, plan);
    }
}

void plan_cases_add(const char *group, const PlanCase *cases, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        g_autofree char *path = g_strdup_printf("/pinning-plan/%s/%s", group,
                                                cases[i].name);

        g_test_add_data_func(path, &cases[i], test_case);
    }
}
