/*
 * qemu-pinning plan: where a machine would go, and why
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-visit-pinning.h"
#include "qapi/qobject-output-visitor.h"
#include "qobject/qjson.h"
#include "qemu/units.h"
#include "tool.h"

static void print_json(PinningPlan *plan)
{
    g_autoptr(GString) text = NULL;
    QObject *obj = NULL;
    Visitor *v = qobject_output_visitor_new(&obj);

    visit_type_PinningPlan(v, NULL, &plan, &error_abort);
    visit_complete(v, &obj);
    visit_free(v);
    text = qobject_to_json_pretty(obj, true);
    printf("%s\n", text->str);
    qobject_unref(obj);
}

static bool is_alike(const PinningVcpuPlan *a, const PinningVcpuPlan *b)
{
    return a->guest_node == b->guest_node &&
           !strcmp(a->host_cpus, b->host_cpus) &&
           !strcmp(a->reason, b->reason);
}

static int host_cpus_width(const PinningPlan *plan)
{
    PinningVcpuPlanList *l;
    int width = strlen("host CPUs");

    for (l = plan->vcpus; l; l = l->next) {
        width = MAX(width, MIN(strlen(l->value->host_cpus), 40));
    }
    return width;
}

/* One line for vCPUs in a row of which the same is to be said */
static void print_vcpus(const PinningPlan *plan)
{
    PinningVcpuPlanList *l, *end;
    int width = host_cpus_width(plan);

    printf("%-9s %-10s %-*s  %s\n", "vCPUs", "guest node", width,
           "host CPUs", "why");
    for (l = plan->vcpus; l; l = end) {
        const PinningVcpuPlan *first = l->value, *last = first;
        g_autofree char *range = NULL;
        g_autofree char *node = first->has_guest_node
            ? g_strdup_printf("%u", first->guest_node) : g_strdup("-");

        for (end = l->next; end && is_alike(first, end->value);
             end = end->next) {
            last = end->value;
        }
        range = first == last ? g_strdup_printf("%u", first->vcpu)
                : g_strdup_printf("%u-%u", first->vcpu, last->vcpu);
        printf("%-9s %-10s %-*s  %s\n", range, node, width,
               first->host_cpus, first->reason);
    }
}

static void print_nodes(const PinningPlan *plan)
{
    PinningNodePlanList *l;

    printf("%-10s %12s  %-10s %-10s  %s\n", "guest node", "memory",
           "host nodes", "policy", "why");
    for (l = plan->nodes; l; l = l->next) {
        const PinningNodePlan *node = l->value;
        g_autofree char *size = g_strdup_printf("%" PRIu64 " MiB",
                                                node->size / MiB);

        printf("%-10u %12s  %-10s %-10s  %s\n", node->guest_node, size,
               *node->host_nodes ? node->host_nodes : "-",
               HostMemPolicy_str(node->policy), node->reason);
    }
}

static void print_text(const PinningPlan *plan, const char *words)
{
    const PinningTopologyPlan *g = plan->guest_topology;
    const strList *l;

    printf("%s\n\n", words);
    print_vcpus(plan);
    printf("\n");
    print_nodes(plan);
    printf("\nhelper threads: %s\nI/O threads:    %s\n",
           plan->emulator_cpus, plan->io_cpus);
    if (*plan->parked_cpus) {
        printf("kept idle:      %s\n", plan->parked_cpus);
    }
    printf("guest sees:     %u socket%s of %u die%s, %u core%s each, %u "
           "thread%s\n", g->sockets, g->sockets == 1 ? "" : "s", g->dies,
           g->dies == 1 ? "" : "s", g->cores, g->cores == 1 ? "" : "s",
           g->threads, g->threads == 1 ? "" : "s");
    for (l = plan->warnings; l; l = l->next) {
        printf("warning: %s\n", l->value);
    }
}

int tool_plan(const ToolArgs *args, Error **errp)
{
    g_auto(ToolMachine) machine = { 0 };
    g_autoptr(HostTopology) topo = NULL;
    g_autoptr(PinningPlan) plan = NULL;
    g_autofree char *words = NULL;

    if (!tool_machine_init(&machine, args, errp)) {
        return 1;
    }
    topo = tool_host_new(args, errp);
    if (!topo) {
        return 1;
    }
    plan = pinning_plan_new(topo, &machine.req, machine.taken, errp);
    if (!plan) {
        return 1;
    }
    if (args->json) {
        print_json(plan);
    } else {
        words = tool_machine_words(&machine, args);
        print_text(plan, words);
    }
    return 0;
}
